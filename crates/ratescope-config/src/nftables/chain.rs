//! Rules and their chains.

use super::read::VERDICTS;
use crate::blocks::Statement;
use crate::read::SCOPE;
use ratescope::internal::beginning;

/// The families of tables; `ip` is that of a table without one.
const FAMILIES: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];

/// A rule, in the block of its chain or as a command such as `add rule inet filter input tcp dport 22 drop`.
pub(super) struct Rule<'a> {
    /// The chain and its table, as in `inet filter input`.
    pub(super) chain: String,
    /// The words, without those of the command.
    pub(super) words: &'a [String],
    /// It is put before the rules that are in the chain.
    pub(super) is_first: bool,
}

impl<'a> Rule<'a> {
    /// The rule of a statement; `None` for another object, or in an unknown chain.
    pub(super) fn new(statement: &'a Statement, around: &[&Statement]) -> Option<Self> {
        if let Some(chain) = around.last() {
            let is_rule = chain.begins_with("chain")
                && statement.block.is_empty()
                && !["policy", "type"].contains(&statement.word(0));
            let mut tables = around.iter().filter(|outer| outer.begins_with("table"));
            let table = tables.next().and_then(|table| table_of(table.words.get(1..)?));
            let table = table.map_or(String::new(), |(table, _)| table);
            let chain = format!("{table} {}", short(chain.word(1)));
            return is_rule.then_some(Rule { chain, words: &statement.words, is_first: false });
        }
        let words = statement.words.as_slice();
        let at = words.iter().take(3).position(|word| word == "rule")?;
        let command = words.get(at.checked_sub(1)?)?.as_str();
        let (table, rest) = table_of(words.get(at + 1..)?)?;
        let (chain, words) = rest.split_first()?;
        let chain = format!("{table} {}", short(chain));
        ["add", "insert"].contains(&command).then_some(Rule {
            chain,
            words,
            is_first: command == "insert",
        })
    }

    /// Without a limit, it may end the chain for a packet. A jump comes back.
    pub(super) fn decides(&self) -> bool {
        self.words.iter().any(|word| {
            let word = word.trim_end_matches(',');
            word != "jump" && VERDICTS.contains(&word)
        })
    }
}

/// A table with its family, as in `inet filter`, and the words after it.
fn table_of(words: &[String]) -> Option<(String, &[String])> {
    let (first, rest) = words.split_first()?;
    if !FAMILIES.contains(&first.as_str()) {
        return Some((format!("ip {}", short(first)), rest));
    }
    let (name, rest) = rest.split_first()?;
    Some((format!("{first} {}", short(name)), rest))
}

/// A name, cut to a length that nft's names never exceed: 256 bytes.
fn short(name: &str) -> &str {
    beginning(name, SCOPE)
}

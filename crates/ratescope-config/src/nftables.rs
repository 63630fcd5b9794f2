//! nftables: a bucket of new connections for each address, in the Linux kernel.
//!
//! `limit rate over 6/hour burst 5 packets` is a token bucket that starts full. A packet costs the time of one packet
//! at the rate, in whole nanoseconds, and the bucket holds the cost of a burst. A packet that finds less than its cost
//! is over the rate, and takes nothing.
//!
//! Source: Linux, `net/netfilter/nft_limit.c`; `man nft`.

use crate::blocks::{Ends, Statement, read as statements, walk};
use crate::earlier::Earlier;
use crate::field::{Field, fields, ip, unknown};
use crate::only::network;
use crate::read::{Config, Found, Remark, SCOPE, limit, said, scoped};
use crate::words::{has, whole};
use crate::write::{Names, Notes, Written, each, is_whole, token_bucket, whole_count};
use crate::{Addresses, Only, Test};
use core::net::Ipv6Addr;
use ipnet::{Ipv6Net, ipv6_mask_to_prefix};
use ratescope::internal::beginning;
use ratescope::policy::Limit;
use ratescope::rate::Rate;
use ratescope::time::Span;
use std::collections::BTreeMap;

pub(crate) const NAMES: Names =
    Names { name: "nftables", title: "nftables", file: "nftables.conf" };

pub(crate) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit rate ") || has(text, &["#"], "limit name ")
}

const VERDICTS: [&str; 6] = ["drop", "reject", "accept", "jump", "goto", "return"];

/// The packets of a burst without `burst`, as nft sets it.
const BURST: &str = "5";

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Both)?;
    let mut named = BTreeMap::new();
    walk(&statements, &mut Vec::new(), &mut |object, _| {
        if object.begins_with("limit")
            && let [rate] = object.block.as_slice()
        {
            named.insert(object.word(1), &rate.words);
        }
    });
    let mut rules = Vec::new();
    let mut chains: BTreeMap<String, Earlier> = BTreeMap::new();
    walk(&statements, &mut Vec::new(), &mut |statement, around| {
        let line = statement.line;
        let rule = Rule::new(statement, around);
        let is_over = |pair: &[String]| pair[0] == "over" || pair[1] == "over";
        let connections = statement
            .words
            .windows(3)
            .any(|it| it[0] == "ct" && it[1] == "count" && it[2] == "over");
        if connections {
            config.beside(line, "ct count");
        } else if statement.words.windows(2).any(|it| it[0] == "quota" && is_over(it)) {
            config.beside(line, "quota");
        }
        let is_limit =
            |pair: &[String]| pair[0] == "limit" && ["rate", "name"].contains(&&*pair[1]);
        let Some(at) = statement.words.windows(2).position(is_limit) else {
            if let Some(rule) = rule.filter(Rule::decides) {
                let earlier = chains.entry(rule.chain).or_default();
                let is_plain = |word: &String| word == "counter" || VERDICTS.contains(&&**word);
                earlier.add(line, &statement.text(), rule.words.iter().all(is_plain));
            }
            return;
        };
        let earlier = rule.filter(|rule| !rule.is_first).map(|rule| rule.chain);
        let earlier = earlier.and_then(|chain| chains.get(&chain));
        match read_rule(statement, at, &named, config) {
            Ok((mut found, family)) => {
                found.scope = scoped(jumped(around).into_iter().chain(found.scope), ", ");
                if earlier.is_none_or(|earlier| earlier.reach(line, config)) {
                    rules.push((found, family));
                }
            }
            Err(problem) => config.remark(line, problem),
        }
    });
    let mut rules = rules.into_iter().peekable();
    while let Some((mut found, family)) = rules.next() {
        // A set of IPv4 addresses may have a twin for IPv6 addresses.
        let is_twin = |(next, of): &(Found, Option<&str>)| {
            (family, *of) == (Some(IPV4), Some(IPV6))
                && (&next.limit, &next.scope) == (&found.limit, &found.scope)
        };
        match rules.next_if(is_twin) {
            Some((twin, _)) => found.addresses = twin.addresses,
            None => {
                let scope = family.map(str::to_owned).into_iter().chain(found.scope);
                found.scope = scoped(scope, ", ");
            }
        }
        config.add(found.line, Ok(found));
    }
    if !config.found.is_empty() {
        config.remark(
            0,
            "nftables counts new connections or packets; the trial counts every event of the log",
        );
    }
    Ok(())
}

/// The families of tables; `ip` is that of a table without one.
const FAMILIES: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];

/// A rule, in the block of its chain or as a command such as `add rule inet filter input tcp dport 22 drop`.
struct Rule<'a> {
    /// The chain and its table, as in `inet filter input`.
    chain: String,
    /// The words, without those of the command.
    words: &'a [String],
    /// It is put before the rules that are in the chain.
    is_first: bool,
}

impl<'a> Rule<'a> {
    /// The rule of a statement; `None` for another object, or in an unknown chain.
    fn new(statement: &'a Statement, around: &[&Statement]) -> Option<Self> {
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
    fn decides(&self) -> bool {
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

/// The chain of a rule, unless it is for packets to this machine: packets are forwarded, or come from other chains.
fn jumped(around: &[&Statement]) -> Option<String> {
    let chain = around.last().filter(|chain| chain.begins_with("chain"))?;
    let is_hook = |inner: &Statement| {
        let is = |pair: &[String]| {
            pair[0] == "hook" && ["input", "prerouting", "ingress"].contains(&&*pair[1])
        };
        inner.words.windows(2).any(is)
    };
    (!chain.block.iter().take(5).any(is_hook)).then(|| chain.text())
}

/// The limit of a rule, and its kind of addresses.
fn read_rule<'a>(
    rule: &'a Statement,
    at: usize,
    named: &BTreeMap<&str, &'a Vec<String>>,
    config: &mut Config,
) -> Result<(Found, Option<&'static str>), String> {
    let words: Vec<&str> = rule.words.iter().map(String::as_str).collect();
    let (before, limit_words) = words.split_at(at);
    let rate = match limit_words {
        [_, "name", after @ ..] => {
            let name = after.first().copied().unwrap_or_default();
            let rate =
                named.get(name).filter(|rate| rate.first().is_some_and(|word| word == "rate"));
            let rate =
                rate.ok_or_else(|| format!("no limit here has the name {:?}", said(name)))?;
            let rate = rate.iter().skip(1).take(5).map(String::as_str);
            Limited::new(rate.chain(after.iter().skip(1).copied()))?
        }
        _ => Limited::new(limit_words.iter().skip(2).copied())?,
    };
    if let Some(differs) = rate.differs()? {
        config.remark(rule.line, differs);
    }
    let Matched { conditions, set, key } = Matched::new(before);
    let mut addresses = Addresses::default();
    let (fields, family) = key_fields(key, &mut addresses)?;
    let found = Found {
        name: set.to_owned(),
        line: rule.line,
        limit: limit(&rate.limit, &fields)?,
        addresses,
        scope: scoped(conditions, " "),
        only: only(conditions),
    };
    Ok((found, family))
}

/// The events that meet the conditions of a rule. Ports, interfaces and states are those of the service whose log it is.
fn only(conditions: &[&str]) -> Only {
    let mut words = conditions.iter().copied();
    let mut only = Only::All;
    while let Some(word) = words.next() {
        match word {
            "ip" | "ip6" => {
                let Some("saddr") = words.next() else { continue };
                let mut value = words.next();
                let is_not = value == Some("!=");
                if is_not {
                    value = words.next();
                }
                let test = match value {
                    Some("{") => {
                        let values = words.by_ref().take_while(|word| *word != "}");
                        let values = values.map(|value| value.trim_matches(','));
                        let values = values.filter(|value| !value.is_empty());
                        Test::one_of("ip", values, network)
                    }
                    value => value.and_then(network).map(|is| Test::field("ip", is)),
                };
                match test {
                    Some(test) if is_not => only.and(test.not().into()),
                    Some(test) => only.and(test.into()),
                    // Who is left out is said.
                    None if is_not => {}
                    None => only
                        .and(Only::Unknown("no log tells which addresses are in a set".to_owned())),
                }
            }
            "icmp" | "icmpv6" | "arp" => {
                only.and(Only::Unknown(format!("it is for {word}, which no log here has")));
            }
            _ => {}
        }
    }
    only
}

/// A rate as in `over 3/minute burst 4 packets drop`.
struct Limited<'a> {
    /// It is met above the rate, and not below it.
    is_over: bool,
    limit: String,
    verdict: Option<&'a str>,
}

impl<'a> Limited<'a> {
    fn new(words: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut words = words.peekable();
        let is_over = words.next_if_eq(&"over").is_some();
        let rate = words.next().unwrap_or_default();
        let (count, unit) = rate
            .split_once('/')
            .ok_or_else(|| format!("its rate is {:?}; nftables has 10/minute", said(rate)))?;
        let count = whole(count, "its rate")?;
        let per = match unit {
            "second" => "1s",
            "minute" => "1m",
            "hour" => "1h",
            "day" => "1d",
            "week" => "1w",
            unit => return Err(format!("it limits by {:?}, which is not understood", said(unit))),
        };
        let burst = words.next_if_eq(&"burst").map_or(BURST, |_| words.next().unwrap_or_default());
        let burst = whole(burst, "its burst")?;
        let limit = format!("token-bucket {count}/{per} burst {burst}");
        Ok(Limited { is_over, limit, verdict: words.find(|word| VERDICTS.contains(word)) })
    }

    /// How the trial differs from its verdict.
    fn differs(&self) -> Result<Option<String>, String> {
        match (self.is_over, self.verdict) {
            (_, None) => Err("the rule has no verdict, so it refuses nothing".to_owned()),
            (true, Some("drop" | "reject")) => Ok(None),
            (true, Some(other)) => {
                Ok(Some(format!("events over its limit meet {other}; the trial refuses them")))
            }
            (false, Some("drop" | "reject")) => Err("it refuses events below its limit".to_owned()),
            (false, Some(_)) => Ok(Some(
                "the rule accepts events below its limit, and the next rules decide about the rest; the trial \
                 refuses it"
                    .to_owned(),
            )),
        }
    }
}

/// What a rule has before its limit: conditions, and perhaps the set that has a limit for each of its elements.
struct Matched<'a> {
    conditions: &'a [&'a str],
    set: &'a str,
    key: &'a [&'a str],
}

impl<'a> Matched<'a> {
    fn new(words: &'a [&'a str]) -> Self {
        let alone = Matched { conditions: words, set: "", key: &[] };
        if !words.iter().any(|word| SETS.contains(word)) {
            return alone;
        }
        let count = |brace: &str| words.iter().filter(|word| **word == brace).count();
        let brace = words.iter().rposition(|word| *word == "{");
        let Some(brace) = brace.filter(|_| count("{") > count("}")) else { return alone };
        let head = &words[..brace];
        let at = head.iter().rposition(|word| SETS.contains(word)).unwrap_or(0);
        Matched {
            conditions: &head[..at],
            set: head.get(at + 1).copied().unwrap_or_default().trim_start_matches('@'),
            key: &words[brace + 1..],
        }
    }
}

/// The words before the name of a set.
const SETS: [&str; 3] = ["update", "add", "meter"];

const IPV4: &str = "IPv4 addresses";
const IPV6: &str = "IPv6 addresses";

/// The fields of an element, and its kind of addresses.
fn key_fields(
    key: &[&str],
    addresses: &mut Addresses,
) -> Result<(Vec<String>, Option<&'static str>), String> {
    // An element may have a timeout.
    let end = key.iter().position(|word| *word == "timeout").unwrap_or(key.len());
    match &key[..end] {
        [] => Ok((Vec::new(), None)),
        ["ip", "saddr"] => Ok((vec![ip()], Some(IPV4))),
        ["ip6", "saddr"] => Ok((vec![ip()], Some(IPV6))),
        ["ip6", "saddr", "&" | "and", mask] => {
            let mask = mask.parse::<Ipv6Addr>().ok();
            let prefix = mask.and_then(|mask| ipv6_mask_to_prefix(mask).ok());
            addresses.ipv6_prefix = prefix.ok_or_else(|| unknown(&key.join(" ")))?;
            Ok((vec![ip()], Some(IPV6)))
        }
        other => Err(unknown(&other.join(" "))),
    }
}

const UNITS: [(&str, Span); 5] = [
    ("second", Span::from_secs(1)),
    ("minute", Span::from_mins(1)),
    ("hour", Span::from_hours(1)),
    ("day", Span::from_hours(24)),
    ("week", Span::from_hours(24 * 7)),
];

/// The condition of every rule: a new connection to the port of ssh, to be replaced by the user.
const PORT: &str = "tcp dport 22 ct state new";

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if addresses.forwarded {
        let problem = "it sees the address that connects, and no X-Forwarded-For";
        return Err((limits.first().map(ToString::to_string), problem.to_owned()));
    }
    addresses.warn_of_ipv4(notes);
    let mut rules = String::new();
    let sets = each(limits, |n, limit| {
        let problem = "it has a token bucket only; write a limit such as token-bucket 6/1h burst 5";
        let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
        let over = format!("limit rate over {} burst {burst} packets", rate_text(rate, burst)?);
        match fields(&limit.per)?.as_slice() {
            [] => {
                rules += &format!("\t\t{PORT} {over} drop\n");
                return Ok(String::new());
            }
            [Field::Ip] => {}
            _ => return Err("it knows addresses only; write per ip or per all".to_owned()),
        }
        // By then the bucket is full again, as a new one is, so dropping it changes nothing.
        let timeout = libm::ceil(burst / rate.frequency());
        let mask = mask(addresses.ipv6_prefix);
        rules += &format!(
            "\t\t{PORT} update @limit{n} {{ ip saddr {over} }} drop\n\
             \t\t{PORT} update @limit{n}v6 {{ ip6 saddr{mask} {over} }} drop\n"
        );
        let set = |name: &str, kind: &str| {
            format!(
                "\tset {name} {{\n\t\ttype {kind}\n\t\tsize 65535\n\t\tflags dynamic,timeout\n\
                 \t\ttimeout {timeout}s\n\t}}\n"
            )
        };
        Ok(set(&format!("limit{n}"), "ipv4_addr") + &set(&format!("limit{n}v6"), "ipv6_addr"))
    })?;
    notes.add(
        "nftables counts new connections, not requests or failed logins: one may bring several, and one that \
         succeeds counts, too",
    );
    notes.add(
        "a set holds 65,535 addresses; those beyond are not limited until others are forgotten",
    );
    if limits.len() > 1 {
        notes.add(
            "nftables asks one rule after the other: a connection that a later one drops has counted in \
             those before",
        );
    }
    Ok(format!(
        "# The port is that of ssh; write that of your service.\n\
         table inet ratescope {{\n{sets}\tchain input {{\n\
         \t\ttype filter hook input priority filter; policy accept;\n{rules}\t}}\n}}\n"
    ))
}

/// A rate as nftables writes it, as in `6/hour`.
///
/// # Errors
/// When nftables does not have the rate or the burst.
pub(crate) fn rate_text(rate: Rate, burst: f64) -> Result<String, String> {
    if !is_whole(burst) || burst > 65_535.0 {
        return Err("its burst is a whole number from 1 to 65,535".to_owned());
    }
    let count = |span| whole_count(rate, span).filter(|count| *count <= 1e6);
    let found = UNITS.iter().find_map(|(unit, span)| Some(format!("{}/{unit}", count(*span)?)));
    let problem = "its rates are whole numbers a second, minute, hour, day or week";
    found.ok_or_else(|| problem.to_owned())
}

/// The mask that cuts an IPv6 address to the prefix of its client, as in ` & ffff:ffff:ffff:ffff::`; empty
/// if each address is a client.
fn mask(prefix: u8) -> String {
    let network = Ipv6Net::new(Ipv6Addr::UNSPECIFIED, prefix).ok().filter(|_| prefix < 128);
    network.map_or(String::new(), |network| format!(" & {}", network.netmask()))
}

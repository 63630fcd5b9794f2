//! The limits of rules.

use super::chain::Rule;
use crate::blocks::{Ends, Statement, read as statements, walk};
use crate::earlier::Earlier;
use crate::field::{ip, unknown};
use crate::only::network;
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::whole;
use crate::{Addresses, Only, Test};
use core::net::Ipv6Addr;
use ipnet::ipv6_mask_to_prefix;
use std::collections::BTreeMap;

pub(super) const VERDICTS: [&str; 6] = ["drop", "reject", "accept", "jump", "goto", "return"];

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
pub(super) fn only(conditions: &[&str]) -> Only {
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
    pub(super) fn new(words: impl Iterator<Item = &'a str>) -> Result<Self, String> {
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

/// The part of a rule before its limit: conditions, and perhaps the set that has a limit for each of its elements.
struct Matched<'a> {
    conditions: &'a [&'a str],
    set: &'a str,
    key: &'a [&'a str],
}

impl<'a> Matched<'a> {
    pub(super) fn new(words: &'a [&'a str]) -> Self {
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

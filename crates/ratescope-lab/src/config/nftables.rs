//! nftables: `limit rate` in a rule, or for each element of a set or a meter.
//!
//! Source: `man nft`; as for [`crate::export`].

use super::blocks::{Ends, Statement, read as statements, walk};
use super::field::{ip, unknown};
use super::words::{has, whole};
use super::{Config, Found, Remark, limit, said};

pub(super) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit rate ")
}

/// The packets of a burst without `burst`, as nft sets it.
const BURST: &str = "5";

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Both)?;
    // A set of IPv4 addresses whose twin of IPv6 addresses may follow.
    let mut twin: Option<Found> = None;
    walk(&statements, &mut Vec::new(), &mut |rule, _| {
        let is_limit = |pair: &[String]| pair[0] == "limit" && pair[1] == "rate";
        let Some(at) = rule.words.windows(2).position(is_limit) else { return };
        let (read, is_ipv6) = match read_rule(rule, at, config) {
            Ok(read) => read,
            Err(problem) => return config.remark(rule.line, problem),
        };
        let same = |twin: &Found| twin.limit == read.limit && twin.scope == read.scope;
        if is_ipv6 && twin.take().is_some_and(|twin| same(&twin)) {
            return;
        }
        twin = (!is_ipv6).then(|| read.clone());
        config.add(rule.line, Ok(read));
    });
    if !config.found.is_empty() {
        config.remark(0, "nftables counts new connections or packets; what is tried counts every event of the log");
    }
    Ok(())
}

/// The limit of a rule, and whether it is for IPv6 addresses.
fn read_rule(rule: &Statement, at: usize, config: &mut Config) -> Result<(Found, bool), String> {
    let words: Vec<&str> = rule.words.iter().map(String::as_str).collect();
    let (before, limit_words) = words.split_at(at);
    let mut rest = limit_words.iter().skip(2).copied().peekable();
    let is_over = rest.next_if_eq(&"over").is_some();
    let rate = rest.next().unwrap_or_default();
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
    let burst =
        if rest.next_if_eq(&"burst").is_some() { rest.next().unwrap_or_default() } else { BURST };
    let burst = whole(burst, "its burst")?;
    let after: Vec<&str> = rest.filter(|word| !["packets", "}"].contains(word)).collect();
    let refuses = after.iter().any(|word| ["drop", "reject"].contains(word));
    match (is_over, refuses) {
        (true, true) => {}
        (true, false) => {
            config.remark(rule.line, "the rule refuses nothing of what is over its limit");
        }
        (false, true) => return Err("it refuses what is below its limit".to_owned()),
        (false, false) => config.remark(
            rule.line,
            "the rule accepts what is below its limit, and the next rules decide about the rest; what is tried refuses it",
        ),
    }
    let (before, name, key) =
        match before.iter().rposition(|word| *word == "{").filter(|_| is_set(before)) {
            Some(brace) => {
                let (head, key) = before.split_at(brace);
                let name_at =
                    head.iter().rposition(|word| ["update", "add", "meter"].contains(word));
                let (conditions, set) = head.split_at(name_at.unwrap_or(0));
                let name = set.get(1).copied().unwrap_or_default().trim_start_matches('@');
                (conditions, name, key.get(1..).unwrap_or_default())
            }
            None => (before, "", &[][..]),
        };
    let (fields, is_ipv6) = fields(key, config)?;
    let scope = super::scope(before, " ");
    let limit = limit(&format!("token-bucket {count}/{per} burst {burst}"), &fields)?;
    Ok((Found { name: name.to_owned(), line: rule.line, limit, scope }, is_ipv6))
}

/// Whether the limit is one for each element of a set.
fn is_set(before: &[&str]) -> bool {
    before.iter().any(|word| ["update", "add", "meter"].contains(word))
        && before.iter().filter(|word| **word == "{").count()
            > before.iter().filter(|word| **word == "}").count()
}

/// The fields of an element, and whether it is an IPv6 address.
fn fields(key: &[&str], config: &mut Config) -> Result<(Vec<String>, bool), String> {
    // An element may have a time after which it is forgotten.
    let end = key.iter().position(|word| *word == "timeout").unwrap_or(key.len());
    match &key[..end] {
        [] => Ok((Vec::new(), false)),
        ["ip", "saddr"] => Ok((vec![ip()], false)),
        ["ip6", "saddr"] => Ok((vec![ip()], true)),
        ["ip6", "saddr", "&" | "and", mask] => {
            let bits = mask.parse::<std::net::Ipv6Addr>().ok().map(|mask| mask.to_bits());
            let prefix = bits.filter(|bits| bits.leading_ones() == bits.count_ones());
            let prefix = prefix.ok_or_else(|| unknown(&key.join(" ")))?.leading_ones();
            config.addresses.ipv6_prefix = prefix as u8;
            Ok((vec![ip()], true))
        }
        other => Err(unknown(&other.join(" "))),
    }
}

//! Zones, their keys, and the limits that use them.

use crate::Addresses;
use crate::blocks::Statement;
use crate::field::{header, ip, unknown};
use crate::read::{Config, limit, said};
use crate::words::whole;
use ratescope::policy::Limit;
use std::collections::{BTreeMap, BTreeSet};

/// A zone: its key and rate as written, and, once it is used, as counted.
pub(super) struct Zone<'a> {
    pub(super) line: usize,
    /// Several words in Tengine.
    key: &'a [String],
    pub(super) name: &'a str,
    rate: &'a str,
    pub(super) counted: Option<Result<(String, Key), String>>,
}

/// The value of an argument, as in `zone=one`. Of several nginx takes the last.
pub(super) fn argument<'a>(statement: &'a Statement, name: &str) -> Option<&'a str> {
    statement.words.iter().skip(1).rev().find_map(|word| word.strip_prefix(name))
}

/// The least size of a zone in bytes: eight pages.
const LEAST: u64 = 32_768;

pub(super) fn zone<'a>(statement: &'a Statement, config: &mut Config) -> Zone<'a> {
    let line = statement.line;
    let (name, size) = argument(statement, "zone=").unwrap_or_default().split_once(':').unzip();
    let name = name.or(argument(statement, "zone=")).unwrap_or_default();
    let is_named = |word: &String| ["zone=", "rate="].iter().any(|name| word.starts_with(name));
    let words = statement.words.get(1..).unwrap_or_default();
    let end = words.iter().position(is_named).unwrap_or(words.len());
    let (key, arguments) = words.split_at(end);
    // In a template, a brace begins a block.
    if statement.block.is_empty() {
        if let Some(other) = arguments.iter().find(|it| !is_named(it) && it.as_str() != "sync") {
            config.refuse(line, format!("{:?} of limit_req_zone is unknown", said(other)));
        }
        let is_large = |size: &str| bytes(size).is_some_and(|bytes| bytes >= LEAST);
        if !name.is_empty() && !key.is_empty() && !size.is_some_and(is_large) {
            let [name, size] = [said(name), said(size.unwrap_or_default())];
            config.refuse(line, format!("the zone {name:?} has the size {size:?}"));
        }
        if argument(statement, "rate=").is_none() && !key.is_empty() {
            config.refuse(line, "limit_req_zone has no rate");
        }
    }
    let rate = argument(statement, "rate=").unwrap_or_default();
    Zone { line, key, name, rate, counted: None }
}

/// A size such as `10m`.
pub(super) fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(['k', 'K', 'm', 'M']);
    let unit = match size.len() - digits.len() {
        0 => 1,
        1 if size.ends_with(['k', 'K']) => 1 << 10,
        1 => 1 << 20,
        _ => return None,
    };
    whole(digits, "").ok()?.checked_mul(unit)
}

#[derive(Default)]
pub(super) struct Key {
    pub(super) fields: Vec<String>,
    pub(super) addresses: Addresses,
    /// It is empty in requests without a header or a user.
    pub(super) may_be_empty: bool,
    /// The requests that are counted, if not all.
    pub(super) only: Option<String>,
}

impl Zone<'_> {
    /// The rate and the key as counted.
    pub(super) fn read(&self, maps: &BTreeMap<&str, Map<'_>>) -> Result<(String, Key), String> {
        let [key] = self.key else {
            // In a template, none may be before a brace.
            return Err(match self.key {
                [] => "the key that the zone counts by is missing".to_owned(),
                several => format!(
                    "it counts by {}: a key of several words, as Tengine has it, is not understood",
                    said(&several.join(" "))
                ),
            });
        };
        let (count, unit) = match self.rate {
            rate if rate.ends_with("r/s") => (rate.trim_end_matches("r/s"), "1s"),
            rate if rate.ends_with("r/m") => (rate.trim_end_matches("r/m"), "1m"),
            rate => return Err(format!("its rate is {:?}; nginx has 10r/s and 10r/m", said(rate))),
        };
        let count = whole(count, "its rate")?;
        let mut read = Key { may_be_empty: key.contains('$'), ..Key::default() };
        let mut seen = BTreeSet::new();
        for name in names(key) {
            let map = maps.get(name);
            if let Some(map) = map {
                read.addresses.ipv6_prefix = map.ipv6_prefix;
                if map.may_be_empty && key.trim_matches(['$', '{', '}']) != name {
                    return Err(unknown(key));
                }
                read.only = map
                    .may_be_empty
                    .then(|| format!("requests whose ${} is not empty", said(name)));
            }
            let name = map.map_or(name, |map| map.of);
            let is_given =
                name == "remote_user" || name.starts_with("http_") && name != "http_host";
            read.may_be_empty &= is_given;
            let field = field(name)?;
            if seen.insert(field.clone()) {
                read.fields.push(field);
            }
        }
        Ok((format!("{count}/{unit}"), read))
    }
}

/// The limit of a statement whose zone has this rate and these fields.
pub(super) fn limit_req(
    statement: &Statement,
    rate: &str,
    fields: &[String],
    config: &mut Config,
) -> Result<Limit, String> {
    let mut burst = 0;
    let mut delay = String::new();
    for word in statement.words.iter().skip(1) {
        let (name, value) = word.split_once('=').map_or((word.as_str(), ""), |pair| pair);
        match name {
            "zone" | "forbid_action" => {}
            "nodelay" if value.is_empty() => delay = " nodelay".to_owned(),
            "burst" | "delay" => {
                let n = whole(value, &format!("its {name}"))?;
                if n == 0 {
                    config.refuse(statement.line, format!("its {name} is 0"));
                }
                match name {
                    "burst" => burst = n,
                    _ => delay = format!(" delay {n}"),
                }
            }
            _ => return Err(format!("{:?} of limit_req is not understood", said(word))),
        }
    }
    let burst = if burst > 0 { format!(" burst {burst}") } else { String::new() };
    limit(&format!("nginx {rate}{burst}{delay}"), fields)
}

/// A map that is understood: from a client's address to its network, as this program writes it; or to one variable for
/// the requests to count, and to nothing for the others.
pub(super) struct Map<'a> {
    of: &'a str,
    pub(super) ipv6_prefix: u8,
    pub(super) may_be_empty: bool,
}

impl<'a> Map<'a> {
    /// The name of the variable, and its map.
    pub(super) fn new(map: &'a Statement) -> Option<(&'a str, Self)> {
        let name = map.word(2).strip_prefix('$')?;
        let address = "binary_remote_addr";
        if map.word(1) == "$binary_remote_addr"
            && let Some(bytes) = map.block.iter().find_map(|entry| {
                let (bytes, _) =
                    entry.word(0).strip_prefix("~^(?s)(?<limit_net>.{")?.split_once('}')?;
                bytes.parse::<u8>().ok().filter(|bytes| (1..16).contains(bytes))
            })
        {
            return Some((name, Map { of: address, ipv6_prefix: bytes * 8, may_be_empty: false }));
        }
        let mut values = map.block.iter().map(|entry| entry.word(1));
        let is_plain = map.block.iter().all(|entry| entry.words.len() == 2);
        let of = values.clone().find(|value| !value.is_empty())?;
        let is_understood = is_plain && values.all(|value| value.is_empty() || value == of);
        // Without a default the value is empty.
        let has_default = map.block.iter().any(|entry| entry.begins_with("default"));
        let may_be_empty = !has_default || map.block.iter().any(|entry| entry.word(1).is_empty());
        let of = of.strip_prefix('$').filter(|_| is_understood)?;
        Some((name, Map { of, ipv6_prefix: 128, may_be_empty }))
    }
}

/// The names of the variables of a key.
fn names(key: &str) -> impl Iterator<Item = &str> {
    key.split('$').skip(1).map(|after| {
        let inner = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        inner.map_or(&after[..end.unwrap_or(after.len())], |(name, _)| name)
    })
}

/// The field of a variable.
fn field(name: &str) -> Result<String, String> {
    Ok(match name {
        "binary_remote_addr" | "remote_addr" => ip(),
        "host" | "http_host" => "host".to_owned(),
        "uri" => "path".to_owned(),
        "request_method" => "method".to_owned(),
        "remote_user" => "user".to_owned(),
        name => match name.strip_prefix("http_").filter(|name| !name.is_empty()) {
            Some(name) => header(&name.replace('_', "-")),
            None => return Err(unknown(&format!("${name}"))),
        },
    })
}

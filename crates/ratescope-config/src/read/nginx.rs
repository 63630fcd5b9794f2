//! nginx: zones, and where requests are counted in them.
//!
//! Source: as for [`ratescope::limit::nginx`]. Values are constants there, except the key.

use super::blocks::{Ends, Statement, read as statements, walk};
use super::field::{header, ip, unknown};
use super::words::{has, whole};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::policy::Limit;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit_req_zone") || has(text, &["#"], "limit_req zone=")
}

/// A zone: its key and rate as written, and, once it is used, as counted.
struct Zone<'a> {
    line: usize,
    key: &'a str,
    name: &'a str,
    rate: &'a str,
    counted: Option<Result<(String, Key), String>>,
    /// The line where it is defined again.
    again: Option<usize>,
}

/// What is defined for all levels.
#[derive(Default)]
struct Defined<'a> {
    zones: Vec<Zone<'a>>,
    /// The places of zones by their names.
    names: BTreeMap<&'a str, usize>,
    maps: BTreeMap<&'a str, Map<'a>>,
    /// The hint for a missing definition.
    hint: &'static str,
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Semicolon)?;
    let mut all = Defined::default();
    walk(&statements, &mut Vec::new(), &mut |statement, _| match statement.word(0) {
        "limit_req_zone" => all.add(zone(statement)),
        "map" => all.maps.extend(Map::new(statement)),
        "real_ip_header" if statement.word(1).eq_ignore_ascii_case("x-forwarded-for") => {
            config.addresses.forwarded = true;
        }
        "include" if statement.word(1) != "mime.types" => {
            all.hint = "; a file that is included may have it, and nginx -T prints all";
        }
        _ => {}
    });
    level(&statements, &mut Vec::new(), None, &mut all, config);
    let hint = all.hint;
    for zone in all.zones.iter().filter(|zone| zone.counted.is_none()) {
        let name = said(zone.name);
        config.remark(zone.line, format!("no limit_req here uses the zone {name:?}{hint}"));
    }
    Ok(())
}

/// Reads the limits of a level, which inner levels without their own inherit. `dry` is the line of the
/// `limit_req_dry_run` in force.
fn level(
    block: &[Statement],
    around: &mut Vec<String>,
    dry: Option<usize>,
    all: &mut Defined<'_>,
    config: &mut Config,
) {
    let dry = match block.iter().find(|inner| inner.begins_with("limit_req_dry_run")) {
        Some(own) => Some(own.line).filter(|_| own.word(1) == "on"),
        None => dry,
    };
    let mut limits = block.iter().filter(|inner| inner.begins_with("limit_req")).peekable();
    if limits.peek().is_some() {
        let mut others = Others::default();
        others.find(block);
        let scope = others.scope(around);
        for statement in limits {
            all.read(statement, scope.as_deref(), config);
            if let Some(line) = dry {
                config.remark(
                    statement.line,
                    format!(
                        "limit_req_dry_run is on (line {line}), so nginx refuses nothing by it"
                    ),
                );
            }
        }
    }
    let is_server = |inner: &&Statement| inner.begins_with("server") && !inner.block.is_empty();
    let several = block.iter().filter(is_server).count() > 1;
    for inner in block.iter().filter(|inner| !inner.block.is_empty()) {
        let unnamed = || (several && is_server(&inner)).then(|| unnamed(inner));
        let place = place(inner).or_else(unnamed);
        let depth = around.len();
        around.extend(place);
        level(&inner.block, around, dry, all, config);
        around.truncate(depth);
    }
}

fn unnamed(block: &Statement) -> String {
    format!("the {} of line {}", said(block.word(0)), block.line)
}

/// What the requests of a block have in common.
fn place(block: &Statement) -> Option<String> {
    match block.word(0) {
        "server" => {
            let name = block.block.iter().find(|inner| inner.begins_with("server_name"))?;
            let names = name.words.iter().skip(1).map(String::as_str);
            super::scope(["server"].into_iter().chain(names), " ")
        }
        "location" | "if" => super::scope(&block.words, " "),
        _ => None,
    }
}

/// The blocks within a level to which its limits do not apply: blocks with limits of their own, which replace all outer
/// limits, and blocks where nothing is refused.
#[derive(Default)]
struct Others {
    named: Vec<String>,
    more: usize,
}

impl Others {
    fn find(&mut self, block: &[Statement]) {
        const NAMED: usize = 3;
        for inner in block {
            let is_own = |inner: &Statement| {
                inner.begins_with("limit_req")
                    || inner.begins_with("limit_req_dry_run") && inner.word(1) == "on"
            };
            if !inner.block.iter().any(is_own) {
                self.find(&inner.block);
            } else if self.named.len() < NAMED {
                self.named.push(place(inner).unwrap_or_else(|| unnamed(inner)));
            } else {
                self.more += 1;
            }
        }
    }

    /// The scope of a level without these blocks.
    fn scope(&self, around: &[String]) -> Option<String> {
        let level = super::scope(around, ", ");
        let Some(named) = super::scope(&self.named, ", ") else { return level };
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        let level = level.unwrap_or_else(|| "all".to_owned());
        Some(format!("{level} except {named}{more}"))
    }
}

/// The value of an argument, as in `zone=one`.
fn argument<'a>(statement: &'a Statement, name: &str) -> Option<&'a str> {
    statement.words.iter().skip(1).find_map(|word| word.strip_prefix(name))
}

fn zone(statement: &Statement) -> Zone<'_> {
    let name = argument(statement, "zone=").unwrap_or_default();
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    // Without a rate it is one a second: `ngx_http_limit_req_zone`.
    let rate = argument(statement, "rate=").unwrap_or("1r/s");
    let key = statement.word(1);
    Zone { line: statement.line, key, name, rate, counted: None, again: None }
}

impl<'a> Defined<'a> {
    fn add(&mut self, zone: Zone<'a>) {
        match self.names.get(zone.name).and_then(|known| self.zones.get_mut(*known)) {
            Some(known) => known.again = known.again.or(Some(zone.line)),
            None => {
                self.names.insert(zone.name, self.zones.len());
                self.zones.push(zone);
            }
        }
    }

    /// Reads a `limit_req` of a level.
    fn read(&mut self, statement: &Statement, scope: Option<&str>, config: &mut Config) {
        let Some(name) = argument(statement, "zone=").filter(|name| !name.is_empty()) else {
            return config.remark(statement.line, "the zone of limit_req is missing");
        };
        let zone = self.names.get(name).and_then(|place| self.zones.get_mut(*place));
        let Some(zone) = zone else {
            let hint = self.hint;
            let problem = format!("the zone {:?} is not defined here{hint}", said(name));
            return config.remark(statement.line, problem);
        };
        // Many statements may use one zone, and its key may be long.
        let counted = zone.counted.take().unwrap_or_else(|| zone.read(&self.maps));
        // A mistake in the zone has the line of the zone.
        let (rate, key) = match zone.counted.insert(counted) {
            Ok(counted) => counted,
            Err(problem) => return config.remark(zone.line, problem.as_str()),
        };
        if key.may_be_empty {
            config.remark(
                statement.line,
                "nginx counts no request without this key; what is tried counts those as of one client",
            );
        }
        let scope = super::scope(scope.into_iter().chain(key.only.as_deref()), ", ");
        let found = limit_req(statement, rate, &key.fields).map(|limit| Found {
            name: name.to_owned(),
            line: statement.line,
            limit,
            addresses: key.addresses,
            scope,
        });
        config.add(statement.line, found);
    }
}

/// The key of a zone.
#[derive(Default)]
struct Key {
    fields: Vec<String>,
    addresses: Addresses,
    /// It is empty in requests without a header or a user.
    may_be_empty: bool,
    /// The requests that are counted, if not all.
    only: Option<String>,
}

impl Zone<'_> {
    /// The rate and the key as counted.
    fn read(&self, maps: &BTreeMap<&str, Map<'_>>) -> Result<(String, Key), String> {
        // nginx takes the first word for the key. In a template, none may be before a brace.
        if ["zone=", "rate="].iter().any(|name| self.key.is_empty() || self.key.starts_with(name)) {
            return Err("the key that the zone counts by is missing".to_owned());
        }
        if let Some(again) = self.again {
            let name = said(self.name);
            return Err(format!(
                "the zone {name:?} is defined again in line {again}, which nginx refuses"
            ));
        }
        let (count, unit) = match self.rate {
            rate if rate.ends_with("r/s") => (rate.trim_end_matches("r/s"), "1s"),
            rate if rate.ends_with("r/m") => (rate.trim_end_matches("r/m"), "1m"),
            rate => return Err(format!("its rate is {:?}; nginx has 10r/s and 10r/m", said(rate))),
        };
        let count = whole(count, "its rate")?;
        let mut key = Key { may_be_empty: self.key.contains('$'), ..Key::default() };
        let mut seen = BTreeSet::new();
        for name in names(self.key) {
            let map = maps.get(name);
            if let Some(map) = map {
                key.addresses.ipv6_prefix = map.ipv6_prefix;
                if map.may_be_empty && self.key.trim_matches(['$', '{', '}']) != name {
                    return Err(unknown(self.key));
                }
                key.only = map
                    .may_be_empty
                    .then(|| format!("requests whose ${} is not empty", said(name)));
            }
            let name = map.map_or(name, |map| map.of);
            let is_given =
                name == "remote_user" || name.starts_with("http_") && name != "http_host";
            key.may_be_empty &= is_given;
            let field = field(name)?;
            if seen.insert(field.clone()) {
                key.fields.push(field);
            }
        }
        Ok((format!("{count}/{unit}"), key))
    }
}

/// The limit of a statement whose zone has this rate and these fields.
fn limit_req(statement: &Statement, rate: &str, fields: &[String]) -> Result<Limit, String> {
    let burst = argument(statement, "burst=").map_or(Ok(0), |burst| whole(burst, "its burst"))?;
    let delay = argument(statement, "delay=").map_or(Ok(0), |delay| whole(delay, "its delay"))?;
    let mut words = format!("nginx {rate}");
    if burst > 0 {
        words += &format!(" burst {burst}");
    }
    for word in statement.words.iter().skip(1) {
        let known = ["zone=", "burst=", "delay="].iter().any(|name| word.starts_with(name));
        if !known && word != "nodelay" {
            return Err(format!("{:?} of limit_req is not understood", said(word)));
        }
    }
    if statement.words.iter().any(|word| word == "nodelay") {
        words += " nodelay";
    } else if delay > 0 {
        words += &format!(" delay {delay}");
    }
    limit(&words, fields)
}

/// A map that is understood: from a client's address to its network, as this program writes it; or to one variable for
/// the requests to count, and to nothing for the others.
struct Map<'a> {
    of: &'a str,
    ipv6_prefix: u8,
    may_be_empty: bool,
}

impl<'a> Map<'a> {
    /// The name of the variable, and its map.
    fn new(map: &'a Statement) -> Option<(&'a str, Self)> {
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

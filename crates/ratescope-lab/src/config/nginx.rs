//! nginx: zones, and where requests are counted in them.
//!
//! Source: as for [`ratescope::limit::nginx`]. Values are constants there, but for the key.

use super::blocks::{Ends, Statement, read as statements, walk};
use super::field::{header, ip, unknown};
use super::words::{has, whole};
use super::{Config, Found, Remark, limit, said};
use ratescope::policy::Limit;

pub(super) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit_req_zone") || has(text, &["#"], "limit_req zone=")
}

/// A zone: its key and rate as they are written.
struct Zone<'a> {
    line: usize,
    key: &'a str,
    name: &'a str,
    rate: &'a str,
    is_used: bool,
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Semicolon)?;
    let mut zones: Vec<Zone<'_>> = Vec::new();
    let mut uses: Vec<(&Statement, Option<String>)> = Vec::new();
    let mut maps: Vec<Network<'_>> = Vec::new();
    let mut includes = false;
    let mut dry = None;
    walk(&statements, &mut Vec::new(), &mut |statement, around| match statement.word(0) {
        "limit_req_zone" => zones.push(zone(statement)),
        "limit_req" => {
            let places = around.iter().filter(|outer| ["location", "if"].contains(&outer.word(0)));
            let places: Vec<String> = places.map(|outer| outer.text()).collect();
            uses.push((statement, super::scope(&places, ", ")));
        }
        "map" => maps.extend(Network::new(statement)),
        "real_ip_header" if statement.word(1).eq_ignore_ascii_case("x-forwarded-for") => {
            config.addresses.forwarded = true;
        }
        "include" if statement.word(1) != "mime.types" => includes = true,
        "limit_req_dry_run" if statement.word(1) == "on" => dry = Some(statement.line),
        _ => {}
    });
    let hint = if includes {
        "; a file that is included may have it, and nginx -T prints all"
    } else {
        ""
    };
    for (statement, scope) in uses {
        let name = argument(statement, "zone=").unwrap_or_default();
        let Some(zone) = zones.iter_mut().find(|zone| zone.name == name) else {
            config.remark(
                statement.line,
                format!("the zone {:?} is not defined here{hint}", said(name)),
            );
            continue;
        };
        zone.is_used = true;
        if may_be_empty(zone.key) {
            config.remark(
                statement.line,
                "nginx counts no request without this key; what is tried counts those as of one client",
            );
        }
        // The place of a mistake in the zone is the zone's.
        let (line, limit) = match zone.read(&maps) {
            Ok((rate, fields)) => (statement.line, limit_req(statement, &rate, &fields)),
            Err(problem) => (zone.line, Err(problem)),
        };
        let network = maps.iter().find(|map| names(zone.key).any(|name| name == map.name));
        if limit.is_ok()
            && let Some(network) = network
        {
            config.addresses.ipv6_prefix = network.prefix;
        }
        let name = name.to_owned();
        let found = limit.map(|limit| Found { name, line: statement.line, limit, scope });
        config.add(line, found);
    }
    for zone in zones.iter().filter(|zone| !zone.is_used) {
        config.remark(
            zone.line,
            format!("no limit_req here uses the zone {:?}{hint}", said(zone.name)),
        );
    }
    if let Some(line) = dry {
        config.remark(line, "limit_req_dry_run is on: nginx refuses nothing by these limits");
    }
    Ok(())
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
    Zone { line: statement.line, key: statement.word(1), name, rate, is_used: false }
}

impl Zone<'_> {
    /// The rate and the fields, as they are counted.
    fn read(&self, maps: &[Network<'_>]) -> Result<(String, Vec<String>), String> {
        let (count, unit) = match self.rate {
            rate if rate.ends_with("r/s") => (rate.trim_end_matches("r/s"), "1s"),
            rate if rate.ends_with("r/m") => (rate.trim_end_matches("r/m"), "1m"),
            rate => return Err(format!("its rate is {:?}; nginx has 10r/s and 10r/m", said(rate))),
        };
        let count = whole(count, "its rate")?;
        Ok((format!("{count}/{unit}"), fields(self.key, maps)?))
    }
}

/// The limit of a statement, whose zone has this rate and counts by these fields.
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

/// A map from the address of a client to its network, as this program writes it.
struct Network<'a> {
    name: &'a str,
    prefix: u8,
}

impl<'a> Network<'a> {
    fn new(map: &'a Statement) -> Option<Self> {
        let name =
            map.word(2).strip_prefix('$').filter(|_| map.word(1) == "$binary_remote_addr")?;
        let bytes = map.block.iter().find_map(|entry| {
            let bytes = entry.word(0).strip_prefix("~^(?s)(?<limit_net>.{")?.split_once('}')?.0;
            bytes.parse::<u8>().ok().filter(|bytes| (1..16).contains(bytes))
        })?;
        Some(Network { name, prefix: bytes * 8 })
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

/// Whether a key is empty in requests without a header or a user.
fn may_be_empty(key: &str) -> bool {
    let may_be =
        |name: &str| name == "remote_user" || name.starts_with("http_") && name != "http_host";
    names(key).next().is_some() && names(key).all(may_be)
}

fn fields(key: &str, maps: &[Network<'_>]) -> Result<Vec<String>, String> {
    let field = |name: &str| match name {
        "binary_remote_addr" | "remote_addr" => Ok(ip()),
        "host" | "http_host" => Ok("host".to_owned()),
        "uri" => Ok("path".to_owned()),
        "request_method" => Ok("method".to_owned()),
        "remote_user" => Ok("user".to_owned()),
        name if maps.iter().any(|map| map.name == name) => Ok(ip()),
        name => match name.strip_prefix("http_").filter(|name| !name.is_empty()) {
            Some(name) => Ok(header(&name.replace('_', "-"))),
            None => Err(unknown(&format!("${name}"))),
        },
    };
    names(key).map(field).collect()
}

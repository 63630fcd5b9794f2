//! Caddy: the zones of `rate_limit`, of the plugin `mholt/caddy-ratelimit`: a log of the last events of each key.
//!
//! Source: its `caddyfile.go`, `handler.go` and `ringbuffer.go`.

use crate::blocks::{Ends, Statement, read as statements, walk};
use crate::field::{Field, fields, header, ip, joined, unknown};
use crate::only::{host, hosts, network, stars};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{GO, bits, lines, prefixes, span, whole};
use crate::write::{Names, Notes, Written, each, is_whole};
use crate::{Addresses, Is, Only, Test};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};
use ratescope::time::Span;
use std::collections::BTreeSet;

pub(crate) const NAMES: Names = Names { name: "caddy", title: "Caddy", file: "Caddyfile" };

pub(crate) fn is_known(text: &str) -> bool {
    lines(text, &["#"]).any(|(_, line)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first() == Some(&"rate_limit") && words.last() == Some(&"{")
    })
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Line)?;
    walk(&statements, &mut Vec::new(), &mut |zone, around| {
        if zone.begins_with("rate_limit") && zone.block.is_empty() {
            return config.remark(zone.line, "rate_limit without zones is not understood");
        }
        let Some((outer, sites)) = around.split_last() else { return };
        if !zone.begins_with("zone") || !outer.begins_with("rate_limit") {
            return;
        }
        let mut only = Only::All;
        sites.iter().for_each(|site| only.and(block(site)));
        only.and(matcher(outer));
        for inner in zone.block.iter().filter(|inner| inner.begins_with("match")) {
            inner.block.iter().for_each(|line| only.and(matched(line)));
        }
        let matched = zone.block.iter().filter(|inner| inner.begins_with("match")).map(|inner| {
            let tests = scoped(inner.block.iter().map(Statement::text), ", ");
            format!("match {}", tests.unwrap_or_default())
        });
        let sites = sites.iter().map(|site| site.text());
        let path = outer.words.get(1).cloned();
        let scope = scoped(sites.chain(path).chain(matched), ", ");
        let mut addresses = Addresses::default();
        let found = read_zone(zone, &mut addresses, config).map(|limit| Found {
            name: zone.word(1).to_owned(),
            line: zone.line,
            limit,
            addresses,
            scope,
            only,
        });
        config.add(zone.line, found);
    });
    Ok(())
}

/// The requests of a block: a site with its hosts, or a handler of some of them.
fn block(block: &Statement) -> Only {
    match block.word(0) {
        "handle" | "handle_path" | "route" => matcher(block),
        _ => {
            let hosts = block.words.iter().map(|site| {
                let site = site.trim_end_matches(',');
                let site = site.split_once("://").map_or(site, |(_, site)| site);
                site.split(['/', ':']).next().unwrap_or(site)
            });
            let hosts: Vec<&str> = hosts.collect();
            if hosts.is_empty() || hosts.contains(&"") {
                return Only::All;
            }
            // A snippet, which sites import, or a placeholder.
            if let Some(name) = hosts.iter().find(|name| name.contains(['(', '{'])) {
                return Only::Unknown(format!("it is for {}, which is no host", said(name)));
            }
            self::hosts(hosts)
        }
    }
}

/// The requests of a directive with a matcher.
fn matcher(directive: &Statement) -> Only {
    match directive.word(1) {
        "" if directive.begins_with("handle") => {
            // Only if no other `handle` beside it takes some.
            Only::Unknown("it is for requests that no other handle takes".to_owned())
        }
        "" | "*" => Only::All,
        path if path.starts_with('/') => Test::field("path", path_like(path)).into(),
        other => Only::of(None, other),
    }
}

/// A path with stars, in either case.
fn path_like(pattern: &str) -> Is {
    match pattern {
        "/*" => Is::Begins("/".to_owned()),
        _ => Is::Like(format!("(?i){}", stars(pattern))),
    }
}

/// The requests of a line of `match`.
fn matched(line: &Statement) -> Only {
    let values = line.words.get(1..).unwrap_or_default();
    let test = match line.word(0) {
        "path" => Test::one_of("path", values, |path| Some(path_like(path))),
        "method" => Test::one_of("method", values, |method| Some(Is::Exactly(method.clone()))),
        "host" => Test::one_of("host", values, |name| Some(host(name))),
        "remote_ip" | "client_ip" => Test::one_of("ip", values, |value| network(value)),
        "not" => {
            let inner = match line.block.as_slice() {
                [] => Statement { words: values.to_vec(), ..Statement::default() },
                [inner] => inner.clone(),
                _ => Statement::default(),
            };
            match matched(&inner) {
                Only::Fields(test) => Some(test.not()),
                // Who is left out is said.
                _ => return Only::All,
            }
        }
        _ => None,
    };
    Only::of(test, &line.text())
}

fn read_zone(
    zone: &Statement,
    addresses: &mut Addresses,
    config: &mut Config,
) -> Result<Limit, String> {
    let known = ["match", "key", "events", "window", "ipv4_prefix", "ipv6_prefix"];
    let mut seen = BTreeSet::new();
    for inner in &zone.block {
        let name = inner.word(0);
        if !known.contains(&name) {
            let name = said(name);
            config
                .remark(inner.line, format!("{name} of a zone is not understood; it is left out"));
        } else if !seen.insert(name) {
            config.refuse(inner.line, format!("the zone has its {name} twice"));
        }
    }
    let value = |name: &str| zone.block.iter().find(|inner| inner.begins_with(name));
    let missing = |name: &str| format!("the zone has no {name}");
    let events = value("events").ok_or_else(|| missing("events"))?;
    let window = value("window").ok_or_else(|| missing("window"))?;
    let events = whole(events.word(1), "its number of events")?;
    if events == 0 {
        config.refuse(zone.line, "the zone has 0 events");
    }
    let window = span(window.word(1), GO, "its window")?;
    // Without a key, all requests share one.
    let key = value("key").map_or("", |key| key.word(1));
    let fields = key_fields(key, addresses)?;
    // The address of the key is cut to the prefixes of the zone.
    for (name, most, prefix) in [
        ("ipv4_prefix", 32, &mut addresses.ipv4_prefix),
        ("ipv6_prefix", 128, &mut addresses.ipv6_prefix),
    ] {
        let Some(given) = value(name) else { continue };
        let read = bits(given.word(1)).filter(|bits| *bits <= most);
        let word = said(given.word(1));
        *prefix =
            read.ok_or_else(|| format!("{name} is {word:?}, which is no number up to {most}"))?;
    }
    limit(&format!("sliding-log {events}/{window}"), &fields)
}

/// The fields of a key: its placeholders. The text around them is the same for all.
fn key_fields(key: &str, addresses: &mut Addresses) -> Result<Vec<String>, String> {
    key.split('{')
        .skip(1)
        .map(|part| field(part.split('}').next().unwrap_or(part), addresses))
        .collect()
}

fn field(name: &str, addresses: &mut Addresses) -> Result<String, String> {
    if let Some(cut) = name.strip_prefix("http.request.remote.host/") {
        (addresses.ipv4_prefix, addresses.ipv6_prefix) =
            prefixes(cut).ok_or_else(|| unknown(&format!("{{{name}}}")))?;
        return Ok(ip());
    }
    Ok(match name {
        "http.request.remote.host" | "remote_host" => ip(),
        "http.vars.client_ip" | "client_ip" => {
            addresses.forwarded = true;
            ip()
        }
        "http.request.host" | "host" => "host".to_owned(),
        "http.request.uri.path" | "path" => "path".to_owned(),
        "http.request.method" | "method" => "method".to_owned(),
        "http.auth.user.id" => "user".to_owned(),
        _ => {
            let name_of =
                name.strip_prefix("http.request.header.").or(name.strip_prefix("header."));
            header(name_of.ok_or_else(|| unknown(&format!("{{{name}}}")))?)
        }
    })
}

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let zones = each(limits, |n, limit| {
        let AnyLimiter::SlidingLog(log) = &limit.limiter else {
            let problem = "its plugin keeps a log only; write a limit such as sliding-log 10/1m";
            return Err(problem.to_owned());
        };
        let count = log.limit().count();
        if !is_whole(count) {
            return Err("its number of events must be whole, and at least 1".to_owned());
        }
        let key = key(&limit.per, addresses, notes)?;
        let window = duration(log.limit().per())?;
        Ok(format!(
            "\tzone limit{n} {{\n\t\tkey {key}\n\t\twindow {window}\n\t\tevents {count}\n\t}}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "Caddy asks one zone after the other: a request that a later one refuses has \
                   counted in those before",
        );
    }
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    Ok(format!(
        "{client}# In a site, with the plugin github.com/mholt/caddy-ratelimit and, in the global options,\n\
         # order rate_limit before basic_auth:\nrate_limit {{\n{zones}}}\n"
    ))
}

/// The options by which Caddy takes the client from X-Forwarded-For, from 2.8 on.
const REAL_ADDRESS: &str = "\
# In the global options, as clients come through proxies of a private network:
servers {
\ttrusted_proxies static private_ranges
\ttrusted_proxies_strict
}

";

/// A span in Go's syntax.
///
/// # Errors
/// When it is not a whole number of microseconds.
pub(crate) fn duration(span: Span) -> Result<String, String> {
    for (unit, per_second) in [("s", 1.0), ("ms", 1e3), ("us", 1e6)] {
        let number = libm::round(span.as_secs_f64() * per_second);
        if number / per_second == span.as_secs_f64() {
            return Ok(format!("{number}{unit}"));
        }
    }
    Err("its periods are whole microseconds".to_owned())
}

fn key(per: &Per, addresses: Addresses, notes: &mut Notes) -> Result<String, String> {
    let fields = fields(per)?;
    joined(&fields).into_iter().for_each(|note| notes.add(note));
    let names: Vec<String> = fields.iter().map(|field| name(field, addresses, notes)).collect();
    Ok(match names.as_slice() {
        [] => "all".to_owned(),
        [one] => one.clone(),
        _ => format!("\"{}\"", names.join(" ")),
    })
}

fn name(field: &Field, addresses: Addresses, notes: &mut Notes) -> String {
    let name = match field {
        Field::Ip if addresses.forwarded => {
            if addresses.has_networks() {
                notes.add("behind a proxy, Caddy counts each address, and no networks");
            }
            return "{http.vars.client_ip}".to_owned();
        }
        Field::Ip if addresses.has_networks() => {
            let Addresses { ipv4_prefix, ipv6_prefix, .. } = addresses;
            return format!("{{http.request.remote.host/{ipv4_prefix},{ipv6_prefix}}}");
        }
        Field::Ip => "remote.host",
        Field::Host => "host",
        Field::Path => "uri.path",
        Field::Method => "method",
        Field::User => {
            notes.add("Caddy knows the user only after basic_auth: order rate_limit after it");
            return "{http.auth.user.id}".to_owned();
        }
        Field::Header(header) => return format!("{{http.request.header.{header}}}"),
    };
    format!("{{http.request.{name}}}")
}

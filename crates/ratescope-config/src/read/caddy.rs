//! Caddy: the zones of `rate_limit`, of the plugin `mholt/caddy-ratelimit`.

use super::blocks::{Ends, Statement, read as statements, walk};
use super::field::{header, ip, unknown};
use super::words::{GO, bits, lines, span, whole};
use super::{Config, Found, Remark, limit, said};
use crate::only::{escape, host, network};
use crate::{Addresses, Is, Only, Test};
use ratescope::policy::Limit;
use std::collections::BTreeSet;

pub(super) fn is_known(text: &str) -> bool {
    lines(text, &["#"]).any(|(_, line)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first() == Some(&"rate_limit") && words.last() == Some(&"{")
    })
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
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
            let tests = super::scope(inner.block.iter().map(Statement::text), ", ");
            format!("match {}", tests.unwrap_or_default())
        });
        let sites = sites.iter().map(|site| site.text());
        let path = outer.words.get(1).cloned();
        let scope = super::scope(sites.chain(path).chain(matched), ", ");
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

/// The requests of a block: a site with its hosts, or what handles some of them.
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
            if hosts.is_empty() || hosts.len() > VALUES || hosts.contains(&"") {
                return Only::All;
            }
            Test::any(hosts.into_iter().map(host)).into()
        }
    }
}

/// The most values of a matcher by which requests are told apart.
const VALUES: usize = 60;

/// The requests of a directive with a matcher.
fn matcher(directive: &Statement) -> Only {
    match directive.word(1) {
        "" if directive.begins_with("handle") => {
            // Only if no other `handle` beside it takes some.
            Only::Unknown("it is for what no other handle takes".to_owned())
        }
        "" | "*" => Only::All,
        path if path.starts_with('/') => path_like(path).into(),
        other => Only::Unknown(format!("no log tells when {} holds", said(other))),
    }
}

/// A path with stars, in either case.
fn path_like(pattern: &str) -> Test {
    let parts: Vec<String> = pattern.split('*').map(escape).collect();
    let is = match pattern {
        "/*" => Is::Begins("/".to_owned()),
        _ => Is::Like(format!("(?i)^{}$", parts.join(".*"))),
    };
    Test::field("path", is)
}

/// The requests of a line of `match`.
fn matched(line: &Statement) -> Only {
    let values = line.words.get(1..).unwrap_or_default();
    let any = |test: &dyn Fn(&str) -> Option<Test>| {
        let tests = values.iter().map(|value| test(value)).collect::<Option<Vec<_>>>()?;
        (!tests.is_empty() && tests.len() <= VALUES).then(|| Test::any(tests))
    };
    let test = match line.word(0) {
        "path" => any(&|path| Some(path_like(path))),
        "method" => any(&|method| Some(Test::field("method", Is::Exactly(method.to_owned())))),
        "host" => any(&|name| Some(host(name))),
        "remote_ip" | "client_ip" => any(&|value| Some(Test::field("ip", network(value)?))),
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
    Only::of(test, &format!("no log tells when {} holds", said(&line.text())))
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
    let fields = fields(key, addresses)?;
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
fn fields(key: &str, addresses: &mut Addresses) -> Result<Vec<String>, String> {
    key.split('{')
        .skip(1)
        .map(|part| field(part.split('}').next().unwrap_or(part), addresses))
        .collect()
}

fn field(name: &str, addresses: &mut Addresses) -> Result<String, String> {
    if let Some(cut) = name.strip_prefix("http.request.remote.host/") {
        let (ipv4, ipv6) = cut.split_once(',').unwrap_or((cut, "128"));
        let prefixes = bits(ipv4).filter(|bits| *bits <= 32).zip(bits(ipv6));
        (addresses.ipv4_prefix, addresses.ipv6_prefix) =
            prefixes.ok_or_else(|| unknown(&format!("{{{name}}}")))?;
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

//! Caddy: the zones of `rate_limit`, of the plugin `mholt/caddy-ratelimit`.

use super::blocks::{Ends, Statement, read as statements, walk};
use super::field::{header, ip, unknown};
use super::words::{GO, bits, lines, span, whole};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::policy::Limit;

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
        let matched = zone.block.iter().filter(|inner| inner.begins_with("match")).map(|inner| {
            let tests = super::scope(inner.block.iter().map(Statement::text), ", ");
            format!("match {}", tests.unwrap_or_default())
        });
        let sites = sites.iter().map(|site| site.text());
        let path = outer.words.get(1).cloned();
        let scope = super::scope(sites.chain(path).chain(matched), ", ");
        let mut addresses = Addresses::default();
        let found = read_zone(zone, &mut addresses).map(|limit| Found {
            name: zone.word(1).to_owned(),
            line: zone.line,
            limit,
            addresses,
            scope,
        });
        config.add(zone.line, found);
    });
    Ok(())
}

fn read_zone(zone: &Statement, addresses: &mut Addresses) -> Result<Limit, String> {
    let known = ["match", "key", "events", "window"];
    if let Some(other) = zone.block.iter().find(|inner| !known.contains(&inner.word(0))) {
        return Err(format!("{} of a zone is not understood", said(other.word(0))));
    }
    let value = |name: &str| zone.block.iter().find(|inner| inner.begins_with(name));
    let missing = |name: &str| format!("the zone has no {name}");
    let events = value("events").ok_or_else(|| missing("events"))?;
    let window = value("window").ok_or_else(|| missing("window"))?;
    let events = whole(events.word(1), "its number of events")?;
    let window = span(window.word(1), GO, "its window")?;
    // Without a key, all requests share one.
    let key = value("key").map_or("", |key| key.word(1));
    let fields = fields(key, addresses)?;
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
        let (ipv4, ipv6) = cut.split_once(',').unwrap_or(("", ""));
        let prefix = bits(ipv6).filter(|_| ipv4 == "32");
        addresses.ipv6_prefix = prefix.ok_or_else(|| unknown(&format!("{{{name}}}")))?;
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

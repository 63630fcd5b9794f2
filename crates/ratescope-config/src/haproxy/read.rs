//! The limits of a configuration.

use super::UNITS;
use super::condition::{Compared, compared};
use super::index::Index;
use super::sections::{Line, Sections};
use crate::Addresses;
use crate::earlier::Earlier;
use crate::field::{header, ip, unknown};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{prefixes, span, whole};
use ratescope::time::Span;
use std::collections::BTreeMap;

/// The length at which a format is not understood.
const LONGEST: usize = 2048;

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let all = Sections::new(text, config)?;
    let index = Index::new(&all);
    config.addresses.forwarded = all.lines.iter().any(|line| {
        line.action() == "set-src"
            && line
                .words
                .iter()
                .any(|word| word.to_ascii_lowercase().contains("hdr_ip(x-forwarded-for"))
    });
    // By the section and the phase.
    let mut earlier: BTreeMap<(usize, usize), Earlier> = BTreeMap::new();
    for rule in &all.lines {
        if let ("rate-limit", "sessions") = (rule.word(0), rule.word(1)) {
            let text = "rate-limit sessions lets connections wait, and is not tried";
            config.remark(rule.number, text);
        }
        let earlier = earlier.entry((rule.section, rule.phase())).or_default();
        let Some(condition) = rule.condition() else {
            if rule.decides() {
                earlier.add(rule.number, rule.action(), true);
            }
            continue;
        };
        index.check(rule, config);
        let read = if rule.refuses() { compared(&index, rule, condition) } else { None };
        let Some((compared, scope)) = read else {
            let count = index.names_a_count(rule, condition).filter(|_| rule.refuses());
            if let Some(count) = count {
                config.beside(rule.number, count);
            } else if !rule.action().starts_with("track-sc") && index.names_a_rate(rule, condition)
            {
                config.remark(rule.number, "it decides by a rate in a way that is not understood");
            } else if rule.decides() {
                let words = [rule.action()].into_iter().chain(condition.iter().map(String::as_str));
                let words = scoped(words, " ").unwrap_or_default();
                earlier.add(rule.number, &words, false);
            }
            continue;
        };
        let found = match compared {
            Ok(compared) => found(&index, rule, &compared, scope, config),
            Err(problem) => Err(problem),
        };
        earlier.add_limit(rule.number, found, config);
    }
    Ok(())
}

fn found(
    index: &Index<'_>,
    rule: &Line,
    compared: &Compared<'_>,
    others: Vec<String>,
    config: &mut Config,
) -> Result<Found, String> {
    let (track, backend) = index.track(rule, compared)?;
    let own = index.sections[track.section].name.as_str();
    let table = track.after("table").unwrap_or(own);
    if let Some(other) = compared.table.filter(|other| *other != table) {
        let [other, table] = [said(other), said(table)];
        return Err(format!("it looks into the table {other:?}, but tracks in {table:?}"));
    }
    let place: Vec<String> = index.place(rule).into_iter().chain(backend).collect();
    let mut only = index.only(track.section, track.condition().unwrap_or_default());
    only.and(index.only(rule.section, &others));
    if track.section != rule.section {
        only.and(index.routed(&index.sections[rule.section].name, track.section));
    }
    let conditions = track.condition().into_iter().flatten().chain(&others);
    let scope = scoped(place.iter().chain(conditions), " ");
    let store = index.stores.get(&(table, compared.rate));
    let (stored, period) = *store.ok_or_else(|| {
        format!("no stick-table of {:?} here stores {}(...)", said(table), compared.rate)
    })?;
    let period = span(period, UNITS, "its period")?;
    let than = whole(compared.than, "its threshold")?;
    let counts_allowed =
        compared.rate == "gpc0_rate" && counts_passed(index, rule, compared.counter)?;
    // The count of allowed requests is compared before the request is counted, that of all requests after it.
    let most = match (compared.by, counts_allowed) {
        ("gt", true) => than.saturating_add(1),
        ("gt", false) | (_, true) => than,
        (_, false) if than == 0 => return Err("ge 0 refuses everything".to_owned()),
        (_, false) => than - 1,
    };
    let allowed = if counts_allowed { " allowed" } else { "" };
    if !compared.counts.is_empty() {
        config.remark(
            rule.number,
            format!("it counts {}; the trial counts every event of the log", compared.counts),
        );
    }
    if let Some(expire) = stored.after("expire") {
        let expire = span(expire, UNITS, "its time to expire")?;
        if expire
            < Span::try_from_secs_f64(period.as_secs_f64() * 2.0).map_err(|e| e.to_string())?
        {
            config.remark(
                stored.number,
                format!(
                    "an entry expires after {expire}, sooner than two periods; the trial keeps it"
                ),
            );
        }
    }
    let place = track.words.iter().position(|word| word == track.action()).unwrap_or(1);
    let mut addresses = Addresses::default();
    let fields = key(index, track.section, track.word(place + 1), &mut addresses)?;
    let found = Found {
        name: table.to_owned(),
        line: rule.number,
        limit: limit(&format!("haproxy {most}/{period}{allowed}"), &fields)?,
        addresses,
        scope,
        only,
    };
    if found.is_by_address() && stored.after("type") == Some("ip") {
        config.remark(
            stored.number,
            "a table of type ip has no IPv6 addresses; the trial counts them, too",
        );
    }
    Ok(found)
}

/// Tells whether `gpc0` is incremented after the rule, and so only for requests that passed.
fn counts_passed(index: &Index<'_>, rule: &Line, counter: Option<&str>) -> Result<bool, String> {
    let name = format!("sc-inc-gpc0({})", counter.unwrap_or("0"));
    match index.actions.get(&(rule.section, &*name)).map(Vec::as_slice) {
        Some([line]) if line.condition().is_none() => {
            Ok((line.phase(), line.number) > (rule.phase(), rule.number))
        }
        None | Some([]) => Err(format!("no http-request {name} counts")),
        _ => Err(format!("{name} counts under a condition, or twice, which is not understood")),
    }
}

/// The fields of a tracked expression.
fn key(
    index: &Index<'_>,
    section: usize,
    track: &str,
    addresses: &mut Addresses,
) -> Result<Vec<String>, String> {
    if track.starts_with("int(") {
        return Ok(Vec::new());
    }
    let variable = track.strip_prefix("var(").and_then(|rest| rest.split_once(')'));
    if let Some((name, "" | ",sha1")) = variable {
        let set = |kind: &str| match index.actions.get(&(section, &*format!("{kind}({name})"))) {
            Some(lines) => match lines.as_slice() {
                [line] if line.condition().is_none() => Some(*line),
                _ => None,
            },
            None => None,
        };
        if let Some(line) = set("set-var-fmt").filter(|line| line.word(2).len() < LONGEST) {
            return line
                .word(2)
                .split("%[")
                .skip(1)
                .map(|part| {
                    let (sample, _) = part.split_once(']').unwrap_or((part, ""));
                    field(sample, addresses)
                })
                .collect();
        }
        return match set("set-var") {
            Some(line) => Ok(vec![field(line.word(2), addresses)?]),
            None => Err(unknown(track)),
        };
    }
    match track {
        "base" | "base32" => Ok(vec!["host".to_owned(), "path".to_owned()]),
        "base32+src" => Ok(vec![ip(), "host".to_owned(), "path".to_owned()]),
        track => Ok(vec![field(track, addresses)?]),
    }
}

fn field(sample: &str, addresses: &mut Addresses) -> Result<String, String> {
    if let Some(cut) = sample.strip_prefix("src,ipmask(").and_then(|cut| cut.strip_suffix(')')) {
        (addresses.ipv4_prefix, addresses.ipv6_prefix) =
            prefixes(cut).ok_or_else(|| unknown(sample))?;
        return Ok(ip());
    }
    Ok(match sample {
        "src" => ip(),
        "path" => "path".to_owned(),
        "method" => "method".to_owned(),
        sample => {
            let names = ["req.fhdr(", "req.hdr(", "hdr("];
            let name = names.iter().find_map(|begin| sample.strip_prefix(begin)?.strip_suffix(')'));
            let name = name.filter(|name| !name.contains(',')).ok_or_else(|| unknown(sample))?;
            header(name)
        }
    })
}

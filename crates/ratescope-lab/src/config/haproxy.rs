//! HAProxy: the tables of a configuration, what is tracked in them, and the rules that compare their rates.
//!
//! Source: as for [`ratescope::limit::haproxy`]. A request counts when it is tracked, so a rule that comes later compares
//! the rate with it; `sc-inc-gpc0` after the rule counts what passed.

use super::field::{header, ip, unknown};
use super::words::{Units, has, lines, span, whole};
use super::{Config, Found, Remark, limit, said};
use ratescope::time::Span;
use ratescope_log::ipv6_prefix;

const UNITS: Units = &[
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("", 1e-3),
];

/// The rates that a table may keep, and what they count.
const RATES: [(&str, &str); 4] = [
    ("http_req_rate", ""),
    ("conn_rate", "connections"),
    ("sess_rate", "sessions"),
    ("gpc0_rate", ""),
];

pub(super) fn is_known(text: &str) -> bool {
    ["stick-table ", "track-sc", "sc_http_req_rate", "sc0_http_req_rate", "src_http_req_rate"]
        .iter()
        .any(|word| has(text, &["#"], word))
}

/// A line, and the section in which it is.
struct Line {
    number: usize,
    section: usize,
    words: Vec<String>,
}

impl Line {
    fn word(&self, n: usize) -> &str {
        self.words.get(n).map_or("", String::as_str)
    }

    /// The word after one of these.
    fn after(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The condition of a rule, without `if`.
    fn condition(&self) -> Option<&[String]> {
        let at = self.words.iter().position(|word| word == "if" || word == "unless")?;
        self.words.get(at..)
    }

    /// The action of a rule, as in `track-sc0`.
    fn action(&self) -> &str {
        match (self.word(0), self.word(1)) {
            ("http-request", action) => action,
            ("tcp-request", _) => self.word(2),
            _ => "",
        }
    }
}

const SECTIONS: [&str; 6] = ["frontend", "backend", "listen", "peers", "defaults", "global"];

/// The sections of a text by their names, and all their lines.
struct Sections {
    names: Vec<String>,
    lines: Vec<Line>,
}

impl Sections {
    fn new(text: &str) -> Result<Self, Remark> {
        let mut all = Sections { names: vec![String::new()], lines: Vec::new() };
        for (number, line) in lines(text, &["#"]) {
            let words = words(line).ok_or_else(|| Remark {
                line: number,
                text: "a quoted text is not closed".to_owned(),
            })?;
            if words.first().is_some_and(|word| SECTIONS.contains(&word.as_str())) {
                all.names.push(words.get(1).cloned().unwrap_or_default());
            } else if !words.is_empty() {
                all.lines.push(Line { number, section: all.names.len() - 1, words });
            }
        }
        Ok(all)
    }

    /// The lines of an ACL of a section.
    fn acls(&self, section: usize, name: &str) -> impl Iterator<Item = &Line> {
        let is = move |line: &&Line| {
            line.section == section && line.word(0) == "acl" && line.word(1) == name
        };
        self.lines.iter().filter(is)
    }

    /// The words of a store, as in `http_req_rate(10s)`, of the table of this name.
    fn store(&self, table: &str, rate: &str) -> Option<(&Line, &str)> {
        self.lines.iter().find_map(|line| {
            let is_table = line.word(0) == "stick-table" && self.names[line.section] == table;
            let is_peers = line.word(0) == "table" && line.word(1) == table;
            if !is_table && !is_peers {
                return None;
            }
            let stored = line.words.iter().enumerate().filter(|(_, word)| *word == "store");
            let mut stores = stored
                .filter_map(|(at, _)| line.words.get(at + 1))
                .flat_map(|store| store.split(','));
            let period = stores
                .find_map(|store| store.strip_prefix(rate)?.strip_prefix('(')?.strip_suffix(')'))?;
            Some((line, period))
        })
    }
}

/// The words of a line, up to a comment.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' if word.is_none() => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        c if c == quote => break,
                        '\\' if quote == '"' => word.push(chars.next()?),
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// What a rule compares: a rate of a counter or of a table, and the most that passes.
struct Compared<'a> {
    rate: &'static str,
    counts: &'static str,
    /// The number of the counter; `None` for the address of the client.
    counter: Option<&'a str>,
    table: Option<&'a str>,
    /// `gt` or `ge`.
    by: &'a str,
    than: &'a str,
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let all = Sections::new(text)?;
    config.addresses.forwarded = all.lines.iter().any(|line| {
        line.action() == "set-src"
            && line
                .words
                .iter()
                .any(|word| word.to_ascii_lowercase().contains("hdr_ip(x-forwarded-for"))
    });
    for (at, rule) in all.lines.iter().enumerate() {
        let Some(condition) = rule.condition() else { continue };
        let refuses = ["deny", "tarpit", "reject", "silent-drop"].contains(&rule.action());
        let read = if refuses { compared(&all, rule, condition) } else { None };
        let Some((compared, scope)) = read else {
            if !rule.action().starts_with("track-sc") && names_a_rate(&all, rule, condition) {
                config.remark(rule.number, "it decides by a rate in a way that is not understood");
            }
            continue;
        };
        let found = match compared {
            Ok(compared) => found(&all, at, &compared, scope, config),
            Err(problem) => Err(problem),
        };
        config.add(rule.number, found);
    }
    Ok(())
}

/// Whether the condition of a rule, or an ACL that it names, has a rate or a counter.
fn names_a_rate(all: &Sections, rule: &Line, condition: &[String]) -> bool {
    let is_rate = |word: &String| word.contains("_rate") || word.contains("get_gpc");
    let mut named =
        condition.iter().flat_map(|term| all.acls(rule.section, term.trim_start_matches('!')));
    condition.iter().any(is_rate) || named.any(|acl| acl.words.iter().skip(2).any(is_rate))
}

/// What the condition compares, and what else it asks. `None` if it compares no rate.
fn compared<'a>(
    all: &'a Sections,
    rule: &Line,
    condition: &'a [String],
) -> Option<(Result<Compared<'a>, String>, Vec<String>)> {
    let mut rates = Vec::new();
    let mut others = Vec::new();
    let (first, terms) = condition.split_first()?;
    let mut terms = terms.iter();
    let mut is_plain = first == "if";
    while let Some(term) = terms.next() {
        let test: Vec<&str> = match term.as_str() {
            "{" => terms.by_ref().take_while(|word| *word != "}").map(String::as_str).collect(),
            "||" | "or" => {
                is_plain = false;
                continue;
            }
            name => {
                let acls: Vec<&Line> = all.acls(rule.section, name).collect();
                match acls.as_slice() {
                    [acl] => acl.words.iter().skip(2).map(String::as_str).collect(),
                    _ => vec![name],
                }
            }
        };
        match comparison(&test) {
            Some(compared) => rates.push(compared),
            None if term == "{" => others.push(format!("{{ {} }}", test.join(" "))),
            None => others.push(term.clone()),
        }
    }
    let several = rates.len() > 1;
    let compared = rates.pop()?;
    if several || !is_plain {
        let problem = "its condition joins several tests in a way that is not understood";
        return Some((Err(problem.to_owned()), others));
    }
    Some((compared, others))
}

/// A test such as `sc_http_req_rate(0) gt 20`.
fn comparison<'a>(test: &[&'a str]) -> Option<Result<Compared<'a>, String>> {
    let sample = test.first()?;
    let (name, arguments) = match sample.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')?),
        None => (*sample, ""),
    };
    let mut arguments = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty());
    let (counter, rate) = if let Some(rate) = name.strip_prefix("src_") {
        (None, rate)
    } else if let Some(rate) = name.strip_prefix("sc_") {
        (Some(arguments.next()?), rate)
    } else {
        let (counter, rate) = name.strip_prefix("sc")?.split_once('_')?;
        (Some(counter), rate)
    };
    let known = RATES.iter().find(|(known, _)| *known == rate);
    let Some((rate, counts)) = known else {
        let is_rate = rate.ends_with("_rate");
        return is_rate
            .then(|| Err(format!("it compares {}, which is not understood", said(sample))));
    };
    let [_, by @ ("gt" | "ge"), than] = test else {
        let problem =
            format!("{:?} is not understood; what is: {name} gt 20", said(&test.join(" ")));
        return Some(Err(problem));
    };
    Some(Ok(Compared { rate, counts, counter, table: arguments.next(), by, than }))
}

fn found(
    all: &Sections,
    at: usize,
    compared: &Compared<'_>,
    mut scope: Vec<String>,
    config: &mut Config,
) -> Result<Found, String> {
    let rule = &all.lines[at];
    let own = all.names[rule.section].as_str();
    let mut before = all.lines[..at].iter().filter(|line| line.section == rule.section);
    // Of two that track with one counter, the first is in force.
    let track = before.find(|line| {
        let counter = line.action().strip_prefix("track-sc");
        match compared.counter {
            Some(of) => counter == Some(of),
            // The address of the client is looked up where it was tracked.
            None => {
                counter.is_some()
                    && line.after("table").unwrap_or(own) == compared.table.unwrap_or(own)
            }
        }
    });
    let track = track.ok_or("no rule before it tracks the request, so the rate is without it")?;
    if let Some(condition) = track.condition() {
        scope.insert(0, condition.join(" "));
    }
    let table = compared.table.or(track.after("table")).unwrap_or(own);
    let store = all.store(table, compared.rate);
    let (stored, period) = store.ok_or_else(|| {
        format!("no stick-table of {:?} here stores {}(...)", said(table), compared.rate)
    })?;
    let period = span(period, UNITS, "its period")?;
    let than = whole(compared.than, "what it compares with")?;
    let of_all = match (compared.by, than) {
        ("gt", than) => Ok(than),
        (_, 0) => Err("ge 0 refuses everything"),
        (_, than) => Ok(than - 1),
    };
    let (most, allowed) = match compared.rate {
        "gpc0_rate" if counts_passed(all, at, compared.counter)? => {
            (if compared.by == "gt" { than.saturating_add(1) } else { than }, " allowed")
        }
        _ => (of_all?, ""),
    };
    if !compared.counts.is_empty() {
        config.remark(
            rule.number,
            format!("it counts {}; what is tried counts every event of the log", compared.counts),
        );
    }
    if let Some(expire) = stored.after("expire") {
        let expire = span(expire, UNITS, "its time to expire")?;
        if expire < Span::from_secs(period.secs() * 2.0).map_err(|e| e.to_string())? {
            config.remark(stored.number, format!("an entry expires after {expire}, sooner than two periods; what is tried keeps it"));
        }
    }
    let place = track.words.iter().position(|word| word == track.action()).unwrap_or(1);
    let fields = key(all, rule.section, track.word(place + 1), config)?;
    Ok(Found {
        name: table.to_owned(),
        line: rule.number,
        limit: limit(&format!("haproxy {most}/{period}{allowed}"), &fields)?,
        scope: super::scope(&scope, " "),
    })
}

/// Whether `gpc0` is counted after the rule, and so for what passed.
fn counts_passed(all: &Sections, at: usize, counter: Option<&str>) -> Result<bool, String> {
    let section = all.lines[at].section;
    let name = format!("sc-inc-gpc0({})", counter.unwrap_or("0"));
    let is = |line: &Line| line.section == section && line.action() == name;
    let mut counts = all.lines.iter().enumerate().filter(|(_, line)| is(line));
    match (counts.next(), counts.next()) {
        (Some((place, line)), None) if line.condition().is_none() => Ok(place > at),
        (None, _) => Err(format!("no http-request {name} counts")),
        _ => Err(format!("{name} counts under a condition, or twice, which is not understood")),
    }
}

/// The fields of what is tracked.
fn key(
    all: &Sections,
    section: usize,
    track: &str,
    config: &mut Config,
) -> Result<Vec<String>, String> {
    if track.starts_with("int(") {
        return Ok(Vec::new());
    }
    let variable = track.strip_prefix("var(").and_then(|rest| rest.split_once(')'));
    if let Some((name, "" | ",sha1")) = variable {
        let set = |kind: &str| {
            let action = format!("{kind}({name})");
            all.lines.iter().find(|line| line.section == section && line.action() == action)
        };
        if let Some(line) = set("set-var-fmt") {
            return line
                .word(2)
                .split("%[")
                .skip(1)
                .map(|part| {
                    let (sample, _) = part.split_once(']').unwrap_or((part, ""));
                    field(sample, config)
                })
                .collect();
        }
        return match set("set-var") {
            Some(line) => Ok(vec![field(line.word(2), config)?]),
            None => Err(unknown(track)),
        };
    }
    match track {
        "base" | "base32" => Ok(vec!["host".to_owned(), "path".to_owned()]),
        "base32+src" => Ok(vec![ip(), "host".to_owned(), "path".to_owned()]),
        track => Ok(vec![field(track, config)?]),
    }
}

fn field(sample: &str, config: &mut Config) -> Result<String, String> {
    if let Some(bits) =
        sample.strip_prefix("src,ipmask(32,").and_then(|bits| bits.strip_suffix(')'))
    {
        config.addresses.ipv6_prefix = ipv6_prefix(bits.trim()).map_err(|_| unknown(sample))?;
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

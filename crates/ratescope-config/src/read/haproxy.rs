//! HAProxy: the tables of a configuration, what they track, and the rules that compare their rates.
//!
//! Source: as for [`ratescope::limit::haproxy`]. A request counts when it is tracked, so a later rule compares a rate
//! that includes it; `sc-inc-gpc0` after the rule counts only what passed.

use super::earlier::Earlier;
use super::field::{header, ip, unknown};
use super::words::{Units, bits, has, lines, span, whole};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::time::Span;
use std::collections::{BTreeMap, BTreeSet};

const UNITS: Units = &[
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("", 1e-3),
];

/// The rates in a table, and what they count.
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

/// A line, and its section.
struct Line {
    number: usize,
    section: usize,
    words: Vec<String>,
}

impl Line {
    fn word(&self, n: usize) -> &str {
        self.words.get(n).map_or("", String::as_str)
    }

    /// The word after this one.
    fn after(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The condition of a rule, without `if`.
    fn condition(&self) -> Option<&[String]> {
        let at = self.words.iter().position(|word| word == "if" || word == "unless")?;
        self.words.get(at..)
    }

    /// The order in which HAProxy runs a rule of its section.
    fn phase(&self) -> usize {
        const PHASES: [&str; 3] = ["connection", "session", "content"];
        let of = |word| PHASES.iter().position(|phase| *phase == word).unwrap_or(0);
        if self.word(0) == "tcp-request" { of(self.word(1)) } else { PHASES.len() }
    }

    fn refuses(&self) -> bool {
        match self.action() {
            "deny" | "tarpit" | "reject" | "silent-drop" => true,
            "return" => self.after("status").is_some_and(|status| status.starts_with(['4', '5'])),
            _ => false,
        }
    }

    /// Tells whether it ends the rules of its section and phase for a matching request.
    fn decides(&self) -> bool {
        self.refuses() || ["accept", "allow", "redirect", "return"].contains(&self.action())
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

/// The most words of a line (`MAX_LINE_ARGS`), and the length at which a format is not understood.
const WORDS: usize = 64;
const LONGEST: usize = 2048;

const SECTIONS: [&str; 6] = ["frontend", "backend", "listen", "peers", "defaults", "global"];

/// A section: its kind and its name.
#[derive(Default)]
struct Section {
    kind: String,
    name: String,
}

impl Section {
    /// Tells whether clients connect to it.
    fn takes(&self) -> bool {
        ["frontend", "listen"].contains(&self.kind.as_str())
    }
}

/// The sections of a text, and all their lines.
struct Sections {
    sections: Vec<Section>,
    lines: Vec<Line>,
}

impl Sections {
    fn new(text: &str) -> Result<Self, Remark> {
        let mut all = Sections { sections: vec![Section::default()], lines: Vec::new() };
        for (number, line) in lines(text, &["#"]) {
            let words = words(line).ok_or_else(|| Remark {
                line: number,
                text: "a quoted text is not closed".to_owned(),
            })?;
            if words.len() > WORDS {
                return Err(Remark {
                    line: number,
                    text: format!("it has more than {WORDS} words, which HAProxy refuses"),
                });
            }
            match words.first() {
                Some(kind) if SECTIONS.contains(&kind.as_str()) => {
                    let name = words.get(1).cloned().unwrap_or_default();
                    all.sections.push(Section { kind: kind.clone(), name });
                }
                Some(_) => {
                    all.lines.push(Line { number, section: all.sections.len() - 1, words });
                }
                None => {}
            }
        }
        Ok(all)
    }
}

/// The lines of an ACL.
#[derive(Default)]
struct Acl<'a> {
    lines: Vec<&'a Line>,
    names_a_rate: bool,
}

/// Where things are.
struct Index<'a> {
    sections: &'a [Section],
    /// How many sections take requests.
    taking: usize,
    acls: BTreeMap<(usize, &'a str), Acl<'a>>,
    /// The rules of a section by their action, in the order in which HAProxy runs them.
    actions: BTreeMap<(usize, &'a str), Vec<&'a Line>>,
    /// The rules of a section that track in a table.
    tracks: BTreeMap<(usize, &'a str), Vec<&'a Line>>,
    /// The rates in tables, as in `http_req_rate(10s)`, with line and period, by table and rate.
    stores: BTreeMap<(&'a str, &'a str), (&'a Line, &'a str)>,
    /// The frontends that lead to a backend.
    frontends: BTreeMap<&'a str, BTreeSet<usize>>,
}

impl<'a> Index<'a> {
    fn new(all: &'a Sections) -> Self {
        let mut index = Index {
            sections: &all.sections,
            taking: all.sections.iter().filter(|section| section.takes()).count(),
            acls: BTreeMap::new(),
            actions: BTreeMap::new(),
            tracks: BTreeMap::new(),
            stores: BTreeMap::new(),
            frontends: BTreeMap::new(),
        };
        for line in &all.lines {
            let section = line.section;
            let own = all.sections[section].name.as_str();
            match line.word(0) {
                "acl" => {
                    let acl = index.acls.entry((section, line.word(1))).or_default();
                    acl.lines.push(line);
                    acl.names_a_rate |= line.words.iter().skip(2).any(|word| is_rate(word));
                }
                "stick-table" => index.add_stores(own, line),
                "table" => index.add_stores(line.word(1), line),
                "default_backend" | "use_backend" => {
                    _ = index.frontends.entry(line.word(1)).or_default().insert(section);
                }
                _ => {}
            }
        }
        let mut rules: Vec<&Line> = all.lines.iter().collect();
        rules.sort_by_key(|line| line.phase());
        for rule in rules.into_iter().filter(|rule| !rule.action().is_empty()) {
            let section = rule.section;
            index.actions.entry((section, rule.action())).or_default().push(rule);
            if rule.action().starts_with("track-sc") {
                let table = rule.after("table").unwrap_or(&all.sections[section].name);
                index.tracks.entry((section, table)).or_default().push(rule);
            }
        }
        index
    }

    fn add_stores(&mut self, table: &'a str, line: &'a Line) {
        let after = line.words.windows(2).filter(|pair| pair[0] == "store");
        for store in after.flat_map(|pair| pair[1].split(',')) {
            let rate = store.strip_suffix(')').and_then(|store| store.split_once('('));
            if let Some((rate, period)) = rate {
                self.stores.entry((table, rate)).or_insert((line, period));
            }
        }
    }

    /// The rule that tracks a request for a comparison, and the scope of the section's rules.
    fn track(
        &self,
        rule: &Line,
        compared: &Compared<'_>,
    ) -> Result<(&'a Line, Option<String>), String> {
        let Section { kind, name } = &self.sections[rule.section];
        let is_before = |track: &Line| (track.phase(), track.number) < (rule.phase(), rule.number);
        if let Some(track) = self.track_in(rule.section, compared, &is_before)? {
            return Ok((track, None));
        }
        let frontends = self.frontends.get(name.as_str()).filter(|_| kind == "backend");
        let mut tracks = Vec::new();
        for frontend in frontends.into_iter().flatten() {
            tracks.extend(self.track_in(*frontend, compared, &|_| true)?);
        }
        match tracks.as_slice() {
            [track] => Ok((track, Some(format!("backend {name}")))),
            [] => Err("no rule before it tracks the request, so the rate is without it".to_owned()),
            _ => Err("several frontends track for it, which is not understood".to_owned()),
        }
    }

    /// The rule of a section that tracks. Of two rules with one counter, the first is in force.
    fn track_in(
        &self,
        section: usize,
        compared: &Compared<'_>,
        is_before: &dyn Fn(&Line) -> bool,
    ) -> Result<Option<&'a Line>, String> {
        let action = format!("track-sc{}", compared.counter.unwrap_or_default());
        let tracks = match compared.counter {
            Some(_) => self.actions.get(&(section, action.as_str())),
            // The address of the client is looked up where it was tracked.
            None => {
                let own = self.sections[section].name.as_str();
                self.tracks.get(&(section, compared.table.unwrap_or(own)))
            }
        };
        let Some((first, others)) = tracks.and_then(|tracks| tracks.split_first()) else {
            return Ok(None);
        };
        if first.condition().is_some() && others.first().is_some_and(|line| is_before(line)) {
            return Err(
                "several rules track for it under conditions, which is not understood".to_owned()
            );
        }
        Ok(Some(*first).filter(|line| is_before(line)))
    }

    /// The frontend of a rule, if there are others.
    fn place(&self, rule: &Line) -> Option<String> {
        let takes = |section: &&Section| section.takes();
        let Section { kind, name } = self.sections.get(rule.section).filter(takes)?;
        (self.taking > 1).then(|| format!("{kind} {name}"))
    }

    /// Finds a rate or a counter in the condition of a rule, or in an ACL of it.
    fn names_a_rate(&self, rule: &Line, condition: &[String]) -> bool {
        let names = |term: &String| {
            self.acls
                .get(&(rule.section, term.trim_start_matches('!')))
                .is_some_and(|acl| acl.names_a_rate)
        };
        condition.iter().any(|term| is_rate(term) || names(term))
    }
}

fn is_rate(word: &str) -> bool {
    ["_rate", "get_gpc", "get_gpt"].iter().any(|part| word.contains(part))
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
        let earlier = earlier.entry((rule.section, rule.phase())).or_default();
        let Some(condition) = rule.condition() else {
            if rule.decides() {
                earlier.add(rule.number, rule.action(), true);
            }
            continue;
        };
        let read = if rule.refuses() { compared(&index, rule, condition) } else { None };
        let Some((compared, scope)) = read else {
            if !rule.action().starts_with("track-sc") && index.names_a_rate(rule, condition) {
                config.remark(rule.number, "it decides by a rate in a way that is not understood");
            } else if rule.decides() {
                let words = [rule.action()].into_iter().chain(condition.iter().map(String::as_str));
                let words = super::scope(words, " ").unwrap_or_default();
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

/// The comparison in a condition, and the rest of the condition. `None` if it compares no rate.
fn compared<'a>(
    index: &Index<'a>,
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
            name => match index.acls.get(&(rule.section, name)).map(|acl| acl.lines.as_slice()) {
                // Enough words to tell a comparison from another test.
                Some([acl]) => acl.words.iter().skip(2).take(4).map(String::as_str).collect(),
                _ => vec![name],
            },
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
        return Err(format!(
            "it looks into the table {other:?}, and what is tracked is in {table:?}"
        ));
    }
    let place: Vec<String> = index.place(rule).into_iter().chain(backend).collect();
    let conditions = track.condition().into_iter().flatten().chain(&others);
    let scope = super::scope(place.iter().chain(conditions), " ");
    let store = index.stores.get(&(table, compared.rate));
    let (stored, period) = *store.ok_or_else(|| {
        format!("no stick-table of {:?} here stores {}(...)", said(table), compared.rate)
    })?;
    let period = span(period, UNITS, "its period")?;
    let than = whole(compared.than, "what it compares with")?;
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
    let mut addresses = Addresses::default();
    let fields = key(index, track.section, track.word(place + 1), &mut addresses)?;
    let found = Found {
        name: table.to_owned(),
        line: rule.number,
        limit: limit(&format!("haproxy {most}/{period}{allowed}"), &fields)?,
        addresses,
        scope,
    };
    if found.is_by_address() && stored.after("type") == Some("ip") {
        config.remark(
            stored.number,
            "a table of type ip has no IPv6 addresses; what is tried counts them, too",
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
    if let Some(cut) = sample.strip_prefix("src,ipmask(32,").and_then(|cut| cut.strip_suffix(')')) {
        addresses.ipv6_prefix = bits(cut.trim()).ok_or_else(|| unknown(sample))?;
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

//! HAProxy: a stick table for each limit, and the rules that count and compare its rates.
//!
//! Source: HAProxy configuration manual, "stick-table", "http-request track-sc" and "sc-inc-gpc0". A request counts when it
//! is tracked, so a later rule compares a rate that includes it; `sc-inc-gpc0` after the rules counts only what passed, so
//! such limits count in all or in none.

use crate::earlier::Earlier;
use crate::field::{Field, fields, header, ip, joined, no_user, unknown};
use crate::only::{VALUES, escape, network};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{Units, has, lines, prefixes, span, whole};
use crate::write::{Names, Notes, PROXIES, Written, each};
use crate::{Addresses, Is, Only, Test};
use core::str::Chars;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::haproxy::{Counts, Haproxy};
use ratescope::policy::{Limit, Per};
use ratescope::time::Span;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: Names = Names { name: "haproxy", title: "HAProxy", file: "haproxy.cfg" };

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

pub(crate) fn is_known(text: &str) -> bool {
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

    /// Says what HAProxy refuses in a table: what is missing, and options that it does not know.
    fn check_table(&self, config: &mut Config) {
        let names = match self.word(0) {
            "stick-table" => 1,
            "table" => 2,
            _ => return,
        };
        if let Some(missing) = ["type", "size"].iter().find(|name| self.after(name).is_none()) {
            return config.refuse(self.number, format!("the table has no {missing}"));
        }
        let mut words = self.words.iter().skip(names).map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "nopurge" | "recv-only" => {}
                "type" | "len" | "size" | "expire" | "store" | "peers" | "srvkey" | "write-to" => {
                    words.next();
                }
                other => {
                    let other = said(other);
                    return config
                        .refuse(self.number, format!("the table has the option {other:?}"));
                }
            }
        }
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
    fn new(text: &str, config: &mut Config) -> Result<Self, Remark> {
        let mut all = Sections { sections: vec![Section::default()], lines: Vec::new() };
        for (number, line) in lines(text, &["#"]) {
            let words =
                words(line).ok_or_else(|| Remark::new(number, "a quoted text is not closed"))?;
            if words.len() > WORDS {
                let problem = format!("it has more than {WORDS} words, which HAProxy refuses");
                return Err(Remark::new(number, problem));
            }
            match words.first() {
                Some(kind) if SECTIONS.contains(&kind.as_str()) => {
                    let name = words.get(1).cloned().unwrap_or_default();
                    all.sections.push(Section { kind: kind.clone(), name });
                }
                Some(_) => {
                    let line = Line { number, section: all.sections.len() - 1, words };
                    line.check_table(config);
                    all.lines.push(line);
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
    count: Option<&'a str>,
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
    /// The lines of a frontend that lead to backends, in the order in which HAProxy asks them.
    routes: BTreeMap<usize, Vec<&'a Line>>,
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
            routes: BTreeMap::new(),
        };
        for line in &all.lines {
            let section = line.section;
            let own = all.sections[section].name.as_str();
            match line.word(0) {
                "acl" => {
                    let acl = index.acls.entry((section, line.word(1))).or_default();
                    acl.lines.push(line);
                    acl.names_a_rate |= line.words.iter().skip(2).any(|word| is_rate(word));
                    acl.count = acl.count.or(line.words.get(2).and_then(|word| count(word)));
                }
                "stick-table" => index.add_stores(own, line),
                "table" => index.add_stores(line.word(1), line),
                "default_backend" | "use_backend" => {
                    index.routes.entry(section).or_default().push(line);
                    _ = index.frontends.entry(line.word(1)).or_default().insert(section);
                }
                _ => {}
            }
        }
        for routes in index.routes.values_mut() {
            routes.sort_by_key(|route| route.word(0) == "default_backend");
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

    /// The counter that a condition compares, as in `http_req_cnt`.
    fn names_a_count<'b>(&self, rule: &Line, condition: &'b [String]) -> Option<&'b str>
    where
        'a: 'b,
    {
        let named = |term: &'b String| {
            let acl = self.acls.get(&(rule.section, term.trim_start_matches('!')));
            count(term).or(acl.and_then(|acl| acl.count))
        };
        condition.iter().find_map(named)
    }

    /// Says what HAProxy refuses in a rule: a name that no ACL has, and a brace that is not closed.
    fn check(&self, rule: &Line, config: &mut Config) {
        let mut is_open = false;
        for term in rule.condition().into_iter().flatten().skip(1) {
            let name = term.trim_start_matches('!');
            match name {
                "{" => is_open = true,
                "}" => is_open = false,
                "||" | "or" | "" => {}
                _ if is_open || self.acls.contains_key(&(rule.section, name)) => {}
                // As METH_POST and HTTP_1.1.
                _ if name.chars().all(|c| matches!(c, 'A'..='Z' | '0'..='9' | '_' | '.')) => {}
                _ => config.refuse(rule.number, format!("no ACL here is called {:?}", said(name))),
            }
        }
        if is_open {
            config.refuse(rule.number, "a brace of the condition is not closed");
        }
    }

    /// The requests for which a condition holds, without its comparison of a rate. A condition that leaves out some, and
    /// is no test of a field, is left to the words of the scope.
    fn only(&self, section: usize, condition: &[String]) -> Only {
        let is_unless = condition.first().is_some_and(|word| word == "unless");
        let terms = condition.iter().flat_map(|word| word.split(' '));
        let terms: Vec<&str> = terms.filter(|word| !["if", "unless"].contains(word)).collect();
        if terms.is_empty() {
            return Only::All;
        }
        let mut any = Vec::new();
        for terms in terms.split(|term| ["||", "or"].contains(term)) {
            let mut all = Vec::new();
            let mut terms = terms.iter();
            while let Some(term) = terms.next() {
                let name = term.trim_start_matches('!');
                let test = match name {
                    "" => continue,
                    "{" => {
                        let inner = terms.by_ref().copied().take_while(|word| *word != "}");
                        sample(&inner.collect::<Vec<_>>())
                    }
                    name => self.acl(section, name),
                };
                let is_not = name != *term;
                match test {
                    Some(test) if is_not => all.push(test.not()),
                    Some(test) => all.push(test),
                    None if is_not != is_unless => {}
                    None => return Only::of(None, term),
                }
            }
            any.push(Test::all(all));
        }
        match Test::any(any) {
            Test::All(all) if all.is_empty() => Only::All,
            test if is_unless => test.not().into(),
            test => test.into(),
        }
    }

    /// The test of an ACL: one of its lines holds.
    fn acl(&self, section: usize, name: &str) -> Option<Test> {
        if let Some(method) = name.strip_prefix("METH_") {
            return Some(Test::field("method", Is::Exactly(method.to_owned())));
        }
        let acl = self.acls.get(&(section, name)).filter(|acl| acl.lines.len() <= VALUES)?;
        let lines = acl.lines.iter().map(|line| {
            // Enough words for as many values as a test has.
            let words: Vec<&str> = line.words.iter().skip(2).map(String::as_str).collect();
            sample(&words)
        });
        Some(Test::any(lines.collect::<Option<Vec<_>>>()?))
    }

    /// The requests that come to a backend from a frontend.
    fn routed(&self, backend: &str, frontend: usize) -> Only {
        let mut earlier = Only::All;
        for route in self.routes.get(&frontend).into_iter().flatten().take(VALUES) {
            let only = self.only(frontend, route.condition().unwrap_or_default());
            if route.word(1) == backend {
                earlier.and(only);
                return earlier;
            }
            if let Only::Fields(test) = only {
                earlier.and(test.not().into());
            }
        }
        Only::Unknown(format!("more than {VALUES} rules before it lead to other backends"))
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

/// A test such as `path_beg /api`; `None` if no field of a log tells.
fn sample(words: &[&str]) -> Option<Test> {
    let (name, mut rest) = words.split_first()?;
    let mut how = "str";
    let mut is_case_free = false;
    while let Some((flag, after)) = rest.split_first().filter(|(flag, _)| flag.starts_with('-')) {
        rest = after;
        match *flag {
            "-i" => is_case_free = true,
            "-m" => {
                let (method, after) = rest.split_first()?;
                (how, rest) = (method, after);
            }
            "--" => break,
            _ => return None,
        }
    }
    let (begin, argument) = name.split_once('(').unwrap_or((name, ""));
    let is_host = argument.eq_ignore_ascii_case("host)");
    let (field, how) = match (begin, is_host) {
        ("src", _) => ("ip", "ip"),
        ("method", _) => ("method", how),
        ("path", _) => ("path", how),
        ("path_beg" | "url_beg", _) => ("path", "beg"),
        ("path_end", _) => ("path", "end"),
        ("path_sub", _) => ("path", "sub"),
        ("path_reg", _) => ("path", "reg"),
        ("hdr" | "req.hdr" | "req.fhdr", true) => ("host", how),
        ("hdr_beg", true) => ("host", "beg"),
        ("hdr_end", true) => ("host", "end"),
        _ => return None,
    };
    let is = |value: &str| {
        let like = |begin: &str, text: &str, end: &str| {
            let case = if is_case_free || field == "host" { "(?i)" } else { "" };
            Is::Like(format!("{case}{begin}{text}{end}"))
        };
        Some(match how {
            "ip" => network(value)?,
            "str" if is_case_free => like("^", &escape(value), "$"),
            "str" => Is::Exactly(value.to_owned()),
            "beg" if is_case_free => like("^", &escape(value), ""),
            "beg" => Is::Begins(value.to_owned()),
            "end" => like("", &escape(value), "$"),
            "sub" => like("", &escape(value), ""),
            "reg" => like("", value, ""),
            _ => return None,
        })
    };
    Test::one_of(field, rest, |value| is(value))
}

/// The counter that a sample reads, as in `sc_http_req_cnt(0)`: a number that does not fade.
fn count(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('(').unwrap_or((word, ""));
    let counter = match name.strip_prefix("src_").or(name.strip_prefix("sc_")) {
        Some(counter) => counter,
        None => name.strip_prefix("sc")?.split_once('_')?.1,
    };
    ["_cnt", "_cur"].iter().any(|end| counter.ends_with(end)).then_some(counter)
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
            '\\' => word.get_or_insert_default().push(escaped(&mut chars)),
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        c if c == quote => break,
                        '\\' if quote == '"' => word.push(escaped(&mut chars)),
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

/// The character that a backslash and the next one stand for. Most others do not belong to the backslash, which then is
/// itself, as in `path_reg \.php$`.
fn escaped(rest: &mut Chars<'_>) -> char {
    let mut after = rest.clone();
    let escaped = after.next().filter(|c| matches!(c, ' ' | '\\' | '#' | '\'' | '"' | '$'));
    if escaped.is_some() {
        *rest = after;
    }
    escaped.unwrap_or('\\')
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
        let problem = format!("{:?} is not understood; {name} gt 20 is", said(&test.join(" ")));
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

/// The number of keys of a request that HAProxy tracks by default.
const COUNTERS: usize = 3;

/// The longest `expire` of a table, in milliseconds.
const LONGEST_EXPIRE: f64 = i32::MAX as f64;

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if limits.len() > COUNTERS {
        let problem = "it follows three keys of a request at most, unless it is told otherwise";
        return Err((None, problem.to_owned()));
    }
    let mut tracks = String::new();
    let mut denies = String::new();
    let mut counts = String::new();
    let tables = each(limits, |n, limit| {
        let AnyLimiter::Haproxy(own) = &limit.limiter else {
            let problem = "it counts in windows of its own; write a limit such as haproxy 20/10s";
            return Err(problem.to_owned());
        };
        let key = Key::new(&limit.per, n, addresses, notes)?;
        let sc = n - 1;
        let most = own.limit().count();
        let rule = |text: &str| format!("  http-request {text}\n");
        if let Some(set) = &key.set {
            tracks += &rule(set);
        }
        tracks += &rule(&format!("track-sc{sc} {} table limit{n}", key.track));
        let condition = match own.counts() {
            Counts::All => format!("sc_http_req_rate({sc}) gt {most}"),
            Counts::Allowed => format!("sc_gpc0_rate({sc}) ge {most}"),
        };
        denies += &rule(&format!("deny deny_status 429 if {{ {condition} }}"));
        if own.counts() == Counts::Allowed {
            counts += &rule(&format!("sc-inc-gpc0({sc})"));
        }
        warn(own, notes);
        table(n, own, key.kind)
    })?;
    let client = if addresses.forwarded { real_address(notes) } else { String::new() };
    Ok(format!("{tables}# In the frontend:\n{client}{tracks}{denies}{counts}"))
}

/// The rule that takes the client's address from a proxy's header.
fn real_address(notes: &mut Notes) -> String {
    notes.add(
        "HAProxy takes the last address of X-Forwarded-For; behind two proxies write -2 instead of -1",
    );
    let proxies = PROXIES.join(" ");
    format!(
        "  # The client as its proxy names it. Proxies must be in these networks, and nobody else:\n  \
         http-request set-src req.hdr_ip(x-forwarded-for,-1) if {{ src {proxies} }}\n"
    )
}

/// The address of a client, or its network.
fn src(addresses: Addresses) -> String {
    let Addresses { ipv4_prefix, ipv6_prefix, .. } = addresses;
    if addresses.has_networks() {
        format!("src,ipmask({ipv4_prefix},{ipv6_prefix})")
    } else {
        "src".to_owned()
    }
}

fn table(n: usize, own: &Haproxy, kind: &str) -> Result<String, String> {
    let millis = libm::round(own.limit().per().as_secs_f64() * 1e3);
    if 2.0 * millis + 1000.0 > LONGEST_EXPIRE {
        return Err(
            "it keeps an entry for 24.8 days at most, and two periods are longer".to_owned()
        );
    }
    // A count may still be read a millisecond after two periods.
    let period = millis;
    let expire = 2.0 * millis + 1000.0;
    let store = match own.counts() {
        Counts::All => format!("http_req_rate({period}ms)"),
        Counts::Allowed => format!("gpc0,gpc0_rate({period}ms)"),
    };
    Ok(format!(
        "backend limit{n}\n  stick-table type {kind} size 100k expire {expire}ms store {store}\n\n"
    ))
}

fn warn(own: &Haproxy, notes: &mut Notes) {
    let limit = own.limit();
    if own.counts() == Counts::Allowed && limit.count() == 1.0 {
        let secs = limit.per().as_secs_f64();
        notes.add(format!(
            "HAProxy does not let a count of 1 fade: 1 in {secs}s lets one through each {}s",
            2.0 * secs
        ));
    }
}

/// The key of a table: its type, the expression to track, and a rule to run before.
struct Key {
    kind: &'static str,
    track: String,
    set: Option<String>,
}

impl Key {
    fn new(per: &Per, n: usize, addresses: Addresses, notes: &mut Notes) -> Result<Self, String> {
        let fields = fields(per)?;
        joined(&fields).into_iter().for_each(|note| notes.add(note));
        if fields == [Field::Ip] {
            return Ok(Key { kind: "ipv6", track: src(addresses), set: None });
        }
        if fields.is_empty() {
            return Ok(Key { kind: "integer", track: "int(0)".to_owned(), set: None });
        }
        let names =
            fields.iter().map(|field| name(field, addresses)).collect::<Result<Vec<_>, _>>()?;
        // The key is a digest: a table truncates a longer text, and does not count a request without a text.
        Ok(Key {
            kind: "binary len 20",
            track: format!("var(txn.limit{n}),sha1"),
            set: Some(format!("set-var-fmt(txn.limit{n}) \"{}\"", names.join(" "))),
        })
    }
}

fn name(field: &Field, addresses: Addresses) -> Result<String, String> {
    Ok(match field {
        Field::Ip => format!("%[{}]", src(addresses)),
        Field::Host => "%[req.fhdr(host)]".to_owned(),
        Field::Path => "%[path]".to_owned(),
        Field::Method => "%[method]".to_owned(),
        Field::User => return Err(no_user()),
        Field::Header(header) => format!("%[req.fhdr({header})]"),
    })
}

//! Conditions: the comparison of a rate, and the requests for which the rest holds.

use super::RATES;
use super::index::Index;
use super::sections::Line;
use crate::only::{VALUES, escape, network};
use crate::read::{Config, said};
use crate::{Is, Only, Test};

impl<'a> Index<'a> {
    /// The counter that a condition compares, as in `http_req_cnt`.
    pub(super) fn names_a_count<'b>(&self, rule: &Line, condition: &'b [String]) -> Option<&'b str>
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
    pub(super) fn check(&self, rule: &Line, config: &mut Config) {
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
    pub(super) fn only(&self, section: usize, condition: &[String]) -> Only {
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
    pub(super) fn routed(&self, backend: &str, frontend: usize) -> Only {
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
    pub(super) fn names_a_rate(&self, rule: &Line, condition: &[String]) -> bool {
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
pub(super) fn count(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('(').unwrap_or((word, ""));
    let counter = match name.strip_prefix("src_").or(name.strip_prefix("sc_")) {
        Some(counter) => counter,
        None => name.strip_prefix("sc")?.split_once('_')?.1,
    };
    ["_cnt", "_cur"].iter().any(|end| counter.ends_with(end)).then_some(counter)
}

pub(super) fn is_rate(word: &str) -> bool {
    ["_rate", "get_gpc", "get_gpt"].iter().any(|part| word.contains(part))
}

/// A comparison: a rate of a counter or of a table, and the most that passes.
pub(super) struct Compared<'a> {
    pub(super) rate: &'static str,
    pub(super) counts: &'static str,
    /// The number of the counter; `None` for the address of the client.
    pub(super) counter: Option<&'a str>,
    pub(super) table: Option<&'a str>,
    /// `gt` or `ge`.
    pub(super) by: &'a str,
    pub(super) than: &'a str,
}

/// The comparison in a condition, and the rest of the condition. `None` if it compares no rate.
pub(super) fn compared<'a>(
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

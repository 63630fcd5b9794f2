//! Cloudflare: rate limiting rules, as its Rulesets API has them.
//!
//! Source: Cloudflare, "Rate limiting rules", "Rate limiting parameters"; and its blog, "How we built
//! rate limiting capable of scaling to millions of domains", for the [sliding
//! counter](ratescope::limit::sliding_counter).

use crate::field::{Field, fields, header, ip, no_user, unknown};
use crate::only::{VALUES, escape, network, stars};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::tree::{documents, walk};
use crate::words::{has, lines, whole};
use crate::write::{Names, Notes, Written, each, is_whole};
use crate::{Addresses, Is, Only, Test};
use ratescope::internal::yaml::Node;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};

pub(crate) const NAMES: Names =
    Names { name: "cloudflare", title: "Cloudflare", file: "rules of the phase http_ratelimit" };

pub(crate) fn is_known(text: &str) -> bool {
    has(text, &["//", "#"], "requests_per_period")
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    if lines(text, &["//", "#"]).any(|(_, line)| line.starts_with("resource ")) {
        return Err(Remark::new(
            0,
            "it is of Terraform, of which only JSON is understood, as terraform show -json prints it",
        ));
    }
    for root in documents(text)? {
        walk(&root, &mut Vec::new(), &mut |node, _| {
            // Terraform writes a list of one.
            let Some(rate) = node.get("ratelimit") else { return };
            let rate = rate.items().first().unwrap_or(rate);
            let is = |name: &str, word: &str| node.get(name).is_some_and(|it| it.word() == word);
            if is("enabled", "false") || is("action", "log") {
                return config.remark(
                    node.at.line,
                    "the rule is not enabled, or only logs, and refuses nothing",
                );
            }
            config.add(rate.at.line, rule(node, rate));
            if rate.get("requests_to_origin").is_some_and(|only| only.word() == "true") {
                config.remark(
                    rate.at.line,
                    "it counts only requests that no cache answers; the trial counts every event of the log",
                );
            }
            if rate.get("counting_expression").is_some_and(|text| !text.word().is_empty()) {
                config.remark(
                    rate.at.line,
                    "it counts the requests of its counting_expression, and refuses others, too",
                );
            }
            if node.get("action").is_some_and(|action| action.word().contains("challenge")) {
                config.remark(
                    rate.at.line,
                    "whoever passes its challenge is not refused; the trial refuses",
                );
            }
            if let Some(time) = rate.get("mitigation_timeout").filter(|time| time.word() != "0") {
                let remark = format!(
                    "after its limit Cloudflare refuses everything for {} s; the trial refuses only what is above",
                    said(time.word())
                );
                config.remark(time.at.line, remark);
            }
        });
    }
    Ok(())
}

fn rule(node: &Node, rate: &Node) -> Result<Found, String> {
    let word = |name: &str| {
        rate.get(name).map(Node::word).ok_or_else(|| format!("the rule has no {name}"))
    };
    let count = whole(word("requests_per_period")?, "requests_per_period")?;
    let secs = whole(word("period")?, "period")?;
    let keys = rate.get("characteristics").map_or(&[][..], Node::items);
    let fields = keys.iter().map(Node::word).filter(|key| *key != "cf.colo.id").map(field);
    let fields = fields.collect::<Result<Vec<String>, String>>()?;
    let text = |name: &str| node.get(name).map_or("", Node::word);
    let scope = Some(text("expression")).filter(|all| !["", "true"].contains(all));
    let mut only = scope.map_or(Only::All, expression);
    if rate.get("counting_expression").is_some_and(|text| !text.word().is_empty()) {
        only.and(Only::Unknown("it counts by a counting_expression".to_owned()));
    }
    Ok(Found {
        name: text("description").to_owned(),
        line: rate.at.line,
        limit: limit(&format!("sliding-counter {count}/{secs}s"), &fields)?,
        addresses: Addresses::default(),
        scope: scoped(scope, ""),
        only,
    })
}

/// The requests of an expression. Source: Cloudflare, "Rules language".
fn expression(text: &str) -> Only {
    Only::of(test(text, 0), text)
}

/// How deep expressions may be nested.
const DEEP: usize = 16;

fn test(text: &str, depth: usize) -> Option<Test> {
    let text = text.trim();
    for word in [" or ", " and "] {
        let parts = split(text, word);
        if parts.len() > 1 && parts.len() <= VALUES && depth < DEEP {
            let tests = parts.into_iter().map(|part| test(part, depth + 1));
            let tests = tests.collect::<Option<Vec<_>>>()?;
            return Some(if word == " or " { Test::any(tests) } else { Test::all(tests) });
        }
    }
    if depth >= DEEP {
        return None;
    }
    if let Some(text) = text.strip_prefix("not ").or(text.strip_prefix('!')) {
        return test(text, depth + 1).map(Test::not);
    }
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inner) => test(inner, depth + 1),
        None => comparison(text),
    }
}

/// The parts of an expression between a word that is not within quotes or parentheses.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut open = 0usize;
    let mut is_quoted = false;
    let mut begin = 0;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' | '{' if !is_quoted => open += 1,
            ')' | '}' if !is_quoted => open = open.saturating_sub(1),
            ' ' if !is_quoted && open == 0 && at >= begin && text[at..].starts_with(word) => {
                parts.push(&text[begin..at]);
                begin = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// A comparison such as `http.request.uri.path eq "/login"`.
fn comparison(text: &str) -> Option<Test> {
    let field = |name: &str| match name.trim() {
        "ip.src" => Some("ip"),
        "http.host" => Some("host"),
        "http.request.uri.path" => Some("path"),
        "http.request.method" => Some("method"),
        _ => None,
    };
    let quoted = |text: &str| {
        let text = text.trim().strip_prefix('"')?.strip_suffix('"')?;
        (!text.contains(['"', '\\'])).then(|| text.to_owned())
    };
    for (name, begin, end) in [("starts_with(", "^", ""), ("ends_with(", "", "$")] {
        if let Some(arguments) = text.strip_prefix(name) {
            let (of, value) = arguments.strip_suffix(')')?.split_once(',')?;
            let value = escape(&quoted(value)?);
            return Some(Test::field(field(of)?, Is::Like(format!("{begin}{value}{end}"))));
        }
    }
    let (name, rest) = text.split_once(' ')?;
    let (sign, value) = rest.trim_start().split_once(' ')?;
    let name = field(name)?;
    match (sign, name) {
        ("in", _) => {
            let values = value.trim().strip_prefix('{')?.strip_suffix('}')?.split_whitespace();
            let is = |value: &str| match name {
                "ip" => network(value),
                _ => Some(Is::Exactly(quoted(value)?)),
            };
            Test::one_of(name, values, is)
        }
        ("eq" | "==", "ip") => Some(Test::field(name, network(value.trim())?)),
        ("eq" | "==", _) => Some(Test::field(name, Is::Exactly(quoted(value)?))),
        ("ne" | "!=", _) => Some(Test::field(name, Is::Exactly(quoted(value)?)).not()),
        ("contains", _) => Some(Test::field(name, Is::Like(escape(&quoted(value)?)))),
        ("matches" | "~", _) => Some(Test::field(name, Is::Like(quoted(value)?))),
        ("wildcard", _) => {
            Some(Test::field(name, Is::Like(format!("(?i){}", stars(&quoted(value)?)))))
        }
        _ => None,
    }
}

fn field(key: &str) -> Result<String, String> {
    Ok(match key {
        "ip.src" => ip(),
        "http.host" => "host".to_owned(),
        "http.request.uri.path" => "path".to_owned(),
        key => {
            let name = key.strip_prefix("http.request.headers[\"");
            let name = name.and_then(|name| name.strip_suffix("\"]"));
            header(name.ok_or_else(|| unknown(key))?)
        }
    })
}

/// The periods that Cloudflare offers, in seconds.
const PERIODS: [f64; 6] = [10.0, 60.0, 120.0, 300.0, 600.0, 3600.0];

pub(crate) fn write(limits: &[Limit], notes: &mut Notes) -> Written {
    let rules = each(limits, |n, limit| {
        let AnyLimiter::SlidingCounter(counter) = &limit.limiter else {
            let problem = "it has a counter only; write a limit such as sliding-counter 500/1m";
            return Err(problem.to_owned());
        };
        let count = counter.limit().count();
        let secs = counter.limit().per().as_secs_f64();
        if !PERIODS.contains(&secs) {
            return Err("its periods are 10s, 1m, 2m, 5m, 10m and 1h".to_owned());
        }
        if !is_whole(count) {
            return Err("its requests are a whole number from 1".to_owned());
        }
        let keys = characteristics(&limit.per)?;
        let comma = if n == limits.len() { "" } else { "," };
        Ok(format!(
            "  {{\n    \"description\": \"{limit}\",\n    \"expression\": \"true\",\n    \
             \"action\": \"block\",\n    \"ratelimit\": {{\n      \"characteristics\": [{keys}],\n      \
             \"period\": {secs},\n      \"requests_per_period\": {count},\n      \
             \"mitigation_timeout\": 0\n    }}\n  }}{comma}\n"
        ))
    })?;
    notes.add("Cloudflare counts in each of its data centers for itself");
    notes.add(
        "a mitigation_timeout of 0 refuses what is above the rate, and no more; not every plan has \
         it, and with another everything of the sender is refused for that long",
    );
    if limits.len() > 1 {
        notes.add("a request that one rule refuses may have counted in others");
    }
    Ok(format!("[\n{rules}]\n"))
}

/// The characteristics by which Cloudflare counts requests separately, always with its data center.
fn characteristics(per: &Per) -> Result<String, String> {
    let mut names = vec!["\"cf.colo.id\"".to_owned()];
    for field in fields(per)? {
        names.push(match field {
            Field::Ip => "\"ip.src\"".to_owned(),
            Field::Host => "\"http.host\"".to_owned(),
            Field::Path => "\"http.request.uri.path\"".to_owned(),
            Field::Method => {
                return Err("it does not tell requests apart by their method".to_owned());
            }
            Field::User => return Err(no_user()),
            Field::Header(header) => format!("\"http.request.headers[\\\"{header}\\\"]\""),
        });
    }
    Ok(names.join(", "))
}

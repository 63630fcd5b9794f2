//! Which requests a level is for: servers by their names, and locations by their order.

use super::read::{Defined, Level};
use crate::blocks::Statement;
use crate::only::host;
use crate::read::{said, scoped};
use crate::{Is, Only, Test};

pub(super) fn unnamed(block: &Statement) -> String {
    format!("the {} of line {}", said(block.word(0)), block.line)
}

/// The server names, the location or the condition of a block.
pub(super) fn place(block: &Statement) -> Option<String> {
    match block.word(0) {
        "server" => {
            let name = block.block.iter().find(|inner| inner.begins_with("server_name"))?;
            let names = name.words.iter().skip(1).map(String::as_str);
            scoped(["server"].into_iter().chain(names), " ")
        }
        "location" | "if" => scoped(&block.words, " "),
        _ => None,
    }
}

/// The most locations of a server, and the most names of hosts, by which a request is told apart.
const TOLD: usize = 100;

/// The servers and their names.
#[derive(Default)]
pub(super) struct Servers<'a> {
    /// The line of each, and its names.
    all: Vec<(usize, Vec<&'a str>)>,
    default: Option<usize>,
}

impl<'a> Servers<'a> {
    pub(super) fn add(&mut self, server: &'a Statement) {
        let names = server.block.iter().filter(|inner| inner.begins_with("server_name"));
        let names = names.flat_map(|it| it.words.iter().skip(1)).map(String::as_str).collect();
        let is_default = server.block.iter().any(|inner| {
            inner.begins_with("listen")
                && inner.words.iter().any(|word| word.starts_with("default"))
        });
        if is_default {
            self.default = self.default.or(Some(server.line));
        }
        self.all.push((server.line, names));
    }

    /// The requests of a server: those for its names, or, of the default server, those for no other name. One alone
    /// has all.
    pub(super) fn only(&self, server: &Statement) -> Only {
        if self.all.len() < 2 {
            return Only::All;
        }
        if self.all.len() > TOLD {
            return Only::Unknown(format!("it is for one of more than {TOLD} servers"));
        }
        let default = self.default.or(self.all.first().map(|(line, _)| *line));
        let is_default = default == Some(server.line);
        let names = self.all.iter().filter(|(line, _)| (*line == server.line) != is_default);
        let names: Vec<&str> = names.flat_map(|(_, names)| names).copied().collect();
        if names.len() > TOLD {
            return Only::Unknown(format!("it depends on more than {TOLD} names of servers"));
        }
        if names.is_empty() && !is_default {
            return Only::All;
        }
        let test = Test::any(names.into_iter().map(server_name));
        Only::Fields(if is_default { test.not() } else { test })
    }
}

/// A name of a server, which may be a regular expression, or begin with a dot for itself and all below it.
fn server_name(name: &str) -> Test {
    if let Some(expression) = name.strip_prefix('~') {
        return Test::field("host", Is::Like(format!("(?i){expression}")));
    }
    match name.strip_prefix('.') {
        Some(below) => {
            Test::any([below, &format!("*{name}")].map(|it| Test::field("host", host(it))))
        }
        None => Test::field("host", host(name)),
    }
}

/// How a location matches: `=`, `^~`, `~`, `~*` or nothing, and the path or pattern.
fn matching(location: &Statement) -> (&str, &str) {
    match location.words.len() {
        2 => ("", location.word(1)),
        _ => (location.word(1), location.word(2)),
    }
}

pub(super) fn matches(location: &Statement) -> Test {
    let (how, what) = matching(location);
    let is = match how {
        "=" => Is::Exactly(what.to_owned()),
        "~" => Is::Like(what.to_owned()),
        "~*" => Is::Like(format!("(?i){what}")),
        _ => Is::Begins(what.to_owned()),
    };
    Test::field("path", is)
}

/// The requests of a location among those of its block. An exact one comes first; then, unless it says `^~`, the
/// longest prefix gives way to the first regular expression that matches.
///
/// Source: nginx, "Module ngx_http_core_module", `location`.
pub(super) fn location(location: &Statement, block: &[Statement]) -> Only {
    let all = || block.iter().filter(|inner| inner.begins_with("location"));
    let (how, what) = matching(location);
    if what.starts_with('@') {
        return Only::Unknown(format!("it is for {}, to which others lead", said(what)));
    }
    if all().nth(TOLD).is_some() {
        return Only::Unknown(format!("it is for one of more than {TOLD} locations"));
    }
    let is_expression = |how: &str| how.starts_with('~');
    let others = || all().filter(|other| !std::ptr::eq(*other, location));
    let mut tests = vec![matches(location)];
    let longer = |than: &str| {
        let than = than.to_owned();
        others().filter(move |other| {
            let (how, what) = matching(other);
            !is_expression(how) && how != "=" && what.len() > than.len() && what.starts_with(&than)
        })
    };
    let none = |tests: Vec<Test>| (!tests.is_empty()).then(|| Test::any(tests).not());
    let exact = others().filter(|other| matching(other).0 == "=" && how != "=");
    if is_expression(how) {
        let earlier = all().take_while(|other| !std::ptr::eq(*other, location));
        tests.extend(none(exact.map(matches).collect()));
        tests.extend(none(
            earlier.filter(|it| is_expression(matching(it).0)).map(matches).collect(),
        ));
        let firm = others().filter(|other| matching(other).0 == "^~").map(|firm| {
            let longer = longer(matching(firm).1).map(matches).collect();
            Test::all([matches(firm)].into_iter().chain(none(longer)))
        });
        tests.extend(none(firm.collect()));
    } else if how != "=" {
        let exact = exact.filter(|other| matching(other).1.starts_with(what));
        tests.extend(none(exact.map(matches).collect()));
        tests.extend(none(longer(what).map(matches).collect()));
        if how != "^~" {
            let expressions = others().filter(|it| is_expression(matching(it).0));
            tests.extend(none(expressions.map(matches).collect()));
        }
    }
    Test::all(tests).into()
}

/// The blocks within a level to which its limits do not apply: blocks with limits of their own, which replace all outer
/// limits, and blocks where nothing is refused.
#[derive(Default)]
pub(super) struct Others {
    named: Vec<String>,
    more: usize,
    /// The requests of these blocks.
    pub(super) only: Vec<Only>,
}

impl Others {
    pub(super) fn find(&mut self, block: &[Statement], all: &Defined<'_>) {
        self.find_within(block, &Only::All, all);
    }

    fn find_within(&mut self, block: &[Statement], around: &Only, all: &Defined<'_>) {
        const NAMED: usize = 3;
        for inner in block.iter().filter(|inner| !inner.block.is_empty()) {
            let is_own = |inner: &Statement| {
                inner.begins_with("limit_req")
                    || inner.begins_with("limit_req_dry_run") && inner.word(1) == "on"
            };
            let mut only = around.clone();
            only.and(match inner.word(0) {
                "server" => all.servers.only(inner),
                "location" => location(inner, block),
                _ => Only::All,
            });
            if !inner.block.iter().any(is_own) {
                self.find_within(&inner.block, &only, all);
                continue;
            }
            if self.only.len() <= TOLD {
                self.only.push(only);
            }
            if self.named.len() < NAMED {
                self.named.push(place(inner).unwrap_or_else(|| unnamed(inner)));
            } else {
                self.more += 1;
            }
        }
    }

    /// The requests of no such block.
    pub(super) fn only(&self) -> Only {
        if self.only.len() > TOLD {
            return Only::Unknown(format!("it is for all but more than {TOLD} blocks"));
        }
        let mut tests = Vec::new();
        for only in &self.only {
            match only {
                // It can't be told apart by the fields of a log, such as a second server of the same name.
                Only::All => {}
                Only::Fields(test) => tests.push(test.clone().not()),
                Only::Unknown(_) => return only.clone(),
            }
        }
        Test::all(tests).into()
    }

    /// The scope of a level without these blocks.
    pub(super) fn scope(&self, level: &Level) -> Option<String> {
        let exempt = level.exempt.as_ref();
        let level = scoped(&level.around, ", ");
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        let named = scoped(&self.named, ", ").map(|named| match more {
            Some(more) => format!("{named} {more}"),
            None => named,
        });
        let Some(named) = scoped(named.iter().chain(exempt), ", ") else { return level };
        let level = level.unwrap_or_else(|| "all".to_owned());
        Some(format!("{level} except {named}"))
    }
}

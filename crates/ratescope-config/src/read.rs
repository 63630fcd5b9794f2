//! The limits of a configuration, and the server that it is for.

use crate::write::by_module;
use crate::{Addresses, Only, Target, field};
use core::fmt;
use ratescope::internal::shown;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{LIMITS, Limit, Per, Policy};
use std::collections::BTreeSet;

/// The longest text, in bytes.
pub const LONGEST: usize = 1 << 20;

/// How deep blocks may be nested.
pub(crate) const DEEPEST: usize = 64;

/// The most limits and the most remarks of a text.
const MOST: usize = 1000;

/// The most characters of a word that a remark repeats.
const ECHO: usize = 60;

/// The length at which a scope, or a part of it, is cut.
pub(crate) const SCOPE: usize = 300;

/// The limits of a configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The server that it is for.
    pub target: Target,
    /// The limits, in the order of the text.
    pub found: Vec<Found>,
    /// How the addresses of clients are counted, by the first limit that counts by addresses.
    pub addresses: Addresses,
    /// The parts that were not understood, and the differences between a limit and the limiter that is tried in its
    /// place.
    pub remarks: Vec<Remark>,
    /// The mistakes that the server itself refuses: then no limit is in force.
    refused: Vec<Remark>,
}

/// A limit in a configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The name of its zone, table, middleware, jail or set; empty if it has none.
    pub name: String,
    /// The line of the text, from 1.
    pub line: usize,
    /// The limit, with the fields of a log that it counts by.
    pub limit: Limit,
    /// How it counts the addresses of clients.
    pub addresses: Addresses,
    /// The requests that it is for, if not all: a server, a location or a condition, in the words of the text.
    pub scope: Option<String>,
    /// The same, as a test of an event's fields.
    pub only: Only,
}

impl Found {
    /// Tells whether it counts by the address of the client.
    pub fn is_by_address(&self) -> bool {
        self.limit.per.fields().iter().any(|field| *field == field::ip())
    }
}

/// A sentence about a line of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remark {
    /// The line, from 1; 0 if it is about the whole text.
    pub line: usize,
    /// The sentence, without a full stop.
    pub text: String,
}

/// Why no limit was read: one remark or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Vec<Remark>);

/// Finds words that only a configuration of the target has.
fn is_known(target: Target, text: &str) -> bool {
    by_module!(target, server => server::is_known(text))
}

/// Tells whether a text is a configuration of any server with the words of a limit.
pub fn is_configuration(text: &str) -> bool {
    Target::ALL.into_iter().any(|target| is_known(target, text))
}

/// Reads the limits of a configuration of any server.
///
/// # Errors
/// When the text is of an unknown server, or of several; when it is malformed; or when no limit in it is understood.
pub fn read(text: &str) -> Result<Config, Error> {
    read_named(text, &[])
}

/// Reads those limits of a configuration that have one of these names, or all without names.
///
/// # Errors
/// As for [`read`], and if no limit has one of the names.
pub fn read_named(text: &str, names: &[String]) -> Result<Config, Error> {
    let whole = |problem: String| Error(vec![Remark::new(0, problem)]);
    // Some editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > LONGEST {
        return Err(whole("more than 1 MiB long".to_owned()));
    }
    let known: Vec<Target> = Target::ALL.into_iter().filter(|&it| is_known(it, text)).collect();
    let titles =
        |targets: &[Target]| targets.iter().map(|it| it.title()).collect::<Vec<_>>().join(", ");
    let target = match known.as_slice() {
        [target] => *target,
        [] => {
            let all = titles(&Target::ALL);
            return Err(whole(format!("no limit of a known server; the known ones are {all}")));
        }
        several => {
            let servers = titles(several);
            return Err(whole(format!("limits of several servers: {servers}; give those of one")));
        }
    };
    let mut config = Config {
        target,
        found: Vec::new(),
        addresses: Addresses::default(),
        remarks: Vec::new(),
        refused: Vec::new(),
    };
    by_module!(target, server => server::read(text, &mut config))
        .map_err(|remark| Error(vec![remark]))?;
    if !config.refused.is_empty() {
        return Err(Error(config.refused));
    }
    config.choose(names).map_err(whole)?;
    config.finish();
    if !config.found.is_empty() {
        return Ok(config);
    }
    if config.remarks.is_empty() {
        let title = target.title();
        return Err(whole(format!("it is of {title}, and no limit is in force there")));
    }
    Err(Error(config.remarks))
}

impl Config {
    /// All limits together, as one policy.
    ///
    /// # Errors
    /// When there are more limits than a policy may have.
    pub fn policy(&self) -> Result<Policy, Error> {
        let limits: Vec<Limit> = self.found.iter().map(|found| found.limit.clone()).collect();
        let n = limits.len();
        let problem = || format!("{n} limits; a policy has {LIMITS} at most");
        Policy::new(limits).map_err(|_| Error(vec![Remark::new(0, problem())]))
    }

    pub(crate) fn remark(&mut self, line: usize, text: impl Into<String>) {
        self.remarks.push(Remark::new(line, text));
    }

    /// Says that the server refuses the configuration for this.
    pub(crate) fn refuse(&mut self, line: usize, why: impl fmt::Display) {
        if self.refused.len() < MOST {
            let text = format!("{why}, which {} refuses", self.target.title());
            self.refused.push(Remark::new(line, text));
        }
    }

    /// Says that something else refuses, too.
    pub(crate) fn beside(&mut self, line: usize, what: &str) {
        self.remark(line, format!("{what} refuses, too, and is not tried"));
    }

    /// Adds a limit, or a remark that says why it can't be read.
    pub(crate) fn add(&mut self, line: usize, found: Result<Found, String>) {
        match found {
            Ok(found) => self.found.push(found),
            Err(problem) => self.remark(line, problem),
        }
    }

    /// Keeps the limits that have one of these names, if there are names.
    fn choose(&mut self, names: &[String]) -> Result<(), String> {
        if names.is_empty() || self.found.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<&str> = self.found.iter().map(|found| found.name.as_str()).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(name.as_str())) {
            let known: Vec<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
            return Err(match known.join(", ") {
                none if none.is_empty() => {
                    format!("no limit is called {unknown:?}; none has a name")
                }
                known => format!("no limit is called {unknown:?}; there are {known:.300}"),
            });
        }
        self.found.retain(|found| names.contains(&found.name));
        Ok(())
    }

    /// Removes duplicates: equal limits of one name and scope, and equal remarks.
    fn finish(&mut self) {
        let mut seen = BTreeSet::new();
        self.found.retain(|found| {
            let Found { name, limit, addresses, scope, .. } = found;
            seen.insert((name.clone(), limit.to_string(), addresses.ipv6_prefix, scope.clone()))
        });
        if let Some(more) = self.found.get(MOST) {
            let line = more.line;
            self.remark(line, format!("more than {MOST} limits; those from here on are not read"));
            self.found.truncate(MOST);
        }
        let mut seen = BTreeSet::new();
        self.remarks.retain(|remark| seen.insert((remark.line, remark.text.clone())));
        self.remarks.truncate(MOST);
        self.addresses.forwarded |= self.found.iter().any(|found| found.addresses.forwarded);
        if let Some(first) = self.found.iter().find(|found| found.is_by_address()) {
            let forwarded = self.addresses.forwarded;
            self.addresses = Addresses { forwarded, ..first.addresses };
        }
    }
}

/// A limit from the text form of its limiter and the fields of its key.
pub(crate) fn limit(limiter: &str, fields: &[String]) -> Result<Limit, String> {
    let limiter: AnyLimiter = limiter.parse().map_err(|e: ratescope::ParseError| e.to_string())?;
    let mut seen = BTreeSet::new();
    let once = fields.iter().filter(|field| seen.insert(*field));
    let per = Per::new(once).map_err(|e| e.to_string())?;
    Ok(Limit { limiter, per, name: None })
}

/// The parts of a scope as one text, cut if it is long; `None` without parts.
pub(crate) fn scoped(parts: impl IntoIterator<Item: AsRef<str>>, between: &str) -> Option<String> {
    let mut scope = String::new();
    for part in parts {
        if scope.len() > SCOPE {
            scope += " ...";
            break;
        }
        if !scope.is_empty() {
            scope += between;
        }
        scope.extend(part.as_ref().chars().take(SCOPE));
    }
    Some(scope).filter(|scope| !scope.is_empty())
}

/// A word of the text, for a remark.
pub(crate) fn said(word: &str) -> String {
    shown(word, ECHO)
}

impl Remark {
    pub(crate) fn new(line: usize, text: impl Into<String>) -> Self {
        Remark { line, text: text.into() }
    }
}

/// As in `line 12: it counts by $key, which is no field of a log`.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

impl Error {
    /// The parts that were not understood.
    pub fn remarks(&self) -> &[Remark] {
        &self.0
    }
}

/// The first few remarks.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (i, remark) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{remark}", if i == 0 { "" } else { "; " })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl core::error::Error for Error {}

//! The options for reading a log, by name. If one of these [choices](crate::lab::tune::Choices) changes,
//! the log has to be read again.

use crate::lab::run::{VALUE, encoded};
use crate::log::{Options, Spread, Test, ipv6_prefix};
use crate::text::{ParseError, parts};
use crate::time::Span;
use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

/// The options for reading a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the lines, the key, and the filter.
    pub options: Options,
    /// Whether to spread times in whole seconds.
    pub spread: Spread,
    /// How late a line may be and still be sorted by time; if `None`, the usual time for the log.
    pub slack: Option<Span>,
}

impl ReadOptions {
    /// The names, in the order in which a link has them. But for `spread` they and their values are the
    /// arguments of `ratescope tune`; a list has commas.
    pub const NAMES: [&'static str; 19] = [
        "log",
        "log-format",
        "key",
        "only-keyed",
        "path",
        "method",
        "status",
        "message",
        "since",
        "until",
        "where",
        "not",
        "cost",
        "ipv6-prefix",
        "path-depth",
        "field",
        "time-unit",
        "year",
        "spread",
    ];

    /// Sets `name` to `value`.
    ///
    /// # Errors
    /// When the name or the value is unknown; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let ReadOptions { options, spread, .. } = self;
        let filter = &mut options.filter;
        match name {
            "log" => options.format = open(value)?,
            "log-format" => options.layout = open(value)?.map(Arc::new),
            "key" => options.key = open(value)?,
            "only-keyed" => {
                let wrong = |_| ParseError::whole(value, "write true or false");
                options.only_keyed = value.parse().map_err(wrong)?;
            }
            "path" => filter.paths = list::<Path>(value)?.into_iter().map(|path| path.0).collect(),
            "method" => filter.methods = list(value)?,
            "status" => filter.statuses = list(value)?,
            // A message may have commas.
            "message" => {
                let text = Some(value.to_owned()).filter(|text| !text.is_empty());
                filter.messages = text.into_iter().collect();
            }
            "since" => filter.since = open(value)?,
            "until" => filter.until = open(value)?,
            "where" => filter.also = tests(value)?,
            "not" => filter.not = tests(value)?,
            "cost" => options.cost = open(value)?,
            "ipv6-prefix" => options.ipv6_prefix = ipv6_prefix(value)?,
            "path-depth" => {
                let help = |_| ParseError::whole(value, "write auto, or a number from 1 to 255");
                options.path_depth = open(value).map_err(help)?;
            }
            "field" => options.aliases = list(value)?,
            "time-unit" => options.unit = open(value)?,
            "year" => options.year = open(value)?.unwrap_or_default(),
            "spread" => *spread = value.parse()?,
            _ => return Err(ParseError::whole(name, "not a way to read a log")),
        }
        Ok(())
    }

    /// The value of `name` as [`set`](Self::set) reads it; empty for an unknown name.
    pub fn get(&self, name: &str) -> String {
        let ReadOptions { options, spread, .. } = self;
        let filter = &options.filter;
        match name {
            "log" => or_open(options.format.as_ref()),
            "log-format" => or_open(options.layout.as_deref()),
            "key" => or_open(options.key.as_ref()),
            "only-keyed" => options.only_keyed.to_string(),
            "path" => joined(&filter.paths),
            "method" => joined(&filter.methods),
            "status" => joined(&filter.statuses),
            "message" => joined(&filter.messages),
            "since" => or_open(filter.since.as_ref()),
            "until" => or_open(filter.until.as_ref()),
            "where" => joined(&filter.also),
            "not" => joined(&filter.not),
            "cost" => or_open(options.cost.as_ref()),
            "ipv6-prefix" => options.ipv6_prefix.to_string(),
            "path-depth" => or_open(options.path_depth.as_ref()),
            "field" => joined(&options.aliases),
            "time-unit" => or_open(options.unit.as_ref()),
            "year" => options.year.to_string(),
            "spread" => spread.to_string(),
            _ => String::new(),
        }
    }
}

/// The beginning of a path.
struct Path(String);

impl FromStr for Path {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        path(text).map(Path)
    }
}

/// Reads the beginning of a path.
///
/// # Errors
/// When it does not begin as paths do.
pub fn path(text: &str) -> Result<String, ParseError> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err(ParseError::whole(text, format!("paths begin with /; write /{text}"))),
    }
}

/// The value of a choice that is left open.
pub(crate) const OPEN: &str = "auto";

pub(crate) fn open<T: FromStr>(value: &str) -> Result<Option<T>, T::Err> {
    if value == OPEN || value.is_empty() { Ok(None) } else { value.parse().map(Some) }
}

pub(crate) fn or_open(value: Option<&impl fmt::Display>) -> String {
    value.map_or(OPEN.to_owned(), ToString::to_string)
}

/// The text of a link: the names whose value is not the default one, with their values.
pub(crate) fn changed(
    names: &[&str],
    get: &dyn Fn(&str) -> String,
    usual: &dyn Fn(&str) -> String,
) -> String {
    let changed = names.iter().filter(|name| get(name) != usual(name));
    let said = changed.map(|name| format!("{name}={}", encoded(&get(name), &VALUE)));
    said.collect::<Vec<_>>().join("&")
}

/// Reads a list with commas; empty entries are ignored.
fn list<T: FromStr<Err: Into<ParseError>>>(text: &str) -> Result<Vec<T>, ParseError> {
    let mut list = Vec::new();
    for (at, part) in parts(text, ',') {
        let entry = part.trim();
        let at = at + part.len() - part.trim_start().len();
        if !entry.is_empty() {
            list.push(entry.parse().map_err(|wrong: T::Err| wrong.into().inside(text, at))?);
        }
    }
    Ok(list)
}

/// Reads tests with commas between. A comma may also be a part of one: what follows it then does not begin
/// as a test does.
fn tests(text: &str) -> Result<Vec<Test>, ParseError> {
    let is_next = |part: &str| {
        let word = part.trim_start().split(['=', '~']).next().unwrap_or("");
        word.len() < part.trim_start().len()
            && word.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    let mut ends: Vec<usize> = Vec::new();
    for (at, part) in parts(text, ',') {
        if ends.is_empty() || is_next(part) {
            ends.push(at);
        }
        if let Some(end) = ends.last_mut() {
            *end = at + part.len();
        }
    }
    let (mut from, mut tests) = (0, Vec::new());
    for end in ends {
        let part = text.get(from..end).unwrap_or("");
        let test = part.trim();
        if !test.is_empty() {
            let at = from + part.len() - part.trim_start().len();
            tests.push(test.parse().map_err(|wrong: ParseError| wrong.inside(text, at))?);
        }
        from = end + 1;
    }
    Ok(tests)
}

fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The options that differ from the default ones, as in a link.
impl fmt::Display for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = ReadOptions::default();
        f.write_str(&changed(&Self::NAMES, &|name| self.get(name), &|name| usual.get(name)))
    }
}

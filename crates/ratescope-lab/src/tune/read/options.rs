//! The options for reading a log, by name. A change of one of these [choices](crate::tune::Choices) reads the log
//! again.

use crate::run::settings::or;
use crate::run::{Setting, changed, find, setting};
use core::fmt;
use core::num::NonZeroU8;
use core::str::FromStr;
use ratescope::internal::parts;
use ratescope::text::ParseError;
use ratescope::time::Span;
use ratescope_log::{Cost, Layout, Options, Spread, Test, ipv6_prefix};
use std::sync::Arc;

/// The options for reading a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the lines, the key, and the filter.
    pub options: Options,
    /// When events are spread over their second.
    pub spread: Spread,
    /// How late a line may be and still be sorted by time; `None` for the usual time of the log's format.
    pub slack: Option<Span>,
}

impl ReadOptions {
    /// All options, in the order of a link. All but `spread` are also arguments of `ratescope tune`, with the same
    /// values; a list has commas.
    pub const SETTINGS: &'static [Setting<Self>] = &[
        setting!("log", |s| s.options.format, open, or_open),
        setting!("log-format", |s| s.options.layout, layout, or_open),
        setting!("key", |s| s.options.key, open, or_open),
        setting!("only-keyed", |s| s.options.only_keyed, true_or_false),
        setting!("path", |s| s.options.filter.paths, paths, joined),
        setting!("method", |s| s.options.filter.methods, list, joined),
        setting!("status", |s| s.options.filter.statuses, list, joined),
        setting!("message", |s| s.options.filter.messages, messages, joined),
        setting!("since", |s| s.options.filter.since, open, or_open),
        setting!("until", |s| s.options.filter.until, open, or_open),
        setting!("where", |s| s.options.filter.also, tests, joined),
        setting!("not", |s| s.options.filter.not, tests, joined),
        setting!("cost", |s| s.options.cost, open, or_open),
        setting!("ipv6-prefix", |s| s.options.ipv6_prefix, ipv6_prefix),
        setting!("path-depth", |s| s.options.path_depth, depth, or_open),
        setting!("field", |s| s.options.aliases, list, joined),
        setting!("time-unit", |s| s.options.unit, open, or_open),
        setting!(
            "year",
            |s, text| s.options.year = open(text)?.unwrap_or_default(),
            s.options.year
        ),
        setting!("spread", |s| s.spread, str::parse),
    ];

    /// The chosen field of costs, if any.
    pub fn field_of_costs(&self) -> Option<&str> {
        match &self.options.cost {
            Some(Cost::Field(name)) => Some(name),
            _ => None,
        }
    }

    /// The value of `name`, in the form that [`Choices::set`](crate::tune::Choices::set) reads; empty for an unknown
    /// name.
    pub fn get(&self, name: &str) -> String {
        find(Self::SETTINGS, name).map_or(String::new(), |setting| (setting.get)(self))
    }
}

fn layout(text: &str) -> Result<Option<Arc<Layout>>, ParseError> {
    Ok(open(text)?.map(Arc::new))
}

fn true_or_false(text: &str) -> Result<bool, ParseError> {
    text.parse().map_err(|_| ParseError::whole(text, "write true or false"))
}

fn paths(text: &str) -> Result<Vec<String>, ParseError> {
    list_of(text, path)
}

/// Not a list: a message may have commas.
fn messages(text: &str) -> Result<Vec<String>, ParseError> {
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()).into_iter().collect())
}

fn depth(text: &str) -> Result<Option<NonZeroU8>, ParseError> {
    open(text).map_err(|_| ParseError::whole(text, "write auto, or a number from 1 to 255"))
}

/// Reads the beginning of a path.
///
/// # Errors
/// When it does not begin like a path.
pub fn path(text: &str) -> Result<String, ParseError> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(ParseError::whole(text, format!("paths begin with /; write /{text}")))
    }
}

/// The value of an open choice.
pub(crate) const OPEN: &str = "auto";

pub(crate) fn open<T: FromStr>(value: &str) -> Result<Option<T>, T::Err> {
    if value == OPEN || value.is_empty() { Ok(None) } else { value.parse().map(Some) }
}

pub(crate) fn or_open<T: fmt::Display>(value: &Option<T>) -> String {
    or(value, OPEN)
}

fn list<T: FromStr<Err: Into<ParseError>>>(text: &str) -> Result<Vec<T>, ParseError> {
    list_of(text, |entry| entry.parse().map_err(T::Err::into))
}

/// Reads a list with commas; empty entries are ignored.
fn list_of<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let mut list = Vec::new();
    for (at, part) in parts(text, ',') {
        let entry = part.trim();
        let at = at + part.len() - part.trim_start().len();
        if !entry.is_empty() {
            list.push(read(entry).map_err(|wrong| wrong.inside(text, at))?);
        }
    }
    Ok(list)
}

/// Reads tests, separated by commas. A comma is part of a test if the text after it does not begin like a test.
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
    let mut from = 0;
    let mut tests = Vec::new();
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

/// The options that differ from the defaults, as in a link.
impl fmt::Display for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&changed(Self::SETTINGS, self))
    }
}

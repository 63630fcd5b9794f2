//! The options of reading a log.

use super::filter::Filter;
use super::layout::Layout;
use super::names::Alias;
use super::number::Unit;
use super::shape::Format;
use super::stamp::Year;
use core::convert::Infallible;
use core::fmt;
use core::num::NonZeroU8;
use core::str::FromStr;
use ratescope::address::IPV6_PREFIX;
use ratescope::policy::Per;
use ratescope::text::ParseError;
use std::sync::Arc;

/// The options of reading a log. The default guesses the format, takes every event, and counts each as 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The format; `None` guesses it.
    pub format: Option<Format>,
    /// The columns of the lines; if given, no other format is tried.
    pub layout: Option<Arc<Layout>>,
    /// The key of clients; `None` for the [usual key](super::LogShape::key).
    pub key: Option<Per>,
    /// Events without any field of the key are left out. Otherwise all of them count as one client.
    pub only_keyed: bool,
    /// Other names for the standard fields of JSON and CSV.
    pub aliases: Vec<Alias>,
    /// The unit of times that are numbers; `None` guesses it from their size.
    pub unit: Option<Unit>,
    /// The year of the first line, for times without a year.
    pub year: Year,
    /// The conditions for events.
    pub filter: Filter,
    /// The cost of an event; `None` takes it from the column `cost` of CSV, or 1 without this column.
    pub cost: Option<Cost>,
    /// The prefix in bits by which IPv6 addresses are grouped in `ip` and `forwarded`; 128 groups none.
    pub ipv6_prefix: u8,
    /// The number of segments that `path` keeps; `None` keeps all.
    pub path_depth: Option<NonZeroU8>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            layout: None,
            key: None,
            only_keyed: false,
            aliases: Vec::new(),
            unit: None,
            year: Year::default(),
            filter: Filter::default(),
            cost: None,
            ipv6_prefix: IPV6_PREFIX,
            path_depth: None,
        }
    }
}

/// The cost of an event. The text form is `1` or the name of a field, such as `bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always 1.
    One,
    /// The number in a field; 0 if the field is missing, as `bytes` may be when none were sent.
    Field(String),
}

impl FromStr for Cost {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "1" { Cost::One } else { Cost::Field(text.to_owned()) })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cost::One => "1",
            Cost::Field(name) => name,
        })
    }
}

/// Reads a prefix in bits: a whole number from 0 to 128.
///
/// # Errors
/// When the text is anything else.
pub fn ipv6_prefix(text: &str) -> Result<u8, ParseError> {
    let bits = text.parse().ok().filter(|bits| *bits <= 128);
    bits.ok_or_else(|| ParseError::whole(text, "write a number of bits from 0 to 128"))
}

/// Refuses the name of a field that the log does not have.
pub(super) fn check_field(name: &str, fields: Option<&[String]>) -> Result<(), ParseError> {
    match fields {
        Some(fields) if !fields.iter().any(|field| field == name) => {
            let known = fields.join(", ");
            Err(ParseError::whole(name, format!("not a field of this log; it has {known}")))
        }
        _ => Ok(()),
    }
}

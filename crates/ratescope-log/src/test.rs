//! Tests of a field, which choose events of a log or drop them.

use super::network::Network;
use super::record::Record;
use super::request;
use core::fmt;
use core::str::FromStr;
use ratescope::address;
use ratescope::text::ParseError;
#[cfg(feature = "expressions")]
use regex_lite::{Regex, RegexBuilder};

/// A test of a field. `ip=192.0.2.0/24` and `peer=` match an address or a network; `path=/health` the beginning of the
/// path; `agent=bot` a part of any other field; and `agent~^curl/[78]` a regular expression, in linear time (feature
/// `expressions`).
#[derive(Clone, Debug)]
pub struct Test {
    field: String,
    sign: char,
    text: String,
    fits: Fits,
}

/// How the value of a field is compared with the text.
#[derive(Clone, Debug)]
enum Fits {
    Network(Network),
    Begins,
    Contains,
    #[cfg(feature = "expressions")]
    Expression(Regex),
}

/// The most characters of a regular expression.
#[cfg(feature = "expressions")]
const LONGEST: usize = 1000;
/// The most bytes of a compiled regular expression.
#[cfg(feature = "expressions")]
const LARGEST: usize = 1 << 18;

impl Test {
    pub(super) fn field(&self) -> &str {
        &self.field
    }

    /// Puts an event to the test. One without the field does not pass.
    pub(super) fn is(&self, record: &Record<'_>) -> bool {
        let Some(value) = record.raw(&self.field) else { return false };
        let value = if self.field == "path" { request::path(value) } else { value };
        match &self.fits {
            Fits::Network(network) => address::parse(value)
                .is_some_and(|address| Network::of(address, network.bits) == Some(*network)),
            Fits::Begins => value.starts_with(&self.text),
            Fits::Contains => value.contains(&self.text),
            #[cfg(feature = "expressions")]
            Fits::Expression(expression) => expression.is_match(value),
        }
    }
}

/// Tests are equal if their texts are.
impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        (&self.field, self.sign, &self.text) == (&other.field, other.sign, &other.text)
    }
}

impl Eq for Test {}

impl FromStr for Test {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| Err(ParseError::whole(text, problem));
        let (field, rest) = text.split_at(text.find(['=', '~']).unwrap_or(text.len()));
        let mut rest = rest.chars();
        let sign = rest.next();
        let value = rest.as_str();
        let Some(sign) = sign.filter(|_| !value.is_empty()) else {
            return wrong(
                "write a field and a text, as in agent=bot, path=/health, ip=192.0.2.0/24 or agent~^curl",
            );
        };
        let fits = match (sign, field) {
            ('~', _) => expression(value).map_err(|problem| ParseError::whole(text, problem))?,
            (_, "ip" | "peer") => {
                let network = Network::read(value);
                Fits::Network(network.map_err(|problem| ParseError::whole(text, problem))?)
            }
            (_, "path") => Fits::Begins,
            _ => Fits::Contains,
        };
        Ok(Test { field: field.to_owned(), sign, text: value.to_owned(), fits })
    }
}

/// Reads a regular expression.
#[cfg(feature = "expressions")]
fn expression(text: &str) -> Result<Fits, String> {
    if text.chars().count() > LONGEST {
        return Err("a regular expression of more than 1,000 characters".to_owned());
    }
    let read = RegexBuilder::new(text).size_limit(LARGEST).build();
    read.map(Fits::Expression).map_err(|error| error.to_string())
}

#[cfg(not(feature = "expressions"))]
fn expression(_: &str) -> Result<Fits, &'static str> {
    Err("only ratescope tune reads regular expressions; write a text, as in agent=bot")
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.field, self.sign, self.text)
    }
}

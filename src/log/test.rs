//! Tests of a field, which choose events of a log or leave them out.

use super::record::Record;
use super::request;
use crate::address::{self, Made};
use crate::text::ParseError;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;
#[cfg(feature = "expressions")]
use regex_lite::{Regex, RegexBuilder};

/// A test of a field against a text. `ip=192.0.2.0/24` asks for an address or a network, and so does `peer=`;
/// `path=/health` for the beginning of the path; `agent=bot` for a part of any other field; and
/// `agent~^curl/[78]` for a match of a regular expression, in time linear in the length of the field (feature
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
    Network(IpAddr, u8),
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

    /// Whether an event passes the test. An event without the field does not.
    pub(super) fn is(&self, record: &Record<'_>) -> bool {
        let Some(value) = record.raw(&self.field) else { return false };
        let value = if self.field == "path" { request::path(value) } else { value };
        match &self.fits {
            Fits::Network(network, prefix) => {
                let of = |address| Made::of(bits(address), *prefix);
                let address = address::parse(value);
                address.is_some_and(|address| {
                    address.is_ipv4() == network.is_ipv4()
                        && of(address).as_str() == of(*network).as_str()
                })
            }
            Fits::Begins => value.starts_with(&self.text),
            Fits::Contains => value.contains(&self.text),
            #[cfg(feature = "expressions")]
            Fits::Expression(expression) => expression.is_match(value),
        }
    }
}

/// Tests are equal if they are written the same way.
impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        (&self.field, self.sign, &self.text) == (&other.field, other.sign, &other.text)
    }
}

impl Eq for Test {}

/// The address as IPv6 with the bits of an IPv4 address first, so that a prefix of either can be cut.
fn bits(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V6(Ipv6Addr::from_bits(u128::from(v4.to_bits()) << 96)),
        v6 => v6,
    }
}

impl FromStr for Test {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| Err(ParseError::whole(text, problem));
        let at = text.find(['=', '~']).filter(|at| at + 1 < text.len());
        let Some((field, value)) = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)))
        else {
            return wrong(
                "write a field and a text, as in agent=bot, path=/health, ip=192.0.2.0/24 or agent~^curl",
            );
        };
        let sign = if text.get(field.len()..).is_some_and(|rest| rest.starts_with('~')) {
            '~'
        } else {
            '='
        };
        let fits = match (sign, field) {
            ('~', _) => expression(value).map_err(|problem| ParseError::whole(text, problem))?,
            (_, "ip" | "peer") => {
                network(value).map_err(|problem| ParseError::whole(text, problem))?
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

/// Reads an address or a network.
fn network(text: &str) -> Result<Fits, &'static str> {
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    let address = address::parse(address).ok_or("not an address or a network")?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = if prefix.is_empty() { Some(most) } else { prefix.parse().ok() };
    let help = "the prefix of a network is at most 32 bits, and 128 of IPv6";
    prefix.filter(|prefix| *prefix <= most).map(|prefix| Fits::Network(address, prefix)).ok_or(help)
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.field, self.sign, self.text)
    }
}

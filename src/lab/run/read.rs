//! Readers of settings that several runs have.

use crate::text::{ParseError, number};
use crate::time::Span;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// The length of time on a screen, in seconds, and the same for people.
pub(crate) const WINDOW: (RangeInclusive<f64>, &str) = (10.0..=3600.0, "from 10s to 1h");

pub(crate) fn switch(text: &str) -> Result<bool, ParseError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ParseError::whole(text, "write on or off")),
    }
}

/// What [`switch`] reads.
pub(crate) fn on_off(switch: bool) -> String {
    if switch { "on" } else { "off" }.to_owned()
}

pub(crate) fn seed(text: &str) -> Result<u64, ParseError> {
    text.parse().map_err(|_| ParseError::whole(text, "write a whole number from 0 up"))
}

pub(crate) fn span(
    text: &str,
    range: RangeInclusive<f64>,
    words: &str,
) -> Result<Span, ParseError> {
    let span = Span::from_str(text)?;
    match range.contains(&span.secs()) {
        true => Ok(span),
        false => Err(ParseError::whole(text, format!("out of range; choose {words}"))),
    }
}

pub(crate) fn decimal(
    text: &str,
    range: RangeInclusive<f64>,
    words: &str,
) -> Result<f64, ParseError> {
    match number(text) {
        Some(n) if range.contains(&n) => Ok(n),
        Some(_) => Err(ParseError::whole(text, format!("out of range; choose {words}"))),
        None => Err(ParseError::whole(text, format!("not a number; choose {words}"))),
    }
}

/// Names for people, as in `decay, increase, limit`.
pub(crate) fn listed(names: &[&str]) -> String {
    let mut list = String::new();
    for name in names {
        list.push_str(if list.is_empty() { "" } else { ", " });
        list.push_str(name);
    }
    list
}

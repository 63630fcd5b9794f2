//! Numbers, spans and rates as people type them, if the meaning is clear: `10k`, `1e9`, `5 min`,
//! `10 s`, or `20` for the count of a rate whose period is known.

use crate::rate::Rate;
use crate::text::{ParseError, leading_number, split};
use crate::time::Span;

/// Reads a number. It may have spaces between thousands, and a power of ten or a suffix: k, M or G, in either
/// case. `None` if the text is no number.
pub(crate) fn number(text: &str) -> Option<f64> {
    let tight = tight(text);
    if let Some(plain) = crate::text::number(&tight) {
        return Some(plain);
    }
    let (digits, suffix) = leading_number(&tight);
    let scale = match suffix {
        "k" | "K" => 1e3,
        "M" | "m" => 1e6,
        "G" | "g" => 1e9,
        _ => {
            let is_power = suffix.starts_with(['e', 'E']) && !digits.is_empty();
            return tight.parse().ok().filter(|value: &f64| is_power && value.is_finite());
        }
    };
    crate::text::number(digits).map(|value| value * scale)
}

/// Reads a span. It may have spaces before its units, and units that are written out.
///
/// # Errors
/// As for reading a [`Span`].
pub(crate) fn span(text: &str) -> Result<Span, ParseError> {
    text.parse().or_else(|error| units(&tight(text)).parse().map_err(|_| error))
}

/// Reads a rate. A number alone is a count in `per`; `10/min` is ten in one minute.
///
/// # Errors
/// As for reading a [`Rate`].
pub(crate) fn rate(text: &str, per: Span) -> Result<Rate, ParseError> {
    text.parse().or_else(|error| {
        let read = match text.split_once('/') {
            None => number(text).map(|count| (count, per)),
            Some((count, span)) => {
                let one = if tight(span).starts_with(|c: char| c.is_ascii_alphabetic()) {
                    "1"
                } else {
                    ""
                };
                let span = self::span(&format!("{one}{}", span.trim()));
                number(count).zip(span.ok())
            }
        };
        read.and_then(|(count, per)| Rate::new(count, per).ok()).ok_or(error)
    })
}

/// Whether a text is meant as a rate, not as a number.
pub(crate) fn is_rate(text: &str) -> bool {
    text.contains('/') || text.split_whitespace().any(|word| word.eq_ignore_ascii_case("per"))
}

fn tight(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Replaces units that are written out by those of a [`Span`].
fn units(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (digits, tail) = leading_number(rest);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        // Without digits before the unit the text cannot be read anyway, so the rest of it stays.
        let (unit, next) = split(tail, if digits.is_empty() { tail.len() } else { end });
        short.push_str(digits);
        short.push_str(match unit.trim_end_matches('s') {
            "min" | "minute" => "m",
            "sec" | "second" => "s",
            "hr" | "hour" => "h",
            "day" => "d",
            "week" => "w",
            _ => unit,
        });
        rest = next;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_is_read() {
        for (text, value) in
            [("10k", 1e4), ("1e9", 1e9), ("1 000 000", 1e6), ("2.5M", 2.5e6), ("1E-3", 1e-3)]
        {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for (text, seconds) in [
            ("5 min", 300.0),
            ("10 s", 10.0),
            ("1 hour 30 minutes", 5400.0),
            ("250 ms", 0.25),
            ("2days", 172_800.0),
        ] {
            assert_eq!(span(text).map(Span::secs), Ok(seconds), "{text}");
        }
        for (text, rate_text) in [
            ("20", "20/10s"),
            ("10 / 1 min", "10/1m"),
            ("10/s", "10/1s"),
            ("1e3/hour", "1000/1h"),
            ("10k/1h", "10000/1h"),
        ] {
            let read = rate(text, Span::seconds(10)).map(|rate| rate.to_string());
            assert_eq!(read.as_deref(), Ok(rate_text), "{text}");
        }
    }

    #[test]
    fn what_has_no_plain_meaning_is_refused() {
        for text in ["", "k", "e9", "inf", "nan", "1e999", "ten", "1.2.3", "0x10", "-"] {
            assert_eq!(number(text), None, "{text}");
        }
        for text in ["", "min", "5", "5 mon", "s5", "."] {
            assert!(span(text).is_err(), "{text}");
        }
        for text in ["", "/", "10/", "/1s", "10/0s", "ten/1s", "-3"] {
            assert!(rate(text, Span::seconds(10)).is_err(), "{text}");
        }
    }
}

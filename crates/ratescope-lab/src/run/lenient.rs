//! Numbers and rates as people type them, if the meaning is clear: `10k`, `1e9`, `1 000`, or `20` for the count of a
//! rate with a known period.

use ratescope::internal::count;
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::Span;

/// Reads a number. It may have spaces between thousands, and a power of ten or a suffix: k, M or G, in either case.
/// `None` if the text is not a number.
pub(crate) fn number(text: &str) -> Option<f64> {
    let tight: String = text.split_whitespace().collect();
    // The standard library would also read a sign, `inf` and `nan`.
    let begins = tight.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let power = || tight.parse().ok().filter(|n: &f64| begins && n.is_finite());
    count(&tight).or_else(power)
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
                let one: Option<Rate> = format!("1/{}", span.trim()).parse().ok();
                number(count).zip(one.map(|one| one.per()))
            }
        };
        read.and_then(|(count, per)| Rate::new(count, per).ok()).ok_or(error)
    })
}

/// Tells whether a text is meant as a rate, not as a number.
pub(crate) fn is_rate(text: &str) -> bool {
    text.contains('/') || text.split_whitespace().any(|word| word.eq_ignore_ascii_case("per"))
}

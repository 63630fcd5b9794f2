//! Shared by the readers: lines without comments, numbers and times.

use crate::read::said;
use ratescope::internal::number;
use ratescope::time::Span;

/// The lines of a text that are neither empty nor a comment, trimmed, with their numbers from 1.
pub(crate) fn lines<'a>(
    text: &'a str,
    comments: &'static [&'static str],
) -> impl Iterator<Item = (usize, &'a str)> {
    let numbered = (1..).zip(text.lines().map(str::trim));
    numbered.filter(move |(_, line)| {
        !line.is_empty() && !comments.iter().any(|comment| line.starts_with(comment))
    })
}

/// Tells whether a line that is not a comment contains the word.
pub(crate) fn has(text: &str, comments: &'static [&'static str], word: &str) -> bool {
    lines(text, comments).any(|(_, line)| line.contains(word))
}

/// A whole number, as servers count.
pub(crate) fn whole(text: &str, what: &str) -> Result<u64, String> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let read = is_digits.then(|| text.parse().ok()).flatten();
    read.ok_or_else(|| format!("{what} is {:?}, which is no whole number", said(text)))
}

pub(crate) fn decimal(text: &str, what: &str) -> Result<f64, String> {
    number(text).ok_or_else(|| format!("{what} is {:?}, which is no number", said(text)))
}

/// The length of a prefix of an IPv6 address, in bits.
pub(crate) fn bits(text: &str) -> Option<u8> {
    text.parse().ok().filter(|bits| *bits <= 128)
}

/// The lengths of prefixes of IPv4 and IPv6 addresses, as in `24,64`, or of IPv4 addresses alone.
pub(crate) fn prefixes(text: &str) -> Option<(u8, u8)> {
    let (ipv4, ipv6) = text.split_once(',').unwrap_or((text, "128"));
    bits(ipv4.trim()).filter(|bits| *bits <= 32).zip(bits(ipv6.trim()))
}

/// The units of a time, with their lengths in seconds. The empty unit is that of a bare number.
pub(crate) type Units = &'static [(&'static str, f64)];

/// A time such as `10s`, `1m30s` or `0.05s`: numbers, each with a unit.
pub(crate) fn span(text: &str, units: Units, what: &str) -> Result<Span, String> {
    let problem = || format!("{what} is {:?}, which is no time that is understood", said(text));
    let mut rest = text.trim();
    let mut secs = 0.0;
    if rest.is_empty() {
        return Err(problem());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let after = after.trim_start();
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let size = units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, size)| *size);
        let (Some(n), Some(size)) = (number(digits), size) else { return Err(problem()) };
        // Dividing by 1000 is exact where multiplying by 0.001, which no double represents, is not.
        secs += if size < 1.0 { n / libm::round(1.0 / size) } else { n * size };
        rest = next;
    }
    match Span::try_from_secs_f64(secs) {
        Ok(span) if span > Span::ZERO => Ok(span),
        _ => Err(problem()),
    }
}

/// The time units of Go, and Caddy's additions.
pub(crate) const GO: Units = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
];

//! Numbers as text: plain decimals, without signs and exponents.
//!
//! In the page the browser's own conversions are used. They give the same numbers, because both
//! are exact, but those of the standard library are 26 kB gzipped, as much as the rest of the
//! page's module (16 kB to read a number, most of it a table, and 10 kB to print one).

use core::fmt;

/// Splits `text` after its leading plain decimal number (digits and at most one point).
///
/// Signs, exponents, `inf` and `nan` are not numbers here: nobody types them in a limit, and
/// each of them is a way in for a bad value.
pub(crate) fn leading_number(text: &str) -> (&str, &str) {
    let mut point = false;
    let end = text
        .find(|c: char| match c {
            '0'..='9' => false,
            '.' => core::mem::replace(&mut point, true),
            _ => true,
        })
        .unwrap_or(text.len());
    split(text, end)
}

/// The text before and after the byte `at`, where that is between two characters: a split that
/// cannot panic.
pub(crate) fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// The value of a plain decimal number, the nearest f64; `None` for anything else, and where
/// that is not finite.
pub(crate) fn number(digits: &str) -> Option<f64> {
    let (number, rest) = leading_number(digits);
    let plain = rest.is_empty() && number.bytes().any(|b| b.is_ascii_digit());
    parse(digits).filter(|value| plain && value.is_finite())
}

/// A number as the shortest plain decimal that reads back as the very same number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal(pub(crate) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            value if value.is_finite() => print(value, f),
            value if value.is_nan() => f.write_str("NaN"),
            value if value < 0.0 => f.write_str("-inf"),
            _ => f.write_str("inf"),
        }
    }
}

#[cfg(not(all(target_arch = "wasm32", feature = "page")))]
fn parse(digits: &str) -> Option<f64> {
    digits.parse().ok()
}

#[cfg(not(all(target_arch = "wasm32", feature = "page")))]
fn print(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{value}")
}

#[cfg(all(target_arch = "wasm32", feature = "page"))]
fn parse(digits: &str) -> Option<f64> {
    Some(js_sys::Number::parse_float(digits))
}

/// JavaScript prints an exponent from 1e21 up and below 1e-6, as in `1.5e-7`; it is written out.
#[cfg(all(target_arch = "wasm32", feature = "page"))]
fn print(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = js_sys::Number::from(value).to_js_string();
    let text = String::from(text);
    let Some((digits, exponent)) = text.split_once('e') else { return f.write_str(&text) };
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let zeros = |n: i32| "0".repeat(n.max(0) as usize);
    match exponent < 0 {
        true => write!(f, "{sign}0.{}{whole}{part}", zeros(-exponent - 1)),
        false => write!(f, "{sign}{whole}{part}{}", zeros(exponent - part.len() as i32)),
    }
}

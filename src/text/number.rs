//! Numbers as text: plain decimals, without signs and exponents.
//!
//! In a module for JavaScript the browser, or Node, reads and prints them. It gives the same numbers and texts,
//! because both are exact. The code of the standard library would be 25 kB gzipped: a sixth of what a page loads.

use core::fmt;

/// Splits `text` after its leading plain decimal number (digits and at most one point).
///
/// Signs, exponents, `inf` and `nan` are not read as numbers: nobody types them in a limit, and
/// each could let a bad value in.
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

/// Splits `text` at the byte `at` without panicking: if `at` is inside a character or past the end, returns
/// all of `text` and an empty rest.
pub(crate) fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// The f64 nearest to a plain decimal number; `None` if `digits` is not a plain number or its value is not
/// finite.
pub(crate) fn number(digits: &str) -> Option<f64> {
    let (number, rest) = leading_number(digits);
    let plain = rest.is_empty() && number.bytes().any(|b| b.is_ascii_digit());
    float(digits).filter(|_| plain)
}

/// The f64 nearest to a decimal number, which may have a sign and an exponent; `None` if it is no number or its
/// value is not finite.
pub(crate) fn float(text: &str) -> Option<f64> {
    // Only these: JavaScript would read hexadecimals and empty texts, and both would read infinities.
    let is_decimal = |b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    let decimal = !text.is_empty() && text.bytes().all(is_decimal);
    decimal.then(|| host::read(text)).filter(|value| value.is_finite())
}

/// A number as the shortest plain decimal that reads back as the very same number: what `Display` of an f64
/// writes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Decimal(pub(crate) f64);

#[cfg(feature = "lab")]
impl Decimal {
    pub(crate) fn of(value: &f64) -> Self {
        Decimal(*value)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write(self.0, f)
    }
}

#[cfg(not(all(target_arch = "wasm32", any(feature = "page", feature = "npm"))))]
mod host {
    use core::fmt::{self, Display};

    pub(super) fn read(text: &str) -> f64 {
        text.parse().unwrap_or(f64::NAN)
    }

    pub(super) fn write(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        value.fmt(f)
    }
}

#[cfg(all(target_arch = "wasm32", any(feature = "page", feature = "npm")))]
mod host {
    use alloc::string::String;
    use core::fmt;
    use wasm_bindgen::prelude::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// NaN for a text that is no number.
        #[wasm_bindgen(js_name = Number)]
        pub(super) fn read(text: &str) -> f64;
        #[wasm_bindgen(js_name = String)]
        fn shortest(value: f64) -> String;
        #[wasm_bindgen(js_namespace = ["Number", "prototype", "toPrecision"], js_name = call)]
        fn rounded(value: f64, digits: usize) -> String;
    }

    pub(super) fn write(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !value.is_finite() {
            let infinite = if value < 0.0 { "-inf" } else { "inf" };
            return f.write_str(if value.is_nan() { "NaN" } else { infinite });
        }
        // JavaScript prints no sign of zero.
        f.write_str(if value.is_sign_negative() { "-" } else { "" })?;
        let text = text(value.abs());
        // It prints an exponent from 1e21 up and below 1e-6, as in `1.5e-7`.
        let Some((digits, exponent)) = text.split_once('e') else { return f.write_str(&text) };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        match exponent.parse().unwrap_or(0) {
            below @ ..0 => write!(f, "0.{whole:0>zeros$}{part}", zeros = -below as usize),
            above => write!(f, "{whole}{part:0<zeros$}", zeros = above as usize),
        }
    }

    /// The shortest text. Of two that are equally near to the number, which have 16 digits or more, engines may take
    /// either; here it is the larger one.
    fn text(value: f64) -> String {
        let text = shortest(value);
        let digits = text.split('e').next().unwrap_or("").trim_start_matches(['0', '.']);
        let digits = digits.bytes().filter(u8::is_ascii_digit).count();
        if digits < 16 || !text.contains('.') {
            return text;
        }
        let larger = rounded(value, digits);
        if read(&larger) == value { larger } else { text }
    }
}

/// The digits before and after the point of a decimal number without a sign, as in `12.5`; those after it are
/// missing if there is no point. `None` for any other text.
pub(crate) fn digits(text: &str) -> Option<(&str, &str)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!whole.is_empty() && is_digits(whole) && is_digits(part)).then_some((whole, part))
}

/// A count such as `20`, `0.5` or `300k`; `None` if `text` is not one.
pub(crate) fn count(text: &str) -> Option<f64> {
    let (digits, suffix) = leading_number(text);
    Some(number(digits)? * thousands(suffix)?)
}

/// The factor that the suffix of a count stands for: k, M and G, in either case, are powers of 1000. `None`
/// for any other suffix.
pub(crate) fn thousands(suffix: &str) -> Option<f64> {
    match suffix {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" | "m" => Some(1e6),
        "G" | "g" => Some(1e9),
        _ => None,
    }
}

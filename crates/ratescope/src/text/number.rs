//! Numbers as text: plain decimals, without signs and exponents.

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
pub fn number(digits: &str) -> Option<f64> {
    let (number, rest) = leading_number(digits);
    let plain = rest.is_empty() && number.bytes().any(|b| b.is_ascii_digit());
    float(digits).filter(|_| plain)
}

/// The f64 nearest to a decimal number, which may have a sign and an exponent; `None` if it is no number or its
/// value is not finite.
pub(crate) fn float(text: &str) -> Option<f64> {
    // The standard library would also read `inf` and `nan`.
    let is_decimal = |b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.bytes().all(is_decimal) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The digits before and after the point of a decimal number without a sign, as in `12.5`; without a point, none after
/// it. `None` for any other text.
pub fn digits(text: &str) -> Option<(&str, &str)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!whole.is_empty() && is_digits(whole) && is_digits(part)).then_some((whole, part))
}

/// A count such as `20`, `0.5` or `300k`; `None` if `text` is not one.
pub fn count(text: &str) -> Option<f64> {
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

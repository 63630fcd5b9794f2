//! The text forms of numbers and times: a comma between thousands, a true minus, a thin space before units.

use super::round::shift;
use core::fmt::Write;

/// The narrow no-break space before units.
const THIN: char = '\u{202f}';

/// The units of time from a second up, in seconds, largest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Numbers from here on are written with a power of ten.
const HUGE: f64 = 1e15;

/// A multiple of a step, with as many decimals as the step has; `exponent` is the step's power of ten.
pub(super) fn number(value: f64, exponent: i32) -> String {
    if exponent < -6 || value.abs() >= HUGE {
        let digits = super::round::exponent(value).saturating_sub(exponent);
        return scientific(value, digits.clamp(0, 15) as usize);
    }
    fixed(value, exponent.min(0).unsigned_abs() as usize)
}

/// A number to be read at a glance: three significant digits, or all digits before the decimal point if there
/// are more, as in `0.0123`, `9.87`, `12.3`, `1,235`, `1,000,000`.
///
/// From 1e15 on and below 1e-6 it reads `1.23×10⁻⁷`; NaN reads `–`.
pub fn readout(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.is_infinite() || value.abs() >= HUGE || value.abs() < 1e-6 {
        return scientific(value, 2);
    }
    let (_, exponent) = significant(value, 2);
    fixed(value, (2 - exponent).max(0) as usize)
}

/// A number for a narrow place, with at most six characters below 1e15: like [`readout`], but with at most
/// three decimals, and from 10,000 on as in `12.3k`, `2.59M`, `1G`.
pub fn compact(value: f64) -> String {
    const UNITS: [(f64, char); 4] = [(1e12, 'T'), (1e9, 'G'), (1e6, 'M'), (1e3, 'k')];
    let size = value.abs();
    if size < 0.1 && size > 0.0 {
        return fixed(value, 3);
    }
    // A number that rounds up to a unit has this unit: 999,950 is 1M.
    let unit = UNITS.into_iter().find(|(unit, _)| size >= unit * 0.9995);
    match unit.filter(|_| (9999.5..HUGE).contains(&size)) {
        Some((unit, letter)) => {
            let digits = readout(value / unit);
            let digits = if digits.contains('.') {
                digits.trim_end_matches('0').trim_end_matches('.')
            } else {
                &digits
            };
            format!("{digits}{letter}")
        }
        None => readout(value),
    }
}

/// A count, with a comma between thousands.
pub fn readout_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length of time to be read at a glance: `350 µs`, `2.3 ms`, `2.3 s`, `1 m 5 s`, `3 h`, `1 d 2 h`; at most
/// two units, rounded to nearest.
pub fn seconds(value: f64) -> String {
    let s = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if s.is_nan() || s >= HUGE {
        return format!("{}{THIN}s", readout(value));
    }
    // Each form ends half a step below the beginning of the next, so that 59.96 s is written as 1 m.
    let text = match s {
        0.0 => format!("0{THIN}s"),
        _ if s < 0.999_5e-3 => format!("{}{THIN}µs", short(s * 1e6)),
        _ if s < 0.999_5 => format!("{}{THIN}ms", short(s * 1e3)),
        _ if s < 59.95 => format!("{}{THIN}s", fixed(s, 1)),
        _ if s < 3599.5 => whole(s, 1.0),
        _ if s < 86_370.0 => whole(s, 60.0),
        _ => whole(s, 3600.0),
    };
    format!("{sign}{text}")
}

/// A multiple of a step in seconds, exactly; `exponent` is the step's power of ten.
pub(super) fn time(value: f64, exponent: i32) -> String {
    if exponent < 0 || value >= HUGE {
        return format!("{}{THIN}s", number(value, exponent));
    }
    whole(value, 1.0)
}

/// An instant of a run, in seconds since its start. Below 1000 s it has at most two decimals; from there on it is
/// written like [`seconds`].
pub fn instant(value: f64) -> String {
    if !(0.0..1000.0).contains(&value) {
        return seconds(value);
    }
    let digits = fixed(value, 2);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{THIN}s")
}

/// A multiple of a step in seconds, on an axis that ends at `to`: always in seconds if the axis ends before
/// 1000 s. `exponent` is the step's power of ten.
pub(super) fn at(value: f64, exponent: i32, to: f64) -> String {
    if to < 1000.0 || value == 0.0 {
        format!("{}{THIN}s", number(value, exponent.min(0)))
    } else {
        time(value, exponent)
    }
}

/// Seconds, rounded to a multiple of `unit`, as days, hours, minutes and seconds; zeros are left out.
fn whole(value: f64, unit: f64) -> String {
    let mut rest = (libm::round(value / unit) * unit) as u64;
    let mut text = String::new();
    for (unit, size) in UNITS {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            let gap = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{gap}{}{THIN}{unit}", readout_count(count));
        }
    }
    text
}

/// A number from 0 up to 1000, with one decimal if it is below 10.
fn short(value: f64) -> String {
    fixed(value, if value < 9.95 { 1 } else { 0 })
}

/// The most decimals for which a number below 10 fits an integer of 64 bits.
const DECIMALS: usize = 17;

/// A number below 1e15, rounded to `decimals` decimals, or to as many as fit an integer of 64 bits.
///
/// It is rounded to an integer and written as an integer: printing an f64 would add the largest part of the standard
/// library to the page.
fn fixed(value: f64, decimals: usize) -> String {
    let room = DECIMALS.saturating_sub(super::round::exponent(value.abs().max(1.0)) as usize);
    let decimals = decimals.min(room);
    let rounded = libm::round(shift(value.abs(), decimals as i32)) as u64;
    let unit = 10_u64.pow(decimals as u32);
    let sign = if value < 0.0 && rounded > 0 { "−" } else { "" };
    let whole = readout_count(rounded / unit);
    match decimals {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{:0decimals$}", rounded % unit),
    }
}

/// The digits of a finite number other than zero, as an integer with `decimals` digits after the first, and the
/// exponent of the first digit, both after rounding, so that 9.996 is 1.00e1.
fn significant(value: f64, decimals: usize) -> (u64, i32) {
    let exponent = super::round::exponent(value);
    let digits = |exponent: i32| libm::round(shift(value.abs(), decimals as i32 - exponent)) as u64;
    match digits(exponent) {
        n if n >= 10_u64.pow(decimals as u32 + 1) => (digits(exponent + 1), exponent + 1),
        n => (n, exponent),
    }
}

/// A number as in `1.23×10⁻⁷`, without zeros at the end of the decimals.
fn scientific(value: f64, decimals: usize) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    if value == 0.0 || value.is_infinite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{sign}∞") };
    }
    let (digits, exponent) = significant(value, decimals);
    let digits = digits.to_string();
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    let raised = exponent.to_string().chars().map(superscript).collect::<String>();
    format!("{sign}{first}{point}{rest}×10{raised}")
}

/// A superscript digit, or for any other character a superscript minus.
fn superscript(c: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    c.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize])
}

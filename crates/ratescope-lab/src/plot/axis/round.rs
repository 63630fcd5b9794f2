//! Round numbers: 1, 2 and 5 times a power of ten, and the round times of a clock.

/// A round step: `mantissa` · 10^`exponent`. The two are kept apart so that multiples of 0.1 are exactly the numbers
/// written 0.2 and 0.3, not sums of a rounded tenth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) mantissa: f64,
    pub(super) exponent: i32,
}

impl Interval {
    pub(super) fn value(self) -> f64 {
        self.times(1.0)
    }

    pub(super) fn times(self, n: f64) -> f64 {
        shift(n * self.mantissa, self.exponent)
    }
}

/// The range within which numbers are rounded: beyond it, a power of ten could overflow.
pub(super) const LEAST: f64 = 1e-300;
pub(super) const GREATEST: f64 = 1e300;

/// Numbers with a smaller relative difference count as the same.
const SAME: f64 = 1e-9;

const WEEK: f64 = 604_800.0;

/// The round times from a second to a week, in seconds.
const TIMES: [f64; 20] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0,
    3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0, WEEK,
];

/// `value` · 10^`exponent`. As long as the power of ten is exact, up to 10²², the result is rounded once.
pub(super) fn shift(value: f64, exponent: i32) -> f64 {
    let power = ten_to(exponent.unsigned_abs());
    if exponent < 0 { value / power } else { value * power }
}

/// 10^`n`, by squaring.
fn ten_to(mut n: u32) -> f64 {
    let mut power = 1.0;
    let mut square = 10.0;
    while n > 0 {
        if n % 2 == 1 {
            power *= square;
        }
        square *= square;
        n /= 2;
    }
    power
}

/// The exponent of the greatest power of ten not above `value`, which is finite and not zero.
pub(super) fn exponent(value: f64) -> i32 {
    libm::floor(libm::log10(value.abs())) as i32
}

/// The round numbers around `value`, ascending. They include one more power of ten on each side, so that an error in
/// the last bit of the logarithm does no harm.
fn around(value: f64) -> impl DoubleEndedIterator<Item = Interval> {
    let middle = exponent(value);
    (middle - 1..=middle + 1)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| Interval { mantissa, exponent }))
}

/// The least round number not below `value`, after `value` was clamped to [`LEAST`] and [`GREATEST`].
pub(super) fn at_least(value: f64) -> Interval {
    let value = value.clamp(LEAST, GREATEST);
    let ten = Interval { mantissa: 10.0, exponent: exponent(value) };
    around(value).find(|step| step.value() >= value * (1.0 - SAME)).unwrap_or(ten)
}

/// The least round time not below `seconds`, in seconds.
pub(super) fn time_at_least(seconds: f64) -> Interval {
    if seconds <= 0.5 {
        return at_least(seconds);
    }
    let enough = |time: &f64| *time >= seconds * (1.0 - SAME);
    let weeks = || at_least(seconds / WEEK).value() * WEEK;
    let mantissa = TIMES.into_iter().find(enough).unwrap_or_else(weeks);
    Interval { mantissa, exponent: 0 }
}

/// The next of the numbers 1, 2 and 5 · 10^k above `value` (`by` > 0) or below it (`by` < 0).
///
/// A value without such a neighbour, such as zero, is returned unchanged.
pub fn next_round(value: f64, by: f64) -> f64 {
    if !(LEAST..=GREATEST).contains(&value) {
        return value;
    }
    let mut values = around(value).map(Interval::value);
    let next = if by > 0.0 {
        values.find(|next| *next > value * (1.0 + SAME))
    } else if by < 0.0 {
        values.rfind(|next| *next < value * (1.0 - SAME))
    } else {
        None
    };
    next.unwrap_or(value)
}

/// The next round time above `seconds` (`by` > 0) or below it (`by` < 0), in seconds.
///
/// The round times are 1, 2, 5, 10, 15, 20 and 30 seconds, the same numbers of minutes, 1, 2, 6 and 12 hours, a day and
/// a week. Below a second they are 1, 2 and 5 · 10^k seconds, above a week 1, 2 and 5 · 10^k weeks.
pub fn next_round_time(seconds: f64, by: f64) -> f64 {
    let up = by > 0.0;
    let down = by < 0.0;
    if !up && !down {
        return seconds;
    }
    if seconds > WEEK * (1.0 + SAME) || up && seconds >= WEEK * (1.0 - SAME) {
        return next_round(seconds / WEEK, by) * WEEK;
    }
    let mut times = TIMES.into_iter();
    let next = if up && seconds >= 1.0 - SAME {
        times.find(|next| *next > seconds * (1.0 + SAME))
    } else if down && seconds > 1.0 + SAME {
        times.rfind(|next| *next < seconds * (1.0 - SAME))
    } else {
        None
    };
    next.unwrap_or_else(|| next_round(seconds, by))
}

/// `value` rounded to two significant digits; zero, infinities and NaN are returned unchanged.
pub fn two_digits(value: f64) -> f64 {
    if !(LEAST..=GREATEST).contains(&value.abs()) {
        return value;
    }
    let unit = exponent(value) - 1;
    shift(libm::round(shift(value, -unit)), unit)
}

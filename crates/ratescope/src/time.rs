//! Instants and spans of time.
//!
//! Time is always an argument: nothing here reads a clock. An instant is a whole number of microseconds, so
//! differences are exact. A span is a number of seconds. A count and a span make a [rate](crate::rate).
//!
//! ```
//! use ratescope::{Span, Time};
//!
//! let noon: Time = "43200".parse()?;
//! let wait: Span = "1m30s".parse()?;
//! assert_eq!(noon.after(wait).as_secs_f64(), 43_290.0);
//! assert_eq!(noon.until(noon.after(wait)), wait);
//! assert_eq!(Span::from_millis(250).to_string(), "250ms");
//!
//! // The time since the program started, and how long to sleep.
//! let start = std::time::Instant::now();
//! let now = Time::from(start.elapsed());
//! let sleep = std::time::Duration::try_from(now.until(now.after(wait)))?;
//! assert_eq!(sleep.as_secs(), 90);
//!
//! // An error says what was read, which part is wrong, and what would be right.
//! let error = "5 minuets".parse::<Span>().unwrap_err();
//! assert_eq!(error.at(), 2..9);
//! assert!(error.problem().starts_with("not a unit; the units are"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::text::{BadNumber, ParseError, digits, float, leading_number, number, split};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;
use core::time::Duration;

/// An instant: whole microseconds from an origin that the caller chooses.
///
/// The origin may be the epoch, the start of a page or the first line of a log. Only differences
/// matter, except for windows that are aligned to the origin. The range is ±292,000 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);

    /// The last instant that can be represented.
    pub const LAST: Time = Time(i64::MAX);

    /// The instant `secs` seconds after the origin; the last or first instant of the range beyond it.
    pub const fn from_secs(secs: i64) -> Self {
        Time(secs.saturating_mul(1_000_000))
    }

    /// The instant `millis` milliseconds after the origin; the last or first instant of the range beyond it.
    pub const fn from_millis(millis: i64) -> Self {
        Time(millis.saturating_mul(1000))
    }

    /// The instant `micros` microseconds after the origin.
    pub const fn from_micros(micros: i64) -> Self {
        Time(micros)
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The instant `seconds` after the origin, rounded to the nearest microsecond.
    ///
    /// # Errors
    /// When `seconds` is not finite or out of range.
    pub fn try_from_secs_f64(seconds: f64) -> Result<Self, BadNumber> {
        let micros = libm::round(seconds * 1e6);
        if micros.abs() < i64::MAX as f64 {
            Ok(Time(micros as i64))
        } else {
            let want = "finite and within 292,000 years of the origin";
            Err(BadNumber { what: "a time in seconds", given: seconds, want })
        }
    }

    /// Seconds since the origin, rounded to the nearest f64.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds from `earlier` to this instant; negative when time ran backwards.
    #[inline(always)]
    pub fn since(self, earlier: Time) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }

    /// The span from this instant to `later`; zero if `later` is in fact earlier.
    pub fn until(self, later: Time) -> Span {
        Span::from_micros(later.max(self).0.abs_diff(self.0))
    }

    /// The first whole microsecond at least `span` later, or [`LAST`](Self::LAST).
    pub fn after(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.micros_up()))
    }

    /// The last whole microsecond at least `span` earlier, or the first instant of the range.
    pub fn before(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.micros_up()))
    }
}

/// The instant `elapsed` after the origin, with fractions of a microsecond cut off; [`Time::LAST`] beyond
/// 292,000 years. With `Time::from(start.elapsed())` the origin is `start`, a `std::time::Instant` that the
/// program keeps.
impl From<Duration> for Time {
    fn from(elapsed: Duration) -> Self {
        let whole = i64::try_from(elapsed.as_secs()).ok().and_then(|s| s.checked_mul(1_000_000));
        let micros = whole.and_then(|whole| whole.checked_add(elapsed.subsec_micros().into()));
        Time(micros.unwrap_or(i64::MAX))
    }
}

/// The time since the Unix epoch, with fractions of a microsecond cut off. With
/// `Time::from(SystemTime::now())` windows are aligned to the epoch, and kept states mean the same in every
/// process. This clock may be set back: [`limit`](crate::limit) says what happens then.
#[cfg(feature = "std")]
impl From<std::time::SystemTime> for Time {
    fn from(now: std::time::SystemTime) -> Self {
        match now.duration_since(std::time::SystemTime::UNIX_EPOCH) {
            Ok(after) => after.into(),
            Err(before) => Time(-Time::from(before.duration()).0),
        }
    }
}

/// Seconds with at most six decimals, as in `12.5`; reading them gives the same instant.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        write!(f, "{sign}{}{}", micros / 1_000_000, decimals(micros % 1_000_000))
    }
}

/// The decimals of a second after its point, from microseconds; empty if there are none.
#[doc(hidden)]
pub fn decimals(micros: u64) -> String {
    let digits = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    digits.trim_end_matches('0').to_owned()
}

/// Reads seconds with up to six decimals, exactly: they are not rounded to a float.
impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => ("-", number),
            None => ("", text),
        };
        let Some((whole, part)) = digits(number).filter(|(_, part)| part.len() <= 6) else {
            let help = "not a time; write seconds with up to six decimals, such as 12.5";
            return Err(ParseError::whole(text, help));
        };
        // The sign is parsed with the digits, since -i64::MIN does not fit an i64.
        match format!("{sign}{whole}{part:0<6}").parse() {
            Ok(micros) => Ok(Time(micros)),
            Err(_) => {
                let help = "too far away; a time is within 292,000 years of the origin";
                Err(ParseError::whole(text, help))
            }
        }
    }
}

/// A length of time in seconds, finite and not negative.
///
/// The text form is Exim's time interval (spec chapter "Exim configuration file", section "Time intervals"):
/// numbers with the units `w d h m s`, in any order, added up, as in `1h30m`. Decimals and the units `ms` and
/// `us` are read too, since people type them. A number without a unit is refused, as Exim refuses it. Names
/// of units and spaces are also read, as in `1 minute`; case does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span(f64);

// A span is never NaN and never -0, so spans are ordered like numbers and equal spans have equal
// bits.
impl Eq for Span {}

impl Ord for Span {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Span {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.to_bits().hash(hasher);
    }
}

/// Rounded to the nearest f64: off by less than a nanosecond up to 194 days.
impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Span(duration.as_secs_f64())
    }
}

/// Rounded up to whole nanoseconds, so that a sleep of this duration is never too short.
///
/// # Errors
/// When the span is longer than a [`Duration`] can hold, 584 billion years.
impl TryFrom<Span> for Duration {
    type Error = BadNumber;

    fn try_from(span: Span) -> Result<Self, BadNumber> {
        let whole = libm::floor(span.0);
        let nanos = libm::ceil((span.0 - whole) * 1e9);
        let too_long = BadNumber {
            what: "a duration in seconds",
            given: span.0,
            want: "less than 584 billion years",
        };
        let whole = Duration::try_from_secs_f64(whole).map_err(|_| too_long)?;
        whole.checked_add(Duration::from_nanos(nanos as u64)).ok_or(too_long)
    }
}

/// The units of the text form from a second up, each with its length in seconds, largest first.
const UNITS: [(&str, f64); 5] =
    [("w", 604_800.0), ("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];

/// The names of units that people write; a plural `s` may follow each.
const NAMES: [(&str, &str); 10] = [
    ("week", "w"),
    ("day", "d"),
    ("hour", "h"),
    ("hr", "h"),
    ("minute", "m"),
    ("min", "m"),
    ("second", "s"),
    ("sec", "s"),
    ("millisecond", "ms"),
    ("microsecond", "us"),
];

/// The short form of the unit that `word` names, in any case; `None` if it names no unit.
pub(crate) fn unit(word: &str) -> Option<&'static str> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let short = UNITS.iter().map(|(unit, _)| *unit).chain(["ms", "us"]).find(|unit| is(unit));
    let singular = word.strip_suffix(['s', 'S']).unwrap_or(word);
    short.or_else(|| {
        let long = NAMES.iter().find(|(name, _)| is(name) || singular.eq_ignore_ascii_case(name));
        long.map(|(_, unit)| *unit)
    })
}

/// The length in seconds of a unit in [`UNITS`].
fn size(unit: &str) -> f64 {
    UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, size)| *size)
}

impl Span {
    /// The empty span.
    pub const ZERO: Span = Span(0.0);

    /// A whole number of hours.
    pub const fn from_hours(hours: u64) -> Self {
        Span(hours as f64 * 3600.0)
    }

    /// A whole number of minutes.
    pub const fn from_mins(mins: u64) -> Self {
        Span(mins as f64 * 60.0)
    }

    /// A whole number of seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Span(secs as f64)
    }

    /// A whole number of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Span(millis as f64 / 1e3)
    }

    /// A whole number of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Span(micros as f64 / 1e6)
    }

    /// The span of `seconds`.
    ///
    /// # Errors
    /// When `seconds` is negative, infinite or not a number.
    pub fn try_from_secs_f64(seconds: f64) -> Result<Self, BadNumber> {
        // Adding zero turns -0 into 0, so equal spans also print alike.
        if seconds >= 0.0 && seconds.is_finite() {
            Ok(Span(seconds + 0.0))
        } else {
            let want = "finite and not negative";
            Err(BadNumber { what: "a span in seconds", given: seconds, want })
        }
    }

    /// The span in seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0
    }

    /// The span rounded up to whole microseconds.
    pub(crate) fn whole_micros(self) -> Span {
        Span::from_micros(self.micros_up().unsigned_abs())
    }

    /// The span `factor` times as long; the span itself if the product is negative or not finite.
    pub fn times(self, factor: f64) -> Span {
        Span::try_from_secs_f64(self.0 * factor).unwrap_or(self)
    }

    /// The microseconds in the span, rounded up, so that a wait of that length is never too short.
    pub fn micros_up(self) -> i64 {
        millionths_up(self.0)
    }
}

/// The millionths in `x`, which is at least 0, rounded up.
///
/// If `x` was made from whole millionths, they come back unchanged: a product within a rounding error of an integer is
/// taken for the integer.
pub(crate) fn millionths_up(x: f64) -> i64 {
    let millionths = x * 1e6;
    let nearest = libm::round(millionths);
    if (millionths - nearest).abs() <= millionths * f64::EPSILON {
        nearest as i64
    } else {
        libm::ceil(millionths) as i64
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Above 2^53 seconds, whole units no longer add up exactly.
        let whole = self.0 == libm::trunc(self.0) && self.0 < 9e15;
        if self.0 == 0.0 {
            return f.write_str("0s");
        }
        if whole {
            let mut rest = self.0;
            for (unit, size) in UNITS {
                let n = libm::floor(rest / size);
                rest -= n * size;
                if n > 0.0 {
                    write!(f, "{}{unit}", n as u64)?;
                }
            }
            return Ok(());
        }
        match self.0 {
            1.0.. => write!(f, "{}s", self.0),
            1e-3.. => write!(f, "{}ms", shifted(self.0, 3)),
            1e-6.. => write!(f, "{}us", shifted(self.0, 6)),
            _ => write!(f, "{}s", self.0),
        }
    }
}

/// The number nearest to a decimal with an exponent. (A division would round a second time.)
fn exponent(digits: &str, exponent: &str) -> Option<f64> {
    float(&format!("{digits}{exponent}"))
}

/// The decimals of a number below 1 with the point moved to the right. `FromStr` moves it back by an exponent, so the
/// text reads back as the same number. (A multiplication would round.)
fn shifted(number: f64, places: usize) -> String {
    let digits = number.to_string();
    let digits = digits.trim_start_matches("0.");
    let (whole, part) = split(digits, places);
    let whole = format!("{whole:0<places$}");
    let whole = whole.trim_start_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

impl FromStr for Span {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const HELP: &str = "write a span as 10s, 1h30m, 1.5s or 250ms";
        let mut rest = text.trim();
        let mut total = 0.0;
        if rest.is_empty() {
            return Err(ParseError::whole(text, format!("a span is missing; {HELP}")));
        }
        let end = text.trim_end().len();
        while !rest.is_empty() {
            let from = end - rest.len();
            let (digits, tail) = leading_number(rest);
            let Some(n) = number(digits) else {
                return Err(ParseError::new(text, from..end, format!("not a span; {HELP}")));
            };
            let tail = tail.trim_start();
            if tail.is_empty() {
                let help = format!("a unit is missing; write {digits}s, {digits}m or {digits}h");
                let help = if digits.len() > 20 { HELP.to_owned() } else { help };
                return Err(ParseError::new(text, from..from + digits.len(), help));
            }
            let next = |c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace();
            let (name, next) = split(tail, tail.find(next).unwrap_or(tail.len()));
            total += match unit(name) {
                Some("ms") => exponent(digits, "e-3").unwrap_or(n / 1e3),
                Some("us") => exponent(digits, "e-6").unwrap_or(n / 1e6),
                Some(unit) => n * size(unit),
                None => {
                    // The unit is empty if a second decimal point or a number follows.
                    let at = end - tail.len();
                    let at = at..at + name.len().max(1);
                    let help = "not a unit; the units are w, d, h, m, s, ms and us";
                    return Err(ParseError::new(text, at, help));
                }
            };
            rest = next.trim_start();
        }
        Span::try_from_secs_f64(total).map_err(|e| ParseError::whole(text, format!("{e}")))
    }
}

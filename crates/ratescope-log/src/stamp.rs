//! Calendar times as logs write them.
//!
//! | form | written by |
//! |---|---|
//! | `10/Oct/2000:13:55:36 -0700` | Apache, nginx; also with decimals |
//! | `2000-10-10T13:55:36.25-07:00` | RFC 3339, RFC 5424; also with `Z`, a comma, a space or slashes |
//! | `2000-10-10 13:55:36.250 +0200` | Exim, with and without the decimals and the zone |
//! | `Oct 10 13:55:36` | syslog by RFC 3164: without a year; also with decimals |
//!
//! A time without a zone is taken as UTC, since only differences matter. Decimals beyond microseconds are cut, and a
//! leap second 60 is the second after 59.
//!
//! Times within a minute begin alike. So the date, the minute and the zone of the last time are cached; if they are
//! equal, only the seconds are computed.

use super::instant::Instant;
use super::number::{self, Unit};
use crate::civil::{Civil, Date, MONTHS, SECOND};
use core::fmt;
use core::str::FromStr;
use ratescope::text::ParseError;
use ratescope::time::Time;

/// Reads times, and remembers the minute of the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    /// The text of the last time, up to the colon before the seconds.
    begin: Text<18>,
    /// The text of the last time's zone.
    zone: Text<10>,
    /// The beginning of the last time's minute, in microseconds since the epoch, in UTC.
    minute: i64,
    /// The offset of the last time's zone from UTC in minutes.
    east: Option<i16>,
    /// The year and the month of the last time without a year.
    of_year: Option<(i32, u8)>,
    year: Year,
    /// The unit of times that are numbers; `None` guesses it.
    pub(super) unit: Option<Unit>,
}

/// The year of the first line, for logs whose times have no year, such as syslog by RFC 3164. The text form
/// is a year from 1 to 9999, as in `2026`, or else `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Year {
    /// An arbitrary leap year: only differences matter.
    #[default]
    Any,
    /// This year, from 0 to 9999; with any other number, no line can be read.
    First(i32),
    /// The latest year in which the first line is at most a day after this time, such as the present or the
    /// time of the log's last change.
    Before(Time),
}

impl FromStr for Year {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let year = text.parse().ok().filter(|year| (1..=9999).contains(year));
        match text {
            "auto" => Ok(Year::Any),
            _ => year.map(Year::First).ok_or_else(|| {
                ParseError::whole(text, "not a year; write one from 1 to 9999, as in 2026")
            }),
        }
    }
}

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Year::First(year) => write!(f, "{year}"),
            Year::Any | Year::Before(_) => f.write_str("auto"),
        }
    }
}

impl Year {
    /// Replaces [`Any`](Self::Any) by [`Before`](Self::Before) this time.
    pub fn or_before(self, time: Time) -> Self {
        if self == Year::Any { Year::Before(time) } else { self }
    }

    /// The year of the first line, which has this month and day.
    fn of(self, month: u8, day: u8) -> i32 {
        match self {
            Year::Any => SOME_LEAP_YEAR,
            Year::First(year) => year,
            Year::Before(time) => {
                let last = Date::at(Civil(time).date().since_epoch() + 1);
                // The last 29 February may be eight years ago, as on 28 February 1904: 1900 was not a leap year.
                let mut years = (0..=8).map(|ago| last.year().saturating_sub(ago));
                let fits = |year: &i32| Date::new(*year, month, day).is_ok_and(|date| date <= last);
                years.find(fits).unwrap_or(last.year())
            }
        }
    }
}

impl Stamps {
    /// A reader of times; `year` is for the first time without a year.
    pub(super) fn new(year: Year, unit: Option<Unit>) -> Self {
        Stamps { year, unit, ..Stamps::default() }
    }

    /// Reads a time with a year, or a number.
    #[inline]
    pub(super) fn read_any(&mut self, text: &str) -> Option<Instant> {
        self.read(text).or_else(|| number::read(text, self.unit))
    }

    /// Reads a time with a year; `None` for any other text. Inlined, so that its parts are not returned through memory.
    #[inline(always)]
    pub(super) fn read(&mut self, text: &str) -> Option<Instant> {
        let text = text.as_bytes();
        let length = if text.get(2) == Some(&b'/') { 18 } else { 17 };
        let (begin, rest) = text.split_at_checked(length)?;
        let (seconds, rest) = rest.split_at_checked(2)?;
        let seconds = two(seconds)?;
        let (part, zone) = decimals(rest);
        if !(self.begin.is(begin) && self.zone.is(zone)) {
            self.enter(begin, zone)?;
        }
        let micros = part.unwrap_or(0);
        let time = Time::from_micros(self.minute + seconds * SECOND + micros);
        (seconds <= 60).then_some(Instant { time, coarse: part.is_none(), east: self.east })
    }

    /// Reads a minute or a zone that differs from the cached one.
    #[cold]
    fn enter(&mut self, begin: &[u8], zone: &[u8]) -> Option<()> {
        let east = offset_of(zone)?;
        self.minute = minute_of(begin)? - i64::from(east.unwrap_or(0)) * 60 * SECOND;
        self.east = east;
        self.begin = Text::of(begin)?;
        self.zone = Text::of(zone)?;
        Some(())
    }

    /// Reads a time such as `Oct 10 13:55:36` at the beginning of `text`, and returns the rest.
    pub(super) fn read_without_year<'a>(&mut self, text: &'a str) -> Option<(Instant, &'a str)> {
        let mut padded = [b' '; 15];
        // A day of one digit may come without padding.
        let is_short = matches!(text.as_bytes().get(4..6), Some([b'0'..=b'9', b' ']));
        let (stamp, rest) = text.split_at_checked(if is_short { 14 } else { 15 })?;
        let stamp = if is_short {
            padded[..4].copy_from_slice(&stamp.as_bytes()[..4]);
            padded[5..].copy_from_slice(&stamp.as_bytes()[4..]);
            &padded[..]
        } else {
            stamp.as_bytes()
        };
        let (begin, seconds) = stamp.split_at_checked(13)?;
        let seconds = two(seconds).filter(|seconds| *seconds <= 60)?;
        if !self.begin.is(begin) {
            let month = month_of(begin.get(..3)?)?;
            let tens = if begin[4] == b' ' { b'0' } else { begin[4] };
            let day = two(&[tens, begin[5]])? as u8;
            let before = self.of_year;
            let year = self.year_of(month, day)?;
            let minutes = minutes(&begin[6..]);
            let Some((date, minutes)) = Date::new(year, month, day).ok().zip(minutes) else {
                self.of_year = before;
                return None;
            };
            self.minute = (date.since_epoch() * 1440 + minutes) * 60 * SECOND;
            self.begin = Text::of(begin)?;
        }
        let (part, after) = decimals(rest.as_bytes());
        let rest = rest.get(rest.len() - after.len()..)?;
        let time = Time::from_micros(self.minute + seconds * SECOND + part.unwrap_or(0));
        Some((Instant { time, coarse: part.is_none(), east: None }, rest))
    }
}

impl Stamps {
    /// The year of a time without it. The year goes up when the month falls by more than one, as from December to
    /// January. A line of the previous month is only out of order, and so is a line of December after one of January.
    pub(super) fn year_of(&mut self, month: u8, day: u8) -> Option<i32> {
        let (year, last) = self.of_year.unwrap_or_else(|| (self.year.of(month, day), month));
        let year = match i32::from(month) - i32::from(last) {
            ..-1 => year + 1,
            11.. => year - 1,
            _ => year,
        };
        (0..10_000).contains(&year).then(|| {
            self.of_year = Some((year, month));
            year
        })
    }
}

/// The year of times without a known year: a leap year, so that 29 February exists.
const SOME_LEAP_YEAR: i32 = 2000;

/// The beginning of a minute in microseconds since the epoch, from `10/Oct/2000:13:55:` or
/// `2000-10-10T13:55:`.
fn minute_of(begin: &[u8]) -> Option<i64> {
    let (date, time) = match begin {
        [_, _, b'/', _, _, _, b'/', year @ .., b':', _, _, b':', _, _, b':'] => {
            let month = month_of(&begin[3..6])?;
            let day = two(&begin[..2])?;
            (Date::new(four(year)?, month, day as u8), &begin[11..])
        }
        [_, _, _, _, b'-' | b'/', _, _, b'-' | b'/', _, _, b'T' | b't' | b' ' | b'\t', ..] => {
            let month = two(&begin[5..7])?;
            let day = two(&begin[8..10])?;
            (Date::new(four(&begin[..4])?, month as u8, day as u8), &begin[10..])
        }
        _ => return None,
    };
    Some((date.ok()?.since_epoch() * 1440 + minutes(time)?) * 60 * SECOND)
}

/// The minutes since midnight, from `?13:55:`, where the first character may be any.
fn minutes(time: &[u8]) -> Option<i64> {
    let [_, _, _, b':', _, _, b':'] = time else { return None };
    let hours = two(&time[1..3])?;
    let minutes = two(&time[4..6])?;
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// The offset in minutes from UTC of a zone such as `Z`, `+0200`, `-07:00` or ` +0200`; `Some(None)` for an empty text,
/// and `None` for any other text.
fn offset_of(zone: &[u8]) -> Option<Option<i16>> {
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let (sign, digits) = match zone {
        b"" => return Some(None),
        b"Z" | b"z" | b"UTC" | b"GMT" => return Some(Some(0)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [h0, h1] => (two(&[*h0, *h1])?, 0),
        [h0, h1, m0, m1] | [h0, h1, b':', m0, m1] => (two(&[*h0, *h1])?, two(&[*m0, *m1])?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(Some(sign * (hours * 60 + minutes) as i16))
}

/// The microseconds of decimals such as `.25` at the beginning of `text`, or `None` without decimals, and the rest.
fn decimals(text: &[u8]) -> (Option<i64>, &[u8]) {
    let Some((b'.' | b',', digits)) = text.split_first() else { return (None, text) };
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return (None, text);
    }
    (Some(number::decimals(digits, 6)), rest)
}

/// Knows the names of months, as in `Oct`.
pub(super) fn is_month(name: &[u8]) -> bool {
    month_of(name).is_some()
}

/// The number of a month, from 1, by its English abbreviation.
fn month_of(name: &[u8]) -> Option<u8> {
    let place = MONTHS.iter().position(|month| month.as_bytes() == name)?;
    Some(place as u8 + 1)
}

#[inline]
fn two(digits: &[u8]) -> Option<i64> {
    let [tens, ones] = digits else { return None };
    let both = tens.is_ascii_digit() && ones.is_ascii_digit();
    both.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

fn four(digits: &[u8]) -> Option<i32> {
    let (century, years) = digits.split_at_checked(2)?;
    Some((two(century)? * 100 + two(years)?) as i32)
}

/// A short text, stored inline.
#[derive(Clone, Copy, Debug)]
struct Text<const MOST: usize> {
    bytes: [u8; MOST],
    length: usize,
}

impl<const MOST: usize> Text<MOST> {
    fn of(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Text { bytes, length: text.len() })
    }

    #[inline]
    fn is(&self, text: &[u8]) -> bool {
        self.bytes.get(..self.length) == Some(text)
    }
}

impl<const MOST: usize> Default for Text<MOST> {
    fn default() -> Self {
        Text { bytes: [0; MOST], length: 0 }
    }
}

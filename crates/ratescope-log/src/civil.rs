//! Dates: calendar days as day numbers, and instants as people write them.
//!
//! An instant here is a [`Time`] since the Unix epoch, in UTC without leap seconds, as in POSIX.
//!
//! ```
//! use ratescope_log::civil::{Civil, Date};
//! use ratescope::Time;
//!
//! let day = Date::new(2000, 10, 10)?;
//! assert_eq!(day.since_epoch(), 11_240);
//! assert_eq!(Date::at(11_240), day);
//! let noon = Time::from_micros((day.since_epoch() * 24 + 12) * 3_600_000_000);
//! assert_eq!(Civil(noon).to_string(), "2000-10-10 12:00:00");
//! assert!(Date::new(2001, 2, 29).is_err());
//! # Ok::<(), ratescope::BadNumber>(())
//! ```
//!
//! Tests compare it with `jiff`, which is not used itself, since only these two conversions are needed.
//!
//! Source: the calendar repeats every 400 years of 146,097 days (Gregory XIII, "Inter gravissimas",
//! 1582). Here a year begins in March, so the leap day is its last day and the number of days before
//! month m needs no exceptions: it is the whole part of `(153 m + 2) / 5`, since five months from
//! March or from August have 153 days.

use core::fmt;
use ratescope::text::BadNumber;
use ratescope::time::{Time, decimals};

/// Days in 400 years.
const ERA: i64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const EPOCH: i64 = 719_468;

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const DAY: i64 = 86_400 * SECOND;

/// The months as logs write them.
pub const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The months in full.
pub const LONG_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A day of the Gregorian calendar, also for days before the calendar was in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: i32,
    month: u8,
    day: u8,
}

impl Date {
    /// The day with this year, month and day of the month; month and day count from 1.
    ///
    /// # Errors
    /// When the calendar has no such day.
    pub fn new(year: i32, month: u8, day: u8) -> Result<Self, BadNumber> {
        let date = Date { year, month, day };
        // A day exists if its day number converts back to it.
        if (1..=12).contains(&month) && Date::at(date.since_epoch()) == date {
            Ok(date)
        } else {
            let given = f64::from(day);
            Err(BadNumber { what: "the day of a date", given, want: "a day of its month" })
        }
    }

    /// The day that is `days` after 1 January 1970. A year beyond an `i32` becomes the nearest that fits.
    pub fn at(days: i64) -> Self {
        let day = days.saturating_add(EPOCH);
        let era = day.div_euclid(ERA);
        let day = day.rem_euclid(ERA);
        // Day 1460 is the leap day that ends four years. Day 36,524 would be the leap day that ends a century, but only
        // every fourth century has it, as day 146,096.
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let of_month = day - (153 * month + 2) / 5 + 1;
        let (later, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
        let year = (era * 400 + year + later).clamp(i32::MIN.into(), i32::MAX.into());
        Date { year: year as i32, month: month as u8, day: of_month as u8 }
    }

    /// The number of days from 1 January 1970 to this day; negative before.
    pub fn since_epoch(self) -> i64 {
        let month = i64::from(self.month);
        let day = i64::from(self.day);
        let (year, month) = if month > 2 {
            (i64::from(self.year), month - 3)
        } else {
            (i64::from(self.year) - 1, month + 9)
        };
        let era = year.div_euclid(400);
        let year = year.rem_euclid(400);
        let of_year = (153 * month + 2) / 5 + day - 1;
        era * ERA + 365 * year + year / 4 - year / 100 + of_year - EPOCH
    }

    /// The year; the year 0 comes before the year 1.
    pub fn year(self) -> i32 {
        self.year
    }

    /// The month, from 1 to 12.
    pub fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, from 1.
    pub fn day(self) -> u8 {
        self.day
    }
}

/// Writes a date as in `2000-10-10`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// An instant, written as a date and a time of day in UTC with up to six decimals of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil(pub Time);

impl Civil {
    /// The date.
    pub fn date(self) -> Date {
        Date::at(self.0.as_micros().div_euclid(DAY))
    }

    /// Microseconds since midnight.
    pub fn of_day(self) -> i64 {
        self.0.as_micros().rem_euclid(DAY)
    }
}

/// Writes an instant as in `2000-10-10 13:55:36.25`.
impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.of_day() / SECOND;
        let part = self.of_day() % SECOND;
        let hours = seconds / 3600;
        let minutes = seconds / 60 % 60;
        let seconds = seconds % 60;
        let part = decimals(part.unsigned_abs());
        write!(f, "{} {hours:02}:{minutes:02}:{seconds:02}{part}", self.date())
    }
}

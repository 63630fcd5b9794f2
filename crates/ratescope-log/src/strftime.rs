//! Times in a form that the user gives as for `strftime`, as in `%d.%m.%Y %H:%M:%S`.
//!
//! Numbers may have fewer digits than usual, and any spaces match any spaces. [`Year`](super::Year) gives the year of a
//! time without one; a time without a zone is in UTC. Names of months and days are English.
//!
//! Source: POSIX, `strftime`; and for decimals `%f` (Python), `%L` (Ruby), `%N` (GNU date).

use super::instant::Instant;
use super::number;
use super::stamp::Stamps;
use crate::civil::{Date, LONG_MONTHS, MONTHS, SECOND};
use ratescope::Time;

/// A form of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strftime(Vec<Item>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Text(char),
    /// Any number of spaces.
    Space,
    Year,
    /// Two digits: 69 to 99 are 1969 to 1999.
    YearOfCentury,
    Month,
    MonthName,
    Day,
    DayOfYear,
    DayName,
    Hour,
    HourOf12,
    Half,
    Minute,
    Second,
    /// Decimals of a second.
    Decimals,
    Zone,
    Epoch,
}

/// The directives, with their items or the directives that they abbreviate.
const DIRECTIVES: [(&str, Item); 24] = [
    ("Y", Item::Year),
    ("y", Item::YearOfCentury),
    ("m", Item::Month),
    ("b", Item::MonthName),
    ("B", Item::MonthName),
    ("h", Item::MonthName),
    ("d", Item::Day),
    ("e", Item::Day),
    ("j", Item::DayOfYear),
    ("a", Item::DayName),
    ("A", Item::DayName),
    ("H", Item::Hour),
    ("k", Item::Hour),
    ("I", Item::HourOf12),
    ("l", Item::HourOf12),
    ("p", Item::Half),
    ("P", Item::Half),
    ("M", Item::Minute),
    ("S", Item::Second),
    ("f", Item::Decimals),
    ("L", Item::Decimals),
    ("N", Item::Decimals),
    ("s", Item::Epoch),
    ("z", Item::Zone),
];

const SHORT: [(&str, &str); 9] = [
    ("T", "%H:%M:%S"),
    ("X", "%H:%M:%S"),
    ("R", "%H:%M"),
    ("r", "%I:%M:%S %p"),
    ("D", "%m/%d/%y"),
    ("x", "%m/%d/%y"),
    ("F", "%Y-%m-%d"),
    ("c", "%a %b %e %H:%M:%S %Y"),
    ("v", "%e-%b-%Y"),
];

/// Unambiguous names of zones, with their offsets from UTC in minutes: those of RFC 822 and of Central Europe.
const ZONES: [(&str, i16); 15] = [
    ("UTC", 0),
    ("GMT", 0),
    ("UT", 0),
    ("Z", 0),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
    ("CET", 60),
    ("CEST", 120),
    ("WET", 0),
];

impl Strftime {
    /// Reads a form, which must have the day and the hour, or the seconds since the epoch.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let mut items = Vec::new();
        Strftime::add(text, &mut items)?;
        let has = |wanted: &[Item]| items.iter().any(|item| wanted.contains(item));
        use Item::{
            Day, DayOfYear, Epoch, Half, Hour, HourOf12, Month, MonthName, Year, YearOfCentury,
        };
        let has_day = has(&[Month, MonthName]) && has(&[Day])
            || has(&[DayOfYear]) && has(&[Year, YearOfCentury]);
        let has_hour = has(&[Hour]) || has(&[HourOf12]) && has(&[Half]);
        if has(&[Epoch]) || has_day && has_hour {
            Ok(Strftime(items))
        } else if !has_day {
            Err(format!("a time needs a day and a month, as in %d.%m.%Y, and not only {text}"))
        } else {
            Err(format!("a time needs an hour, as in %H:%M:%S, and not only {text}"))
        }
    }

    fn add(text: &str, items: &mut Vec<Item>) -> Result<(), String> {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let Some(directive) = rest.strip_prefix('%') else {
                rest = &rest[c.len_utf8()..];
                if !c.is_whitespace() {
                    items.push(Item::Text(c));
                } else if items.last() != Some(&Item::Space) {
                    items.push(Item::Space);
                }
                continue;
            };
            // Padding flags, the number of decimals and their point do not matter for reading.
            let point = directive.starts_with('.');
            let is_flag = |c: char| {
                matches!(c, '-' | '_' | '^' | '#' | 'E' | 'O' | ':' | '.') || c.is_ascii_digit()
            };
            let name = directive.trim_start_matches(is_flag);
            let Some(letter) = name.chars().next() else {
                return Err("a letter is missing after %".to_owned());
            };
            rest = &name[letter.len_utf8()..];
            let name = letter.to_string();
            let item =
                DIRECTIVES.iter().find(|(known, _)| *known == name).map(|(_, item)| item.clone());
            if let Some(item) = item {
                if point && item == Item::Decimals {
                    items.push(Item::Text('.'));
                }
                items.push(item);
            } else if let Some((_, long)) = SHORT.iter().find(|(known, _)| *known == name) {
                Strftime::add(long, items)?;
            } else {
                match letter {
                    'Z' => items.push(Item::Zone),
                    '%' => items.push(Item::Text('%')),
                    'n' | 't' => items.push(Item::Space),
                    _ => {
                        return Err(format!(
                            "%{letter} is not read in a time; write it as in %d/%b/%Y:%H:%M:%S %z"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Knows the letters that are a directive after `%`.
    pub(super) fn is_directive(letter: char) -> bool {
        let is = |known: &str| known.starts_with(letter);
        letter == 'Z'
            || DIRECTIVES.iter().any(|(known, _)| is(known))
            || SHORT.iter().any(|(known, _)| is(known))
    }

    /// Reads the time at the beginning of a text; also returns its length.
    pub(super) fn read(&self, text: &str, stamps: &mut Stamps) -> Option<(Instant, usize)> {
        let mut read = Fields { rest: text, ..Fields::default() };
        for item in &self.0 {
            read.item(item)?;
        }
        let length = text.len() - read.rest.len();
        Some((read.instant(stamps)?, length))
    }
}

/// The parts of a time so far.
#[derive(Debug, Default)]
struct Fields<'a> {
    rest: &'a str,
    year: Option<i32>,
    month: Option<u8>,
    day: Option<u8>,
    day_of_year: Option<i64>,
    hour: i64,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: Option<i64>,
    epoch: Option<i64>,
    east: Option<i16>,
}

impl Fields<'_> {
    fn item(&mut self, item: &Item) -> Option<()> {
        match item {
            Item::Text(c) => self.rest = self.rest.strip_prefix(*c)?,
            Item::Space => {
                let rest = self.rest.trim_start();
                self.rest = if rest.len() < self.rest.len() { rest } else { return None };
            }
            Item::Year => self.year = Some(self.number(4)? as i32),
            Item::YearOfCentury => {
                let year = self.number(2)? as i32;
                self.year = Some(if year < 69 { 2000 + year } else { 1900 + year });
            }
            Item::Month => self.month = Some(self.number(2)? as u8),
            Item::MonthName => self.month = Some(self.name(&MONTHS, &LONG_MONTHS)? as u8 + 1),
            Item::Day => self.day = Some(self.number(2)? as u8),
            Item::DayOfYear => self.day_of_year = Some(self.number(3)?),
            Item::DayName => drop(self.name(&DAYS, &LONG_DAYS)?),
            Item::Hour => self.hour = self.number(2).filter(|hour| *hour < 24)?,
            Item::HourOf12 => {
                self.hour = self.number(2).filter(|hour| (1..=12).contains(hour))? % 12;
            }
            Item::Half => {
                let half = self.rest.get(..2)?.to_ascii_lowercase();
                self.is_afternoon =
                    Some(if half == "am" { false } else { (half == "pm").then_some(true)? });
                self.rest = self.rest.get(2..)?;
            }
            Item::Minute => self.minute = self.number(2).filter(|minute| *minute < 60)?,
            Item::Second => self.second = self.number(2).filter(|second| *second <= 60)?,
            Item::Decimals => {
                let end =
                    self.rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(self.rest.len());
                let (digits, rest) =
                    self.rest.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())?;
                self.micros = Some(number::decimals(digits.as_bytes(), 6));
                self.rest = rest;
            }
            Item::Epoch => self.epoch = Some(self.number(12)?),
            Item::Zone => self.east = Some(self.zone()?),
        }
        Some(())
    }

    /// A number of at most `most` digits; a space may replace the first.
    fn number(&mut self, most: usize) -> Option<i64> {
        let rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        let end = rest.bytes().take(most).position(|b| !b.is_ascii_digit());
        let (digits, rest) = rest.split_at_checked(end.unwrap_or(most.min(rest.len())))?;
        self.rest = rest;
        digits.parse().ok()
    }

    /// The index of the name at the beginning, in any case: of a long name or else of a short one.
    fn name(&mut self, short: &[&str], long: &[&str]) -> Option<usize> {
        let begins = |name: &&str| {
            self.rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
        };
        let place = |names: &[&str]| {
            let at = names.iter().position(begins)?;
            Some((at, names[at].len()))
        };
        let (at, length) = place(long).or_else(|| place(short))?;
        self.rest = self.rest.get(length..)?;
        Some(at)
    }

    /// A zone such as `+0200`, `-07:00`, `Z` or `CET`.
    fn zone(&mut self) -> Option<i16> {
        if let Some(sign) = self.rest.chars().next().filter(|c| matches!(c, '+' | '-')) {
            self.rest = self.rest.get(1..)?;
            let hours = self.number(2)?;
            let is_colon = self.rest.starts_with(':')
                && self.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            self.rest = self.rest.get(usize::from(is_colon)..)?;
            let has_minutes =
                self.rest.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_digit));
            let minutes = if has_minutes { self.number(2)? } else { 0 };
            let east = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) as i16)?;
            return Some(if sign == '-' { -east } else { east });
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        ZONES.iter().find(|(known, _)| *known == name).map(|(_, east)| *east)
    }

    fn instant(&self, stamps: &mut Stamps) -> Option<Instant> {
        let micros = self.micros.unwrap_or(0);
        let coarse = self.micros.is_none();
        if let Some(epoch) = self.epoch {
            let time = Time::from_micros(epoch.checked_mul(SECOND)?.checked_add(micros)?);
            return Some(Instant { time, coarse, east: Some(0) });
        }
        let day = match (self.month, self.day, self.day_of_year) {
            (Some(month), Some(day), _) => {
                let year = match self.year {
                    Some(year) => year,
                    None => stamps.year_of(month, day)?,
                };
                Date::new(year, month, day).ok()?.since_epoch()
            }
            (_, _, Some(day)) => {
                let first = Date::new(self.year?, 1, 1).ok()?;
                let next = Date::new(self.year? + 1, 1, 1).ok()?;
                let day = first.since_epoch() + day - 1;
                (first.since_epoch()..next.since_epoch()).contains(&day).then_some(day)?
            }
            _ => return None,
        };
        let hour = self.hour + if self.is_afternoon == Some(true) { 12 } else { 0 };
        let minutes = day * 1440 + hour * 60 + self.minute - i64::from(self.east.unwrap_or(0));
        let time = Time::from_micros((minutes * 60 + self.second) * SECOND + micros);
        Some(Instant { time, coarse, east: self.east })
    }
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

//! The clock of a log, by which its times are shown.
//!
//! Many lines say how far their clock is ahead of UTC. For every hour the lowest and the highest offset are kept, so
//! summaries add up to the result of reading all logs at once.
//!
//! | the lines say | times are shown |
//! |---|---|
//! | nothing, as Exim's main log | as they are written: `local time` |
//! | always the same offset | by this offset: `UTC+01:00` |
//! | offsets at most an hour apart, several of them in at most 1 % of the hours | by the offset of the hour, in winter or summer: `UTC+01:00, in summer UTC+02:00` |
//! | anything else, as logs of several zones do | in `UTC` |
//!
//! A time that a log writes as a number counts as UTC.

use core::fmt;
use ratescope::time::Time;
use ratescope_log::civil::{Civil, DAY, Date, LONG_MONTHS, SECOND};
use std::collections::BTreeMap;

/// An hour in microseconds.
const HOUR: i64 = 3_600_000_000;

/// The most hours that are kept: thirty years.
const MOST: usize = 1 << 18;

/// How far the clock of a log is ahead of UTC, by the hour.
#[derive(Clone, Debug)]
pub struct Zones {
    /// The lowest and the highest offset in minutes, by the hour since 1970.
    hours: BTreeMap<i64, [i16; 2]>,
    /// A cache of the last hour and offset, which the next line mostly has, too.
    last: (i64, i16),
}

impl Default for Zones {
    fn default() -> Self {
        Zones { hours: BTreeMap::new(), last: (i64::MIN, 0) }
    }
}

impl Zones {
    /// Notes that a line of this time has a clock `east` minutes ahead of UTC.
    #[inline]
    pub fn add_line(&mut self, time: Time, east: i16) {
        let hour = time.as_micros().div_euclid(HOUR);
        if self.last != (hour, east) {
            self.last = (hour, east);
            self.widen(hour, [east, east]);
        }
    }

    /// Adds the notes of other lines.
    pub fn add(&mut self, other: &Zones) {
        other.hours.iter().for_each(|(hour, range)| self.widen(*hour, *range));
    }

    fn widen(&mut self, hour: i64, [low, high]: [i16; 2]) {
        if self.hours.len() < MOST || self.hours.contains_key(&hour) {
            let range = self.hours.entry(hour).or_insert([low, high]);
            *range = [range[0].min(low), range[1].max(high)];
        }
    }

    /// The clock that follows from these notes, by the table above.
    pub fn clock(&self) -> LogClock {
        let ranges = || self.hours.values();
        let low = ranges().map(|[low, _]| *low).min();
        let Some((low, high)) = low.zip(ranges().map(|[_, high]| *high).max()) else {
            return LogClock { zone: Zone(None), ..LogClock::default() };
        };
        // In an hour with several offsets, the clock was changed within it, or a line is wrong.
        let mixed = ranges().filter(|[low, high]| low != high).count();
        if i32::from(high) - i32::from(low) > 60
            || mixed * 100 > self.hours.len()
            || self.hours.len() >= MOST
        {
            return LogClock { is_of_several: true, ..LogClock::default() };
        }
        let mut changes: Vec<(i64, i16)> = Vec::new();
        for (hour, [low, _]) in &self.hours {
            if changes.last().is_none_or(|(_, last)| last != low) {
                changes.push((*hour, *low));
            }
        }
        LogClock { zone: Zone(Some([low, high])), is_of_several: false, changes }
    }

    /// The known hours since 1970, in order, with the lowest and the highest offset in minutes of each.
    pub(super) fn hours(&self) -> impl ExactSizeIterator<Item = (i64, [i16; 2])> {
        self.hours.iter().map(|(hour, range)| (*hour, *range))
    }

    /// Adds the range of an hour; `None` if the hour is out of range.
    pub(super) fn restore(&mut self, hour: i64, range: [i16; 2]) -> Option<()> {
        let first = hour.checked_mul(HOUR)?;
        first.checked_add(HOUR)?;
        self.widen(hour, range);
        Some(())
    }
}

/// The wall clock of a log, or UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogClock {
    /// The name.
    pub zone: Zone,
    /// It shows UTC because the lines are of several zones.
    pub is_of_several: bool,
    /// The hours since 1970 at which it changed, and the minutes ahead of UTC from then on. The first offset also holds
    /// before its hour. Without changes, times are shown as they are.
    changes: Vec<(i64, i16)>,
}

impl LogClock {
    /// The reading of the clock at `time`, as a time in UTC.
    pub fn local(&self, time: Time) -> Time {
        let east = i64::from(self.east(time));
        Time::from_micros(time.as_micros().saturating_add(east * 60_000_000))
    }

    /// The date and the time of day that it shows, in whole seconds, as in `2026-03-02 12:00:00`.
    pub fn date_and_time(&self, time: Time) -> String {
        let shown = self.local(time).as_micros();
        Civil(Time::from_micros(shown - shown.rem_euclid(SECOND))).to_string()
    }

    /// The date and the time of day in the form of RFC 3339, with the offset from UTC if it is known, as in
    /// `2026-03-02T12:00:00+02:00`.
    pub fn rfc3339(&self, time: Time) -> String {
        let text = self.date_and_time(time).replace(' ', "T");
        match self.zone.0 {
            Some(_) => text + &offset(self.east(time)),
            None => text,
        }
    }

    /// The day and the time of day that it shows, as in a sentence: `18 May at 08:05`.
    pub fn in_words(&self, time: Time) -> String {
        let shown = self.local(time).as_micros();
        let day = Date::at(shown.div_euclid(DAY));
        let minutes = shown.rem_euclid(DAY) / SECOND / 60;
        let month = LONG_MONTHS.get(usize::from(day.month()) - 1).unwrap_or(&"");
        format!("{} {month} at {:02}:{:02}", day.day(), minutes / 60, minutes % 60)
    }

    /// The minutes that it is ahead of UTC at `time`.
    fn east(&self, time: Time) -> i16 {
        let hour = time.as_micros().div_euclid(HOUR);
        let after = self.changes.partition_point(|(from, _)| *from <= hour);
        self.changes.get(after.saturating_sub(1)).map_or(0, |(_, east)| *east)
    }
}

/// The name of a clock: its lowest and highest offset from UTC in minutes; `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(pub Option<[i16; 2]>);

/// Minutes as hours and minutes, as in `+02:00`.
fn offset(east: i16) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let size = east.unsigned_abs();
    format!("{sign}{:02}:{:02}", size / 60, size % 60)
}

/// UTC.
impl Default for Zone {
    fn default() -> Self {
        Zone(Some([0, 0]))
    }
}

/// The zone for people, as in `UTC`, `UTC-03:30` or `UTC, in summer UTC+01:00`; `local time` if unknown.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |east: i16, f: &mut fmt::Formatter<'_>| match east {
            0 => f.write_str("UTC"),
            _ => write!(f, "UTC{}", offset(east)),
        };
        match self.0 {
            None => f.write_str("local time"),
            Some([low, high]) => {
                one(low, f)?;
                if low == high {
                    return Ok(());
                }
                f.write_str(", in summer ")?;
                one(high, f)
            }
        }
    }
}

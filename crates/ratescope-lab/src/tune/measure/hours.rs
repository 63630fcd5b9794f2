//! Refusals by hour of the day and day of the week.

use ratescope::time::Time;

/// Counts by day of the week, from Monday, and hour of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hours(pub [[u64; 24]; 7]);

impl Hours {
    /// Counts `n` events at a time of a [`LogClock`](crate::tune::LogClock).
    pub fn add(&mut self, time: Time, n: u64) {
        let hours = time.as_micros().div_euclid(3_600_000_000);
        let day = hours.div_euclid(24);
        let hour = hours.rem_euclid(24);
        // The epoch began on a Thursday.
        let day = (day + 3).rem_euclid(7);
        let row = usize::try_from(day).ok().and_then(|day| self.0.get_mut(day));
        let cell = row.and_then(|row| row.get_mut(usize::try_from(hour).ok()?));
        if let Some(cell) = cell {
            *cell += n;
        }
    }

    /// Adds the counts of other events.
    pub(super) fn add_all(&mut self, other: &Hours) {
        let cells = self.0.iter_mut().flatten();
        cells.zip(other.0.iter().flatten()).for_each(|(cell, n)| *cell += n);
    }
}

/// From the counts of all hours in order, from Monday, midnight.
impl FromIterator<u64> for Hours {
    fn from_iter<T: IntoIterator<Item = u64>>(counts: T) -> Self {
        let mut hours = Hours::default();
        hours.0.iter_mut().flatten().zip(counts).for_each(|(cell, n)| *cell = n);
        hours
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratescope::time::Span;

    #[test]
    fn the_week_begins_on_monday() {
        let mut hours = Hours::default();
        // Sunday, 17 May 2015, 10:05:03 UTC; two hours further east it is noon.
        let time = Time::from_micros(1_431_857_103_000_000);
        hours.add(time, 2);
        hours.add(time.after(Span::from_hours(14)), 3);
        hours.add(Time::from_micros(-1), 1);
        assert_eq!((hours.0[6][10], hours.0[0][0], hours.0[2][23]), (2, 3, 1));
    }
}

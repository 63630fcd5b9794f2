//! The state: a rate, and a habit for each hour.

use super::HOURS;
use crate::extremes::rounded_down;
use crate::limit::adaptive::Habit;
use crate::limit::kept::{Bytes, Content, KeptError};

/// The rate and the habits as of the last counted event: 120 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Habits {
    /// The rate, the time of its measurement, and the habit of the hour that contains that time.
    pub current: Habit,
    /// The habits of the other hours, in events per decay interval; 0 for the current hour.
    pub hours: [f32; HOURS],
}

impl Habits {
    /// The habit of an hour that is not the current one. Indices from 24 on are hours of the next day.
    pub(super) fn of(&self, hour: usize) -> f64 {
        self.hours.get(hour % HOURS).map_or(0.0, |habit| f64::from(*habit))
    }

    /// The highest habit of any hour.
    pub(super) fn highest(&self) -> f64 {
        self.hours.iter().fold(self.current.smoothed, |most, &habit| most.max(f64::from(habit)))
    }

    /// Makes `to` the current hour instead of `from`, whose habit is stored rounded down.
    pub(super) fn turn(&mut self, from: usize, to: usize) {
        if from != to
            && let Ok([left, entered]) = self.hours.get_disjoint_mut([from, to])
        {
            *left = rounded_down(self.current.smoothed);
            self.current.smoothed = f64::from(core::mem::take(entered));
        }
    }

    /// Appends the habits, of which `hour` is the current one.
    pub(super) fn keep(&self, hour: usize, out: &mut Content) {
        self.current.keep(out);
        out.whole(hour as u64);
        for habit in self.hours {
            out.habit(habit);
        }
    }

    /// Reads the habits, and which hour of the day is the current one.
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<(Self, usize), KeptError> {
        let current = Habit::read(bytes)?;
        let hour = usize::from(bytes.byte("the hour")?);
        let mut hours = [0.0; HOURS];
        for habit in &mut hours {
            *habit = bytes.habit("the habit of an hour")?;
        }
        if hour >= HOURS {
            return Err(KeptError::OutOfRange { part: "the hour" });
        }
        Ok((Habits { current, hours }, hour))
    }

    /// Multiplies every habit by `left`.
    pub(super) fn fade(&mut self, left: f64) {
        if left < 1.0 {
            self.current.smoothed *= left;
            for habit in &mut self.hours {
                *habit = rounded_down(f64::from(*habit) * left);
            }
        }
    }
}

//! What is remembered: a rate, and a habit for each hour.

use super::HOURS;
use crate::limit::adaptive::Habit;

/// The rate and the habits as of the last counted event: 120 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// The rate, when it was measured, and the habit of the hour in which that was.
    pub current: Habit,
    /// The habits of the other hours, in events per decay interval. That of the current hour is 0
    /// here.
    pub hours: [f32; HOURS],
}

impl Habits {
    /// The habit of another hour than the current one, counted on from the day's first.
    pub(super) fn of(&self, hour: usize) -> f64 {
        self.hours.get(hour % HOURS).map_or(0.0, |habit| f64::from(*habit))
    }

    /// The highest habit of any hour.
    pub(super) fn highest(&self) -> f64 {
        self.hours.iter().fold(self.current.smoothed, |most, &habit| most.max(f64::from(habit)))
    }

    /// Goes from one hour to another.
    pub(in crate::limit) fn turn(&mut self, from: usize, to: usize) {
        if from != to
            && let Ok([left, entered]) = self.hours.get_disjoint_mut([from, to])
        {
            *left = rounded_down(self.current.smoothed);
            self.current.smoothed = f64::from(core::mem::take(entered));
        }
    }

    /// Leaves that part of every habit.
    pub(super) fn fade(&mut self, left: f64) {
        if left < 1.0 {
            self.current.smoothed *= left;
            let fade = |habit: &mut f32| *habit = rounded_down(f64::from(*habit) * left);
            self.hours.iter_mut().for_each(fade);
        }
    }
}

fn rounded_down(habit: f64) -> f32 {
    let nearest = habit.min(f64::from(f32::MAX)) as f32;
    if f64::from(nearest) > habit { nearest.next_down() } else { nearest }
}

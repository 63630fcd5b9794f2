//! The approximate highest level of each client, which excludes clients that a limit can't touch.

use super::histogram::Rank;
use super::scale::place;

/// The marks of a step, as a power of two: 64 marks, so that a step of any level fits in a byte. A step is at most
/// twice as high as the previous step, and mostly a fifth higher.
const STEP: u32 = 6;

/// The most clients in it: an analysis keeps up to 64 curves, and so 32 MiB of this. Busy clients mostly come early.
const MOST: usize = 1 << 19;

/// A byte for each client, by its place: the step of its highest level, counted from 1; 0 if the level is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Highest(Vec<u8>);

impl Highest {
    /// Records that the highest level of a client is over the first `marks` marks.
    #[inline]
    pub(super) fn set(&mut self, client: usize, marks: Rank) {
        if client >= self.0.len() && client < MOST {
            self.0.resize(client + 1, 0);
        }
        if let Some(step) = self.0.get_mut(client) {
            *step = u8::try_from((marks >> STEP) + 1).unwrap_or(u8::MAX);
        }
    }

    /// Adds the levels of other clients.
    pub(super) fn add(&mut self, other: &Highest) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, its)| *mine = (*mine).max(*its));
    }

    /// Tells whether `limit` certainly does not touch the client at a place. A level over a limit is over the limit's
    /// mark, so its step is not below the mark's step.
    pub(super) fn within(&self, limit: f64) -> impl Fn(usize) -> bool + '_ {
        let step = place(limit).map_or(0, |mark| mark >> STEP);
        move |client| matches!(self.0.get(client), Some(&of) if (1..=step).contains(&usize::from(of)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::{MARKS, Over, Scale, mark};
    use super::*;

    #[test]
    fn it_takes_a_byte_each_up_to_a_bound() {
        let mut highest = Highest::default();
        [MOST - 1, MOST, 2 * MOST].into_iter().for_each(|client| highest.set(client, 1));
        assert_eq!(highest.0.len(), MOST);
        let within = highest.within(10.0);
        assert_eq!([0, MOST - 1, MOST, 2 * MOST].map(within), [false, true, false, false]);
    }

    /// A client whose level is over the limit is never within it. A client whose level is a step of marks below the
    /// limit always is.
    #[test]
    fn nobody_over_a_limit_is_within_it() {
        let mut highest = Highest::default();
        let levels: Vec<f64> = (0..MARKS).step_by(7).map(mark).chain([0.0, 1e15]).collect();
        for (client, level) in levels.iter().enumerate() {
            highest.set(2 * client, Scale::new().over(Over::AtLimit, *level));
        }
        for at in (128..MARKS).step_by(61) {
            for limit in [mark(at), mark(at).next_up(), mark(at).next_down()] {
                let within = highest.within(limit);
                for (client, level) in levels.iter().enumerate() {
                    assert!(!(within(2 * client) && *level >= limit), "{level} {limit}");
                    assert!(within(2 * client) || *level >= mark(at - 66), "{level} {limit}");
                    assert!(!within(2 * client + 1), "nothing is known of it");
                }
            }
        }
    }
}

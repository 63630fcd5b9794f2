//! The events of a second of a log in whole seconds, spread over it.
//!
//! A log that is written in whole seconds says of two events of one second that they came at once,
//! and of two in neighbouring seconds that they came a second apart. A limit would see bursts that
//! nobody sent. That they came evenly is the guess that adds nothing: n events of a second are put
//! at its beginning and after each nth part of it, in the order of their lines. So the one of a quiet
//! second stays where it is.

use crate::time::Time;

/// Whether times in whole seconds are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// In a second of which all events are written in whole seconds.
    #[default]
    Coarse,
    /// Every second, whatever its events say.
    Always,
    /// Times stay as they are.
    Never,
}

/// The time of the event at place `i` of `count` in the `length` microseconds that begin with `from`.
#[inline]
pub(super) fn place(from: i64, i: usize, count: usize, length: i64) -> Time {
    // Both are far below what 63 bits hold: a second, and events that fit into memory.
    let part = (i as i64).saturating_mul(length) / (count as i64).max(1);
    Time::from_micros(from.saturating_add(part))
}

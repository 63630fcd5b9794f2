//! Spreads the events of one second over that second, for logs in whole seconds.
//!
//! In such a log, two events of one second seem simultaneous, and two events of neighbouring seconds a second apart. A
//! limiter would see bursts that nobody sent. Even spacing assumes the least: the n events of a second are put at
//! multiples of 1/n of a second, beginning with 0, in the order of their lines. A single event stays in place.

use ratescope::internal::by_name;

/// When the events of a second are spread over it. The text form is `coarse`, `always` or `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// If all events of the second have times in whole seconds.
    #[default]
    Coarse,
    /// In every second, however its events are written.
    Always,
    /// Never: times stay as they are.
    Never,
}

const NAMES: [(Spread, &str); 3] =
    [(Spread::Coarse, "coarse"), (Spread::Always, "always"), (Spread::Never, "never")];

by_name!(Spread, NAMES, "write coarse, always or never");

/// The time of event `i` of `count` in microseconds, if they are spread over the `length` microseconds from
/// `from` on.
#[inline]
pub(super) fn place(from: i64, i: u64, count: u64, length: i64) -> i64 {
    // The product fits into i64: `length` is at most a second, and each line in memory has at most a thousand events.
    let part = i.cast_signed().saturating_mul(length) / count.cast_signed().max(1);
    from.saturating_add(part)
}

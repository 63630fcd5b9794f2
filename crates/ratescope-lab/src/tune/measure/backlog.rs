//! The backlog of a bucket in 64 bits, which is much faster than asking the limiter: sixteen rates are
//! tried for every event.
//!
//! As in the source file `limit/bucket.rs`, the rate n/p is in lowest terms: a microsecond drains n parts and a
//! millionth of an event fills p. All events of a client are at hand and in order, so the largest number is known
//! beforehand. If it does not fit, the limiter is asked.

use super::level::Events;
use core::ops::Range;
use ratescope::internal::lowest_terms;
use ratescope::rate::Rate;

/// A bucket without a size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    drains: u64,
    fills: u64,
}

impl Backlog {
    /// Computed once for many clients, since it takes longer than most of them.
    pub(super) fn new(rate: Rate) -> Option<Self> {
        lowest_terms(rate).ok().map(|[drains, fills]| Backlog { drains, fills })
    }

    /// A client is idle if every event finds the bucket empty and all cost the same: then each is a level of its own.
    /// Most clients are idle at most rates.
    #[inline]
    pub(super) fn is_idle(&self, events: &Events) -> bool {
        let Some(amount) = events.each else { return false };
        let drained = u128::from(events.shortest_gap) * u128::from(self.drains);
        drained >= u128::from(amount) * u128::from(self.fills)
    }

    /// Makes sure that nothing of these events overflows 64 bits.
    pub(super) fn fits(&self, events: &Events) -> bool {
        let first = events.moments.first();
        let last = events.moments.last();
        let span = first.zip(last).map(|(a, b)| b.time.as_micros().abs_diff(a.time.as_micros()));
        let fits = |n: u128| u64::try_from(n).is_ok();
        fits(events.total.saturating_mul(self.fills.into()))
            && fits(u128::from(span.unwrap_or(0)) * u128::from(self.drains))
    }

    /// The highest levels before the event at `split` and from it on, with the index of the event.
    pub(super) fn peaks(&self, events: &Events, split: usize) -> [Option<(f64, usize)>; 2] {
        let split = split.min(events.moments.len());
        let mut last = events.moments.first().map_or(0, |first| first.time.as_micros());
        let mut parts = 0u64;
        let mut highest = |places: Range<usize>| {
            let moments = events.moments.get(places.clone()).unwrap_or_default();
            let amounts = events.amounts.get(places.clone()).unwrap_or_default();
            let mut highest: Option<(u64, usize)> = None;
            for (place, (moment, amount)) in places.zip(moments.iter().zip(amounts)) {
                let micros = moment.time.as_micros();
                let drained = micros.wrapping_sub(last).cast_unsigned().wrapping_mul(self.drains);
                parts = parts.saturating_sub(drained) + amount * self.fills;
                last = micros;
                if highest.is_none_or(|(highest, _)| parts > highest) {
                    highest = Some((parts, place));
                }
            }
            // Rounded up to whole millionths, which does not change which limits it is over.
            highest.map(|(parts, place)| (parts.div_ceil(self.fills) as f64 / 1e6, place))
        };
        [highest(0..split), highest(split..events.moments.len())]
    }
}

//! A locked key, and the memory of its shard.

use super::sync::MutexGuard;
use super::table::{Slot, Table};
use crate::extremes::{rounded_down, smaller};
use crate::limit::{Limiter, MAX_COST, is_cost};
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::ops::DerefMut;

/// Threads hand in their events out of order. A sweep keeps everything that an event this late still counts.
const LATE: Span = Span::from_secs(10);

/// The memory of a shard. Its first cache line, with the lock, is all that most events need.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Memory<S> {
    /// The latest time of an event. An earlier event is out of order, or the clock was set back.
    pub(super) latest: Time,
    pub(super) table: Table<S>,
}

impl<S: Clone> Memory<S> {
    #[inline(always)]
    pub(super) fn find(&self, hash: u64) -> Option<Slot> {
        self.table.find(hash)
    }

    pub(super) fn state(&self, slot: Slot) -> &S {
        &self.table.at(slot).state
    }

    /// Frees the part of the next entry that no event counts any more, even one that is late by [`LATE`]. The earlier
    /// of two times counts, this event's and the latest before, so that one event with a clock ahead costs other keys
    /// nothing.
    #[inline(never)]
    fn sweep<L: Limiter<State = S>>(&mut self, limiter: &L, before: Time, now: Time) {
        if let Some(entry) = self.table.sweep() {
            limiter.forget(&mut entry.state, now.min(before).before(LATE));
        }
    }

    /// Inserts a new key.
    #[inline(never)]
    fn put<L: Limiter<State = S>>(&mut self, limiter: &L, hash: u64, state: S, now: Time) -> Slot {
        let latest = self.latest;
        let mut is_refused =
            |state: &mut S, cost: f32| limiter.is_refused(state, now, latest, cost.into());
        self.table.insert(hash, state, &mut is_refused)
    }
}

/// A key of a [`Keyed`](super::Keyed), with the lock of its shard. The limiter that decides is an argument: the events
/// of one key may have numbers of their own.
pub(crate) struct Held<'a, S, M = MutexGuard<'a, Memory<S>>> {
    pub(super) initial: &'a S,
    /// The guard of the shard, or a borrow from it.
    pub(super) memory: M,
    pub(super) hash: u64,
    pub(super) slot: Option<Slot>,
}

impl<S: Clone + PartialEq, M: DerefMut<Target = Memory<S>>> Held<'_, S, M> {
    /// Finds the entry of the key.
    #[inline(always)]
    pub(super) fn find(&mut self) {
        self.slot = self.memory.table.find(self.hash);
    }

    /// The state that is remembered, or that of a new key.
    pub(crate) fn state(&self) -> &S {
        match self.slot {
            Some(slot) => &self.memory.table.at(slot).state,
            None => self.initial,
        }
    }

    #[inline(always)]
    pub(crate) fn check<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
    ) -> Outcome {
        let outcome = self.update(limiter, now, |state| limiter.check(state, now, cost));
        self.remember(limiter, now, cost, outcome.is_allowed(), outcome.is_allowed());
        outcome
    }

    /// Counts an event if it passes within `most`. Otherwise counts nothing, and returns its wait, or when to retry. If
    /// the clock was set back, the key follows it, so that retries do not find the same wait for ever.
    pub(crate) fn pass<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
        most: Span,
    ) -> Result<Outcome, Retry> {
        let wait = limiter.peek(self.state(), now, cost).wait;
        if wait.is_some_and(|wait| wait <= most) {
            return Ok(self.check(limiter, now, cost));
        }
        if self.slot.is_some() && now < self.memory.latest {
            self.update(limiter, now, |state| limiter.record(state, now, 0.0, false));
        }
        Err(wait.map_or_else(|| limiter.retry_after(self.state(), now, cost), Retry::After))
    }

    pub(crate) fn charge<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
    ) -> Result<(), BadNumber> {
        self.update(limiter, now, |state| limiter.charge(state, now, cost))
    }

    /// Takes back an event that was counted at `at`, and returns whether the limiter can.
    pub(crate) fn undo<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        at: Time,
        now: Time,
        cost: f64,
    ) -> bool {
        match self.slot {
            Some(slot) => limiter.undo(&mut self.memory.table.at_mut(slot).state, at, now, cost),
            None => limiter.undo(&mut self.initial.clone(), at, now, cost),
        }
    }

    /// Resets the key, and returns whether it was remembered. Its slot stays taken.
    pub(crate) fn reset(&mut self) -> bool {
        let Some(slot) = self.slot else { return false };
        let entry = self.memory.table.at_mut(slot);
        (entry.state, entry.refused) = (self.initial.clone(), 0.0);
        true
    }

    /// Counts an event as many `times`. `passed` says whether this limiter let it pass, `allowed` whether all did.
    pub(crate) fn record<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
        times: f64,
        (passed, allowed): (bool, bool),
    ) {
        // A cost that is too large or NaN stays so, and is not counted.
        let counted = if is_cost(cost) { smaller(cost * times, MAX_COST) } else { cost };
        self.update(limiter, now, |state| limiter.record(state, now, counted, allowed));
        self.remember(limiter, now, cost, passed, allowed);
    }

    /// Takes over another store's state of the key, after its decision about an event at `now`. `passed` says whether
    /// the limiter let the event pass.
    ///
    /// The fuller of both states stays if that store's answer about a later event came first, or if events were counted
    /// here that the other store does not know. Otherwise a sender that makes the other store fail again and again
    /// would get the whole limit again each time.
    pub(crate) fn adopt<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
        passed: bool,
        state: S,
    ) {
        let level = |state: &S| limiter.peek(state, now, 0.0).level;
        let is_overtaken = now < self.memory.latest;
        let is_set_back = is_overtaken && now.until(self.memory.latest) > LATE;
        let counts_more = |slot| !self.memory.table.at(slot).is_told();
        let is_fuller_kept = !is_set_back && (is_overtaken || self.slot.is_some_and(counts_more));
        if !is_fuller_kept || level(&state) >= level(self.state()) {
            self.update(limiter, now, |own| *own = state);
            if let Some(slot) = self.slot {
                self.memory.table.at_mut(slot).set_told();
            }
        }
        self.remember(limiter, now, cost, passed, passed);
    }

    /// Changes the state and marks the key as used. A new key is remembered only if its state is not the initial one,
    /// so that it does not evict another key for nothing.
    #[inline(always)]
    pub(super) fn update<L: Limiter<State = S>, R>(
        &mut self,
        limiter: &L,
        now: Time,
        change: impl FnOnce(&mut S) -> R,
    ) -> R {
        let memory = &mut *self.memory;
        let before = memory.latest;
        memory.latest = before.max(now);
        if limiter.grows() {
            memory.sweep(limiter, before, now);
        }
        // One call of `change`, so that it is inlined.
        let mut new = None;
        let result = change(match self.slot {
            Some(slot) => &mut memory.table.use_at(slot).state,
            None => new.insert(self.initial.clone()),
        });
        if let Some(state) = new.filter(|state| state != self.initial) {
            self.slot = Some(memory.put(limiter, self.hash, state, now));
        }
        result
    }

    /// Remembers the cost of an event that the limiter refused because of earlier events: the largest if there are
    /// several, until an event that costs as much passes. An event that even a new key would be refused is not
    /// remembered.
    ///
    /// A sender at its limit passes and is refused in turns, which no branch predictor foresees. So
    /// as long as events cost the same, only the sign of `refused` changes, without a branch.
    #[inline(always)]
    fn remember<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        now: Time,
        cost: f64,
        passed: bool,
        allowed: bool,
    ) {
        let Some(slot) = self.slot else { return };
        let entry = self.memory.table.at_mut(slot);
        let known = f64::from(entry.refused.abs());
        let is_on = entry.refused > 0.0;
        if passed | (cost == known) | (is_on & (cost < known)) {
            let is_on = !passed | (is_on & !(allowed & (cost >= known)));
            entry.refused = entry.refused.copysign(if is_on { 1.0 } else { -1.0 });
        } else if limiter.peek(self.initial, now, cost).is_allowed() {
            entry.refused = rounded_down(cost);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::limit::Limiter;
    use crate::limit::any::AnyLimiter;
    use crate::store::Keyed;
    use crate::time::Time;

    /// Answers are taken over in the order in which another store gave them, not in the order of their arrival.
    #[test]
    fn an_answer_that_was_overtaken_frees_nobody() {
        let limiter: AnyLimiter = "fixed-window 9/1h".parse().unwrap();
        let keys = Keyed::new(limiter.clone(), 10);
        let at = |second: i64| Time::from_micros(second * 1_000_000);
        let adopt = |now, count: f64| {
            let mut state = limiter.initial();
            limiter.record(&mut state, now, count, true);
            keys.hold(keys.hash("ann")).adopt(&limiter, now, 1.0, true, state);
            keys.peek("ann", at(100), 0.0).level
        };
        assert_eq!(adopt(at(50), 5.0), 5.0);
        assert_eq!(adopt(at(49), 4.0), 5.0, "it was overtaken");
        assert_eq!(adopt(at(49), 6.0), 6.0, "the fuller one stays");
        assert_eq!(adopt(at(51), 2.0), 2.0, "the store has forgotten or given back");
        assert_eq!(adopt(at(40), 1.0), 1.0, "its clock was set back");
    }

    /// Events that were counted here during an outage go on counting here, until the other store has counted as many.
    #[test]
    fn what_was_counted_here_is_not_lost_by_an_answer() {
        let limiter: AnyLimiter = "fixed-window 9/1h".parse().unwrap();
        let keys = Keyed::new(limiter.clone(), 10);
        let level = || keys.peek("ann", Time::ZERO, 0.0).level;
        let adopt = |count: f64| {
            let mut state = limiter.initial();
            limiter.record(&mut state, Time::ZERO, count, true);
            keys.hold(keys.hash("ann")).adopt(&limiter, Time::ZERO, 1.0, true, state);
            level()
        };
        assert_eq!(adopt(3.0), 3.0);
        for count in 4..=9 {
            keys.hold(keys.hash("ann")).record(&limiter, Time::ZERO, 1.0, 1.0, (true, true));
            assert_eq!(level(), f64::from(count));
            assert_eq!(adopt(4.0), f64::from(count), "the other store knows of less");
        }
        assert_eq!(adopt(10.0), 10.0, "it knows of as much");
        assert_eq!(adopt(2.0), 2.0, "so what it gives back is given back here");
    }
}

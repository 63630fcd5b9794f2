//! A locked key, and the memory of its shard.

use super::sync::MutexGuard;
use super::table::{Slot, Table};
use crate::extremes::{rounded_down, smaller};
use crate::limit::any::AnyLimiter;
use crate::limit::kept::Keeps;
use crate::limit::per_key::{self, PerKey};
use crate::limit::{Limiter, MAX_COST, is_cost};
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::ops::DerefMut;

/// Threads hand in their events out of order. A sweep keeps what an event this late still counts.
const LATE: Span = Span::seconds(10);

/// The memory of a shard. Its first cache line, with the lock, is all that most events need.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Memory<S> {
    /// The latest time of an event. An earlier event is out of order, or the clock was set back.
    pub(super) latest: Time,
    pub(super) table: Table<S>,
}

impl<S: Clone> Memory<S> {
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
        self.table.insert(hash, state, &mut is_refused(limiter, now, self.latest))
    }
}

/// A key of a [`Keyed`](super::Keyed), with the lock of its shard.
pub(crate) struct Held<'a, L: Limiter, M = MutexGuard<'a, Memory<<L as Limiter>::State>>> {
    pub(super) limiter: &'a L,
    pub(super) initial: &'a L::State,
    /// The guard of the shard, or a borrow from it.
    pub(super) memory: M,
    pub(super) hash: u64,
    pub(super) slot: Option<Slot>,
    /// True if this limiter lets the event pass, once it was asked.
    pub(super) passed: bool,
}

impl<L: Limiter, M: DerefMut<Target = Memory<L::State>>> Held<'_, L, M>
where
    L::State: PartialEq,
{
    /// Finds the entry of the key.
    #[inline(always)]
    pub(super) fn find(&mut self) {
        self.slot = self.memory.table.find(self.hash);
        if let Some(slot) = self.slot {
            self.limiter.adapt(&mut self.memory.table.at_mut(slot).state, self.initial);
        }
    }

    /// The state that is remembered, or that of a new key.
    pub(crate) fn state(&self) -> &L::State {
        match self.slot {
            Some(slot) => &self.memory.table.at(slot).state,
            None => self.initial,
        }
    }

    pub(crate) fn peek(&self, now: Time, cost: f64) -> Outcome {
        self.limiter.peek(self.state(), now, cost)
    }

    pub(crate) fn remaining(&self, now: Time) -> f64 {
        self.limiter.remaining(self.state(), now)
    }

    pub(crate) fn reset_after(&self, now: Time) -> Span {
        self.limiter.reset_after(self.state(), now)
    }

    pub(crate) fn retry_after(&self, now: Time, cost: f64) -> Retry {
        self.limiter.retry_after(self.state(), now, cost)
    }

    #[inline(always)]
    pub(crate) fn check(&mut self, now: Time, cost: f64) -> Outcome {
        let outcome = self.update(now, |limiter, state| limiter.check(state, now, cost));
        self.remember(now, cost, outcome.is_allowed(), outcome.is_allowed());
        outcome
    }

    /// Decides and counts in one step, after all other limiters were asked; `others` says whether all of them
    /// let the event pass.
    #[inline(always)]
    pub(super) fn check_last(&mut self, now: Time, cost: f64, others: bool) -> Outcome {
        let decide = |limiter: &L, state: &mut _| limiter.check_last(state, now, cost, others);
        let outcome = self.update(now, decide);
        self.remember(now, cost, outcome.is_allowed(), others && outcome.is_allowed());
        outcome
    }

    pub(crate) fn charge(&mut self, now: Time, cost: f64) -> Result<(), BadNumber> {
        self.update(now, |limiter, state| limiter.charge(state, now, cost))
    }

    /// Follows a clock that was set back, as a refused event does. Counts nothing.
    pub(super) fn follow(&mut self, now: Time) {
        if self.slot.is_some() && now < self.memory.latest {
            self.update(now, |limiter, state| limiter.record(state, now, 0.0, false));
        }
    }

    /// Takes back an event that was counted at `at`, and returns whether the limiter can.
    pub(crate) fn undo(&mut self, at: Time, now: Time, cost: f64) -> bool {
        self.take_back(|limiter, state| limiter.undo(state, at, now, cost))
    }

    /// Takes back a cost that was counted at any time, and returns whether the limiter can.
    pub(crate) fn give_back(&mut self, now: Time, cost: f64) -> bool {
        self.take_back(|limiter, state| limiter.give_back(state, now, cost))
    }

    fn take_back(&mut self, of: impl FnOnce(&L, &mut L::State) -> bool) -> bool {
        match self.slot {
            Some(slot) => of(self.limiter, &mut self.memory.table.at_mut(slot).state),
            None => of(self.limiter, &mut self.initial.clone()),
        }
    }

    /// Resets the key, and returns whether it was remembered. Its slot stays taken.
    pub(crate) fn reset(&mut self) -> bool {
        let Some(slot) = self.slot else { return false };
        let entry = self.memory.table.at_mut(slot);
        (entry.state, entry.refused) = (self.limiter.initial_like(&entry.state), 0.0);
        true
    }

    /// Counts an event. `passed` says whether this limiter let it pass, `allowed` whether all did.
    pub(crate) fn record(&mut self, now: Time, cost: f64, passed: bool, allowed: bool) {
        self.record_times(now, cost, 1.0, passed, allowed);
    }

    /// As [`record`](Self::record), for an event that counts as many `times`.
    pub(crate) fn record_times(
        &mut self,
        now: Time,
        cost: f64,
        times: f64,
        passed: bool,
        allowed: bool,
    ) {
        // A cost that is too large or NaN stays so, and is not counted.
        let counted = if is_cost(cost) { smaller(cost * times, MAX_COST) } else { cost };
        self.update(now, |limiter, state| limiter.record(state, now, counted, allowed));
        self.remember(now, cost, passed, allowed);
    }

    /// Takes over another store's state of the key, after its decision about an event at `now`. `passed` says whether
    /// the limiter let the event pass.
    ///
    /// The fuller of both states stays if that store's answer about a later event came first, or if events were counted
    /// here that the other store does not know. Otherwise a sender that makes the other store fail again and again
    /// would get the limit anew each time.
    pub(crate) fn adopt(&mut self, now: Time, cost: f64, passed: bool, state: L::State) {
        let level = |state: &L::State| self.limiter.peek(state, now, 0.0).level;
        let is_overtaken = now < self.memory.latest;
        let is_set_back = is_overtaken && now.until(self.memory.latest) > LATE;
        let counts_more = |slot| !self.memory.table.at(slot).is_told();
        let is_fuller_kept = !is_set_back && (is_overtaken || self.slot.is_some_and(counts_more));
        if !is_fuller_kept || level(&state) >= level(self.state()) {
            self.update(now, |_, own| *own = state);
            if let Some(slot) = self.slot {
                self.memory.table.at_mut(slot).set_told();
            }
        }
        self.remember(now, cost, passed, passed);
    }

    /// Changes the state and marks the key as used. A new key is remembered only if its state is not the initial one,
    /// so that it does not evict another key for nothing.
    #[inline(always)]
    pub(super) fn update<R>(
        &mut self,
        now: Time,
        change: impl FnOnce(&L, &mut L::State) -> R,
    ) -> R {
        let limiter = self.limiter;
        let memory = &mut *self.memory;
        let before = memory.latest;
        memory.latest = before.max(now);
        if limiter.grows() {
            memory.sweep(limiter, before, now);
        }
        if let Some(slot) = self.slot {
            return change(limiter, &mut memory.table.use_at(slot).state);
        }
        let mut state = self.initial.clone();
        let result = change(limiter, &mut state);
        if state != *self.initial {
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
    fn remember(&mut self, now: Time, cost: f64, passed: bool, allowed: bool) {
        let Some(slot) = self.slot else { return };
        let entry = self.memory.table.at_mut(slot);
        let known = f64::from(entry.refused.abs());
        let is_on = entry.refused > 0.0;
        if passed | (cost == known) | (is_on & (cost < known)) {
            let is_on = !passed | (is_on & !(allowed & (cost >= known)));
            entry.refused = entry.refused.copysign(if is_on { 1.0 } else { -1.0 });
        } else if self
            .limiter
            .peek(&self.limiter.initial_like(&entry.state), now, cost)
            .is_allowed()
        {
            entry.refused = rounded_down(cost);
        }
    }
}

impl<M> Held<'_, AnyLimiter, M> {
    /// The limiter that decides.
    pub(crate) fn limiter(&self) -> &AnyLimiter {
        self.limiter.of(self.initial)
    }
}

impl<L, M> Held<'_, PerKey<L>, M>
where
    L: Keeps<State: PartialEq> + Clone + PartialEq + core::fmt::Debug,
    M: DerefMut<Target = Memory<per_key::State<L>>>,
{
    /// Decides by `limiter`, which the key has from now on.
    #[inline]
    pub(crate) fn check_with(&mut self, limiter: &L, now: Time, cost: f64) -> Outcome {
        let outcome = self.update(now, |all, state| {
            all.adopt(state, limiter);
            all.check(state, now, cost)
        });
        self.remember(now, cost, outcome.is_allowed(), outcome.is_allowed());
        outcome
    }
}

/// Tells if a key is being refused at `now`: if an event of the given cost would be refused.
///
/// A limiter refuses events against a state from the future until the clock has caught up, or until
/// an event of the key moves the state back. A key that sends nothing must not be protected for all
/// that time. So when the clock is further behind than the state takes to reset, a refused event of
/// cost 0 is recorded here, which moves the state to `now`.
fn is_refused<L: Limiter>(
    limiter: &L,
    now: Time,
    latest: Time,
) -> impl FnMut(&mut L::State, f32) -> bool {
    move |state, cost| {
        let is_refused = !limiter.peek(state, now, cost.into()).is_allowed();
        if is_refused && now < latest && now.until(latest) > limiter.reset_after(state, latest) {
            limiter.record(state, now, 0.0, false);
        }
        is_refused
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
            keys.hold(keys.hash("ann")).adopt(now, 1.0, true, state);
            keys.peek("ann", at(100), 0.0).level
        };
        assert_eq!(adopt(at(50), 5.0), 5.0);
        assert_eq!(adopt(at(49), 4.0), 5.0, "it was overtaken");
        assert_eq!(adopt(at(49), 6.0), 6.0, "the fuller one stays");
        assert_eq!(adopt(at(51), 2.0), 2.0, "the store has forgotten or given back");
        assert_eq!(adopt(at(40), 1.0), 1.0, "its clock was set back");
    }

    /// What was counted here during an outage counts on here, until the other store has counted as much.
    #[test]
    fn what_was_counted_here_is_not_lost_by_an_answer() {
        let limiter: AnyLimiter = "fixed-window 9/1h".parse().unwrap();
        let keys = Keyed::new(limiter.clone(), 10);
        let level = || keys.peek("ann", Time::ZERO, 0.0).level;
        let adopt = |count: f64| {
            let mut state = limiter.initial();
            limiter.record(&mut state, Time::ZERO, count, true);
            keys.hold(keys.hash("ann")).adopt(Time::ZERO, 1.0, true, state);
            level()
        };
        assert_eq!(adopt(3.0), 3.0);
        for count in 4..=9 {
            keys.hold(keys.hash("ann")).record(Time::ZERO, 1.0, true, true);
            assert_eq!(level(), f64::from(count));
            assert_eq!(adopt(4.0), f64::from(count), "the other store knows of less");
        }
        assert_eq!(adopt(10.0), 10.0, "it knows of as much");
        assert_eq!(adopt(2.0), 2.0, "so what it gives back is given back here");
    }
}

//! Stores: decide a policy about events, and remember the states of the keys.
//!
//! A [`KeyedPolicy`] decides a [policy](crate::policy) for many keys, and a [`Keyed`] decides one limiter.
//! Threads can share both: every method takes `&self`.
//!
//! ```
//! use ratescope::event::Event;
//! use ratescope::store::KeyedPolicy;
//! use ratescope::Time;
//!
//! let store = KeyedPolicy::new("3/1m per user & 4/1m per ip".parse()?, 100_000);
//! let mail = |user| {
//!     let fields = &[("user", user), ("ip", "192.0.2.7")];
//!     store.check(&Event { time: Time::ZERO, cost: 1.0, fields }).is_allowed()
//! };
//! assert_eq!([mail("ann"), mail("ann"), mail("ann"), mail("ann")], [true, true, true, false]);
//! // Four in all from this address; the refused event was not counted.
//! assert_eq!([mail("bob"), mail("bob")], [true, false]);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! # What is evicted
//! When there is no room for a new key, a key that was not used for long is evicted. No key expires by age, for the
//! reason given in John Berryman's article on EARRRL: with a time to live a limiter forgets past offences. Without one,
//! a sender that goes on offending uses its key, so the key stays; a key that was not used for long has little to
//! forget.
//!
//! There is one exception: a key that is *being refused* is not evicted before a key that is not. Otherwise a refused
//! sender could wait until enough others have passed, or send under enough other names. A key is being refused when one
//! of its events was refused, and, for the most expensive refused event:
//!
//! * the same event, sent now, would be refused again;
//! * it would pass if the key were new: otherwise nobody could send the event, and evicting the key would not let it
//!   pass;
//! * no event that costs as much has passed since. A cheaper event, also one of cost 0, does not end
//!   the protection, whether it passes or not.
//!
//! These conditions are checked only when something must be evicted, at the time of the event
//! that needs the room. So a refusal protects a key exactly as long as the refusal lasts.
//!
//! If the clock was set back meanwhile, the state lies in the future, and the event would be refused until the clock
//! has caught up. If the clock is further back than the state takes to [reset](Limiter::reset_after), which is about a
//! period, the state follows the clock at the first check, as it would with an event of the key: see
//! [limiters](crate::limit#when-time-runs-backwards). If it is less far back, the state stays: threads hand in their
//! events slightly out of order, which must free nobody.
//!
//! A key takes no room while its state is still that of a new key: its only event was refused by another limit, or
//! could never pass. So a sender that is refused by its address cannot evict users by inventing names.
//!
//! The exception has a price: if all keys are being refused, there is no room to remember others.
//! Choose a capacity larger than the number of senders that may be refused at once.
//!
//! # How, and why so
//! Keys lie in *sets* of eight, as in a processor's cache. The hash of a key chooses two sets, and a new key replaces
//! one of their sixteen entries. This entry is nearly the least recently used of all, at a fraction of the cost. An
//! exact order of use needs links that change with each event, in three places of memory, by one thread at a time. A
//! set is one place, in which threads rarely meet. Sets are bounded by construction, and no key is allocated.
//!
//! A key has two sets, since keys do not spread evenly. With as many keys as places, one set for
//! each key would lose 14 % of the keys to sets that are full while others are not; two sets lose
//! 1.6 %. A store has an eighth more room than was asked for, and then loses less than 0.1 %.
//! `./scripts/bench limiters` prints the loss beside the time.
//!
//! The exception also holds if all sixteen entries are being refused: one of them moves to its other set, and replaces
//! an entry that is not being refused. This fails only if all entries of the other sets are being refused, too. If a
//! share f of all keys is being refused, it fails once in f⁻¹⁴⁴ times: never at a half, 1 in 4 million at 90 %, and 1
//! in 1,600 at 95 %.
//!
//! **Keys are not kept.** A 64-bit hash stands for the key: SipHash-1-3 with a secret of the process
//! ([on wasm32](Secret#on-wasm32), of words that the host gives).
//! Senders often choose their keys; without the secret nobody can choose two keys with one hash. The
//! chance that any two of n keys share a hash is n(n-1)/2 pairs times 2⁻⁶⁴, about n²/2⁶⁵: 1 in 37
//! million for a million keys. Two such keys are limited as one. The hash takes a fifth of the time
//! of a decision; if no sender can choose its key, [another hash](Keyed::with_hasher) will do.
//!
//! **Memory** grows with the number of keys, in steps of a quarter. An entry is its hash, 8 bytes for
//! use and refusal, the state, and a byte of tag: 33 bytes with a state of 16. Tables are 68 to 100 %
//! full, so a key takes 33 to 49 bytes. Tables are freed only with the store.
//!
//! Logs and windows take memory of their own for each event or block that they count. Every eighth event frees such
//! memory of one other key of its shard, in turn. So after eight events for each key of a shard, no key there that has
//! been silent for a period takes any. Events of many keys reach all shards; events of one key free nothing in the
//! others. [`Keyed::forget`] frees all of it at once.
//!
//! **Shards.** A store of many keys is cut into up to 32 tables, each behind its own lock. An event
//! takes one lock for each limit. Each limit has its own tables, and all threads lock in the order in which
//! the limits were made, so they cannot deadlock.

pub(crate) mod all_or_none;
mod held;
#[cfg(test)]
mod interleavings;
mod keyed;
mod keyed_limit;
pub mod saved;
mod secret;
mod sync;
mod table;
mod tags;
mod together;

pub(crate) use all_or_none::Few;
pub(crate) use all_or_none::hold_each;
pub(crate) use all_or_none::{check_each, hold_in_any_order};
pub(crate) use held::Held;
pub use keyed::Keyed;
pub(crate) use keyed_limit::KeyedLimit;
pub use saved::SavedError;
pub use secret::Secret;
pub(crate) use together::{Key, Together};

use all_or_none::check;

use crate::event::{Event, Fields};
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{Limit, Policy, PolicyOutcome, fullness, state_names, strictest};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use crate::waiting::Lines;
use std::sync::Arc;

/// A policy, and the states of the keys of each limit.
///
/// A clone is the same store, as a server that clones its state for each request expects. [`fork`](Self::fork) copies
/// the states.
#[derive(Clone, Debug)]
pub struct KeyedPolicy {
    policy: Arc<Policy>,
    /// In the order of the policy.
    limits: Arc<[KeyedLimit]>,
    lines: Arc<Lines>,
}

impl KeyedPolicy {
    /// A store for `policy`, with room for `capacity` keys of each limit or slightly more: see
    /// [`Keyed::capacity`].
    pub fn new(policy: Policy, capacity: usize) -> Self {
        let keyed = |limit: &Limit| KeyedLimit::new(limit, capacity);
        let limits = policy.limits().iter().map(keyed).collect();
        KeyedPolicy { policy: Arc::new(policy), limits, lines: Arc::default() }
    }

    /// A store with a copy of all states. An event that another thread decides meanwhile may be missing in some limits.
    #[must_use]
    pub fn fork(&self) -> Self {
        let limits = self.limits.iter().map(KeyedLimit::fork).collect();
        KeyedPolicy { policy: Arc::clone(&self.policy), limits, lines: Arc::default() }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Those who wait.
    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Decides about an event, and counts it in all limits or in none.
    pub fn check(&self, event: &Event<'_>) -> PolicyOutcome {
        let (now, cost) = (event.time, event.cost);
        match &*self.limits {
            // The only limit decides alone.
            [limit] => PolicyOutcome { outcome: limit.hold(event).check(now, cost), by: 0 },
            // Two or three need no list.
            [a, b] => check(&mut hold_each([a, b], event), now, cost),
            [a, b, c] => check(&mut hold_each([a, b, c], event), now, cost),
            _ => check(&mut self.hold(event), now, cost),
        }
    }

    /// Decides as [`check`](Self::check) does, and says in the same step when a refused event would pass.
    pub fn check_with_retry(&self, event: &Event<'_>) -> (PolicyOutcome, Retry) {
        let mut held = self.hold(event);
        let outcome = check(&mut held, event.time, event.cost);
        let retry = || all_or_none::retry_after(&held, event.time, event.cost);
        (outcome, if outcome.is_allowed() { Retry::NOW } else { retry() })
    }

    /// Counts an event if it passes within `most`. Otherwise counts nothing, and returns its wait, or when to retry.
    pub fn pass(&self, event: &Event<'_>, most: Span) -> Result<PolicyOutcome, Retry> {
        all_or_none::pass(&mut self.hold(event), event.time, event.cost, most)
    }

    /// Answers as [`check`](Self::check) would, and counts nothing.
    pub fn peek(&self, event: &Event<'_>) -> PolicyOutcome {
        let held = self.hold(event);
        strictest(held.iter().map(|held| held.peek(event.time, event.cost)))
    }

    /// Counts an event that passed in all limits, at a cost that is known only afterwards, such as the
    /// bytes that were sent: see [`Limiter::charge`].
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    pub fn charge(&self, event: &Event<'_>) -> Result<(), BadNumber> {
        self.hold(event).iter_mut().try_for_each(|held| held.charge(event.time, event.cost))
    }

    /// How long after its time the event would pass if nothing is counted until then.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        all_or_none::retry_after(&self.hold(event), event.time, event.cost)
    }

    /// How much may still be counted at the event's time: the least of all limits.
    pub fn remaining(&self, event: &Event<'_>) -> f64 {
        let held = self.hold(event);
        let each = held.iter().map(|held| held.remaining(event.time));
        each.fold(f64::INFINITY, crate::extremes::smaller)
    }

    /// How long after its time all of the event's keys are as good as new.
    pub fn reset_after(&self, event: &Event<'_>) -> Span {
        let held = self.hold(event);
        held.iter().map(|held| held.reset_after(event.time)).max().unwrap_or(Span::ZERO)
    }

    /// Undoes, at `now`, an event that was allowed at its time: in each limit whose limiter can, as far as it certainly
    /// still counts. Returns whether all limiters can: see [`Limiter::undo`].
    pub fn undo(&self, event: &Event<'_>, now: Time) -> bool {
        let mut all = true;
        for held in &mut self.hold(event) {
            all &= held.undo(event.time, now, event.cost);
        }
        all
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses. Returns how many of them
    /// were remembered. Choose the limits with care: all clients share the key of a limit `per all`.
    ///
    /// ```
    /// # let store = ratescope::KeyedPolicy::new("gcra 1/1m per user & gcra 9/1s per all".parse()?, 10);
    /// store.reset(&[("user", "ann")], |limit| limit.per.fields() == ["user"]);
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    pub fn reset(&self, fields: &dyn Fields, of: impl Fn(&Limit) -> bool) -> usize {
        let each = self.limits.iter().zip(self.policy.limits()).filter(|(_, limit)| of(limit));
        each.filter(|(keyed, _)| keyed.reset(fields)).count()
    }

    /// The outcome with the highest ratio of level to limit, of all keys at `now`; for a limit without keys, of a new
    /// key. This looks at every key.
    pub fn tightest(&self, now: Time) -> Outcome {
        let mut tightest: Option<Outcome> = None;
        for keyed in self.each() {
            let mut see = |state: &_| {
                let outcome = keyed.limiter().peek(state, now, 0.0);
                if tightest.is_none_or(|so_far| fullness(&so_far, &outcome).is_lt()) {
                    tightest = Some(outcome);
                }
            };
            if keyed.is_empty() {
                see(&keyed.limiter().initial());
            }
            keyed.each(see);
        }
        tightest.unwrap_or(strictest([]).outcome)
    }

    /// Frees the entries that logs and windows no longer count at `now`: see [`Keyed::forget`].
    pub fn forget(&self, now: Time) {
        self.each().for_each(|keyed| keyed.forget(now));
    }

    /// How many keys are remembered, over all limits.
    pub fn len(&self) -> usize {
        self.each().map(Keyed::len).sum()
    }

    /// True if no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most keys that can be remembered for each limit.
    pub fn capacity(&self) -> usize {
        self.each().map(Keyed::capacity).min().unwrap_or(0)
    }

    /// How many keys were evicted for want of room.
    pub fn evicted(&self) -> u64 {
        self.each().map(Keyed::evicted).sum()
    }

    /// All states as bytes, as of `now`: see [saving](saved).
    ///
    /// Other threads can go on meanwhile; an event that they decide may be missing in some limits.
    pub fn save(&self, now: Time) -> Vec<u8> {
        let mut saving = saved::Saving::new();
        for (name, limit) in names(self.policy.limits()).iter().zip(&*self.limits) {
            saving.add(name, &limit.keys, now);
        }
        saving.finish()
    }

    /// A store for `policy` with the states that were [saved](Self::save), for `capacity` keys of each limit. A limit
    /// without saved states starts without any.
    ///
    /// # Errors
    /// When the bytes are anything else, or were cut or changed.
    pub fn restore(policy: Policy, capacity: usize, bytes: &[u8]) -> Result<Self, SavedError> {
        let saved = saved::Saved::read(bytes)?;
        let each = names(policy.limits()).into_iter().zip(policy.limits());
        let limit =
            |(name, limit): (String, &Limit)| KeyedLimit::restore(limit, capacity, &name, &saved);
        let limits = each.map(limit).collect::<Result<_, _>>()?;
        Ok(KeyedPolicy { policy: Arc::new(policy), limits, lines: Arc::default() })
    }

    fn each(&self) -> impl Iterator<Item = &Keyed<AnyLimiter>> {
        self.limits.iter().map(|limit| &limit.keys)
    }

    /// Locks the event's key in each limit.
    fn hold(&self, event: &Event<'_>) -> Few<Held<'_, AnyLimiter>> {
        all_or_none::hold(&self.limits, event)
    }
}

/// The names of limits among the saved states.
pub(crate) fn names(limits: &[Limit]) -> Vec<String> {
    let each = limits.iter().zip(state_names(limits));
    each.map(|(limit, name)| format!("{name} per {}", limit.per)).collect()
}

//! Stores: a policy and events in, verdicts out; and what is remembered of each key.
//!
//! A [`Store`] decides a [policy](crate::policy) for as many keys as it has room for, and a
//! [`Keyed`] one limiter. Both are shared between threads as they are: every method takes `&self`.
//!
//! ```
//! use ratescope::event::Event;
//! use ratescope::store::Store;
//! use ratescope::Time;
//!
//! let store = Store::new("3/1m per user & 4/1m per ip".parse()?, 100_000);
//! let mail = |user| {
//!     let fields = &[("user", user), ("ip", "192.0.2.7")];
//!     store.check(&Event { time: Time::ZERO, cost: 1.0, fields }).is_allowed()
//! };
//! assert_eq!([mail("ann"), mail("ann"), mail("ann"), mail("ann")], [true, true, true, false]);
//! // Four in all from this address; what was refused is counted nowhere.
//! assert_eq!([mail("bob"), mail("bob")], [true, false]);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! # What is forgotten
//! When there is no room for a new key, one that was not used for long goes. No key expires by
//! age: John Berryman's article on EARRRL says why. A time to live makes a limiter forget past
//! offences, whereas one that goes on offending is used, and so stays; and a key that was not used
//! for long has little to be remembered for.
//!
//! With one exception: a key that is *being refused* is not forgotten before one that is not.
//! Otherwise a sender that is held back would only have to wait until enough others have passed, or
//! to send under enough other names. A key is being refused when an event of it was refused, the
//! dearest if there were several, and
//!
//! * the same event, sent now, would be refused again;
//! * it would pass if the key were a new one: what is refused from anybody is no offence of the
//!   key, and to forget the key would not help it;
//! * and none that costs as much has passed since. A smaller one, or one of cost 0, sheds nothing,
//!   whether it passes or not.
//!
//! This is asked when it matters, which is when something must be forgotten, with the time of the
//! event that needs the room. So a refusal protects for exactly as long as it lasts.
//!
//! When the clock was set back meanwhile, the state lies in the future, and would be refused until
//! the clock has caught up. If that is further than the state takes to be as a new one, which is a
//! period or so, it follows the clock at the first such question, as it would with an event of its
//! own: see [limiters](crate::limit#when-time-runs-backwards). By less it waits: threads hand in
//! their events a little out of order, and nobody is to be freed by that.
//!
//! A key that has nothing to be remembered for takes no room at all: one whose only event was
//! refused for another limit and not counted, or could never pass. So a sender that is held back
//! by its address cannot flush the users by making up names.
//!
//! This has a price: keys that are all being refused leave no room in which to remember others. Let
//! the capacity be larger than the number of senders that may be refused at once.
//!
//! # How, and why so
//! Keys lie in *sets* of eight, as in the cache of a processor: a key may be in one of two sets,
//! which its hash chooses, and what is forgotten for it is one of the sixteen entries there. That
//! is nearly the least recently used of all, for a fraction of the price. An exact order of use
//! needs links that are changed with each event, in three places of memory, by one thread at a
//! time; sets are one place, and threads that meet in one are rare. It also keeps the bound by
//! construction, and no key is allocated.
//!
//! Two sets instead of one, since keys do not spread evenly: of as many keys as there is room for,
//! one set each would lose 14 % to sets that happen to be full while others are not; two lose
//! 1.6 %, and with an eighth more room than was asked for, which is what there is, less than
//! 0.1 %. `./scripts/bench limiters` prints the loss beside the time.
//!
//! The exception holds where such keys meet, too. When all sixteen are being refused, one of them
//! moves to its other set, in place of an entry that is not. It fails only when all in these sets
//! are being refused as well: when a share f of all keys is, about once in f⁻¹⁴⁴ times; that is
//! never at a half, 1 in 4 million at 90 %, and 1 in 1,600 at 95 %.
//!
//! **Keys are not kept.** What stands for a key is its hash of 64 bits, by SipHash-1-3 with a secret
//! of the process: keys are often the senders' own choice, and without the secret nobody can
//! choose two that meet. Two of n keys share a state with a chance of n(n-1)/2 pairs times 2⁻⁶⁴,
//! about n²/2⁶⁵: 1 in 37 million for a million keys. Then the two are limited as one. This hash is
//! a fifth of what a decision costs; where no sender can choose its key,
//! [another](Keyed::with_hasher) will do.
//!
//! **Memory** follows the number of keys, in steps of a quarter. An entry is its hash, 8 bytes for
//! use and refusal, the state, and a byte of tag: 33 bytes with a state of 16. Tables are between
//! 68 and 100 % full, so a key takes 33 to 49 bytes. It is given back when the store is.
//!
//! **Shards.** A store of many keys is cut into up to 32 tables, each behind a lock of its own. An
//! event takes one lock for each limit, always in the order of the limits. Each limit has tables
//! of its own, so that is one order for all threads, and no two can wait for each other.

#[cfg(feature = "rules")]
mod carried;
#[cfg(test)]
mod interleavings;
mod keyed;
mod secret;
mod sync;
mod table;
mod tags;
#[cfg(feature = "rules")]
pub(crate) mod together;

pub(crate) use keyed::Held;
pub use keyed::Keyed;
pub use secret::Secret;

use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{LIMITS, Limit, Per, Policy, Verdict, retry_after, stricter, strictest};
use crate::time::Time;
use core::hash::{Hash, Hasher};

/// A policy, and the states of the keys of each of its limits.
#[derive(Clone, Debug)]
pub struct Store {
    policy: Policy,
    /// The states of each limit, in the order of the limits.
    limits: Vec<Keyed<AnyLimiter>>,
}

impl Store {
    /// `policy` for `capacity` keys of each of its limits, or somewhat more: see
    /// [`Keyed::capacity`].
    pub fn new(policy: Policy, capacity: usize) -> Self {
        let keyed = |limit: &Limit| Keyed::new(limit.limiter.clone(), capacity);
        let limits = policy.limits().iter().map(keyed).collect();
        Store { policy, limits }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Decides about an event, and counts it in all limits or in none.
    pub fn check(&self, event: &Event<'_>) -> Verdict {
        let (now, cost) = (event.time, event.cost);
        if let ([limit], [keyed]) = (self.policy.limits(), self.limits.as_slice()) {
            // Nobody else to ask.
            return Verdict { outcome: keyed.check(&Key(&limit.per, event), now, cost), by: 0 };
        }
        self.together(event, &self.hashes(event), None, 0)
    }

    /// Asks the limits from the one numbered `from` on, given what those before it make of the
    /// event, and records in each what comes of it. The key of a limit is held until all have
    /// answered.
    fn together(
        &self,
        event: &Event<'_>,
        hashes: &[u64; LIMITS],
        before: Option<Verdict>,
        from: usize,
    ) -> Verdict {
        let (Some(keyed), Some(hash)) = (self.limits.get(from), hashes.get(from)) else {
            return before.unwrap_or(strictest([]));
        };
        let mut held = keyed.hold(*hash);
        let outcome = held.peek(event.time, event.cost);
        let own = Verdict { outcome, by: from };
        let so_far = before.map_or(own, |before| stricter(before, own));
        let verdict = self.together(event, hashes, Some(so_far), from + 1);
        held.record(event.time, event.cost, own.is_allowed(), verdict.is_allowed());
        verdict
    }

    /// What [`check`](Self::check) would answer; nothing is counted.
    pub fn peek(&self, event: &Event<'_>) -> Verdict {
        let held = self.hold(event);
        strictest(held.iter().map(|held| held.peek(event.time, event.cost)))
    }

    /// Counts an event that passed in all limits, whatever it cost: what is known only afterwards,
    /// such as the bytes that were sent.
    pub fn charge(&self, event: &Event<'_>) {
        for held in &mut self.hold(event) {
            held.charge(event.time, event.cost);
        }
    }

    /// How long after its time the event passes if nothing is counted before.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        let held = self.hold(event);
        let each = held.iter().map(|held| (held.limiter(), held.state()));
        retry_after(each, event.time, event.cost)
    }

    /// The tightest level of all keys at `now`; of a limit that has none yet, that of a new key.
    /// It looks at every key.
    pub fn tightest(&self, now: Time) -> Outcome {
        let mut tightest: Option<Outcome> = None;
        for keyed in &self.limits {
            let mut see = |state: &_| {
                let outcome = keyed.limiter().peek(state, now, 0.0);
                tightest =
                    Some(tightest.map_or(outcome, |so_far| strictest([so_far, outcome]).outcome));
            };
            if keyed.is_empty() {
                see(&keyed.limiter().initial());
            }
            keyed.each(see);
        }
        tightest.unwrap_or(strictest([]).outcome)
    }

    /// Frees the memory of what logs and windows no longer count at `now`; decisions stay the same.
    /// It looks at every key.
    pub fn forget(&self, now: Time) {
        for keyed in &self.limits {
            keyed.each_mut(|state| keyed.limiter().forget(state, now));
        }
    }

    /// How many keys are remembered, of all limits.
    pub fn len(&self) -> usize {
        self.limits.iter().map(Keyed::len).sum()
    }

    /// Whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most keys that are remembered of each limit.
    pub fn capacity(&self) -> usize {
        self.limits.iter().map(Keyed::capacity).min().unwrap_or(0)
    }

    /// How many keys were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.limits.iter().map(Keyed::forgotten).sum()
    }

    /// The hash of the key that an event has for each limit. They are found before the first lock
    /// is taken.
    fn hashes(&self, event: &Event<'_>) -> [u64; LIMITS] {
        let mut hashes = [0; LIMITS];
        let each = self.policy.limits().iter().zip(&self.limits).zip(&mut hashes);
        each.for_each(|((limit, keyed), hash)| *hash = keyed.hash(&Key(&limit.per, event)));
        hashes
    }

    /// Holds the key of each limit.
    fn hold(&self, event: &Event<'_>) -> Vec<Held<'_, AnyLimiter>> {
        let hashes = self.hashes(event);
        self.limits.iter().zip(hashes).map(|(keyed, hash)| keyed.hold(hash)).collect()
    }
}

/// The key of an event for a limit, as it is hashed: the values of its fields, each with an end
/// that no text contains, so that other values give a hasher something else. The names are those
/// of the limit, which has tables of its own.
pub(crate) struct Key<'a>(&'a Per, &'a Event<'a>);

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.fields().iter().for_each(|name| self.1.field(name).hash(hasher));
    }
}

/// What threads share.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Store>();
    shared::<Keyed<AnyLimiter>>();
};

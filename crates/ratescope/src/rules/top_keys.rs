//! The keys that are refused most, and the busiest ones.

use super::decision::LimitOutcome;
use super::sketch::Sketch;
use super::stored_key::StoredKey;
use super::{Decision, Observer};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::policy::tightness;
use crate::store::Secret;
use crate::time::Time;
use core::cmp::Reverse;
use core::fmt;
use core::hash::{BuildHasher, Hash, Hasher};
use smallvec::SmallVec;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So threads that count different keys rarely contend.
const SHARDS: usize = 16;

/// Counts the most refused, the busiest and the fullest keys of a store.
///
/// ```
/// use ratescope::rules::{Details, MemoryStore, Observed, Part, Store, TopKeys};
/// use ratescope::{Event, Policy, Time};
/// use std::sync::Arc;
///
/// let policy: Policy = "gcra 2/1m burst 2 per user".parse()?;
/// let top = Arc::new(TopKeys::new(100));
/// // It can be given to a layer, and be on Redis as well.
/// let store = Observed::new(MemoryStore::new(policy, 100_000)).with(top.clone());
/// for user in ["ann", "bob", "ann", "eve", "ann", "ann"] {
///     let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", user)] };
///     let _ = store.decide_now(&[Part::count(&event)], Details::default());
/// }
///
/// let [ann] = &top.most_refused(10)[..] else { panic!("only ann was refused") };
/// assert_eq!((ann.key.subject.as_str(), ann.events), ("user=ann", 2));
///
/// // The store knows how much ann has left by now.
/// let fields: Vec<_> = ann.key.fields().collect();
/// let later = Event { time: Time::try_from_secs_f64(30.0)?, cost: 1.0, fields: &fields };
/// assert_eq!(store.store().peek(&later).quota().ok_or("no limit")?.remaining, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It counts since it was made or [cleared](Self::clear), in a fixed number of places, by the algorithm Space-Saving: a
/// key with more than a `capacity`-th of all events has a place, and its count is exact or too high by at most
/// [`error`](TopKey::error). A key that came once and took the place of another is not listed. Shadows refuse nobody,
/// and are left out.
pub struct TopKeys {
    secret: Secret,
    shards: Vec<Mutex<Shard>>,
    capacity: usize,
}

struct Shard {
    busiest: Sketch<Option<Latest>>,
    refused: Sketch<Option<Latest>>,
}

/// The latest event of a key.
#[derive(Clone)]
struct Latest {
    key: StoredKey,
    outcome: Outcome,
    time: Time,
}

/// A key of a store, and how often it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TopKey {
    /// The key, and the rule that counts by it.
    pub key: StoredKey,
    /// How many events it had, or how many of its events were refused.
    pub events: u64,
    /// How many of these may have been events of other keys.
    pub error: u64,
    /// The outcome of its latest event, by the limit of the rule that decided.
    pub outcome: Outcome,
    /// When that event happened.
    pub time: Time,
}

impl TopKeys {
    /// Each of sixteen shards has `capacity` places for refused keys, and as many for busy ones.
    pub fn new(capacity: usize) -> Self {
        let shard = || Shard { busiest: Sketch::new(capacity), refused: Sketch::new(capacity) };
        let shards = (0..SHARDS).map(|_| Mutex::new(shard())).collect();
        TopKeys { secret: Secret::new(), shards, capacity }
    }

    /// The keys with the most refused events, the most refused first.
    pub fn most_refused(&self, most: usize) -> Vec<TopKey> {
        self.top(most, |shard| &shard.refused)
    }

    /// The keys with most events.
    pub fn busiest(&self, most: usize) -> Vec<TopKey> {
        self.top(most, |shard| &shard.busiest)
    }

    /// The fullest of the busiest keys, by the ratio of level to limit at their latest event.
    pub fn fullest(&self, most: usize) -> Vec<TopKey> {
        let mut all = self.busiest(usize::MAX);
        all.sort_by(|a, b| tightness(&b.outcome, &a.outcome));
        all.truncate(most);
        all
    }

    /// Starts to count over.
    pub fn clear(&self) {
        for mut shard in self.shards() {
            (shard.busiest, shard.refused) =
                (Sketch::new(self.capacity), Sketch::new(self.capacity));
        }
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn top(&self, most: usize, of: impl Fn(&Shard) -> &Sketch<Option<Latest>>) -> Vec<TopKey> {
        let mut all = Vec::new();
        for shard in self.shards() {
            all.extend(of(&shard).top(most).into_iter().filter_map(|weighed| {
                let Latest { key, outcome, time } = weighed.what.clone()?;
                Some(TopKey { key, events: weighed.count, error: weighed.error, outcome, time })
            }));
        }
        all.sort_by(|a, b| {
            let order = |one: &TopKey| (Reverse(one.events), one.error);
            order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
        });
        all.truncate(most);
        all
    }

    fn hash(&self, one: &LimitOutcome<'_>, event: &Event<'_>) -> u64 {
        let mut hasher = self.secret.build_hasher();
        one.rule.name().hash(&mut hasher);
        for field in one.limit.per.fields() {
            (field, event.field(field)).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Observer for TopKeys {
    fn decided(&self, event: &Event<'_>, decision: &Decision) {
        // Limits of a rule for the same fields have one key.
        let mut keys = SmallVec::<[LimitOutcome<'_>; 4]>::new();
        for one in decision.outcomes().filter(|one| !one.rule.is_shadow()) {
            let is_same = |known: &&mut LimitOutcome<'_>| {
                core::ptr::eq(known.rule, one.rule) && known.limit.per == one.limit.per
            };
            match keys.iter_mut().find(is_same) {
                Some(known) if tightness(&known.outcome, &one.outcome).is_ge() => {}
                Some(known) => *known = one,
                None => keys.push(one),
            }
        }
        for one in &keys {
            let hash = self.hash(one, event);
            let Some(shard) = self.shards.get((hash >> 32) as usize % SHARDS) else { continue };
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let Shard { busiest, refused } = &mut *shard;
            note(busiest, hash, one, event);
            if !one.outcome.is_allowed() {
                note(refused, hash, one, event);
            }
        }
    }
}

/// Counts an event of a key. Most keys that come once are never listed, so the text of a key is made at its second
/// event, or at the first if there was a free place.
fn note(sketch: &mut Sketch<Option<Latest>>, hash: u64, one: &LimitOutcome<'_>, event: &Event<'_>) {
    let Some(placed) = sketch.add(hash, 1) else { return };
    let outcome = one.outcome;
    let time = event.time;
    match placed.what {
        Some(latest) => (latest.outcome, latest.time) = (outcome, time),
        None if placed.is_new && placed.error > 0 => {}
        what => {
            let rule = Some(one.rule.name().to_owned());
            let key = StoredKey { subject: StoredKey::subject_of(&one.limit.per, event), rule };
            *what = Some(Latest { key, outcome, time });
        }
    }
}

impl fmt::Debug for TopKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopKeys").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

//! The probe counts decisions and admits viewers.

use super::memory::{Happened, LONGEST_KEY, MOST_RULES, ProbeMemory};
use super::past::{is_counted, second};
use super::viewer::{Viewer, Wanted};
use core::fmt::Write;
use core::hash::{BuildHasher, Hash, Hasher};
use ratescope::event::Event;
use ratescope::internal::{Placed, shown};
use ratescope::policy::{Limit, Per};
use ratescope::rules::{Decision, Rules};
use ratescope::share::Share;
use ratescope::store::Secret;
use ratescope::text::BadNumber;
use ratescope::time::Time;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In a sketch, one in this many places always has the text of its key: see [`show`].
const FEW: usize = 16;

/// Counts the decisions of a service's rules for viewers.
#[derive(Debug)]
pub struct Probe {
    /// The secret with which keys are hashed, so that nobody can choose keys that collide in a sketch.
    secret: Secret,
    hides_keys: bool,
    /// True if there are viewers, or were within the last minute.
    has_viewers: AtomicBool,
    /// The current second, since 1970; `i64::MIN` before the first.
    second: AtomicI64,
    /// For a replay, the bits of its speed as a multiple of the original, or 0 after the last event.
    speed: Option<AtomicU64>,
    kept: Mutex<ProbeMemory>,
}

impl Default for Probe {
    fn default() -> Self {
        Probe {
            secret: Secret::default(),
            hides_keys: false,
            has_viewers: AtomicBool::default(),
            second: AtomicI64::new(i64::MIN),
            speed: None,
            kept: Mutex::default(),
        }
    }
}

/// The sums of a rule since the start: the hits that it allowed, that it refused, and that it refused as a shadow.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) limits: String,
    pub(super) is_shadow: bool,
    sums: Arc<[AtomicU64; 3]>,
}

impl Series {
    pub(super) fn sums(&self) -> [u64; 3] {
        [0, 1, 2].map(|i: usize| self.sums.get(i).map_or(0, |sum| sum.load(Ordering::Relaxed)))
    }

    fn add(&self, which: usize, hits: u64) {
        if let Some(sum) = self.sums.get(which) {
            sum.fetch_add(hits, Ordering::Relaxed);
        }
    }
}

/// A key as viewers see it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) kind: Arc<Kind>,
}

/// A kind of key by which a rule counts, such as `per user`.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) rule: Arc<Series>,
    per: Per,
    /// The limiters of the rule that count by such a key.
    pub(super) limiters: String,
    /// The hash of the rule's name and of the fields.
    hash: u64,
}

/// Counts the decisions of one set of rules.
#[derive(Debug)]
pub struct Taps {
    probe: Arc<Probe>,
    /// A counter for each rule; `None` for rules beyond the first [`MOST_RULES`](super::MOST_RULES).
    rules: Vec<Option<Tap>>,
}

/// The counter of a rule.
#[derive(Debug)]
struct Tap {
    series: Arc<Series>,
    kinds: Vec<Arc<Kind>>,
}

impl Tap {
    fn new(series: Arc<Series>, limits: &[Limit], secret: Secret) -> Self {
        let is_first = |(i, limit): &(usize, &Limit)| {
            limits.iter().take(*i).all(|before| before.per != limit.per)
        };
        let kind = |(_, Limit { per, .. }): (usize, &Limit)| {
            let same = limits.iter().filter(|limit| limit.per == *per);
            let limiters: Vec<_> = same.map(|limit| limit.limiter.to_string()).collect();
            Arc::new(Kind {
                rule: Arc::clone(&series),
                per: per.clone(),
                limiters: limiters.join(" & "),
                hash: secret.hash_one((&series.name, per.fields())),
            })
        };
        let kinds = limits.iter().enumerate().filter(is_first).map(kind).collect();
        Tap { series, kinds }
    }
}

impl Probe {
    /// Shows viewers hashes in place of keys.
    #[must_use]
    pub fn hiding_keys(self) -> Self {
        Probe { hides_keys: true, ..self }
    }

    /// A probe of replayed events, which come `speed` times as fast as the original. Viewers are told the speed. The
    /// data for viewers are kept as long as the probe, since a minute of the replay may last only a moment.
    ///
    /// # Errors
    /// If `speed` is not positive and finite.
    pub fn replaying(self, speed: f64) -> Result<Self, BadNumber> {
        if !(speed > 0.0 && speed.is_finite()) {
            let want = "positive and finite";
            return Err(BadNumber { what: "the speed of a replay", given: speed, want });
        }
        self.kept().keeps = f64::INFINITY;
        Ok(Probe { speed: Some(AtomicU64::new(speed.to_bits())), ..self })
    }

    /// Tells viewers that the last event of the replay was counted. Does nothing without a replay.
    pub fn end_replay(&self) {
        if let Some(speed) = &self.speed {
            speed.store(0.0_f64.to_bits(), Ordering::Release);
        }
    }

    /// True if there are viewers, or were within the last minute.
    #[must_use]
    pub fn has_viewers(&self) -> bool {
        self.has_viewers.load(Ordering::Relaxed)
    }

    /// The speed of a replay as a multiple of the original, or 0 after the last event. `None` without a replay.
    pub(super) fn speed(&self) -> Option<f64> {
        self.speed.as_ref().map(|speed| f64::from_bits(speed.load(Ordering::Acquire)))
    }

    /// The counters for decisions of these rules. A rule whose name is known already, as after a reload, keeps its
    /// sums.
    pub fn taps(self: &Arc<Self>, rules: &Rules) -> Taps {
        let mut kept = self.kept();
        let mut tap = |name: &str, limits: String, is_shadow: bool| {
            let place = kept.rules.iter().position(|series| series.name == name);
            let known = place.and_then(|place| kept.rules.get(place));
            let is_same =
                |series: &&Arc<Series>| series.limits == limits && series.is_shadow == is_shadow;
            if let Some(series) = known.filter(is_same) {
                return Some(Arc::clone(series));
            }
            // A rule keeps its sums even if its limits changed.
            let sums = known.map_or_else(Arc::default, |series| Arc::clone(&series.sums));
            let series = Arc::new(Series { name: name.to_owned(), limits, is_shadow, sums });
            match place {
                Some(place) => kept.rules[place] = Arc::clone(&series),
                None if kept.rules.len() == MOST_RULES => return None,
                None => kept.rules.push(Arc::clone(&series)),
            }
            Some(series)
        };
        let rules = rules.rules().iter().map(|rule| {
            let limits: Vec<_> = rule.limits().iter().map(ToString::to_string).collect();
            let mut limits = limits.join(" & ");
            if let Some(share) = rule.share().filter(|share| *share != Share::Exact) {
                // Writing to a String does not fail.
                let _ = write!(limits, ", {share}");
            }
            let series = tap(rule.name(), limits, rule.is_shadow())?;
            Some(Tap::new(series, rule.limits(), self.secret))
        });
        let rules = rules.collect();
        drop(kept);
        Taps { probe: Arc::clone(self), rules }
    }

    /// Adds a viewer; `None` if there are [`VIEWERS`](super::VIEWERS) already. A viewer that took no news for a minute
    /// loses its place to the new one, except in a replay.
    pub fn look(self: &Arc<Self>, wanted: &Wanted, now: Time) -> Option<Viewer> {
        self.reach(now);
        let mut kept = self.kept();
        let number = kept.enter(wanted.watch, now)?;
        self.has_viewers.store(true, Ordering::Relaxed);
        drop(kept);
        Some(Viewer::new(Arc::clone(self), number, wanted))
    }

    /// Drops the data for viewers after a minute without viewers. Every decision also does this, so call it only if
    /// there may be no decisions for long. The first call, or the first decision, begins the past.
    pub fn forget(&self, now: Time) {
        self.reach(now);
        if !self.has_viewers() {
            return;
        }
        let mut kept = self.kept();
        // Stored under the lock, so that a viewer who enters right after sets it again.
        if kept.forget(now) {
            self.has_viewers.store(false, Ordering::Relaxed);
        }
    }

    /// Ends the current second if an event at `now` is in another, before the event is counted.
    pub(super) fn turn(&self, now: Time) {
        if is_counted(self.second.load(Ordering::Relaxed), now) {
            return;
        }
        let mut kept = self.kept();
        // Another thread may have begun the second meanwhile.
        if !is_counted(self.second.load(Ordering::Relaxed), now) {
            let ProbeMemory { past, rules, .. } = &mut *kept;
            past.turn(now, rules);
            self.second.store(second(now), Ordering::Relaxed);
        }
    }

    /// Ends the current second if `now` is later. Only decisions set the past back, not a viewer that gets the lock a
    /// little late.
    pub(super) fn reach(&self, now: Time) {
        if second(now) > self.second.load(Ordering::Relaxed) {
            self.turn(now);
        }
    }

    /// A number that identifies this probe.
    pub(super) fn id(&self) -> u64 {
        self.secret.hash_one("probe")
    }

    /// Locks the data, even if the lock is poisoned.
    pub(super) fn kept(&self) -> MutexGuard<'_, ProbeMemory> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of an event's key of this kind.
    fn hash(&self, kind: &Kind, event: &Event<'_>) -> u64 {
        let mut hasher = self.secret.build_hasher();
        kind.hash.hash(&mut hasher);
        kind.per.fields().iter().for_each(|field| event.field(field).hash(&mut hasher));
        hasher.finish()
    }

    /// The text of a key for viewers: its hash if keys are hidden, else at most [`LONGEST_KEY`] characters.
    fn text(&self, hash: u64, per: &Per, event: &Event<'_>) -> String {
        if self.hides_keys {
            format!("#{:08x}", hash >> 32)
        } else {
            shown(&per.key(event), LONGEST_KEY)
        }
    }
}

impl Taps {
    /// Counts a decision about an event.
    pub fn count(&self, decision: &Decision, event: &Event<'_>) {
        self.probe.turn(event.time);
        for answers in decision.by_rule() {
            let Some((rule, series)) = answers.first().and_then(|answer| {
                let tap = self.rules.get(answer.rule)?.as_ref()?;
                Some((decision.rules().rules().get(answer.rule)?, &tap.series))
            }) else {
                continue;
            };
            let is_refused = answers.iter().any(|answer| !answer.outcome.is_allowed());
            let which = usize::from(is_refused) + usize::from(is_refused && rule.is_shadow());
            series.add(which, rule.hits(event.cost));
        }
        // Who was refused is asked after an incident, when nobody looked.
        let is_refused = || decision.outcomes().any(|one| !one.outcome.is_allowed());
        if self.probe.has_viewers() || is_refused() {
            self.count_keys(decision, event);
        }
    }

    /// Counts the keys of an event: each key once for each rule, however many limits count by it. Without viewers, only
    /// refused keys are counted.
    #[cold]
    fn count_keys(&self, decision: &Decision, event: &Event<'_>) {
        // The keys are hashed before the lock is taken, so that threads contend less.
        let mut keys = SmallVec::<[Counted<'_>; 4]>::new();
        for one in decision.outcomes() {
            let rule =
                decision.rules().plan().get(one.at).map_or(usize::MAX, |planned| planned.rule);
            let Some(Some(tap)) = self.rules.get(rule) else { continue };
            let of_limit = |kind: &&Arc<Kind>| kind.per == one.limit.per;
            let Some(kind) = tap.kinds.iter().find(of_limit) else { continue };
            let refused = !one.outcome.is_allowed();
            if let Some(known) = keys.iter_mut().find(|key| Arc::ptr_eq(key.kind, kind)) {
                known.refused |= refused;
                continue;
            }
            let hits = one.rule.hits(event.cost);
            let cost = one.rule.cost().unwrap_or(event.cost);
            let hash = self.probe.hash(kind, event);
            keys.push(Counted { kind, hash, hits, cost, refused });
        }
        let mut kept = self.probe.kept();
        let kept = &mut *kept;
        let is_watched = self.probe.has_viewers() && !kept.forget(event.time);
        if !is_watched {
            self.probe.has_viewers.store(false, Ordering::Relaxed);
        }
        for &Counted { kind, hash, hits, cost, refused } in &keys {
            let key = || {
                let text = self.probe.text(hash, &kind.per, event);
                Arc::new(Key { text, kind: Arc::clone(kind) })
            };
            if refused {
                show(kept.refused.add(hash, hits), hits, key);
            }
            if !is_watched {
                continue;
            }
            show(kept.busiest.add(hash, hits), hits, key);
            // Events are kept even while the viewer is disconnected, so that it misses nothing.
            let Some(watch) = kept.watched.get_mut(&hash) else { continue };
            watch.key.get_or_insert_with(key);
            if refused || decision.is_allowed() {
                watch.push(Happened { at: event.time, cost, refused });
            } else {
                watch.elsewhere += 1;
            }
        }
    }
}

/// A key of an event, with the numbers to count.
#[derive(Clone, Copy)]
struct Counted<'a> {
    kind: &'a Arc<Kind>,
    hash: u64,
    hits: u64,
    cost: f64,
    /// True if a limit that counts by this key refused the event.
    refused: bool,
}

/// Sets the text of a key in a sketch, if the key may be shown; most keys that come once are never shown. A key in a
/// free place gets its text at once. A key that displaced another gets its text if it has more than one hit, comes
/// again, or is in one of every [`FEW`] places.
fn show(placed: Option<Placed<'_, Option<Arc<Key>>>>, hits: u64, key: impl Fn() -> Arc<Key>) {
    let Some(Placed { place, what, is_new, error }) = placed else { return };
    if what.is_none() && (!is_new || error == 0 || hits > 1 || place % FEW == 0) {
        *what = Some(key());
    }
}

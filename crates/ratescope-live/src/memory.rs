//! The memory of the probe: sums and a past, which are always kept, and data for viewers.

use super::past::Past;
use super::probe::{Key, Series};
use core::mem::{replace, take};
use ratescope::internal::Sketch;
use ratescope::time::Time;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The most rules, by name, that a probe ever counts. A rule that a reload removes keeps its place, since its name may
/// come back.
pub const MOST_RULES: usize = 1024;

/// The number of keys in each sketch.
pub const KEYS: usize = 256;

/// The most characters of a key that are shown.
pub const LONGEST_KEY: usize = 200;

/// The most keys whose events are remembered.
pub const WATCHED: usize = 16;

/// The most events of a key that are remembered.
pub const EVENTS: usize = 4096;

/// The most viewers at once. A viewer that took no news for a minute makes room for the next.
pub const VIEWERS: usize = 16;

/// The seconds for which the data for viewers are kept after the last viewer left, and for which a viewer keeps its
/// place without taking news. A replay keeps both for ever.
const KEEPS: f64 = 60.0;

/// The rules and their past, the viewers, and the data for viewers.
#[derive(Debug)]
pub(super) struct ProbeMemory {
    pub(super) rules: Vec<Arc<Series>>,
    pub(super) past: Past,
    viewers: Vec<Present>,
    /// The number of the next viewer.
    next: u64,
    /// When the probe noticed that the last viewer had left.
    left: Option<Time>,
    /// The seconds for which the data for viewers are kept after the last viewer left.
    pub(super) keeps: f64,
    /// When the counting of the busiest keys began; `None` while there is none.
    pub(super) since: Option<Time>,
    pub(super) busiest: Sketch<Option<Arc<Key>>>,
    /// Counted from the start on, whether somebody looks or not.
    pub(super) refused: Sketch<Option<Arc<Key>>>,
    /// By their hashes.
    pub(super) watched: HashMap<u64, WatchedKey>,
}

/// A viewer, as the probe knows it.
#[derive(Debug)]
struct Present {
    number: u64,
    watch: Option<u64>,
    /// When it last took news.
    took: Time,
}

/// A watched key and its last events.
#[derive(Debug, Default)]
pub(super) struct WatchedKey {
    pub(super) key: Option<Arc<Key>>,
    /// The number of viewers that watch it.
    pub(super) viewers: usize,
    /// The number of the next event.
    pub(super) next: u64,
    pub(super) events: VecDeque<Happened>,
    /// How many events of this key were not counted, because another limit refused them.
    pub(super) elsewhere: u64,
}

/// An event of a watched key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happened {
    pub(super) at: Time,
    pub(super) cost: f64,
    pub(super) refused: bool,
}

impl Default for ProbeMemory {
    fn default() -> Self {
        ProbeMemory {
            rules: Vec::new(),
            past: Past::default(),
            viewers: Vec::new(),
            next: 0,
            left: None,
            keeps: KEEPS,
            since: None,
            busiest: Sketch::new(KEYS),
            refused: Sketch::new(KEYS),
            watched: HashMap::new(),
        }
    }
}

impl ProbeMemory {
    /// Adds a viewer and returns its number, and keeps the events of the key with the hash `watch` for it. If there are
    /// [`WATCHED`] keys already, those without a viewer are first dropped. If there are [`VIEWERS`] viewers, one that
    /// took nothing for `keeps` seconds loses its place; `None` without such a viewer.
    pub(super) fn enter(&mut self, watch: Option<u64>, now: Time) -> Option<u64> {
        if self.viewers.len() == VIEWERS {
            let is_idle = |viewer: &&Present| self.is_over(viewer.took, now);
            let idle = self.viewers.iter().find(is_idle)?.number;
            self.leave(idle);
        }
        self.since.get_or_insert(now);
        let number = self.next;
        self.next += 1;
        self.viewers.push(Present { number, watch, took: now });
        self.left = None;
        watch.into_iter().for_each(|hash| self.watch(hash));
        Some(number)
    }

    /// Keeps the events of a key for one viewer more.
    fn watch(&mut self, hash: u64) {
        if self.watched.len() >= WATCHED && !self.watched.contains_key(&hash) {
            self.watched.retain(|_, watch| watch.viewers > 0);
        }
        let known = [self.busiest.get(hash), self.refused.get(hash)].into_iter().flatten();
        let known = known.flatten().next().map(Arc::clone);
        let watch = self.watched.entry(hash).or_default();
        watch.viewers += 1;
        watch.key = known.or(watch.key.take());
    }

    /// Notes that a viewer takes news, and returns whether it still has its place.
    pub(super) fn take(&mut self, number: u64, now: Time) -> bool {
        let viewer = self.viewers.iter_mut().find(|viewer| viewer.number == number);
        viewer.map(|viewer| viewer.took = now).is_some()
    }

    /// Removes a viewer, if it still has its place.
    pub(super) fn leave(&mut self, number: u64) {
        let place = self.viewers.iter().position(|viewer| viewer.number == number);
        let watch = place.and_then(|place| self.viewers.swap_remove(place).watch);
        if let Some(watch) = watch.and_then(|hash| self.watched.get_mut(&hash)) {
            watch.viewers = watch.viewers.saturating_sub(1);
        }
    }

    /// True once `keeps` seconds have passed since `since`, or the clock was set back by as much, which no late event
    /// does.
    fn is_over(&self, since: Time, now: Time) -> bool {
        !(-self.keeps..self.keeps).contains(&now.since(since))
    }

    /// Drops the data for viewers if there were none for `keeps` seconds, except the refused keys; returns whether it did.
    pub(super) fn forget(&mut self, now: Time) -> bool {
        if !self.viewers.is_empty() {
            return false;
        }
        let left = *self.left.get_or_insert(now);
        let is_over = self.is_over(left, now);
        if is_over {
            *self = ProbeMemory {
                rules: take(&mut self.rules),
                past: take(&mut self.past),
                refused: replace(&mut self.refused, Sketch::new(1)),
                next: self.next,
                keeps: self.keeps,
                ..ProbeMemory::default()
            };
        }
        is_over
    }
}

impl WatchedKey {
    /// Adds an event, and drops the oldest if there are [`EVENTS`] already.
    pub(super) fn push(&mut self, seen: Happened) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(seen);
        self.next += 1;
    }
}

//! A viewer: its request, and the Server-Sent Events that answer it.
//!
//! Source: WHATWG, "HTML Living Standard", section 9.2. The messages, each with JSON:
//!
//! * `rules`: the name of the probe, and of each rule the name and the limits, in the order of the sums.
//! * `speed`: of a replay, how many times as fast as they came its events pass; 0 at its end.
//! * `hours`: of the time before the first of the columns, as far as it is not told yet, the sums at the
//!   beginnings of hours, as lists like those of the columns, but of at most `HOURLY` rules.
//! * `columns`: a list for each: microseconds since 1970, then for each rule the sums of the events that
//!   were allowed, that were refused, and that would have been. Its id is where to go on.
//! * `keys`: since when keys are counted, and the busiest and the most refused.
//! * `events`: of the key that is watched: for each event the microseconds, the cost, and 1 if it was
//!   refused; how many events were `elsewhere`, refused by another limit and so not counted by this.
//! * `lost`: how many columns and events were forgotten before this viewer took them.

use super::kept::{Column, HOURS, Kept, Seen, Watch};
use super::probe::{Key, Kind, Probe, Series};
use super::sketch::{Sketch, Weighed};
use crate::time::Time;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The most sums of columns, and the most events, in one turn: at most some 100 KiB of text.
const BITE: usize = 4096;
const EVENTS_AT_ONCE: usize = 1024;

/// The most rules whose hours are told.
const HOURLY: usize = BITE / HOURS;

/// The number of keys of each kind that a viewer is told.
const TOLD: usize = 12;

/// The columns between two messages with the tables of keys: a second.
const TABLES: i64 = 4;

/// The request of a viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The key to watch, by its hash.
    pub(super) watch: Option<u64>,
    /// The place from which it goes on: the name of the probe, its last column, and the next event of the
    /// same key.
    pub(super) last: Option<(u64, i64, Option<u64>)>,
}

impl Asked {
    /// Reads the query of a request, as in `watch=00c0ffee00c0ffee`, and the header `Last-Event-ID`. A
    /// part that can't be read counts as missing: the viewer then gets all there is.
    pub fn read(query: &str, last_event_id: Option<&str>) -> Self {
        let hash = |text: &str| u64::from_str_radix(text, 16).ok();
        let watch = query.split('&').find_map(|part| part.strip_prefix("watch=")).and_then(hash);
        let last = last_event_id.and_then(|id| {
            let mut parts = id.split('.');
            let (probe, slot, event) = (parts.next()?, parts.next()?, parts.next());
            Some((hash(probe)?, slot.parse().ok()?, event.and_then(|event| event.parse().ok())))
        });
        Asked { watch, last }
    }
}

/// A viewer; when it is dropped, it has gone.
#[derive(Debug)]
pub struct Viewer {
    probe: Arc<Probe>,
    watch: Option<u64>,
    /// The last column that it was told, and the event of its key that comes next.
    slot: Option<i64>,
    event: Option<u64>,
    /// The rules of which it was told last.
    rules: Option<Vec<Arc<Series>>>,
    /// When it was last told of the keys.
    told: i64,
    /// The speed of a replay that it was told last, and how many turns ago it came.
    speed: Option<f64>,
    turns: i64,
}

impl Viewer {
    pub(super) fn new(probe: Arc<Probe>, asked: &Asked) -> Self {
        let last = asked.last.filter(|(name, ..)| *name == probe.name());
        let (slot, event) = (last.map(|(_, slot, _)| slot), last.and_then(|(.., event)| event));
        let (watch, rules, speed) = (asked.watch, None, None);
        Viewer { probe, watch, slot, event, rules, told: i64::MIN, speed, turns: 0 }
    }

    /// The news at `now`, as text of an event stream; empty if there are none. It keeps no queue, so it may
    /// be asked as seldom as its reader can take it.
    pub fn next(&mut self, now: Time) -> String {
        let news = self.take(now);
        // Only now, as decisions wait while the data are held.
        news.text(self)
    }

    /// Takes what is new.
    fn take(&mut self, now: Time) -> News {
        let probe = Arc::clone(&self.probe);
        probe.keep_hours(now);
        // Before the sums, so that with the end of a replay all of it is told.
        let speed = probe.speed();
        let is_new_speed = speed != self.speed;
        self.speed = speed;
        self.turns += 1;
        let mut kept = probe.kept();
        kept.sample(now);
        let (events, lost_events) = self.events(&kept).unzip();
        let before = self.slot;
        let (columns, lost_columns) = self.columns(&kept);
        let is_new = |hour: &&Arc<Column>| {
            let is_before = columns.first().is_some_and(|first| hour.slot < first.slot);
            is_before && before.is_none_or(|before| hour.slot > before)
        };
        News {
            rules: self.rules(&kept),
            speed: speed.filter(|_| is_new_speed),
            events,
            hours: kept.hours.iter().filter(is_new).map(Arc::clone).collect(),
            columns,
            lost: [lost_columns, lost_events.unwrap_or(0)],
            keys: self.keys(&kept, now),
        }
    }

    /// The rules, if some changed.
    fn rules(&mut self, kept: &Kept) -> Option<Vec<Arc<Series>>> {
        // A rule that changed has a new series.
        let are_known = |known: &Vec<_>| {
            known.len() == kept.rules.len()
                && known.iter().zip(&kept.rules).all(|(old, new)| Arc::ptr_eq(old, new))
        };
        if !self.rules.as_ref().is_some_and(are_known) {
            self.rules = Some(kept.rules.clone());
            return self.rules.clone();
        }
        None
    }

    /// The columns that are new, and how many are lost.
    fn columns(&mut self, kept: &Kept) -> (Vec<Arc<Column>>, u64) {
        let Some(last) = kept.columns.back() else { return (Vec::new(), 0) };
        // From the future: the clock was set back.
        let known = self.slot.filter(|slot| *slot <= last.slot);
        let fresh = |column: &&Arc<Column>| known.is_none_or(|known| column.slot > known);
        let mut new = kept.columns.iter().filter(fresh).peekable();
        let Some(first) = new.peek().map(|column| column.slot) else { return (Vec::new(), 0) };
        let is_cut = kept.columns.front().is_some_and(|oldest| oldest.slot == first);
        let lost = known.filter(|_| is_cut).map_or(0, |known| first - known - 1);
        let most = (BITE / last.sums.len().max(1)).max(1);
        let columns: Vec<_> = new.take(most).map(Arc::clone).collect();
        self.slot = columns.last().map(|column| column.slot);
        (columns, lost.unsigned_abs())
    }

    /// The events of the watched key that are new, and how many are lost.
    fn events(&mut self, kept: &Kept) -> Option<(Events, u64)> {
        let hash = self.watch?;
        let Watch { key, next, events, elsewhere, .. } = kept.watched.get(&hash)?;
        let oldest = next - events.len() as u64;
        let known = self.event.filter(|event| event <= next);
        let from = known.unwrap_or(oldest).max(oldest);
        let new = events.iter().skip((from - oldest) as usize).take(EVENTS_AT_ONCE);
        let seen: Vec<Seen> = new.copied().collect();
        self.event = Some(from + seen.len() as u64);
        let told = Events { key: key.clone().map(|key| (hash, key)), seen, elsewhere: *elsewhere };
        Some((told, known.map_or(0, |known| oldest.saturating_sub(known))))
    }

    /// The tables of keys, once a second, and since when keys are counted.
    fn keys(&mut self, kept: &Kept, now: Time) -> Option<(Time, [Vec<Ranked>; 2])> {
        let turn = match self.speed {
            None => super::kept::slot(now).div_euclid(TABLES),
            // The seconds of a replay may be short, so its viewer's turns count. After its end nothing changes.
            Some(speed) if speed > 0.0 => self.turns / TABLES,
            Some(_) => i64::MAX,
        };
        if turn == self.told {
            return None;
        }
        self.told = turn;
        let top = |sketch: &Sketch<Option<Arc<Key>>>| {
            let ranked = |&Weighed { hash, what, count, error }: &Weighed<'_, Option<Arc<Key>>>| {
                let key = (hash, Arc::clone(what.as_ref()?));
                Some(Ranked { key, count, error })
            };
            sketch.top(usize::MAX).iter().filter_map(ranked).take(TOLD).collect()
        };
        Some((kept.since, [top(&kept.busiest), top(&kept.refused)]))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.probe.kept().leave(self.watch);
    }
}

/// The changes since a viewer was last told.
struct News {
    rules: Option<Vec<Arc<Series>>>,
    speed: Option<f64>,
    events: Option<Events>,
    hours: Vec<Arc<Column>>,
    columns: Vec<Arc<Column>>,
    /// How many columns and events are lost.
    lost: [u64; 2],
    keys: Option<(Time, [Vec<Ranked>; 2])>,
}

/// The changes of the watched key since then.
struct Events {
    key: Option<(u64, Arc<Key>)>,
    seen: Vec<Seen>,
    elsewhere: u64,
}

/// A key of a table, by its hash.
struct Ranked {
    key: (u64, Arc<Key>),
    count: u64,
    error: u64,
}

impl News {
    /// The text for a viewer who has taken them.
    fn text(self, viewer: &Viewer) -> String {
        let mut text = String::new();
        let name = viewer.probe.name();
        if let Some(rules) = self.rules {
            let rules = rules.iter().map(|rule| json!([rule.name, rule.limits]));
            let probe = format!("{name:016x}");
            say(&mut text, "rules", &json!({"probe": probe, "rules": Value::from_iter(rules)}));
        }
        if let Some(speed) = self.speed {
            say(&mut text, "speed", &json!(speed));
        }
        // The events first, as the id of the columns says how many of them are told.
        if let Some(Events { key, seen, elsewhere }) = self.events {
            let seen = seen.iter();
            let list =
                seen.map(|seen| json!([seen.at.as_micros(), seen.cost, u8::from(seen.refused)]));
            let (key, list) = (key.as_ref().map(row), Value::from_iter(list));
            let told = json!({"key": key, "events": list, "elsewhere": elsewhere});
            say(&mut text, "events", &told);
        }
        if !self.hours.is_empty() {
            columns(&mut text, "hours", &self.hours, HOURLY);
            text.push_str("\n\n");
        }
        if let Some(last) = self.columns.last() {
            columns(&mut text, "columns", &self.columns, usize::MAX);
            let event = viewer.event.unwrap_or(0);
            // Writing to a String does not fail.
            _ = write!(text, "\nid: {name:016x}.{}.{event}\n\n", last.slot);
        }
        if self.lost != [0, 0] {
            let [columns, events] = self.lost;
            say(&mut text, "lost", &json!({"columns": columns, "events": events}));
        }
        if let Some((since, tables)) = self.keys {
            let [busiest, refused] = tables.map(|table| Value::from_iter(table.iter().map(ranked)));
            let since = since.as_micros();
            let told = json!({"since": since, "busiest": busiest, "refused": refused});
            say(&mut text, "keys", &told);
        }
        text
    }
}

/// Lists of sums, of `most` rules, as far as their data go.
fn columns(text: &mut String, event: &str, columns: &[Arc<Column>], most: usize) {
    // Writing to a String does not fail.
    _ = write!(text, "event: {event}\ndata: [");
    for column in columns {
        let comma = if text.ends_with('[') { "" } else { "," };
        _ = write!(text, "{comma}[{}", column.at.as_micros());
        for [allowed, refused, would] in column.sums.iter().take(most) {
            _ = write!(text, ",{allowed},{refused},{would}");
        }
        text.push(']');
    }
    text.push(']');
}

fn say(text: &mut String, event: &str, data: &Value) {
    // Writing to a String does not fail; JSON has no line breaks.
    _ = write!(text, "event: {event}\ndata: {data}\n\n");
}

fn ranked(Ranked { key, count, error }: &Ranked) -> Value {
    let mut row = row(key);
    row["count"] = (*count).into();
    row["error"] = (*error).into();
    row
}

fn row((hash, key): &(u64, Arc<Key>)) -> Value {
    let Kind { rule, limiters, .. } = &*key.kind;
    json!({"hash": format!("{hash:016x}"), "key": key.text, "rule": rule.name, "limiters": limiters})
}

//! A viewer: its request, and the Server-Sent Events that answer it.
//!
//! Source: WHATWG, "HTML Living Standard", section 9.2. The messages, each with data in JSON:
//!
//! * `rules`: the id of the probe; and of each rule, in the order of the sums, the name, the limits and whether it is a
//!   shadow.
//! * `speed`: in a replay, how many times as fast as the original its events come; 0 after the last of them.
//! * `hours`: the sums at the beginnings of hours that the viewer has not been told of and that lie before
//!   the first of the columns: lists like those of the columns, but of the first `HOURLY` rules at most.
//! * `columns`: a list for each column: microseconds since 1970, then for each rule the sums of the hits that
//!   were allowed, that were refused, and that a shadow would have refused. With the id of this message a
//!   viewer goes on after it lost the connection.
//! * `keys`: since when keys are counted, and the busiest and the most refused of them.
//! * `events`: for each event of the watched key the microseconds since 1970, the cost, and 1 if it was refused, else
//!   0; and as `elsewhere`, how many events did not count for the key because another limit refused them.
//! * `lost`: how many columns and events were forgotten before this viewer took them.

use super::memory::{HOURS, Happened, ProbeMemory, SumsAt, WatchedKey};
use super::probe::{Key, Kind, Probe, Series};
use ratescope::internal::{Sketch, Weighed};
use ratescope::time::Time;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The most sums of rules in the columns of one turn: at most some 100 KiB of text with the events.
const BITE: usize = 4096;
/// The most events in one turn.
const EVENTS_AT_ONCE: usize = 1024;

/// The most rules whose hours a viewer is told.
const HOURLY: usize = BITE / HOURS;

/// The most keys in each of the two tables that a viewer is told.
const TOLD: usize = 12;

/// The tables of keys are told once in this many columns, which is about a second.
const TABLES: i64 = 4;

/// The request of a viewer, read from HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The hash of the key to watch.
    pub(super) watch: Option<u64>,
    /// The place from which the viewer goes on: the name of the probe, the last column that it was told, and
    /// the number of the next event of its key.
    pub(super) last: Option<(u64, i64, Option<u64>)>,
}

impl Wanted {
    /// Reads the query of a request, as in `watch=00c0ffee00c0ffee`, and the header `Last-Event-ID`. A part
    /// that can't be read counts as missing; without a valid id the viewer gets all there is.
    pub fn read(query: &str, last_event_id: Option<&str>) -> Self {
        let hash = |text: &str| u64::from_str_radix(text, 16).ok();
        let watch = query.split('&').find_map(|part| part.strip_prefix("watch=")).and_then(hash);
        let last = last_event_id.and_then(|id| {
            let mut parts = id.split('.');
            let (probe, slot, event) = (parts.next()?, parts.next()?, parts.next());
            Some((hash(probe)?, slot.parse().ok()?, event.and_then(|event| event.parse().ok())))
        });
        Wanted { watch, last }
    }
}

/// A viewer. Dropping it tells the probe that the viewer has gone.
#[derive(Debug)]
pub struct Viewer {
    probe: Arc<Probe>,
    /// Its number in the probe.
    number: u64,
    /// Whether another viewer has its place, since this one took no news for too long.
    pub(super) is_replaced: bool,
    watch: Option<u64>,
    /// The last column that it was told.
    slot: Option<i64>,
    /// The number of the next event of its key.
    event: Option<u64>,
    /// The rules that it was told last.
    rules: Option<Vec<Arc<Series>>>,
    /// The turn in which it was last told the tables of keys: see [`keys`](Self::keys).
    told: i64,
    /// The speed of a replay that it was told last.
    speed: Option<f64>,
    /// How many times it took news.
    turns: i64,
}

impl Viewer {
    pub(super) fn new(probe: Arc<Probe>, number: u64, wanted: &Wanted) -> Self {
        let last = wanted.last.filter(|(name, ..)| *name == probe.id());
        let (slot, event) = (last.map(|(_, slot, _)| slot), last.and_then(|(.., event)| event));
        let (watch, rules, speed) = (wanted.watch, None, None);
        let (is_replaced, told, turns) = (false, i64::MIN, 0);
        Viewer { probe, number, is_replaced, watch, slot, event, rules, told, speed, turns }
    }

    /// The news at `now`, as text of an event stream; empty if there are none. No messages are queued, so a slow reader
    /// may call it rarely. After a minute without a call the viewer may lose its place to another, and gets no more
    /// news.
    pub fn next(&mut self, now: Time) -> String {
        let news = self.take(now);
        // The text is written after the lock is released, since decisions wait for the lock.
        news.map_or_else(String::new, |news| news.text(self))
    }

    /// Takes what is new and notes that the viewer was told of it.
    fn take(&mut self, now: Time) -> Option<News> {
        let probe = Arc::clone(&self.probe);
        probe.keep_hours(now);
        // Read before the sums, so that a viewer who is told of the end of a replay gets the sums of all its
        // events.
        let speed = probe.speed();
        let is_new_speed = speed != self.speed;
        self.speed = speed;
        self.turns += 1;
        let mut kept = probe.kept();
        self.is_replaced = !kept.take(self.number, now);
        if self.is_replaced {
            return None;
        }
        kept.sample(now);
        let (events, lost_events) = self.events(&kept).unzip();
        let before = self.slot;
        let (columns, lost_columns) = self.columns(&kept);
        let is_new = |hour: &&Arc<SumsAt>| {
            let is_before = columns.first().is_some_and(|first| hour.slot < first.slot);
            is_before && before.is_none_or(|before| hour.slot > before)
        };
        Some(News {
            rules: self.rules(&kept),
            speed: speed.filter(|_| is_new_speed),
            events,
            hours: kept.hours.iter().filter(is_new).map(Arc::clone).collect(),
            columns,
            lost: [lost_columns, lost_events.unwrap_or(0)],
            keys: self.keys(&kept, now),
        })
    }

    /// The rules, if any of them changed since the viewer was told of them.
    fn rules(&mut self, kept: &ProbeMemory) -> Option<Vec<Arc<Series>>> {
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

    /// The columns that are new to the viewer, and how many were lost.
    fn columns(&mut self, kept: &ProbeMemory) -> (Vec<Arc<SumsAt>>, u64) {
        let Some(last) = kept.columns.back() else { return (Vec::new(), 0) };
        // A known column in the future means that the clock was set back: then all columns are new.
        let known = self.slot.filter(|slot| *slot <= last.slot);
        let fresh = |column: &&Arc<SumsAt>| known.is_none_or(|known| column.slot > known);
        let mut new = kept.columns.iter().filter(fresh).peekable();
        let Some(first) = new.peek().map(|column| column.slot) else { return (Vec::new(), 0) };
        let is_cut = kept.columns.front().is_some_and(|oldest| oldest.slot == first);
        let lost = known.filter(|_| is_cut).map_or(0, |known| first.saturating_sub(known) - 1);
        let most = (BITE / last.sums.len().max(1)).max(1);
        let columns: Vec<_> = new.take(most).map(Arc::clone).collect();
        self.slot = columns.last().map(|column| column.slot);
        (columns, lost.unsigned_abs())
    }

    /// The new events of the watched key, and how many were lost. `None` if no key is watched.
    fn events(&mut self, kept: &ProbeMemory) -> Option<(Events, u64)> {
        let hash = self.watch?;
        let WatchedKey { key, next, events, elsewhere, .. } = kept.watched.get(&hash)?;
        let oldest = next - events.len() as u64;
        let known = self.event.filter(|event| event <= next);
        let from = known.unwrap_or(oldest).max(oldest);
        let new = events.iter().skip((from - oldest) as usize).take(EVENTS_AT_ONCE);
        let seen: Vec<Happened> = new.copied().collect();
        self.event = Some(from + seen.len() as u64);
        let told = Events { key: key.clone().map(|key| (hash, key)), seen, elsewhere: *elsewhere };
        Some((told, known.map_or(0, |known| oldest.saturating_sub(known))))
    }

    /// When the counting of keys began, and the tables of the busiest and the most refused keys. `None` if
    /// the viewer was told them within the last second.
    fn keys(&mut self, kept: &ProbeMemory, now: Time) -> Option<(Time, [Vec<Ranked>; 2])> {
        let turn = match self.speed {
            None => super::memory::slot(now).div_euclid(TABLES),
            // The seconds of a replay may be short, so turns of the viewer are counted instead. After the end
            // of the replay nothing changes any more.
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
        self.probe.kept().leave(self.number);
    }
}

/// The next message for a viewer: all that changed since the last one.
struct News {
    rules: Option<Vec<Arc<Series>>>,
    speed: Option<f64>,
    events: Option<Events>,
    hours: Vec<Arc<SumsAt>>,
    columns: Vec<Arc<SumsAt>>,
    /// How many columns and events were lost.
    lost: [u64; 2],
    keys: Option<(Time, [Vec<Ranked>; 2])>,
}

/// The watched key and its events since the last message.
struct Events {
    key: Option<(u64, Arc<Key>)>,
    seen: Vec<Happened>,
    elsewhere: u64,
}

/// A row in a table of keys; the key comes with its hash.
struct Ranked {
    key: (u64, Arc<Key>),
    count: u64,
    error: u64,
}

impl News {
    /// The messages as text of an event stream; `viewer` has already noted that it was told of them.
    fn text(self, viewer: &Viewer) -> String {
        let mut text = String::new();
        let id = viewer.probe.id();
        if let Some(rules) = self.rules {
            let rules = rules.iter().map(|rule| json!([rule.name, rule.limits, rule.is_shadow]));
            let probe = format!("{id:016x}");
            say(&mut text, "rules", &json!({"probe": probe, "rules": Value::from_iter(rules)}));
        }
        if let Some(speed) = self.speed {
            say(&mut text, "speed", &json!(speed));
        }
        // The events come first, since the id of the columns says which event comes next.
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
            _ = write!(text, "\nid: {id:016x}.{}.{event}\n\n", last.slot);
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

/// Writes lists of the sums of at most `most` rules, without the line break that ends the data.
fn columns(text: &mut String, event: &str, columns: &[Arc<SumsAt>], most: usize) {
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

/// Writes a message.
fn say(text: &mut String, event: &str, data: &Value) {
    // Writing to a String does not fail; JSON on one line has no line breaks.
    _ = write!(text, "event: {event}\ndata: {data}\n\n");
}

/// The row as JSON, with its counts.
fn ranked(Ranked { key, count, error }: &Ranked) -> Value {
    let mut row = row(key);
    row["count"] = (*count).into();
    row["error"] = (*error).into();
    row
}

/// The key as JSON.
fn row((hash, key): &(u64, Arc<Key>)) -> Value {
    let Kind { rule, limiters, .. } = &*key.kind;
    json!({"hash": format!("{hash:016x}"), "key": key.text, "rule": rule.name, "limiters": limiters})
}

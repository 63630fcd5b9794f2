//! A viewer: its request, and the Server-Sent Events that answer it.
//!
//! Source: WHATWG, "HTML Living Standard", section 9.2. The messages, each with data in JSON:
//!
//! * `rules`: the id of the probe; then for each rule, in the order of the sums, its name, its limits with how they
//!   are shared, and whether it is a shadow.
//! * `speed`: in a replay, its speed as a multiple of the original; 0 after the last event.
//! * `past`: as `all`, 1 if the viewer must drop its earlier rows, as after the clock was set back, else 0; the first
//!   and the current second, since 1970; and for each ring of the [past](super::past) the second from which on it is
//!   complete, and the rows that changed since the last message: the first second of a row, then for each rule the hits
//!   that were allowed, refused, and refused by a shadow.
//! * `sums`: the microseconds since 1970, then the same three numbers for each rule since the start. The id of this
//!   message lets a viewer resume after it lost the connection.
//! * `keys`: when the counting of the busiest keys began, these, and the most refused keys since the start.
//! * `events`: for each event of the watched key the microseconds since 1970, the cost, and 1 if it was refused, else
//!   0; and as `elsewhere`, how many events of the key were not counted because another limit refused them.
//! * `lost`: how many events were dropped before this viewer took them.

use super::memory::{Happened, ProbeMemory, WatchedKey};
use super::past::{PAST_RULES, Row, second};
use super::probe::{Key, Kind, Probe, Series};
use ratescope::internal::Sketch;
use ratescope::time::Time;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The most counts of rules in the rows of one turn: at most some 100 KiB of text with the events.
const BITE: usize = 4096;

/// The most events in one turn.
const EVENTS_AT_ONCE: usize = 1024;

/// The most keys in each of the two tables for a viewer.
const TOLD: usize = 12;

/// In a replay, the tables of keys are sent once in this many turns.
const TABLES: i64 = 4;

/// The request of a viewer, read from HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The hash of the key to watch.
    pub(super) watch: Option<u64>,
    /// Where the viewer resumes: the id of the probe, the second up to which the past was sent, and the number of the
    /// next event of its key.
    pub(super) last: Option<(u64, i64, Option<u64>)>,
}

impl Wanted {
    /// Reads the query of a request, as in `watch=00c0ffee00c0ffee`, and the header `Last-Event-ID`. A part that can't
    /// be read counts as absent; without a valid id the viewer gets everything.
    pub fn read(query: &str, last_event_id: Option<&str>) -> Self {
        let hash = |text: &str| u64::from_str_radix(text, 16).ok();
        let watch = query.split('&').find_map(|part| part.strip_prefix("watch=")).and_then(hash);
        let last = last_event_id.and_then(|id| {
            let mut parts = id.split('.');
            let probe = hash(parts.next()?)?;
            let second = parts.next()?.parse().ok()?;
            let event = parts.next().and_then(|event| event.parse().ok());
            Some((probe, second, event))
        });
        Wanted { watch, last }
    }
}

/// A viewer. Dropping it tells the probe that the viewer has left.
#[derive(Debug)]
pub struct Viewer {
    probe: Arc<Probe>,
    /// The number that the probe knows it by.
    number: u64,
    /// True once another viewer took its place, since this one took no news for too long.
    pub(super) is_replaced: bool,
    watch: Option<u64>,
    /// The second up to which all of the past was sent.
    second: Option<i64>,
    /// For each ring of the past, the first second of the next row to send.
    rows: [i64; 3],
    /// How many times the clock had been set back when the past was sent.
    steps_back: u64,
    /// The time of the sums that were sent last.
    at: Option<Time>,
    /// The number of the next event of its key.
    event: Option<u64>,
    /// The rules that were sent last.
    rules: Option<Vec<Arc<Series>>>,
    /// The turn in which the tables of keys were sent last: see [`keys`](Self::keys).
    told: i64,
    /// The speed of a replay that was sent last.
    speed: Option<f64>,
    /// How many times it took news.
    turns: i64,
}

impl Viewer {
    pub(super) fn new(probe: Arc<Probe>, number: u64, wanted: &Wanted) -> Self {
        let last = wanted.last.filter(|(name, ..)| *name == probe.id());
        Viewer {
            probe,
            number,
            is_replaced: false,
            watch: wanted.watch,
            second: last.map(|(_, second, _)| second),
            rows: [last.map_or(i64::MIN, |(_, second, _)| second); 3],
            steps_back: 0,
            at: None,
            event: last.and_then(|(.., event)| event),
            rules: None,
            told: i64::MIN,
            speed: None,
            turns: 0,
        }
    }

    /// The news at `now`, as text of an event stream; empty if there are none. Nothing is queued, so a slow reader may
    /// call it rarely. After a minute without a call the viewer may lose its place to another, and gets no more news.
    pub fn next(&mut self, now: Time) -> String {
        let news = self.take(now);
        // Written after the lock is released, since decisions wait for the lock.
        news.map_or_else(String::new, |news| news.text(self))
    }

    /// Takes the news, and marks them as sent.
    fn take(&mut self, now: Time) -> Option<News> {
        let probe = Arc::clone(&self.probe);
        probe.reach(now);
        // Read before the sums, so that the end of a replay comes with the sums of all its events.
        let speed = probe.speed();
        let is_new_speed = speed != self.speed;
        self.speed = speed;
        self.turns += 1;
        let mut kept = probe.kept();
        self.is_replaced = !kept.take(self.number, now);
        if self.is_replaced {
            return None;
        }
        let (events, lost) = self.events(&kept).unzip();
        let is_new = self.at.replace(now) != Some(now);
        Some(News {
            rules: self.rules(&kept),
            speed: speed.filter(|_| is_new_speed),
            events,
            past: self.past(&kept),
            sums: is_new.then(|| kept.rules.iter().map(|series| series.sums()).collect()),
            lost: lost.unwrap_or(0),
            keys: self.keys(&kept, now),
        })
    }

    /// True if there is more of the past than the last message could hold.
    pub(super) fn is_behind(&self) -> bool {
        self.second.is_none()
    }

    /// The rules, if any of them changed since they were sent.
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

    /// The new rows of the past, as many as one message may hold; `None` without any.
    fn past(&mut self, kept: &ProbeMemory) -> Option<PastNews> {
        let [first, counted] = kept.past.seconds?;
        if self.second == Some(counted) {
            return None;
        }
        // After the clock was set back, all is sent again, since the viewer has rows that were dropped.
        if self.steps_back != kept.past.steps_back {
            self.rows = [i64::MIN; 3];
        }
        self.steps_back = kept.past.steps_back;
        let is_again = self.rows == [i64::MIN; 3];
        let mut room = BITE / kept.rules.len().clamp(1, PAST_RULES);
        let mut is_all = true;
        let mut rings = [const { RingNews { since: i64::MIN, rows: Vec::new() } }; 3];
        for ((ring, next), news) in kept.past.rings.iter().zip(&mut self.rows).zip(&mut rings) {
            let is_known = |row: &Arc<Row>| row.begin <= next.saturating_sub(ring.width);
            let known = ring.rows.partition_point(is_known);
            let rows: Vec<_> = ring.rows.iter().skip(known).take(room).map(Arc::clone).collect();
            room -= rows.len();
            let is_whole = known + rows.len() == ring.rows.len();
            is_all &= is_whole;
            *next = match rows.last() {
                _ if is_whole => counted,
                Some(last) => last.begin + ring.width,
                None => *next,
            };
            *news = RingNews { since: ring.since.max(first), rows };
        }
        self.second = is_all.then_some(counted);
        Some(PastNews { is_again, seconds: [first, counted], rings })
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

    /// When the counting of keys began, and the tables of the busiest and the most refused keys. `None` if they were
    /// sent within the last second.
    fn keys(&mut self, kept: &ProbeMemory, now: Time) -> Option<(Time, [Vec<Ranked>; 2])> {
        let turn = match self.speed {
            None => second(now),
            // The seconds of a replay may be short, so turns of the viewer are counted. After the end of the replay
            // nothing changes.
            Some(speed) if speed > 0.0 => self.turns / TABLES,
            Some(_) => i64::MAX,
        };
        if turn == self.told {
            return None;
        }
        self.told = turn;
        let top = |sketch: &Sketch<Option<Arc<Key>>>| {
            let ranked = sketch.top(usize::MAX).into_iter().filter_map(|one| {
                let key = (one.hash, Arc::clone(one.what.as_ref()?));
                Some(Ranked { key, count: one.count, error: one.error })
            });
            ranked.take(TOLD).collect()
        };
        Some((kept.since?, [top(&kept.busiest), top(&kept.refused)]))
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
    past: Option<PastNews>,
    /// The sums of all rules.
    sums: Option<Vec<[u64; 3]>>,
    /// How many events were lost.
    lost: u64,
    keys: Option<(Time, [Vec<Ranked>; 2])>,
}

/// The rows that changed since they were sent.
struct PastNews {
    /// True if the viewer must drop its earlier rows of this process.
    is_again: bool,
    /// The first and the current second.
    seconds: [i64; 2],
    rings: [RingNews; 3],
}

/// The changed rows of one ring.
struct RingNews {
    /// The ring is complete from this second on.
    since: i64,
    rows: Vec<Arc<Row>>,
}

/// The watched key and its events since the last message.
struct Events {
    key: Option<(u64, Arc<Key>)>,
    seen: Vec<Happened>,
    elsewhere: u64,
}

/// A row in a table of keys, with the hash of the key.
struct Ranked {
    key: (u64, Arc<Key>),
    count: u64,
    error: u64,
}

impl News {
    /// The messages as text of an event stream; `viewer` has marked them as sent.
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
        // Events come first, since the id of the sums has the number of the next event.
        if let Some(Events { key, seen, elsewhere }) = self.events {
            let seen = seen.iter();
            let list =
                seen.map(|seen| json!([seen.at.as_micros(), seen.cost, u8::from(seen.refused)]));
            let key = key.as_ref().map(row);
            let list = Value::from_iter(list);
            let told = json!({"key": key, "events": list, "elsewhere": elsewhere});
            say(&mut text, "events", &told);
        }
        if let Some(past) = &self.past {
            past.write(&mut text);
        }
        if let (Some(sums), Some(at)) = (&self.sums, viewer.at) {
            text += "event: sums\ndata: ";
            list(&mut text, at.as_micros(), sums);
            // Writing to a String does not fail.
            if let Some(second) = viewer.second {
                let event = viewer.event.unwrap_or(0);
                _ = write!(text, "\nid: {id:016x}.{second}.{event}");
            }
            text.push_str("\n\n");
        }
        if self.lost > 0 {
            say(&mut text, "lost", &json!({"events": self.lost}));
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

impl PastNews {
    fn write(&self, text: &mut String) {
        let [first, counted] = self.seconds;
        // Writing to a String does not fail.
        let all = u8::from(self.is_again);
        _ = write!(
            text,
            "event: past\ndata: {{\"all\":{all},\"seconds\":[{first},{counted}],\"rings\":["
        );
        for (RingNews { since, rows }, i) in self.rings.iter().zip(0..) {
            let comma = if i > 0 { "," } else { "" };
            _ = write!(text, "{comma}{{\"since\":{since},\"rows\":[");
            for (row, i) in rows.iter().zip(0..) {
                if i > 0 {
                    text.push(',');
                }
                list(text, row.begin, &row.counts);
            }
            text.push_str("]}");
        }
        text.push_str("]}\n\n");
    }
}

/// Writes a time and the counts of rules as one list.
fn list(text: &mut String, time: i64, counts: &[[u64; 3]]) {
    // Writing to a String does not fail.
    _ = write!(text, "[{time}");
    for [allowed, refused, would] in counts {
        _ = write!(text, ",{allowed},{refused},{would}");
    }
    text.push(']');
}

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

//! A viewer: its request, and the Server-Sent Events that answer it.
//!
//! Source: WHATWG, "HTML Living Standard", section 9.2. The messages, each with JSON:
//!
//! * `rules`: the name of the probe, and of each rule the name and the limits, in the order of the sums.
//! * `columns`: a list for each: microseconds since 1970, then for each rule the sums of the events that
//!   were allowed, that were refused, and that would have been. Its id is where to go on.
//! * `keys`: since when keys are counted, and the busiest and the most refused.
//! * `events`: of the key that is watched: for each event the microseconds, the cost, and 1 if it was
//!   refused; how many events were `elsewhere`, refused by another limit and so not counted by this.
//! * `lost`: how many columns and events were forgotten before this viewer took them.

use super::kept::{Column, Kept, Watch};
use super::probe::{Key, Probe, Series};
use super::sketch::Sketch;
use crate::time::Time;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The most bytes of columns, and the most events, in one turn.
const BITE: usize = 64 << 10;
const EVENTS_AT_ONCE: usize = 1024;

/// How many keys are told of each kind.
const TOLD: usize = 12;

/// The columns between two messages with the tables of keys: a second.
const TABLES: i64 = 4;

/// The request of a viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The key to watch, by its hash.
    pub(super) watch: Option<u64>,
    /// The place from which it goes on: the name of the probe, its last column, and the next event of the same key.
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
}

impl Viewer {
    pub(super) fn new(probe: Arc<Probe>, asked: &Asked) -> Self {
        let last = asked.last.filter(|(name, ..)| *name == probe.name());
        let (slot, event) = (last.map(|(_, slot, _)| slot), last.and_then(|(.., event)| event));
        Viewer { probe, watch: asked.watch, slot, event, rules: None, told: i64::MIN }
    }

    /// The news at `now`, as text of an event stream; empty if there are none. It keeps no queue, so it may
    /// be asked as seldom as its reader can take it.
    pub fn next(&mut self, now: Time) -> String {
        let probe = Arc::clone(&self.probe);
        let mut kept = probe.kept();
        kept.sample(now);
        let mut text = String::new();
        // A rule that changed is another series.
        let are_known = |known: &Vec<_>| {
            known.len() == kept.rules.len()
                && known.iter().zip(&kept.rules).all(|(old, new)| Arc::ptr_eq(old, new))
        };
        if !self.rules.as_ref().is_some_and(are_known) {
            let rules = kept.rules.iter().map(|rule| json!([rule.name, rule.limits]));
            let name = format!("{:016x}", probe.name());
            say(&mut text, "rules", &json!({"probe": name, "rules": Value::from_iter(rules)}));
            self.rules = Some(kept.rules.clone());
        }
        // The events first, as the id of the columns says how many of them are told.
        let events = self.events(&kept, &mut text);
        let columns = self.columns(&kept, &mut text);
        let (columns, events) = (columns.unwrap_or(0), events.unwrap_or(0));
        if columns + events as i64 > 0 {
            say(&mut text, "lost", &json!({"columns": columns, "events": events}));
        }
        let turn = super::kept::slot(now).div_euclid(TABLES);
        if turn != self.told {
            self.told = turn;
            let tables = [top(&kept.busiest), top(&kept.refused)];
            let since = kept.since.as_micros();
            say(
                &mut text,
                "keys",
                &json!({"since": since, "busiest": tables[0], "refused": tables[1]}),
            );
        }
        text
    }

    /// Tells the columns that are new; returns how many are lost.
    fn columns(&mut self, kept: &Kept, text: &mut String) -> Option<i64> {
        let last = kept.columns.back()?.slot;
        // From the future: the clock was set back.
        let known = self.slot.filter(|slot| *slot <= last);
        let fresh = |column: &&Column| known.is_none_or(|known| column.slot > known);
        let mut new = kept.columns.iter().filter(fresh).peekable();
        let first = new.peek()?.slot;
        let is_cut = kept.columns.front().is_some_and(|oldest| oldest.slot == first);
        let lost = known.filter(|_| is_cut).map(|known| first - known - 1);
        let begin = text.len();
        text.push_str("event: columns\ndata: [");
        for column in new {
            if text.len() - begin > BITE {
                break;
            }
            let comma = if text.ends_with('[') { "" } else { "," };
            // Writing to a String does not fail.
            _ = write!(text, "{comma}[{}", column.at.as_micros());
            for [allowed, refused, would] in &column.sums {
                _ = write!(text, ",{allowed},{refused},{would}");
            }
            text.push(']');
            self.slot = Some(column.slot);
        }
        let (slot, event) = (self.slot.unwrap_or(last), self.event.unwrap_or(0));
        _ = write!(text, "]\nid: {:016x}.{slot}.{event}\n\n", self.probe.name());
        lost
    }

    /// Tells the events of the watched key that are new; returns how many are lost.
    fn events(&mut self, kept: &Kept, text: &mut String) -> Option<u64> {
        let hash = self.watch?;
        let Watch { key, next, events, elsewhere, .. } = kept.watched.get(&hash)?;
        let oldest = next - events.len() as u64;
        let known = self.event.filter(|event| event <= next);
        let from = known.unwrap_or(oldest).max(oldest);
        let new = events.iter().skip((from - oldest) as usize).take(EVENTS_AT_ONCE);
        let list: Vec<Value> = new
            .map(|seen| json!([seen.at.as_micros(), seen.cost, u8::from(seen.refused)]))
            .collect();
        self.event = Some(from + list.len() as u64);
        let key = key.as_deref().map(|key| row(hash, key));
        let told = json!({"key": key, "events": list, "elsewhere": elsewhere});
        say(text, "events", &told);
        known.map(|known| oldest.saturating_sub(known))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.probe.kept().leave(self.watch);
    }
}

fn say(text: &mut String, event: &str, data: &Value) {
    // Writing to a String does not fail; JSON has no line breaks.
    _ = write!(text, "event: {event}\ndata: {data}\n\n");
}

fn top(sketch: &Sketch<Arc<Key>>) -> Vec<Value> {
    let each = sketch.top(TOLD);
    let each = each.iter().map(|key| {
        let mut row = row(key.hash, key.what);
        row["count"] = key.count.into();
        row["error"] = key.error.into();
        row
    });
    each.collect()
}

fn row(hash: u64, key: &Key) -> Value {
    let Key { text, rule, limiters } = key;
    json!({"hash": format!("{hash:016x}"), "key": text, "rule": rule.name, "limiters": limiters})
}

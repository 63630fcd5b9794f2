//! The rows of the tables: limits of the curve, clients, and the labels of refused requests.

use super::{Analysis, Choices};
use crate::tune::{Advice, Codes, Curve, Part, Peak, RefusedClient, Replay, scale};
use core::cmp::{Ordering, Reverse};
use ratescope::internal::{by_name, grouped, visible};
use ratescope::time::Time;
use std::collections::HashMap;

/// A limit of the curve and its effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitRow {
    /// The limit.
    pub limit: f64,
    /// The number of clients that it touches.
    pub touched: u64,
    /// The number of touched clients that are marked as legitimate.
    pub marked: u64,
    /// The number of requests that it refuses; `None` until it is counted.
    pub refused: Option<u64>,
}

/// The key that a table shows for events without the fields of the key.
const NO_KEY: &str = "(none)";

const ROWS: usize = 24;

/// A client, and its requests that the limit in force refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientRow {
    /// The place among the clients.
    pub place: usize,
    /// The key.
    pub key: String,
    /// It is marked as legitimate.
    pub marked: bool,
    /// It is to be stopped.
    pub stop: bool,
    /// The number of its requests.
    pub requests: u64,
    /// The highest level.
    pub peak: Option<Peak>,
    /// The number of its requests that are refused.
    pub refused: u64,
    /// The time of the first refusal.
    pub first: Option<Time>,
}

impl ClientRow {
    /// `marked` for a legitimate client, `stop` for a client to be stopped, or nothing.
    pub fn mark(&self) -> &'static str {
        match (self.marked, self.stop) {
            (true, _) => "marked",
            (_, true) => "stop",
            _ => "",
        }
    }
}

/// Limits of 1, 2 or 5 times a power of ten and the recommended limit, from the last that touches all clients to the
/// first that touches none.
pub(super) fn rows(curve: &Curve, advice: &Advice, choices: &Choices) -> Vec<LimitRow> {
    let all = curve.all.clients(Part::Whole);
    let wanted = |limit: &f64| Some(*limit) == advice.limit || scale::is_round(*limit);
    let from = scale::nice().take_while(|limit| curve.touched(*limit) == all).last();
    let to = scale::nice().filter(wanted).find(|limit| curve.touched(*limit) == 0);
    let within = |limit: &f64| Some(*limit) >= from && to.is_none_or(|to| *limit <= to);
    let row = |limit: f64| LimitRow {
        limit,
        touched: curve.touched(limit),
        marked: curve.marked.touched(Part::Whole, limit),
        refused: curve.refused(limit),
    };
    // A server may not have such a limit: nginx has no burst of half a request.
    let exists = |limit: &f64| choices.limiter(curve.measure, *limit).is_some();
    let limits = scale::nice().filter(wanted).filter(within).filter(exists);
    limits.take(ROWS).map(row).collect()
}

impl Analysis {
    /// The first `most` clients whose key contains `search`, case-insensitive, in the order of the choices, and the
    /// number of all such clients.
    pub fn table(&self, search: &str, most: usize) -> (Vec<ClientRow>, usize) {
        let refused = self.replayed().map_or(&[][..], Replay::refused_clients);
        let by_place: HashMap<usize, &RefusedClient> =
            refused.iter().map(|client| (client.place, client)).collect();
        let clients = self.clients();
        let search = search.trim().to_ascii_lowercase();
        let found = |place: &usize| clients.key(*place).to_ascii_lowercase().contains(&search);
        let mut places = self.busiest.clone();
        if !search.is_empty() {
            places.retain(found);
        }
        let count = |place: &usize| by_place.get(place).map_or(0, |client| client.refused);
        let first = |place: &usize| by_place.get(place).map(|client| client.first);
        let peak = |place: &usize| self.found.peaks.get(*place).copied().flatten();
        let level = |place: &usize| peak(place).map_or(0.0, |peak| peak.level);
        let at = |place: &usize| peak(place).map(|peak| peak.at);
        let order = self.choices().order;
        // The stable sort begins with the busiest first, so the busiest come first among equals.
        let compare = |a: &usize, b: &usize| match order {
            TableOrder::Requests => Ordering::Equal,
            TableOrder::Client => clients.key(*a).cmp(clients.key(*b)),
            TableOrder::Refused => count(b).cmp(&count(a)),
            TableOrder::Peak => level(b).total_cmp(&level(a)),
            TableOrder::PeakAt => earliest(at(a)).cmp(&earliest(at(b))),
            TableOrder::First => earliest(first(a)).cmp(&earliest(first(b))),
        };
        if order != TableOrder::Requests {
            places.sort_by(compare);
        }
        let row = |place: &usize| self.row(*place, by_place.get(place).copied());
        (places.iter().take(most).map(row).collect(), places.len())
    }

    /// The rows of clients that another limit refused.
    pub fn rows_of(&self, refused: &[RefusedClient]) -> Vec<ClientRow> {
        refused.iter().map(|client| self.row(client.place, Some(client))).collect()
    }

    fn row(&self, place: usize, refused: Option<&RefusedClient>) -> ClientRow {
        let clients = self.clients();
        let measure = self.shown().map(|(curve, _)| curve.measure);
        ClientRow {
            place,
            key: clients.key(place).to_owned(),
            marked: self.marked.binary_search(&place).is_ok(),
            stop: self.to_stop.binary_search(&place).is_ok(),
            requests: clients.requests_of(place),
            peak: measure.and_then(|measure| measure.peak(clients.moments(place))),
            refused: refused.map_or(0, |client| client.refused),
            first: refused.map(|client| client.first),
        }
    }

    /// The cells of a client in a table: its key without characters that would change the direction of others,
    /// its [mark](ClientRow::mark), its requests, its peak, the time of the peak, its refused requests, and the time of
    /// the first of them.
    pub fn cells(&self, client: &ClientRow) -> [String; 7] {
        let when = |time: Time| self.clock().date_and_time(time);
        let peak = client.peak.map(|peak| (level(peak.level), when(peak.at)));
        let (peak, at) = peak.unwrap_or_default();
        let marked = client.mark().to_owned();
        let first = client.first.map(when).unwrap_or_default();
        let key = if client.key.is_empty() { NO_KEY } else { &client.key };
        [
            key.chars().map(visible).collect(),
            marked,
            grouped(client.requests),
            peak,
            at,
            grouped(client.refused),
            first,
        ]
    }
}

/// A sort key: the earliest time first, no time last.
fn earliest(time: Option<Time>) -> (bool, Option<Time>) {
    (time.is_none(), time)
}

/// A level, with a digit after the point if it is small.
fn level(level: f64) -> String {
    match level {
        small if small < 100.0 => (libm::round(small * 10.0) / 10.0).to_string(),
        large => grouped(libm::round(large) as u64),
    }
}

/// The column by which the clients in the table are sorted. The text form is its name, as in `requests`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableOrder {
    /// The busiest first.
    Requests,
    /// The most refused first, and then the busiest.
    #[default]
    Refused,
    /// By key, in ascending order.
    Client,
    /// The highest level first.
    Peak,
    /// By the time of the highest level, the earliest first; clients without a level come last.
    PeakAt,
    /// By the time of the first refusal, the earliest first; clients without a refusal come last.
    First,
}

const NAMES: [(TableOrder, &str); 6] = [
    (TableOrder::Requests, "requests"),
    (TableOrder::Refused, "refused"),
    (TableOrder::Client, "client"),
    (TableOrder::Peak, "peak"),
    (TableOrder::PeakAt, "peak-at"),
    (TableOrder::First, "first"),
];

by_name!(TableOrder, NAMES, "not a column; write one of {}");

/// A label, which is a path or an agent, and its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The text.
    pub text: String,
    /// The number of its requests that are refused.
    pub refused: u64,
    /// The number of all its requests.
    pub requests: u64,
}

impl LabelRow {
    /// The cells of its row in a table, its text without characters that would change the direction of others.
    pub fn cells(self) -> [String; 3] {
        let shown = self.text.chars().map(visible).collect();
        [shown, grouped(self.refused), grouped(self.requests)]
    }

    /// The paths, then the agents, with the most refused requests: at most `most` of each, and the number of all with
    /// refused requests. Empty if the log has no such field.
    pub fn tables(analysis: &Analysis, most: usize) -> [(Vec<Self>, usize); 2] {
        let mut tables = <[(Vec<Self>, usize); 2]>::default();
        let (Some(labels), Some(replay)) = (&analysis.clients().labels, analysis.replayed()) else {
            return tables;
        };
        for ((table, labels), refused) in tables.iter_mut().zip(labels).zip(replay.refused_by()) {
            let mut codes: Vec<(Reverse<u64>, u16)> = (0..)
                .zip(refused)
                .filter(|(_, n)| **n > 0)
                .map(|(code, n)| (Reverse(*n), code))
                .collect();
            codes.sort_unstable();
            let row = |(Reverse(refused), code): &(Reverse<u64>, u16)| LabelRow {
                text: labels.texts.shown(*code).to_owned(),
                refused: *refused,
                requests: labels.requests.get(usize::from(*code)).copied().unwrap_or(0),
            };
            if codes.iter().any(|(_, code)| *code != Codes::default()[0]) {
                *table = (codes.iter().take(most).map(row).collect(), codes.len());
            }
        }
        tables
    }
}

//! Events on their way from the threads that read to the one that keeps.

use ratescope::lab::tune::{Clients, Ticket, Trial, key};
use ratescope::log::{Record, Row};
use ratescope::policy::Per;
use ratescope::{Event, Time};
use std::sync::Arc;

/// The events of a piece of a log.
#[derive(Default)]
pub(crate) struct Batch {
    /// Their keys, one after the other.
    keys: String,
    events: Vec<Found>,
    /// Their fields, where limits are tried on them.
    rows: Vec<Row>,
}

/// An event, whose key ends at a byte of the keys.
struct Found {
    time: Time,
    cost: f64,
    key_to: u32,
    coarse: bool,
}

impl Batch {
    /// Adds an event of the client that `per` makes of it, with these of its fields.
    pub(crate) fn add(&mut self, record: &Record<'_>, per: &Per, fields: Option<&Arc<[String]>>) {
        self.keys.push_str(&key(record, per));
        self.events.push(Found {
            time: record.time(),
            cost: record.cost(),
            key_to: self.keys.len() as u32,
            coarse: record.is_coarse(),
        });
        if let Some(fields) = fields {
            self.rows.push(Row::new(record, fields));
        }
    }

    /// Hands out each event: its key, its time, whether that is coarse, its cost, and its fields. Then
    /// there are none.
    pub(crate) fn drain(&mut self, mut event: impl FnMut(&str, Time, bool, f64, Option<Box<Row>>)) {
        let (mut from, mut rows) = (0, self.rows.drain(..));
        for Found { time, cost, key_to, coarse } in self.events.drain(..) {
            let to = key_to as usize;
            let row = rows.next().map(Box::new);
            event(self.keys.get(from..to).unwrap_or(""), time, coarse, cost, row);
            from = to;
        }
        self.keys.clear();
    }
}

/// An event that waits for those before it.
pub(crate) struct Held {
    pub(crate) ticket: Ticket,
    pub(crate) cost: f64,
    pub(crate) row: Option<Box<Row>>,
}

impl Held {
    /// Puts it where it belongs.
    pub(crate) fn put(
        self,
        time: Time,
        clients: &mut Clients,
        trials: &mut [(String, Trial)],
        per: &Per,
    ) {
        clients.put(self.ticket, time, self.cost);
        if let Some(row) = self.row {
            let event = Event { time, ..row.event() };
            trials.iter_mut().for_each(|(_, trial)| trial.see(&event, per));
        }
    }
}

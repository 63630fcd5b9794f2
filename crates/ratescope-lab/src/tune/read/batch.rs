//! Events on their way from the reader of a log to their clients.

use crate::tune::{Clients, Codes, Dictionary, Summary, Ticket, Zones, key};
use ratescope::event::Event;
use ratescope::policy::Per;
use ratescope::time::{Span, Time};
use ratescope_log::{Corrections, Order, Record, Row, Spread, When};

/// The events of a piece of a log. One thread can find the events, and another add them to their clients.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The keys of their clients, one after the other.
    keys: String,
    events: Vec<Line>,
    /// The fields of the events, if limits are tried on them.
    rows: Vec<Row>,
    zones: Zones,
    /// The labels of the events: paths and agents. They stay for the next piece, which has mostly the same ones.
    labels: [Dictionary; 2],
    /// The numbers of these labels among the clients' labels, as far as known.
    known: [Vec<u16>; 2],
}

/// The events of a line. Its key begins in `keys` at the end of the previous line's key.
#[derive(Clone, Copy, Debug)]
struct Line {
    when: When,
    cost: f64,
    key_to: u32,
    codes: Codes,
}

/// The most bytes of labels, of paths or of agents, that a batch keeps for the next piece.
const LABELS: usize = 1 << 19;

impl Batch {
    /// Adds the events of a line, with `row`, their fields, if limits are tried. `per` makes the key of their client.
    #[inline]
    pub(super) fn add(&mut self, record: &Record<'_>, per: &Per, row: Option<Row>) {
        self.keys.push_str(&key(record, per));
        if let Some(east) = record.minutes_east() {
            self.zones.add_line(record.time(), east);
        }
        self.events.push(Line {
            when: record.when(),
            cost: record.cost(),
            key_to: self.keys.len() as u32,
            codes: [self.labels[0].code(record.path()), self.labels[1].code(record.agent())],
        });
        self.rows.extend(row);
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.events.clear();
        self.rows.clear();
        self.zones = Zones::default();
        if self.labels.iter().any(|labels| labels.bytes() > LABELS) {
            self.labels = <[Dictionary; 2]>::default();
            self.known = [Vec::new(), Vec::new()];
        }
    }
}

/// Receives each event with its fields, in the order of time. As a function pointer, this keeps the code of trials out
/// of the page.
pub(super) type OnEvent<'a> = dyn FnMut(&Event<'_>, &Per) + 'a;

/// The events of a line, which wait for earlier events.
#[derive(Clone, Debug)]
struct Held {
    ticket: Ticket,
    cost: f64,
    codes: Codes,
    row: Option<Box<Row>>,
}

/// The bytes of a waiting line, without those of its row.
const BYTES: usize = size_of::<Held>() + size_of::<When>();

impl Held {
    #[inline]
    fn add(&self, time: Time, clients: &mut Clients, on_event: &mut OnEvent<'_>, per: &Per) {
        clients.add_event(self.ticket, time, self.cost, self.codes);
        if let Some(row) = &self.row {
            let event = Event { time, ..row.event() };
            on_event(&event, per);
        }
    }
}

/// The number of clients looked up in a row before their events are added. A look-up waits for memory, and a processor
/// can wait for several consecutive look-ups at once.
const AT_ONCE: usize = 64;

/// Sorts the events of one log by time, and adds them to their clients.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    order: Option<Order<Held>>,
    tickets: Vec<Ticket>,
}

impl Queue {
    /// A queue for lines that are up to `slack` late. Waiting lines take at most `bytes`. Without a slack, lines count
    /// as in order.
    pub(super) fn new(slack: Option<Span>, bytes: usize, spread: Spread) -> Self {
        let order = slack.map(|slack| Order::new(slack, bytes, spread));
        Queue { order, tickets: Vec::new() }
    }

    /// Takes all events of the log's next batch.
    pub(super) fn add(
        &mut self,
        batch: &mut Batch,
        into: &mut Summary,
        on_event: &mut OnEvent<'_>,
    ) {
        let Summary { per, clients, zones, .. } = into;
        zones.add(&batch.zones);
        let mut key_from = 0;
        let mut from = 0;
        let mut rows = batch.rows.drain(..);
        while let Some(next) = batch.events.get(from..).filter(|next| !next.is_empty()) {
            self.tickets.clear();
            for found in next.iter().take(AT_ONCE) {
                let key_to = found.key_to as usize;
                self.tickets.push(clients.ticket(batch.keys.get(key_from..key_to).unwrap_or("")));
                key_from = key_to;
                // A ticket is valid until the second halving after it, so the tickets so far are used now.
                if !clients.is_current(self.tickets.last()) {
                    break;
                }
            }
            from += self.tickets.len();
            for (&Line { when, cost, codes, .. }, &ticket) in next.iter().zip(&self.tickets) {
                let codes = clients.translate(&batch.labels, codes, &mut batch.known);
                let held = Held { ticket, cost, codes, row: rows.next().map(Box::new) };
                let mut add = |time, held: &Held| held.add(time, clients, on_event, per);
                match &mut self.order {
                    Some(order) => {
                        let bytes = BYTES + held.row.as_ref().map_or(0, |row| row.bytes());
                        order.push(when, bytes, held, &mut add);
                    }
                    None => (0..when.times).for_each(|_| add(when.time, &held)),
                }
            }
        }
        drop(rows);
        batch.clear();
    }

    /// Ends the log: adds the waiting events to their clients.
    pub(super) fn finish(&mut self, into: &mut Summary, on_event: &mut OnEvent<'_>) {
        let Summary { per, clients, .. } = into;
        if let Some(order) = &mut self.order {
            order.finish(&mut |time, held| held.add(time, clients, on_event, per));
        }
    }

    /// Tells whether the newest line of the log is the first, so that it has to be reversed.
    pub(super) fn is_newest_first(&self) -> bool {
        self.order.as_ref().is_some_and(Order::is_newest_first)
    }

    /// The corrections of times so far.
    pub(super) fn corrections(&self) -> Corrections {
        self.order.as_ref().map_or(Corrections::default(), Order::corrections)
    }
}

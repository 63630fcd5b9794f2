//! The events of every client, kept within a room. [`sample`](super::sample) makes room.
//!
//! # Speed
//! Every line of a log comes here, so an event costs only a look-up and writes to one entry: the newest events of a
//! client wait there, and move to the others several at a time. The hash has a random seed, since senders
//! choose the keys and could aim at collisions. No result depends on the seed: clients are numbered in the order of
//! their first events.

use super::BadSummary;
use super::client::Client;
use super::dictionary::{Codes, Dictionary, Labels, MOST};
use super::stream::{Moment, Moments, Written, first};
use core::cmp::Reverse;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use ratescope::event::{Event, Fields};
use ratescope::policy::Per;
use ratescope::time::{Span, Time};
use std::borrow::Cow;

/// The most that may be kept. Beyond it, clients are sampled: see [`Clients::share_kept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The number of clients; at least 64, and at most 4 billion.
    pub clients: usize,
    /// The bytes of everything: 112 for each client, keys, events and labels.
    pub bytes: usize,
}

/// Four million clients, and half a gigabyte, which is some 80 million requests.
impl Default for Room {
    fn default() -> Self {
        Room { clients: 4_000_000, bytes: 512 << 20 }
    }
}

/// The share of a log from which a limit is usually learned.
const LEARNED: f64 = 2.0 / 3.0;

/// The bytes of a client without its key and the events outside its entry: the entry, its share of the map, and the
/// overhead of the key's own memory.
const ENTRY: usize = size_of::<Client>() + 56;

/// The events of many clients.
#[derive(Clone, Debug)]
pub struct Clients {
    pub(super) room: Room,
    /// By key, in the order in which they came.
    pub(super) list: IndexMap<Box<str>, Client, RandomState>,
    pub(super) key_bytes: usize,
    /// The bytes reserved for events outside the entries, in use or not.
    pub(super) outside: usize,
    /// The number of halvings.
    pub(super) halvings: u8,
    pub(super) moved: Moved,
    pub(super) counts: Requests,
    first: Time,
    last: Time,
    highest_cost: f64,
    /// The labels of the events, paths and agents, if they are kept.
    pub(in crate::tune) labels: Option<[Labels; 2]>,
}

/// A client to which an event may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    place: u32,
    /// The number of halvings when it was issued.
    halvings: u8,
}

/// The last time that room was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    /// The number of halvings before it.
    pub(super) halvings: u8,
    /// The place of each client since, by its place before.
    pub(super) places: Vec<u32>,
}

/// The place of a dropped client.
pub(super) const NOBODY: u32 = u32::MAX;

/// The key of an event's client: the value of the field if `per` has a single field, otherwise the key as policies
/// write it.
pub fn key<'a>(fields: &'a dyn Fields, per: &Per) -> Cow<'a, str> {
    match per.fields() {
        [field] => Cow::Borrowed(fields.value(field).unwrap_or("")),
        _ => Cow::Owned(per.key(&Event { time: Time::ZERO, cost: 1.0, fields })),
    }
}

/// The counts of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) requests: u64,
    pub(super) late: u64,
    pub(super) unusable: u64,
    pub(super) left_out: u64,
}

impl Clients {
    /// No clients yet, with this room.
    pub fn new(room: Room) -> Self {
        let most = u32::MAX as usize;
        let room = Room { clients: room.clients.clamp(64, most), bytes: room.bytes.max(1 << 16) };
        Clients {
            room,
            list: IndexMap::default(),
            key_bytes: 0,
            outside: 0,
            halvings: 0,
            moved: Moved::default(),
            counts: Requests::default(),
            first: Time::LAST,
            last: Time::from_micros(i64::MIN),
            highest_cost: 0.0,
            labels: None,
        }
    }

    /// Adds an event of the client called `key`: takes a [`ticket`](Self::ticket) and
    /// [adds](Self::add_event) the event.
    #[inline]
    pub fn add(&mut self, key: &str, time: Time, cost: f64) {
        let ticket = self.ticket(key);
        self.add_event(ticket, time, cost, Codes::default());
    }

    /// The client called `key`, for an event that is added later, so that a waiting event need not keep its key.
    #[inline]
    pub fn ticket(&mut self, key: &str) -> Ticket {
        let place = self.place(key, None).and_then(|place| u32::try_from(place).ok());
        let ticket = Ticket { place: place.unwrap_or(NOBODY), halvings: self.halvings };
        if self.is_over() {
            self.make_room();
        }
        ticket
    }

    /// Adds an event, with the numbers of its labels if they are kept.
    ///
    /// The events of one client should come in the order of time. An event from before the client's last event gets the
    /// time of the last, and is counted as [`late`](Self::late). An event whose cost is not from 0 to
    /// [`MAX_COST`](ratescope::limit::MAX_COST), or that is 18,000 years or more from the origin, is
    /// [`unusable`](Self::unusable).
    #[inline]
    pub fn add_event(&mut self, ticket: Ticket, time: Time, cost: f64, codes: Codes) {
        self.counts.requests += 1;
        for (labels, code) in self.labels.iter_mut().flatten().zip(codes) {
            labels.count(code, 1);
        }
        let moment = Moment { time, cost };
        if !moment.can_be_kept() {
            self.counts.unusable += 1;
            return;
        }
        let Some(place) = self.current(ticket) else {
            self.counts.left_out += 1;
            return;
        };
        if self.push(place, moment, codes) && self.is_over() {
            self.make_room();
        }
    }

    /// The place of the client called `key`, which is added if it is new; `None` if sampling drops the client. With
    /// `halvings`, a new client is never dropped. Without, it gets the halvings so far, and is dropped unless it is in
    /// the sample.
    pub(super) fn place(&mut self, key: &str, halvings: Option<u8>) -> Option<usize> {
        let known = self.list.get_index_of(key);
        if known.is_some() || (halvings.is_none() && !self.stays(key)) {
            return known;
        }
        self.key_bytes += key.len();
        let client = Client::new(halvings.unwrap_or(self.halvings));
        Some(self.list.insert_full(key.into(), client).0)
    }

    pub(super) fn client(&self, place: usize) -> Option<&Client> {
        self.list.get_index(place).map(|(_, client)| client)
    }

    pub(super) fn client_mut(&mut self, place: usize) -> Option<&mut Client> {
        self.list.get_index_mut(place).map(|(_, client)| client)
    }

    /// Appends an event. Returns whether it may have taken more memory.
    #[inline]
    pub(super) fn push(&mut self, place: usize, moment: Moment, codes: Codes) -> bool {
        let Some((_, client)) = self.list.get_index_mut(place) else { return false };
        if client.fills(self.room) {
            self.counts.left_out += 1;
            return false;
        }
        let micros = moment.time.as_micros();
        let begins = client.requests == 0;
        let step = if begins {
            first(moment.time)
        } else {
            self.counts.late += u64::from(micros < client.last);
            micros.saturating_sub(client.last).max(0).unsigned_abs()
        };
        let Some(requests) = client.requests.checked_add(1) else {
            self.counts.left_out += 1;
            return false;
        };
        client.requests = requests;
        client.last = client.last.max(micros);
        self.first = self.first.min(moment.time);
        self.last = self.last.max(moment.time);
        self.highest_cost = ratescope::internal::larger(self.highest_cost, moment.cost);
        let written = Written::new(step, moment.cost, self.labels.is_some().then_some(codes));
        client.write(written.bytes(), &mut self.outside) || begins
    }

    /// Also keeps the labels of each event, its path and its agent, in four bytes. Call this only before the first
    /// event.
    pub fn keep_labels(&mut self) {
        // Labels are never dropped, so they get a part of the room only.
        let most = MOST.min(self.room.bytes / 16);
        self.labels =
            Some([(); 2].map(|()| Labels { texts: Dictionary::new(most), requests: Vec::new() }));
    }

    /// Translates the numbers `codes` of labels from the dictionaries `of` to those here. `known` is a cache between
    /// calls.
    #[inline]
    pub(in crate::tune) fn translate(
        &mut self,
        of: &[Dictionary; 2],
        codes: Codes,
        known: &mut [Vec<u16>; 2],
    ) -> Codes {
        let Some(labels) = &mut self.labels else { return Codes::default() };
        for (((labels, of), known), code) in labels.iter_mut().zip(of).zip(&mut *known).zip(codes) {
            for next in known.len()..=code.into() {
                known.push(labels.texts.translated(of, next as u16));
            }
        }
        own_codes(codes, known)
    }

    #[inline]
    pub(super) fn label_bytes(&self) -> usize {
        self.labels.iter().flatten().map(|labels| labels.texts.bytes()).sum()
    }

    /// The events of the client at `place`, with the numbers of their labels.
    pub(in crate::tune) fn labelled_moments(
        &self,
        place: usize,
    ) -> impl Iterator<Item = (Moment, Codes)> + '_ {
        let mut moments = self.read(place);
        core::iter::from_fn(move || moments.next_labelled())
    }

    /// Tells whether later events of a client are left out, so that there is room for others.
    pub(in crate::tune) fn has_full(&self) -> bool {
        self.list.values().any(|client| client.fills(self.room))
    }

    /// The bytes in use, as [`Room`] counts them.
    pub fn bytes(&self) -> usize {
        self.list.len() * ENTRY + self.key_bytes + self.outside + self.label_bytes()
    }

    /// The number of clients kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Tells whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of clients; an estimate if some were dropped.
    pub fn clients(&self) -> u64 {
        let has_events = |place: &usize| self.requests_of(*place) > 0;
        (0..self.len()).filter(has_events).map(|place| self.weight(place)).sum()
    }

    /// The number of events that were added.
    pub fn requests(&self) -> u64 {
        self.counts.requests
    }

    /// The number of events that came before their client's last event, and got its time.
    pub fn late(&self) -> u64 {
        self.counts.late
    }

    /// The number of events that no limiter counts.
    pub fn unusable(&self) -> u64 {
        self.counts.unusable
    }

    /// The number of events that were not kept for lack of room.
    pub fn left_out(&self) -> u64 {
        self.counts.left_out
    }

    /// The times of the first and the last event; `None` without events.
    pub fn times(&self) -> Option<(Time, Time)> {
        (self.first <= self.last).then_some((self.first, self.last))
    }

    /// The usual beginning of the part on which limits are checked: after two thirds of the log. `None`
    /// without events.
    pub fn usual_cut(&self) -> Option<Time> {
        let (first, last) = self.times()?;
        let length = Span::try_from_secs_f64(first.until(last).as_secs_f64() * LEARNED);
        Some(first.after(length.unwrap_or_default()))
    }

    /// The highest cost of an event.
    pub fn highest_cost(&self) -> f64 {
        self.highest_cost
    }

    /// The key of the client at `place`, counted from 0 in the order in which they came; empty
    /// beyond the last.
    pub fn key(&self, place: usize) -> &str {
        self.list.get_index(place).map_or("", |(key, _)| key)
    }

    /// The place of the client called `key`.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.list.get_index_of(key)
    }

    /// The number of events of the client at `place`.
    pub fn requests_of(&self, place: usize) -> u64 {
        self.client(place).map_or(0, |client| client.requests.into())
    }

    /// The number of clients that the client at `place` represents.
    pub fn weight(&self, place: usize) -> u64 {
        self.client(place).map_or(0, |client| 1 << client.halvings)
    }

    /// The events of the client at `place`, in order.
    pub fn moments(&self, place: usize) -> impl Iterator<Item = Moment> + Clone + '_ {
        self.read(place)
    }

    pub(super) fn read(&self, place: usize) -> Moments<'_> {
        let labels = self.labels.is_some();
        let none = Moments::new([&[], &[]], labels);
        self.client(place).map_or(none, |client| client.moments(labels))
    }

    /// The places of all clients, the busiest first; equally busy clients in the order in which they came.
    pub fn busiest(&self) -> Vec<usize> {
        self.busiest_of(|_| true)
    }

    /// The places of the `wanted` clients, the busiest first.
    pub(in crate::tune) fn busiest_of(&self, wanted: impl Fn(&usize) -> bool) -> Vec<usize> {
        let ranked = |place| (Reverse(self.requests_of(place)), place);
        let mut places: Vec<_> = (0..self.len()).filter(wanted).map(ranked).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// Adds the clients and events of another reading, and sorts the events of each client by time.
    ///
    /// The result is that of reading both logs at once, whether they were split by key, by time or at random. If some
    /// clients were dropped, counts of clients are estimates, as before.
    pub fn absorb(&mut self, other: &Clients) {
        if self.halvings < other.halvings {
            self.halve_while(|clients| clients.halvings < other.halvings);
        }
        let mut merged = Vec::new();
        let known = self.absorb_labels(other);
        let exempt = if other.halvings == 0 { other.exempt() } else { Vec::new() };
        for (at, (key, client)) in other.list.iter().enumerate() {
            // Clients kept there as the busiest, not by chance, are kept here, too, and represent only themselves, even
            // if they were in the sample here.
            let is_busiest = client.halvings == 0 && exempt.get(at) != Some(&false);
            let halvings = (is_busiest || client.halvings > 0).then_some(client.halvings);
            let Some(place) = self.place(key, halvings) else {
                self.counts.left_out += u64::from(client.requests);
                continue;
            };
            if let Some(client) = self.client_mut(place).filter(|_| is_busiest) {
                client.halvings = 0;
            }
            let late = self.counts.late;
            if other.moments(at).next().is_some_and(|m| self.is_past(place, m.time)) {
                merged.clear();
                let others = other.labelled_moments(at);
                let others = others.map(|(moment, codes)| (moment, own_codes(codes, &known)));
                merged.extend(self.labelled_moments(place).chain(others));
                merged.sort_by_key(|(moment, _)| moment.time);
                if let Some(client) = self.client_mut(place) {
                    client.clear();
                }
                for &(moment, codes) in &merged {
                    self.push(place, moment, codes);
                }
            } else {
                for (moment, codes) in other.labelled_moments(at) {
                    self.push(place, moment, own_codes(codes, &known));
                }
            }
            // Sorted events did not come late; the late events of the other reading are added below.
            self.counts.late = late;
            if self.is_over() {
                self.make_room();
            }
        }
        let mine = &mut self.counts;
        let its = &other.counts;
        mine.requests = mine.requests.saturating_add(its.requests);
        mine.late = mine.late.saturating_add(its.late);
        mine.unusable = mine.unusable.saturating_add(its.unusable);
        mine.left_out = mine.left_out.saturating_add(its.left_out);
    }

    /// Adds the labels of another reading. Returns the number here of each label by its number there; empty if either
    /// keeps no labels.
    fn absorb_labels(&mut self, other: &Clients) -> [Vec<u16>; 2] {
        let mut translated = <[Vec<u16>; 2]>::default();
        let (Some(mine), Some(its)) = (&mut self.labels, &other.labels) else { return translated };
        for ((mine, its), all) in mine.iter_mut().zip(its).zip(&mut translated) {
            let code = |code: usize| mine.texts.translated(&its.texts, code as u16);
            *all = (0..its.texts.codes()).map(code).collect();
            for (code, n) in all.iter().zip(&its.requests) {
                mine.count(*code, *n);
            }
        }
        translated
    }

    /// Adds a client from a summary.
    ///
    /// # Errors
    /// When the client is here already, or has an event that can't be kept.
    pub(super) fn restore(
        &mut self,
        key: &str,
        halvings: u8,
        moments: &[Moment],
    ) -> Result<(), BadSummary> {
        let twice = self.find(key).is_some();
        let place = self.place(key, Some(halvings)).filter(|_| !twice);
        let place = place.ok_or(BadSummary::Damaged("a client"))?;
        for &moment in moments {
            if !moment.can_be_kept() {
                return Err(BadSummary::Damaged("an event"));
            }
            self.push(place, moment, Codes::default());
        }
        Ok(())
    }

    /// Returns whether `time` is before the last event of the client at `place`.
    fn is_past(&self, place: usize, time: Time) -> bool {
        self.client(place).is_some_and(|client| time.as_micros() < client.last)
    }

    /// Tells whether there was no halving since `ticket` was issued; true without a ticket.
    pub(in crate::tune) fn is_current(&self, ticket: Option<&Ticket>) -> bool {
        ticket.is_none_or(|ticket| ticket.halvings == self.halvings)
    }

    /// The present place of a ticket's client; `None` if it was dropped. A ticket is valid until the second step of
    /// halvings after it.
    #[inline]
    fn current(&self, ticket: Ticket) -> Option<usize> {
        let place = if ticket.halvings == self.halvings {
            Some(ticket.place)
        } else if ticket.halvings == self.moved.halvings {
            self.moved.places.get(ticket.place as usize).copied()
        } else {
            None
        };
        place.filter(|place| *place != NOBODY).map(|place| place as usize)
    }
}

/// The numbers here of the labels with the numbers `codes` elsewhere: the entries of `known` at the places `codes`.
#[inline]
fn own_codes(codes: Codes, known: &[Vec<u16>; 2]) -> Codes {
    let [path, agent] = codes.map(usize::from);
    let [paths, agents] = known;
    [paths.get(path), agents.get(agent)].map(|code| code.copied().unwrap_or_default())
}

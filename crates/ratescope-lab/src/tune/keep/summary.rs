//! Clients as bytes, to be added up elsewhere.
//!
//! A summary has the key and the events of each client, a few bytes an event. So merging loses nothing, whether a
//! fleet's logs were split by key or by time: the sum is that of reading all logs at once. Only clients beyond the room
//! are lost, and then numbers of clients are estimates, with or without merging. The keys may be addresses of people:
//! protect a summary like the log.
//!
//! # The form
//! The first bytes, a version, then numbers of seven bits a byte, the lowest first: lines, lines that could
//! not be read, requests, late, unusable and left out ones, how often the clients were halved, the length of
//! the text that defines a client, and that text. Then the word for the events, the field of the costs, and
//! the number of formats and each of them, all as texts with their length before them. Then the hours whose
//! zone is known: their number, and for each the number of hours since the one before (for the first: since
//! 1970), with a lowest bit that says whether a zone follows; it follows if it differs from the last zone. A
//! zone is the least and the most minutes ahead of UTC. A number n that may be negative is written as 2n, and
//! below zero as -2n - 1. Then each client: the length of its key and the key, how often it was in the half
//! that stayed, the number of its events, the length of their bytes, and these.

use super::clients::{Clients, Requests, Room};
use super::clock::{LogClock, Zones};
use super::sample::MOST_HALVINGS;
use super::stream::{Moment, Moments, Written, first};
use core::fmt;
use percent_encoding::percent_decode_str;
use ratescope::internal::visible;
use ratescope::policy::Per;
use std::borrow::Cow;
use std::io::{self, Write};

/// The first bytes of a summary.
const HEAD: &[u8] = b"ratescope clients\n";

/// The version that is written and read.
pub const VERSION: u8 = 3;

/// The clients of a log.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The fields whose values tell the clients apart.
    pub per: Per,
    /// The number of lines.
    pub lines: u64,
    /// The number of unreadable lines.
    pub unread: u64,
    /// The clients.
    pub clients: Clients,
    /// The offsets from UTC in its lines.
    pub zones: Zones,
    /// The kind of its events.
    pub origin: Origin,
}

/// The kind of the events in one log or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The word for the events, in plural.
    pub events: String,
    /// The field whose values are the costs; empty if no field was chosen.
    pub cost: String,
    /// The formats of the logs, for a person, each once.
    pub formats: Vec<String>,
}

/// The most formats that are kept.
const FORMATS: usize = 32;

/// The word for events of several kinds.
const ANY: &str = "events";

impl Origin {
    /// Adds the events of another log.
    ///
    /// # Errors
    /// When the costs of the two come from different fields; nothing changes then.
    fn add(&mut self, other: &Origin) -> Result<(), BadSummary> {
        if self.cost != other.cost {
            return Err(BadSummary::Cost(self.cost.clone(), other.cost.clone()));
        }
        if self.events != other.events {
            ANY.clone_into(&mut self.events);
        }
        for format in &other.formats {
            if self.formats.len() < FORMATS && !self.formats.contains(format) {
                self.formats.push(format.clone());
            }
        }
        Ok(())
    }
}

/// Why bytes are not a summary, or two summaries can't be added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadSummary {
    /// The bytes do not begin like a summary.
    NotASummary,
    /// The bytes have a version that this program does not read.
    Version(u8),
    /// The bytes end early.
    Short,
    /// The part of this name has an impossible value.
    Damaged(&'static str),
    /// The clients of the two summaries have these different keys.
    Per(Per, Per),
    /// The costs of the two summaries are the values of these different fields; empty for no field.
    Cost(String, String),
}

impl Summary {
    /// Tells whether a file begins like a summary.
    pub fn is_summary(head: &[u8]) -> bool {
        head.starts_with(HEAD)
    }

    /// The name of the client at `place`, for people: its key without escapes, and without characters that would change
    /// the direction of others.
    pub fn name(&self, place: usize) -> String {
        let name: Cow<'_, str> = match (self.clients.key(place), self.per.fields()) {
            // A key without fields, or a client without values in them, has no name.
            ("", _) => Cow::Borrowed("one without a name"),
            (key, [_]) => Cow::Borrowed(key),
            (key, _) => {
                let value = |text| percent_decode_str(text).decode_utf8_lossy();
                let parts = key.split(',').filter_map(|part| part.split_once('='));
                let parts = parts.map(|(name, text)| format!("{name} {}", value(text)));
                Cow::Owned(parts.collect::<Vec<_>>().join(", "))
            }
        };
        name.chars().map(visible).collect()
    }

    /// A summary without events, of clients by `per`.
    pub fn new(per: Per, room: Room) -> Self {
        Summary {
            per,
            lines: 0,
            unread: 0,
            clients: Clients::new(room),
            zones: Zones::default(),
            origin: Origin::default(),
        }
    }

    /// The clock of the log.
    pub fn clock(&self) -> LogClock {
        self.zones.clock()
    }

    /// Adds another summary.
    ///
    /// # Errors
    /// When its clients have another key, or its costs come from another field; nothing changes then.
    pub fn add(&mut self, other: &Summary) -> Result<(), BadSummary> {
        if self.per != other.per {
            return Err(BadSummary::Per(self.per.clone(), other.per.clone()));
        }
        self.origin.add(&other.origin)?;
        self.lines = self.lines.saturating_add(other.lines);
        self.unread = self.unread.saturating_add(other.unread);
        self.clients.absorb(&other.clients);
        self.zones.add(&other.zones);
        Ok(())
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Clients { counts, halvings, list, .. } = &self.clients;
        out.write_all(HEAD)?;
        out.write_all(&[VERSION])?;
        for n in [self.lines, self.unread, counts.requests, counts.late, counts.unusable] {
            number(n, out)?;
        }
        number(counts.left_out, out)?;
        number((*halvings).into(), out)?;
        text(&self.per.to_string(), out)?;
        origin(&self.origin, out)?;
        zones(&self.zones, out)?;
        // The events are encoded again without paths and agents, which do not leave the machine.
        let mut events = Vec::new();
        for (place, (key, client)) in list.iter().enumerate() {
            text(key, out)?;
            number(client.halvings.into(), out)?;
            number(client.requests.into(), out)?;
            events.clear();
            let mut last = None;
            for Moment { time, cost } in self.clients.moments(place) {
                let micros = time.as_micros();
                let step = last.map_or(first(time), |last: i64| (micros - last).unsigned_abs());
                events.extend_from_slice(Written::new(step, cost, None).bytes());
                last = Some(micros);
            }
            number(events.len() as u64, out)?;
            out.write_all(&events)?;
        }
        Ok(())
    }

    /// Reads a summary into a room.
    ///
    /// # Errors
    /// When the bytes are not a summary. Damaged bytes may be read as another summary, but never take more memory than
    /// 128 times their length.
    pub fn read(bytes: &[u8], room: Room) -> Result<Self, BadSummary> {
        let rest = bytes.strip_prefix(HEAD).ok_or(BadSummary::NotASummary)?;
        let (&version, rest) = rest.split_first().ok_or(BadSummary::Short)?;
        if version != VERSION {
            return Err(BadSummary::Version(version));
        }
        let mut rest = Rest(rest);
        let [lines, unread, requests, late, unusable, left_out, halvings] = rest.numbers()?;
        let per: Per = rest.text()?.parse().map_err(|_| BadSummary::Damaged("the key"))?;
        let origin = rest.origin()?;
        let zones = rest.zones()?;
        let mut clients = Clients::new(room);
        clients.halvings = halved(halvings, MOST_HALVINGS)?;
        while !rest.0.is_empty() {
            let key = rest.text()?;
            let [halvings, count, length] = rest.numbers()?;
            let mut moments = Moments::new([rest.bytes(length)?, &[]], false);
            let all: Vec<Moment> = moments.by_ref().collect();
            if all.len() as u64 != count || !moments.is_at_end() {
                return Err(BadSummary::Damaged("the events of a client"));
            }
            clients.restore(key, halved(halvings, clients.halvings)?, &all)?;
        }
        // Every request is kept, left out or unusable, so missing clients at the end are noticed, too.
        let kept: u64 = clients.list.values().map(|client| u64::from(client.requests)).sum();
        let all = [left_out, clients.counts.left_out, kept];
        if all.into_iter().try_fold(unusable, u64::checked_add) != Some(requests) {
            return Err(BadSummary::Damaged("the counts"));
        }
        let left_out = left_out + clients.counts.left_out;
        clients.counts = Requests { requests, late, unusable, left_out };
        if clients.is_over() {
            clients.make_room();
        }
        Ok(Summary { per, lines, unread, clients, zones, origin })
    }
}

/// A number of halvings, of which there are at most `most`.
fn halved(n: u64, most: u8) -> Result<u8, BadSummary> {
    u8::try_from(n).ok().filter(|n| *n <= most).ok_or(BadSummary::Damaged("a number of halvings"))
}

fn number(mut n: u64, out: &mut impl Write) -> io::Result<()> {
    while n >= 0x80 {
        out.write_all(&[n as u8 | 0x80])?;
        n >>= 7;
    }
    out.write_all(&[n as u8])
}

fn text(text: &str, out: &mut impl Write) -> io::Result<()> {
    number(text.len() as u64, out)?;
    out.write_all(text.as_bytes())
}

fn origin(origin: &Origin, out: &mut impl Write) -> io::Result<()> {
    text(&origin.events, out)?;
    text(&origin.cost, out)?;
    number(origin.formats.len() as u64, out)?;
    origin.formats.iter().try_for_each(|format| text(format, out))
}

fn zones(zones: &Zones, out: &mut impl Write) -> io::Result<()> {
    let hours = zones.hours();
    number(hours.len() as u64, out)?;
    let mut last = 0;
    let mut known = None;
    for (hour, range) in hours {
        let other = known != Some(range);
        number(zigzag(hour - last) << 1 | u64::from(other), out)?;
        if other {
            range.into_iter().try_for_each(|east| number(zigzag(east.into()), out))?;
        }
        last = hour;
        known = Some(range);
    }
    Ok(())
}

/// A number with its sign in the lowest bit.
fn zigzag(n: i64) -> u64 {
    (n << 1 ^ n >> 63).cast_unsigned()
}

/// The inverse of [`zigzag`].
fn unzigzag(n: u64) -> i64 {
    (n >> 1).cast_signed() ^ -(n & 1).cast_signed()
}

/// The bytes still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, n: u64) -> Result<&'a [u8], BadSummary> {
        let n = usize::try_from(n).map_err(|_| BadSummary::Short)?;
        let (taken, rest) = self.0.split_at_checked(n).ok_or(BadSummary::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, BadSummary> {
        let mut n = 0;
        for shift in (0..63).step_by(7) {
            let byte = *self.bytes(1)?.first().ok_or(BadSummary::Short)?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(BadSummary::Damaged("a number"))
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u64; N], BadSummary> {
        let mut all = [0; N];
        for n in &mut all {
            *n = self.number()?;
        }
        Ok(all)
    }

    fn origin(&mut self) -> Result<Origin, BadSummary> {
        let [events, cost] = [self.text()?, self.text()?].map(str::to_owned);
        let count = self.number()?;
        if count > FORMATS as u64 {
            return Err(BadSummary::Damaged("a number of formats"));
        }
        let formats: Result<Vec<String>, _> =
            (0..count).map(|_| self.text().map(str::to_owned)).collect();
        Ok(Origin { events, cost, formats: formats? })
    }

    fn zones(&mut self) -> Result<Zones, BadSummary> {
        let mut zones = Zones::default();
        let mut hour = 0i64;
        let mut range = None;
        for _ in 0..self.number()? {
            let n = self.number()?;
            hour = hour.wrapping_add(unzigzag(n >> 1));
            if n & 1 == 1 {
                let [low, high] = self.numbers()?.map(|n| i16::try_from(unzigzag(n)).ok());
                range = low.zip(high);
            }
            let kept = range.and_then(|(low, high)| zones.restore(hour, [low, high]));
            kept.ok_or(BadSummary::Damaged("a zone"))?;
        }
        Ok(zones)
    }

    fn text(&mut self) -> Result<&'a str, BadSummary> {
        let length = self.number()?;
        str::from_utf8(self.bytes(length)?).map_err(|_| BadSummary::Damaged("a text"))
    }
}

impl fmt::Display for BadSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSummary::NotASummary => f.write_str("not a summary; --summary writes one"),
            BadSummary::Version(version) => {
                write!(f, "a summary of version {version}, but only {VERSION} is read here")
            }
            BadSummary::Short => f.write_str("the summary ends early"),
            BadSummary::Damaged(part) => write!(f, "the summary is damaged: {part} can't be read"),
            BadSummary::Cost(a, b) => {
                let [a, b] = [a, b].map(|cost| match cost.as_str() {
                    "" => "each event as 1".to_owned(),
                    cost => cost.chars().map(visible).collect(),
                });
                write!(f, "one summary counts {a}, another {b}; they don't add up")
            }
            BadSummary::Per(a, b) => {
                write!(f, "one summary is of clients per {a}, another per {b}; they don't add up")
            }
        }
    }
}

impl core::error::Error for BadSummary {}

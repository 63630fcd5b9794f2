//! Records: events that borrow from their line; and rows, which own their fields and outlive it.

use super::forwarded;
use super::instant::Instant;
use super::names::Standard;
use super::order::When;
use super::request;
use super::search;
use core::fmt;
use core::num::NonZeroU8;
use ratescope::address;
use ratescope::event::{Event, Fields};
use ratescope::internal::Made;
use ratescope::limit::MAX_COST;
use ratescope::time::Time;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The most events of a line. If a line stands for more events, this many share the cost of all.
const MOST_TIMES: u32 = 1000;

/// The event of a line, or [several](Self::times) equal ones, as when the line reports repeated messages. Fields are
/// looked up on demand, and nothing is allocated.
///
/// # Fields
/// In every format, fields of the same meaning have the same name: `ip`, `user`, `method`, `path`, `status`, `bytes`,
/// `host`, `agent`, `referer`, `forwarded`. In JSON and CSV they are also found under the names that servers use, and
/// every other field under its own name. So `per ip` and `per user+path` mean the same for all logs. In `ip`, an IPv6
/// address that stands for an IPv4 address becomes the IPv4 address, and any other is grouped by its /64, unless
/// [`Options`](crate::Options) say otherwise. `path` has no query, and may be cut to its first segments.
///
/// # Times
/// Time zones are respected; a time without a zone is UTC. A [`Layout`](crate::Layout) may have the form of a time as
/// for `strftime`. For a log in whole seconds, [`Order`](crate::Order) spreads the events of a second over it; it also
/// sorts lines.
#[derive(Debug)]
pub struct Record<'a> {
    pub(super) line: u64,
    pub(super) instant: Instant,
    pub(super) cost: f64,
    times: u32,
    values: &'a dyn Values,
    normal: Normal,
    ip: OnceLock<Option<Made>>,
    forwarded: OnceLock<Option<Made>>,
}

/// The values of a line, as the parser of its format finds them.
pub(super) trait Values: fmt::Debug + Sync {
    /// The value of a field, as in the log.
    fn value(&self, name: &str) -> Option<&str>;

    /// The value of a standard field, as in the log.
    fn standard(&self, standard: Standard) -> Option<&str> {
        self.value(standard.name())
    }

    /// The path without its query, if it is found faster than by parsing the request.
    fn plain_path(&self) -> Option<&str> {
        None
    }

    /// The number of members of a list in a field; `None` for a field that is not a list.
    fn members(&self, _name: &str) -> Option<f64> {
        None
    }

    /// The number of events that the line stands for; `None` if only a wrapper says so.
    fn times(&self) -> Option<u32> {
        None
    }

    /// Tells whether the value of a field is found without a search among the [names](Self::named).
    fn is_placed(&self, _name: &str) -> bool {
        true
    }

    /// The name and the value at an index, in a line of names and values; `None` after the last.
    fn named(&self, _at: usize) -> Option<(&str, &str)> {
        None
    }
}

/// How addresses and paths are grouped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal {
    pub(super) ipv6_prefix: u8,
    pub(super) path_depth: Option<NonZeroU8>,
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn new(line: u64, instant: Instant, values: &'a dyn Values, normal: Normal) -> Self {
        let ip = OnceLock::new();
        let forwarded = OnceLock::new();
        Record { line, instant, cost: 1.0, times: 1, values, normal, ip, forwarded }
    }

    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The time since the Unix epoch, or since the origin of the numbers in a log of numbers.
    #[inline]
    pub fn time(&self) -> Time {
        self.instant.time
    }

    /// The offset of the log's clock from UTC in minutes, if the line has it. Times as numbers are in UTC.
    #[inline]
    pub fn minutes_east(&self) -> Option<i16> {
        self.instant.east
    }

    /// The number of equal events that the line stands for, from 0 to 1,000. A line for more events counts as 1,000
    /// events that share the cost of all.
    #[inline]
    pub fn times(&self) -> u32 {
        self.times
    }

    /// Makes the record stand for `times` events.
    pub(super) fn repeat(&mut self, times: u32) {
        self.times = times.min(MOST_TIMES);
        if times > MOST_TIMES {
            let each = f64::from(times) / f64::from(MOST_TIMES);
            self.cost = (self.cost * each).min(MAX_COST);
        }
    }

    /// The time and the number of events, for an [`Order`](super::Order).
    #[inline]
    pub fn when(&self) -> When {
        let Instant { time, coarse, .. } = self.instant;
        When { time, coarse, times: self.times }
    }

    /// The cost of each of the events.
    #[inline]
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The event, which the line stands for [`times`](Self::times) times.
    pub fn event(&self) -> Event<'_> {
        Event { time: self.instant.time, cost: self.cost, fields: self }
    }

    /// Looks for one of these fields that is not empty.
    #[inline]
    pub(super) fn has_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.raw(name).is_some_and(|text| !text.is_empty()))
    }

    /// The value of a standard field, as in the log.
    pub(super) fn standard(&self, standard: Standard) -> Option<&'a str> {
        self.values.standard(standard)
    }

    /// The value of a field, as in the log.
    #[inline]
    pub(super) fn raw(&self, name: &str) -> Option<&'a str> {
        self.values.value(name)
    }

    /// The value of a placed field is found without a search among [`named`](Self::named).
    pub(super) fn is_placed(&self, name: &str) -> bool {
        self.values.is_placed(name)
    }

    /// The names and values of a line that has them.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let values = self.values;
        (0..).map_while(|at| values.named(at))
    }

    /// The path without its query, cut to as many segments as the options say.
    #[inline]
    pub fn path(&self) -> Option<&'a str> {
        let plain = self.values.plain_path();
        let path = plain.or_else(|| self.standard(Standard::Path).map(request::path))?;
        Some(self.normal.path_depth.map_or(path, |depth| request::segments(path, depth)))
    }

    /// The name of the program that sent the request, as in the log.
    #[inline]
    pub fn agent(&self) -> Option<&'a str> {
        self.standard(Standard::Agent)
    }

    /// The normal form of an address; other texts stay as they are. `made` keeps the form.
    #[inline]
    fn address<'b>(&self, text: &'b str, made: &'b OnceLock<Option<Made>>) -> &'b str {
        // An IPv4 address has one spelling, and a name stays.
        if !search::has(b':', text.as_bytes()) {
            return text;
        }
        let of = |address| Made::of(address, self.normal.ipv6_prefix);
        let made = made.get_or_init(|| address::parse(text).map(of));
        made.as_ref().map_or(text, Made::as_str)
    }
}

impl Record<'_> {
    /// The value of a [field](Self#fields); `None` if the line does not have it, or a dash in its place.
    #[inline]
    pub fn value(&self, name: &str) -> Option<&str> {
        if name == "path" {
            return self.path();
        }
        let raw = self.raw(name)?;
        Some(match name {
            "ip" => self.address(raw, &self.ip),
            "forwarded" => self.address(forwarded::client(raw, None)?, &self.forwarded),
            _ => raw,
        })
    }

    /// The value of a field, without grouping IPv6 addresses.
    pub(super) fn ungrouped(&self, name: &str) -> Option<Box<str>> {
        let text = match name {
            "ip" => self.raw(name)?,
            "forwarded" => forwarded::client(self.raw(name)?, None)?,
            _ => return self.value(name).map(Box::from),
        };
        let address = address::parse(text);
        Some(address.map_or(text.into(), |address| Made::of(address, 128).as_str().into()))
    }
}

impl Fields for Record<'_> {
    #[inline]
    fn value(&self, name: &str) -> Option<&str> {
        self.value(name)
    }
}

/// The names of the fields of rows, sorted, shared by all rows of a log. There may be thousands: the fields of all
/// rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Names(Arc<[String]>);

impl Names {
    fn place(&self, name: &str) -> Option<usize> {
        self.0.binary_search_by(|known| known.as_str().cmp(name)).ok()
    }
}

impl<T: Into<String>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        Names(names.into_iter().collect())
    }
}

/// An event with a copy of some of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The time.
    pub time: Time,
    /// The cost.
    pub cost: f64,
    names: Names,
    /// The values of the event, each with the index of its name, in the order of the names.
    values: Box<[(usize, Box<str>)]>,
}

impl Row {
    /// Copies the fields `names` of an event.
    pub fn new(record: &Record<'_>, names: &Names) -> Self {
        Row::of(record, names, &|name| record.value(name).map(Box::from))
    }

    /// Copies the fields `names` of an event, without grouping IPv6 addresses.
    pub fn ungrouped(record: &Record<'_>, names: &Names) -> Self {
        Row::of(record, names, &|name| record.ungrouped(name))
    }

    fn of(record: &Record<'_>, names: &Names, value: &dyn Fn(&str) -> Option<Box<str>>) -> Self {
        // There may be thousands of names and of values in a line, so neither list is searched once for each item of
        // the other.
        let placed = names.0.iter().enumerate().filter(|(_, name)| record.is_placed(name));
        let placed = placed.filter_map(|(place, name)| Some((place, value(name)?)));
        let named = record.named().filter_map(|(name, value)| {
            let place = names.place(name)?;
            (!record.is_placed(name)).then(|| (place, value.into()))
        });
        let mut values: Vec<(usize, Box<str>)> = placed.chain(named).collect();
        // If a name occurs twice, its first value counts.
        values.sort_by_key(|(place, _)| *place);
        values.dedup_by_key(|(place, _)| *place);
        Row {
            time: record.time(),
            cost: record.cost(),
            names: names.clone(),
            values: values.into(),
        }
    }

    /// The bytes that it takes in memory, without the shared names.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.values.iter().map(|(_, text)| text.len()).sum();
        size_of::<Self>() + size_of_val(&*self.values) + texts
    }

    /// The event.
    pub fn event(&self) -> Event<'_> {
        Event { time: self.time, cost: self.cost, fields: self }
    }
}

impl Fields for Row {
    fn value(&self, name: &str) -> Option<&str> {
        let place = self.names.place(name)?;
        let at = self.values.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        self.values.get(at).map(|(_, value)| &**value)
    }
}

//! A made-up server log: days of a small site, to try things on.
//!
//! People come by day more than by night and read some pages, each with its pictures; an office has
//! many people behind one address in working hours; two search engines and a feed reader go through
//! the pages at their own pace; a monitor asks regularly; and each night somebody tries stolen
//! passwords from many addresses, slowly from each. A seed gives the same log on every machine.
//!
//! Nobody is meant: the addresses are reserved for examples, tests and networks of providers (RFC
//! 5737, 3849, 2544, 6598), the names are made up.
//!
//! ```
//! use ratescope::Span;
//! use ratescope::traffic::sample::{Sample, Style};
//!
//! let mut log = String::from(Style::Combined.header());
//! for entry in Sample::new(1, 1000, Span::hours(48))? {
//!     Style::Combined.write(&entry, &mut log);
//! }
//! assert_eq!(log.lines().count(), 1000);
//! assert!(log.starts_with("203.0.113.200 - - [") && log.contains("\"POST /login HTTP/1.1\" 401"));
//! # Ok::<(), ratescope::BadNumber>(())
//! ```

mod actors;
mod clients;
mod site;
mod style;

pub use style::Style;

use super::Traffic;
use super::random::Random;
use crate::civil::{DAY, SECOND};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use actors::{Actor, Due};
use core::net::IpAddr;
use site::Page;
use std::collections::BinaryHeap;

/// When every log begins: midnight of Monday, 2 March 2026, UTC.
const START: i64 = 20_514 * DAY;

/// A request, a mail or a login, by the style of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// When it came.
    pub time: Time,
    /// The address of the client.
    pub ip: IpAddr,
    /// The number of the user, if one is logged in.
    pub user: Option<u32>,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The requested page.
    page: Page,
    /// The page that led there.
    from: Option<Page>,
    /// The answer.
    pub status: u16,
    /// How long it was, in bytes.
    pub bytes: u32,
    /// The program that asked.
    pub agent: &'static str,
}

impl Entry {
    /// The path, with its query.
    pub fn path(&self) -> String {
        self.page.to_string()
    }
}

/// The entries of a log, in order. It holds the next actions, not the log.
#[derive(Clone, Debug)]
pub struct Sample {
    random: Random,
    left: u64,
    plan: Plan,
    /// The next actions, the earliest first.
    due: BinaryHeap<Due>,
    /// The number of actions that were ever put into `due`.
    put: u64,
    /// When people come, by day and by night.
    visits: Traffic,
    /// How many people have come.
    clients: u32,
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Visits from the office in working hours, entries of the crawlers and of the monitor, and
    /// attempts of each address at night: the gaps between them, in microseconds.
    office: f64,
    crawlers: [f64; 3],
    monitor: f64,
    attempts: f64,
    /// How many addresses try passwords at night.
    attackers: u32,
}

/// The parts of the log that come from people, the office, crawlers, the attack and the monitor.
const PARTS: [f64; 5] = [0.7, 0.1, 0.1, 0.08, 0.02];

/// How the crawlers share theirs.
const CRAWLERS: [f64; 3] = [0.55, 0.35, 0.1];

/// How many times an address tries passwords in a night, in the mean.
const TRIES: f64 = 150.0;

impl Sample {
    /// A log of `lines` entries in about `span`: more of them in the same span are a busier site.
    ///
    /// # Errors
    /// When the span is zero.
    pub fn new(seed: u64, lines: u64, span: Span) -> Result<Self, BadNumber> {
        if span == Span::ZERO {
            let want = "longer than zero";
            return Err(BadNumber { what: "the span of a log in seconds", given: 0.0, want });
        }
        let micros = span.secs() * 1e6;
        let all = (lines as f64).max(1.0);
        let [people, office, crawlers, attack, monitor] = PARTS.map(|part| all * part);
        let days = micros / DAY as f64;
        let attackers = libm::ceil(attack / days.max(0.5) / TRIES);
        let plan = Plan {
            // A third of the day are working hours.
            office: micros / 3.0 / (office / site::PER_VISIT),
            crawlers: CRAWLERS.map(|part| micros / (crawlers * part)),
            monitor: (micros / monitor).max(SECOND as f64),
            attempts: actors::NIGHT as f64 / TRIES,
            attackers: attackers.min(65_536.0) as u32,
        };
        // The rate of day and night is the highest at six; people are at fifteen.
        let start = Time::from_micros(START - actors::LATER);
        let pattern = super::Pattern::DayAndNight { day: Span::hours(24) };
        let per_second = people / site::PER_VISIT / span.secs();
        let visits = Traffic::new(pattern, per_second, seed, start)?;
        let random = Random::new(seed ^ 0x5eed);
        let due = BinaryHeap::new();
        let mut sample = Sample { random, left: lines, plan, due, put: 0, visits, clients: 0 };
        sample.begin();
        Ok(sample)
    }

    fn put(&mut self, at: i64, actor: Actor) {
        self.put += 1;
        self.due.push(Due { at, put: self.put, actor });
    }
}

impl Iterator for Sample {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let Due { at, actor, .. } = self.due.pop()?;
            if let Some(entry) = self.act(at, actor) {
                return Some(entry);
            }
        }
    }
}

//! A made-up server log: days of a small site, to try things with.
//!
//! More people come by day than by night, and each reads some pages with pictures; in working hours many people of an
//! office share one address; two search engines and a feed reader fetch pages at their own pace; a monitor comes at
//! regular intervals; and each night somebody tries stolen passwords from many addresses, slowly from each. The same
//! seed gives the same log on every machine.
//!
//! No real client appears: the addresses are reserved for examples, tests and networks of providers (RFC
//! 5737, 3849, 2544, 6598), and the names are made up.
//!
//! ```
//! use ratescope::Span;
//! use ratescope_lab::traffic::sample::{Sample, Style};
//!
//! let mut log = String::from(Style::Combined.header());
//! for entry in Sample::new(1, 1000, Span::from_hours(48))? {
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
use actors::Actor;
use core::cmp::Reverse;
use core::net::IpAddr;
use ratescope::text::BadNumber;
use ratescope::time::{Span, Time};
use ratescope_log::civil::{DAY, SECOND};
use site::Page;
use std::collections::BinaryHeap;

/// The beginning of every log: midnight of Monday, 2 March 2026, UTC.
const START: i64 = 20_514 * DAY;

/// The longest span of a log. The gaps between few lines are thousands of times as long, and must still be valid times.
const LONGEST: Span = Span::from_hours(3650 * 24);

/// An entry of the log: a request, a mail or a login, depending on the style of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// When the request came.
    pub time: Time,
    /// The address of the client.
    pub ip: IpAddr,
    /// The number of the user, if the client is logged in.
    pub user: Option<u32>,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The requested page.
    page: Page,
    /// The page with the link to the requested page.
    from: Option<Page>,
    /// The status of the response.
    pub status: u16,
    /// The length of the response in bytes.
    pub bytes: u32,
    /// The name of the program that sent the request.
    pub agent: &'static str,
}

impl Entry {
    /// The path, with its query.
    pub fn path(&self) -> String {
        self.page.to_string()
    }
}

/// The entries of a log, in order of time. It keeps only the next action of each actor, not the log.
#[derive(Clone, Debug)]
pub struct Sample {
    random: Random,
    /// The number of entries still to come.
    left: u64,
    plan: Plan,
    /// The next actions, the earliest first: the time of each, its number and its actor. Of two actions at the same
    /// time, the one that was planned first comes first. Numbers are unique, so actors are never compared.
    due: BinaryHeap<Reverse<(i64, u64, Actor)>>,
    /// The number of actions that were ever added to `due`.
    scheduled: u64,
    /// The times at which people come, before the shift by `LATER`.
    visits: Traffic,
    /// The number of people who have come.
    clients: u32,
}

/// The mean gaps of the actors in microseconds, and the number of attackers.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Between visits from the office, in working hours.
    office: f64,
    /// Between entries of each crawler.
    crawlers: [f64; 3],
    /// Between entries of the monitor, always exactly.
    monitor: f64,
    /// Between attempts of one address at night.
    attempts: f64,
    /// The number of addresses that try passwords each night.
    attackers: u32,
}

/// The parts of the log that come from people, the office, the crawlers, the attack and the monitor.
const PARTS: [f64; 5] = [0.7, 0.1, 0.1, 0.08, 0.02];

/// The part of each crawler in the entries of all three.
const CRAWLERS: [f64; 3] = [0.55, 0.35, 0.1];

/// The mean number of attempts of an address in a night.
const TRIES: f64 = 150.0;

impl Sample {
    /// A log of `lines` entries that spans about `span`: the more entries in the same span, the busier the
    /// site.
    ///
    /// # Errors
    /// When the span is zero, or longer than ten years (of 365 days).
    pub fn new(seed: u64, lines: u64, span: Span) -> Result<Self, BadNumber> {
        if span == Span::ZERO || span > LONGEST {
            let what = "the span of a log in seconds";
            let given = span.as_secs_f64();
            let want = "longer than zero, and at most ten years";
            return Err(BadNumber { what, given, want });
        }
        let micros = span.as_secs_f64() * 1e6;
        let all = (lines as f64).max(1.0);
        let [people, office, crawlers, attack, monitor] = PARTS.map(|part| all * part);
        let days = micros / DAY as f64;
        let attackers = libm::ceil(attack / days.max(0.5) / TRIES);
        let plan = Plan {
            // Working hours are a third of a day.
            office: micros / 3.0 / (office / site::PER_VISIT),
            crawlers: CRAWLERS.map(|part| micros / (crawlers * part)),
            monitor: (micros / monitor).max(SECOND as f64),
            attempts: actors::NIGHT as f64 / TRIES,
            attackers: attackers.min(65_536.0) as u32,
        };
        // The rate of day and night is highest at 6:00, the rate of people at 15:00.
        let start = Time::from_micros(START - actors::LATER);
        let pattern = super::Pattern::DayAndNight { day: Span::from_hours(24) };
        let per_second = people / site::PER_VISIT / span.as_secs_f64();
        let visits = Traffic::new(pattern, per_second, seed, start)?;
        let random = Random::new(seed ^ 0x5eed);
        let due = BinaryHeap::new();
        let mut sample =
            Sample { random, left: lines, plan, due, scheduled: 0, visits, clients: 0 };
        sample.begin();
        Ok(sample)
    }

    fn schedule(&mut self, at: i64, actor: Actor) {
        self.scheduled += 1;
        self.due.push(Reverse((at, self.scheduled, actor)));
    }
}

impl Iterator for Sample {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let Reverse((at, _, actor)) = self.due.pop()?;
            if let Some(entry) = self.act(at, actor) {
                return Some(entry);
            }
        }
    }
}

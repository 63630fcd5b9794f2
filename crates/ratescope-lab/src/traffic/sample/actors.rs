//! The actors, and the next action of each.

use super::clients::{self, Client};
use super::site::{self, Page};
use super::{Entry, START, Sample};
use ratescope::time::Time;
use ratescope_log::civil::{DAY, SECOND};

/// The delay of people's visits behind the pattern of day and night, whose rate is highest at 6:00.
pub(super) const LATER: i64 = 9 * 3600 * SECOND;

/// The time of day at which the attack begins.
const NIGHTFALL: i64 = 2 * 3600 * SECOND;
/// The length of the attack.
pub(super) const NIGHT: i64 = 90 * 60 * SECOND;

/// The beginning of working hours, from Monday to Friday.
const OPENS: i64 = 9 * 3600 * SECOND;
/// The end of working hours.
const CLOSES: i64 = 17 * 3600 * SECOND;

/// The next actor. The order of the variants has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Actor {
    /// The next person comes.
    Visitor,
    /// Somebody in the office begins a visit.
    Colleague,
    /// Somebody requests the next page or picture of a visit.
    Visit(Visit),
    Crawler(u8),
    Monitor,
    /// The attack of a night begins.
    Nightfall,
    /// One address of the attack tries a password.
    Attacker(u32),
}

/// The visit of a person, who reads some pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visit {
    client: Client,
    page: Page,
    from: Option<Page>,
    /// The number of the next picture of the page; 0 stands for the page itself.
    pictures: u8,
}

impl Sample {
    /// Plans the first actions of the log.
    pub(super) fn begin(&mut self) {
        self.visitor();
        self.schedule(START + OPENS, Actor::Colleague);
        for crawler in 0..3 {
            let gap = self.exponential(self.plan.crawlers[usize::from(crawler)]);
            self.schedule(START + gap, Actor::Crawler(crawler));
        }
        self.schedule(START, Actor::Monitor);
        self.schedule(START + NIGHTFALL, Actor::Nightfall);
    }

    /// Carries out an action at `at` and plans the next one; returns an entry if the action makes one.
    pub(super) fn act(&mut self, at: i64, actor: Actor) -> Option<Entry> {
        match actor {
            Actor::Visitor => {
                self.visitor();
                // Three in ten visits are by one of the last 5000 people.
                let known = self.clients.min(5000);
                let number = if self.random.uniform() < 0.3 && known > 0 {
                    self.clients - 1 - self.below(known)
                } else {
                    self.clients += 1;
                    self.clients - 1
                };
                let client = clients::person(number, &mut self.random);
                self.arrive(at, client);
                None
            }
            Actor::Colleague => {
                let next = working_time(at + self.exponential(self.plan.office));
                self.schedule(next, Actor::Colleague);
                let client = clients::colleague(self.below(40));
                self.arrive(at, client);
                None
            }
            Actor::Visit(visit) => Some(self.read(at, visit)),
            Actor::Crawler(number) => {
                let gap = self.exponential(self.plan.crawlers[usize::from(number % 3)]);
                self.schedule(at + gap, Actor::Crawler(number));
                let feed = number == 2;
                let page = if feed { Page::FEED } else { site::page(&mut self.random) };
                let client = clients::crawler(number);
                Some(self.entry(at, client, page, None, "GET"))
            }
            Actor::Monitor => {
                self.schedule(at + self.plan.monitor as i64, Actor::Monitor);
                Some(self.entry(at, clients::MONITOR, Page::HEALTH, None, "GET"))
            }
            Actor::Nightfall => {
                self.schedule(at + DAY, Actor::Nightfall);
                for attacker in 0..self.plan.attackers {
                    let wait = self.exponential(self.plan.attempts);
                    self.schedule(at + wait, Actor::Attacker(attacker));
                }
                None
            }
            Actor::Attacker(number) => {
                if at.rem_euclid(DAY) > NIGHTFALL + NIGHT {
                    return None;
                }
                let gap = self.exponential(self.plan.attempts);
                self.schedule(at + gap, Actor::Attacker(number));
                let night = at.div_euclid(DAY) as u32;
                let client = clients::attacker(number, night);
                let mut entry = self.entry(at, client, Page::LOGIN, None, "POST");
                // One password in a thousand is still valid.
                let found = self.random.uniform() < 0.001;
                (entry.status, entry.bytes) = if found { (302, 0) } else { (401, 1290) };
                Some(entry)
            }
        }
    }

    /// Plans the visit of the next person.
    fn visitor(&mut self) {
        if let Some(at) = self.visits.next() {
            self.schedule(at.as_micros() + LATER, Actor::Visitor);
        }
    }

    /// Begins a visit with a page.
    fn arrive(&mut self, at: i64, client: Client) {
        let page = site::page(&mut self.random);
        self.schedule(at, Actor::Visit(Visit { client, page, from: None, pictures: 0 }));
    }

    /// Requests the page of a visit or its next picture, and plans the next picture, or perhaps another page.
    fn read(&mut self, at: i64, mut visit: Visit) -> Entry {
        let Visit { client, page, from, pictures } = visit;
        let shown = if pictures > 0 { page.picture(pictures) } else { page };
        if pictures < visit.page.pictures() {
            visit.pictures += 1;
            let gap = 15_000.0 + self.exponential(60_000.0) as f64;
            visit.from = Some(page);
            self.schedule(at + gap as i64, Actor::Visit(visit));
        } else if self.random.uniform() < site::GO_ON {
            let next = site::page(&mut self.random);
            let visit = Visit { client, page: next, from: Some(page), pictures: 0 };
            let gap = SECOND + self.exponential(25e6);
            self.schedule(at + gap, Actor::Visit(visit));
        }
        self.entry(at, client, shown, from, "GET")
    }

    fn entry(
        &mut self,
        at: i64,
        client: Client,
        page: Page,
        from: Option<Page>,
        method: &'static str,
    ) -> Entry {
        let (status, bytes) = page.answer(&mut self.random);
        let Client { ip, user, agent } = client;
        let time = Time::from_micros(at);
        Entry { time, ip, user, method, page, from, status, bytes, agent }
    }

    /// A random time in microseconds, exponential with this mean.
    fn exponential(&mut self, mean: f64) -> i64 {
        (self.random.exponential() * mean) as i64
    }

    /// A random number from 0 to `count` - 1.
    fn below(&mut self, count: u32) -> u32 {
        site::below(&mut self.random, count)
    }
}

/// `at` if it is in working hours, otherwise the next opening of the office; working hours of a weekend move to the
/// same time on Monday.
fn working_time(at: i64) -> i64 {
    let day = at.div_euclid(DAY);
    let of_day = at.rem_euclid(DAY);
    let next = match of_day {
        ..OPENS => day * DAY + OPENS,
        OPENS..CLOSES => at,
        _ => (day + 1) * DAY + OPENS,
    };
    // Day 0, 1 January 1970, was a Thursday, so Saturday is 2 and Sunday is 3 modulo 7.
    match next.div_euclid(DAY).rem_euclid(7) {
        2 => next + 2 * DAY,
        3 => next + DAY,
        _ => next,
    }
}

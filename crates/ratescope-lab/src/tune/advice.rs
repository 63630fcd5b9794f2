//! The recommended limit, the smallest that leaves nearly all clients alone, with doubts about it.

use crate::tune::{Curve, Measure, Moment, Part, Share, percent, scale};
use core::fmt;
use ratescope::internal::grouped;
use ratescope::limit::any::AnyLimiter;
use ratescope::time::{Span, Time};

/// The goal of a limit. Clients marked as legitimate are never refused, with any goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// The least share of clients that are never refused, from 0 to 1.
    Untouched(f64),
    /// For a log of failed logins. Most of its clients are attackers, so leaving nearly all of them alone would let
    /// them in. The limit is the smallest that lets [`MISTAKES`] events of a client pass at once.
    Mistakes,
}

/// How many times in a row a person may mistype a password.
pub const MISTAKES: u32 = 3;

/// Leaves 999 of 1000 clients alone.
impl Default for Aim {
    fn default() -> Self {
        Aim::Untouched(UNTOUCHED)
    }
}

/// The usual share of clients to leave alone.
pub(super) const UNTOUCHED: f64 = 0.999;

/// A recommended limit, and the doubts about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The smallest usual number that reaches the goal, if any does.
    pub limit: Option<f64>,
    /// The limiter with this limit.
    pub limiter: Option<AnyLimiter>,
    /// The clients from which it was learned, except those left aside, and how many it touches.
    pub learned: Share,
    /// The clients in the rest of the log, if the rest was set apart and has events.
    pub checked: Option<Share>,
    /// The bend of the curve: beyond it, a higher limit spares few more clients.
    pub knee: Option<f64>,
    /// Reasons to think twice.
    pub doubts: Vec<Doubt>,
}

/// A reason not to trust a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
    /// There are no events.
    NoEvents,
    /// No limit of the scale reaches the goal, or the limiter does not accept it.
    NoLimit,
    /// The limit is chosen for one client only.
    OneClient,
    /// The share of clients to leave alone is all of these clients, and the fastest of them sets the limit: without it,
    /// half of the limit or less would do.
    Fastest {
        /// The share, from 0 to 1.
        untouched: f64,
        /// The number of clients.
        clients: u64,
        /// The limit that would do without the fastest.
        without: f64,
    },
    /// The log is shorter than ten periods.
    ShortLog(Span),
    /// In the rest of the log, the limit touches more than twice the clients that it may touch.
    Drifts(Share),
    /// No client ever exceeded the common rate.
    AllAlike,
}

/// Recommends a limit, learned from the first part of the log if there is a second part to check it on, otherwise from
/// the whole log. Clients that are left aside count in neither part.
pub fn advise(curve: &Curve, aim: &Aim) -> Advice {
    let part = curve.learned_from();
    let checked = part == Part::Learned;
    let limit = least_limit(curve, aim, part);
    let share = |part| Share {
        touched: limit.map_or(0, |limit| curve.touched_by_mistake(part, limit)),
        clients: curve.counted(part),
    };
    let mut advice = Advice {
        limit,
        limiter: limit.and_then(|limit| curve.measure.limiter(limit).ok()),
        learned: share(part),
        checked: checked.then(|| share(Part::Checked)),
        knee: knee(curve, part),
        doubts: Vec::new(),
    };
    advice.doubts = doubts(curve, aim, &advice, part);
    advice
}

/// The smallest usual limit that touches no more clients of a part than it may, and no marked client. If no client
/// stays below 1, the limit lets an event of cost 1 pass: it is at least 1, and above 1 for a limiter that refuses at
/// its limit. Policies refuse a lower limit, and a server with whole numbers would read it as 0.
pub(super) fn least_limit(curve: &Curve, aim: &Aim, part: Part) -> Option<f64> {
    least_limit_touching(may_touch(aim, curve.counted(part)), curve, aim, part)
}

/// The smallest usual limit that touches at most `may` clients.
fn least_limit_touching(may: u64, curve: &Curve, aim: &Aim, part: Part) -> Option<f64> {
    let does = |limit: &f64| {
        curve.touched_by_mistake(part, *limit) <= may
            && curve.marked.touched(Part::Whole, *limit) == 0
    };
    let [lowest, below_1] = [0.001, 0.999].map(|limit| curve.touched_by_mistake(part, limit));
    let passes = match aim {
        Aim::Mistakes => level_of(curve.measure, MISTAKES),
        Aim::Untouched(_) if lowest == below_1 => 1.0,
        Aim::Untouched(_) => 0.0,
    };
    let mut limits = scale::nice().skip_while(|l| curve.measure.over().is_over(passes, *l));
    limits.find(does).filter(|_| curve.counted(part) > 0)
}

/// The highest level of a client that comes `n` times in an instant.
fn level_of(measure: Measure, n: u32) -> f64 {
    let moment = Moment { time: Time::ZERO, cost: 1.0 };
    measure.peak((0..n).map(|_| moment)).map_or(0.0, |peak| peak.level)
}

/// The most clients that may be touched.
fn may_touch(aim: &Aim, clients: u64) -> u64 {
    let Aim::Untouched(share) = aim else { return clients };
    // A little less, so that rounding never makes 99.9 % of 1000 more than 999.
    let untouched = libm::ceil(share * clients as f64 - 1e-6);
    clients.saturating_sub(untouched as u64)
}

/// The bend of the curve of untouched clients over the logarithm of the limit: its highest point above the straight
/// line between its ends. (Definition: V. Satopaa and others, "Finding a 'kneedle' in a haystack", 2011.)
fn knee(curve: &Curve, part: Part) -> Option<f64> {
    let touched = |limit: &f64| curve.all.touched(part, *limit);
    let all = curve.all.clients(part);
    let first = scale::nice().take_while(|limit| touched(limit) == all).last()?;
    let last = scale::nice().find(|limit| touched(limit) == 0)?;
    let from = libm::log(first);
    let to = libm::log(last);
    let above = |limit: f64| {
        let along = (libm::log(limit) - from) / (to - from);
        (all - touched(&limit)) as f64 / all as f64 - along
    };
    let between = scale::nice().filter(|limit| (first..=last).contains(limit));
    let higher = |a: (f64, f64), b: (f64, f64)| if b.1 >= a.1 { b } else { a };
    between.map(|limit| (limit, above(limit))).reduce(higher).map(|(limit, _)| limit)
}

fn doubts(curve: &Curve, aim: &Aim, advice: &Advice, part: Part) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let clients = curve.counted(part);
    let Some((first, last)) = curve.times else { return vec![Doubt::NoEvents] };
    if advice.limiter.is_none() {
        doubts.push(Doubt::NoLimit);
    }
    if let Aim::Untouched(untouched) = *aim
        && untouched < 1.0
        && may_touch(aim, clients) == 0
    {
        let without = least_limit_touching(1, curve, aim, part);
        let is_half = |without: &f64| advice.limit.is_some_and(|limit| *without <= limit / 2.0);
        match without.filter(is_half) {
            _ if clients == 1 => doubts.push(Doubt::OneClient),
            Some(without) => doubts.push(Doubt::Fastest { untouched, clients, without }),
            None => {}
        }
    }
    let log = first.until(last);
    if log.as_secs_f64() < 10.0 * curve.measure.period().as_secs_f64() {
        doubts.push(Doubt::ShortLog(log));
    }
    let alike = |limit: f64| matches!(curve.touched(limit), 0) || curve.touched(limit) == clients;
    if *aim != Aim::Mistakes && clients > 1 && scale::nice().all(alike) {
        doubts.push(Doubt::AllAlike);
    }
    if let Some(share) = advice.checked
        && share.touched > 2 * may_touch(aim, share.clients).max(1)
    {
        doubts.push(Doubt::Drifts(share));
    }
    doubts
}

impl Doubt {
    /// The sentence, with advice. If one client decides the limit, the sentence names it: the `fastest`.
    pub fn naming(&self, fastest: Option<&str>) -> String {
        match (self, fastest) {
            (Doubt::Fastest { untouched, clients, without }, Some(name)) => {
                sets_the_limit(*untouched, *clients, *without, &format!(", {name},"))
            }
            _ => self.to_string(),
        }
    }
}

fn sets_the_limit(untouched: f64, clients: u64, without: f64, who: &str) -> String {
    let (share, n) = (percent(untouched), grouped(clients));
    format!(
        "{share} of {n} clients means all of them, so the fastest one{who} sets the limit, and without it {without} \
         would do; use a longer log or a lower share"
    )
}

/// As a sentence with advice.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NoEvents => f.write_str("there are no events to learn from"),
            Doubt::NoLimit => {
                f.write_str("no limit leaves that many clients alone; leave fewer alone")
            }
            Doubt::OneClient => f.write_str("one client alone sets the limit; use a longer log"),
            Doubt::Fastest { untouched, clients, without } => {
                f.write_str(&sets_the_limit(*untouched, *clients, *without, ""))
            }
            Doubt::ShortLog(log) => write!(
                f,
                "the log covers {}, less than ten periods, so rare peaks may be missing",
                rounded(*log)
            ),
            Doubt::Drifts(share) => write!(
                f,
                "in the rest of the log it touches {share}, more than twice as many as it may; the \
                 traffic changes, so look at who they are"
            ),
            Doubt::AllAlike => {
                f.write_str("all clients came equally fast, so no limit separates some from others")
            }
        }
    }
}

/// A span for people: to a tenth of a second below a minute, and then to a second.
fn rounded(span: Span) -> Span {
    let in_second = if span.as_secs_f64() < 60.0 { 10.0 } else { 1.0 };
    Span::try_from_secs_f64(libm::round(span.as_secs_f64() * in_second) / in_second).unwrap_or(span)
}

//! The recommended limit, the smallest that leaves nearly all clients alone, with doubts about it.

use crate::tune::{Curve, Part, Share, scale};
use core::fmt;
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;
use ratescope::time::Span;

/// The goal of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// The least share of clients that are never refused, from 0 to 1. Clients marked as legitimate are never refused.
    pub untouched: f64,
}

/// Leaves 999 of 1000 clients alone.
impl Default for Aim {
    fn default() -> Self {
        Aim { untouched: 0.999 }
    }
}

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
    /// There are so few clients that the share that may be touched is less than one client.
    FewClients(u64),
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
    let may = may_touch(aim, curve.counted(part));
    let does = |limit: &f64| {
        curve.touched_by_mistake(part, *limit) <= may
            && curve.marked.touched(Part::Whole, *limit) == 0
    };
    let [lowest, below_1] = [0.001, 0.999].map(|limit| curve.touched_by_mistake(part, limit));
    let refuses_all = |limit: &f64| curve.measure.over().is_over(1.0, *limit);
    let mut limits = scale::nice().skip_while(|limit| lowest == below_1 && refuses_all(limit));
    limits.find(does).filter(|_| curve.counted(part) > 0)
}

/// The most clients that may be touched.
fn may_touch(aim: &Aim, clients: u64) -> u64 {
    // A little less, so that rounding never makes 99.9 % of 1000 more than 999.
    let untouched = libm::ceil(aim.untouched * clients as f64 - 1e-6);
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
    if may_touch(aim, clients) == 0 && aim.untouched < 1.0 {
        doubts.push(Doubt::FewClients(clients));
    }
    let log = first.until(last);
    if log.secs() < 10.0 * curve.measure.period().secs() {
        doubts.push(Doubt::ShortLog(log));
    }
    let alike = |limit: f64| matches!(curve.touched(limit), 0) || curve.touched(limit) == clients;
    if clients > 1 && scale::nice().all(alike) {
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
    /// The sentence, which also says what to do. If one client decides the limit, the sentence names it: the `fastest`.
    pub fn naming(&self, fastest: Option<&str>) -> String {
        match (self, fastest) {
            (Doubt::FewClients(clients @ 2..), Some(name)) => {
                few_clients(*clients, &format!(", {name},"))
            }
            _ => self.to_string(),
        }
    }
}

fn few_clients(clients: u64, who: &str) -> String {
    let n = grouped(clients);
    let s = plural(clients);
    format!(
        "of {n} client{s} not one may be refused, so the fastest of them{who} decides the limit; take a longer \
         log, or leave fewer alone"
    )
}

/// As a sentence that also says what to do.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NoEvents => f.write_str("there are no events to learn from"),
            Doubt::NoLimit => {
                f.write_str("no limit leaves that many clients alone; leave fewer alone")
            }
            Doubt::FewClients(1) => {
                f.write_str("there is only 1 client, so it decides the limit; take a longer log")
            }
            Doubt::FewClients(clients) => f.write_str(&few_clients(*clients, "")),
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
    let in_second = if span.secs() < 60.0 { 10.0 } else { 1.0 };
    Span::from_secs(libm::round(span.secs() * in_second) / in_second).unwrap_or(span)
}

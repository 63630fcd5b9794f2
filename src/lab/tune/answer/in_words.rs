//! A limiter as people say it of a server.

use crate::limit::any::AnyLimiter;
use crate::rate::Rate;
use crate::text::{grouped, plural};
use crate::time::Span;

/// A limiter in words, as in `30 requests a minute, bursts of 30`; its text form if there are none.
/// `noun` is the word for one event.
pub(super) fn in_words(limiter: &AnyLimiter, noun: &str) -> String {
    let rate = |rate: Rate| {
        let count = number(rate.count());
        let s = if rate.count() == 1.0 { "" } else { "s" };
        format!("{count} {noun}{s} {}", a(rate.per()))
    };
    let bucket = |of: Rate, burst: f64| format!("{}, bursts of {}", rate(of), number(burst));
    match limiter {
        AnyLimiter::Nginx(l) => bucket(l.rate(), l.burst() as f64 + 1.0),
        AnyLimiter::Envoy(l) => bucket(l.fill(), l.burst() as f64),
        AnyLimiter::TokenBucket(l) => bucket(l.rate(), l.burst()),
        AnyLimiter::Gcra(l) => bucket(l.rate(), l.burst()),
        AnyLimiter::Haproxy(l) => format!("{}, as it counts them", rate(l.limit())),
        AnyLimiter::SlidingLog(l) => format!("{}, at any time", rate(l.limit())),
        AnyLimiter::SlidingWindow(l) => format!("{}, at any time", rate(l.limit())),
        AnyLimiter::SlidingCounter(l) => format!("about {}, at any time", rate(l.limit())),
        AnyLimiter::FixedWindow(l) => format!("{} of the clock", rate(l.limit())),
        AnyLimiter::Exim(l) => format!("less than {}, as it measures", rate(l.limit)),
        AnyLimiter::Earrrl(l) => format!("{} on average", rate(l.limit())),
        other => other.to_string(),
    }
}

fn number(n: f64) -> String {
    if n == libm::trunc(n) && (0.0..1e15).contains(&n) { grouped(n as u64) } else { n.to_string() }
}

/// A period, as in `a minute` or `in 10 seconds`.
fn a(per: Span) -> String {
    let secs = per.secs();
    let named = [(1.0, "a second"), (60.0, "a minute"), (3600.0, "an hour"), (86_400.0, "a day")];
    if let Some((_, name)) = named.iter().find(|(length, _)| *length == secs) {
        return (*name).to_owned();
    }
    for (length, name) in [(3600.0, "hour"), (60.0, "minute"), (1.0, "second")] {
        let count = secs / length;
        if count >= 1.0 && count == libm::trunc(count) {
            return format!("in {count} {name}{}", plural(count as u64));
        }
    }
    format!("in {per}")
}

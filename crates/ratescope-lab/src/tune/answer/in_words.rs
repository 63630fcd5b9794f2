//! A limiter in the words that people use for a server's limit.

use crate::tune::Measure;
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;
use ratescope::rate::Rate;
use ratescope::time::Span;

/// A limiter in words, as in `30 requests a minute, bursts of 30`, or else its text form. `noun` is the word for one
/// event.
pub(super) fn in_words(limiter: &AnyLimiter, noun: &str) -> String {
    let rate = |count: f64, per: Span| {
        let s = if count == 1.0 { "" } else { "s" };
        format!("{} {noun}{s} {}", number(count), a(per))
    };
    let bucket = |of: Rate, burst: f64| {
        format!("{}, bursts of {}", rate(of.count(), of.per()), number(burst))
    };
    if let AnyLimiter::Envoy(own) = limiter {
        return bucket(own.fill(), own.burst() as f64);
    }
    let Some((measure, limit)) = Measure::from_limiter(limiter) else { return limiter.to_string() };
    match measure {
        Measure::Bucket(of) | Measure::Nginx(of) => bucket(of, limit),
        Measure::Haproxy(per, _) => format!("{}, as it counts them", rate(limit, per)),
        Measure::Fail2ban(find, _) => format!("a ban at {}, as it counts them", rate(limit, find)),
        Measure::SlidingCounter(per) => format!("about {}, at any time", rate(limit, per)),
        Measure::FixedWindow(per) => format!("{} of the clock", rate(limit, per)),
        Measure::Exim(per) => format!("less than {}, by its own measure", rate(limit, per)),
        Measure::Earrrl(per, _) => format!("{} on average", rate(limit, per)),
        Measure::SlidingWindow(per, _) | Measure::SlidingLog(per) => {
            format!("{}, at any time", rate(limit, per))
        }
    }
}

/// A limiter as shortly as can be, as in `8 a minute` or `10 a minute in bursts of 8`.
pub(super) fn briefly(limiter: &AnyLimiter) -> String {
    let bucket = |of: Rate, burst: f64| {
        format!("{} {} in bursts of {}", number(of.count()), a(of.per()), number(burst))
    };
    if let AnyLimiter::Envoy(own) = limiter {
        return bucket(own.fill(), own.burst() as f64);
    }
    match Measure::from_limiter(limiter) {
        Some((Measure::Bucket(of) | Measure::Nginx(of), burst)) => bucket(of, burst),
        Some((measure, limit)) => format!("{} {}", number(limit), a(measure.period())),
        None => limiter.to_string(),
    }
}

fn number(n: f64) -> String {
    if n == libm::trunc(n) && (0.0..1e15).contains(&n) { grouped(n as u64) } else { n.to_string() }
}

/// A period, as in `a minute` or `in 10 seconds`.
fn a(per: Span) -> String {
    let secs = per.as_secs_f64();
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

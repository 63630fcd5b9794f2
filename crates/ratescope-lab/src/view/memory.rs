//! The memory of a limiter at an instant, from its level in the history.
//!
//! Most limiters remember a time: a past event counts with a weight of at most 1, which depends on its age. A bucket
//! remembers a number only: the tokens left, or the events in its queue.

mod draw;

pub(super) use draw::{heading, shade};

use super::compare::numbers;
use super::spaced;
use crate::lane::Lane;
use ratescope::estimate::exim::{DecayingRate, Measured};
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::limit::any::AnyLimiter;
use ratescope::time::{Span, Time};

/// The memory of a limiter.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The instant.
    pub at: Time,
    /// The form.
    pub form: Form,
    /// The memory in words, as in `7 of 10 tokens`.
    pub words: String,
}

/// The form of a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Events from an instant on count in full, earlier ones not at all.
    Window {
        /// The first instant that counts.
        from: Time,
        /// When the window ends, if it is a window of the clock.
        end: Option<Time>,
        /// The length of the window's blocks, if it moves by blocks.
        block: Option<Span>,
    },
    /// Two windows of the clock.
    Counter {
        /// The beginning of the previous window.
        before: Time,
        /// The weight of an event in the previous window.
        weight: f64,
        /// The beginning of this window, in which events count in full.
        from: Time,
        /// When this window ends.
        end: Time,
    },
    /// The weight fades, as in Exim's rate.
    Rate(DecayingRate),
    /// The weight fades, as in the recent average.
    Average(RecentAverage),
    /// A number of tokens, or of events in a queue.
    Bucket {
        /// The number present.
        filled: f64,
        /// The greatest number.
        size: f64,
    },
}

impl Memory {
    /// The weight of an event at `then`, at or before the instant of the memory; 0 in a bucket, which remembers no
    /// events.
    pub fn weight(&self, then: Time) -> f64 {
        match self.form {
            Form::Window { from, .. } => f64::from(u8::from(then >= from)),
            Form::Counter { from, .. } if then >= from => 1.0,
            Form::Counter { before, weight, .. } if then >= before => weight,
            Form::Counter { .. } | Form::Bucket { .. } => 0.0,
            Form::Rate(estimator) => estimator.rate_at(Measured { rate: 1.0, at: then }, self.at),
            Form::Average(average) => {
                average.add(Impulse { size: 1.0, at: then }, self.at, 0.0).size
            }
        }
    }
}

/// The reading of a limiter at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The instant.
    pub at: Time,
    /// The level.
    pub level: f64,
    /// The limit.
    pub limit: f64,
}

/// The memory of a limiter with this reading; `None` if there is nothing to show.
pub fn of(limiter: &AnyLimiter, reading: Reading) -> Option<Memory> {
    let Reading { at, level, limit } = reading;
    let counted = numbers::short(level);
    let events = if counted == "1" { "1 event".to_owned() } else { format!("{counted} events") };
    let (form, words) = match limiter {
        AnyLimiter::FixedWindow(fixed) => {
            let [from, end] = fixed.window(at)?;
            let form = Form::Window { from, end: Some(end), block: None };
            (form, format!("remembers {events} of this window"))
        }
        AnyLimiter::SlidingWindow(window) => {
            let block = window.precision();
            let form = Form::Window { from: window.since(at), end: None, block: Some(block) };
            let period = spaced(window.limit().per());
            (
                form,
                format!("remembers {events} of the last {period}, by blocks of {}", spaced(block)),
            )
        }
        AnyLimiter::SlidingLog(log) => {
            let form = Form::Window { from: log.since(at), end: None, block: None };
            (form, format!("remembers {events} of the last {}", spaced(log.limit().per())))
        }
        AnyLimiter::SlidingCounter(counter) => {
            let [from, end] = counter.window(at);
            let weight = counter.fading(at);
            // The instant before a window lies in the previous window.
            let [before, _] = counter.window(from.before(Span::from_micros(1)));
            let form = Form::Counter { before, weight, from, end };
            (form, format!("the last window counts {}", percent(weight)))
        }
        // HAProxy keeps an estimate of the number of events in that time.
        AnyLimiter::Haproxy(counter) => estimated(at, &events, counter.limit().per()),
        AnyLimiter::Fail2ban(jail) if level >= jail.limit().count() => {
            let form = Form::Window { from: at, end: None, block: None };
            (form, "banned, and counts nothing".to_owned())
        }
        AnyLimiter::Fail2ban(jail) => estimated(at, &events, jail.limit().per()),
        AnyLimiter::Exim(exim) => return Some(fading(at, exim.estimator())),
        AnyLimiter::Adaptive(adaptive) => return Some(fading(at, adaptive.estimator())),
        AnyLimiter::ByHour(by_hour) => return Some(fading(at, by_hour.hourly().estimator())),
        AnyLimiter::Earrrl(earrrl) => {
            let average = earrrl.estimator();
            return Some(faded(at, Form::Average(average), average.half_life));
        }
        AnyLimiter::TokenBucket(_)
        | AnyLimiter::Gcra(_)
        | AnyLimiter::LeakyBucket(_)
        | AnyLimiter::Nginx(_)
        | AnyLimiter::Envoy(_) => {
            let delays = limiter.delays();
            let filled = if delays { level } else { limit - level };
            let what = if delays { "in the queue" } else { "tokens" };
            (
                Form::Bucket { filled, size: limit },
                format!("{} of {} {what}", numbers::short(filled), numbers::short(limit)),
            )
        }
        _ => return None,
    };
    Some(Memory { at, form, words })
}

/// An estimated number of events in the last `period`.
fn estimated(at: Time, events: &str, period: Span) -> (Form, String) {
    let form = Form::Window { from: at.before(period), end: None, block: None };
    (form, format!("remembers about {events} of the last {}", spaced(period)))
}

/// The fading weight of a rate measured as in Exim.
pub fn fading(at: Time, estimator: DecayingRate) -> Memory {
    faded(at, Form::Rate(estimator), estimator.period)
}

/// A weight that fades; the words give its value at the age `age`.
fn faded(at: Time, form: Form, age: Span) -> Memory {
    let memory = Memory { at, form, words: String::new() };
    let weight = percent(memory.weight(at.before(age)));
    Memory { words: format!("an event {} old counts {weight}", spaced(age)), ..memory }
}

impl Form {
    /// The age for which the words give the weight.
    fn age(&self) -> Option<Span> {
        match self {
            Form::Rate(estimator) => Some(estimator.period),
            Form::Average(average) => Some(average.half_life),
            _ => None,
        }
    }
}

fn percent(share: f64) -> String {
    format!("{}\u{202f}%", libm::round(100.0 * share))
}

/// The memory of a lane at `at`, as of `now`. `None` outside the history, and with several limits, since the history
/// does not say which limit's level it has.
pub fn of_lane(lane: &Lane, at: Time, now: Time) -> Option<Memory> {
    let [limit] = lane.policy().limits() else { return None };
    let (level, most) = if at < now {
        let column = numbers::column(now, lane, at)?;
        (column.end, column.limit)
    } else {
        lane.level(at)
    };
    of(&limit.limiter, Reading { at, level, limit: most })
}

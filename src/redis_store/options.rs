//! How Redis is asked.

use crate::time::{Span, Time};
use core::time::Duration;

/// How Redis is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What all keys begin with; the default is `rs:`. It has no braces, since what stands in the first
    /// ones chooses the node of a cluster. Rules of the same names under the same prefix share their
    /// states.
    pub prefix: String,
    /// On a cluster, whether all keys are on one node: then limits for several fields, such as users and
    /// addresses, are decided all or none. The default is `false`.
    pub one_node: bool,
    /// How long an answer may take, repetitions included; the default is 50 ms.
    pub deadline: Duration,
    /// By which clock events are decided; the default is that of Redis.
    pub clock: Clock,
    /// How many keys of each limit are remembered in this process, for when Redis can't be asked; the
    /// default is 100,000.
    pub capacity: usize,
    /// The number of failures, one after the other, after which a node is left alone for a while: at
    /// least 1; the default is 5. A node fails if it can't be reached, does not answer in time, or
    /// refuses until the deadline because it is loading, busy or read-only.
    pub failures: u32,
    /// The time for which a node is left alone at first; the default is 100 ms. It doubles each time the
    /// node still fails, up to 5 s, or stays at this if that is longer.
    pub rest: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            prefix: "rs:".to_owned(),
            one_node: false,
            deadline: Duration::from_millis(50),
            clock: Clock::Redis,
            capacity: 100_000,
            failures: 5,
            rest: Duration::from_millis(100),
        }
    }
}

/// By which clock events are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clock {
    /// That of Redis: one for all processes, whatever theirs say. [`Event::time`](crate::Event) is
    /// not looked at.
    #[default]
    Redis,
    /// The time of the event, counted from 1970, as long as it is within `most_skew` of the clock
    /// of Redis, and else that.
    Host {
        /// How far off it may be.
        most_skew: Span,
    },
    /// The time of the event, whatever it is: to put events of the past through Redis. It is from 0
    /// to 2^52 microseconds.
    Event {
        /// How long a key is kept at least, since these events come at a speed of their own.
        keep: Span,
    },
}

/// Whether it is a time that f64 alone computes with exactly.
pub(super) fn is_time(time: Time) -> bool {
    (0..1 << 52).contains(&time.as_micros())
}

//! The settings of a store on Redis.

use core::time::Duration;
use ratescope::share::Share;
use ratescope::time::{Span, Time};
use tokio::sync::Semaphore;

/// The settings of a store on Redis.
///
/// ```
/// use ratescope_redis::Options;
/// use std::time::Duration;
///
/// let options = Options::default().prefix("shop:").deadline(Duration::from_millis(20)).processes(4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(super) prefix: String,
    pub(super) one_node: bool,
    pub(super) deadline: Duration,
    pub(super) clock: TimeSource,
    pub(super) capacity: usize,
    pub(super) processes: u32,
    pub(super) in_flight: usize,
    pub(super) failures: u32,
    pub(super) rest: Duration,
    pub(super) share: Share,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            prefix: "rs:".to_owned(),
            one_node: false,
            deadline: Duration::from_millis(50),
            clock: TimeSource::Redis,
            capacity: 100_000,
            processes: 1,
            in_flight: 256,
            failures: 5,
            rest: Duration::from_millis(100),
            share: Share::Exact,
        }
    }
}

impl Options {
    /// Sets the beginning of all keys; the default is `rs:`. A store refuses one with braces, because the text between
    /// the first braces of a key chooses the node of a cluster. Rules of the same name and prefix share their states.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Options { prefix: prefix.into(), ..self }
    }

    /// Sets whether all keys are on one node of a cluster, so that limits for several fields, such as users
    /// and addresses, are decided all or none. The default is `false`.
    #[must_use]
    pub fn one_node(self, one_node: bool) -> Self {
        Options { one_node, ..self }
    }

    /// Sets the timeout of a decision, with all retries; the default is 50 ms, the most a day.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Options { deadline: deadline.min(DAY), ..self }
    }

    /// Sets the clock by which events are decided; the default is the clock of Redis.
    #[must_use]
    pub fn clock(self, clock: TimeSource) -> Self {
        Options { clock, ..self }
    }

    /// Sets how many keys of each limit this process remembers, to decide when Redis can't be asked; the default is
    /// 100,000. A key takes 33 to 49 bytes; its log or window up to 1,100 more.
    #[must_use]
    pub fn capacity(self, keys: usize) -> Self {
        Options { capacity: keys, ..self }
    }

    /// Divides each limit among this many processes while Redis can't be asked; the default is 1. Each process then
    /// lets its share pass, by counting an event once for each process. While Redis answers, this changes nothing. See
    /// [when Redis can't be asked](crate#when-redis-cant-be-asked).
    #[must_use]
    pub fn processes(self, processes: u32) -> Self {
        Options { processes: processes.max(1), ..self }
    }

    /// Sets how many calls may wait for the answer of one node at a time, at least 1; the default is 256. Further calls
    /// wait for their turn, at most for half of the deadline, and are then decided without Redis, as
    /// [`Overloaded`](ratescope::rules::Fault::Overloaded). This does not count as a failure of the node.
    #[must_use]
    pub fn in_flight(self, calls: usize) -> Self {
        Options { in_flight: calls.clamp(1, Semaphore::MAX_PERMITS), ..self }
    }

    /// Sets how many failures of a node in a row open its circuit: at least 1; the default is 5. A node fails if it
    /// can't be reached, if it answers no call at all while one times out, or if it is loading, busy or read-only until
    /// the deadline.
    #[must_use]
    pub fn failures(self, failures: u32) -> Self {
        Options { failures: failures.max(1), ..self }
    }

    /// Sets how long an open circuit rests at first; the default is 100 ms. The rest doubles each time the node still
    /// fails, up to 5 s. A longer first rest does not grow.
    #[must_use]
    pub fn rest(self, rest: Duration) -> Self {
        Options { rest, ..self }
    }

    /// Sets how limits are [shared](ratescope::share) whose rules do not say how; the default is
    /// [`Share::Exact`]. A rule that can't be shared so, or is a shadow or throttled softly, stays exact. With
    /// [`TimeSource::Event`] all are exact.
    #[must_use]
    pub fn share(self, share: Share) -> Self {
        Options { share, ..self }
    }
}

/// The longest timeout, which can be added to any point in time.
const DAY: Duration = Duration::from_secs(86_400);

/// The clock by which events are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum TimeSource {
    /// The clock of Redis, which is the same for all processes. [`Event::time`](ratescope::Event) is ignored. While
    /// Redis can't be asked, a clock of this process goes on from the time of Redis, or, before Redis has answered, of
    /// the host.
    #[default]
    Redis,
    /// The time of the event, counted from 1970, if it is within `most_skew` of the clock of Redis; otherwise the clock
    /// of Redis, which goes on in this process as above.
    Host {
        /// The largest difference.
        most_skew: Span,
    },
    /// The time of the event, from 0 to 2^52 microseconds, so that events of the past can be put through Redis, too.
    Event {
        /// The shortest time until a key expires. Redis expires keys by its own clock, however fast these events come.
        keep: Span,
    },
}

/// True for a time that f64 represents exactly, in microseconds.
pub(super) fn is_time(time: Time) -> bool {
    (0..1 << 52).contains(&time.as_micros())
}

//! Waiting instead of refusing: for calls to limited services, and for jobs that may be late but must not be too fast.
//!
//! A [`RateLimiter`](crate::RateLimiter) waits until an event is allowed, and counts it then:
//!
//! | | one key | many keys |
//! |---|---|---|
//! | in any executor | `until_ready().await` | `until_key_ready(&key).await` |
//! | blocking the thread | `block_until_ready()` | `block_until_key_ready(&key)` |
//!
//! Each has a form `.._with` that takes a [`Waiting`]: the cost, the longest wait, a jitter. Any
//! `Store` waits with the function `until_allowed`. For calls
//! by HTTP there is the layer `outgoing` of `ratescope-tower`, which also obeys `Retry-After`.
//!
//! ```
//! use ratescope::clock::FakeClock;
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::waiting::Waiting;
//! use ratescope::RateLimiter;
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = FakeClock::default(); // Without it: the clock of the process.
//! let calls = RateLimiter::<String, _>::keyed(Gcra::per_second(1), 1000).with_clock(clock.clone());
//! let call = {
//!     let calls = calls.clone();
//!     move || {
//!         let calls = calls.clone();
//!         async move { calls.until_key_ready("api.example.com").await }
//!     }
//! };
//! call().await?; // The first one passes at once.
//! let second = tokio::spawn(call());
//! tokio::task::yield_now().await; // It waits now.
//! clock.advance(Duration::from_secs(1));
//! second.await??;
//!
//! // A caller that would have to wait for too long does not even begin to.
//! let soon = Waiting::DEFAULT.at_most(Duration::from_millis(500));
//! let gave_up = calls.until_key_ready_with("api.example.com", soon).await.unwrap_err();
//! assert_eq!(gave_up.to_string(), "the event would have to wait for 1s");
//! # Ok(())
//! # }
//! ```
//!
//! # What is counted
//! An event is counted once: when it is allowed, at the instant at which its future returns. Before, nothing is
//! counted, not even in a limiter that counts refused events. So a future that is dropped or gives up leaves nothing
//! counted, with two exceptions:
//!
//! * A limiter with a queue, such as the [leaky bucket](crate::limit::leaky_bucket), counts an event when it
//!   enters the queue, and the future returns when its turn has come. If the future is dropped meanwhile,
//!   its place in the queue stays empty: the others pass neither sooner nor later.
//! * A `Store` whose limits can give back decides and counts in one step. Any other store, and one with a queue in
//!   which the event waits, is asked in two steps: one to peek and one to count. If another event is counted between
//!   the two, this event is refused, and limiters that count refused events count it. If the future is dropped during
//!   the step that counts, the event may have been counted.
//!
//! A clock that is set back lengthens a wait by [a period at most](crate::limit#when-time-runs-backwards). So that the
//! limits of a `Store` follow the clock, an event that finds a queue too long, or no room in limits that can't give
//! back, charges a cost of 0 and peeks again. Rules with a cost of their own are not charged, and follow the clock at
//! the next decision about their key.
//!
//! # Who is first
//! Those who wait for one key of a `RateLimiter` stand in a line, in the order in which they came; so do those who wait
//! with the same fields for a [`MemoryStore`](crate::MemoryStore). Only the first asks the limiter and has a timer, so an expensive event is
//! not overtaken by cheap ones behind it, and a thousand who wait do not wake at once. A queue keeps its order as well.
//! Events that do not wait, as of `check`, pass as soon as the limiter allows them.
//!
//! The first caller has to go on: a future that is neither polled nor dropped holds up those behind it. Only the caller
//! can bound how many wait, for example by a semaphore.
//!
//! The function [`until_allowed`], which takes any store, has no line, since others may decide about its keys elsewhere.
//! There each event asks again when the limits say, the first to ask passes, and a [jitter](Waiting::jitter) spreads
//! them out.
//!
//! # Streams
//! The items of a stream wait with `then` of the crate `futures`, one after the other; with `map` and
//! `buffered`, several at once:
//!
//! ```
//! use futures_util::{FutureExt, StreamExt, stream};
//! # use ratescope::{RateLimiter, clock::FakeClock, limit::gcra::Gcra};
//! # use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let clock = FakeClock::default();
//! # let limiter = &RateLimiter::direct(Gcra::per_second(2).with_burst(1)).with_clock(clock.clone());
//! let paced = stream::iter(1..=3)
//!     .then(|item| async move { limiter.until_ready().await.map(|()| item) });
//! let mut paced = std::pin::pin!(paced);
//! assert_eq!(paced.next().await, Some(Ok(1)));
//! assert_eq!(paced.next().now_or_never(), None); // It waits now.
//! clock.advance(Duration::from_millis(500));
//! assert_eq!(paced.next().await, Some(Ok(2)));
//! # Ok(())
//! # }
//! ```

mod line;
#[cfg(feature = "rules")]
mod stores;

pub(crate) use line::Lines;
#[cfg(feature = "rules")]
pub use stores::{attempt, until_allowed};

use crate::clock::Clock;
use crate::clock::duration;
use crate::outcome::Retry;
#[cfg(feature = "rules")]
use crate::rules::Fault;
use crate::time::{Span, Time};
use core::fmt;
use core::future::{Future, pending, poll_fn};
use core::hash::BuildHasher;
use core::pin::pin;
use core::task::Poll;
use line::InLine;
use std::hash::RandomState;
use std::time::Duration;

/// How an event waits: by default it costs 1, and waits without a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Waiting {
    /// The cost of the event.
    pub cost: f64,
    longest: Option<Span>,
    jitter: Span,
}

impl Waiting {
    /// An event of cost 1 that waits without a bound.
    pub const DEFAULT: Waiting = Waiting { cost: 1.0, longest: None, jitter: Span::ZERO };

    /// Sets the cost of the event.
    pub fn cost(self, cost: impl Into<f64>) -> Self {
        Waiting { cost: cost.into(), ..self }
    }

    /// Sets the longest wait. The event gives up as soon as it is certain that it would wait for longer.
    pub fn at_most(self, longest: impl Into<Span>) -> Self {
        Waiting { longest: Some(longest.into()), ..self }
    }

    /// These settings for an event that has waited for `spent` already.
    pub fn after(self, spent: Span) -> Self {
        let left = |all: Span| {
            Span::try_from_secs_f64(all.as_secs_f64() - spent.as_secs_f64()).unwrap_or(Span::ZERO)
        };
        Waiting { longest: self.longest.map(left), ..self }
    }

    /// Prolongs each wait outside of a queue by a random span up to `jitter`, but not beyond the longest wait, so that
    /// many who wait for one instant do not all ask at once.
    pub fn jitter(self, jitter: impl Into<Span>) -> Self {
        Waiting { jitter: jitter.into(), ..self }
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The reason why an event did not pass.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NotAllowed {
    /// The event would pass after a wait, which exceeds [its longest](Waiting::at_most), or was not to be waited for.
    Refused {
        /// How long until it would pass; at least a microsecond.
        after: Duration,
    },
    /// No wait is long enough: the event costs more than the limit ever admits, or its cost is NaN or below 0.
    Never,
    /// The event is refused, and the store was not asked when it would pass: see `Details::with_retry`.
    Unknown,
    /// The store can't be asked, and its rules then refuse the event.
    #[cfg(feature = "rules")]
    Fault(Fault),
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAllowed::Refused { after } => {
                write!(f, "the event would have to wait for {}", Span::from(*after))
            }
            NotAllowed::Never => f.write_str(
                "no wait is long enough: the cost is above the limit, or not a number of 0 or more",
            ),
            NotAllowed::Unknown => f.write_str("the event is refused"),
            #[cfg(feature = "rules")]
            NotAllowed::Fault(_) => {
                f.write_str("the event is refused while its store can't be asked")
            }
        }
    }
}

impl NotAllowed {
    /// How long until the event would pass; `None` if it never would, or if that is not known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            NotAllowed::Refused { after } => Some(*after),
            _ => None,
        }
    }
}

impl core::error::Error for NotAllowed {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "rules")]
            NotAllowed::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// The result of an attempt that failed.
#[doc(hidden)]
#[derive(Debug)]
pub enum Blocked {
    /// Another attempt may succeed after this span.
    Until(Span),
    /// The event gives up.
    For(NotAllowed),
}

impl From<Retry> for Blocked {
    fn from(retry: Retry) -> Self {
        retry.wait().map_or(Blocked::For(NotAllowed::Never), Blocked::Until)
    }
}

/// Sleeps between attempts until one succeeds, and then for the wait of the decision. Each attempt gets the longest
/// wait that is still left.
#[doc(hidden)]
pub async fn until<T, F: Future<Output = Result<(T, Option<Span>), Blocked>>>(
    clock: &impl Clock,
    waiting: Waiting,
    attempt: impl Fn(Span) -> F,
) -> Result<T, NotAllowed> {
    let (passed, wait) = until_counted(clock, waiting, attempt).await?;
    queued(clock, wait).await;
    Ok(passed)
}

/// As [`until`], in a line: only the first in it makes attempts. `look` says when an attempt would succeed if nobody else
/// waited.
pub(crate) async fn until_in_line<T, L, F>(
    (lines, key): (&Lines, u64),
    clock: &impl Clock,
    waiting: Waiting,
    look: impl Fn() -> L,
    attempt: impl Fn(Span) -> F,
) -> Result<T, NotAllowed>
where
    L: Future<Output = Retry>,
    F: Future<Output = Result<(T, Option<Span>), Blocked>>,
{
    let longest = waiting.longest.unwrap_or(Time::ZERO.until(Time::LAST));
    let too_long = |wait: Span| Err(NotAllowed::Refused { after: duration(wait.max(SHORTEST)) });
    let is_alone = lines.is_empty(key);
    let first = if is_alone { attempt(longest).await } else { Err(look().await.into()) };
    match first {
        Ok((passed, wait)) => {
            queued(clock, wait).await;
            return Ok(passed);
        }
        Err(Blocked::For(reason)) => return Err(reason),
        Err(Blocked::Until(wait)) if wait.max(SHORTEST) > longest => return too_long(wait),
        Err(Blocked::Until(_)) => {}
    }
    let begin = clock.now();
    let place = lines.enter(key);
    if !is_first_within(&place, clock, waiting.longest).await {
        return look().await.wait().map_or(Err(NotAllowed::Never), too_long);
    }
    let waiting = waiting.after(begin.until(clock.now()));
    let (passed, wait) = until_counted(clock, waiting, attempt).await?;
    // Those behind it may enter the queue of the limiter, too.
    drop(place);
    queued(clock, wait).await;
    Ok(passed)
}

/// Waits until this place is the first; false if that takes longer than `longest`.
async fn is_first_within(place: &InLine<'_>, clock: &impl Clock, longest: Option<Span>) -> bool {
    let mut first = pin!(place.first());
    let mut end = pin!(async {
        match longest {
            Some(longest) => clock.sleep(longest).await,
            None => pending().await,
        }
    });
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => end.as_mut().poll(context).map(|()| false),
    })
    .await
}

/// Sleeps while a counted event waits in the queue of its limiter.
async fn queued(clock: &impl Clock, wait: Option<Span>) {
    if let Some(wait) = wait.filter(|wait| *wait > Span::ZERO) {
        clock.sleep(wait).await;
    }
}

/// Sleeps between attempts until one succeeds, and returns the wait of its decision.
async fn until_counted<T, F: Future<Output = Result<(T, Option<Span>), Blocked>>>(
    clock: &impl Clock,
    waiting: Waiting,
    attempt: impl Fn(Span) -> F,
) -> Result<(T, Option<Span>), NotAllowed> {
    // The time spent on waiting is added up here, so that a clock that is set back does not change it.
    let mut spent = Time::ZERO;
    let end = waiting.longest.map_or(Time::LAST, |longest| spent.after(longest));
    loop {
        let wait = match attempt(spent.until(end)).await {
            Ok(passed) => return Ok(passed),
            Err(Blocked::For(reason)) => return Err(reason),
            Err(Blocked::Until(wait)) => wait.max(SHORTEST),
        };
        let until = spent.after(wait);
        if until > end {
            return Err(NotAllowed::Refused { after: duration(wait) });
        }
        let until = until.after(waiting.jitter.times(random())).min(end);
        let before = clock.now();
        clock.sleep(spent.until(until)).await;
        spent = until.max(spent.after(before.until(clock.now())));
    }
}

/// The shortest sleep. A store with a clock of its own may refuse an event even at the time that the store returned.
const SHORTEST: Span = Span::from_micros(1);

/// A random number from 0 to less than 1, from the source that std seeds its hashes with.
fn random() -> f64 {
    (RandomState::new().hash_one(0) >> 11) as f64 / (1u64 << 53) as f64
}

//! Limiters: may this event pass?
//!
//! A limiter is a rule without memory. The state of each sender is kept apart from it. So one limiter serves any number
//! of keys, and a state can live in a map, a file or a database. Everything is
//! `(limiter, state, now, cost) -> (state, outcome)`: no clock is read.
//!
//! ```
//! use ratescope::limit::token_bucket::TokenBucket;
//! use ratescope::{Limiter, Span, Time};
//!
//! let limiter = TokenBucket::new("10/1m".parse()?, 3.0)?;
//! let mut state = limiter.initial();
//! let passed: Vec<i64> = (0..60)
//!     .filter(|second| {
//!         let now = Time::from_micros(second * 1_000_000);
//!         limiter.check(&mut state, now, 1.0).is_allowed()
//!     })
//!     .collect();
//! // One each second as long as the burst lasts, then one each six seconds.
//! assert_eq!(passed[..6], [0, 1, 2, 6, 12, 18]);
//! // Twelve in this minute, and never more in any minute.
//! assert_eq!(passed.len(), 12);
//! assert_eq!(limiter.max_admitted(Span::from_mins(1), 1.0).floor(), 12.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Limiters that measure a rate use an [estimator](crate::estimate). [`any`] reads any limiter from
//! a text, and a store (`ratescope::store`) keeps the states of many keys.
//!
//! # The limiters
//! | limiter | what it compares with its limit | counts | state |
//! |---|---|---|---|
//! | [`fixed_window`] | the count of a window of the clock, or from the first event | the allowed, or all | 16 bytes |
//! | [`sliding_window`] | the count of the last few blocks | the allowed | 40 bytes, 16 a block in use |
//! | [`sliding_counter`] | a count that fades out | the allowed | 24 bytes |
//! | [`sliding_log`] | the exact count of the last period | the allowed | 40 bytes, 16 an event |
//! | [`token_bucket`] | the tokens missing, including the event's | the allowed | 24 bytes |
//! | [`gcra`] | the same | the allowed | 24 bytes |
//! | [`leaky_bucket`] | the queue, including the event | the allowed | 24 bytes |
//! | [`exim`] | a decaying rate, including the event | all, the allowed, or none | 16 bytes |
//! | [`earrrl`] | a decaying rate, before the event | all | 16 bytes |
//! | [`adaptive`] | a decaying rate; the limit is learned | all, the allowed, or none | 24 bytes |
//! | [`by_hour`] | the same; learned for each hour of the day | all, the allowed, or none | 120 bytes |
//!
//! The limiters of real servers repeat the servers' own arithmetic, so that replaying a log shows
//! what the server would have done:
//!
//! | limiter | what it compares with its limit | counts | state |
//! |---|---|---|---|
//! | [`nginx`] | how far ahead of the rate a sender is | the allowed | 16 bytes |
//! | [`haproxy`] | a count that fades out, in windows of the sender's own | all, or the allowed | 16 bytes |
//! | [`envoy`] | the tokens missing, in doubles | the allowed | 16 bytes |
//! | [`fail2ban`] | a count that fades as if events came evenly | all but those during a ban | 24 bytes |
//!
//! Exim is such a server, too; its limiter is in the table above.
//!
//! Each page has a picture of the same 20 seconds, where a steady sender may send one event a second: eight events at
//! once, one a second, four a second, silence, and one more. The filled line is what the limiter compares, and the dashed
//! line its limit. Crosses above are refused events, and bars below are allowed ones.
//!
//! # What a sender gets out of ten a minute
//! Measured: the bytes of a state; what passes *at once* from rest; the most that passed in the
//! *worst minute* for a sender that knows when it may send, and the bound on it, computed by
//! [`max_admitted`](Limiter::max_admitted); and *hammered*: what passes in the tenth minute of a
//! sender that keeps sending ten times the limit.
//!
#![doc = include_str!("limit/measured.md")]
//!
//! # Numbers
//! Limiters that count use whole millionths of an event and whole microseconds, so comparisons are
//! exact: no sender exactly at the limit is refused because of a rounding error, and two forms of
//! one algorithm decide alike. Limiters that measure a rate use f64 and the `libm` crate. Both give
//! the same bits on every machine. [`in_f64`] says in which domain f64 alone decides exactly as the
//! limiters that count.
//!
//! # States that outlive their limit
//! In memory a state has the units in which its limiter decides fastest. For a file, a database or
//! the next version of a rule, [`kept`] converts it to plain units, and says after which changes of
//! the limit it can still be used.
//!
//! # When time runs backwards
//! Clocks are set back, and threads hand in their events out of order. An event from before the last one never finds
//! more room than it would have found at the time of the last one. When it is so early that the clock must have been
//! set back, the next event that is counted or refused moves the state to the new time; a [`peek`](Limiter::peek) alone
//! does not move it. So a clock that is set back lengthens the longest wait by one period at most: the period of a
//! window, or the time that a full bucket takes to drain. The time of the latest event, in the state, tells a clock
//! that was set back from a large debt. [`envoy`] has no such time, so its debt is at most one full bucket. [`nginx`]
//! handles such clocks as the server does.
//!
//! Limiters that measure a rate follow the clock at once, as Exim does. An event out of order sets
//! their time back, so the time between decays once more when the clock catches up.

/// Calls the macro `$to` with `$with`, followed by the list of all limiters: those with a text form of their own, the
/// limiter by hour, which is read by the form of the adaptive one, and those of users, which have none.
macro_rules! limiters {
    ($to:ident! $with:tt) => {
        limiters_with_forms! { $to! $with by_hour::ByHour boxed, custom::Custom, }
    };
}

/// The list of all limiters with a text form of their own, in the order in which people read them: the module and the
/// type of each. `boxed` marks a limiter whose states are on the heap. A new limiter is a file with its `Algorithm`, a
/// Lua file and two lines here.
///
/// Calls the macro `$to` with `$with`, followed by the list and by `$more`.
macro_rules! limiters_with_forms {
    ($to:ident! $with:tt $($more:tt)*) => {
        $to! {
            $with
            fixed_window::FixedWindow,
            sliding_window::SlidingWindow boxed,
            sliding_counter::SlidingCounter,
            sliding_log::SlidingLog boxed,
            token_bucket::TokenBucket,
            gcra::Gcra,
            leaky_bucket::LeakyBucket,
            exim::Exim,
            earrrl::Earrrl,
            adaptive::Adaptive,
            nginx::Nginx,
            haproxy::Haproxy,
            envoy::Envoy,
            fail2ban::Fail2ban,
            $($more)*
        }
    };
}

pub mod adaptive;
pub mod by_hour;
pub mod custom;
pub mod earrrl;
pub mod envoy;
pub mod exim;
pub mod fail2ban;
pub mod fixed_window;
pub mod gcra;
pub mod haproxy;
pub mod leaky_bucket;
pub mod nginx;
pub mod sliding_counter;
pub mod sliding_log;
pub mod sliding_window;
pub mod token_bucket;

mod algorithm;
pub(crate) mod amount;
pub mod any;
#[cfg(target_has_atomic = "64")]
pub mod atomic;
pub(crate) mod bucket;
mod by_bucket;
mod by_window;
mod history;
pub mod in_f64;
pub mod kept;
#[cfg(feature = "std")]
pub mod per_key;
mod retry;
mod server;
mod text;

pub use any::FORMS;
pub use by_bucket::ByBucket;
pub use by_window::ByWindow;
#[cfg(feature = "serde")]
pub(crate) use limiters_with_forms;
pub use text::Form;
pub(crate) use text::head;

use crate::extremes::{larger, smaller};
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// The largest cost that is counted, and the largest limit on a count.
pub const MAX_COST: f64 = 1e12;

/// The time in the state of a key without events.
const LONG_AGO: Time = Time::from_micros(i64::MIN);

/// The shortest interval over which a rate is smoothed: the resolution of [`Time`].
const SHORTEST: Span = Span::from_micros(1);

/// A rate limiter.
///
/// A limiter judges an event ([`peek`](Self::peek)), remembers one ([`record`](Self::record)) and
/// says when one would pass ([`retry_after`](Self::retry_after)). The usual call,
/// [`check`](Self::check), combines the first two. They are separate so that a
/// [policy](crate::policy) can ask several limits first, and then count the event in all of them or
/// in none.
///
/// A cost is a number of events, or of other things that are limited, such as bytes: usually 1, and from 0 to
/// [`MAX_COST`]. A cost that is negative, larger or not a number is refused and not counted; only a
/// [`charge`](Self::charge) takes a larger one.
///
/// # A limiter of your own
/// Three methods are enough: [`initial`](Self::initial), [`peek`](Self::peek) and [`record`](Self::record). The others
/// have defaults, which ask `peek`. With a state that can be compared, a [`RateLimiter`](crate::RateLimiter) and a
/// [`Keyed`](crate::store::Keyed) take it:
///
/// ```
/// # #[cfg(feature = "std")] {
/// use ratescope::{Limiter, Outcome, RateLimiter, Time, clock::FakeClock};
/// use std::time::Duration;
///
/// /// One event, and then none for a second.
/// #[derive(Clone, Debug)]
/// struct Pause;
///
/// impl Limiter for Pause {
///     type State = Option<Time>;
///
///     fn initial(&self) -> Option<Time> {
///         None
///     }
///
///     fn peek(&self, last: &Option<Time>, now: Time, cost: f64) -> Outcome {
///         let passed = last.is_none_or(|last| now.since(last) >= 1.0) || cost == 0.0;
///         Outcome::new(passed, cost, 1.0)
///     }
///
///     fn record(&self, last: &mut Option<Time>, now: Time, cost: f64, allowed: bool) {
///         if allowed && cost > 0.0 {
///             *last = Some(now);
///         }
///     }
/// }
///
/// let clock = FakeClock::default();
/// let users = RateLimiter::<str, _>::keyed(Pause, 1000).with_clock(clock.clone());
/// assert!(users.check_key("ann").is_allowed() && users.check_key("bob").is_allowed());
/// assert_eq!(users.check_key("ann").retry_after(), Some(Duration::from_secs(1)));
/// clock.advance(Duration::from_secs(1));
/// assert!(users.check_key("ann").is_allowed());
/// # }
/// ```
///
/// A policy takes it as [`Custom`](custom::Custom), beside the limiters of this crate. It has no text form, so no rule
/// file names it, and Redis can't compute it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a limiter",
    label = "a limiter is an algorithm with its numbers",
    note = "take one of `ratescope::limit`, such as `Gcra::per_second(10)`, or read a text: \
            `\"gcra 10/1s\".parse::<AnyLimiter>()?`"
)]
pub trait Limiter {
    /// The memory of one key.
    type State: Clone + core::fmt::Debug;

    /// The state of a key without events.
    fn initial(&self) -> Self::State;

    /// The outcome that [`check`](Self::check) would give for an event of cost `cost` at `now`. Counts nothing. With
    /// cost 0 the outcome shows the level and the limit at `now`.
    fn peek(&self, state: &Self::State, now: Time, cost: f64) -> Outcome;

    /// Remembers an event of cost `cost` at `now`. `allowed` says whether all limiters that were
    /// asked about it let it pass. Most limiters count allowed events only; the others say so.
    fn record(&self, state: &mut Self::State, now: Time, cost: f64, allowed: bool);

    /// Decides about an event of cost `cost` at `now`, and counts it.
    #[inline(always)]
    fn check(&self, state: &mut Self::State, now: Time, cost: f64) -> Outcome {
        self.check_last(state, now, cost, true)
    }

    /// For the last of several limiters: decides as [`peek`](Self::peek) does, and [records](Self::record) the event in
    /// the same step. `others` says whether all limiters that were asked before let it pass.
    fn check_last(&self, state: &mut Self::State, now: Time, cost: f64, others: bool) -> Outcome {
        let outcome = self.peek(state, now, cost);
        self.record(state, now, cost, others && outcome.is_allowed());
        outcome
    }

    /// Counts a cost that is known only after the event was allowed, such as bytes sent. It is never
    /// refused. The part above the limit is owed: later events wait until it no longer counts. A bucket
    /// drains it at its rate, a window forgets it with the period. [`nginx`] and [`envoy`] owe at most one
    /// full bucket. More than [`MAX_COST`] counts as `MAX_COST`.
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    fn charge(&self, state: &mut Self::State, now: Time, cost: f64) -> Result<(), BadNumber> {
        self.record(state, now, charged(cost)?, true);
        Ok(())
    }

    /// Takes back an event of cost `cost` that was allowed and counted at `at`, such as a call that failed. Gives back
    /// only the part of the cost that certainly still counts at `now`, so that no more is ever admitted than without
    /// the event. Returns whether the limiter can undo: buckets and windows can; limiters that measure a rate, and
    /// those of servers, cannot, and change nothing.
    fn undo(&self, _state: &mut Self::State, _at: Time, _now: Time, _cost: f64) -> bool {
        false
    }

    /// True if the states of this limiter grow with the events that they count, so that
    /// [`forget`](Self::forget) can free memory.
    fn grows(&self) -> bool {
        false
    }

    /// Frees the entries that a log or a window no longer counts at `now`, and their memory. Decisions
    /// at that time and later stay the same.
    fn forget(&self, _state: &mut Self::State, _now: Time) {}

    /// How long after `now` an event of cost `cost` would pass if nothing is counted until then;
    /// zero when it would pass at `now`.
    ///
    /// This takes longer to compute than the outcome, so it is a call of its own. Pass the state after the refused
    /// event: a limiter that counts refused events demands a longer wait.
    ///
    /// By default the wait is found by asking [`peek`](Self::peek) about later times, up to a century, for a limiter that
    /// does not refuse an event later than it would have allowed it.
    fn retry_after(&self, state: &Self::State, now: Time, cost: f64) -> Retry {
        let passes = |wait: Span| self.peek(state, now.after(wait), cost).is_allowed();
        first(passes).map_or(Retry::Never, Retry::After)
    }

    /// The largest cost that would be allowed at `now`. If a cost must be below some bound to pass, as for Exim, this
    /// is the bound. By default, the difference between the limit and the level at `now`.
    fn remaining(&self, state: &Self::State, now: Time) -> f64 {
        let Outcome { level, limit, .. } = self.peek(state, now, 0.0);
        larger(limit - level, 0.0)
    }

    /// How long until an event of cost 1 is decided as the first event of a new key, if nothing arrives before. By
    /// default this is found as by [`retry_after`](Self::retry_after).
    fn reset_after(&self, state: &Self::State, now: Time) -> Span {
        let new = self.initial();
        let is_new = |wait: Span| {
            let then = now.after(wait);
            self.peek(state, then, 1.0) == self.peek(&new, then, 1.0)
        };
        first(is_new).unwrap_or(LONGEST)
    }

    /// True if the key of this state is being refused an event of cost `cost` at `now`, by the limiter that counted the
    /// state; `latest` is the latest time of an event of any key.
    ///
    /// A state from the future refuses until the clock has caught up, or until an event of the key moves the state back.
    /// A key that sends nothing must not be protected from eviction for all that time. So when the clock is further
    /// behind than the state takes to reset, a refused event of cost 0 is recorded here, which moves the state to `now`.
    #[doc(hidden)]
    fn is_refused(&self, state: &mut Self::State, now: Time, latest: Time, cost: f64) -> bool {
        let is_refused = !self.peek(state, now, cost).is_allowed();
        if is_refused && now < latest && now.until(latest) > self.reset_after(state, latest) {
            self.record(state, now, 0.0, false);
        }
        is_refused
    }

    /// The most that is ever admitted in any interval `(t, t + window]`, if all events have the cost
    /// `cost` and time does not run backwards. Infinite when the limiter has no such bound, as by default.
    fn max_admitted(&self, _window: Span, _cost: f64) -> f64 {
        f64::INFINITY
    }
}

/// The longest wait that is looked for where a limiter has no formula: a hundred years of 365 days.
const LONGEST: Span = Span::from_secs(100 * 365 * 86_400);

/// The shortest wait after which `holds`, by doubling it and then halving the step: some ninety questions.
fn first(holds: impl Fn(Span) -> bool) -> Option<Span> {
    if holds(Span::ZERO) {
        return Some(Span::ZERO);
    }
    let longest = LONGEST.micros_up().unsigned_abs();
    let mut after = 1;
    while !holds(Span::from_micros(after)) {
        if after == longest {
            return None;
        }
        after = (after * 2).min(longest);
    }
    let mut before = after / 2;
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if holds(Span::from_micros(middle)) { after = middle } else { before = middle }
    }
    Some(Span::from_micros(after))
}

/// The cost that a charge counts, at most [`MAX_COST`].
///
/// # Errors
/// When it is negative or not a number.
pub(crate) fn charged(cost: f64) -> Result<f64, BadNumber> {
    let wrong = BadNumber { what: "a cost", given: cost, want: "0 or more" };
    if cost >= 0.0 { Ok(smaller(cost, MAX_COST)) } else { Err(wrong) }
}

/// The cost of two events that count at one key. It is NaN, which no limiter lets pass, if either is no cost, so that
/// none makes up for the other.
#[inline]
#[doc(hidden)]
pub fn sum_of_costs(a: f64, b: f64) -> f64 {
    if is_cost(a) && is_cost(b) { a + b } else { f64::NAN }
}

/// True for a cost that a limiter can count.
#[inline(always)]
pub(crate) fn is_cost(cost: f64) -> bool {
    (0.0..=MAX_COST).contains(&cost)
}

//! Limiters: may this event pass?
//!
//! A limiter is a rule without memory; what it remembers of one sender is a separate state, so
//! one rule serves any number of keys and a state can live in a map, a file or a database.
//! Everything is `(limit, state, now, cost) -> (state, outcome)`: no clock is read.
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
//! // Three at once, then one each six seconds.
//! assert_eq!(passed[..6], [0, 1, 2, 6, 12, 18]);
//! // Twelve in all, and in no minute will there be more.
//! assert_eq!(passed.len(), 12);
//! assert_eq!(limiter.max_admitted(Span::minutes(1), 1.0).floor(), 12.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Those that measure a rate do so by an [estimator](crate::estimate). [`any`] is whichever of
//! them a text names, and a [store](crate::store) keeps the states of many keys.
//!
//! # The limiters
//! | limiter | what it holds against its limit | counts | state |
//! |---|---|---|---|
//! | [`exim`] | a decaying rate, with the event | all, the allowed, or none | 16 bytes |
//! | [`earrrl`] | a decaying rate, before the event | all | 16 bytes |
//! | [`token_bucket`] | the tokens missing, with the event's | the allowed | 24 bytes |
//! | [`gcra`] | the same, kept as one instant | the allowed | 16 bytes |
//! | [`leaky_bucket`] | the queue, with the event | the allowed | 16 bytes |
//! | [`fixed_window`] | the count of a window on the clock | the allowed | 16 bytes |
//! | [`sliding_window`] | the count of the last few blocks | the allowed | 40 bytes, 16 a block in use |
//! | [`sliding_counter`] | a count that fades out | the allowed | 24 bytes |
//! | [`sliding_log`] | the exact count of the last period | the allowed | 40 bytes, 16 an event |
//! | [`adaptive`] | a decaying rate, against a learned limit | all, the allowed, or none | 24 bytes |
//! | [`by_hour`] | the same, learned for each hour of the day | all, the allowed, or none | 120 bytes |
//!
//! And those of real servers, exact to their own arithmetic, so that a log shows what a server would
//! have done:
//!
//! | limiter | what it holds against its limit | counts | state |
//! |---|---|---|---|
//! | [`nginx`] | how far ahead of the rate a sender is | the allowed | 16 bytes |
//! | [`haproxy`] | a count that fades out, in windows of the sender's own | all, or the allowed | 16 bytes |
//! | [`envoy`] | the tokens missing, in doubles | the allowed | 16 bytes |
//!
//! Exim's is the first of the table above.
//!
//! # What a sender gets out of ten a minute
//! Measured: the bytes of a state; what passes *at once* from rest; what passed in the *worst
//! minute*, for a sender that knows when it may send, and the bound on that, which
//! [`max_admitted`](Limiter::max_admitted) computes; and *hammered*: what passes in the tenth minute for one
//! that sends ten times as much and does not stop.
//!
#![doc = include_str!("limit/measured.md")]
//!
//! # Numbers
//! The limiters that count do so in whole millionths of an event and whole microseconds, so that
//! an equality is an equality: a sender exactly at the limit is never refused for a rounding
//! error, and two forms of one algorithm decide alike. The ones that measure a rate use f64 and
//! the `libm` crate. Both give the same bits on every machine. [`in_f64`] says where f64 alone is
//! enough to decide exactly as the ones that count.
//!
//! # States that outlive their limit
//! In memory a state is in whatever units decide fastest. For a file, a database or the next
//! version of a rule, [`kept`] puts it into plain ones, and says which changes of a limit it
//! survives.
//!
//! # When time runs backwards
//! Clocks are set back, and threads hand in their events out of order. An event from before the
//! last one never finds more room than one at the last would have; and when it is so early that
//! the clock must have been set back, the state follows the clock with the next event that is
//! counted or refused. So no wait is longer by more than one period than the longest there is
//! without it: the period of a window, or the time that a full bucket takes to drain. Until then a
//! [`peek`](Limiter::peek) from before answers as for the state that it finds.
//!
//! Those that measure a rate follow the clock at once, as Exim does: events out of order cost them
//! the time between, which decays once more when time catches up.

pub mod adaptive;
mod amount;
pub mod any;
mod bucket;
pub mod by_hour;
pub mod earrrl;
pub mod envoy;
pub mod exim;
pub mod fixed_window;
pub mod gcra;
pub mod haproxy;
mod history;
pub mod in_f64;
pub mod kept;
pub mod leaky_bucket;
pub mod nginx;
mod quota;
mod retry;
mod server;
pub mod sliding_counter;
pub mod sliding_log;
pub mod sliding_window;
mod text;
pub mod token_bucket;

pub use text::{FORMS, Form};

use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};

/// The largest cost that is counted, and the largest limit on a count.
pub const MAX_COST: f64 = 1e12;

/// The time in a state that has seen no event.
const LONG_AGO: Time = Time::from_micros(i64::MIN);

/// The shortest interval over which a rate is smoothed: times are no finer.
const SHORTEST: Span = Span::micros(1);

/// A rate limiter.
///
/// An algorithm says what it makes of an event ([`peek`](Self::peek)), how it remembers one
/// ([`record`](Self::record)) and when one would pass ([`retry_after`](Self::retry_after)). The
/// usual call, [`check`](Self::check), is made of the first two. They are apart so that an event
/// can be put to several limits first and counted in all of them or in none, as a
/// [policy](crate::policy) does.
///
/// Costs are numbers of events, or whatever is limited: 1 for most uses, from 0 to [`MAX_COST`].
/// A cost that is negative, larger or not a number is refused and counted nowhere.
pub trait Limiter {
    /// What is remembered for one key.
    type State: Clone + core::fmt::Debug;

    /// The state of a key that was never seen.
    fn initial(&self) -> Self::State;

    /// What [`check`](Self::check) would answer to an event of cost `cost` at `now`; nothing is
    /// counted.
    ///
    /// With cost 0 that is the state at `now`: the level to draw, and the limit it is held against.
    fn peek(&self, state: &Self::State, now: Time, cost: f64) -> Outcome;

    /// Remembers an event of cost `cost` at `now` that was `allowed` or refused, by this limiter
    /// or by another that was asked about the same event. Limiters that count the refused say so.
    fn record(&self, state: &mut Self::State, now: Time, cost: f64, allowed: bool);

    /// Decides about an event of cost `cost` at `now`, and counts it.
    fn check(&self, state: &mut Self::State, now: Time, cost: f64) -> Outcome {
        let outcome = self.peek(state, now, cost);
        self.record(state, now, cost, outcome.is_allowed());
        outcome
    }

    /// Counts a cost that is known only after the event was allowed, such as bytes sent. It is not
    /// refused: what was too much is missing later.
    fn charge(&self, state: &mut Self::State, now: Time, cost: f64) {
        self.record(state, now, cost, true);
    }

    /// How long after `now` an event of cost `cost` passes if nothing is counted before; zero when
    /// it would pass at `now`.
    ///
    /// It takes longer to find than the verdict, so that it is asked for only when someone wants
    /// to know. After a refused event, ask with the state in which that left the key: one that
    /// counts refused events waits longer for it.
    fn retry_after(&self, state: &Self::State, now: Time, cost: f64) -> Retry;

    /// How much may still be counted at `now`: the largest cost that would be allowed, or where
    /// the limiter's bound is strict the bound itself, below which everything passes.
    fn remaining(&self, state: &Self::State, now: Time) -> f64;

    /// How long until an event of cost 1 is treated as if the key had never been seen, when
    /// nothing arrives before.
    fn reset_after(&self, state: &Self::State, now: Time) -> Span;

    /// The most that is ever admitted in any interval `(t, t + window]`, in events of cost `cost`
    /// while time does not run backwards. This is the promise that the limiter makes; infinite
    /// when it makes none.
    fn max_admitted(&self, window: Span, cost: f64) -> f64;
}

/// Whether `cost` is one that a limiter can count.
#[inline(always)]
pub(crate) fn is_cost(cost: f64) -> bool {
    (0.0..=MAX_COST).contains(&cost)
}

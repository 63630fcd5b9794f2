//! Envoy's local rate limit: a token bucket that is filled continuously, in doubles.
//!
#![doc = include_str!("pictures/envoy.svg")]
//!
//! Source: Envoy 1.32 to 1.40, `AtomicTokenBucketImpl` in `source/common/common/token_bucket_impl.h`
//! and `local_ratelimit_impl.cc`, and the decisions of a real Envoy (`tests/vectors/envoy_*.json`).
//! `token_bucket: { max_tokens: 10, tokens_per_fill: 5, fill_interval: 1s }` is `envoy 5/1s burst
//! 10` here.
//!
//! For each descriptor Envoy keeps an instant t, in seconds: the bucket counts as empty at t and as
//! filling since then. A request takes its tokens by moving t:
//!
//! ```text
//! rate = tokens_per_fill/fill_interval
//! tokens = min(max_tokens, (now - t) × rate)         t is now - max_tokens/rate at first
//! refused when tokens < cost, and then nothing is stored; or else t = now - (tokens - cost)/rate
//! ```
//!
//! So it is a [token bucket](super::token_bucket), with its promise of `max_tokens + rate × window`.
//!
//! # At a glance
//! * **For:** knowing what the filter `local_ratelimit` would have done with the requests of a log.
//! * **Against:** a promise to the last request. It rounds: at three tokens a second, a full bucket of seven allows only
//!   six of seven single requests when the host has been up for 36 to 73 hours.
//! * **Memory:** 16 bytes a key.
//! * **Elsewhere:** the [`token_bucket`](super::token_bucket). Envoy's *global* rate limit asks a service instead, whose
//!   `rate_limit` is a [`fixed_window`](super::fixed_window).
//! * **Wrong in articles:** tokens that come all at once, at the end of each fill interval. The interval only sets the
//!   rate: 100 tokens each minute come as one each 0.6 s, and the end of the minute adds none.
//!
//! The level is the tokens that would be missing after the event; the limit is the size of the
//! bucket.
//!
//! # Doubles
//! Envoy's clock is the time since the host's start, as a double of seconds. Its rounding therefore
//! depends on the uptime: to 1.5e-11 s after a day. A log does not contain the uptime. Here the clock
//! stands at [`UPTIME`] at the beginning of the day of the key's first event, as it did in the
//! recordings. So an event that comes exactly when its token does passes here if it passed there.
//!
//! # The edges
//! * **Equality:** an event that takes the last token passes, if the token is there to the last bit.
//! * **First event:** creates the bucket, even when it is refused.
//! * **A long silence:** the bucket is full.
//! * **Costs** are `hits_addend`, whole numbers; fractions are rounded up. Cost 0 takes nothing
//!   and is *refused*: Envoy takes "no token was taken" for "there were not enough".
//! * **Time runs backwards:** the tokens that came after the earlier time are gone again. When more than a
//!   full bucket would be owed, the clock was set back, and the bucket is empty. Envoy's own clock never
//!   goes back.
//! * **Not imitated:** in Envoy a request that matches several descriptors takes tokens from the first ones
//!   even if a later one refuses it; a policy of this crate counts in all or in none. Envoy keeps only
//!   the last 20 buckets of a wildcard descriptor, unless `max_dynamic_descriptors` says more.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax, fill, kept};
use super::amount::amount;
use super::any::AnyLimiter;
use super::in_f64::{InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::server::{FIXED, period, whole};
use super::text::{Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The assumed uptime of the host, in seconds, at the beginning of the day of a key's first event.
pub const UPTIME: f64 = 100_000.0;

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

/// The slowest rate at which a bucket is filled: one token in 365 days.
const SLOWEST: f64 = 1.0 / 31_536_000.0;

/// The rounding of a clock that has been running for up to 97 days, in seconds: half of its last bit.
const ROUNDING: f64 = 1.0 / (1u64 << 30) as f64;

/// Envoy's local rate limit: a token bucket in doubles.
///
/// ```text
/// tokens = min(max_tokens, (now - t) × tokens_per_fill/fill_interval)        an event passes when tokens >= cost
/// ```
///
/// ```
/// use ratescope::limit::envoy::Envoy;
/// use ratescope::{Limiter, Rate, Time};
///
/// // token_bucket: { max_tokens: 2, tokens_per_fill: 4, fill_interval: 1s }
/// let limiter = Envoy::new(Rate::per_second(4), 2)?;
/// let mut state = limiter.initial();
/// let passed = [0; 3].map(|_| limiter.check(&mut state, Time::ZERO, 1.0).is_allowed());
/// assert_eq!(passed, [true, true, false]);
/// assert_eq!(limiter.retry_after(&state, Time::ZERO, 1.0).to_string(), "in 250ms");
/// # Ok::<(), ratescope::BadNumber>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Envoy {
    fill: Rate,
    burst: u64,
    /// Tokens a second.
    rate: f64,
}

/// When the bucket was empty: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct State {
    /// When the clock stood at [`UPTIME`].
    day: Time,
    /// When the bucket was empty, in seconds of that clock; minus infinity before the first event.
    empty: f64,
}

impl Envoy {
    /// `fill` says how many tokens come per interval; the bucket holds at most `burst`.
    ///
    /// # Errors
    /// When the count of the rate or the burst is not a whole number from 1 to 2^32 - 1, or its
    /// period not a whole number of milliseconds from 50.
    pub fn new(fill: Rate, burst: u64) -> Result<Self, BadNumber> {
        let most = u32::MAX.into();
        let want = "a whole number from 1 to 4294967295";
        let tokens = whole("the count of a rate", fill.count(), 1..=most, want)?;
        whole("the burst", burst as f64, 1..=most, want)?;
        let want = "whole milliseconds, and at least 50ms";
        let interval = period(fill.per(), 50..=i64::MAX, want)?;
        let rate = (tokens as f64 / (interval as f64 / 1e3)).max(SLOWEST);
        Ok(Envoy { fill, burst, rate })
    }

    /// How many tokens come in an interval: `tokens_per_fill` and `fill_interval`.
    pub fn fill(&self) -> Rate {
        self.fill
    }

    /// How many tokens the bucket holds: `max_tokens`.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    fn size(&self) -> f64 {
        self.burst as f64
    }

    /// The state with a bucket, created if there is none: a new one is full. Where the clock's rounding would take a bit
    /// of the last token, the bucket was empty so much earlier. (Envoy makes a bucket a moment before it is asked.)
    fn begun(&self, state: &State, now: Time) -> State {
        if state.empty > f64::NEG_INFINITY {
            return *state;
        }
        let day = now.as_micros().div_euclid(DAY).saturating_mul(DAY);
        let mut new = State { day: Time::from_micros(day), ..*state };
        let clock = new.clock(now);
        new.empty = clock - self.size() / self.rate;
        let mut earlier = ROUNDING / 32.0;
        while (clock - new.empty) * self.rate < self.size() {
            new.empty -= earlier;
            earlier *= 2.0;
        }
        new
    }

    /// The tokens in the bucket of a state that has [`begun`](Self::begun); negative when tokens are owed
    /// or time ran backwards.
    fn tokens(&self, state: &State, now: Time) -> f64 {
        if self.is_set_back(state, now) {
            return 0.0;
        }
        ((state.clock(now) - state.empty) * self.rate).min(self.size())
    }

    /// True if the bucket will be empty for longer than it takes to fill, which no debt can cause. A
    /// microsecond is left for the clock's rounding.
    fn is_set_back(&self, state: &State, now: Time) -> bool {
        state.empty - state.clock(now) > self.size() / self.rate + 1e-6
    }

    /// How long until there are `tokens` in the bucket.
    fn has(&self, state: &State, now: Time, tokens: f64) -> Span {
        let seconds = state.empty + tokens / self.rate - UPTIME;
        // In two halves: the sum may fit into a time where the time since the host's start does not.
        let micros = libm::ceil(seconds * 1e6);
        let half = (micros / 2.0) as i64;
        let guess = state.day.as_micros().saturating_add(half);
        let guess = guess.saturating_add((micros - half as f64) as i64);
        wait_until(Time::from_micros(guess), now, &|at| self.tokens(state, at) >= tokens)
    }
}

impl State {
    /// Seconds since the host's start, rounded from whole nanoseconds as in Envoy.
    fn clock(&self, at: Time) -> f64 {
        let micros = i128::from(at.as_micros()) - i128::from(self.day.as_micros());
        let nanos = (micros + i128::from(UPTIME as i64) * 1_000_000) * 1000;
        nanos as f64 / 1e9
    }
}

/// A cost in tokens, rounded up; `None` when it cannot be counted.
fn tokens(cost: f64) -> Option<f64> {
    amount(cost).map(|millionths| millionths.div_ceil(1_000_000) as f64)
}

impl Limiter for Envoy {
    type State = State;

    fn initial(&self) -> State {
        State { day: Time::ZERO, empty: f64::NEG_INFINITY }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let Some(cost) = tokens(cost) else { return Outcome::new(false, cost, self.size()) };
        let there = self.tokens(&self.begun(state, now), now);
        let passes = there >= cost && cost > 0.0;
        Outcome::new(passes, self.size() - there + cost, self.size())
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        let Some(cost) = tokens(cost) else { return };
        *state = self.begun(state, now);
        let there = self.tokens(state, now);
        let clock = state.clock(now);
        if allowed && cost > 0.0 {
            // A charge, or an event that only another limiter allowed, may take more than there is.
            // A debt of more than a full bucket would be taken for a clock that was set back.
            state.empty = clock - (there - cost).max(-self.size()) / self.rate;
        } else if self.is_set_back(state, now) {
            state.empty = clock;
        }
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        match tokens(cost) {
            Some(cost) if cost > 0.0 && cost <= self.size() => {
                Retry::After(self.has(&self.begun(state, now), now, cost))
            }
            _ => Retry::Never,
        }
    }

    /// The whole tokens in the bucket.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        libm::floor(self.tokens(&self.begun(state, now), now)).max(0.0)
    }

    /// Until the bucket is full, as it is before the first event.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.has(state, now, self.size())
    }

    /// The whole bucket at once, what comes from then until the end of the window, and what rounding
    /// adds: at each event up to half of the last bit of the clock, and some last bits of the tokens.
    /// If rounding adds a token or more for each event, there is no bound.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let gaps = window.micros_up().saturating_sub(1).max(0);
        let exact = self.size() + gaps as f64 / 1e6 * self.rate;
        let gained = 2.0 * ROUNDING * self.rate + 4.0 * f64::EPSILON * self.size();
        let gained = gained / libm::ceil(cost).max(1.0);
        if gained < 1.0 { exact / (1.0 - gained) } else { f64::INFINITY }
    }
}

impl Algorithm for Envoy {
    const FORM: Form = Form {
        name: "envoy",
        words: "RATE [burst N]",
        example: "envoy 5/1s burst 10",
        about: "as Envoy's local rate limit: there are enough tokens; the burst is the count by default",
    };
    const UNIT: &'static str = "tokens used";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        // A count that is not a whole number is refused by `new`.
        let burst = given.whole("burst")?.unwrap_or(rate.count() as u64);
        Ok(Envoy::new(rate, burst)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        fill(self.size(), self.fill)
    }

    fn relaxed(&self, _by: Relax) -> Result<Self, NotRelaxed> {
        Err(FIXED)
    }

    fn shape(&self) -> Shape {
        let token = Span::try_from_secs_f64(self.rate.recip()).unwrap_or(Span::ZERO);
        Shape::new(Self::KIND, [token])
    }

    kept! {
        "envoy" ["interval of a token"]
        State { day: time "the day", empty: instant "when the bucket was empty", }
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        Ok(InF64::new(Lua { name: "envoy", counts: true }, [self.rate, self.size()]))
    }
}

/// As in `envoy 5/1s burst 10`.
impl fmt::Display for Envoy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "envoy {} burst {}", self.fill, self.burst)
    }
}

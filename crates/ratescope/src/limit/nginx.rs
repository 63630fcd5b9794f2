//! nginx's `limit_req`: a token bucket of one more than its burst, in thousandths of a request.
//!
#![doc = include_str!("pictures/nginx.svg")]
//!
//! Source: nginx 1.22 to 1.29, `src/http/modules/ngx_http_limit_req_module.c`, and the decisions of
//! a real nginx (`tests/vectors/nginx_*.json`). `limit_req_zone ... rate=10r/s` and `limit_req ...
//! burst=20 nodelay` are `nginx 10/1s burst 20 nodelay` here.
//!
//! For each key nginx keeps the *excess*: how far the key is ahead of the rate, in thousandths of a
//! request. Time is in whole milliseconds, the rate in whole thousandths of a request a second.
//!
//! ```text
//! r = floor(1000 × count/period)                     1r/m is 16, which is 0.96 a minute
//! x = max(0, excess - floor(r × ms/1000) + 1000)     0 for a new key
//! refused when x > 1000 burst, and then nothing is stored; or else excess = x, last = now
//! wait = floor((x - 1000 delay) × 1000/r) ms where x > 1000 delay; 0 with nodelay
//! ```
//!
//! So it promises at most `burst + 1 + rate × window` in any window.
//!
//! # At a glance
//! * **For:** knowing what `limit_req` would have done with the requests of a log.
//! * **Against:** rates per minute, which are cut: at 1r/m, an event each 60 s is refused.
//! * **Memory:** 16 bytes a key.
//! * **Elsewhere:** with `nodelay` a [`token_bucket`](super::token_bucket) of one more than the burst. Without it, events
//!   that are ahead wait, as in a [`leaky_bucket`](super::leaky_bucket).
//! * **Wrong in articles:** `rate=10r/s` explained as ten requests in any second, though without a burst a key may not be
//!   ahead at all: an event less than 100 ms after the last one is refused. `burst=20` explained as 20 requests at once,
//!   though 21 are let in, and without `nodelay` all but the first of them wait.
//!
//! The level is the excess in requests plus one: the number of events in the bucket, including this
//! one. The limit is the burst plus one. nginx's log prints the excess.
//!
//! # The edges
//! * **Equality:** an event that fills the burst passes.
//! * **First event, a long silence:** the excess is 0 after it.
//! * **Time** is cut to whole milliseconds: 12.9999 s is 12.999 s.
//! * **Fractions of a thousandth** that drained are lost at each event that passes.
//! * **Costs:** nginx counts requests. A cost of n counts as n requests in one millisecond, all or
//!   none of them; fractions of a thousandth are rounded up. Cost 0 counts nothing.
//! * **Time runs backwards:** an event up to a minute early counts as if no time had passed. For an event that is
//!   earlier still, one millisecond counts as passed, and if it passes, it moves the state to its time. So a key
//!   without any room is refused until the clock has caught up. nginx itself reads a clock that is never set back.
//! * **Not imitated:** when a new key comes, nginx may forget one or two keys that were not used for
//!   a minute and whose excess has drained. The next event of such a key counts as its first, so it
//!   may pass one event too early.

use super::algorithm::{Algorithm, NotRelaxed, Relax, fill};
use super::amount::amount;
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape, within};
use super::server::{FIXED, instant, millis, whole};
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter, MAX_COST};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The excess of a new key, in thousandths of a request: its first event brings it to 0.
const IDLE: i64 = -1000;

/// In milliseconds: an event that is earlier than the last one by more than this minute shows that the clock was set
/// back.
const SET_BACK: i64 = -60_000;

/// nginx's `limit_req`: an event passes unless it is ahead of the rate by more than the burst.
///
/// ```text
/// excess = max(0, excess - rate × elapsed + cost)        0 for a new key; an event passes when excess <= burst
/// ```
///
/// ```
/// use ratescope::limit::nginx::{Delay, Nginx};
/// use ratescope::{Limiter, Rate, Time};
///
/// // limit_req_zone $binary_remote_addr zone=a:10m rate=10r/s; limit_req zone=a burst=2 nodelay;
/// let limiter = Nginx::new(Rate::per_second(10), 2, Delay::Never)?;
/// let mut state = limiter.initial();
/// let passed = [0; 4].map(|_| limiter.check(&mut state, Time::ZERO, 1.0).is_allowed());
/// // The burst, and one more.
/// assert_eq!(passed, [true, true, true, false]);
/// # Ok::<(), ratescope::BadNumber>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nginx {
    rate: Rate,
    burst: u64,
    delay: Delay,
    /// Thousandths of a request that drain in a second.
    thousandths: u64,
}

/// The events ahead of the rate that are delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// All but the first n, as with `delay=8`. 0 delays all of them, which is nginx's default.
    Beyond(u64),
    /// None: `nodelay`.
    Never,
}

/// How far ahead the key was at its last event, and when that was: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    /// Thousandths of a request, from [`IDLE`].
    excess: i64,
    /// Milliseconds.
    last: i64,
}

impl Nginx {
    /// A whole number of events a second or a minute, and up to `burst` events ahead of that rate.
    ///
    /// # Errors
    /// When the period of the rate is neither 1s nor 1m, its count is not a whole number from 1 to
    /// 10^12, or the burst or the delay is more than 10^12.
    pub fn new(rate: Rate, burst: u64, delay: Delay) -> Result<Self, BadNumber> {
        let most = MAX_COST as u64;
        let want = "a whole number from 1 to 1e12";
        let count = whole("the count of a rate", rate.count(), 1..=most, want)?;
        let scale = match rate.per() {
            per if per == Span::from_secs(1) => 1,
            per if per == Span::from_mins(1) => 60,
            per => {
                let want = "1s or 1m, as nginx has no other";
                return Err(BadNumber { what: in_f64::PERIOD, given: per.as_secs_f64(), want });
            }
        };
        let beyond = match delay {
            Delay::Beyond(first) => first,
            Delay::Never => 0,
        };
        whole("the burst", burst as f64, 0..=most, "at most 1e12")?;
        whole("the delay", beyond as f64, 0..=most, "at most 1e12")?;
        Ok(Nginx { rate, burst, delay, thousandths: count * 1000 / scale })
    }

    /// The rate as given.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The rate in force, in events a second: cut to whole thousandths, as nginx keeps it.
    pub fn per_second(&self) -> f64 {
        self.thousandths as f64 / 1000.0
    }

    /// How many events may be ahead of the rate.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// The events ahead of the rate that are delayed.
    pub fn delay(&self) -> Delay {
        self.delay
    }

    /// This, draining at another rate, in thousandths of a request a second.
    pub(super) fn at_rate(&self, thousandths: u64) -> Self {
        Nginx { thousandths: thousandths.max(1), ..*self }
    }

    /// The highest excess that passes.
    fn most(&self) -> i64 {
        self.burst as i64 * 1000
    }

    /// How far ahead the key is at `now`.
    #[inline]
    fn excess(&self, state: &State, now: Time) -> i64 {
        let drained = i64::try_from(self.drained(elapsed(state, now))).unwrap_or(i64::MAX);
        state.excess.saturating_sub(drained).max(IDLE)
    }

    /// The thousandths of a request that drain in `millis`, rounded down. In whole seconds a whole
    /// number drains, so no product takes more than 64 bits, unless nothing is left.
    #[inline]
    fn drained(&self, millis: u64) -> u64 {
        let secs = millis / 1000;
        let rest = millis % 1000;
        self.thousandths.saturating_mul(secs).saturating_add(self.thousandths * rest / 1000)
    }

    /// The excess with an event of cost `cost`; `None` when it cannot be counted.
    #[inline]
    fn with(&self, state: &State, now: Time, cost: f64) -> Option<i64> {
        Some(self.excess(state, now) + thousandths(cost)?)
    }

    #[inline]
    fn outcome(&self, excess: Option<i64>, cost: f64) -> Outcome {
        let limit = self.burst as f64 + 1.0;
        let Some(excess) = excess else { return Outcome::new(false, cost, limit) };
        Outcome {
            wait: (excess <= self.most()).then(|| self.wait(excess)),
            level: (excess - IDLE) as f64 / 1000.0,
            limit,
        }
    }

    /// Stores the excess after an event. A charge, or an event that only another limiter allowed, may overfill the
    /// bucket, up to twice its size as in [`envoy`](super::envoy). In other buckets the debt has no such bound.
    #[inline]
    fn store(&self, state: &mut State, now: Time, excess: i64) {
        if elapsed(state, now) > 0 {
            state.last = millis(now);
        }
        state.excess = excess.min(2 * self.most() - IDLE);
    }

    fn wait(&self, excess: i64) -> Span {
        let Delay::Beyond(first) = self.delay else { return Span::ZERO };
        let ahead = excess.saturating_sub(first as i64 * 1000).max(0).unsigned_abs();
        Span::from_micros((ahead * 1000 / self.thousandths).saturating_mul(1000))
    }

    /// The first instant at which the key, at rest since its last event, is no further ahead than
    /// `excess`.
    fn drained_to(&self, state: &State, excess: i64) -> Time {
        let ahead = state.excess.saturating_sub(excess).max(0).unsigned_abs();
        let ms = (ahead * 1000).div_ceil(self.thousandths);
        instant(state.last.saturating_add_unsigned(ms))
    }
}

/// The milliseconds that count as passed since the last event: 1 if the clock was set back.
fn elapsed(state: &State, now: Time) -> u64 {
    match millis(now) - state.last {
        ms if ms < SET_BACK => 1,
        ms => ms.max(0).unsigned_abs(),
    }
}

/// A cost in thousandths of a request, rounded up: at most 10^15.
fn thousandths(cost: f64) -> Option<i64> {
    amount(cost).map(|millionths| millionths.div_ceil(1000) as i64)
}

impl Limiter for Nginx {
    type State = State;

    fn initial(&self) -> State {
        State { excess: IDLE, last: millis(LONG_AGO) }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.outcome(self.with(state, now, cost), cost)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        if allowed
            && cost > 0.0
            && let Some(excess) = self.with(state, now, cost)
        {
            self.store(state, now, excess);
        }
    }

    /// Computes the excess once instead of twice.
    #[inline]
    fn check_last(&self, state: &mut State, now: Time, cost: f64, others: bool) -> Outcome {
        let excess = self.with(state, now, cost);
        let outcome = self.outcome(excess, cost);
        if others
            && outcome.is_allowed()
            && cost > 0.0
            && let Some(excess) = excess
        {
            self.store(state, now, excess);
        }
        outcome
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let Some(cost) = thousandths(cost).filter(|cost| IDLE + cost <= self.most()) else {
            return Retry::Never;
        };
        if self.excess(state, now) + cost <= self.most() {
            return Retry::NOW;
        }
        Retry::After(now.until(self.drained_to(state, self.most() - cost)))
    }

    /// The room in the bucket.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        (self.most() - self.excess(state, now)).max(0) as f64 / 1000.0
    }

    /// Until the bucket is empty.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        now.until(self.drained_to(state, IDLE))
    }

    /// The whole bucket at once, and all that drains from then until the end of the window, for each millisecond that
    /// begins in it. Rounding each number down gives at most the sum, rounded down.
    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        let gaps = window.micros_up().saturating_sub(1).max(0).unsigned_abs();
        let drained = u128::from(self.thousandths) * u128::from(gaps.div_ceil(1000)) / 1000;
        self.burst as f64 + 1.0 + drained as f64 / 1000.0
    }
}

impl Algorithm for Nginx {
    const FORM: Form = Form {
        name: "nginx",
        words: "RATE [burst N] [nodelay|delay N]",
        example: "nginx 10/1s burst 20 nodelay",
        about: "as nginx's limit_req: not ahead of the rate by more than the burst; by default there is no burst, and events that are ahead wait",
    };
    const UNIT: &'static str = "tokens used";
    const KIND: &'static Kind =
        &Kind { name: "nginx", spans: &[], read: |_, bytes| read(bytes).map(drop) };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        let burst = given.whole("burst")?.unwrap_or(0);
        let delay = match given.flag(&["nodelay"]) {
            Some(_) => Delay::Never,
            None => Delay::Beyond(given.whole("delay")?.unwrap_or(0)),
        };
        Ok(Nginx::new(rate, burst, delay)?.into())
    }

    /// The burst adds to the one event that the rate lets pass. The rate is cut to nginx's units, and may be below the
    /// written one.
    fn quota(&self) -> Option<Rate> {
        fill(self.burst as f64 + 1.0, Rate::new(self.per_second(), Span::from_secs(1)).ok()?)
    }

    fn delays(&self) -> bool {
        matches!(self.delay, Delay::Beyond(first) if first < self.burst)
    }

    fn relaxed(&self, _by: Relax) -> Result<Self, NotRelaxed> {
        Err(FIXED)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [])
    }

    fn as_of(&self, state: &State, now: Time) -> State {
        let last = if elapsed(state, now) > 0 { millis(now) } else { state.last };
        State { excess: self.excess(state, now), last }
    }

    fn keep(&self, state: &State, _now: Time, out: &mut Content) {
        out.signed(state.excess).millis(state.last);
    }

    /// As nginx after a reload, with the excess of the zone as it is: a smaller burst is over it for longer.
    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        read(bytes)
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        // A drained amount beyond 2^53 is rounded, but it is then more than the bucket holds.
        in_f64::check_amount("the burst", self.burst.saturating_mul(1_000_000))?;
        let delay = match self.delay {
            Delay::Beyond(first) => first as f64 * 1000.0,
            Delay::Never => -1.0,
        };
        let numbers = [self.thousandths as f64, self.most() as f64, delay];
        Ok(InF64::new(Lua { name: "nginx", counts: true }, numbers))
    }
}

fn read(bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
    const EXCESS: &str = "the excess";
    let excess = within(bytes.signed(EXCESS)?, IDLE..=i64::MAX / 4, EXCESS)?;
    Ok(State { excess, last: bytes.millis("the millisecond")? })
}

/// As in `nginx 10/1s burst 20 nodelay`. A burst of 0 is left out, since nginx refuses `burst=0`.
impl fmt::Display for Nginx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nginx {}", self.rate)?;
        if self.burst > 0 {
            write!(f, " burst {}", self.burst)?;
        }
        match self.delay {
            Delay::Beyond(0) => Ok(()),
            Delay::Beyond(first) => write!(f, " delay {first}"),
            Delay::Never => f.write_str(" nodelay"),
        }
    }
}

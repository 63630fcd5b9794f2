//! HAProxy's rate counters in a stick table: two windows for each key, the older one fading out.
//!
#![doc = include_str!("pictures/haproxy.svg")]
//!
//! Source: HAProxy 2.6 to 3.2, `include/haproxy/freq_ctr.h` and `src/freq_ctr.c`, and the decisions
//! of a real HAProxy (`tests/vectors/haproxy_*.json`). It is used in two ways:
//!
//! ```text
//! haproxy 20/10s            http-request track-sc0 src        table: store http_req_rate(10s)
//!                           http-request deny if { sc_http_req_rate(0) gt 20 }
//! haproxy 20/10s allowed    http-request track-sc0 src        table: store gpc0,gpc0_rate(10s)
//!                           http-request deny if { sc_gpc0_rate(0) ge 20 }
//!                           http-request sc-inc-gpc0(0)
//! ```
//!
//! In the first, every request counts, even when it is refused, and the count *including* it is
//! compared with the limit. In the second, only requests that passed count, and the count *before*
//! the request is compared with the limit. The count of the last period is estimated as in the
//! [sliding counter](super::sliding_counter), in whole milliseconds and whole numbers:
//!
//! ```text
//! rate = floor((previous × left + current × period)/period)      left: ms left of this window
//! ```
//!
//! It differs in two ways. The first window begins at the key's first event; a new series of windows
//! begins with the first event that is counted two periods or more after a window began. And a count
//! of 1 does not fade: when both windows together hold a single 1, it reads as 1 until two periods
//! have passed since its window began, "to avoid flapping".
//!
//! When it counts all requests, it promises at most the limit in each window, and refuses a sender as
//! long as that sender stays above the limit.
//!
//! # At a glance
//! * **For:** knowing what a stick table would have done with the requests of a log.
//! * **Against:** a limit of 1. When it counts allowed requests, `1/10s` lets one through each 20 s, since a count of 1
//!   does not fade; an event of cost 2 is forgotten sooner, since a count of 2 does.
//! * **Memory:** 16 bytes a key.
//! * **Elsewhere:** the [`sliding_counter`](super::sliding_counter), whose windows are those of the clock. Articles about
//!   HAProxy call it a *sliding window*.
//! * **Wrong in articles:** `http_req_rate(10s) gt 20` explained as 20 that pass each ten seconds, though nothing passes
//!   of a sender that goes on faster; `gpc0_rate(10s) gt 20`, which lets 21 through, since the request itself is not in
//!   that count yet.
//!
//! The level is the number that the rule compares with the limit.
//!
//! # The edges
//! * **Equality:** counting all, the event that reaches the limit passes; counting the allowed, the
//!   next one is refused. The effect is the same.
//! * **Time** is cut to whole milliseconds, and the beginning of a window to an even millisecond.
//! * **A long silence:** nothing is left after two periods.
//! * **Costs:** HAProxy counts requests; fractions are rounded up. Cost 0 only reads the rate, and
//!   passes. When allowed requests count, the cost is not compared with the limit: the event that
//!   exceeds the limit passes, whatever it costs.
//! * **Time runs backwards:** an event from before its window counts at the beginning of the window. An event more than
//!   a period earlier shows that the clock was set back, and the window moves to its time: to the next even
//!   millisecond. HAProxy's own clock never goes back.
//! * **Not imitated:** HAProxy's clock has 32 bits and wraps around after 49.7 days. Its counts wrap
//!   around at 2^32; here they stay at 2^32 - 1.

use super::algorithm::{Algorithm, NotRelaxed, Relax, kept};
use super::amount::touched;
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::server::{FIXED, count, instant, millis, period, whole_cost};
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The longest period that HAProxy accepts, in milliseconds: 24.8 days.
const LONGEST: i64 = i32::MAX as i64;

/// A rate counter of HAProxy's stick table, such as `http_req_rate(10s)`, and the rule that reads it.
///
/// ```text
/// rate = floor((previous × left + current × period)/period)        passes when rate <= limit, the request included
/// ```
///
/// ```
/// use ratescope::limit::haproxy::{Counts, Haproxy};
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = Haproxy::new(Rate::new(2.0, Span::from_secs(10))?, Counts::All)?;
/// let mut state = limiter.initial();
/// let passed = [0, 1, 2, 3, 30].map(|second| {
///     limiter.check(&mut state, Time::ZERO.after(Span::from_secs(second)), 1.0).is_allowed()
/// });
/// assert_eq!(passed, [true, true, false, false, true]);
/// # Ok::<(), ratescope::BadNumber>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Haproxy {
    limit: Rate,
    counts: Counts,
    most: u32,
    /// Milliseconds.
    period: i64,
}

/// The requests that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counts {
    /// Every request, before the decision: `http_req_rate` and `gt`.
    All,
    /// Requests that passed: `gpc0_rate`, `ge` and `sc-inc-gpc0`.
    Allowed,
}

/// The beginning of the current window, its count and the count of the window before: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    /// Milliseconds.
    began: i64,
    current: u32,
    previous: u32,
}

impl Haproxy {
    /// At most `limit` in a period, by the estimate above. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is not a whole number up to 10^9, or its period is not a whole
    /// number of milliseconds from 2 to 2^31 - 1, which is 24.8 days.
    pub fn new(limit: Rate, counts: Counts) -> Result<Self, BadNumber> {
        let want = "whole ms from 2ms to 24.8 days";
        let period = period(limit.per(), 2..=LONGEST, want)?;
        Ok(Haproxy { limit, counts, most: count(limit)?, period })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The requests that are counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The state, with its window moved if the clock was set back, and the millisecond at which an
    /// event at `now` counts.
    fn at(&self, state: &State, now: Time) -> (State, i64) {
        let now = millis(now);
        let is_set_back = state.began.saturating_sub(now) > self.period;
        // Rounded up: rounded down, the older window would have begun to fade already.
        let began = if is_set_back { (now + 1) & !1 } else { state.began };
        (State { began, ..*state }, now.max(began))
    }

    /// The counter after `n` more requests at `now`.
    fn count(&self, state: State, now: i64, n: u32) -> State {
        if now - state.began < self.period {
            return State { current: state.current.saturating_add(n), ..state };
        }
        let next = state.began + self.period;
        if now - next < self.period {
            State { began: next & !1, current: n, previous: state.current }
        } else {
            State { began: now & !1, current: n, previous: 0 }
        }
    }

    /// The count of the last period at `now`, as a rule reads it.
    fn rate(&self, state: State, now: i64) -> u64 {
        let (current, previous) = self.windows(state, now);
        match (current, previous) {
            (0, 0 | 1) => previous,
            _ => self.weighed(state, now),
        }
    }

    /// The counts of the window that contains `now` and of the one before. For reading, as in HAProxy, a
    /// window also contains the first millisecond after its end; for counting it does not.
    fn windows(&self, state: State, now: i64) -> (u64, u64) {
        match now - state.began {
            passed if passed <= self.period => (state.current.into(), state.previous.into()),
            passed if passed <= 2 * self.period => (0, state.current.into()),
            _ => (0, 0),
        }
    }

    /// The estimate without the exception for a count of 1.
    fn weighed(&self, state: State, now: i64) -> u64 {
        let (current, previous) = self.windows(state, now);
        let passed = now - state.began;
        let begun = if passed <= self.period { self.period } else { 2 * self.period };
        let left = (begun - passed).max(0).unsigned_abs();
        let period = self.period.unsigned_abs();
        (previous * left + current * period) / period
    }

    /// The number that the rule compares with the limit when `n` requests come at `now`, and whether they
    /// pass. Reading alone, n = 0, always passes.
    fn decide(&self, state: State, now: i64, n: u32) -> (u64, bool) {
        let most = u64::from(self.most);
        match self.counts {
            _ if n == 0 => (self.rate(state, now), true),
            Counts::All => {
                let rate = self.rate(self.count(state, now, n), now);
                (rate, rate <= most)
            }
            Counts::Allowed => {
                let rate = self.rate(state, now);
                (rate, rate < most)
            }
        }
    }

    /// The first millisecond at which nothing is left.
    fn faded(&self, state: &State) -> i64 {
        // Exactly two periods after its window began, a count of 1 still reads as 1, unless the request, counted first,
        // begins a new window.
        let more = i64::from(self.counts == Counts::Allowed && state.current == 1);
        state.began.saturating_add(2 * self.period + more)
    }
}

impl Limiter for Haproxy {
    type State = State;

    fn initial(&self) -> State {
        State { began: millis(LONG_AGO) & !1, current: 0, previous: 0 }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let Some(n) = whole_cost(cost) else {
            return Outcome::new(false, cost, self.limit.count());
        };
        let (state, now) = self.at(state, now);
        let (rate, passes) = self.decide(state, now, n);
        Outcome::new(passes, rate as f64, self.limit.count())
    }

    /// With [`Counts::All`], refused events count, too.
    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        let Some(n) = whole_cost(cost) else { return };
        let (moved, now) = self.at(state, now);
        let counts = n > 0 && (allowed || self.counts == Counts::All);
        *state = if counts { self.count(moved, now, n) } else { moved };
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let Some(n) = whole_cost(cost) else { return Retry::Never };
        let most = if self.counts == Counts::All { n } else { n.min(1) };
        if most > self.most {
            return Retry::Never;
        }
        let (state, _) = self.at(state, now);
        let passes = |at: Time| {
            let (state, at) = self.at(&state, at);
            self.decide(state, at, n).1
        };
        Retry::After(wait_until(instant(self.faded(&state) + 1), now, &passes))
    }

    /// The count that is left until the limit is reached. With [`Counts::Allowed`], an event with a higher cost still
    /// passes, unless nothing is left.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        let (state, now) = self.at(state, now);
        let rate = match self.counts {
            Counts::All => self.weighed(self.count(state, now, 0), now),
            Counts::Allowed => self.rate(state, now),
        };
        u64::from(self.most).saturating_sub(rate) as f64
    }

    /// Until two periods have passed since the window began.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        let (state, _) = self.at(state, now);
        if state.current == 0 { Span::ZERO } else { now.until(instant(self.faded(&state))) }
    }

    /// At most the limit in each of its windows; with [`Counts::Allowed`] the last event of each may
    /// exceed it. Windows begin at least a period apart, cut to an even number of milliseconds.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let most = match (self.counts, self.most) {
            (Counts::Allowed, 1..) => f64::from(self.most - 1) + libm::ceil(cost),
            (_, most) => f64::from(most),
        };
        most * touched(window.micros_up(), (self.period & !1) * 1000) as f64
    }
}

impl Algorithm for Haproxy {
    const FORM: Form = Form {
        name: "haproxy",
        words: "RATE [allowed]",
        example: "haproxy 20/10s",
        about: "as HAProxy's http_req_rate: at most the count in the window of the sender and the fading share of the last one; refused events count by default",
    };
    const UNIT: &'static str = "in window";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        let allowed = given.flag(&["allowed"]);
        let counts = if allowed.is_some() { Counts::Allowed } else { Counts::All };
        Ok(Haproxy::new(rate, counts)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, _by: Relax) -> Result<Self, NotRelaxed> {
        Err(FIXED)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [self.limit.per()])
    }

    kept! {
        "haproxy" ["period"]
        State {
            began: millis "the millisecond",
            current: count "the current count",
            previous: count "the previous count",
        }
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        // A count times milliseconds beyond 2^53 is over the limit.
        let what = "the product of a rate's count and milliseconds";
        in_f64::check_product(what, self.most.into(), self.period.unsigned_abs())?;
        let allowed = if self.counts == Counts::Allowed { 1.0 } else { 0.0 };
        let numbers = [self.most.into(), self.period as f64, allowed];
        Ok(InF64::new(Lua { name: "haproxy", counts: true }, numbers))
    }
}

/// As in `haproxy 20/10s`, or `haproxy 20/10s allowed`.
impl fmt::Display for Haproxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = if self.counts == Counts::Allowed { " allowed" } else { "" };
        write!(f, "haproxy {}{allowed}", self.limit)
    }
}

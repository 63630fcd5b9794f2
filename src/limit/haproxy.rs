//! HAProxy's rate counters in a stick table: two windows of the key's own, the older one fading out.
//!
//! Source: HAProxy 2.6 to 3.2, `include/haproxy/freq_ctr.h` and `src/freq_ctr.c`, and what a real
//! HAProxy decided (`tests/vectors/haproxy_*.json`). Two ways in which it is used:
//!
//! ```text
//! haproxy 20/10s            http-request track-sc0 src        table: store http_req_rate(10s)
//!                           http-request deny if { sc_http_req_rate(0) gt 20 }
//! haproxy 20/10s allowed    http-request track-sc0 src        table: store gpc0,gpc0_rate(10s)
//!                           http-request deny if { sc_gpc0_rate(0) ge 20 }
//!                           http-request sc-inc-gpc0(0)
//! ```
//!
//! In the first, every request counts, the refused as well, and is held against the limit with
//! itself in it. In the second only what passed counts, and the count *before* a request is held
//! against the limit. The count of the last period is estimated as in the [sliding
//! counter](super::sliding_counter), in whole milliseconds and whole numbers:
//!
//! ```text
//! rate = floor((previous × left + current × period)/period)      left: ms left of this window
//! ```
//!
//! but windows begin at the key's first event, and anew with the first that is counted two periods
//! or more after a window began. And a count of 1 does not fade: when it is all that there is, it
//! reads as 1 until two periods have passed since its window began, "to avoid flapping".
//!
//! Counting all, it promises at most the limit in each window, and refuses a sender who stays above
//! it for as long as that goes on. It surprises where 1 is the limit: counting the allowed, `1/10s`
//! lets one through each 20 s, as a count of 1 does not fade; and one that cost 2 is forgotten
//! sooner, as it does.
//!
//! The level is what the rule compares, and the limit what it is compared with.
//!
//! # The edges
//! * **Equality:** counting all, the event that reaches the limit passes; counting the allowed, the
//!   one after it is refused. That is the same limit.
//! * **Time between milliseconds** is cut, and the beginning of a window to an even millisecond.
//! * **A long silence:** nothing is left after two periods.
//! * **Costs:** HAProxy counts requests; parts of one are rounded up. Cost 0 only reads the rate,
//!   and passes. Counting the allowed, a cost is not held against the limit, so that the event
//!   which goes over it passes, whatever it costs.
//! * **Time runs backwards:** an event from before its window counts as at the beginning of it. From
//!   more than a period before, the clock was set back, and the window moves with it. HAProxy's own
//!   clock never goes back.
//! * **What is left out:** a clock of 32 bits, which begins anew after 49.7 days. Counts stay at
//!   2^32 - 1, where HAProxy's begin anew.

use super::amount::{amount, touched};
use super::in_f64;
use super::kept::{Algorithm, Content, Keep, Shape};
use super::retry::wait_until;
use super::server::{instant, millis, period, whole};
use super::{LONG_AGO, Limiter};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The longest period that HAProxy takes, in milliseconds: 24.8 days.
const LONGEST: i64 = i32::MAX as i64;

/// The highest limit, far below what a counter holds.
const HIGHEST: u64 = 1_000_000_000;

/// A rate counter of a stick table, and the rule that reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Haproxy {
    limit: Rate,
    counts: Counts,
    most: u32,
    /// Milliseconds.
    period: i64,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counts {
    /// Every request, before it is decided about: `http_req_rate` and `gt`.
    All,
    /// Those that passed: `gpc0_rate`, `ge` and `sc-inc-gpc0`.
    Allowed,
}

/// The beginning of the window, its count and that of the one before: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Milliseconds.
    began: i64,
    current: u32,
    previous: u32,
}

impl Haproxy {
    /// At most `limit` in a period, as far as the counter can tell. A limit of 0 refuses
    /// everything.
    ///
    /// # Errors
    /// When the count of the limit is not a whole number up to 10^9, or its period not a whole
    /// number of milliseconds from 2 to 2^31 - 1, which is 24.8 days.
    pub fn new(limit: Rate, counts: Counts) -> Result<Self, BadNumber> {
        let want = "a whole number up to 1e9";
        let most = whole("the count of a rate", limit.count(), 0..=HIGHEST, want)?;
        let want = "whole milliseconds from 2ms to 2147483647ms, which is 24.8 days";
        let period = period(limit.per(), 2..=LONGEST, want)?;
        Ok(Haproxy { limit, counts, most: most as u32, period })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// What is counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The millisecond that an event at `now` counts at, and the window, where it must move with a
    /// clock that was set back.
    fn at(&self, state: &State, now: Time) -> (State, i64) {
        let now = millis(now);
        match state.began.saturating_sub(now) > self.period {
            true => (State { began: now & !1, ..*state }, now),
            false => (*state, now.max(state.began)),
        }
    }

    /// The counter after `n` more at `now`.
    fn count(&self, state: State, now: i64, n: u32) -> State {
        if now - state.began < self.period {
            return State { current: state.current.saturating_add(n), ..state };
        }
        let began = state.began + self.period;
        match now - began < self.period {
            true => State { began: began & !1, current: n, previous: state.current },
            false => State { began: now & !1, current: n, previous: 0 },
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

    /// The counts of the window that `now` is in and of the one before; a window ends with the
    /// first millisecond of the next.
    fn windows(&self, state: State, now: i64) -> (u64, u64) {
        match now - state.began {
            passed if passed <= self.period => (state.current.into(), state.previous.into()),
            passed if passed <= 2 * self.period => (0, state.current.into()),
            _ => (0, 0),
        }
    }

    /// The count without the exception for 1.
    fn weighed(&self, state: State, now: i64) -> u64 {
        let (current, previous) = self.windows(state, now);
        let passed = now - state.began;
        let begun = if passed <= self.period { self.period } else { 2 * self.period };
        let left = (begun - passed).max(0).unsigned_abs();
        let period = self.period.unsigned_abs();
        (previous * left + current * period) / period
    }

    /// What the rule compares when `n` requests come at `now`, and whether they pass.
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
        // The last millisecond of two periods still belongs to a 1 that does not fade, but not to
        // what counts before it reads.
        let more = i64::from(self.counts == Counts::Allowed && state.current == 1);
        state.began.saturating_add(2 * self.period + more)
    }
}

/// A cost in requests, rounded up.
fn requests(cost: f64) -> Option<u32> {
    amount(cost).map(|millionths| u32::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u32::MAX))
}

impl Limiter for Haproxy {
    type State = State;

    fn initial(&self) -> State {
        State { began: millis(LONG_AGO) & !1, current: 0, previous: 0 }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let Some(n) = requests(cost) else {
            return Outcome::new(false, cost, self.limit.count());
        };
        let (state, now) = self.at(state, now);
        let (rate, passes) = self.decide(state, now, n);
        Outcome::new(passes, rate as f64, self.limit.count())
    }

    /// Counts the refused as well, unless it counts the allowed.
    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        let Some(n) = requests(cost) else { return };
        let (moved, now) = self.at(state, now);
        let counts = n > 0 && (allowed || self.counts == Counts::All);
        *state = if counts { self.count(moved, now, n) } else { moved };
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let Some(n) = requests(cost) else { return Retry::Never };
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

    /// What may still be counted until the limit is reached. Counting the allowed, an event that
    /// costs more still passes.
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

    /// In each of its windows the limit at most; counting the allowed, the last event of each may
    /// go over it. A window is a period long, and its beginning cut to an even millisecond.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let most = match (self.counts, self.most) {
            (Counts::Allowed, 1..) => f64::from(self.most - 1) + libm::ceil(cost),
            (_, most) => f64::from(most),
        };
        most * touched(window.micros_up(), (self.period & !1) * 1000) as f64
    }
}

impl Keep for Haproxy {
    fn shape(&self) -> Shape {
        Shape::new(Algorithm::Haproxy, [self.limit.per()])
    }

    fn keep(&self, state: &State, _now: Time) -> Content {
        let State { began, current, previous } = *state;
        Content::Pair { began, current, previous }
    }

    fn restore(&self, content: &Content) -> Option<State> {
        let Content::Pair { began, current, previous } = *content else { return None };
        Some(State { began, current, previous })
    }

    /// Where limit times period is exact: a count times milliseconds that is not is over it.
    fn exact_in_f64(&self) -> Result<(), BadNumber> {
        let what = "the product of a rate's count and milliseconds";
        in_f64::product(what, self.most.into(), self.period.unsigned_abs())
    }
}

/// As in `haproxy 20/10s`, or `haproxy 20/10s allowed`.
impl fmt::Display for Haproxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = if self.counts == Counts::Allowed { " allowed" } else { "" };
        write!(f, "haproxy {}{allowed}", self.limit)
    }
}

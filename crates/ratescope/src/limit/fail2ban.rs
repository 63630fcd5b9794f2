//! fail2ban: bans an address for a while after a number of failures within its `findtime`.
//!
#![doc = include_str!("pictures/fail2ban.svg")]
//!
//! Source: fail2ban 0.10 to 1.1, `server/failmanager.py` and `FailTicket.adjustTime` in
//! `server/ticket.py`, and the decisions of a real fail2ban (`tests/vectors/fail2ban_*.json`).
//! `fail2ban 5/10m ban 1h` is a jail with
//!
//! ```text
//! maxretry = 5
//! findtime = 10m
//! bantime = 1h
//! ```
//!
//! An event is a failure, such as a wrong password. fail2ban keeps no list of them, only their
//! estimated number c, the time of the last, and an instant b at which the count begins. F is the
//! `findtime`. An event at t > b + F moves b to t - F, and reduces the count to the share that would be
//! left in the last F if the events had come evenly:
//!
//! ```text
//! if t - b > F:    c = round(c / (t - b) * F),  b = t - F        a half is rounded to the even number
//! c = c + 1                                                      banned if c reaches maxretry
//! ```
//!
//! At F after the last event the count is forgotten. The event that reaches `maxretry` bans; here it counts
//! as refused, although its sender has got an answer. During a ban nothing is counted, and after it the
//! count starts over.
//!
//! # At a glance
//! * **For:** failures, such as wrong passwords, which an honest sender has few of. And for knowing what a jail would
//!   have done with those of a log.
//! * **Against:** a limit on requests, since a sender who exceeds it gets nothing for the whole ban; a sender who
//!   guesses slowly and is never banned, as derived below.
//! * **Memory:** 24 bytes a key.
//! * **Elsewhere:** a *jail*. Where the failures of an account count, it is a *lockout*.
//! * **Wrong in articles:** `maxretry` explained as the most failures in any `findtime`, though there may be nearly twice
//!   as many, or as the number of failures that are forgiven, though the last of them bans.
//!
//! # The most in a window
//! Let m be `maxretry`. By the rounding, a count of m - 1 loses one as soon as (m - 1) F/(F + g) is at most m - 3/2,
//! which is after g = F/(2 m - 3). So a sender who waits that long each time is never banned: with `5/10m` that is seven
//! failures in ten minutes, and nearly 2 m for a large m. On the other hand, nothing is rounded away within the first F,
//! so m in a row always ban.
//!
//! The level is the count with the event; during a ban it is `maxretry`.
//!
//! # The edges
//! * **Equality:** the count that reaches the limit bans. At exactly F after the last event the count is forgotten; at
//!   exactly F after b nothing is rounded yet. A ban still holds at the instant at which its whole time has passed.
//! * **Costs:** fail2ban counts whole failures; fractions are rounded up. Cost 0 only reads.
//! * **Time runs backwards:** an event from before the last one counts at the time of the last one. An event more than
//!   F earlier shows that the clock was set back, and the count moves to its time. The rest of a ban is cut to the
//!   length of a ban.
//! * **Not imitated:** fail2ban drops old counts every five seconds, so a count may last up to five seconds longer. It
//!   reads a log some time after the event, and its bans take effect then. There is no `bantime.increment` here.

use super::algorithm::{Algorithm, NotRelaxed, Relax, kept};
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::server::{FIXED, count, whole, whole_cost};
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The longest `findtime` and `bantime` in seconds: a hundred years of 365 days.
const LONGEST: u64 = 100 * 365 * 86_400;

/// The default length of a ban, as in fail2ban: ten minutes.
pub const BAN: Span = Span::from_mins(10);

/// A jail of fail2ban: the failure that reaches `maxretry` within `findtime` bans its sender for `bantime`.
///
/// ```text
/// count = round(count × findtime/(now - begin))  where more than findtime has passed, then + 1; bans at maxretry
/// ```
///
/// ```
/// use ratescope::limit::fail2ban::Fail2ban;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let jail = Fail2ban::new(Rate::new(3.0, Span::from_mins(10))?, Span::from_hours(1))?;
/// let mut state = jail.initial();
/// let passed = [0, 1, 2, 3].map(|second| {
///     jail.check(&mut state, Time::ZERO.after(Span::from_secs(second)), 1.0).is_allowed()
/// });
/// // The third failure bans.
/// assert_eq!(passed, [true, true, false, false]);
/// # Ok::<(), ratescope::BadNumber>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fail2ban {
    limit: Rate,
    ban: Span,
    most: u32,
}

/// The count of a sender, or the end of its ban: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    /// When the count begins.
    began: Time,
    /// The time of the last event, or the first instant after the ban.
    last: Time,
    /// The estimated number of events; 0 stands for a ban, which may be over.
    count: u32,
}

impl Fail2ban {
    /// A jail that bans for `ban` at the `maxretry` and in the `findtime` of `limit`.
    ///
    /// # Errors
    /// When `maxretry` is not a whole number up to 10^9, or one of the times is not in whole seconds
    /// from 1 s to 100 years.
    pub fn new(limit: Rate, ban: Span) -> Result<Self, BadNumber> {
        let want = "whole seconds up to 100 years";
        whole("the period of a rate in seconds", limit.per().as_secs_f64(), 1..=LONGEST, want)?;
        whole("the time of a ban", ban.as_secs_f64(), 1..=LONGEST, want)?;
        Ok(Fail2ban { limit, ban, most: count(limit)? })
    }

    /// `maxretry` per `findtime`.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The length of a ban.
    pub fn ban(&self) -> Span {
        self.ban
    }

    /// The first instant after a ban that begins at `now`: a microsecond after its whole length, when the ban still
    /// holds.
    fn freed(&self, now: Time) -> Time {
        now.after(self.ban).after(Span::from_micros(1))
    }

    /// The state at an event at `now`, moved if the clock was set back, and the instant at which the
    /// event counts; `None` during a ban.
    fn at(&self, state: &State, now: Time) -> (State, Option<Time>) {
        let State { began, last, count } = *state;
        let find = self.limit.per();
        match count {
            0 if now >= last => (State { began: now, ..*state }, Some(now)),
            0 => (State { last: last.min(self.freed(now)), ..*state }, None),
            _ if now >= last.after(find) => (State { began: now, last, count: 0 }, Some(now)),
            _ if last > now.after(find) => (State { began: now, last: now, count }, Some(now)),
            _ => {
                let at = now.max(last);
                let passed = at.since(began);
                if passed <= find.as_secs_f64() {
                    return (*state, Some(at));
                }
                let share = f64::from(count) / passed * find.as_secs_f64();
                let count = libm::rint(share) as u32;
                (State { began: at.before(find), last, count }, Some(at))
            }
        }
    }
}

impl Limiter for Fail2ban {
    type State = State;

    fn initial(&self) -> State {
        State { began: LONG_AGO, last: LONG_AGO, count: 0 }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let limit = self.limit.count();
        let Some(n) = whole_cost(cost) else { return Outcome::new(false, cost, limit) };
        match self.at(state, now) {
            (_, None) => Outcome::new(false, limit, limit),
            (state, Some(_)) => {
                let count = state.count.saturating_add(n);
                Outcome::new(n == 0 || count < self.most, count.into(), limit)
            }
        }
    }

    /// All events count, except during a ban.
    fn record(&self, state: &mut State, now: Time, cost: f64, _allowed: bool) {
        let Some(n) = whole_cost(cost) else { return };
        *state = match self.at(state, now) {
            (moved, None) => moved,
            _ if n == 0 => return,
            (State { began, count, .. }, Some(at)) => match count.saturating_add(n) {
                count if count < self.most => State { began, last: at, count },
                _ => {
                    let freed = self.freed(now);
                    State { began: freed, last: freed, count: 0 }
                }
            },
        };
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let Some(n) = whole_cost(cost) else { return Retry::Never };
        if n > 0 && n >= self.most {
            return Retry::Never;
        }
        let forgotten = now.after(self.reset_after(state, now));
        Retry::After(wait_until(forgotten, now, &|at| self.peek(state, at, cost).is_allowed()))
    }

    /// The events that may still come before the one that bans.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        match self.at(state, now) {
            (_, None) => 0.0,
            (state, Some(_)) => self.most.saturating_sub(1).saturating_sub(state.count).into(),
        }
    }

    /// Until the end of the ban, or `findtime` after the last event.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        match self.at(state, now) {
            (state, None) => now.until(state.last),
            (State { count: 0, .. }, _) => Span::ZERO,
            (state, _) => now.until(state.last.after(self.limit.per())),
        }
    }

    /// One less than `maxretry` at once. For each further event the count must have lost one: by
    /// rounding, which takes at least F/(2 m - 3), or by a ban, after which m - 1 more pass.
    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        let once = f64::from(self.most) - 1.0;
        if once <= 0.0 {
            return 0.0;
        }
        let rounded = (2.0 * once - 1.0) / self.limit.per().as_secs_f64();
        let banned = once / self.ban.as_secs_f64();
        // A rounding error of the quotient must not lose an event.
        once + libm::floor(window.as_secs_f64() * rounded.max(banned) * (1.0 + 1e-12))
    }
}

impl Algorithm for Fail2ban {
    const FORM: Form = Form {
        name: "fail2ban",
        words: "RATE [ban SPAN]",
        example: "fail2ban 5/10m",
        about: "as a jail of fail2ban: the failures including this one stay below the count, which fades as if events came evenly; the one that reaches it bans its sender, for 10 minutes by default",
    };
    const UNIT: &'static str = "failures";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        Ok(Fail2ban::new(rate, given.span("ban")?.unwrap_or(BAN))?.into())
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
        "fail2ban" ["findtime"]
        State { began: time "the beginning", last: time "the time", count: count "the count", }
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        in_f64::check_period(in_f64::PERIOD, self.limit.per().micros_up())?;
        in_f64::check_period("the ban in seconds", self.ban.micros_up())?;
        let numbers =
            [self.most.into(), self.limit.per().as_secs_f64() * 1e6, self.ban.as_secs_f64() * 1e6];
        Ok(InF64::new(Lua { name: "fail2ban", counts: true }, numbers))
    }
}

/// As in `fail2ban 5/10m ban 10m`.
impl fmt::Display for Fail2ban {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fail2ban {} ban {}", self.limit, self.ban)
    }
}

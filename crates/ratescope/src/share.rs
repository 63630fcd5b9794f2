//! How the processes of a service share a limit on Redis.
//!
//! | share | who decides | what passes |
//! |---|---|---|
//! | `exact` | Redis, asked about each event | what the limiter admits |
//! | `leased 100ms` | the process, about events that it took in advance | up to a tenth of the limit more: see below |
//! | `synced 1s` | the process, by what it knows; it tells Redis what it counted | what each other process admits in its last second more |
//!
//! This module has the arithmetic of leases and of syncs, and reads no clock. `ratescope-redis` runs it with a real Redis;
//! the tests run it in virtual time, with [`Lent`] and a state in place of Redis.
//!
//! # Leases
//! A process *takes* n events of a key in one call. Redis counts all n at once, and the process decides about n events
//! without a call. The lease ends after its length; the part that was not used is then given back by
//! [`undo`](crate::Limiter::undo). All times below are real times: the process measures the length from the moment at
//! which it sends the call, so in the process a lease ends before it ends on Redis, whatever their clocks say. (The clock of
//! a machine that is suspended stands still, and so do its leases.)
//!
//! How many events a process takes follows what it used: see [`Lease::wanted`]. It is one where the lease would be of no
//! use: the key comes rarely, or little is [left](lendable). Then each event asks Redis, as with `exact`.
//!
//! **What passes.** Let B(w) be the most that the limiter admits in any window of length w
//! ([`max_admitted`](crate::Limiter::max_admitted)), a the length of leases, and M a tenth of what it admits from rest.
//! Consider the events that pass in a window of length w after the time t. An event is counted before it passes, by at
//! most a.
//!
//! 1. All of them were counted in the window of length w + a that ends with theirs. Counted events obey the limiter, so
//!    they are at most B(w + a).
//! 2. Those that were counted after t are at most B(w). The others were unused parts of leases at t. Redis lends only if
//!    all leases of the key that have not ended, and the new one, are at most M. So these others are at most M.
//! 3. A lease of a window of the clock ends with that window. So events that pass in the window were counted in it, and
//!    the windows admit as much as with `exact`: B(w).
//!
//! So at most B(w) + min(M, B(w + a) - B(w)) pass, for any number of processes and any delays: for a bucket of 10/1s,
//! with leases of 100 ms, one event more in any window; for a log of 100/1m at most 110 in any minute. Events that are
//! given back do not change that, since `undo` gives back only those that certainly still count.
//!
//! After Redis was flushed, it knows of no leases. So it lends nothing of a key before it has known the key for a, and by
//! then all earlier leases have ended: windows that begin after the flush admit at most B(w) + M. A replica that was promoted may miss the latest leases; so a process takes no lease
//! from a server before it has been connected to it for a.
//!
//! **What is refused.** Other processes are refused events that wait unused in a lease. That lasts until the lease has
//! ended and was given back, which a process does within a quarter of a, or 10 ms. A bucket that may have been empty meanwhile without
//! the lease can't give back what [drained](intact) by then, at most its rate for as long as the lease was out; its burst
//! is so much smaller until the bucket is empty. After a refusal, the process refuses the key itself for as long as the state refuses
//! that Redis returned, and at most for a. So it notices a reset, a refund or a reload elsewhere at most that much later.
//!
//! **What is lost.** Events that a process has taken and can't give back, because it ended or the answer was lost,
//! count until the limiter forgets them. They are never given back twice: Redis notes each lease, and takes it back
//! only once.
//!
//! # Syncs
//! A process decides by a state of its own. Within the interval s after it counted an event, it *claims* the sum of the
//! events that it counted and has not told, and sends it to Redis, which [charges](crate::Limiter::charge) it to the
//! shared state. The answer is the shared state, in which the sums of all processes are. The process goes on from
//! there, and adds the events that it has counted since the claim. No second call about the key is sent before the
//! first one has ended.
//!
//! **What passes.** Let N be the number of processes, and d the longest time from the end of an interval s until the answer
//! to its call. Consider the events that pass in a window of length w, in which the limiter forgets nothing that it counted:
//! a window of any length for a bucket, one of its period for a log, one of the clock for a window of the clock.
//!
//! 1. Each process admits its last event in the window by the last answer that it had by then. Let R be the latest time at
//!    which Redis computed one of these answers, and i the process that had it.
//! 2. The events in the window that Redis had counted by R, and those of i, were all in the state of i at its last event,
//!    none of them dated before it passed. So they are at most B(w).
//! 3. The others were admitted by some j after it sent the call for its last answer, since that answer is no later than R.
//!    After the first of these events, j sent another call within s. The answer came within d after that, and so after
//!    the last of them. They lie within s + d.
//!
//! So the events that pass are at most B(w), plus those that each process but one admitted in its last s + d. Unless a
//! call is lost, each process obeys the limiter by itself, so for a bucket that is at most B(w) + (N - 1) B(s + d) in
//! any window, however long: it pays back the excess. The events of a lost call are not paid back, and as many more may
//! pass. (A process knows the time of Redis from the answers, and so up to d too late. By the time it learns better,
//! its bucket has drained for as long, so each of these windows is longer by d.) A window may admit all of its limit
//! within s + d. So if all processes are flooded at the same time, N times the limit may pass once in a period, as if
//! each was alone. The same holds while Redis is away.
//!
//! **What is refused.** An event counts from when Redis hears of it. So it counts longer, by at most s + d: a process
//! that is alone on a log of 100/1m may have to wait for 61 s after its 100 events. That is why the interval must be at
//! most [half](Share::problem) of the time that the limiter remembers. The answer about a log or a sliding window has
//! the events that must leave before the next one passes, and the rest in at most eight parts, each as old as its
//! latest event. So Retry-After is exact for that event; for more of them, a part counts longer by the time between its
//! first event and its last. Sums of a window of the clock that has ended are not told; if it ends while the call is
//! under way, they count in the next one.
//!
//! **What is lost.** A claimed sum is told at most once. If an answer is lost, nobody knows whether the sum was
//! counted. It stays in the state of the process until the next answer, and is not sent again: too little may be
//! counted, never twice. Only a sum that was certainly not sent is [put back](Synced::tell_later), as when Redis can't
//! be reached; of a bucket at most twice as much as it admits from rest. When a process is killed, the events that it
//! counted since its last call are lost, at most those of one interval. One that shuts down properly sends them first
//! (`Redis::close`).
//!
//! Events that Redis forgets are lost, too: when it is flushed, the promise holds for windows that begin after the
//! flush. When a replica is promoted, it lacks the events that the old master had not replicated, or counted after
//! that, and as many more pass, as after a lost call.
//!
//! EARRRL adds up impulses that decay, e^(-λ d) each. A sum of them decays in the same way, so the sum of a process, as it is
//! at the time of its call, is all that Redis needs, and the order of the processes does not matter.
//!
//! ```
//! use ratescope::limit::any::AnyLimiter;
//! use ratescope::share::Share;
//! use ratescope::Span;
//!
//! let log: AnyLimiter = "sliding-log 100/1m".parse()?;
//! let share: Share = "leased 100ms".parse()?;
//! assert_eq!(share.max_admitted(&log, Span::from_mins(1), 1.0), 110.0);
//! # Ok::<(), ratescope::ParseError>(())
//! ```

use crate::estimate::recent_average::Impulse;
use crate::extremes::{larger, smaller};
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::limit::fixed_window::Begins;
use crate::text::ParseError;
use crate::time::{Span, Time};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// How a limit on Redis is shared: see [the module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Share {
    /// Each event asks Redis.
    #[default]
    Exact,
    /// A process takes events in advance, and keeps them for this long.
    Leased(Span),
    /// A process decides by itself, and tells Redis of its events within this time.
    Synced(Span),
}

impl Share {
    /// The default length of a lease.
    pub const LEASE: Span = Span::from_micros(100_000);

    /// The default interval of syncs.
    pub const SYNC: Span = Span::from_secs(1);

    /// The bounds of the length of a lease, and of the interval of syncs.
    const LENGTHS: [Span; 2] = [Span::from_micros(10_000), Span::from_mins(1)];

    /// The length of its leases.
    pub const fn lease(self) -> Option<Span> {
        match self {
            Share::Leased(length) => Some(length),
            _ => None,
        }
    }

    /// The interval of its syncs.
    pub const fn sync(self) -> Option<Span> {
        match self {
            Share::Synced(interval) => Some(interval),
            _ => None,
        }
    }

    /// Why a limiter can't be shared in this way, if it can't.
    pub fn problem(self, limiter: &AnyLimiter) -> Option<String> {
        match self {
            Share::Exact => None,
            Share::Leased(_) if lends(limiter) || counts_refused(limiter) => None,
            Share::Leased(_) => Some(format!(
                "{limiter} can't be leased; write share: exact, or take a bucket without a queue, or a window"
            )),
            Share::Synced(_) if !syncs(limiter) => Some(format!(
                "{limiter} can't be synced; write share: exact, or take a bucket without a queue, a window of the clock or a sliding one, or earrrl"
            )),
            Share::Synced(interval) => {
                let remembers = remembers(limiter);
                let is_long = interval.as_secs_f64() * 2.0 > remembers.as_secs_f64();
                is_long.then(|| {
                    format!(
                        "{limiter} forgets all within {remembers}; synced needs an interval of at most half of that"
                    )
                })
            }
        }
    }

    /// The most that passes in any interval of this length in this number of processes together, if all events cost `cost`
    /// and each process has the answer of Redis within `delay` after its interval.
    pub fn max_admitted_by(
        self,
        processes: u32,
        delay: Span,
        limiter: &AnyLimiter,
        window: Span,
        cost: f64,
    ) -> f64 {
        let Share::Synced(interval) = self else {
            return self.max_admitted(limiter, window, cost);
        };
        let one = limiter.max_admitted(window, cost);
        if !is_bucket(limiter) {
            return f64::from(processes.max(1)) * one;
        }
        let longer = |secs: f64| {
            let span = Span::try_from_secs_f64(secs).unwrap_or(Span::from_hours(24 * 365));
            limiter.max_admitted(span, cost)
        };
        let delay = delay.as_secs_f64();
        // A call that takes longer than the interval delays the next one. The clock of a process may be so much late.
        let unknown = longer(larger(interval.as_secs_f64(), delay) + 2.0 * delay);
        let known = longer(window.as_secs_f64() + delay);
        smaller(
            known + f64::from(processes.max(1) - 1) * unknown,
            f64::from(processes.max(1)) * longer(window.as_secs_f64() + delay),
        )
    }

    /// The most that passes in any interval of this length in any number of processes together, if all events cost `cost`.
    /// Infinite if they are [synced](Self::max_admitted_by).
    pub fn max_admitted(self, limiter: &AnyLimiter, window: Span, cost: f64) -> f64 {
        let most = limiter.max_admitted(window, cost);
        match self {
            Share::Synced(_) => f64::INFINITY,
            Share::Leased(length) if lends(limiter) && !ends_with_window(limiter) => {
                let longer = Span::try_from_secs_f64(window.as_secs_f64() + length.as_secs_f64())
                    .unwrap_or(window);
                let waiting = most_lent(limiter, cost) as f64 * cost;
                smaller(most + waiting, limiter.max_admitted(longer, cost))
            }
            _ => most,
        }
    }
}

/// Writes `exact`, `leased 100ms` or `synced 1s`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Exact => f.write_str("exact"),
            Share::Leased(length) => write!(f, "leased {length}"),
            Share::Synced(interval) => write!(f, "synced {interval}"),
        }
    }
}

/// The length may be missing, as in `leased` and `synced`.
impl FromStr for Share {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const WANT: &str = "write exact, or leased or synced with a length from 10ms to 1m, as in leased 100ms or synced 1s";
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let wrong = || ParseError::whole(text, WANT);
        let length = |usual: Span| {
            let [least, most] = Share::LENGTHS;
            let rest = rest.trim();
            let length: Option<Span> =
                if rest.is_empty() { Some(usual) } else { rest.parse().ok() };
            length.filter(|length| (least..=most).contains(length)).ok_or_else(wrong)
        };
        match word {
            "exact" if rest.is_empty() => Ok(Share::Exact),
            "leased" => length(Share::LEASE).map(Share::Leased),
            "synced" => length(Share::SYNC).map(Share::Synced),
            _ => Err(wrong()),
        }
    }
}

/// True if events of this limiter can be taken in advance. It must be able to give back, and an event that waits for
/// earlier ones must not have its place in the queue taken in advance.
pub fn lends(limiter: &AnyLimiter) -> bool {
    limiter.can_undo() && !limiter.delays()
}

/// True if processes can count apart and [charge](Limiter::charge) their sums. The rate of Exim depends on the gaps between
/// events, and a queue on their order, which a sum does not have. Windows from the first event begin when their process
/// says so.
pub fn syncs(limiter: &AnyLimiter) -> bool {
    match limiter {
        AnyLimiter::Earrrl(_) => true,
        AnyLimiter::FixedWindow(window) => window.begins() != Begins::WithFirst,
        _ => lends(limiter),
    }
}

fn is_bucket(limiter: &AnyLimiter) -> bool {
    matches!(limiter, AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_))
}

/// How long a limiter that is full remembers it, if nothing else comes.
fn remembers(limiter: &AnyLimiter) -> Span {
    match limiter {
        AnyLimiter::FixedWindow(window) => window.limit().per(),
        _ => {
            let mut full = limiter.initial();
            let most = limiter.remaining(&full, Time::ZERO);
            limiter.record(&mut full, Time::ZERO, most, true);
            limiter.reset_after(&full, Time::ZERO)
        }
    }
}

/// True if this limiter counts the events that it refuses, and can be told their sum.
#[doc(hidden)]
pub fn counts_refused(limiter: &AnyLimiter) -> bool {
    match limiter {
        AnyLimiter::Exim(exim) => exim.mode == crate::limit::exim::Mode::Strict,
        AnyLimiter::Earrrl(_) => true,
        AnyLimiter::FixedWindow(window) => window.counts_attempts(),
        _ => false,
    }
}

/// True if all that a limiter counted in a window leaves at the end of the window.
fn ends_with_window(limiter: &AnyLimiter) -> bool {
    matches!(limiter, AnyLimiter::FixedWindow(_))
}

/// The cost that a limiter admits from rest.
#[doc(hidden)]
pub fn from_rest(limiter: &AnyLimiter) -> f64 {
    limiter.remaining(&limiter.initial(), Time::ZERO)
}

/// How many events of this cost all processes together may hold: a tenth of those that the limiter admits from rest.
#[doc(hidden)]
pub fn most_lent(limiter: &AnyLimiter, cost: f64) -> u64 {
    if !lends(limiter) || cost.is_nan() || cost <= 0.0 {
        return 0;
    }
    // The cast saturates.
    (from_rest(limiter) / 10.0 / cost) as u64
}

/// How many events of this cost a process may take when so much is `left`: at most half of its part, among so many
/// `holders`, so that the others find room. Below 2 it takes none in advance.
#[doc(hidden)]
pub fn lendable(limiter: &AnyLimiter, left: f64, cost: f64, holders: u32) -> u64 {
    let holders = holders.max(1);
    let of_left = left / 2.0 / f64::from(holders) / cost;
    // NaN and negative numbers become 0.
    (of_left as u64).min(most_lent(limiter, cost) / u64::from(holders))
}

/// How long a lease lasts from the time of its call: shorter if the window ends before, in which it was counted and which
/// has `reset` left.
#[doc(hidden)]
pub fn lasts(limiter: &AnyLimiter, length: Span, reset: Span) -> Span {
    if ends_with_window(limiter) && reset < length { reset } else { length }
}

/// The time until which the rest of a lease certainly still counts in full. `state` is the state after the lease was
/// counted, and `left` the cost of the rest.
///
/// A window counts the rest until it is given back. Compare a bucket with one that lacks the rest: the difference stays
/// the same until the other bucket is empty, so for as long as that would take if nothing else came. So
/// [`undo`](crate::Limiter::undo) from then on gives back all of it while the bucket is in use, and not only the part
/// that can't have drained since it was counted.
#[doc(hidden)]
pub fn intact<L: Limiter>(
    limiter: &L,
    kind: &AnyLimiter,
    state: &L::State,
    counted: Time,
    left: f64,
) -> Time {
    if !is_bucket(kind) {
        return counted;
    }
    let mut other = state.clone();
    limiter.undo(&mut other, counted, counted, left);
    counted.after(limiter.reset_after(&other, counted))
}

/// The events of a key that a process holds, and how often it used the key. Times are by the clock of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Lease {
    begun: Time,
    ends: Time,
    left: u64,
    used: u64,
    /// Its number among the leases of the process; 0 if there is none, or it is given back.
    serial: u64,
    /// When Redis counted it, by its clock.
    pub counted: Time,
    /// How many processes held leases when it was taken.
    pub holders: u32,
}

/// A lease that is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Unused {
    /// The number of the lease.
    pub serial: u64,
    /// When Redis counted it.
    pub counted: Time,
    /// How many events are left.
    pub left: u64,
}

impl Lease {
    /// A key that was not used before.
    pub fn new(now: Time) -> Self {
        Lease { begun: now, ends: now, left: 0, used: 0, serial: 0, counted: now, holders: 1 }
    }

    /// How many events are left at `now`.
    pub fn left(&self, now: Time) -> u64 {
        if now < self.ends { self.left } else { 0 }
    }

    /// Decides about an event, if one is left. A process that was stopped for a while can't spend an old lease.
    pub fn spend(&mut self, now: Time) -> bool {
        let has = self.left(now) > 0;
        if has {
            self.left -= 1;
            self.used += 1;
        }
        has
    }

    /// Returns an event that did not pass, since another limit refused it.
    pub fn put_back(&mut self) {
        self.left += 1;
        self.used = self.used.saturating_sub(1);
    }

    /// How many events to take: as many as are used in a lease of this length at the pace since the last call, and at most
    /// twice as many as were used since then. At least 1, which asks about one event only.
    pub fn wanted(&self, now: Time, length: Span) -> u64 {
        let used = self.used as f64;
        let elapsed = now.since(self.begun);
        let at_pace =
            if elapsed > 0.0 { used * length.as_secs_f64() / elapsed } else { f64::INFINITY };
        (smaller(at_pace, 2.0 * used) as u64).max(1)
    }

    /// Notes a call at `now` about one event, or more in advance.
    pub fn asks(&mut self, now: Time) {
        self.begun = now;
        self.used = 1;
    }

    /// Notes a lease whose call was sent at `sent`, and which lasts for so long from then.
    pub fn take(&mut self, sent: Time, lasts: Span, lease: Unused, holders: u32) {
        self.ends = sent.after(lasts);
        self.left = lease.left;
        self.serial = lease.serial;
        self.counted = lease.counted;
        self.holders = holders;
    }

    /// The number of the lease; 0 without one.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The number of the lease, if all of it was used; otherwise 0.
    pub fn used_up(&self) -> u64 {
        if self.left == 0 { self.serial } else { 0 }
    }

    /// Takes the rest of a lease that has ended, to give it back.
    pub fn unused(&mut self, now: Time) -> Option<Unused> {
        if now < self.ends { None } else { self.cancel() }
    }

    /// Takes the rest of a lease, to give it back.
    pub fn cancel(&mut self) -> Option<Unused> {
        let Lease { serial, counted, left, .. } = *self;
        if left == 0 {
            return None;
        }
        // It is not used up, and no longer of this process.
        (self.left, self.serial) = (0, 0);
        Some(Unused { serial, counted, left })
    }

    /// True if nothing is left, and the pace is too old to be of use.
    pub fn is_over(&self, now: Time, length: Span) -> bool {
        self.left == 0 && now.since(self.begun) > 2.0 * length.as_secs_f64()
    }
}

/// A process's own state of one limit at a key that is synced. Times are those of Redis, as far as the process knows
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Synced<S> {
    state: S,
    /// The sum that it counted and has not told, and when it counted last.
    pending: Impulse,
}

impl<S: Clone> Synced<S> {
    /// A key of which this state is known.
    pub fn new(state: S) -> Self {
        Synced { state, pending: Impulse::default() }
    }

    /// All that is known to be counted.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Counts an event as [`Limiter::record`] does. `kind` is the limiter as it was written.
    pub fn record<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        kind: &AnyLimiter,
        now: Time,
        cost: f64,
        allowed: bool,
    ) {
        limiter.record(&mut self.state, now, cost, allowed);
        if allowed || counts_refused(kind) {
            self.add(kind, now, cost);
        }
    }

    /// The sum that it counted and has not told.
    pub fn pending(&self) -> f64 {
        self.pending.size
    }

    /// The same, with another form of the state.
    pub fn carried(self, state: impl FnOnce(S) -> S) -> Self {
        Synced { state: state(self.state), ..self }
    }

    /// Takes the sum that is to be told, as far as it still counts: all of it for a bucket. (Events that others count
    /// keep a bucket from draining those of this process, so its level does not tell.)
    pub fn claim<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        kind: &AnyLimiter,
        now: Time,
    ) -> f64 {
        let sum = self.pending_at(kind, now);
        self.pending = Impulse::default();
        match kind {
            AnyLimiter::Earrrl(_) => sum,
            kind if is_bucket(kind) => sum,
            _ => smaller(sum, limiter.peek(&self.state, now, 0.0).level),
        }
    }

    /// Puts back a sum that was claimed and certainly not sent; of a bucket, at most twice as much as it admits from
    /// rest. So a bucket does not refuse for as long as Redis was away. An [interval](Share::problem) drains at most
    /// half of a bucket, so the sum of two intervals is put back whole.
    pub fn tell_later(&mut self, kind: &AnyLimiter, now: Time, sum: f64) {
        let most = if is_bucket(kind) {
            2.0 * kind.remaining(&kind.initial(), now)
        } else {
            f64::INFINITY
        };
        self.add(kind, now, smaller(sum, most));
    }

    /// Adds to the pending sum.
    fn add(&mut self, kind: &AnyLimiter, now: Time, sum: f64) {
        let size = smaller(self.pending_at(kind, now) + sum, f64::MAX);
        self.pending = Impulse { size, at: now.max(self.pending.at) };
    }

    /// Takes over the shared state of an answer, and adds the events since the claim.
    pub fn adopt<L: Limiter<State = S>>(
        &mut self,
        limiter: &L,
        kind: &AnyLimiter,
        shared: S,
        now: Time,
    ) {
        self.state = shared;
        let pending = self.pending_at(kind, now);
        if pending > 0.0 {
            // A sum of costs is no bad number.
            let _ = limiter.charge(&mut self.state, now, pending);
        }
    }

    /// The pending sum, as far as it still counts at `now`.
    fn pending_at(&self, kind: &AnyLimiter, now: Time) -> f64 {
        match kind {
            AnyLimiter::Earrrl(earrrl) => earrrl.estimator().add(self.pending, now, 0.0).size,
            _ => self.pending.size,
        }
    }
}

/// How much longer than its length Redis knows a lease that has ended. A call that gives back may take so long.
const GIVING_BACK: Span = Span::from_secs(1);

/// Redis's record of the leases of a key. Times are by the clock of Redis. The script `lend.lua` of `ratescope-redis`
/// does the same.
#[derive(Clone, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct Lent {
    /// When the first lease was asked for; `None` if nothing is known.
    since: Option<Time>,
    held: Vec<Held>,
}

/// A lease on Redis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    process: u64,
    serial: u64,
    ends: Time,
    amount: f64,
}

/// A process that asks for a lease.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Borrower {
    /// The process; other numbers for leases of other costs.
    pub process: u64,
    /// The number of the lease among those of the process.
    pub serial: u64,
    /// The number of its last lease, if that was used up; otherwise 0.
    pub used_up: u64,
}

impl Lent {
    /// Asks for a lease of so much, when at most `most` may be lent in all. Returns whether it is lent if the limiter has
    /// room, and how many processes hold leases or want to.
    pub fn lend(
        &mut self,
        by: Borrower,
        now: Time,
        length: Span,
        amount: f64,
        most: f64,
    ) -> (bool, u32) {
        let Borrower { process, serial, used_up } = by;
        let since = *self.since.get_or_insert(now);
        // A lease that has ended is known for a while, so that it can be given back.
        self.held.retain(|one| {
            let is_used_up = one.process == process && one.serial == used_up;
            !is_used_up && one.ends.after(length).after(GIVING_BACK) > now
        });
        let mut others = 0.0;
        let mut known = Vec::new();
        for one in self.held.iter().filter(|one| one.process != process && one.ends > now) {
            others += one.amount;
            if !known.contains(&one.process) {
                known.push(one.process);
            }
        }
        let may = now.since(since) >= length.as_secs_f64() && others + amount <= most;
        // A process to which nothing is lent is known by the lease 0.
        let (serial, amount) = if may { (serial, amount) } else { (0, 0.0) };
        self.held.push(Held { process, serial, ends: now.after(length), amount });
        (may, u32::try_from(known.len() + 1).unwrap_or(u32::MAX))
    }

    /// Takes a lease back. False if it is not known, or no longer: then nothing may be given back to the limiter.
    pub fn take_back(&mut self, process: u64, serial: u64) -> bool {
        let before = self.held.len();
        self.held.retain(|one| (one.process, one.serial) != (process, serial));
        self.held.len() < before
    }
}

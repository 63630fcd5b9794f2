//! The arithmetic of the token bucket, GCRA and the leaky bucket: one bucket, exact.
//!
//! The three are one algorithm. Events fill a bucket of a given size, and the bucket drains at the rate of the limit.
//! An event passes when it still fits. The token bucket calls the room in the bucket tokens, GCRA stores the instant at
//! which the bucket will be empty, and the leaky bucket makes events wait until the earlier content has drained.
//!
//! # Without rounding
//! At n events in p, d microseconds drain n d/p events. That is rarely a number that f64 can hold,
//! and rounding errors add up until a sender exactly at the limit is refused. So the content is
//! measured in *parts*. Let a/b be n/p in lowest terms, n in millionths of an event and p in
//! microseconds. Then a microsecond drains a parts, and a millionth of an event fills b parts, all
//! whole numbers. With n and costs up to 10^18 and times up to 2^64, every product is below 2^124,
//! and the sum of a few fits a u128.
//!
//! # The edges
//! * **Equality:** an event that fills the bucket to the brim passes.
//! * **First event, a long silence:** the bucket is empty, and never less than empty.
//! * **Cost 0:** counts nothing.
//! * **Cost above the size:** never passes.
//! * **Nothing:** a rate of 0 with a size of 0 admits nothing. A cost that is charged to it anyway drains by one event
//!   a second, so that no formula divides by 0.
//! * **Charged afterwards:** a cost that was not asked about may overfill the bucket. All of it is
//!   owed: later events wait until it has drained, however long that takes. A bucket owes at most
//!   9.2 · 10^12 events.
//! * **Time runs backwards:** the state has the latest time seen; for an earlier event, the amount drained since then
//!   is back in the bucket. So a clock that goes back and forth gains nothing. When an event is earlier than the state
//!   by more than a full bucket takes to drain, the clock was set back for good: the content stays, and drains from the
//!   new time on. Only the times show this, since the content may be of any size.

use super::LONG_AGO;
use super::amount::{amount, events, limit, to_f64};
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// The most that a bucket owes, in millionths of an event: below 2^126 parts, with room for sums.
const MOST: u64 = i64::MAX as u64;

/// A number of parts, in two words: a u128 would align every state that contains it to 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    high: u64,
    low: u64,
}

impl Parts {
    const fn new(parts: u128) -> Self {
        Parts { high: (parts >> 64) as u64, low: parts as u64 }
    }

    const fn get(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

/// The content of a bucket, and the time of its latest event: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    content: Parts,
    at: Time,
}

impl State {
    /// A bucket without events.
    pub(super) const INITIAL: State = State { content: Parts::new(0), at: LONG_AGO };
}

/// The kept content of a bucket at an instant: `millionths` of an event, and the fraction `part / of` of another
/// millionth.
///
/// In a microsecond usually less than a millionth drains, so a content in whole millionths alone would
/// lose a little with every event. `of` is the denominator b of the rate in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    pub(super) at: Time,
    pub(super) millionths: u64,
    pub(super) part: u64,
    pub(super) of: u64,
}

impl Filled {
    pub(super) const KIND: &'static Kind =
        &Kind { name: "bucket", spans: &[], read: |_, bytes| Filled::read(bytes).map(drop) };

    pub(super) fn shape() -> Shape {
        Shape::new(Self::KIND, [])
    }

    pub(super) fn write(self, out: &mut Content) {
        out.time(self.at).amount(self.millionths).whole(self.part);
        if self.part > 0 {
            out.whole(self.of);
        }
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Self, KeptError> {
        const FRACTION: &str = "the fraction of the content";
        let at = bytes.time("the time")?;
        let millionths = bytes.amount("the content")?;
        let part = bytes.unsigned(FRACTION)?;
        let of = if part > 0 { bytes.unsigned(FRACTION)? } else { 1 };
        let filled = Filled { at, millionths, part, of };
        if part < of { Ok(filled) } else { Err(KeptError::OutOfRange { part: FRACTION }) }
    }
}

/// The rule: how large the bucket is and how fast it drains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub(super) rate: Rate,
    pub(super) size: f64,
    /// a: the parts that drain in a microsecond.
    per_micro: u64,
    /// b: the parts that a millionth of an event fills.
    per_millionth: u64,
    /// The parts that an event fills, as f64.
    per_event: f64,
    full: u128,
}

/// A rate in lowest terms: the parts that drain in a microsecond, and those that a millionth of an
/// event fills.
pub fn lowest_terms(rate: Rate) -> Result<[u64; 2], BadNumber> {
    let count = limit("the count of a rate", rate.count(), false)?;
    let period = rate.per().micros_up().unsigned_abs();
    let divisor = gcd(count, period).max(1);
    Ok([count / divisor, period / divisor])
}

/// The error; if the number was 0, it asks for `want`.
fn if_zero(wrong: BadNumber, want: &'static str) -> BadNumber {
    if wrong.given == 0.0 { BadNumber { want, ..wrong } } else { wrong }
}

impl Bucket {
    /// A bucket that drains at `rate` and holds `size` events; `what` names the size in an error.
    /// A rate of 0 and a size of 0 belong together.
    pub(super) fn new(rate: Rate, what: &'static str, size: f64) -> Result<Self, BadNumber> {
        if (rate.count(), size) == (0.0, 0.0) {
            return Ok(Bucket::none(rate));
        }
        let [per_micro, per_millionth] = lowest_terms(rate).map_err(|wrong| {
            if_zero(wrong, "from 0.001 to 1e12, or 0 with a burst or a queue of 0")
        })?;
        let holds = limit(what, size, false)
            .map_err(|wrong| if_zero(wrong, "from 0.001 to 1e12, or 0 with a rate of 0"))?;
        let full = u128::from(holds) * u128::from(per_millionth);
        let per_event = per_millionth as f64 * 1e6;
        Ok(Bucket { rate, size, per_micro, per_millionth, per_event, full })
    }

    /// A bucket that admits nothing.
    const fn none(rate: Rate) -> Self {
        let rate = rate.with_count_0();
        let per_millionth = 1;
        Bucket { rate, size: 0.0, per_micro: 1, per_millionth, per_event: 1e6, full: 0 }
    }

    /// A bucket of this size that drains by `per_micro` parts in a microsecond, of which a millionth of an event fills
    /// `per_millionth`.
    pub(super) fn draining(self, per_micro: u64, per_millionth: u64) -> Result<Self, BadNumber> {
        let [per_micro, per_millionth] = [per_micro, per_millionth].map(|parts| parts.max(1));
        Ok(Bucket {
            rate: Rate::new(events(per_micro), Span::from_micros(per_millionth))?,
            size: self.size,
            per_micro,
            per_millionth,
            per_event: per_millionth as f64 * 1e6,
            full: self.full / u128::from(self.per_millionth) * u128::from(per_millionth),
        })
    }

    /// A bucket that drains at a `rate` of whole events in whole seconds, and holds as many.
    pub(super) const fn of_whole(rate: Rate) -> Self {
        if rate.count() == 0.0 {
            return Bucket::none(rate);
        }
        // In millionths and in microseconds both are a million times as large, which cancels.
        let count = rate.count() as u64;
        let seconds = rate.per().as_secs_f64() as u64;
        let divisor = gcd(count, seconds);
        let per_micro = count / divisor;
        let per_millionth = seconds / divisor;
        let per_event = per_millionth as f64 * 1e6;
        Bucket { rate, size: 0.0, per_micro, per_millionth, per_event, full: 0 }
            .of_size(count as u32)
    }

    /// This bucket, holding `size` events. With a size or a rate of 0 it admits nothing.
    pub(super) const fn of_size(self, size: u32) -> Self {
        if size == 0 || self.rate.count() == 0.0 {
            return Bucket::none(self.rate);
        }
        let millionths = size as u128 * 1_000_000;
        Bucket { size: size as f64, full: millionths * self.per_millionth as u128, ..self }
    }

    /// The time that an event takes to drain, rounded up, and that of as many events as the bucket holds, in
    /// nanoseconds. A bucket that admits nothing has no time for any.
    #[cfg(target_has_atomic = "64")]
    pub(super) const fn nanos(&self) -> [u64; 2] {
        const MOST: u128 = u64::MAX as u128;
        let interval =
            (self.per_millionth as u128 * 1_000_000_000).div_ceil(self.per_micro as u128);
        let interval = if interval > MOST { MOST } else { interval };
        let full = interval * (self.full / self.per_millionth as u128) / 1_000_000;
        [interval as u64, if full > MOST { u64::MAX } else { full as u64 }]
    }

    /// The parts that drain between two instants.
    fn drained(&self, one: Time, other: Time) -> u128 {
        let micros = other.as_micros().wrapping_sub(one.as_micros()).cast_unsigned();
        u128::from(micros) * u128::from(self.per_micro)
    }

    /// The parts in the bucket at `now`, and the state to which an event at `now` is added.
    #[inline(always)]
    fn roll(&self, state: &State, now: Time) -> (u128, State) {
        if now < state.at {
            return self.roll_back(state, now);
        }
        let content = state.content.get().saturating_sub(self.drained(state.at, now));
        (content, State { content: Parts::new(content), at: now })
    }

    /// As [`roll`](Self::roll), for an event earlier than the latest one.
    #[cold]
    fn roll_back(&self, state: &State, now: Time) -> (u128, State) {
        let content = state.content.get();
        let back = self.drained(now, state.at);
        if back > self.full {
            (content, State { at: now, ..*state })
        } else {
            (content + back, *state)
        }
    }

    fn parts(&self, amount: u64) -> u128 {
        u128::from(amount) * u128::from(self.per_millionth)
    }

    fn events(&self, parts: u128) -> f64 {
        to_f64(parts) / self.per_event
    }

    /// How long `parts` take to drain, in whole microseconds, rounded up.
    fn time(&self, parts: u128) -> Span {
        Span::from_micros(match u64::try_from(parts) {
            Ok(parts) => parts.div_ceil(self.per_micro),
            // This division is a call into the compiler's runtime.
            Err(_) => {
                let micros = parts.div_ceil(u128::from(self.per_micro));
                u64::try_from(micros).unwrap_or(u64::MAX)
            }
        })
    }

    /// Decides if an event still fits. If it `waits`, it waits until the bucket before it has drained.
    pub(super) fn peek(&self, state: &State, now: Time, cost: f64, waits: bool) -> Outcome {
        let Some(amount) = amount(cost) else { return Outcome::new(false, cost, self.size) };
        self.outcome(self.roll(state, now).0, self.parts(amount), waits)
    }

    /// Decides about an event and adds it, in one step, if all `others` let it pass, too.
    #[inline(always)]
    pub(super) fn check(
        &self,
        state: &mut State,
        now: Time,
        cost: f64,
        others: bool,
        waits: bool,
    ) -> Outcome {
        let Some(amount) = amount(cost) else {
            self.record(state, now, cost, false);
            return Outcome::new(false, cost, self.size);
        };
        let parts = self.parts(amount);
        let (content, rolled) = self.roll(state, now);
        let outcome = self.outcome(content, parts, waits);
        let counts = amount > 0 && others && outcome.is_allowed();
        store(state, rolled, counts.then_some(parts));
        outcome
    }

    #[inline(always)]
    fn outcome(&self, content: u128, parts: u128, waits: bool) -> Outcome {
        let filled = content + parts;
        let limit = self.size;
        let level = self.events(filled);
        let passes = filled <= self.full;
        if passes && waits {
            return Outcome { wait: Some(self.time(content)), level, limit };
        }
        Outcome::new(passes, level, limit)
    }

    /// How long the bucket takes to drain.
    pub(super) fn reset_after(&self, state: &State, now: Time) -> Span {
        self.time(self.roll(state, now).0)
    }

    /// Adds an event if it was allowed; in any case follows a clock that was set back. An event that is
    /// earlier than the latest one is added at the time of the latest.
    pub(super) fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        let amount = amount(cost).filter(|&amount| allowed && amount > 0);
        store(state, self.roll(state, now).1, amount.map(|amount| self.parts(amount)));
        // An event that passes never overfills the bucket, but one that is charged afterwards may.
        let most = self.parts(MOST);
        if state.content.get() > most {
            state.content = Parts::new(most);
        }
    }

    /// Takes back an event that was added at `at`.
    ///
    /// Compare this bucket with one that never had the event. At `at` this one holds the event's cost more. The
    /// difference stays the same while the other bucket holds something, and drains while the other is empty. So by
    /// `now` the difference has shrunk by no more than what drains from `at` to `now`. The rest is certainly still
    /// there, and is taken out. If the clock was set back to before `at`, nothing is taken out: how much had drained by
    /// then is unknown.
    pub(super) fn undo(&self, state: &mut State, at: Time, now: Time, cost: f64) {
        let now = now.max(state.at);
        if now < at {
            return;
        }
        let left = self.parts(amount(cost).unwrap_or(0)).saturating_sub(self.drained(at, now));
        state.content = Parts::new(state.content.get().saturating_sub(left));
    }

    pub(super) fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        match amount(cost).map(|amount| self.parts(amount)) {
            Some(parts) if parts <= self.full => {
                let filled = self.roll(state, now).0 + parts;
                Retry::After(self.time(filled.saturating_sub(self.full)))
            }
            _ => Retry::Never,
        }
    }

    /// The room in the bucket, in events.
    pub(super) fn remaining(&self, state: &State, now: Time) -> f64 {
        let room = self.full.saturating_sub(self.roll(state, now).0);
        let whole = room / u128::from(self.per_millionth);
        events(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// The state at `now`: it has drained until then.
    pub(super) fn as_of(&self, state: &State, now: Time) -> State {
        if now < state.at { *state } else { self.roll(state, now).1 }
    }

    /// The content in plain units, as of `now`. If the bucket is empty by then, it is as of the first instant at which
    /// less is left than drains in a microsecond. (As of `now`, an event from before would find it fuller than it was.)
    pub(super) fn keep(&self, state: &State, now: Time) -> Filled {
        let content = state.content.get();
        let per_micro = u128::from(self.per_micro);
        let until_empty = u64::try_from(content / per_micro).unwrap_or(u64::MAX);
        let passed = now.max(state.at).as_micros().abs_diff(state.at.as_micros()).min(until_empty);
        let at = Time::from_micros(state.at.as_micros().saturating_add_unsigned(passed));
        let parts = content - u128::from(passed) * per_micro;
        let of = u128::from(self.per_millionth);
        let millionths = u64::try_from(parts / of).unwrap_or(u64::MAX);
        Filled { at, millionths, part: (parts % of) as u64, of: self.per_millionth }
    }

    /// The state that was kept, without a fraction in other units than this bucket's.
    pub(super) fn restore(&self, filled: Filled) -> State {
        let Filled { at, millionths, part, of } = filled;
        let part = if of == self.per_millionth { u128::from(part) } else { 0 };
        State { content: Parts::new(self.parts(millionths.min(MOST)) + part), at }
    }

    /// A bucket is never fuller than full: see [`Algorithm::cut`](super::algorithm::Algorithm::cut).
    pub(super) fn cut(&self, state: &mut State) {
        state.content = Parts::new(state.content.get().min(self.full));
    }

    /// The rule in f64. `what` names the size in an error; `is_queue` says that events wait.
    pub(super) fn in_f64(&self, what: &'static str, is_queue: bool) -> Result<InF64, BadNumber> {
        let size = (self.full / u128::from(self.per_millionth)) as u64;
        in_f64::check_amount(what, size)?;
        in_f64::check_rate(self.per_micro, self.per_millionth)?;
        let a = self.per_micro as f64;
        let b = self.per_millionth as f64;
        let is_queue = if is_queue { 1.0 } else { 0.0 };
        Ok(InF64::new(Lua { name: "bucket", counts: true }, [a, b, size as f64, is_queue]))
    }

    /// The whole bucket at once, and all that drains from then until the end of the window. A window of n
    /// microseconds has n instants, and so n - 1 gaps in which something drains.
    pub(super) fn max_admitted(&self, window: Span) -> f64 {
        if self.full == 0 {
            return 0.0;
        }
        let gaps = window.micros_up().saturating_sub(1).max(0).unsigned_abs();
        self.events(self.full + u128::from(gaps) * u128::from(self.per_micro))
    }
}

/// Adds parts to the state `rolled` to the time of an event. Without `parts`, only a clock that was set back changes
/// the state.
#[inline(always)]
fn store(state: &mut State, rolled: State, parts: Option<u128>) {
    if let Some(parts) = parts {
        *state = State { content: Parts::new(rolled.content.get() + parts), at: rolled.at };
    } else if rolled.at < state.at {
        *state = rolled;
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_every_bit() {
        for parts in [0, 1, 1 << 64, (1 << 126) - 1, u64::MAX.into(), u128::MAX] {
            assert_eq!(Parts::new(parts).get(), parts);
        }
    }

    #[test]
    fn the_largest_numbers_fit() {
        let rate = Rate::new(1e12, Span::try_from_secs_f64(9.2e12).unwrap()).unwrap();
        for rate in [rate, Rate::new(999_999_999_999.999_9, Span::from_micros(7)).unwrap()] {
            let bucket = Bucket::new(rate, "the burst", 1e12).unwrap();
            let ends = [Time::from_micros(i64::MIN), Time::ZERO, Time::from_micros(i64::MAX)];
            for (at, now) in ends.iter().flat_map(|at| ends.map(|now| (*at, now))) {
                let mut state = State { content: Parts::new(bucket.parts(MOST)), at };
                for _ in 0..3 {
                    let _ = bucket.peek(&state, now, 1e12, false);
                    let _ = bucket.retry_after(&state, now, 1e12);
                    bucket.remaining(&state, now);
                    bucket.reset_after(&state, now);
                    let _ = bucket.restore(bucket.keep(&state, now));
                    bucket.record(&mut state, now, 1e12, true);
                }
            }
        }
    }
}

//! The limiters with a bucket: token bucket, GCRA and leaky bucket. They differ in their names, and in whether events
//! wait. The arithmetic is in `bucket.rs`.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax, fill};
use super::any::AnyLimiter;
use super::bucket::{Bucket, Filled, State};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;
use core::marker::PhantomData;

/// A limiter with a bucket. `K` says which: [`TokenBucket`](super::token_bucket::TokenBucket) is by tokens,
/// [`Gcra`](super::gcra::Gcra) by a schedule, and [`LeakyBucket`](super::leaky_bucket::LeakyBucket) by a queue.
#[derive(Clone, Copy, PartialEq)]
pub struct ByBucket<K> {
    pub(super) bucket: Bucket,
    kind: PhantomData<K>,
}

/// How a limiter with a bucket is named, and whether an event waits until the earlier content has drained.
pub(super) trait BucketKind: Copy + fmt::Debug + PartialEq {
    const FORM: Form;
    const UNIT: &'static str;
    /// The word for the size of the bucket, and as errors name it.
    const SIZE: [&'static str; 2];
    const WAITS: bool;
}

impl<K> ByBucket<K> {
    /// `count` events in a second, and a burst or a queue of as many. It is a constant:
    ///
    /// ```
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::limit::leaky_bucket::LeakyBucket;
    ///
    /// const OFTEN: Gcra = Gcra::per_second(10).with_burst(20);
    /// const STEADY: LeakyBucket = LeakyBucket::per_second(10).with_queue(20);
    /// assert_eq!(OFTEN.to_string(), "gcra 10/1s burst 20");
    /// assert_eq!(STEADY.to_string(), "leaky-bucket 10/1s queue 20");
    /// ```
    ///
    /// A count of 0 admits [nothing](Self::none).
    pub const fn per_second(count: u32) -> Self {
        Self::of(Bucket::of_whole(Rate::per_second(count)))
    }

    /// `count` events in a minute, and a burst or a queue of as many; 0 admits [nothing](Self::none).
    pub const fn per_minute(count: u32) -> Self {
        Self::of(Bucket::of_whole(Rate::per_minute(count)))
    }

    /// `count` events in an hour, and a burst or a queue of as many; 0 admits [nothing](Self::none).
    pub const fn per_hour(count: u32) -> Self {
        Self::of(Bucket::of_whole(Rate::per_hour(count)))
    }

    /// `count` events in a day, and a burst or a queue of as many; 0 admits [nothing](Self::none).
    pub const fn per_day(count: u32) -> Self {
        Self::of(Bucket::of_whole(Rate::per_day(count)))
    }

    /// Admits nothing, as for a customer without a plan. Events of cost 0 pass, and the others never do. Its period is a
    /// day, which is when a client that reads the headers `RateLimit` asks again.
    ///
    /// ```
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::{Limiter, Retry, Time};
    ///
    /// let nothing = Gcra::none();
    /// assert!(!nothing.check(&mut nothing.initial(), Time::ZERO, 1.0).is_allowed());
    /// assert_eq!(nothing.retry_after(&nothing.initial(), Time::ZERO, 1.0), Retry::Never);
    /// assert_eq!("gcra 0/1d".parse(), Ok(nothing));
    /// ```
    pub const fn none() -> Self {
        Self::per_day(0)
    }

    /// The rate of a steady sender that is never refused: how fast tokens come back, or events leave the queue.
    pub fn rate(&self) -> Rate {
        self.bucket.rate
    }

    /// This, draining by `per_micro` parts in a microsecond, of which a millionth of an event fills `per_millionth`.
    pub(super) fn draining(&self, per_micro: u64, per_millionth: u64) -> Result<Self, BadNumber> {
        self.bucket.draining(per_micro, per_millionth).map(Self::of)
    }

    pub(super) fn of_size(rate: Rate, size: f64) -> Result<Self, BadNumber>
    where
        K: BucketKind,
    {
        Bucket::new(rate, K::SIZE[1], size).map(Self::of)
    }

    pub(super) const fn of(bucket: Bucket) -> Self {
        ByBucket { bucket, kind: PhantomData }
    }
}

impl<K: BucketKind> Limiter for ByBucket<K> {
    type State = State;

    fn initial(&self) -> State {
        State::INITIAL
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.bucket.peek(state, now, cost, K::WAITS)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        self.bucket.record(state, now, cost, allowed);
    }

    #[inline]
    fn check_last(&self, state: &mut State, now: Time, cost: f64, others: bool) -> Outcome {
        self.bucket.check(state, now, cost, others, K::WAITS)
    }

    fn undo(&self, state: &mut State, at: Time, now: Time, cost: f64) -> bool {
        self.bucket.undo(state, at, now, cost);
        true
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.bucket.retry_after(state, now, cost)
    }

    /// The room in the bucket.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.bucket.remaining(state, now)
    }

    /// Until the bucket has drained, which is when all tokens are back.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.bucket.reset_after(state, now)
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        self.bucket.max_admitted(window)
    }
}

impl<K: BucketKind> Algorithm for ByBucket<K>
where
    Self: Into<AnyLimiter>,
{
    const FORM: Form = K::FORM;
    const UNIT: &'static str = K::UNIT;
    const KIND: &'static Kind = Filled::KIND;

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        let size = given.number(K::SIZE[0])?.unwrap_or(rate.count());
        Ok(Self::of_size(rate, size)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        let Bucket { size, rate, .. } = self.bucket;
        if size == 0.0 { Some(rate) } else { fill(size, rate) }
    }

    fn delays(&self) -> bool {
        K::WAITS
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(Self::of_size(by.rate(self.bucket.rate)?, by.count(self.bucket.size))?)
    }

    fn shape(&self) -> Shape {
        Filled::shape()
    }

    fn as_of(&self, state: &State, now: Time) -> State {
        self.bucket.as_of(state, now)
    }

    fn keep(&self, state: &State, now: Time, out: &mut Content) {
        self.bucket.keep(state, now).write(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        Ok(self.bucket.restore(Filled::read(bytes)?))
    }

    fn cut(&self, state: &mut State) {
        self.bucket.cut(state);
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        self.bucket.in_f64(K::SIZE[1], K::WAITS)
    }
}

/// As in `gcra 10/1s burst 20`, `token-bucket 10/1s burst 20` or `leaky-bucket 10/1s queue 20`.
impl<K: BucketKind> fmt::Display for ByBucket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bucket { size, rate, .. } = self.bucket;
        write!(f, "{} {rate} {} {size}", K::FORM.name, K::SIZE[0])
    }
}

/// The text form.
impl<K: BucketKind> fmt::Debug for ByBucket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

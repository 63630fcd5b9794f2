//! The code that token bucket, GCRA and leaky bucket share; they differ in names and in whether events wait. The
//! arithmetic is in `bucket.rs`.

/// Implements [`Limiter`](super::Limiter) and [`Algorithm`](super::algorithm::Algorithm) for a type with a bucket in
/// it, and its constructors from whole numbers. `$size` is the word for the size of the bucket, and `$with` sets the
/// size; `$waits` says whether an event waits until the earlier content has drained.
macro_rules! limit_by_bucket {
    (
        $module:ident::$limiter:ident, $name:literal, $size:ident by $with:ident, $unit:literal,
        waits: $waits:literal, $about:literal $(,)?
    ) => {
        impl $limiter {
            #[doc = concat!("`count` events in a second, and a ", stringify!($size), " of as many.")]
            /// It is a constant:
            ///
            /// ```
            #[doc = concat!("use ratescope::limit::", stringify!($module), "::", stringify!($limiter), ";")]
            ///
            #[doc = concat!(
                "const OFTEN: ", stringify!($limiter), " = ", stringify!($limiter),
                "::per_second(10).", stringify!($with), "(20);",
            )]
            #[doc = concat!(
                "assert_eq!(OFTEN.to_string(), \"", $name, " 10/1s ", stringify!($size), " 20\");",
            )]
            /// ```
            ///
            /// A count of 0 admits [nothing](Self::none).
            pub const fn per_second(count: u32) -> Self {
                $limiter(Bucket::of_whole(Rate::per_second(count)))
            }

            #[doc = concat!("`count` events in a minute, and a ", stringify!($size), " of as many.")]
            pub const fn per_minute(count: u32) -> Self {
                $limiter(Bucket::of_whole(Rate::per_minute(count)))
            }

            #[doc = concat!("`count` events in an hour, and a ", stringify!($size), " of as many.")]
            pub const fn per_hour(count: u32) -> Self {
                $limiter(Bucket::of_whole(Rate::per_hour(count)))
            }

            #[doc = concat!("`count` events in a day, and a ", stringify!($size), " of as many.")]
            pub const fn per_day(count: u32) -> Self {
                $limiter(Bucket::of_whole(Rate::per_day(count)))
            }

            #[doc = concat!("The same rate with a ", stringify!($size), " of as many events.")]
            /// With 0 it admits [nothing](Self::none).
            #[doc(alias = "allow_burst")]
            pub const fn $with(self, $size: u32) -> Self {
                $limiter(self.0.of_size($size))
            }

            /// Admits nothing, as for a customer without a plan. Events of cost 0 pass, and the others never do.
            ///
            /// ```
            #[doc = concat!("use ratescope::limit::", stringify!($module), "::", stringify!($limiter), ";")]
            /// use ratescope::{Limiter, Retry, Time};
            ///
            #[doc = concat!("let nothing = ", stringify!($limiter), "::none();")]
            /// assert!(!nothing.check(&mut nothing.initial(), Time::ZERO, 1.0).is_allowed());
            /// assert_eq!(nothing.retry_after(&nothing.initial(), Time::ZERO, 1.0), Retry::Never);
            #[doc = concat!("assert_eq!(\"", $name, " 0/1s\".parse(), Ok(ratescope::limit::any::AnyLimiter::from(nothing)));")]
            /// ```
            pub const fn none() -> Self {
                $limiter::per_second(0)
            }
        }

        impl $limiter {
            /// This, draining by `per_micro` parts in a microsecond, of which a millionth of an event fills
            /// `per_millionth`.
            pub(super) fn draining(&self, per_micro: u64, per_millionth: u64) -> Result<Self, BadNumber> {
                Ok($limiter(self.0.draining(per_micro, per_millionth)?))
            }
        }

        impl Limiter for $limiter {
            type State = State;

            fn initial(&self) -> State {
                State::INITIAL
            }

            fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
                self.0.peek(state, now, cost, $waits)
            }

            fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
                self.0.record(state, now, cost, allowed);
            }

            #[inline]
            fn check_last(
                &self,
                state: &mut State,
                now: Time,
                cost: f64,
                others: bool,
            ) -> Outcome {
                self.0.check(state, now, cost, others, $waits)
            }

            fn undo(&self, state: &mut State, at: Time, now: Time, cost: f64) -> bool {
                self.0.undo(state, at, now, cost);
                true
            }

            fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
                self.0.retry_after(state, now, cost)
            }

            /// The room in the bucket.
            fn remaining(&self, state: &State, now: Time) -> f64 {
                self.0.remaining(state, now)
            }

            /// Until the bucket has drained, which is when all tokens are back.
            fn reset_after(&self, state: &State, now: Time) -> Span {
                self.0.reset_after(state, now)
            }

            fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
                self.0.max_admitted(window)
            }
        }

        impl Algorithm for $limiter {
            const FORM: Form = Form {
                name: $name,
                words: concat!("RATE [", stringify!($size), " N]"),
                example: concat!($name, " 10/1s ", stringify!($size), " 20"),
                about: concat!($about, "; the ", stringify!($size), " is the count by default"),
            };
            const UNIT: &'static str = $unit;
            const KIND: &'static Kind = Filled::KIND;

            fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
                let rate = given.rate()?;
                let size = given.number(stringify!($size))?.unwrap_or(rate.count());
                Ok($limiter::new(rate, size)?.into())
            }

            fn quota(&self) -> Option<Rate> {
                if self.0.size == 0.0 { Some(self.0.rate) } else { fill(self.0.size, self.0.rate) }
            }

            fn delays(&self) -> bool {
                $waits
            }

            fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
                Ok($limiter::new(by.rate(self.0.rate)?, by.count(self.0.size))?)
            }

            fn shape(&self) -> Shape {
                Filled::shape()
            }

            fn as_of(&self, state: &State, now: Time) -> State {
                self.0.as_of(state, now)
            }

            fn keep(&self, state: &State, now: Time, out: &mut Content) {
                self.0.keep(state, now).write(out);
            }

            fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
                Ok(self.0.restore(Filled::read(bytes)?))
            }

            fn cut(&self, state: &mut State) {
                self.0.cut(state);
            }

            fn in_f64(&self) -> Result<InF64, BadNumber> {
                self.0.in_f64(concat!("the ", stringify!($size)), $waits)
            }
        }

        #[doc = concat!("As in `", $name, " 10/1s ", stringify!($size), " 20`.")]
        impl fmt::Display for $limiter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    concat!($name, " {} ", stringify!($size), " {}"),
                    self.0.rate, self.0.size
                )
            }
        }
    };
}

pub(super) use limit_by_bucket;

// The names in the macro. A file that calls it imports all of them from here.
pub(super) use super::Limiter;
pub(super) use super::algorithm::{Algorithm, NotRelaxed, Relax, fill};
pub(super) use super::any::AnyLimiter;
pub(super) use super::bucket::Filled;
pub(super) use super::in_f64::InF64;
pub(super) use super::kept::{Bytes, Content, KeptError, Kind, Shape};
pub(super) use super::text::{Form, Given, Unreadable};
pub(super) use crate::outcome::{Outcome, Retry};
pub(super) use crate::time::{Span, Time};
pub(super) use core::fmt;

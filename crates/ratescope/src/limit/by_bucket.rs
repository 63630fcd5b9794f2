//! The token bucket, GCRA and the leaky bucket differ in names and in whether events wait. What they
//! share is here; the source file `bucket.rs` has the arithmetic.

/// Implements [`Limiter`](super::Limiter) and [`Algorithm`](super::algorithm::Algorithm) for a type with a
/// bucket in it, and its constructors of whole numbers. `$size` is the word for the size of the bucket, and
/// `$with` sets it; `$waits` says whether an event waits until the bucket before it has drained.
macro_rules! limit_by_bucket {
    (
        $module:ident::$limiter:ident, $name:literal, $size:ident by $with:ident, $unit:literal,
        colour: $colour:literal, waits: $waits:literal, $about:literal $(,)?
    ) => {
        impl $limiter {
            #[doc = concat!("`count` events in a second, and a ", stringify!($size), " of as many.")]
            /// With whole numbers nothing can be out of range, so this is a constant:
            ///
            /// ```
            /// use core::num::NonZeroU32;
            #[doc = concat!("use ratescope::limit::", stringify!($module), "::", stringify!($limiter), ";")]
            ///
            /// const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();
            /// const TWENTY: NonZeroU32 = NonZeroU32::new(20).unwrap();
            #[doc = concat!(
                "const OFTEN: ", stringify!($limiter), " = ", stringify!($limiter),
                "::each_second(TEN).", stringify!($with), "(TWENTY);",
            )]
            #[doc = concat!(
                "assert_eq!(OFTEN.to_string(), \"", $name, " 10/1s ", stringify!($size), " 20\");",
            )]
            /// ```
            #[doc(alias = "per_second")]
            pub const fn each_second(count: NonZeroU32) -> Self {
                $limiter(Bucket::of_whole(Rate::each_second(count.get()), 1, count))
            }

            /// The same for a minute.
            #[doc(alias = "per_minute")]
            pub const fn each_minute(count: NonZeroU32) -> Self {
                $limiter(Bucket::of_whole(Rate::each_minute(count.get()), 60, count))
            }

            /// The same for an hour.
            #[doc(alias = "per_hour")]
            pub const fn each_hour(count: NonZeroU32) -> Self {
                $limiter(Bucket::of_whole(Rate::each_hour(count.get()), 3600, count))
            }

            /// The same for a day.
            #[doc(alias = "per_day")]
            pub const fn each_day(count: NonZeroU32) -> Self {
                $limiter(Bucket::of_whole(Rate::each_day(count.get()), 86_400, count))
            }

            #[doc = concat!("The same rate with a ", stringify!($size), " of as many events.")]
            #[doc(alias = "allow_burst")]
            pub const fn $with(self, $size: NonZeroU32) -> Self {
                $limiter(self.0.of_size($size))
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
            const COLOUR: u8 = $colour;
            const KIND: &'static Kind = Filled::KIND;

            fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
                let rate = given.rate()?;
                let size = given.number(stringify!($size))?.unwrap_or(rate.count());
                Ok($limiter::new(rate, size)?.into())
            }

            fn quota(&self) -> Option<Rate> {
                fill(self.0.size, self.0.rate)
            }

            fn delays(&self) -> bool {
                $waits
            }

            fn stretched(&self, by: Stretch) -> Result<Self, Unstretched> {
                Ok($limiter::new(by.rate(self.0.rate)?, by.count(self.0.size))?)
            }

            fn shape(&self) -> Shape {
                Filled::shape()
            }

            fn keep(&self, state: &State, now: Time, out: &mut Content) {
                self.0.keep(state, now).write(out);
            }

            fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
                Ok(self.0.restore(Filled::read(bytes)?))
            }

            fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
                self.0.in_f64(concat!("the ", stringify!($size)), $waits)
            }
        }

        #[doc = concat!("As in `", $name, " 10/1s ", stringify!($size), " 20`.")]
        impl fmt::Display for $limiter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    concat!($name, " {} ", stringify!($size), " {}"),
                    self.0.rate, $crate::text::Decimal(self.0.size)
                )
            }
        }
    };
}

pub(super) use limit_by_bucket;

// The names in the macro. A file that calls it imports all of them from here.
pub(super) use super::Limiter;
pub(super) use super::algorithm::{Algorithm, Stretch, Unstretched, fill};
pub(super) use super::any::AnyLimiter;
pub(super) use super::bucket::Filled;
pub(super) use super::in_f64::InF64;
pub(super) use super::kept::{Bytes, Content, KeptError, Kind, Shape};
pub(super) use super::text::{Form, Given, Unreadable};
pub(super) use crate::outcome::{Outcome, Retry};
pub(super) use crate::time::{Span, Time};
pub(super) use core::fmt;
pub(super) use core::num::NonZeroU32;

//! The token bucket, GCRA and the leaky bucket differ in names and in whether events wait. What they
//! share is here; the source file `bucket.rs` has the arithmetic.

/// Implements [`Limiter`](super::Limiter) and [`Algorithm`](super::algorithm::Algorithm) for a type with a
/// bucket in it. `$size` is the word for the size of the bucket; `$waits` says whether an event waits
/// until everything that was in the bucket before it has drained.
macro_rules! limit_by_bucket {
    (
        $limiter:ident, $name:literal, $size:ident, $unit:literal, waits: $waits:literal,
        $about:literal $(,)?
    ) => {
        impl Limiter for $limiter {
            type State = State;

            fn initial(&self) -> State {
                State::INITIAL
            }

            fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
                let outcome = self.0.peek(state, now, cost);
                match outcome.is_allowed() && $waits {
                    true => {
                        let decision = Decision::Allowed { wait: self.0.reset_after(state, now) };
                        Outcome { decision, ..outcome }
                    }
                    false => outcome,
                }
            }

            fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
                self.0.record(state, now, cost, allowed);
            }

            fn check(&self, state: &mut State, now: Time, cost: f64) -> Outcome {
                match $waits {
                    true => {
                        let outcome = self.peek(state, now, cost);
                        self.record(state, now, cost, outcome.is_allowed());
                        outcome
                    }
                    false => self.0.check(state, now, cost),
                }
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

            fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unread> {
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
                    self.0.rate, self.0.size
                )
            }
        }
    };
}

pub(super) use limit_by_bucket;

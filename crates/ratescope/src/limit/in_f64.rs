//! The domain in which f64 alone computes the same decisions, as in Lua on Redis.
//!
//! An f64 holds every whole number up to 2^53. Limiters that count use whole millionths of an event
//! and whole microseconds, in integers of up to 128 bits. As long as no number that is compared
//! exceeds 2^53, the same arithmetic in f64 decides exactly alike, to the last microsecond and
//! millionth. [`AnyLimiter::in_f64`](super::any::AnyLimiter::in_f64) says whether a
//! limiter is within that domain:
//!
//! | what | domain |
//! |---|---|
//! | counts, bursts, queues | below 2^51 millionths: 2.25 · 10^9 events |
//! | periods of windows | below 2^51 microseconds: 71 years |
//! | rates of buckets | a · b below 2^53, where a/b is millionths per microseconds in lowest terms. With whole events and whole seconds that holds up to 9 · 10^15 event-seconds, such as 10^9 events in 100 days |
//! | times | from 0 to 2^52 microseconds: from 1970 to 2112 for a clock of the epoch |
//! | costs | all; they are passed in whole millionths |
//! | waits | exact to the microsecond up to 2^53 microseconds, 285 years |
//! | costs charged afterwards | for the sliding counter, less than 2^52 millionths in a period; for a bucket, debts of less than 2^52 millionths (larger ones agree to 15 digits); else all |
//!
//! Limiters that measure a rate (exim, earrrl, adaptive) use f64 anyway. Their levels depend on `exp`. The `exp` of
//! this crate, which the scripts on Redis contain, gives the same bits; that of a platform agrees to 1e-12.
//!
//! `edges.rs` in the tests of `ratescope-redis` compares the Lua with each counting limiter at the ends of the domain.
//!
//! # Why that is enough
//! Rounding to f64 is monotone, and does not change a whole number up to 2^53. So a rounded number beyond 2^53 compares
//! with a number below 2^53 as it would unrounded. Costs and sums beyond 2^53 are over the limit anyway.
//!
//! A quotient of whole numbers up to 2^53 is rounded down exactly: q - 1/w would be rounded to q
//! only if q w were more than 2^53.
//!
//! **Windows** add amounts and compare the sum with the limit. No term of a sum exceeds the sum, so
//! when the sum is within the limit all terms are exact. The number of a block is `floor(t/width)`.
//!
//! **Buckets** drain d a/b millionths in d microseconds. The product d a can be of any size.
//! Therefore the content of a bucket is kept as whole millionths and a remainder in b-ths of a
//! millionth, and the time is divided first: with `k = floor(d/b)` and `x = (d - k b) a`, which is
//! below a b,
//!
//! ```text
//! d a/b = k a + floor(x/b), rest x mod b
//! ```
//!
//! When time runs backwards, |k b| exceeds |d|, but by less than b, and it stays below 2^53 since
//! times end at 2^52. Only k a can be larger. Then the bucket is empty, or the clock was set back by
//! more than a full bucket takes to drain; both are certain, since content, size and cost are below
//! 2^52. The time in which w millionths and a remainder r drain, (w b + r)/a, is computed in the same way with
//! a and b exchanged: `floor(w/a) b + ceil(((w mod a) b + r)/a)`, where the dividend is below a b.
//!
//! **The sliding counter** compares `previous · left` with `room · period`, products of two
//! numbers below 2^52. Each factor is put into two limbs of 26 bits, a = a1 2^26 + a0, so that
//!
//! ```text
//! a b = a1 b1 2^52 + (a1 b0 + a0 b1) 2^26 + a0 b0
//! ```
//!
//! has no term of more than 53 bits. After carrying, the high and the low 52 bits are compared.
//! Quotients of such products (the remaining amount, the wait) are estimated as `a (b/c)`, which is
//! off by two at most; the same comparison then finds the exact one.

use super::amount::{amount, events};
use super::is_cost;
use crate::text::BadNumber;

/// A limiter that f64 alone can compute, as its Lua does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct InF64 {
    /// The algorithm.
    pub lua: Lua,
    /// The numbers of the algorithm in the order of its Lua file; unused ones are 0. Limiters that count
    /// have amounts in millionths of an event and times in microseconds, those that measure a rate have
    /// seconds, and those of servers have the server's own units: the first lines of the file name them.
    pub numbers: [f64; 7],
}

/// An algorithm in Lua.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Lua {
    /// The name of its file, without the extension.
    pub name: &'static str,
    /// True if it takes a cost in whole millionths.
    pub counts: bool,
}

impl InF64 {
    pub(super) fn new<const N: usize>(lua: Lua, given: [f64; N]) -> Self {
        let mut numbers = [0.0; 7];
        for (to, number) in numbers.iter_mut().zip(given) {
            *to = number;
        }
        InF64 { lua, numbers }
    }

    /// A cost as the algorithm takes it: rounded up to whole millionths if the algorithm counts; NaN when it cannot be
    /// counted.
    pub fn weight(&self, cost: f64) -> f64 {
        let weight = if self.lua.counts {
            amount(cost).map(|amount| amount as f64)
        } else {
            is_cost(cost).then_some(cost)
        };
        weight.unwrap_or(f64::NAN)
    }
}

/// The bound on amounts, in millionths, and on periods, in microseconds.
const NUMBERS: u64 = 1 << 51;

/// The bound on numbers that are compared.
const WHOLE: u128 = 1 << 53;

pub(super) fn check_amount(what: &'static str, amount: u64) -> Result<(), BadNumber> {
    if amount < NUMBERS {
        return Ok(());
    }
    Err(BadNumber { what, given: events(amount), want: "below 2.25e9 to be exact in f64" })
}

/// Checks the limit and the period of a window.
pub(super) fn check_window(most: u64, micros: i64) -> Result<(), BadNumber> {
    check_amount("the count of a rate", most)?;
    check_period(PERIOD, micros)
}

pub(super) const PERIOD: &str = "the period of a rate in seconds";

pub(super) fn check_period(what: &'static str, micros: i64) -> Result<(), BadNumber> {
    if micros.unsigned_abs() < NUMBERS {
        return Ok(());
    }
    let want = "below 71 years to be exact in f64";
    Err(BadNumber { what, given: micros as f64 / 1e6, want })
}

/// Checks a rate in lowest terms: `per_micro` millionths of an event drain in `per_millionth`
/// microseconds.
pub(super) fn check_rate(per_micro: u64, per_millionth: u64) -> Result<(), BadNumber> {
    let what = "the product of a rate's millionths and microseconds in lowest terms";
    check_product(what, per_micro, per_millionth)
}

/// Checks that a product is small enough to be compared exactly.
pub(super) fn check_product(what: &'static str, a: u64, b: u64) -> Result<(), BadNumber> {
    let product = u128::from(a) * u128::from(b);
    if product < WHOLE {
        return Ok(());
    }
    Err(BadNumber { what, given: product as f64, want: "below 2^53 to be exact in f64" })
}

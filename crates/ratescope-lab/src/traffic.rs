//! Generated events: patterns with a seed and a mean rate.
//!
//! The same seed gives the same events, bit for bit, natively and in WebAssembly: the random numbers are
//! PCG32 (O'Neill 2014), and every logarithm is the `libm` crate's.
//!
//! ```
//! use ratescope_lab::{traffic::Pattern, traffic::Traffic};
//! use ratescope::Time;
//!
//! // Events of the first minute, two a second in the mean, always the same with seed 1.
//! let minute = Time::try_from_secs_f64(60.0)?;
//! let events = || Traffic::new(Pattern::Poisson, 2.0, 1, Time::ZERO);
//! let first: Vec<Time> = events()?.take_while(|&at| at < minute).collect();
//! assert!((90..150).contains(&first.len()));
//! assert!(events()?.take(first.len()).eq(first));
//! # Ok::<(), ratescope::BadNumber>(())
//! ```
//!
//! The events go to a [limiter](ratescope::limit), or to the [scope](crate::scope).

mod bursts;
mod day;
mod pattern;
mod poisson;
mod position;
mod random;
pub mod sample;
mod steady;

use position::Position;
use ratescope::text::BadNumber;
use ratescope::time::Time;

pub use pattern::Pattern;
pub(crate) use random::Random;

/// An endless stream of events, in order of time. It allocates nothing.
///
/// The next event is always drawn in advance, so that asking up to 3 s and then up to 5 s gives the same events as
/// asking up to 5 s at once. To change the rate or the pattern, make a new generator that starts now.
///
/// The number of events is not bounded: at 1e300 events a second, a second never ends. The caller has to bound how many
/// it takes.
#[derive(Clone, Debug)]
pub struct Traffic {
    next: Time,
    source: Generator,
}

#[derive(Clone, Debug)]
enum Generator {
    Steady(steady::Steady),
    Poisson(poisson::Poisson),
    Bursts(bursts::Bursts),
    DayAndNight(day::DayAndNight),
}

impl Traffic {
    /// Events after `start`, with a mean of `per_second` events a second, which may be any finite rate above
    /// zero.
    ///
    /// No event comes at the start itself. Steady traffic begins one interval later, bursts begin with a
    /// pause, and Poisson traffic has no memory, so its start is like any other instant.
    ///
    /// # Errors
    /// When the rate is not finite and above zero, or the day of day and night is zero.
    pub fn new(
        pattern: Pattern,
        per_second: f64,
        seed: u64,
        start: Time,
    ) -> Result<Self, BadNumber> {
        if !(per_second > 0.0 && per_second.is_finite()) {
            let want = "finite and above zero";
            return Err(BadNumber { what: "events per second", given: per_second, want });
        }
        // Below about 5e-303 a second the gap would be infinite, and 0 times infinity is not a number.
        let mean_gap = (1e6 / per_second).min(f64::MAX);
        let position = Position::at(start);
        let random = Random::new(seed);
        let source = match pattern {
            Pattern::Steady => Generator::Steady(steady::Steady::new(start, mean_gap)),
            Pattern::Poisson => {
                Generator::Poisson(poisson::Poisson::new(position, random, mean_gap))
            }
            Pattern::Bursts => Generator::Bursts(bursts::Bursts::new(position, random, mean_gap)),
            Pattern::DayAndNight { day } => {
                Generator::DayAndNight(day::DayAndNight::new(position, random, mean_gap, day)?)
            }
        };
        let mut traffic = Traffic { next: start, source };
        traffic.draw();
        Ok(traffic)
    }

    /// Takes and returns the next event if it comes before `until`, but not at `until` itself.
    #[inline(always)]
    pub fn next_before(&mut self, until: Time) -> Option<Time> {
        let next = self.next;
        (next < until).then(|| {
            self.draw();
            next
        })
    }

    /// When the next event comes, without taking it. [`Time::LAST`] means never.
    pub fn peek(&self) -> Time {
        self.next
    }

    #[inline(always)]
    fn draw(&mut self) {
        self.next = match &mut self.source {
            Generator::Steady(steady) => steady.draw(),
            Generator::Poisson(poisson) => poisson.draw(),
            Generator::Bursts(bursts) => bursts.draw(),
            Generator::DayAndNight(day) => day.draw(),
        };
    }
}

/// All events before [`Time::LAST`].
impl Iterator for Traffic {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        self.next_before(Time::from_micros(i64::MAX))
    }
}

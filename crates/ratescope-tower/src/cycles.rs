//! A clock that counts the cycles of the processor.

use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use ratescope::clock::{Clock, SystemClock};
use ratescope::time::{Span, Time};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// For how long cycles are counted from one reading of the system's clock, in nanoseconds: a millisecond. The rate of the
/// counter is known to better than 1 in 1000, so within this time it is wrong by less than a microsecond, which is as
/// exact as a [`Time`].
const COUNTED: u64 = 1_000_000;

/// The longest that reading the system's clock may take, in nanoseconds. A thread that was interrupted meanwhile does not
/// know when it read the clock.
const PROMPT: u64 = 10_000;

/// The [`SystemClock`], read in half the time: it counts the cycles of the processor, from the system's clock on, which it
/// reads again each millisecond. So it is within a few microseconds of that clock, and follows within a millisecond when
/// that is set. Like that clock, it may be set back; where the two differed, by a microsecond.
///
/// Where the processor has no counter of a constant rate, it is the system's clock. Making the first of them takes some
/// milliseconds, and at most 200, in which the rate of the counter is measured.
#[derive(Clone, Copy, Debug)]
pub struct CycleClock(&'static Cycles);

impl Default for CycleClock {
    fn default() -> Self {
        static CYCLES: OnceLock<Cycles> = OnceLock::new();
        CycleClock(CYCLES.get_or_init(|| Cycles::new(quanta::Clock::new())))
    }
}

impl Clock for CycleClock {
    #[inline]
    fn now(&self) -> Time {
        self.0.now(system)
    }

    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send {
        SystemClock.sleep(span)
    }
}

/// The system's clock in nanoseconds since the Unix epoch.
fn system() -> i64 {
    let nanos = |since: core::time::Duration| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => nanos(since),
        Err(before) => -nanos(before.duration()),
    }
}

#[derive(Debug)]
struct Cycles {
    counter: quanta::Clock,
    /// The count when this was made.
    start: u64,
    /// How far the system's clock is ahead of the counter, in nanoseconds. Threads read it and `until` one after the other:
    /// both hold for a millisecond, whichever reading they are of.
    ahead: AtomicI64,
    /// How long this holds, in nanoseconds by the counter.
    until: AtomicU64,
}

impl Cycles {
    fn new(counter: quanta::Clock) -> Self {
        let start = counter.raw();
        Cycles { counter, start, ahead: AtomicI64::new(0), until: AtomicU64::new(0) }
    }

    /// The nanoseconds since the start; 0 from a counter that was set back to before it.
    fn counted(&self) -> u64 {
        self.counter.delta_as_nanos(self.start, self.counter.raw())
    }

    #[inline]
    fn now(&self, system: impl Fn() -> i64) -> Time {
        let counted = self.counted();
        // For a counter that was set back, as by a machine that was moved, this is too large.
        let left = self.until.load(Ordering::Relaxed).wrapping_sub(counted).wrapping_sub(1);
        let nanos = if left < COUNTED && counted > 0 {
            self.ahead.load(Ordering::Relaxed).saturating_add_unsigned(counted)
        } else {
            self.read(system)
        };
        Time::from_micros(nanos.div_euclid(1000))
    }

    /// Reads the system's clock, and counts from it.
    #[cold]
    fn read(&self, system: impl Fn() -> i64) -> i64 {
        let before = self.counted();
        let now = system();
        if self.counted().wrapping_sub(before) <= PROMPT {
            self.ahead.store(now.saturating_sub_unsigned(before), Ordering::Relaxed);
            self.until.store(before.saturating_add(COUNTED), Ordering::Relaxed);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    const MILLI: i64 = 1_000_000;

    fn micros(cycles: &Cycles, system: &Cell<i64>) -> i64 {
        cycles.now(|| system.get()).as_micros()
    }

    #[test]
    fn it_counts_from_a_reading_for_a_millisecond() {
        let (counter, cycle) = quanta::Clock::mock();
        let cycles = Cycles::new(counter);
        let system = Cell::new(5000 * MILLI);
        assert_eq!(micros(&cycles, &system), 5_000_000);
        // The clock is set back and ahead; it is followed after a millisecond.
        system.set(2000 * MILLI);
        cycle.increment(999_999);
        assert_eq!(micros(&cycles, &system), 5_000_999);
        cycle.increment(1);
        assert_eq!(micros(&cycles, &system), 2_000_000);
        system.set(9000 * MILLI);
        cycle.increment(400_000);
        assert_eq!(micros(&cycles, &system), 2_000_400);
        cycle.increment(600_000);
        assert_eq!(micros(&cycles, &system), 9_000_000);
        // The machine slept, and its counter with it or not.
        system.set(99_000 * MILLI);
        cycle.increment(90_000_000_000);
        assert_eq!(micros(&cycles, &system), 99_000_000);
    }

    #[test]
    fn a_counter_that_is_set_back_is_not_believed() {
        let (counter, cycle) = quanta::Clock::mock();
        let cycles = Cycles::new(counter);
        let system = Cell::new(0);
        for at in [7 * MILLI, 14 * MILLI] {
            cycle.increment(7_000_000);
            system.set(at);
            assert_eq!(micros(&cycles, &system), at / 1000);
        }
        cycle.decrement(6_000_000);
        system.set(15 * MILLI);
        assert_eq!(micros(&cycles, &system), 15_000);
        // Earlier than its start, where it seems to stand still.
        cycle.decrement(8_000_000);
        for at in [16 * MILLI, 17 * MILLI] {
            system.set(at);
            assert_eq!(micros(&cycles, &system), at / 1000);
        }
    }

    #[test]
    fn a_reading_that_took_long_is_not_counted_from() {
        let (counter, cycle) = quanta::Clock::mock();
        let cycles = Cycles::new(counter);
        let interrupted = || {
            cycle.increment(PROMPT + 1);
            3 * MILLI
        };
        assert_eq!(cycles.now(interrupted).as_micros(), 3000);
        assert_eq!(cycles.now(|| 8 * MILLI).as_micros(), 8000);
        cycle.increment(1000);
        assert_eq!(cycles.now(|| 0).as_micros(), 8001);
    }

    #[test]
    fn a_clock_before_1970() {
        let (counter, cycle) = quanta::Clock::mock();
        let cycles = Cycles::new(counter);
        assert_eq!(cycles.now(|| -1).as_micros(), -1);
        cycle.increment(1001);
        assert_eq!(cycles.now(|| 0).as_micros(), 1);
    }

    /// It is compared with readings of the system's clock before and after, so an interruption only widens the range of
    /// right times.
    #[test]
    fn it_shows_the_time_of_the_system() {
        let clock = CycleClock::default();
        // A hundred times the drift of the counter in a millisecond.
        let slack = Span::from_micros(100);
        for _ in 0..200_000 {
            let before = SystemClock.now();
            let now = clock.now();
            let after = SystemClock.now();
            assert!(
                before <= now.after(slack) && now <= after.after(slack),
                "{before:?} {now:?} {after:?}"
            );
        }
    }
}

//! The GCRA in one atomic word.

use proptest::prelude::*;
use ratescope::limit::atomic::AtomicGcra;
use ratescope::limit::gcra::Gcra;
use ratescope::{Limiter, Rate, Retry, Span, Time};
use std::thread;

static SHARED: AtomicGcra = AtomicGcra::new(Gcra::per_minute(100));

fn at(micros: i64) -> Time {
    Time::from_micros(micros)
}

proptest! {
    /// Where an event takes whole nanoseconds, it decides as the limiter that counts in parts.
    #[test]
    fn decides_as_the_other_one(
        (count, burst) in (prop::sample::select(vec![1, 2, 5, 10, 100, 1000]), 1_u32..20),
        steps in prop::collection::vec((0_i64..2_000_000, 0_u32..5), 1..100),
    ) {
        let limiter = Gcra::per_second(count).with_burst(burst);
        let (atomic, mut state) = (AtomicGcra::new(limiter), limiter.initial());
        let mut now = at(0);
        for (later, cost) in steps {
            now = at(now.as_micros() + later);
            let retry = limiter.retry_after(&state, now, cost.into());
            let outcome = limiter.check(&mut state, now, cost.into());
            match atomic.check_n(now, cost) {
                Ok(()) => prop_assert!(outcome.is_allowed()),
                Err(found) => prop_assert_eq!((outcome.is_allowed(), found), (false, retry)),
            }
            let left = limiter.remaining(&state, now).floor();
            prop_assert_eq!(atomic.remaining(now) as f64, left);
        }
    }

    /// Rounding never admits more, and the time of a retry is right.
    #[test]
    fn never_more_than_the_rate(count in 1_u32..2_000_000_000, per in 1_u64..100_000_000, burst in 1_u32..9) {
        let rate = Rate::new(count.into(), Span::from_micros(per)).unwrap();
        let atomic = AtomicGcra::new(Gcra::new(rate, burst.into()).unwrap());
        let mut now = at(0);
        let mut passed = 0.0;
        for _ in 0..100 {
            match atomic.check(now) {
                Ok(()) => passed += 1.0,
                Err(Retry::After(wait)) => now = now.after(wait),
                Err(retry) => prop_assert!(false, "{retry:?}"),
            }
            let most = f64::from(burst) + now.as_secs_f64() * rate.frequency() * (1.0 + 1e-9);
            prop_assert!(passed <= most + 1e-6, "{passed} of {most}");
        }
    }
}

#[test]
fn threads_share_it() {
    let passes = || (0..100_u32).filter(|_| SHARED.check(at(5)).is_ok()).count();
    let passed: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(passes)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((passed, SHARED.remaining(at(5))), (100, 0));
}

#[test]
fn a_clock_that_is_set_back() {
    let atomic = AtomicGcra::new(Gcra::per_minute(2));
    let hour = at(3_600_000_000);
    assert!(atomic.check_n(hour, 2).is_ok());
    // Slightly out of order, it finds no more room.
    assert_eq!(atomic.check(at(3_599_000_000)), Err(Retry::After(Span::from_secs(31))));
    // Set back by an hour, it waits for no more than a full burst.
    assert_eq!(atomic.check(at(0)), Err(Retry::After(Span::from_secs(30))));
    assert!(atomic.check(at(30_000_000)).is_ok());
    atomic.reset();
    assert!(atomic.check(at(0)).is_ok());
    // The ends of time.
    for end in [at(i64::MIN), at(i64::MAX)] {
        let _ = (atomic.check(end), atomic.remaining(end));
    }
}

#[test]
fn nothing_passes_by_nothing() {
    let none = AtomicGcra::new(Gcra::none());
    assert_eq!((none.check(at(9)), none.remaining(at(9))), (Err(Retry::Never), 0));
    assert_eq!(AtomicGcra::new(Gcra::per_second(3)).check_n(at(0), 4), Err(Retry::Never));
}

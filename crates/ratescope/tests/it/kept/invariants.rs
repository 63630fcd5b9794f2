//! Properties of any bytes that may be a kept state. The tests and the fuzzer check them.

use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Time};

/// Panics unless bytes that are a state are written as the same state, and a limiter that takes it
/// decides at any time.
pub(crate) fn hold(data: &[u8]) {
    let kept = match Kept::from_bytes(data) {
        Ok(kept) => kept,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = kept.to_bytes();
    let again = Kept::from_bytes(&written).expect("what was written is read");
    assert_eq!(again.to_bytes(), written);
    for form in FORMS {
        let limiter: AnyLimiter = form.example.parse().expect("an example is right");
        let Ok(mut state) = limiter.restore(&kept) else { continue };
        let times = [i64::MIN, 0, 1, 1_000_000, 1 << 50, i64::MAX];
        for (micros, cost) in times.into_iter().flat_map(|at| [(at, 1.0), (at, 0.5)]) {
            let now = Time::from_micros(micros);
            let peeked = limiter.peek(&state, now, cost).wait;
            assert_eq!(limiter.check(&mut state, now, cost).wait, peeked);
            let _ = (limiter.retry_after(&state, now, cost), limiter.reset_after(&state, now));
            limiter.remaining(&state, now);
            let bytes = limiter.keep(&state, now).to_bytes();
            assert!(Kept::from_bytes(&bytes).is_ok(), "{limiter} at {now}");
        }
    }
}

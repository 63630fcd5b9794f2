//! Properties of any text that may be a limiter, and of any events. The tests and the fuzzer check them.

use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Span, Time};

const COSTS: [f64; 8] = [1.0, 1.0, 0.0, 0.5, 3.0, 1e12, f64::NAN, -1.0];

/// The first line is a limiter; then each two bytes are an event. Panics unless the limiter is
/// written as one that is equal; a look decides as the event itself; levels are numbers; and a state
/// that was kept decides as the one that was not.
pub(crate) fn hold(data: &[u8]) {
    let (text, events) = data.split_at(data.iter().position(|b| *b == b'\n').unwrap_or(data.len()));
    let Ok(text) = std::str::from_utf8(text) else { return };
    let limiter = match text.parse::<AnyLimiter>() {
        Ok(limiter) => limiter,
        Err(error) => {
            assert!(!error.problem().is_empty() && text.get(error.at()).is_some(), "{text:?}");
            return;
        }
    };
    let written = limiter.to_string();
    let again: AnyLimiter = written.parse().expect("what was written is read");
    assert_eq!(again.to_string(), written);

    let (mut state, mut now) = (limiter.initial(), Time::ZERO);
    for event in events.get(1..).unwrap_or(&[]).chunks_exact(2).take(1000) {
        // From a microsecond to some years, ahead or now and then back.
        let step = 1i64 << (event[0] & 0x3f).min(47);
        let step = if event[0] >> 6 == 3 { -step } else { step };
        now = Time::from_micros(now.as_micros().saturating_add(step));
        let cost = COSTS[usize::from(event[1]) % COSTS.len()];
        let kept = Kept::from_bytes(&limiter.keep(&state, now).to_bytes()).expect("it was written");
        let restored = again.restore(&kept).expect("the shape is the same");
        let peeked = limiter.peek(&state, now, cost);
        assert_eq!(again.peek(&restored, now, cost).wait, peeked.wait, "restored");
        let outcome = limiter.check(&mut state, now, cost);
        assert_eq!(outcome.wait, peeked.wait, "a look");
        assert!(
            !outcome.limit.is_nan() && (cost.is_nan() || !outcome.level.is_nan()),
            "{outcome:?}"
        );
        let _ = limiter.retry_after(&state, now, cost);
        assert!(!limiter.remaining(&state, now).is_nan());
        assert!(limiter.reset_after(&state, now) >= Span::ZERO);
    }
}

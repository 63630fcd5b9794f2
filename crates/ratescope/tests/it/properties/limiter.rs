//! The promises of Exim's limiter.

use crate::properties::{events, gap, magnitude, span};
use proptest::prelude::*;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Limiter, Rate, Retry, Span, Time};

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Strict), Just(Mode::Leaky), Just(Mode::Readonly)]
}

/// Beyond 2^51 microseconds, 71 years, seconds in f64 no longer give back every microsecond.
const FINE: f64 = (1u64 << 51) as f64 / 1e6;

/// A limit over a period from a millisecond to 300 years.
fn limiter() -> impl Strategy<Value = Exim> {
    (magnitude(-3.0, 9.0), span(-3.0, 9.9), mode())
        .prop_map(|(count, per, mode)| Exim { limit: Rate::new(count, per).unwrap(), mode })
}

/// A limiter and a state that came about by events of up to twice its limit each. The state of
/// a readonly limiter is the measurement of a strict one of the same rate.
fn in_use() -> impl Strategy<Value = (Exim, <Exim as Limiter>::State, Time)> {
    (limiter(), events(magnitude(-6.0, 0.3)), gap()).prop_map(|(exim, events, gap)| {
        let mode = if exim.mode == Mode::Readonly { Mode::Strict } else { exim.mode };
        let (writer, mut state, mut now) = (Exim { mode, ..exim }, exim.initial(), Time::ZERO);
        for (at, part) in events {
            now = at;
            let _ = writer.check(&mut state, at, part * exim.limit.count());
        }
        (exim, state, Time::from_micros(now.as_micros() + gap))
    })
}

/// How many events of cost `cost` at the same instant pass, from rest.
fn burst(limit: f64, per: Span, cost: f64) -> usize {
    let exim = Exim { limit: Rate::new(limit, per).unwrap(), mode: Mode::Strict };
    let mut state = exim.initial();
    let passes = |_: &usize| exim.check(&mut state, Time::ZERO, cost).is_allowed();
    (0..).take_while(passes).count()
}

proptest! {
    /// At a limit of m the m-th event of an instant burst from rest passes and the next does
    /// not. (For 1 < m; at a limit of 1 a single event is at the limit, and so over.) The
    /// nanoseconds between its events let more through only where m exceeds about 40,000 for
    /// each root of a second in the period.
    #[test]
    fn the_limit_is_the_burst(m in 2u32..3000, per in span(0.0, 9.5), part in 1e-6f64..0.99) {
        let limit = f64::from(m);
        prop_assert_eq!(burst(limit, per, 1.0), m as usize);
        prop_assert_eq!(burst(limit + part, per, 1.0), m as usize);
        prop_assert_eq!(burst(limit * 4.0, per, 4.0), m as usize);
    }

    /// A readonly limiter lets everything pass or nothing, by the measurement of another, and counts nothing.
    #[test]
    fn readonly_only_looks((exim, state, now) in in_use(), part in magnitude(-6.0, 3.0)) {
        let exim = Exim { mode: Mode::Readonly, ..exim };
        let left = exim.remaining(&state, now);
        prop_assert!(left == 0.0 || left == f64::INFINITY);
        let mut after = state;
        let outcome = exim.check(&mut after, now, part * exim.limit.count());
        prop_assert_eq!(outcome.is_allowed(), left > 0.0);
        prop_assert_eq!(after, state);
    }

    /// The same event after exactly `retry_after` passes, and a microsecond sooner does not.
    #[test]
    fn retry_after_is_honest((exim, mut state, now) in in_use(), part in magnitude(-6.0, 0.3)) {
        let cost = part * exim.limit.count();
        let outcome = exim.check(&mut state, now, cost);
        let hopeless = exim.mode != Mode::Readonly && cost >= exim.limit.count();
        if outcome.is_allowed() {
            prop_assert!(!hopeless);
            return Ok(());
        }
        match exim.retry_after(&state, now, cost) {
            Retry::Never => prop_assert!(hopeless),
            Retry::After(wait) => {
                prop_assert!(!hopeless);
                if wait.as_secs_f64() > FINE {
                    return Ok(());
                }
                let then = now.after(wait);
                prop_assert!(exim.peek(&state, then, cost).is_allowed(), "after {wait}");
                if then > now {
                    let sooner = Time::from_micros(then.as_micros() - 1);
                    prop_assert!(!exim.peek(&state, sooner, cost).is_allowed(), "before {wait}");
                }
                let much_later = Time::from_micros(then.as_micros() * 2 - now.as_micros() + 1000);
                prop_assert!(exim.peek(&state, much_later, cost).is_allowed(), "well after {wait}");
            }
        }
    }

    /// After `reset_after` an event counts as the first one does, and a microsecond sooner not.
    #[test]
    fn reset_after_is_honest((exim, state, now) in in_use()) {
        let rate = |at| exim.estimator().measure(Some(state), at, 1.0).rate;
        let wait = exim.reset_after(&state, now);
        if wait.as_secs_f64() > FINE {
            return Ok(());
        }
        let then = now.after(wait);
        prop_assert_eq!(rate(then), 1.0);
        if then > now {
            prop_assert!(rate(Time::from_micros(then.as_micros() - 1)) > 1.0);
        }
    }

    /// A limit of 0 lets all pass and measures, whichever the mode that counts.
    #[test]
    fn a_limit_of_zero_only_measures(per in span(-3.0, 9.0), events in events(magnitude(-9.0, 9.0))) {
        let limit = Rate::new(0.0, per).unwrap();
        for mode in [Mode::Strict, Mode::Leaky] {
            let exim = Exim { limit, mode };
            let (mut state, mut measured) = (exim.initial(), None);
            for &(at, cost) in &events {
                prop_assert_eq!(exim.remaining(&state, at), f64::INFINITY);
                prop_assert!(exim.check(&mut state, at, cost).is_allowed());
                measured = Some(exim.estimator().measure(measured, at, cost));
                prop_assert_eq!(Some(state), measured);
            }
        }
    }
}

/// A rate so small that the nanosecond between events at one instant outweighs it is reset at once, also by
/// a clock that was set back.
#[test]
fn less_than_a_nanosecond_is_no_wait() {
    let per = Span::try_from_secs_f64(0.005).unwrap();
    let exim = Exim { limit: Rate::new(0.002, per).unwrap(), mode: Mode::Strict };
    let mut state = exim.initial();
    let _ = exim.check(&mut state, Time::ZERO, 6e-9);
    assert_eq!(state.rate, 6e-9);
    for micros in [-1, 0, 1] {
        assert_eq!(exim.reset_after(&state, Time::from_micros(micros)), Span::ZERO);
    }
}

/// It would be met, but only after the last instant there is.
#[test]
fn a_wait_beyond_the_end_of_time_is_never() {
    let per = Span::try_from_secs_f64(1e15).unwrap();
    let exim = Exim { limit: Rate::new(2.0, per).unwrap(), mode: Mode::Strict };
    let mut state = exim.initial();
    let outcomes = [0, 0, 0].map(|at| exim.check(&mut state, Time::from_micros(at), 1.0));
    assert_eq!(outcomes.map(|o| o.is_allowed()), [true, true, false]);
    assert_eq!(exim.retry_after(&state, Time::ZERO, 1.0), Retry::Never);
}

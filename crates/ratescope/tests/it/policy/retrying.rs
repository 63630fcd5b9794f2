//! When several limits let an event pass again, and the most that they ever do.

use crate::judged::policy_of;
use crate::policy::exact::ExactWindow;
use crate::policy::{Sent, check, events, limits, policy, sent, store};
use proptest::prelude::*;
use ratescope::{Limiter, Policy, Retry, Span, Time};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The same event after exactly `retry_after` passes, and a microsecond sooner does not.
    #[test]
    fn retry_after_is_honest((case, limits) in limits(), sent in sent(true)) {
        let store = store(Policy::new(limits).unwrap());
        for sent in events(&case, &sent) {
            let allowed = check(&store, &sent).is_allowed();
            let passes = |at| Sent { at, ..sent }.ask(|event| store.peek(event)).is_allowed();
            let later = |micros: i64| Time::from_micros(sent.at.as_micros() + micros);
            match sent.ask(|event| store.retry_after(event)) {
                Retry::After(wait) => {
                    let then = sent.at.after(wait);
                    prop_assert!(passes(then), "{} of {} after {wait}", policy_of(&store), sent.cost);
                    if then > sent.at {
                        let sooner = Time::from_micros(then.as_micros() - 1);
                        prop_assert!(!passes(sooner), "{} before {wait}", policy_of(&store));
                    }
                }
                Retry::Never => {
                    // It may have been the last that ever passes.
                    prop_assert!(allowed || !passes(sent.at));
                    let period = (case.period.as_secs_f64() * 1e6) as i64;
                    for periods in [0, 1, 2, 10, 20, 40, 100, 1000] {
                        prop_assert!(!passes(later(periods * period)), "{}", policy_of(&store));
                    }
                }
            }
        }
    }

    /// No window has more of one sender than was promised: the least of any limit.
    #[test]
    fn no_window_has_more_than_was_promised(
        (case, limits) in limits(),
        sent in sent(false),
        part in prop_oneof![Just(1.0), 0.01f64..3.0],
    ) {
        let window = Span::try_from_secs_f64(case.period.as_secs_f64() * part).unwrap();
        let sent = events(&case, &sent);
        // The promise is for events of one cost, so all have that of the first.
        let cost = sent[0].cost;
        let each = limits.iter().map(|limit| limit.limiter.max_admitted(window, cost));
        let least = each.fold(f64::INFINITY, f64::min);
        let store = store(Policy::new(limits).unwrap());
        let promise = policy_of(&store).max_admitted(window, cost);
        prop_assert_eq!(promise, least);
        let mut oracle = ExactWindow::new(window);
        for Sent { at, .. } in sent {
            for _ in 0..3 {
                if check(&store, &Sent { at, cost, from: ["ann", "x"] }).is_allowed() {
                    let count = oracle.add(at, cost);
                    prop_assert!(count <= promise * (1.0 + 1e-12), "{count} of {promise}");
                }
            }
        }
    }
}

/// If one limit never lets an event pass, it is not told to come back, whatever the others say.
#[test]
fn more_than_the_least_limit_never_passes() {
    let store = store(policy("100/1s per user & 10/1m per ip"));
    let large = Sent { at: Time::ZERO, cost: 10.001, from: ["ann", "x"] };
    let together = check(&store, &large);
    assert_eq!(
        (together.to_string().as_str(), together.by),
        ("refused: level 10.001, limit 10", 1)
    );
    assert_eq!(large.ask(|event| store.retry_after(event)), Retry::Never);
}

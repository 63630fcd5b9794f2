//! Several limits at once, on one key and on several.

use crate::{KINDS, cases, limiter, steps};
use proptest::prelude::*;
use ratescope::limit::all_of::{self, AllOf, Part};
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Outcome, Time};

fn joined(limits: Vec<AnyLimiter>) -> AnyLimiter {
    AnyLimiter::AllOf(AllOf::new(limits))
}

proptest! {
    /// Nothing in an outcome depends on the order.
    #[test]
    fn the_order_does_not_matter(
        (cases, shuffled) in prop::collection::vec(cases(&KINDS), 2..5)
            .prop_flat_map(|cases| (Just(cases.clone()), Just(cases).prop_shuffle())),
        steps in steps(true),
    ) {
        let each = |cases: Vec<crate::Case>| joined(cases.into_iter().map(|c| c.limiter).collect());
        let events = cases[0].events(&steps);
        let (a, b) = (each(cases), each(shuffled));
        let (mut state_a, mut state_b) = (a.initial(), b.initial());
        for (at, cost) in events {
            let outcomes = (a.check(&mut state_a, at, cost), b.check(&mut state_b, at, cost));
            prop_assert_eq!(outcomes.0, outcomes.1, "{}", a);
        }
    }

    /// It passes when each passes, and what passes is counted in each.
    #[test]
    fn all_or_none(
        cases in prop::collection::vec(cases(&KINDS), 1..4),
        steps in steps(true),
    ) {
        let limits: Vec<_> = cases.iter().map(|case| case.limiter.clone()).collect();
        let all = joined(limits.clone());
        let (mut state, mut apart) = (all.initial(), limits.iter().map(Limiter::fresh).collect::<Vec<_>>());
        for (at, cost) in cases[0].events(&steps) {
            let passes = limits.iter().zip(&apart).all(|(l, s)| l.peek(s, at, cost).passes());
            for (limit, state) in limits.iter().zip(&mut apart) {
                limit.count(state, at, cost, passes);
            }
            prop_assert_eq!(all.check(&mut state, at, cost).is_allowed(), passes);
        }
        let together = AllOf::new(limits);
        prop_assert_eq!(state, ratescope::limit::any::AnyState::AllOf(apart.into()));
        prop_assert_eq!(together.limits().len(), cases.len());
    }
}

/// Events at a steady gap through `limit`: how many pass in each minute.
fn per_minute(limit: &AnyLimiter, gap_micros: i64, minutes: i64) -> Vec<usize> {
    let mut state = limit.initial();
    let mut allowed = vec![0; minutes as usize];
    for at in (0..minutes * 60_000_000).step_by(gap_micros as usize) {
        if limit.check(&mut state, Time::from_micros(at), 1.0).is_allowed() {
            allowed[(at / 60_000_000) as usize] += 1;
        }
    }
    allowed
}

/// Carlson's example: 10 a second, 120 a minute, 240 an hour, for a client that sends a hundred
/// a second for ten minutes. His first version counts one limit after the other, and events that the
/// limit per second refuses use up those per minute and per hour. Counted rightly, the client
/// gets all of its 240, in whichever order the limits are written.
#[test]
fn refused_events_use_up_no_other_limit() {
    let mut want = vec![120, 120];
    want.resize(10, 0);
    for text in [
        "10/1s & 120/1m & 240/1h",
        "240/1h & 120/1m & 10/1s",
        "120/1m & 240/1h & 10/1s",
        "10/1s & 120/1m & 240/1h precision 1m",
        "240/1h precision 1m & 10/1s & 120/1m",
    ] {
        assert_eq!(per_minute(&limiter(text), 10_000, 10), want, "{text}");
    }
}

/// As his first version counts, for comparison: ten pass in the first second and use up the rest.
#[test]
fn counting_one_after_the_other_is_the_bug() {
    let limits = ["10/1s", "120/1m", "240/1h"].map(limiter);
    // From the largest, as it happens when they are written in that order.
    let mut counts = limits.each_ref().map(|limit| (limit.initial(), limit));
    counts.reverse();
    let mut allowed = 0;
    for i in 0..360_000 {
        let at = Time::from_micros(i * 10_000);
        allowed += i32::from(counts.iter_mut().all(|(state, limit)| {
            let passes = limit.peek(state, at, 1.0).passes();
            limit.count(state, at, 1.0, true);
            passes
        }));
    }
    assert_eq!(allowed, 20);
}

/// The wait, the reason and the time to come back are those of the limit that decides.
#[test]
fn the_reason_is_the_limit_that_decides() {
    let all = limiter("10/1s & 15/1m & leaky-bucket 100/1s queue 100");
    let mut state = all.initial();
    let mut send = |at: i64| all.check(&mut state, Time::from_micros(at), 1.0);
    let text = |outcome: Outcome| outcome.to_string();
    assert_eq!(text(send(0)), "allowed: level 1, limit 10");
    assert_eq!(text(send(0)), "allowed in 10ms: level 2, limit 10");
    for _ in 2..10 {
        assert!(send(0).is_allowed());
    }
    assert_eq!(text(send(0)), "refused: level 11, limit 10; allowed again in 1s");
    for _ in 10..15 {
        assert!(send(1_000_000).is_allowed());
    }
    assert_eq!(text(send(1_000_000)), "refused: level 16, limit 15; allowed again in 59s");
}

/// One address, two users: the address has a limit, and so has each user.
#[test]
fn several_keys_count_in_all_or_in_none() {
    let (per_address, per_user) = (limiter("sliding-log 5/1m"), limiter("sliding-log 3/1m"));
    let mut address = per_address.initial();
    let mut users = [per_user.initial(), per_user.initial()];
    let mut send = |user: usize| {
        let mut parts = [
            Part { limiter: &per_address, state: &mut address },
            Part { limiter: &per_user, state: &mut users[user] },
        ];
        all_of::check(&mut parts, Time::ZERO, 1.0)
    };
    let first: Vec<_> = (0..5).map(|_| send(0).is_allowed()).collect();
    assert_eq!(first, [true, true, true, false, false]);
    // The refused events of the first user took nothing from the address.
    let second: Vec<_> = (0..3).map(|_| send(1).is_allowed()).collect();
    assert_eq!(second, [true, true, false]);
    // And the address that refused took nothing from the second user.
    assert_eq!(per_user.remaining(&users[1], Time::ZERO), 1.0);
    let parts = [(&per_address, &address), (&per_user, &users[1])];
    let peeked = all_of::peek(&parts, Time::ZERO, 1.0);
    assert_eq!(peeked.to_string(), "refused: level 6, limit 5; allowed again in 1m");
}

/// Strict Exim and the recent average count the events that another limit refuses, as they do
/// alone; the others do not.
#[test]
fn what_counts_attempts_counts_them_in_company() {
    for (text, attempts) in [
        ("exim 100/1m strict", true),
        ("exim 100/1m leaky", false),
        ("earrrl 100/1m", true),
        ("adaptive x2 decay 1m floor 100 strict", true),
        ("gcra 100/1m", false),
    ] {
        let (alone, with) = (limiter(text), limiter(&format!("{text} & 1/1m")));
        let (mut state, mut expected) = (with.initial(), alone.initial());
        for i in 0..10 {
            let now = Time::from_micros(i);
            with.check(&mut state, now, 1.0);
            if i == 0 || attempts {
                alone.check(&mut expected, now, 1.0);
            }
        }
        let now = Time::from_micros(20);
        let ratescope::limit::any::AnyState::AllOf(states) = &state else { unreachable!() };
        assert_eq!(alone.peek(&states[0], now, 0.0), alone.peek(&expected, now, 0.0), "{text}");
    }
}

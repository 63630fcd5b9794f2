//! All or none: the decisions of several limits together, by those of each alone about the events that it should
//! have counted.

use crate::judged::{Judged, policy_of};
use crate::policy::{Sent, check, events, limits, policy, sent, store};
use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::policy::Limit;
use ratescope::{Limiter, Outcome, Policy, Span, Time};

/// How a limit alone is told whether an event passed all limits.
type Tell = fn(&AnyLimiter, &mut AnyState, &Sent, bool);

/// A limit that counts attempts counts each one, alone as among others. The other limits have seen only
/// events that passed all limits, and let them pass, too.
fn by_checks(limiter: &AnyLimiter, state: &mut AnyState, sent: &Sent, passed: bool) {
    let text = limiter.to_string();
    let counts_all = text.starts_with("haproxy") && !text.ends_with("allowed")
        || text.starts_with("fail2ban")
        || text.ends_with("attempts");
    if passed || counts_all || text.starts_with("earrrl") || text.ends_with("strict") {
        let _ = limiter.check(state, sent.at, sent.cost);
    } else if text.starts_with("envoy") {
        // Its bucket begins with the first event, even if another limit refuses that.
        limiter.record(state, sent.at, sent.cost, false);
    }
}

/// A refused event leaves a trace when the clock was set back.
fn by_records(limiter: &AnyLimiter, state: &mut AnyState, sent: &Sent, passed: bool) {
    limiter.record(state, sent.at, sent.cost, passed);
}

/// The outcome of the last of `sent` by a limit alone. The limit begins with nothing, and is told of those
/// before it that have the same values in its fields; `passed` says whether they passed.
fn alone(limit: &Limit, sent: &[Sent], passed: &[bool], tell: Tell) -> Outcome {
    let Some((last, before)) = sent.split_last() else { panic!("nothing sent") };
    let mut state = limit.limiter.initial();
    for (one, passed) in before.iter().zip(passed) {
        if limit.per.fields().iter().all(|field| one.value(field) == last.value(field)) {
            tell(&limit.limiter, &mut state, one, *passed);
        }
    }
    limit.limiter.check(&mut state, last.at, last.cost)
}

fn assert_all_or_none(limits: Vec<Limit>, sent: &[Sent], tell: Tell) -> Result<(), TestCaseError> {
    let store = store(Policy::new(limits.clone()).unwrap());
    let mut passed = Vec::new();
    for i in 0..sent.len() {
        let each: Vec<Outcome> =
            limits.iter().map(|limit| alone(limit, &sent[..=i], &passed, tell)).collect();
        let peeked: Judged = sent[i].ask(|event| store.peek(event)).into();
        let together = check(&store, &sent[i]);
        prop_assert_eq!(peeked, together, "a look says what would be said");
        prop_assert_eq!(together.is_allowed(), each.iter().all(|alone| alone.is_allowed()));
        // The one that decided says so, and no other had more to say.
        let decided = each[together.by];
        prop_assert_eq!(decided.is_allowed(), together.is_allowed());
        let numbers = |outcome: Outcome| (outcome.level, outcome.limit);
        prop_assert_eq!(numbers(decided), numbers(together.outcome));
        let share = |outcome: &Outcome| outcome.level / outcome.limit;
        let rivals = each.iter().filter(|alone| alone.is_allowed() == together.is_allowed());
        prop_assert!(rivals.into_iter().all(|alone| share(alone) <= share(&decided)));
        let waits = each.iter().filter_map(|alone| alone.wait).map(Span::as_secs_f64);
        let longest = together.is_allowed().then(|| waits.fold(0.0, f64::max));
        prop_assert_eq!(together.outcome.wait.map(Span::as_secs_f64), longest);
        passed.push(together.is_allowed());
    }
    Ok(())
}

/// The events up to the first that sweeps. Every eighth event frees the entries that a log or a window no longer
/// counts. If the clock is set back then, an event finds the room that there was later, and not that of its time.
fn unswept<'a>(limits: &[Limit], sent: &'a [Sent]) -> &'a [Sent] {
    let grows = limits.iter().any(|limit| limit.limiter.grows());
    sent.get(..7).filter(|_| grows).unwrap_or(sent)
}

proptest! {
    /// Over any policies, keys and interleavings.
    #[test]
    fn an_event_counts_in_all_or_in_none((case, limits) in limits(), sent in sent(false)) {
        assert_all_or_none(limits, &events(&case, &sent), by_checks)?;
    }

    #[test]
    fn also_when_time_runs_backwards((case, limits) in limits(), sent in sent(true)) {
        assert_all_or_none(limits.clone(), unswept(&limits, &events(&case, &sent)), by_records)?;
    }

    /// Nothing in an outcome depends on the order.
    #[test]
    fn the_order_does_not_matter(
        ((case, limits), shuffled) in limits().prop_flat_map(|(case, limits)| {
            (Just((case, limits.clone())), Just(limits).prop_shuffle())
        }),
        sent in sent(true),
    ) {
        let [a, b] = [limits, shuffled].map(|limits| store(Policy::new(limits).unwrap()));
        for sent in unswept(policy_of(&a).limits(), &events(&case, &sent)) {
            prop_assert_eq!(check(&a, sent).outcome, check(&b, sent).outcome, "{}", policy_of(&a));
        }
    }

    /// A cost that is none is refused, and nothing comes of it.
    #[test]
    fn no_bad_cost_passes_or_counts(
        (case, limits) in limits(),
        sent in sent(false),
        cost in prop::sample::select(&[f64::NAN, f64::INFINITY, -1e-9, -1.0, 1.1e12]),
    ) {
        let policy = Policy::new(limits).unwrap();
        let (clean, other) = (store(policy.clone()), store(policy));
        for sent in events(&case, &sent) {
            let bad = check(&other, &Sent { cost, ..sent });
            prop_assert!(!bad.is_allowed());
            prop_assert_eq!(check(&clean, &sent), check(&other, &sent));
        }
    }
}

/// One address, two users: the address has a limit, and so has each user.
#[test]
fn several_keys_count_in_all_or_in_none() {
    let store = store(policy("sliding-log 5/1m per ip & sliding-log 3/1m per user"));
    let mail = |user| Sent { at: Time::ZERO, cost: 1.0, from: [user, "x"] };
    let passes = |user| check(&store, &mail(user)).is_allowed();
    assert_eq!(["ann"; 5].map(passes), [true, true, true, false, false]);
    // The refused events of the first user took nothing from the address.
    assert_eq!(["bob"; 3].map(passes), [true, true, false]);
    let refused: Judged = mail("bob").ask(|event| store.peek(event)).into();
    assert_eq!((refused.to_string().as_str(), refused.by), ("refused: level 6, limit 5", 0));
    assert_eq!(mail("bob").ask(|event| store.retry_after(event)).to_string(), "in 1m");
    // And the address that refused took nothing from the second user: elsewhere there is one left.
    let elsewhere = Sent { from: ["bob", "y"], ..mail("bob") };
    assert_eq!(check(&store, &elsewhere).to_string(), "allowed: level 3, limit 3");
    assert_eq!(check(&store, &elsewhere).to_string(), "refused: level 4, limit 3");
}

/// Strict Exim, the recent average and HAProxy's request rate count the events that another limit
/// refuses, as they do alone; the others do not.
#[test]
fn what_counts_attempts_counts_them_in_company() {
    for (text, attempts) in [
        ("exim 100/1m strict", true),
        ("exim 100/1m leaky", false),
        ("earrrl 100/1m", true),
        ("adaptive x2 decay 1m floor 100 strict", true),
        ("gcra 100/1m", false),
        ("haproxy 100/1m", true),
        ("haproxy 100/1m allowed", false),
        ("nginx 100/1m burst 99 nodelay", false),
    ] {
        let with = store(policy(&format!("{text} per user & 1/1m per ip")));
        let alone: AnyLimiter = text.parse().unwrap();
        let mut expected = alone.initial();
        for i in 0..10 {
            let at = Time::from_micros(i);
            let _ = check(&with, &Sent { at, cost: 1.0, from: ["ann", "x"] });
            if i == 0 || attempts {
                let _ = alone.check(&mut expected, at, 1.0);
            }
        }
        // From where nothing came yet, and asked with cost 0, the user's limit is the tightest.
        let at = Time::from_micros(20);
        let elsewhere = Sent { at, cost: 0.0, from: ["ann", "y"] };
        let together: Judged = elsewhere.ask(|event| with.peek(event)).into();
        assert_eq!((together.outcome, together.by), (alone.peek(&expected, at, 0.0), 0), "{text}");
    }
}

/// A limit of 0 that only measures never decides while another has anything to say.
#[test]
fn what_decides_where_nothing_limits() {
    let measures = store(policy("exim 0/1m & gcra 100/1m"));
    let one = Sent { at: Time::ZERO, cost: 1.0, from: ["ann", "x"] };
    assert_eq!(
        (check(&measures, &one).to_string(), check(&measures, &one).by),
        ("allowed: level 1, limit 100".to_owned(), 1)
    );
}

/// Of two limits that are as tight as each other, the first decides.
#[test]
fn a_tie_is_decided_by_the_first() {
    let store = store(policy("2/1m per user & 2/1m per ip"));
    let one = Sent { at: Time::ZERO, cost: 1.0, from: ["ann", "x"] };
    let verdicts = [0; 3].map(|_| check(&store, &one));
    assert_eq!(verdicts.map(|together| together.is_allowed()), [true, true, false]);
    assert_eq!(verdicts.map(|together| together.by), [0; 3]);
}

//! Rules decide together as a policy of all their limits does.

use super::{check, passed, read, ruled};
use crate::judged::{Judged, policy_of};
use crate::rules::random::{self, Step, magnitude};
use proptest::prelude::*;
use ratescope::rules::{MemoryStore, Rules};
use ratescope::{Event, Policy, Retry, Span, Time};

const PER: [&str; 5] = ["user", "ip", "user+ip", "path", "all"];

/// An event: its place among the steps, and who sent it from where.
fn sent() -> impl Strategy<Value = Vec<(Step, usize, usize)>> {
    (random::steps(true), prop::collection::vec((0..2usize, 0..2usize), 60)).prop_map(
        |(steps, from)| {
            steps.into_iter().zip(from).map(|(step, (user, ip))| (step, user, ip)).collect()
        },
    )
}

proptest! {
    /// However limits are spread over rules, the event has to pass all, and counts in all or none.
    #[test]
    fn rules_decide_as_one_policy(
        cases in prop::collection::vec((random::admitting(&random::KINDS), 0..PER.len()), 1..6),
        rules in prop::collection::vec(0..4usize, 6),
        sent in sent(),
    ) {
        let places = ["", "user", "ip", "path"];
        let mut limits: Vec<(usize, String)> = cases
            .iter()
            .zip(&rules)
            .map(|((case, per), rule)| (*rule, format!("{} per {}", case.limiter, PER[*per])))
            .collect();
        limits.sort();
        limits.dedup();
        let list = |rule: usize| -> String {
            let own = limits.iter().filter(|(place, _)| *place == rule);
            own.map(|(_, limit)| format!("      - {limit}\n")).collect()
        };
        let mut text = String::from("domain: d\n");
        if !list(0).is_empty() {
            text += &format!("limit:\n{}", list(0));
        }
        if (1..4).any(|rule| !list(rule).is_empty()) {
            text += "descriptors:\n";
        }
        for (rule, key) in places.iter().enumerate().skip(1) {
            if !list(rule).is_empty() {
                text += &format!("  - key: {key}\n    limit:\n{}", list(rule));
            }
        }
        let ruled = ruled(&text);
        let policy: Vec<&str> = limits.iter().map(|(_, limit)| limit.as_str()).collect();
        let policy: Policy = policy.join(" & ").parse().unwrap();
        let store = MemoryStore::new(policy, 1000);
        let case = &cases[0].0;
        let mut now = 1_234_567;
        for (step, user, ip) in sent {
            now += (step.gap * case.period.as_secs_f64() * 1e6) as i64;
            let (time, cost) = (Time::from_micros(now), case.cost(step));
            let fields = [("user", ["ann", "bob"][user]), ("ip", ["a", "b"][ip]), ("path", "/")];
            let event = Event { time, cost, fields: &fields };
            prop_assert_eq!(ruled.peek(&event).wait(), store.peek(&event).wait());
            let (decision, together) = (ruled.check(&event), Judged::from(store.check(&event)));
            prop_assert_eq!(decision.wait(), together.outcome.wait, "{}", text);
            let by = decision.decided_by().unwrap();
            prop_assert_eq!(by.outcome.level.to_bits(), together.outcome.level.to_bits());
            prop_assert_eq!(by.outcome.limit, together.outcome.limit);
            prop_assert_eq!(&by.limit.to_string(), &policy_of(&store).limits()[together.by].to_string());
            prop_assert_eq!(by.key(&event), policy_of(&store).limits()[together.by].per.key(&event));
            prop_assert_eq!(ruled.retry_after(&event), store.retry_after(&event));
            prop_assert!(!decision.is_soft() && decision.shadow_refusals().next().is_none());
        }
    }

    /// A shadow never refuses, and says what it would refuse if it alone could as well.
    #[test]
    fn a_shadow_says_what_it_would_refuse(
        firm in random::admitting(&random::KINDS),
        shadow in random::admitting(&random::KINDS),
        sent in sent(),
    ) {
        let file = |mode: &str| ruled(&format!(
            "domain: d\ndescriptors:\n  - {{key: ip, limit: '{}'}}\n  - {{key: user, limit: '{}', shadow: {mode}}}",
            firm.limiter, shadow.limiter,
        ));
        let (shaded, both) = (file("true"), file("false"));
        let alone = ruled(&format!("domain: d\ndescriptors:\n  - {{key: ip, limit: '{}'}}", firm.limiter));
        let mut now = 1_234_567;
        for (step, user, ip) in sent {
            now += (step.gap * firm.period.as_secs_f64() * 1e6) as i64;
            let (time, cost) = (Time::from_micros(now), firm.cost(step));
            let fields = [("user", ["ann", "bob"][user]), ("ip", ["a", "b"][ip])];
            let event = Event { time, cost, fields: &fields };
            let (decision, alone) = (shaded.check(&event), alone.check(&event));
            prop_assert_eq!(decision.wait(), alone.wait());
            let would = !decision.is_allowed() || decision.shadow_refusals().next().is_some();
            // As long as the two agree about all events, so do their states.
            let both = both.check(&event);
            prop_assert_eq!(would, !both.is_allowed());
            if would && decision.is_allowed() {
                break;
            }
        }
    }

    /// After exactly that long the same event passes, and not a moment sooner than the rounding.
    #[test]
    fn a_refusal_says_when_to_come_back(
        cases in prop::collection::vec(random::admitting(random::ALLOWED_ONLY), 1..4),
        costs in prop::collection::vec(magnitude(-1.0, 1.0), 3),
        steps in random::steps(false),
    ) {
        let keys = ["user", "ip", "path"];
        let mut text = String::from("domain: d\ndescriptors:\n");
        for ((case, cost), key) in cases.iter().zip(&costs).zip(keys) {
            text += &format!("  - {{key: {key}, limit: '{}', cost: {cost}}}\n", case.limiter);
        }
        // A cost that is never admitted is refused at load.
        let Ok(rules) = Rules::read("rules.yaml", &text) else { return Ok(()) };
        let ruled = MemoryStore::new(rules, 1000);
        let fields = [("user", "ann"), ("ip", "a"), ("path", "/")];
        for (time, cost) in cases[0].events(&steps) {
            let event = Event { time, cost, fields: &fields };
            if ruled.check(&event).is_allowed() {
                continue;
            }
            let Retry::After(wait) = ruled.retry_after(&event) else { continue };
            prop_assert!(wait > Span::ZERO);
            let later = Event { time: time.after(wait), ..event };
            prop_assert!(ruled.peek(&later).is_allowed(), "{text}");
        }
    }
}

#[test]
fn nothing_applies() {
    let ruled = ruled("domain: d\ndescriptors:\n  - {key: user, limit: 1/1s}");
    for _ in 0..3 {
        let decision = check(&ruled, 0.0, &[("ip", "a")]);
        assert_eq!(decision.wait(), Some(Span::ZERO));
        assert!(decision.decided_by().is_none() && decision.outcomes().next().is_none());
        assert_eq!(decision.to_string(), "allowed: no limit applies");
    }
    let event = Event { time: Time::ZERO, cost: f64::NAN, fields: &() };
    assert_eq!(ruled.retry_after(&event), Retry::NOW);
    assert!(ruled.is_empty());
}

#[test]
fn a_look_counts_nothing_and_a_charge_whatever_it_costs() {
    let ruled = ruled(
        "
domain: d
descriptors:
  - {key: user, limit: gcra 10/1m}
  - {key: path, limit: gcra 2/1m, cost: 1}
",
    );
    let fields = [("user", "ann"), ("path", "/")];
    let event = |cost| Event { time: Time::ZERO, cost, fields: &fields };
    for _ in 0..20 {
        assert!(ruled.peek(&event(5.0)).is_allowed());
    }
    assert!(ruled.check(&event(5.0)).is_allowed());
    // The response was larger than announced: the user is charged for it, and the path, with its own cost, is not.
    ruled.settle(&event(6.0), Time::ZERO, None).unwrap();
    assert_eq!(ruled.peek(&event(1.0)).to_string(), "refused by d:user: level 12, limit 10");
    let path = [("path", "/")];
    let event = Event { time: Time::ZERO, cost: 100.0, fields: &path };
    assert_eq!(ruled.check(&event).to_string(), "allowed by d:path: level 2, limit 2");
}

#[test]
fn bad_numbers_never_pass() {
    let ruled = ruled("domain: d\ndescriptors:\n  - {key: user, limit: exim 10/1m}");
    let fields = [("user", "ann")];
    for cost in [f64::NAN, -1.0, f64::INFINITY, 1e13] {
        let event = Event { time: Time::ZERO, cost, fields: &fields };
        assert!(!ruled.check(&event).is_allowed(), "{cost}");
    }
    assert!(ruled.check(&Event { time: Time::ZERO, cost: 1.0, fields: &fields }).is_allowed());
}

/// The decision has all that log lines and headers need.
#[test]
fn a_decision_says_who_decided_and_what_each_said() {
    let ruled = ruled(
        "
domain: web
limit: gcra 100/1m
descriptors:
  - key: user
    limit: [3/1m, gcra 50/1h]
    name: users
  - {key: ip, limit: 2/1m, shadow: true}
",
    );
    let fields = [("user", "ann"), ("ip", "a")];
    assert_eq!(passed(&ruled, 10, 0.0, &fields), 3);
    let decision = check(&ruled, 0.0, &fields);
    let by = decision.decided_by().unwrap();
    assert_eq!((by.rule.name(), by.rule.label()), ("web:user", Some("users")));
    assert_eq!(by.limit.to_string(), "fixed-window 3/1m per user");
    assert_eq!(by.outcome.to_string(), "refused: level 4, limit 3");
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
    assert_eq!(by.key(&event), "user=ann");
    let outcomes: Vec<String> = decision
        .outcomes()
        .map(|o| format!("{}: {}: {}", o.rule.name(), o.limit.limiter, o.outcome))
        .collect();
    assert_eq!(
        outcomes,
        [
            "web: gcra 100/1m burst 100: allowed: level 4, limit 100",
            "web:user: fixed-window 3/1m: refused: level 4, limit 3",
            "web:user: gcra 50/1h burst 50: allowed: level 4, limit 50",
            "web:ip: fixed-window 2/1m: refused: level 3, limit 2",
        ]
    );
    // The event was refused by another, so that the shadow alone changes nothing.
    assert_eq!(decision.shadow_refusals().count(), 0);
    assert_eq!(read("domain: d\nlimit: 1/1s").rules()[0].path(), []);
}

/// The quotas of a sender, which headers tell the client.
#[test]
fn how_a_sender_stands() {
    let ruled = ruled(
        "
domain: web
limit: gcra 100/1m
descriptors:
  - key: user
    limit: [5/1m, gcra 4/1h]
    throttle: soft 50%
  - {key: ip, limit: 1/1m, shadow: true}
",
    );
    let fields = [("user", "ann"), ("ip", "a")];
    assert_eq!(passed(&ruled, 2, 30.0, &fields), 2);
    let event = Event { time: Time::try_from_secs_f64(30.0).unwrap(), cost: 1.0, fields: &fields };
    let decision = ruled.peek(&event);
    let quotas = decision.outcomes().filter_map(|one| Some((one, one.quota()?)));
    let stands: Vec<String> = quotas
        .map(|(one, quota)| {
            let (remaining, reset) = (quota.remaining, quota.reset);
            format!("{}: {remaining} left of {}, {reset}", one.rule.name(), one.limit)
        })
        .collect();
    assert_eq!(
        stands,
        [
            "web: 98 left of gcra 100/1m burst 100 per all, 1.2s",
            "web:user: 5.5 left of fixed-window 7.5/1m per user, 30s",
            "web:user: 4 left of gcra 6/1h burst 6 per user, 20m",
        ]
    );
    assert_eq!(decision.quota().unwrap().remaining, 4.0);
    assert!(ruled.peek(&Event { fields: &(), ..event }).quota().is_some());
}

/// The longest wait of any queue is that of the event, and a shadow's is not.
#[test]
fn an_event_waits_for_the_slowest_queue() {
    let ruled = ruled(
        "
domain: d
descriptors:
  - {key: a, limit: leaky-bucket 10/1s queue 5}
  - {key: b, limit: leaky-bucket 2/1s queue 5}
  - {key: c, limit: leaky-bucket 1/1m queue 5, shadow: true}
",
    );
    let fields = [("a", "x"), ("b", "x"), ("c", "x")];
    let waits = [(); 3].map(|()| check(&ruled, 0.0, &fields).wait());
    assert_eq!(waits, [0, 500, 1000].map(|ms| Some(Span::from_millis(ms))));
}

#[test]
fn the_keys_of_all_limits_are_counted() {
    let rules = read("domain: d\nlimit: [1/1m per user, 9/1m per ip]\n");
    let ruled = MemoryStore::new(rules, 1);
    assert!(ruled.is_empty());
    assert_eq!((ruled.capacity(), ruled.len(), ruled.evicted()), (1, 0, 0));
    let users: Vec<String> = (0..9).map(|i| i.to_string()).collect();
    for (n, user) in (1..).zip(&users) {
        assert!(check(&ruled, 0.0, &[("user", user), ("ip", "a")]).is_allowed());
        // A table has places for 8 keys at least.
        assert_eq!(
            (ruled.is_empty(), ruled.len(), ruled.evicted()),
            (false, 8.min(n) + 1, n as u64 / 9)
        );
    }
}

/// Two limits for the same fields of a rule are of one key, and so is a relaxed limit.
#[test]
fn a_reset_counts_keys() {
    let ruled = ruled(
        "domain: d\nlimit: [gcra 1/1m per user, exim 1.5/1m strict per user, gcra 3/1m per ip]\n\
         throttle: soft 50%\n",
    );
    let fields = [("user", "ann"), ("ip", "x")];
    assert!(check(&ruled, 0.0, &fields).is_allowed());
    let reset = |name: &str| ruled.reset(&fields, |_, per| per.fields() == [name]);
    assert_eq!([reset("user"), reset("ip"), reset("path")], [1, 1, 0]);
}

/// An event that a shadow would have refused would have cost nothing, so it is not charged to the shadow.
#[test]
fn a_shadow_is_charged_for_what_it_lets_pass() {
    let ruled = ruled(
        "
domain: d
descriptors:
  - {key: user, limit: gcra 100/1h}
  - {key: ip, limit: gcra 3/1h, shadow: true}
",
    );
    let fields = [("user", "ann"), ("ip", "192.0.2.7")];
    let event = |cost| Event { time: Time::ZERO, cost, fields: &fields };
    let levels = || {
        let asked = ruled.peek(&event(0.0));
        asked.outcomes().map(|one| one.outcome.level).collect::<Vec<_>>()
    };
    let decision = ruled.check(&event(1.0));
    ruled.settle(&event(1.0), Time::ZERO, Some(&decision)).unwrap();
    assert_eq!(levels(), [2.0, 2.0]);
    let decision = ruled.check(&event(2.0));
    assert_eq!(decision.shadow_refusals().count(), 1);
    assert_eq!(levels(), [4.0, 2.0]);
    ruled.settle(&event(1.0), Time::ZERO, Some(&decision)).unwrap();
    assert_eq!(levels(), [5.0, 2.0]);
    ruled.settle(&event(1.0), Time::ZERO, None).unwrap();
    assert_eq!(levels(), [6.0, 3.0]);
}

/// An event is settled by its decision in the limits that counted it, and in no others.
mod settling {
    use super::super::ruled;
    use ratescope::limit::any::AnyLimiter;
    use ratescope::rules::{Details, Load, MemoryStore, Numbers, Part, Reloaded, Store};
    use ratescope::{Event, Time};

    fn event(cost: f64) -> Event<'static> {
        Event { time: Time::ZERO, cost, fields: &[("user", "ann")] }
    }

    fn load(store: &MemoryStore, percent: f64) {
        store.set_load(Some(Load::from_percent(percent).unwrap()));
    }

    /// Ten pass within the limit as written, and ten softly, which only the relaxed form has counted.
    #[test]
    fn a_soft_pass_gives_back_to_the_relaxed_limit_alone() {
        let store =
            ruled("domain: d\nlimit: gcra 10/1m\nthrottle: elastic up to 2x while load < 50%");
        load(&store, 10.0);
        assert!((0..10).all(|_| store.check(&event(1.0)).is_allowed()));
        let soft = store.check(&event(10.0));
        assert!(soft.is_soft() && !store.check(&event(1.0)).is_allowed());
        store.settle(&event(-10.0), Time::ZERO, Some(&soft)).unwrap();
        assert!(store.check(&event(10.0)).is_soft(), "the relaxed limit has room again");
        load(&store, 90.0);
        assert!(!store.check(&event(1.0)).is_allowed(), "the limit as written has none");
    }

    /// The event of before the reload was counted in the first limit only.
    #[test]
    fn a_limit_that_a_reload_adds_gets_nothing_back() {
        let text = "domain: d\ndescriptors:\n- {key: user, limit: gcra 10/1m}\n";
        let store = ruled(text);
        let passed = store.check(&event(5.0));
        let more = format!("{text}limit: gcra 8/1m\n");
        let reloaded = store.reload("rules.yaml", &more, Time::ZERO);
        assert!(matches!(reloaded, Reloaded::Applied(_)), "{reloaded:?}");
        let other = Event { fields: &[("user", "eve")], ..event(8.0) };
        assert!(store.check(&other).is_allowed());
        store.settle(&event(-5.0), Time::ZERO, Some(&passed)).unwrap();
        let left: Vec<f64> =
            store.peek(&event(0.0)).outcomes().map(|one| one.quota().unwrap().remaining).collect();
        assert_eq!(left, [0.0, 10.0]);
    }

    /// A customer falls from a fast bucket to a slow one, whose rate would have drained next to nothing of what the fast one
    /// has drained by now.
    #[test]
    fn numbers_that_become_slower_give_back_no_more_than_still_counts() {
        let store = ruled("domain: d\nlimit: token-bucket 100/1h per user");
        let fast: AnyLimiter = "token-bucket 100/1s".parse().unwrap();
        let fast = Numbers::new(&store.rules(), |_| Some(fast.clone())).unwrap();
        let at = |seconds, cost| Event {
            time: Time::try_from_secs_f64(seconds).unwrap(),
            ..event(cost)
        };
        let first = at(0.0, 100.0);
        let part = Part { numbers: Some(&fast), ..Part::count(&first) };
        let passed = store.decide_one(&part, Details::default());
        assert!(passed.is_allowed() && store.check(&at(1.0, 100.0)).is_allowed());
        let back = Event { cost: -100.0, ..first };
        let now = Time::try_from_secs_f64(1.0).unwrap();
        let part = Part { numbers: Some(&fast), ..Part::settle(&back, now, Some(&passed)) };
        let _ = store.decide_one(&part, Details::default());
        assert!(!store.check(&at(1.0, 1.0)).is_allowed());
    }

    /// Without the decision, nothing says whether a shadow has counted the event, or a limit that it may have exceeded.
    #[test]
    fn what_may_not_have_been_counted_is_not_given_back() {
        let store = ruled(
            "
domain: d
descriptors:
- {key: user, limit: gcra 10/1m}
- {key: ip, limit: gcra 3/1m, shadow: true}
",
        );
        let fields = [("user", "ann"), ("ip", "192.0.2.7")];
        let event = |cost| Event { time: Time::ZERO, cost, fields: &fields };
        assert_eq!(store.check(&event(2.0)).shadow_refusals().count(), 0);
        assert_eq!(store.check(&event(2.0)).shadow_refusals().count(), 1);
        store.settle(&event(-2.0), Time::ZERO, None).unwrap();
        let looked = store.peek(&event(0.0));
        let levels: Vec<f64> = looked.outcomes().map(|one| one.outcome.level).collect();
        assert_eq!(levels, [2.0, 2.0]);

        let store = ruled("domain: d\nlimit: gcra 2/1m\nthrottle: soft 100%");
        assert!(!store.check(&event(2.0)).is_soft());
        assert!(store.check(&event(2.0)).is_soft() && !store.check(&event(1.0)).is_allowed());
        store.settle(&event(-2.0), Time::ZERO, None).unwrap();
        assert!(store.check(&event(1.0)).is_soft(), "only the relaxed limit has room again");
    }

    /// Nor is one part's cost made up for by another's.
    #[test]
    fn a_cost_below_zero_makes_no_room_for_another_part() {
        let store = ruled("domain: d\nlimit: gcra 2/1m per user");
        let (five, less) = (event(5.0), event(-4.0));
        for parts in
            [[Part::count(&five), Part::count(&less)], [Part::count(&less), Part::count(&five)]]
        {
            let decisions = store.decide_now(&parts, Details::default()).unwrap();
            assert!(decisions.iter().all(|decision| !decision.is_allowed()));
        }
        assert_eq!(store.peek(&event(0.0)).quota().unwrap().remaining, 2.0);
    }
}

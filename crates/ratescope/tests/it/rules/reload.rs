//! New rules in place of old ones: the states that are kept or start over, and the rules that are refused.

use super::{passed, ruled};
use crate::rules::random;
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Changes, MemoryStore, Reloaded, Rules};
use ratescope::{Event, Limiter, Policy, Rate, Span, Time};

const OLD: &str = "
domain: web
limit: gcra 100/1h
descriptors:
  - key: user
    limit: [gcra 10/1h, exim 50/1h strict]
  - key: ip
    limit: 5/1h
";

fn reload(ruled: &MemoryStore, text: &str) -> Reloaded {
    ruled.reload("rules.yaml", text, Time::ZERO)
}

#[track_caller]
fn applied(ruled: &MemoryStore, text: &str) -> Changes {
    match reload(ruled, text) {
        Reloaded::Applied(changes) => changes,
        other => panic!("{other}"),
    }
}

/// Comments, lines and spelling are no changes.
#[test]
fn what_means_the_same_changes_nothing() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "ann")]), 10);
    let before = ruled.rules();
    assert_eq!(reload(&ruled, OLD), Reloaded::Unchanged);
    let spelt = OLD.replace("gcra 10/1h,", "gcra 10/1h burst 10 per user, # the same\n       ");
    assert_eq!(reload(&ruled, &spelt), Reloaded::Unchanged);
    assert!(std::sync::Arc::ptr_eq(&before, &ruled.rules()));
    assert_eq!(passed(&ruled, 1, 0.0, &[("user", "ann")]), 0);
    assert_eq!(Reloaded::Unchanged.name(), "unchanged");
}

/// A bad file is refused whole, and loudly.
#[test]
fn what_is_wrong_changes_nothing() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "ann")]), 10);
    let wrong = OLD.replace("5/1h", "5/1y").replace("gcra 10/1h", "gcra 1000/1h");
    let reloaded = reload(&ruled, &wrong);
    assert_eq!(reloaded.name(), "rejected");
    assert_eq!(
        reloaded.to_string(),
        "rejected, and the old rules stay:\n\
         rules.yaml:8:15: \"y\": not a unit; the units are w, d, h, m, s, ms and us"
    );
    for wrong in ["", "domain: web\n", &OLD[..OLD.len() / 2]] {
        assert_eq!(reload(&ruled, wrong).name(), "rejected", "{wrong}");
    }
    assert_eq!(passed(&ruled, 1, 0.0, &[("user", "ann")]), 0);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "bob")]), 10);
    assert_eq!(ruled.rules().rules().len(), 3);
}

/// Limits go on wherever they stand, and whatever else becomes of their rule.
#[test]
fn limits_that_stay_keep_their_states() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "ann"), ("ip", "a")]), 5);
    let changes = applied(
        &ruled,
        "
domain: web
descriptors:
  - key: ip
    limit: 5/1h
    name: addresses
    on_store_failure: refuse
  - key: path
    limit: 3/1h
  - key: user
    limit: [exim 50/1h strict, 2/1m, gcra 10/1h]
    cost: 2
limit: gcra 100/1h
",
    );
    assert_eq!(changes.kept.len(), 4);
    assert_eq!(
        changes.new,
        ["web:path: fixed-window 3/1h per path", "web:user: fixed-window 2/1m per user"]
    );
    assert_eq!(changes.removed, Vec::<String>::new());
    assert_eq!(passed(&ruled, 1, 0.0, &[("ip", "a")]), 0);
    // Five of ten are left, and each event costs two now. Later, one passes each minute.
    assert_eq!(passed(&ruled, 5, 0.0, &[("user", "ann")]), 1);
    assert_eq!(passed(&ruled, 5, 61.0, &[("user", "ann")]), 1);
    assert_eq!(passed(&ruled, 5, 121.0, &[("user", "ann")]), 0);
}

#[test]
fn what_means_something_else_starts_anew_and_says_so() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("ip", "a")]), 5);
    // Another key, another period, and gone.
    let changes = applied(
        &ruled,
        "
domain: web
descriptors:
  - key: user
    limit: gcra 10/1h per user+ip
  - key: ip
    limit: 5/1d
",
    );
    assert_eq!((&changes.kept, &changes.changed), (&Vec::new(), &Vec::new()));
    assert_eq!(
        changes.new,
        ["web:user: gcra 10/1h burst 10 per user+ip", "web:ip: fixed-window 5/1d per ip"]
    );
    assert_eq!(
        changes.removed,
        [
            "web: gcra 100/1h burst 100 per all",
            "web:user: gcra 10/1h burst 10 per user",
            "web:user: exim 50/1h strict per user",
            "web:ip: fixed-window 5/1h per ip",
        ]
    );
    assert_eq!(passed(&ruled, 20, 0.0, &[("ip", "a")]), 5);
    assert_eq!(
        Reloaded::Applied(changes).to_string(),
        "applied: 0 go on, 2 start over (web:user: gcra 10/1h burst 10 per user+ip; \
         web:ip: fixed-window 5/1d per ip), 4 are gone (web: gcra 100/1h burst 100 per all; \
         web:user: gcra 10/1h burst 10 per user; web:user: exim 50/1h strict per user; \
         web:ip: fixed-window 5/1h per ip)"
    );
}

/// A limit goes up or down: who was over it and still is stays refused, and nobody starts over.
#[test]
fn a_limit_with_other_numbers_keeps_what_was_counted() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "ann"), ("ip", "a")]), 5);
    let more = OLD.replace("limit: 5/1h", "limit: 8/1h").replace("gcra 10/1h,", "gcra 6/1h,");
    let reloaded = reload(&ruled, &more);
    assert_eq!(
        reloaded.to_string(),
        "applied: 2 go on, 2 go on with other numbers (web:user: gcra 6/1h burst 6 per user; \
         web:ip: fixed-window 8/1h per ip)"
    );
    assert_eq!(passed(&ruled, 20, 0.0, &[("ip", "a")]), 3);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "ann")]), 1);
    assert_eq!(passed(&ruled, 20, 0.0, &[("user", "bob")]), 6);
    // Of two limits of one shape, the one that stays as it was keeps its own.
    let two = more.replace("limit: 8/1h", "limit: [2/1h, 8/1h]");
    let changes = applied(&ruled, &two);
    assert_eq!((changes.kept.len(), changes.new.len()), (4, 1));
    let one = more.replace("limit: 8/1h", "limit: 9/1h");
    let changes = applied(&ruled, &one);
    assert_eq!((changes.kept.len(), changes.changed.len(), changes.removed.len()), (3, 1, 1));
    assert_eq!(passed(&ruled, 2, 0.0, &[("ip", "b")]), 2);
}

proptest! {
    /// After a change of the count of any limiter, each key stands as its kept state says.
    #[test]
    fn states_follow_the_rule_of_kept_states(
        case in random::admitting(random::COUNTING),
        factor in prop_oneof![Just(0.5), Just(2.0), random::magnitude(-1.0, 1.0)],
        steps in random::steps(false),
        later in 0.0..2.0f64,
    ) {
        let scaled = |text: &str| {
            let (name, rest) = text.split_once(' ').unwrap();
            let (rate, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let rate: Rate = rate.parse().unwrap();
            format!("{name} {}/{} {rest}", (rate.count() * factor).max(1.0), rate.per())
        };
        let old = &case.limiter;
        let Ok(new) = scaled(&old.to_string()).parse::<AnyLimiter>() else { return Ok(()) };
        let file = |limiter: &AnyLimiter| format!("domain: d\ndescriptors:\n  - {{key: user, limit: {limiter}}}");
        let ruled = ruled(&file(old));
        let fields = [("user", "ann")];
        let (mut state, mut now) = (old.initial(), Time::ZERO);
        for (time, cost) in case.events(&steps) {
            now = time;
            let decision = ruled.check(&Event { time, cost, fields: &fields });
            prop_assert_eq!(decision.is_allowed(), old.check(&mut state, time, cost).is_allowed());
        }
        let change = ruled.reload("f", &file(&new), now);
        prop_assert!(matches!(change, Reloaded::Applied(_) | Reloaded::Unchanged));
        old.forget(&mut state, now);
        let mut state = new.restore(&old.keep(&state, now)).unwrap();
        let time = now.after(Span::try_from_secs_f64(later * case.period.as_secs_f64()).unwrap());
        for _ in 0..5 {
            let decision = ruled.check(&Event { time, cost: 1.0, fields: &fields });
            let outcome = new.check(&mut state, time, 1.0);
            prop_assert_eq!(decision.decided_by().unwrap().outcome, outcome);
        }
    }
}

/// A rule that becomes soft, or a shadow, goes on with its counts.
#[test]
fn throttles_and_shadows_come_and_go() {
    let ruled = ruled(OLD);
    assert_eq!(passed(&ruled, 20, 0.0, &[("ip", "a")]), 5);
    let shadow = OLD.replace("limit: 5/1h", "limit: 5/1h\n    shadow: true");
    assert_eq!(applied(&ruled, &shadow).new, Vec::<String>::new());
    assert_eq!(passed(&ruled, 3, 0.0, &[("ip", "a")]), 3);
    assert_eq!(applied(&ruled, OLD).kept.len(), 4);
    assert_eq!(passed(&ruled, 3, 0.0, &[("ip", "a")]), 0);
    let soft = OLD.replace("limit: 5/1h", "limit: 5/1h\n    throttle: soft 20%");
    assert_eq!(applied(&ruled, &soft).kept.len(), 4);
    // Of the six that pass softly in all, five are used up, by the event and not by the change.
    assert_eq!(passed(&ruled, 3, 0.0, &[("ip", "a")]), 1);
    let softer = soft.replace("20%", "60%");
    assert_eq!(applied(&ruled, &softer).kept.len(), 4);
    assert_eq!(passed(&ruled, 3, 0.0, &[("ip", "a")]), 2);
    assert_eq!(applied(&ruled, &format!("{soft}    cost: 1\n")).kept.len(), 4);
    assert_eq!(applied(&ruled, OLD).kept.len(), 4);
    assert_eq!(passed(&ruled, 3, 0.0, &[("ip", "a")]), 0);
}

/// The answer of `check` on a thread of its own. Fails if `check` never returns.
fn check_in_time(ruled: MemoryStore, fields: &'static [(&'static str, &'static str)]) -> bool {
    let (told, hears) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(passed(&ruled, 1, 0.0, fields) == 1));
    hears.recv_timeout(std::time::Duration::from_secs(60)).expect("a check that never returns")
}

/// Two limits of a rule may be equal, and each counts in a store of its own.
#[test]
fn equal_limits_do_not_share_a_store() {
    let policy = |text: &str| Rules::from(text.parse::<Policy>().unwrap());
    let twice = "gcra 5/1m per ip & gcra 5/1m per ip";
    let ruled = MemoryStore::new(policy(twice), 1000);
    assert_eq!(passed(&ruled, 9, 0.0, &[("ip", "a")]), 5);
    let more = policy(&format!("{twice} & gcra 9/1m per ip"));
    let Reloaded::Applied(changes) = ruled.replace(more, Time::ZERO) else { panic!() };
    assert_eq!((changes.kept.len(), changes.new.len(), changes.removed.len()), (2, 1, 0));
    assert!(check_in_time(ruled, &[("ip", "b")]));
}

/// Two limits may become equal when they are relaxed.
#[test]
fn limits_that_are_equal_when_relaxed_do_not_share_a_store() {
    let file = |more: &str| {
        format!(
            "{{domain: d, descriptors: [{{key: ip, throttle: soft 10%,
             limit: [exim 1.87/1m strict, exim 1.8700000000000003/1m strict{more}]}}]}}"
        )
    };
    let ruled = ruled(&file(""));
    let [a, b] = &ruled.rules().rules()[0].relaxed().to_vec()[..] else { panic!() };
    assert_eq!(a, b);
    applied(&ruled, &file(", 9/1m"));
    assert!(check_in_time(ruled, &[("ip", "a")]));
}

/// A key that is seen first after a limit became another of its shape is new to that, too: an event that can
/// never pass leaves nothing of it.
#[test]
fn a_limit_of_the_same_shape_remembers_no_more_than_before() {
    let text = "domain: d\ndescriptors:\n  - key: user\n    limit: gcra 10/1h\n";
    let ruled = ruled(text);
    assert_eq!(passed(&ruled, 3, 0.0, &[("user", "ann")]), 3);
    applied(&ruled, &text.replace("gcra", "token-bucket"));
    let event = Event { time: Time::ZERO, cost: 11.0, fields: &[("user", "bob")] };
    assert!(!ruled.check(&event).is_allowed());
    assert_eq!(ruled.len(), 1);
}

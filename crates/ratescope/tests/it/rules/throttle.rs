//! Soft and elastic rules, by the decisions of each of their two limiters alone.

use super::{check, ruled};
use crate::rules::random;
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Load, Throttle};
use ratescope::{BadNumber, Event, Limiter, Rate, Time};
use std::error::Error;

/// The limiter with every number that says how much, times 1.5. That is exact.
fn relaxed(limiter: &AnyLimiter) -> AnyLimiter {
    let mut words = limiter.to_string();
    let times = |text: &str| (text.parse::<f64>().unwrap() * 150.0 / 100.0).to_string();
    let rate: Rate = words.split(' ').nth(1).unwrap().parse().unwrap();
    words = words.replacen(
        &rate.to_string(),
        &format!("{}/{}", times(&rate.count().to_string()), rate.per()),
        1,
    );
    for name in [" burst ", " queue "] {
        if let Some((before, number)) = words.clone().split_once(name) {
            words = format!("{before}{name}{}", times(number));
        }
    }
    words.parse().unwrap()
}

#[test]
fn what_cannot_be_relaxed_says_why() {
    let limiter = |text: &str| text.parse::<AnyLimiter>().unwrap();
    let error = limiter("gcra 10/1s").relaxed(1e300).unwrap_err();
    let cause = error.source().unwrap();
    assert!(cause.is::<BadNumber>() && error.to_string().ends_with(&cause.to_string()), "{error}");
    let error = limiter("nginx 30/1m").relaxed(150.0).unwrap_err();
    assert!(error.source().is_none(), "{error}");
}

/// Whether it can be relaxed.
fn is_fixed(case: &random::Case) -> bool {
    let text = case.limiter.to_string();
    !text.starts_with("adaptive") && !random::is_server(&text) && case.count < 60_000.0
}

fn load(percent: f64) -> Option<Load> {
    Some(Load::from_percent(percent).unwrap())
}

proptest! {
    /// A soft rule decides as its relaxed limiter alone, and says softly of what its own limiter
    /// would have refused, which counts the events that pass within it.
    #[test]
    fn a_soft_rule(
        case in random::admitting(&random::KINDS).prop_filter("fixed", is_fixed),
        steps in random::steps(true),
    ) {
        let text = format!("domain: d\nlimit: {}\nthrottle: soft 50%", case.limiter);
        let ruled = ruled(&text);
        let more = relaxed(&case.limiter);
        let rules = ruled.rules();
        prop_assert_eq!(&rules.rules()[0].relaxed()[0].limiter, &more);
        let (mut own, mut soft) = (case.limiter.initial(), more.initial());
        for (time, cost) in case.events(&steps) {
            let decision = ruled.check(&Event { time, cost, fields: &() });
            let would = case.limiter.peek(&own, time, cost);
            let soft = more.check(&mut soft, time, cost);
            let counts = soft.is_allowed() && would.is_allowed();
            case.limiter.record(&mut own, time, cost, counts);
            prop_assert_eq!(decision.decided_by().unwrap().outcome, soft);
            prop_assert_eq!(decision.is_soft(), soft.is_allowed() && !would.is_allowed());
        }
    }

    /// With events of one cost, a soft rule lets at least as many pass as a hard one.
    #[test]
    fn a_soft_rule_lets_more_pass(
        case in random::admitting(random::COUNTING).prop_filter("fixed", is_fixed),
        steps in random::steps(false),
        cost in random::magnitude(-1.0, 0.0),
    ) {
        let ruled = ruled(&format!("domain: d\nlimit: {}\nthrottle: soft 50%", case.limiter));
        let mut hard = case.limiter.initial();
        let mut passed = [0, 0];
        for (time, _) in case.events(&steps) {
            let cost = (cost * case.count).max(0.01);
            let decision = ruled.check(&Event { time, cost, fields: &() });
            passed[0] += u32::from(decision.is_allowed());
            passed[1] += u32::from(case.limiter.check(&mut hard, time, cost).is_allowed());
            prop_assert!(passed[0] >= passed[1], "{passed:?}");
        }
    }

    /// An elastic rule decides as the one or as the other.
    #[test]
    fn an_elastic_rule(
        case in random::admitting(&random::KINDS).prop_filter("fixed", is_fixed),
        steps in random::steps(false),
        busy in prop::collection::vec(any::<bool>(), 60),
    ) {
        let throttle = "elastic up to 1.5x while load < 70%";
        let ruled = ruled(&format!("domain: d\nlimit: {}\nthrottle: {throttle}", case.limiter));
        let more = relaxed(&case.limiter);
        let (mut own, mut wide) = (case.limiter.initial(), more.initial());
        for ((time, cost), busy) in case.events(&steps).into_iter().zip(busy) {
            ruled.set_load(load(if busy { 70.0 } else { 69.0 }));
            let decision = ruled.check(&Event { time, cost, fields: &() });
            let (within, would) = (case.limiter.peek(&own, time, cost), more.peek(&wide, time, cost));
            let decides = if busy { within } else { would };
            let passes = decides.is_allowed();
            case.limiter.record(&mut own, time, cost, passes && within.is_allowed());
            more.record(&mut wide, time, cost, passes);
            prop_assert_eq!(decision.decided_by().unwrap().outcome, decides);
            prop_assert_eq!(decision.is_soft(), !busy && passes && !within.is_allowed());
        }
    }
}

/// The source document's own numbers.
#[test]
fn a_hundred_a_second_and_ten_percent() {
    let ruled = ruled("domain: d\nlimit: 100/1s\nthrottle: soft 10%");
    let decisions: Vec<_> = (0..120).map(|_| check(&ruled, 0.0, &[])).collect();
    assert_eq!(decisions.iter().filter(|r| r.is_allowed()).count(), 110);
    assert_eq!(decisions.iter().filter(|r| r.is_soft()).count(), 10);
    assert_eq!(decisions[100].to_string(), "allowed softly by d: level 101, limit 110");
    assert_eq!(decisions[110].to_string(), "refused by d: level 111, limit 110");
}

/// Events that pass while the rule is relaxed leave no debt, unless they are charged afterwards.
#[test]
fn a_charge_is_owed_in_both_forms() {
    for (charged, wait) in [(false, 6.0), (true, 66.0)] {
        let text = "domain: d\nlimit: gcra 10/1m\nthrottle: elastic up to 2x while load < 50%";
        let ruled = ruled(text);
        ruled.set_load(load(10.0));
        let event = |cost| Event { time: Time::ZERO, cost, fields: &() };
        for _ in 0..20 {
            assert!(ruled.check(&event(if charged { 0.0 } else { 1.0 })).is_allowed());
            if charged {
                ruled.settle(&event(1.0), event(1.0).time, None).unwrap();
            }
        }
        ruled.set_load(load(90.0));
        assert_eq!(ruled.retry_after(&event(1.0)).wait().unwrap().as_secs_f64(), wait);
    }
}

#[test]
fn a_load_is_told_and_forgotten() {
    let ruled = ruled("domain: d\nlimit: 1/1s\nthrottle: elastic up to 2x while load < 70%");
    let passes = |load| {
        ruled.set_load(load);
        check(&ruled, 0.0, &[]).is_allowed()
    };
    assert_eq!(ruled.load(), None);
    assert!(passes(None) && !passes(None) && passes(load(0.0)) && !passes(load(0.0)));
    assert_eq!(ruled.load(), load(0.0));
    assert!(Load::from_percent(f64::NAN).is_err() && Load::from_percent(-1.0).is_err());
    assert_eq!(load(42.5).unwrap().to_string(), "42.5%");
    assert_eq!(load(-0.0).unwrap().to_string(), "0%");
    assert_eq!("42.5%".parse::<Load>().ok(), load(42.5));
    assert_eq!("42".parse::<Load>().unwrap_err().problem(), "not a load; write it as in 42%");
}

#[test]
fn throttles_come_back_as_what_they_were() {
    for text in ["hard", "soft 10%", "soft 0.5%", "elastic up to 2x while load < 70%"] {
        assert_eq!(text.parse::<Throttle>().unwrap().to_string(), text);
    }
    for (factor, is_read) in [("1x", false), ("1.01x", true), ("1000x", true), ("1001x", false)] {
        let text = format!("elastic up to {factor} while load < 70%");
        assert_eq!(text.parse::<Throttle>().is_ok(), is_read, "{text}");
    }
    let error = "elastic up to 2y while load < 70%".parse::<Throttle>().unwrap_err();
    assert_eq!(error.at(), 14..16);
}

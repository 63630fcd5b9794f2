//! A limiter of a user's own, in rules beside those of the crate.

use ratescope::limit::any::AnyLimiter;
use ratescope::limit::custom::Custom;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::kept::Kept;
use ratescope::policy::Limit;
use ratescope::rules::{NewRule, Numbers, Reloaded, Rules, Throttle};
use ratescope::store::Keyed;
use ratescope::{Event, Limiter, MemoryStore, Outcome, Policy, Retry, Span, Time};

/// One event, and then none for some seconds. It counts refused events if it is strict.
#[derive(Debug, PartialEq)]
struct Pause {
    seconds: u64,
    is_strict: bool,
}

impl Limiter for Pause {
    type State = Option<Time>;

    fn initial(&self) -> Option<Time> {
        None
    }

    fn peek(&self, last: &Option<Time>, now: Time, cost: f64) -> Outcome {
        let since = last.map_or(f64::INFINITY, |last| now.since(last));
        Outcome::new(since >= self.seconds as f64, cost, 1.0)
    }

    fn record(&self, last: &mut Option<Time>, now: Time, _: f64, allowed: bool) {
        if allowed || self.is_strict {
            *last = Some(now);
        }
    }

    fn undo(&self, last: &mut Option<Time>, at: Time, _: Time, _: f64) -> bool {
        *last = last.filter(|last| *last != at);
        true
    }
}

fn pause(seconds: u64) -> Custom {
    Custom::new(Pause { seconds, is_strict: false })
}

fn at(second: u64) -> Time {
    Time::ZERO.after(Span::from_secs(second))
}

fn ann(second: u64) -> Event<'static> {
    Event { time: at(second), cost: 1.0, fields: &[("user", "ann")] }
}

/// Two limits for each user.
fn both(pause: Custom) -> Rules {
    let rule = NewRule::new().each("user").limit(pause).limit(Gcra::per_hour(3));
    Rules::new("web", [rule]).unwrap()
}

fn passed(store: &MemoryStore, seconds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    seconds.into_iter().filter(|second| store.check(&ann(*second)).is_allowed()).collect()
}

#[test]
fn an_event_counts_in_both_limits_or_in_none() {
    let store = MemoryStore::new(both(pause(10)), 100);
    // Its pause refuses events that the bucket would let pass, and the bucket counts none of them.
    assert_eq!(passed(&store, 0..=20), [0, 10, 20]);
    // Nor does the pause count events that the bucket refuses: the first event that the bucket admits passes.
    assert_eq!(passed(&store, [1195, 1199, 1200, 1209]), [1200]);
    // A wait without a formula is exact, too, and the longest of both counts.
    let waits = [1201, 1205, 1210].map(|second| store.retry_after(&ann(second)));
    assert_eq!(waits, [1199, 1195, 1190].map(|wait| Retry::After(Span::from_secs(wait))));
    let refused = store.peek(&ann(1205));
    let by = refused.outcomes().map(|one| (one.limit.to_string(), one.outcome.is_allowed()));
    let custom = "custom Pause { seconds: 10, is_strict: false } per user".to_owned();
    let ours = "gcra 3/1h burst 3 per user".to_owned();
    assert_eq!(by.collect::<Vec<_>>(), [(custom, false), (ours, false)]);
}

#[test]
fn a_limiter_that_counts_refused_events_counts_what_another_limit_refuses() {
    let strict = Limit::from(Custom::new(Pause { seconds: 10, is_strict: true }));
    let ours = Limit::from(Gcra::per_day(1));
    let store = MemoryStore::new(Policy::new(vec![ours, strict]).unwrap(), 100);
    assert_eq!(passed(&store, [0, 86_400, 86_405]), [0, 86_400]);
    // The events until now were refused by both; the last of them ten seconds before.
    assert_eq!(passed(&store, (86_406..172_790).step_by(9)), Vec::<u64>::new());
    assert_eq!(passed(&store, [172_795, 172_800, 172_810]), [172_810]);
}

#[test]
fn what_passed_is_given_back_by_its_own_undo() {
    let store = MemoryStore::new(both(pause(10)), 100);
    let decision = store.check(&ann(0));
    assert!(decision.is_allowed());
    let back = Event { cost: -1.0, ..ann(0) };
    store.settle(&back, at(1), Some(&decision)).unwrap();
    assert_eq!(passed(&store, [1, 2]), [1]);
    assert_eq!(store.remaining(&ann(11)).floor(), 1.0);
}

/// Equal limiters share states, and nothing else does, since only the limiter within knows the meaning of a state.
#[test]
fn its_states_go_on_as_long_as_it_is_equal() {
    let store = MemoryStore::new(both(pause(10)), 100);
    assert_eq!(passed(&store, [0, 1]), [0]);
    let more = NewRule::new().each("ip").limit(Gcra::per_hour(3));
    let rule = NewRule::new().each("user").limit(pause(10)).limit(Gcra::per_hour(3));
    let Reloaded::Applied(changes) = store.replace(Rules::new("web", [rule, more]).unwrap(), at(1))
    else {
        panic!("rejected")
    };
    assert_eq!((changes.kept.len(), changes.new.len()), (2, 1));
    assert_eq!(passed(&store, [2]), Vec::<u64>::new());

    let Reloaded::Applied(changes) = store.replace(both(pause(20)), at(2)) else {
        panic!("rejected")
    };
    let custom = "web:user: custom Pause { seconds: 20, is_strict: false } per user";
    assert_eq!(changes.new, [custom]);
    assert_eq!(passed(&store, [3, 4, 22, 23]), [3, 23]);
}

#[test]
fn its_states_are_not_saved_and_those_beside_it_are() {
    let store = MemoryStore::new(both(pause(10)), 100);
    assert_eq!(passed(&store, [0, 10]), [0, 10]);
    let bytes = store.save(at(10));
    let restored = MemoryStore::restore(both(pause(10)), 100, &bytes).unwrap();
    // The pause starts over, and the bucket has one event left.
    assert_eq!(passed(&restored, [11, 12, 21]), [11]);

    let alone = Keyed::new(AnyLimiter::from(pause(10)), 100);
    assert!(alone.check("ann", at(0), 1.0).is_allowed());
    let restored = Keyed::restore(alone.limiter().clone(), 100, &alone.save(at(0))).unwrap();
    assert!(restored.is_empty());

    let limiter = AnyLimiter::from(pause(10));
    let kept = limiter.keep(&limiter.initial(), at(0));
    let error = limiter.restore(&kept).unwrap_err();
    assert_eq!(error.to_string(), "the algorithm changed from custom to custom: it starts over");
    let error = Kept::from_bytes(&kept.to_bytes()).unwrap_err();
    assert!(error.to_string().contains("\"custom\": not an algorithm"), "{error}");
}

#[test]
fn limiters_are_equal_if_those_within_are() {
    #[derive(Debug, PartialEq)]
    struct Other;
    impl Limiter for Other {
        type State = Option<Time>;
        fn initial(&self) -> Option<Time> {
            None
        }
        fn peek(&self, _: &Option<Time>, _: Time, cost: f64) -> Outcome {
            Outcome::new(true, cost, 1.0)
        }
        fn record(&self, _: &mut Option<Time>, _: Time, _: f64, _: bool) {}
    }
    assert!(pause(10) == pause(10) && pause(10) != pause(11));
    assert!(pause(10) != Custom::new(Other) && Custom::new(Other) == Custom::new(Other));
    // A state of another limiter is that of a new key.
    let (limiter, other) = (AnyLimiter::from(pause(10)), AnyLimiter::from(Gcra::per_hour(1)));
    let mut state = other.initial();
    assert!(limiter.check(&mut state, at(0), 1.0).is_allowed());
    assert!(!limiter.check(&mut state, at(1), 1.0).is_allowed());
}

#[test]
fn what_it_cannot_do_is_refused_with_words() {
    let one = |rule: NewRule| Rules::new("web", [rule.each("user").limit(pause(5))]);
    let text = "custom Pause { seconds: 5, is_strict: false }";
    let wrong = |rule| one(rule).unwrap_err().to_string();
    assert_eq!(
        wrong(NewRule::new().throttle(Throttle::Soft { percent: 50.0 })),
        format!(
            "web:1:1: \"soft 50%\": {text}: it is an algorithm of your own, so it cannot be relaxed"
        )
    );
    let rules = one(NewRule::new()).unwrap();
    assert_eq!(
        rules.exact_in_f64().unwrap_err().to_string(),
        format!(
            "web:1:1: \"{text} per user\": an algorithm of your own, which runs in memory only"
        )
    );
    let error = Numbers::new(&rules.into(), |_| Some(pause(6).into())).unwrap_err().to_string();
    let known = "its algorithm differs, so it has other states";
    assert!(error.contains("can't stand in for custom Pause") && error.ends_with(known), "{error}");
    assert_eq!(text.parse::<AnyLimiter>().unwrap_err().at(), 0..6);
}

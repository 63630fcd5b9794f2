//! The store in memory, asked through the trait of stores that may be slow.

use super::{check, ruled};
use core::future::Future;
use futures_util::FutureExt;
use ratescope::event::Fields;
use ratescope::policy::Per;
use ratescope::rules::{
    BoxFuture, Decision, Decisions, Details, Fault, LimitOutcome, Memory, MemoryStore, Observed,
    Part, Reloaded, Rule, Rules, Store,
};
use ratescope::{Event, Policy, Retry, Span, Time};
use std::sync::{Arc, Mutex};

/// The result of a future that never waits.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

fn ask(store: &impl Store, seconds: f64, user: &str, details: Details) -> Decision {
    let fields = &[("user", user)];
    let time = Time::try_from_secs_f64(seconds).unwrap();
    now(store.check_async(&Event { time, cost: 1.0, fields }, details))
}

#[test]
fn memory_answers_at_once_and_tells_what_is_asked() {
    let store = || ruled("domain: d\nlimit: gcra 2/1m per user\n");
    answers_at_once(&store());
    let own = store();
    answers_at_once(&own.clone());
    assert_eq!(own.len(), 1);
    let any: Arc<dyn Store> = Arc::new(store());
    answers_at_once(&any);
    // A clone is the same store.
    assert_eq!(any.clone().memory(), Some(Memory::new(1, 0)));
    answers_at_once(&Arc::new(store()));
    answers_at_once(&(Box::new(store()) as Box<dyn Store>));
}

/// No method of the trait, which is in scope here, has the name of another one of the store.
#[test]
fn a_store_in_an_arc_is_asked_as_one_outside() {
    let store = Arc::new(ruled("domain: d\nlimit: gcra 2/1m per user\n"));
    let event = Event { time: Time::ZERO, cost: 2.0, fields: &[("user", "ann")] };
    assert!(store.peek(&event).is_allowed() && store.check(&event).is_allowed());
    let back = Event { cost: -2.0, ..event };
    assert_eq!(store.settle(&back, Time::ZERO, None), Ok(()));
    assert_eq!(store.settle(&event, Time::ZERO, None), Ok(()));
    assert!(!store.peek(&event).is_allowed());
    assert_eq!(store.reset(event.fields, |_, _| true), 1);
    assert!(store.peek(&event).is_allowed());
}

/// A part of a cost is given back where it would be charged: not to a rule with its own cost, nor to a shadow that
/// did not count it.
#[test]
fn a_part_of_a_cost_is_given_back_where_it_would_be_charged() {
    let store = ruled(
        "
domain: d
descriptors:
- {key: user, limit: [token-bucket 10/1h, 10/1d]}
- {key: path, limit: 3/1h per user, cost: 1}
- {key: method, limit: token-bucket 5/1h per user, shadow: true}
",
    );
    let fields = &[("user", "ann"), ("path", "/"), ("method", "GET")];
    let event = |cost| Event { time: Time::ZERO, cost, fields };
    let left = || {
        let peeked = store.peek(&event(0.0));
        let of = |one: LimitOutcome<'_>| one.quota().map(|quota| quota.remaining);
        peeked.outcomes().map(of).collect::<Vec<_>>()
    };
    assert_eq!(left(), [Some(10.0), Some(10.0), Some(3.0), None]);
    let passed = store.check(&event(8.0));
    assert_eq!(left(), [Some(2.0), Some(2.0), Some(2.0), None]);
    let settle = |cost: f64, passed| store.settle(&event(cost), Time::ZERO, passed).unwrap();
    settle(-5.0, Some(&passed));
    assert_eq!(left(), [Some(7.0), Some(7.0), Some(2.0), None]);
    // The shadow would have refused the event: it has counted nothing, and is full.
    let shadow = store.peek(&event(5.0)).shadow_refusals().count();
    assert_eq!(shadow, 0);
    settle(0.0, Some(&passed));
    assert_eq!(left(), [Some(7.0), Some(7.0), Some(2.0), None]);
    // Without the decision the whole event is given back.
    settle(-3.0, None);
    assert_eq!(left(), [Some(10.0), Some(10.0), Some(3.0), None]);
}

fn answers_at_once(store: &impl Store) {
    let bare = ask(store, 0.0, "ann", Details::default());
    assert!(bare.is_allowed() && bare.fault.is_none());
    assert!(bare.quota().is_none() && bare.retry_after().is_none());
    let second = ask(store, 0.0, "ann", Details::ALL);
    assert!(second.is_allowed());
    assert_eq!(second.retry_after(), None, "what passes need not wait");
    let least = second.quota().unwrap();
    assert_eq!((least.remaining, least.reset), (0.0, Span::from_mins(1)));
    let third = ask(store, 0.0, "ann", Details::ALL);
    assert!(!third.is_allowed());
    assert_eq!(third.retry_after(), Some(Retry::After(Span::from_secs(30))));
    // Looked at, it is as it was; charged, it is more.
    let event = |time| Event { time, cost: 1.0, fields: &[("user", "ann")] };
    let later = Time::try_from_secs_f64(30.0).unwrap();
    assert!(now(store.peek_async(&event(later), Details::default())).is_allowed());
    let settle = |cost| now(store.settle_async(&Event { cost, ..event(later) }, later, None));
    assert_eq!(settle(1.0), Ok(()));
    assert!(!now(store.peek_async(&event(later), Details::default())).is_allowed());
    // A counted event can be given back, and counted again.
    assert!(store.rules().can_undo(&event(later)));
    assert_eq!(settle(-1.0), Ok(()));
    let check_now = || {
        let decisions = store.decide_now(&[Part::count(&event(later))], Details::default());
        decisions.unwrap().into_only().unwrap().is_allowed()
    };
    assert!(check_now());
    assert_eq!((settle(-1.0), settle(1.0)), (Ok(()), Ok(())));
    assert!(matches!(settle(f64::NAN), Err(Fault::Cost(_))));
    assert!(!now(store.peek_async(&event(later), Details::default())).is_allowed());
    assert_eq!(store.rules().domain(), "d");
    assert_eq!(store.memory(), Some(Memory::new(1, 0)));
    // A key is made new, and other rules are put in force.
    let reset = |user| {
        let of = |rule: &Rule, per: &Per| rule.name() == "d" && per.fields() == ["user"];
        now(store.reset_async(&[("user", user)], &of))
    };
    assert_eq!((reset("bob"), reset("ann")), (Ok(0), Ok(1)));
    assert!(check_now());
    let less = super::read("domain: d\nlimit: gcra 1/1m per user\n");
    assert_eq!(store.replace(less, later).name(), "applied");
    assert!(!check_now());
}

/// The methods by which a store was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<&'static str>>);

impl Asked {
    fn add<T>(&self, method: &'static str, answer: T) -> T {
        self.0.lock().unwrap().push(method);
        answer
    }
}

/// A store that has every method of the trait.
struct Whole(MemoryStore, Arc<Asked>);

impl Store for Whole {
    fn rules(&self) -> Arc<Rules> {
        self.1.add("rules", self.0.rules())
    }

    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        self.1.add("decide_now", self.0.decide_now(parts, details))
    }

    fn memory(&self) -> Option<Memory> {
        self.1.add("memory", Some(Memory::new(7, 7)))
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        self.1.add("decide", self.0.decide(parts, details))
    }

    fn reset_async<'a>(
        &'a self,
        _: &'a dyn Fields,
        _: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        self.1.add("reset_async", Box::pin(async { Ok(7) }))
    }

    fn replace(&self, _: Rules, _: Time) -> Reloaded {
        self.1.add("replace", Reloaded::Unchanged)
    }
}

#[test]
fn pointers_pass_on_every_method() {
    fn asked<S: Store>(pointer: impl FnOnce(Whole) -> S) {
        let asked = Arc::new(Asked::default());
        let memory = ruled("domain: d\nlimit: 1/1m per user\n");
        let store = pointer(Whole(memory, Arc::clone(&asked)));
        let fields = &[("user", "ann")];
        let event = &Event { time: Time::ZERO, cost: 1.0, fields };
        let rules = store.rules();
        let parts = [Part::count(event)];
        assert!(store.decide_now(&parts, Details::default()).unwrap()[0].is_allowed());
        assert_eq!(store.memory(), Some(Memory::new(7, 7)));
        assert!(!now(store.decide(&parts, Details::default()))[0].is_allowed());
        assert_eq!(now(store.reset_async(fields, &|_, _| true)), Ok(7));
        assert_eq!(store.replace((*rules).clone(), Time::ZERO).name(), "unchanged");
        let methods = ["rules", "decide_now", "memory", "decide", "reset_async", "replace"];
        assert_eq!(*asked.0.lock().unwrap(), methods);
    }
    asked(Arc::new);
    asked(Box::new);
    asked(|store| Arc::new(store) as Arc<dyn Store>);
    asked(|store| Box::new(store) as Box<dyn Store>);
    asked(|store| Arc::new(Box::new(Arc::new(store) as Arc<dyn Store>)));
    asked(Observed::new);
}

/// A pointer decides as the store does: all or none.
#[test]
fn a_store_in_a_pointer_decides_all_or_none() {
    let store = Arc::new(ruled("domain: d\nlimit: gcra 1/1m per user\n"));
    let [ann, bob] = ["ann", "bob"].map(|user| [("user", user)]);
    let [ann, bob] = [&ann, &bob].map(|fields| Event { time: Time::ZERO, cost: 1.0, fields });
    assert!(store.check(&bob).is_allowed());
    for _ in 0..40 {
        let parts = [Part::count(&ann), Part::count(&bob)];
        let decisions = now(store.decide(&parts, Details::default()));
        let allowed: Vec<_> = decisions.iter().map(Decision::is_allowed).collect();
        assert_eq!(allowed, [true, false]);
    }
    assert!(store.check(&ann).is_allowed(), "nothing was counted of the first");
}

/// A store of somebody's own need not have the methods that operate it, and then says so.
#[test]
fn a_store_that_can_only_decide() {
    struct Own(MemoryStore);
    impl Store for Own {
        fn rules(&self) -> Arc<Rules> {
            self.0.rules()
        }

        fn decide<'a>(&'a self, parts: &'a [Part<'a>], _: Details) -> BoxFuture<'a, Decisions> {
            Box::pin(self.0.decide(parts, Details::default()))
        }
    }
    let store: Arc<dyn Store> = Arc::new(Own(ruled("domain: d\nlimit: 1/1m per user\n")));
    let decision = ask(&store, 0.0, "ann", Details::ALL);
    assert!(decision.is_allowed() && decision.retry_after().is_none() && decision.fault.is_none());
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
    assert!(store.decide_now(&[Part::count(&event)], Details::default()).is_none());
    let fault = now(store.reset_async(&[("user", "ann")], &|_, _| true)).unwrap_err();
    assert_eq!(fault.to_string(), "the store says: this store resets no keys");
    let reloaded = store.replace(super::read("domain: d\nlimit: 2/1m per user\n"), Time::ZERO);
    let told = "rejected, and the old rules stay:\nrules.yaml:1:1: this store takes no other rules";
    assert_eq!(reloaded.to_string(), told);
}

#[test]
fn a_policy_is_rules_too() {
    let policy: Policy = "gcra 2/1m per user & 3/1m per ip".parse().unwrap();
    let store = MemoryStore::new(policy, 100);
    assert_eq!(Store::rules(&store).domain(), "policy");
    let mail = |user| check(&store, 0.0, &[("user", user), ("ip", "192.0.2.7")]);
    assert!(mail("ann").is_allowed() && mail("ann").is_allowed());
    assert_eq!(mail("ann").to_string(), "refused by policy: level 3, limit 2");
    assert!(mail("bob").is_allowed());
    assert_eq!(mail("bob").to_string(), "refused by policy: level 4, limit 3");
    assert_eq!(mail("bob").decided_by().unwrap().limit.to_string(), "fixed-window 3/1m per ip");
}

const QUEUE: &str = "domain: d\nlimit: leaky-bucket 1/1s queue 5 per user\n";

/// With a second limit, which refuses nothing, each is asked before one counts.
const QUEUE_AND_MORE: &str = "domain: d\nlimit: [leaky-bucket 1/1s queue 5 per user, 99/1s]\n";

/// An event that cannot wait is told how long it would, and is not counted.
#[test]
fn what_cannot_wait_is_not_counted() {
    for text in [QUEUE, QUEUE_AND_MORE] {
        let store = ruled(text);
        let wait = |details| ask(&store, 0.0, "ann", details).wait();
        let after = |seconds| Some(Span::from_secs(seconds));
        let at_once = Details::default().at_once();
        assert_eq!(wait(at_once), after(0), "{text}");
        assert_eq!([wait(at_once), wait(at_once)], [after(1); 2], "{text}");
        let can_wait = Details::default();
        assert_eq!([wait(can_wait), wait(can_wait), wait(at_once)], [1, 2, 3].map(after), "{text}");
    }
}

/// A refusal says when to come back if that is asked, and an event that passes does not.
#[test]
fn who_is_refused_may_ask_for_the_time() {
    assert_eq!(Details::default().with_quotas().with_retry(), Details::ALL);
    for text in [QUEUE, QUEUE_AND_MORE] {
        let store = ruled(text);
        let passed = [(); 5].map(|()| ask(&store, 0.0, "ann", Details::ALL).retry_after());
        assert_eq!(passed, [None; 5], "{text}");
        assert_eq!(ask(&store, 0.0, "ann", Details::default()).retry_after(), None, "{text}");
        let retry = ask(&store, 0.0, "ann", Details::default().with_retry()).retry_after();
        assert_eq!(retry, Some(Retry::After(Span::from_secs(1))), "{text}");
    }
}

/// A shadow is not waited for, nor a limit in whose place the relaxed one decides.
#[test]
fn only_what_can_refuse_is_waited_for() {
    for text in [
        "domain: d\nlimit: gcra 2/1h per user\ndescriptors: [{key: user, limit: gcra 1/1d, shadow: true}]\n",
        "domain: d\nlimit: gcra 1/1h per user\nthrottle: soft 100%\n",
    ] {
        let store = ruled(text);
        let passed = [(); 2].map(|()| ask(&store, 0.0, "ann", Details::ALL).is_allowed());
        assert_eq!(passed, [true; 2], "{text}");
        let retry = ask(&store, 0.0, "ann", Details::ALL).retry_after();
        assert_eq!(retry, Some(Retry::After(Span::from_mins(30))), "{text}");
        let fields = &[("user", "ann")];
        let event = Event { time: Time::ZERO, cost: 1.0, fields };
        assert_eq!(Some(store.retry_after(&event)), retry, "{text}");
    }
}

#[test]
fn a_rate_gives_nothing_back() {
    let rate = ruled("domain: d\nlimit: [gcra 9/1m, exim 9/1m] \n");
    assert_eq!(rate.capacity(), 1000);
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &() };
    assert!(rate.check(&event).is_allowed());
    assert!(!rate.rules().can_undo(&event));
    let level = || rate.peek(&event).outcomes().map(|one| one.outcome.level).collect::<Vec<_>>();
    let before = level();
    assert_eq!(rate.settle(&Event { cost: -1.0, ..event }, Time::ZERO, None), Ok(()));
    assert_eq!(level(), before, "the bucket gives nothing back either");
}

/// A fault has a word for counters, and its cause where there is one.
#[test]
fn faults_have_words() {
    let unreachable = Fault::unreachable("no such host");
    for (fault, name, cause) in [
        (Fault::Late, "late", None),
        (Fault::Lost, "lost", None),
        (unreachable.clone(), "unreachable", Some("no such host")),
        (Fault::Resting, "resting", None),
        (Fault::Overloaded, "overloaded", None),
        (Fault::Failed("no".to_owned()), "failed", None),
        (Fault::Cost("no".to_owned()), "cost", None),
    ] {
        assert_eq!(fault.name(), name);
        let source = std::error::Error::source(&fault).map(ToString::to_string);
        assert_eq!(source.as_deref(), cause, "{name}");
    }
    assert_eq!(unreachable, Fault::unreachable("no such host"));
    assert_ne!(unreachable, Fault::unreachable("refused"));
}

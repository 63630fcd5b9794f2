//! Exceptions: other numbers for one key, for a while.

use futures_util::FutureExt;
use ratescope::rules::{Details, Exception, Exceptions, MemoryStore, Part, Reloaded, Rules, Store};
use ratescope::{Event, Span, Time};
use std::sync::Arc;

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: [gcra 2/1h, fixed-window 100/1d]}
- {key: ip, limit: gcra 3/1h, throttle: soft 100%}
- {key: hash(mail), limit: exim 3/1h}
";

type Excepted = Exceptions<MemoryStore>;

fn store() -> Excepted {
    Exceptions::new(MemoryStore::new(Rules::read("rules.yaml", RULES).unwrap(), 1000))
}

fn hours(n: u64) -> Time {
    Time::ZERO.after(Span::from_hours(n))
}

#[track_caller]
fn set(store: &Excepted, limit: &str, key: &str, text: &str, until: Time) {
    let exception = Exception::new(&store.rules(), limit, key, text, until).unwrap();
    store.set(exception, Time::ZERO).now_or_never().unwrap().unwrap();
}

/// How many of twenty events pass.
fn passed(store: &Excepted, fields: &[(&str, &str)], time: Time) -> usize {
    let event = Event { time, cost: 1.0, fields: &fields };
    let pass = |_: &usize| {
        let decided = store.decide_now(&[Part::count(&event)], Details::default()).unwrap();
        decided[0].is_allowed()
    };
    (0..20).filter(pass).count()
}

#[test]
fn a_key_is_raised_and_lowered_until_the_exception_ends() {
    let store = store();
    set(&store, "web:user", "user=ann", "5/1h", hours(24));
    set(&store, "web:user", "user=eve", "gcra 1/1h burst 1", hours(24));
    assert_eq!(passed(&store, &[("user", "ann")], Time::ZERO), 5);
    assert_eq!(passed(&store, &[("user", "eve")], Time::ZERO), 1);
    assert_eq!(passed(&store, &[("user", "bob")], Time::ZERO), 2);
    // In one microsecond less than a day it is in force, and then not.
    let end = Time::from_micros(hours(24).as_micros() - 1);
    assert_eq!(passed(&store, &[("user", "ann")], end), 5);
    assert_eq!(passed(&store, &[("user", "eve")], hours(24)), 2);
    assert_eq!(passed(&store, &[("user", "ann")], hours(30)), 2);
}

#[test]
fn several_exceptions_of_one_event_and_soft_limits() {
    let store = store();
    set(&store, "web:ip", "ip=192.0.2.7", "4/1h", hours(1));
    set(&store, "web:user", "user=ann", "9/1h", hours(1));
    // A soft limit stays soft: 4 and 100 %.
    assert_eq!(passed(&store, &[("ip", "192.0.2.7")], Time::ZERO), 8);
    assert_eq!(passed(&store, &[("ip", "192.0.2.8"), ("user", "ann")], Time::ZERO), 6);
    assert_eq!(passed(&store, &[("user", "ann")], Time::ZERO), 3);
}

#[test]
fn a_rate_replaces_the_rate_alone() {
    let rules = Arc::new(Rules::read("rules.yaml", RULES).unwrap());
    let of = |limit: &str, text: &str| {
        let made = Exception::new(&rules, limit, "user=ann", text, hours(1));
        made.map(|one| one.limiter.to_string()).map_err(|error| error.to_string())
    };
    for (limit, text, expected) in [
        ("web:user", "500/1m", "gcra 500/1m burst 500"),
        ("web:user", "gcra 500/1m burst 7", "gcra 500/1m burst 7"),
        ("web:user#2", "500/1d", "fixed-window 500/1d"),
        ("web:mail", "9 per hour", "exim 9/1h leaky"),
        // Nothing at all, for a while.
        ("web:user", "0/1h", "gcra 0/1h burst 0"),
    ] {
        assert_eq!(of(limit, text).as_deref(), Ok(expected));
    }
    for (limit, text, expected) in [
        ("web:nothing", "5/1h", "there is no limit web:nothing"),
        ("web:user", "nonsense", "not a limiter"),
        ("web:user", "fixed-window 5/1h", "can't stand in for gcra 2/1h burst 2"),
        ("web:user", "-1/1h", "-1"),
    ] {
        let error = of(limit, text).unwrap_err();
        assert!(error.contains(expected), "{limit} {text}: {error}");
    }
}

#[test]
fn the_list_its_ends_and_its_text() {
    let store = store();
    set(&store, "web:user", "user=ann", "5/1h", hours(2));
    set(&store, "web:user", "user=ann", "6/1h", hours(3));
    set(&store, "web:ip", "ip=192.0.2.7", "4/1h", hours(1));
    let subjects = |now| {
        let all = store.list(now).into_iter();
        all.map(|one| format!("{} {}", one.subject, one.limiter)).collect::<Vec<_>>()
    };
    let (ann, ip) = ("user=ann gcra 6/1h burst 6", "ip=192.0.2.7 gcra 4/1h burst 4");
    assert_eq!(subjects(Time::ZERO), [ip, ann]);
    assert_eq!(subjects(hours(1)), [ann]);
    let over = store.refresh(hours(1)).now_or_never().unwrap().unwrap();
    assert_eq!(over.iter().map(|one| one.subject.as_str()).collect::<Vec<_>>(), ["ip=192.0.2.7"]);
    assert_eq!(store.refresh(hours(1)).now_or_never().unwrap().unwrap(), []);
    // One that is over ends the other.
    set(&store, "web:user", "user=ann", "6/1h", Time::ZERO);
    assert_eq!(store.list(Time::ZERO), []);
    for text in [
        "3600000000 web:user user%3Dann%2Cpath%3D/a%2520b by=the%20support gcra 6/1h burst 6",
        "-1 a%20b all by= fixed-window 1/1d from 06:00",
    ] {
        assert_eq!(text.parse::<Exception>().unwrap().to_string(), text);
    }
    for text in ["", "1 a b by= ", "x a b by= 1/1s", "1 a b c 1/1s", "1 %ff b by= 1/1s"] {
        assert!(text.parse::<Exception>().is_err(), "{text}");
    }
}

/// After a reload an exception is in force if its limiter still fits, and comes back with the limit.
#[test]
fn a_reload_keeps_exceptions_that_fit() {
    let store = store();
    set(&store, "web:user", "user=ann", "5/1h", hours(24));
    let reload = |from: &str, to: &str| {
        let reloaded = store.reload("rules.yaml", &RULES.replace(from, to), Time::ZERO);
        assert!(!matches!(reloaded, Reloaded::Rejected(_)), "{reloaded}");
    };
    reload("gcra 2/1h", "gcra 1/1h");
    assert_eq!(passed(&store, &[("user", "ann")], Time::ZERO), 5);
    reload("gcra 2/1h", "sliding-log 1/1h");
    assert_eq!(passed(&store, &[("user", "ann")], Time::ZERO), 1);
    assert_eq!(store.list(Time::ZERO).len(), 1);
    reload("", "");
    assert_eq!(passed(&store, &[("user", "ann")], hours(10)), 5);
}

#[test]
fn there_is_room_for_a_thousand() {
    let store = store();
    let one = |i: usize| {
        let key = format!("user=u{i}");
        Exception::new(&store.rules(), "web:user", &key, "5/1h", hours(1)).unwrap()
    };
    store.restore((0..2000).map(one).collect());
    assert_eq!(store.list(Time::ZERO).len(), 1000);
    let full = store.set(one(1000), Time::ZERO).now_or_never().unwrap();
    assert!(full.unwrap_err().to_string().contains("1000 exceptions"));
    assert_eq!(store.set(one(999), Time::ZERO).now_or_never(), Some(Ok(())));
    // Those that are over make room.
    assert_eq!(store.set(one(1000), hours(1)).now_or_never(), Some(Ok(())));
}

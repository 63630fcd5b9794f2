//! A Redis that is late: this process goes on where Redis was, and a burst is no lateness.

use super::faults::{RULES, ask, counted, options, until_back};
use super::proxy::{Proxy, Trick};
use super::server::{PATIENCE, Port, Server};
use super::{check, open, patient, rules};
use ratescope::rules::{Details, Fault, MemoryStore, Numbers, Part, StateSource, Store};
use ratescope::{Event, Span, Time};
use ratescope_redis::{RedisStore, TimeSource};
use std::time::{Duration, Instant};

const LIMITERS: [&str; 16] = [
    "token-bucket 10/1m burst 4",
    "gcra 7/1m burst 4",
    "leaky-bucket 7/1m queue 4",
    "fixed-window 6/1m",
    "sliding-window 6/1m precision 7s",
    "sliding-counter 6/1m",
    "sliding-log 6/1m",
    "exim 6/1m leaky",
    "exim 6/1m strict",
    "earrrl 6/1m",
    "adaptive x3 decay 1m increase 1h floor 2",
    "nginx 10/1m burst 3 nodelay",
    "haproxy 5/1m",
    "envoy 1/6s burst 5",
    "fail2ban 5/1m ban 1h",
    "gcra 7/1m burst 4 per user & sliding-log 6/1m",
];

/// Whatever the limiter, the events of a pause are decided as if Redis had decided them; only by a log or a window, of
/// which Redis does not tell all, more may be refused.
#[tokio::test]
async fn a_pause_goes_on_where_redis_was() {
    let Some(mut server) = Server::start(&[]) else { return };
    let texts = LIMITERS.map(|limiter| format!("{limiter} per user"));
    let stores: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| {
            let store = open(&server.url(), rules(text), patient(&format!("{i}:")));
            (text, store, MemoryStore::new(rules(text), 100))
        })
        .collect();
    let mut refused = 0;
    for i in 0..30 {
        let time = Time::from_micros(1_000_000_000 + i * i * 200_000);
        for (text, store, memory) in &stores {
            let theirs = check(store, time, 1.0, &[("user", "ann")], Details::ALL).await;
            let ours = check(memory, time, 1.0, &[("user", "ann")], Details::ALL).await;
            assert_eq!(theirs.fault.is_some(), i >= 8, "{text}: {:?}", theirs.fault);
            let said =
                |answer: &ratescope::rules::Decision| (answer.to_string(), answer.retry_after());
            if i >= 8 && text.contains("sliding-") && !text.contains("counter") {
                let is_more = theirs.is_allowed() && !ours.is_allowed();
                assert!(!is_more, "{text}, event {i}");
            } else {
                assert_eq!(said(&theirs), said(&ours), "{text}, event {i}");
            }
            let decided = theirs.decided_by().unwrap();
            assert_eq!(decided.source == StateSource::Fallback, i >= 8);
            refused += usize::from(i >= 8 && !theirs.is_allowed());
        }
        if i == 7 {
            server.kill();
        }
    }
    assert!(refused > 100, "{refused} are refused during the pause");
}

/// How many of the next events pass in this process, which all say the same time.
async fn passed_here(stores: impl IntoIterator<Item = &RedisStore>, time: Time) -> usize {
    let mut passed = 0;
    for store in stores {
        let answer = check(store, time, 1.0, &[("user", "ann")], Details::ALL).await;
        assert!(answer.fault.is_some(), "Redis is gone");
        passed += usize::from(answer.is_allowed());
    }
    passed
}

/// Where the time of an event is ignored, a clock of this process goes on: from the time of Redis, or, before Redis has
/// answered, of the host.
#[tokio::test]
async fn a_pause_has_a_clock_of_its_own() {
    if Server::start(&[]).is_none() {
        return;
    }
    let nobody = Port::hold();
    for skew in [None, Some(Span::from_hours(1))] {
        let clock = skew.map_or(TimeSource::Redis, |most_skew| TimeSource::Host { most_skew });
        let options = || options().clock(clock);
        let store = open(&format!("redis://{nobody}"), rules("gcra 1/100ms per user"), options());
        let begun = Instant::now();
        let mut passed = 0;
        while passed < 3 {
            assert!(begun.elapsed() < PATIENCE, "{clock:?}: {passed} pass");
            passed += passed_here([&store], Time::ZERO).await;
        }
        assert!(begun.elapsed() >= Duration::from_millis(200), "{clock:?}");

        let mut server = Server::start(&[]).unwrap();
        let store = open(&server.url(), rules("token-bucket 3/365d per user"), options());
        let answer = check(&store, Time::ZERO, 2.0, &[("user", "ann")], Details::ALL).await;
        assert!(answer.is_allowed() && answer.fault.is_none());
        server.kill();
        // Two years later by their own time, and before everything.
        for (time, passes) in [(2 * 31_536_000_000_000, 1), (-1, 0)] {
            let passed = passed_here([&store], Time::from_micros(time)).await;
            assert_eq!(passed, passes, "{clock:?} at {time}");
        }
    }
}

/// Events with numbers of their own go on where those with the usual ones were.
#[tokio::test]
async fn a_pause_goes_on_for_events_with_numbers() {
    for most_skew in [None, Some(Span::from_hours(1))] {
        let Some(mut server) = Server::start(&[]) else { return };
        let clock = most_skew.map_or(TimeSource::Redis, |most_skew| TimeSource::Host { most_skew });
        let text = "token-bucket 10/365d per user";
        let store = open(&server.url(), rules(text), options().clock(clock));
        let fields = [("user", "ann")];
        let answer = check(&store, Time::ZERO, 9.0, &fields, Details::ALL).await;
        assert!(answer.is_allowed() && answer.fault.is_none());
        server.kill();
        let own: ratescope::limit::any::AnyLimiter = "token-bucket 11/365d".parse().unwrap();
        let mut passed = 0;
        for _ in 0..6 {
            let numbers = Numbers::new(&store.rules(), |_| Some(own.clone())).unwrap();
            let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
            let part = Part { numbers: Some(&numbers), ..Part::count(&event) };
            let decisions = store.decide(&[part], Details::ALL).await;
            passed += usize::from(decisions[0].is_allowed());
        }
        assert_eq!(passed, 2);
    }
}

/// Rules that say otherwise, and answers without states, leave nothing behind in this process.
#[tokio::test]
async fn only_what_is_decided_here_is_taken_over() {
    let Some(mut server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    let bare = async |key| {
        let fields = [(key, "x"), ("user", "bob")];
        check(&store, Time::from_micros(1), 1.0, &fields, Details::default()).await
    };
    for key in ["open", "closed", "local"] {
        assert!(ask(&store, key).await.fault.is_none());
        assert!(bare(key).await.fault.is_none());
    }
    server.kill();
    let level = |answer: ratescope::rules::Decision| {
        let decided = answer.decided_by().unwrap();
        (decided.source, decided.outcome.level)
    };
    assert_eq!(level(ask(&store, "open").await), (StateSource::Unknown, 0.0));
    assert_eq!(level(ask(&store, "closed").await), (StateSource::Unknown, 0.0));
    assert_eq!(level(ask(&store, "local").await), (StateSource::Fallback, 2.0));
    assert_eq!(level(bare("local").await), (StateSource::Fallback, 1.0));
}

/// Three processes have counted 40 of 100 when Redis stops. How many more they let pass.
async fn during_a_pause(processes: u32) -> Option<usize> {
    let server = Server::start(&[])?;
    // Far less than an event drains during the test.
    let text = "domain: d\nlimit: token-bucket 100/365d per user\n";
    let rest = PATIENCE * 100;
    let options = options().processes(processes).failures(1).rest(rest);
    let stores = [0; 3].map(|_| open(&server.url(), rules(text), options.clone()));
    let asked = async |store: &RedisStore| {
        check(store, Time::from_micros(1), 1.0, &[("user", "ann")], Details::ALL).await
    };
    for i in 0..40 {
        let answer = asked(&stores[i % 3]).await;
        assert_eq!((answer.is_allowed(), answer.fault), (true, None));
    }
    server.signal("STOP");
    let mut passed = 0;
    for _ in 0..110 {
        for store in &stores {
            let answer = asked(store).await;
            assert!(answer.fault.is_some());
            passed += usize::from(answer.is_allowed());
        }
    }
    server.signal("CONT");
    Some(passed)
}

/// 60 are left when Redis stops, and the other two processes heard last that 61 and 62 are left.
#[tokio::test]
async fn processes_let_pass_what_redis_had_left_each_or_together() {
    let Some(each) = during_a_pause(1).await else { return };
    assert_eq!(each, 60 + 61 + 62);
    let together = during_a_pause(3).await;
    assert_eq!(together, Some(20 + 21 + 21), "the last event of each passes whole");
}

/// Events that pass while Redis does not decide leave no room for as many the next time.
#[tokio::test]
async fn many_faults_let_pass_as_much_as_one() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "domain: d\nlimit: token-bucket 10/365d per user\n";
    let store = open(&server.url(), rules(text), options());
    let asked =
        async || check(&store, Time::from_micros(1), 1.0, &[("user", "ann")], Details::ALL).await;
    let mut passed = 0;
    for _ in 0..5 {
        let answer = asked().await;
        assert_eq!((answer.is_allowed(), answer.fault), (true, None));
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        for _ in 0..3 {
            let answer = asked().await;
            assert!(answer.fault.is_some());
            passed += usize::from(answer.is_allowed());
        }
        server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    }
    assert_eq!(passed, 9, "as many as were left when Redis failed first");
}

/// A cost that is charged or given back meanwhile counts as often as an event does.
#[tokio::test]
async fn a_share_is_charged_and_given_back() {
    let Some(mut server) = Server::start(&[]) else { return };
    let options = options().processes(4);
    let text = "domain: d\nlimit: fixed-window 100/365d per user\n";
    let store = open(&server.url(), rules(text), options);
    server.kill();
    let fields = [("user", "ann")];
    let event = |cost| Event { time: Time::from_micros(1), cost, fields: &fields };
    let level = async || {
        let answer = store.peek_async(&event(0.0), Details::default()).await;
        answer.decided_by().unwrap().outcome.level
    };
    let passed = store.check_async(&event(2.0), Details::ALL).await;
    assert!(passed.is_allowed());
    assert_eq!(level().await, 8.0);
    let now = Time::from_micros(1);
    assert!(store.settle_async(&event(10.0), now, None).await.is_err());
    assert_eq!(level().await, 48.0);
    let back = Event { time: passed.time, ..event(-5.0) };
    assert!(store.settle_async(&back, now, None).await.is_err());
    assert_eq!(level().await, 28.0);
    // It passes as a whole, or not at all.
    assert!(store.check_async(&event(72.0), Details::ALL).await.is_allowed());
    assert!(!store.check_async(&event(1.0), Details::ALL).await.is_allowed());
}

/// As many at once as there are, and the limit holds exactly.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_no_lateness() {
    let Some(server) = Server::start(&[]) else { return };
    // A busy machine may take long, and then this process would decide about some.
    let options = options().deadline(PATIENCE);
    let store = open(&server.url(), rules("gcra 100/365d burst 100 per user"), options);
    let one = |_| {
        let store = store.clone();
        tokio::spawn(async move {
            check(&store, Time::from_micros(1), 1.0, &[("user", "ann")], Details::ALL).await
        })
    };
    let tasks: Vec<_> = (0..3000).map(one).collect();
    let mut allowed = 0;
    for task in tasks {
        let answer = task.await.unwrap();
        assert_eq!(answer.fault, None);
        allowed += usize::from(answer.is_allowed());
    }
    assert_eq!(allowed, 100);
}

/// A Redis that stands still is sent no more calls than may wait, however many come.
#[tokio::test]
async fn few_calls_wait_for_one_connection() {
    let Some(server) = Server::start(&[]) else { return };
    let options = options().in_flight(8);
    let store = open(&server.url(), rules("fixed-window 1000/365d per user"), options);
    let one = || {
        let store = store.clone();
        let fields = [("user", "ann")];
        async move { check(&store, Time::from_micros(1), 1.0, &fields, Details::ALL).await }
    };
    assert!(one().await.fault.is_none());
    server.signal("STOP");
    let tasks: Vec<_> = (0..300).map(|_| tokio::spawn(one())).collect();
    let (mut late, mut overloaded) = (0, 0);
    for task in tasks {
        match task.await.unwrap().fault {
            Some(Fault::Late) => late += 1,
            Some(Fault::Overloaded) => overloaded += 1,
            other => panic!("{other:?}"),
        }
    }
    server.signal("CONT");
    assert_eq!((late, overloaded), (8, 292));
    until_back(&store).await;
    let level = super::level(&super::looked(&store, &[("user", "ann")]).await).unwrap();
    assert!((1.0..=9.0).contains(&level), "{level}");
}

/// A call that waited in vain for its turn says nothing about the server.
#[tokio::test]
async fn a_call_that_was_not_sent_is_no_failure() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let options = options().in_flight(1).failures(2).rest(PATIENCE * 100);
    let store = open(&proxy.url(), rules(RULES), options);
    until_back(&store).await;
    proxy.play([Trick::Silence]);
    let (first, second) = tokio::join!(ask(&store, "local"), ask(&store, "local"));
    assert_eq!((first.fault, second.fault), (Some(Fault::Late), Some(Fault::Overloaded)));
    assert_eq!(ask(&store, "local").await.fault, None, "one failure, and two open the breaker");
    assert_eq!(counted(&store).await, 2.0);
    let long = Duration::MAX;
    let options = super::faults::options().deadline(long).in_flight(0);
    let store = open(&server.url(), rules(RULES), options);
    assert_eq!(ask(&store, "open").await.fault, None, "no bound is below one");
}

//! Redis decides as memory does at the ends of the domain that `ratescope::limit::in_f64` derives, where f64
//! is only just exact; also when two limiters of one shape take turns on the same state.

use super::equal::{assert_near, assert_same, both, both_of, events};
use super::random::{KINDS, case, magnitude};
use super::server::Server;
use super::{open, patient, rules};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Decision, Details, MemoryStore, Numbers, Part, Store};
use ratescope::{Event, Outcome, Retry, Span, Time};
use ratescope_redis::RedisStore;
use tokio::task::{JoinSet, LocalSet};

/// Where time ends within the domain, in microseconds.
const END: i64 = 1 << 52;

/// How many clients there are at once, each with limiters of its own.
const CLIENTS: usize = 16;

/// The most calls for an event.
const CALLS: usize = 5;

/// The count of a rate, its period in microseconds, and the size of the bucket; amounts in millionths.
type Triple = [u64; 3];

/// An amount in millionths that is decided about, or else charged, at a time in microseconds.
#[derive(Clone, Copy, Debug)]
struct Op {
    at: i64,
    amount: u64,
    is_charged: bool,
}

/// Numbers of events and seconds as people choose them, and any that are within the domain of buckets: from
/// 2^n millionths in 2^(53-n) microseconds down.
fn of_buckets() -> BoxedStrategy<Triple> {
    let any = (10..53u32).prop_flat_map(|n| {
        let size = (10..51u32).prop_flat_map(|n| 1 << 10..1u64 << (n + 1));
        (1000..(1u64 << n).max(1001), 1..1u64 << (53 - n), size)
    });
    let per = prop_oneof![Just(1u64), Just(60), Just(3600), Just(86_400), 1..3_000_000u64];
    let chosen = (1..1_000_000u64, per, 1..1_000_000u64)
        .prop_map(|(count, per, size)| (count * 1_000_000, per * 1_000_000, size * 1_000_000));
    prop_oneof![any, chosen].prop_map(|(count, per, size)| [count, per, size]).boxed()
}

/// A limit and a period of any size within the domain of windows, one in three at its end.
fn of_windows() -> BoxedStrategy<Triple> {
    let power = |from: u32| prop_oneof![2 => from..52, 1 => 50..52u32];
    let most = power(11).prop_flat_map(|n| 1000..1u64 << n);
    let period = power(1).prop_flat_map(|n| 1..1u64 << n);
    (most, period).prop_map(|(most, period)| [most, period, most]).boxed()
}

/// Deeds on the scale of a limit of `size` millionths that takes `period` microseconds to come back: of any
/// cost, with time standing still and running backwards.
fn deeds(size: u64, period: f64) -> impl Strategy<Value = Vec<Op>> {
    let gap = prop_oneof![
        3 => Just(0.0),
        6 => magnitude(-4.0, 0.7),
        2 => magnitude(-4.0, 1.0).prop_map(|gap| -gap),
        1 => magnitude(-16.0, 3.0),
    ];
    let part = prop_oneof![2 => Just(0.0), 8 => magnitude(-4.0, 0.0), 1 => magnitude(0.0, 1.0)];
    let odd = prop_oneof![Just(0u64), Just(1), 2..1_000_000u64];
    let begin = prop_oneof![0..END, Just(1_790_000_000_000_000)];
    let is_charged = prop::bool::weighted(0.05);
    (begin, prop::collection::vec((gap, part, odd, is_charged), 1..60)).prop_map(
        move |(mut at, deeds)| {
            let op = |(gap, part, odd, is_charged): (f64, f64, u64, bool)| {
                at = at.saturating_add((gap * period) as i64).clamp(0, END - 1);
                // All charges of a period together stay below 2^52.
                let most = if is_charged { size / 8 } else { 1_000_000_000_000_000_000 };
                let amount = ((part * size as f64) as u64).saturating_add(odd).min(most);
                Op { at, amount, is_charged }
            };
            deeds.into_iter().map(op).collect()
        },
    )
}

/// A limiter of a kind with these numbers, and so many blocks if it has any.
fn limiter(kind: &str, [count, per, size]: Triple, blocks: u64) -> AnyLimiter {
    let kind = kind.replace("{short}", &Span::from_micros(per.div_ceil(blocks)).to_string());
    case(&kind, count as f64 / 1e6, Span::from_micros(per), size as f64 / 1e6).limiter
}

/// Two limiters of one shape, by some of the [`KINDS`], and deeds on the scale of the first. The second is the
/// same, or has numbers that differ by a small factor, as when a limit is changed, or any others.
fn drawn(kinds: &'static [&'static str]) -> impl Strategy<Value = ([AnyLimiter; 2], Vec<Op>)> {
    let has_buckets = kinds[0] == KINDS[0];
    let numbers = || if has_buckets { of_buckets() } else { of_windows() };
    let kind = || prop::sample::select(kinds);
    let other = (0..3, numbers(), (1u64..5, 1u64..5));
    (numbers(), (kind(), kind()), other, 1u64..100).prop_flat_map(
        move |(one, kinds, (change, other, by), blocks)| {
            let [count, per, size] = one;
            let other = match change {
                0 => one,
                1 => [count * by.0, per, size * by.1],
                // The state of a window is for its period.
                _ => [other[0], if has_buckets { other[1] } else { per }, other[2]],
            };
            let limiters = [limiter(kinds.0, one, blocks), limiter(kinds.1, other, blocks)];
            let drained = size as f64 / count as f64 * per as f64;
            (Just(limiters), deeds(size, drained.clamp(1.0, END as f64)))
        },
    )
}

/// A limiter and a store for it, about to decide about one state, which memory has, too.
struct Turn<'a> {
    limiter: &'a AnyLimiter,
    store: &'a RedisStore,
    memory: &'a MemoryStore,
    /// The limiter, for memory.
    numbers: &'a Numbers,
    fields: [(&'a str, &'a str); 1],
}

/// To the microsecond, but beyond 285 years to 15 digits.
fn same_wait(theirs: Option<Span>, ours: Option<Span>) -> bool {
    let near = |(theirs, ours): (f64, f64)| ours > 9e9 && (theirs - ours).abs() < 1e-15 * ours;
    theirs == ours
        || theirs.map(Span::as_secs_f64).zip(ours.map(Span::as_secs_f64)).is_some_and(near)
}

impl Turn<'_> {
    #[track_caller]
    fn assert_same(&self, op: Op, theirs: &Decision, ours: Outcome) {
        let what = || format!("{} about {op:?}", self.limiter);
        assert_eq!(theirs.fault, None, "{}", what());
        let outcome = theirs.decided_by().unwrap().outcome;
        let same = same_wait(outcome.wait, ours.wait);
        assert!(same, "{}: {outcome}, not {ours}", what());
        assert_near(what, outcome.level, ours.level);
    }

    fn ours(&self, part: Part<'_>) -> Decision {
        self.memory.decide_one(&Part { numbers: Some(self.numbers), ..part }, Details::ALL)
    }

    /// Fails unless both say the same about an event, and whether it passes.
    async fn passes(&self, at: i64, amount: u64) -> bool {
        let Turn { limiter, store, .. } = self;
        let event =
            Event { time: Time::from_micros(at), cost: amount as f64 / 1e6, fields: &self.fields };
        let theirs = store.peek_async(&event, Details::ALL).await;
        let ours = self.ours(Part::look(&event));
        let op = Op { at, amount, is_charged: false };
        self.assert_same(op, &theirs, ours.decided_by().unwrap().outcome);
        assert_eq!(theirs.retry_after(), ours.retry_after(), "{limiter} before {op:?}");
        let remaining = |decision: &Decision| decision.quota().unwrap().remaining;
        assert_eq!(remaining(&theirs), remaining(&ours), "{limiter} before {op:?}");
        ours.is_allowed()
    }

    /// Fails unless the remaining cost passes and a millionth more does not, and unless the event passes from
    /// the instant that it is said to, and not a microsecond sooner.
    async fn look(&self, Op { at, amount, .. }: Op) {
        let (limiter, time) = (self.limiter, Time::from_micros(at));
        let event = |cost| Event { time, cost, fields: &self.fields };
        let remaining = self.ours(Part::look(&event(0.0))).quota().unwrap().remaining;
        let most = (remaining * 1e6).round() as u64;
        assert!(most == 0 || self.passes(at, most).await, "{limiter}: {most} are said to remain");
        assert!(!self.passes(at, most + 1).await, "{limiter}: no more than {most} remain");
        let looked = self.ours(Part::look(&event(amount as f64 / 1e6)));
        let retry = looked.retry_after().unwrap_or(Retry::NOW);
        let Some(then) = retry.wait().map(|wait| time.after(wait).as_micros()) else { return };
        // A longer span, in seconds, is not exact to the microsecond.
        if then < END && then - at < 1 << 51 {
            assert!(
                self.passes(then, amount).await,
                "{limiter}: {amount} is said to pass at {then}"
            );
            assert!(then == at || !self.passes(then - 1, amount).await, "{limiter}: before {then}");
        }
    }

    /// Has both decide.
    async fn decide(&self, op: Op) {
        let (time, cost) = (Time::from_micros(op.at), op.amount as f64 / 1e6);
        let event = Event { time, cost, fields: &self.fields };
        if op.is_charged {
            let _ = self.ours(Part::settle(&event, time, None));
            self.store.settle_async(&event, time, None).await.unwrap();
        } else {
            let ours = self.ours(Part::count(&event));
            let theirs = self.store.check_async(&event, Details::default()).await;
            self.assert_same(op, &theirs, ours.decided_by().unwrap().outcome);
        }
    }
}

/// Two limiters take turns, the first of them twice as often. The events that one of them counts drain by its numbers.
async fn take_turns(limiters: [AnyLimiter; 2], stores: [RedisStore; 2], user: &str, deeds: &[Op]) {
    let memory = MemoryStore::new(rules(&format!("{} per user", limiters[0])), 10);
    let rules = memory.rules();
    let numbers =
        limiters.each_ref().map(|own| Numbers::new(&rules, |_| Some(own.clone())).unwrap());
    for (i, op) in deeds.iter().enumerate() {
        let which = usize::from(i % 3 == 2);
        let turn = Turn {
            limiter: &limiters[which],
            store: &stores[which],
            memory: &memory,
            numbers: &numbers[which],
            fields: [("user", user)],
        };
        turn.decide(*op).await;
        turn.look(*op).await;
    }
}

/// Limiters of these kinds, until there were enough events.
async fn assert_alike(kinds: &'static [&'static str]) {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    let decided = async {
        let first = open(&server.url(), rules("1/1s"), patient(""));
        let mut calls = 0;
        while calls < events() {
            let mut tasks = JoinSet::new();
            while tasks.len() < CLIENTS {
                let (limiters, deeds) = drawn(kinds).new_tree(&mut runner).unwrap().current();
                if limiters.iter().any(|limiter| limiter.in_f64().is_err()) {
                    continue;
                }
                calls += CALLS * deeds.len();
                let store =
                    |limiter| first.redis().store(rules(&format!("{limiter} per user"))).unwrap();
                let (stores, user) = (limiters.each_ref().map(store), calls.to_string());
                tasks.spawn_local(async move {
                    take_turns(limiters, stores, &user, &deeds).await;
                });
            }
            tasks.join_all().await;
            server.command(&["FLUSHALL"]);
        }
    };
    LocalSet::new().run_until(decided).await;
}

/// The kinds that count.
mod decide_alike {
    use super::{KINDS, assert_alike};

    #[tokio::test]
    async fn buckets() {
        assert_alike(KINDS.split_at(3).0).await;
    }

    #[tokio::test]
    async fn fixed_windows() {
        assert_alike(&KINDS[3..=3]).await;
    }

    #[tokio::test]
    async fn sliding_windows() {
        assert_alike(&KINDS[6..=6]).await;
    }

    #[tokio::test]
    async fn sliding_counters() {
        assert_alike(&KINDS[7..=7]).await;
    }

    #[tokio::test]
    async fn sliding_logs() {
        assert_alike(&KINDS[8..=8]).await;
    }
}

/// With any rounding of the host's clock.
#[tokio::test]
async fn a_new_bucket_of_envoy_is_full() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "envoy 7/1m burst 1 per user";
    let (store, memory) =
        (open(&server.url(), rules(text), patient("new:")), MemoryStore::new(rules(text), 1000));
    for i in 0..200_i64 {
        let time = Time::from_micros(1_700_000_000_000_000 + i * 7_123_456_789);
        let user = i.to_string();
        let fields = [("user", user.as_str())];
        for passes in [true, false] {
            let theirs = super::check(&store, time, 1.0, &fields, Details::ALL).await;
            let ours = super::check(&memory, time, 1.0, &fields, Details::ALL).await;
            assert_eq!(theirs.is_allowed(), passes, "at {time}");
            assert_same(|| format!("at {time}"), &theirs, &ours);
        }
    }
}

/// A window from the first event, with numbers on Redis' side of a clock that jumps.
#[tokio::test]
async fn windows_begin_alike() {
    let Some(server) = Server::start(&[]) else { return };
    for (i, from) in ["first", "20s", "00:00+00:30"].into_iter().enumerate() {
        let text = &format!("fixed-window 3/1h from {from} per user");
        let store = open(&server.url(), rules(text), patient(&format!("from{i}:")));
        let minutes = [0, 5, 59, 60, 61, 62, 63, 64, 200, 190, 70, 30, -600, -590, -541, -539, 500];
        let at = |minute: &i64| Time::from_micros((1_000_000_000 + minute * 60) * 1_000_000);
        let events: Vec<_> = minutes.iter().map(|minute| (at(minute), 1.0)).collect();
        both(text, &store, &events).await;
    }
}

/// Crumbs, more of them than there is room for: the latest two become one.
#[tokio::test]
async fn full_logs_decide_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "sliding-log 3/1m per user";
    let (store, memory) =
        (open(&server.url(), rules(text), patient("log:")), MemoryStore::new(rules(text), 10));
    let micros = |i: i64| i * 50_000 - i64::from(i % 7 == 3) * 80_000 + 500_000;
    let event = |i| (Time::from_micros(micros(i)), 0.0007);
    // There is room for a thousand. From event 1200 on, the window loses some.
    for (time, cost) in (0..900).map(event) {
        let event = Event { time, cost, fields: &[("user", "ann")] };
        let (theirs, ours) =
            (store.settle_async(&event, time, None).await, memory.settle(&event, time, None));
        assert_eq!((theirs, ours.is_ok()), (Ok(()), true));
    }
    both_of(text, &store, &memory, "ann", &(900..1500).map(event).collect::<Vec<_>>()).await;
}

//! Waiting until an event is allowed: never sooner than the limiter allows, nobody is forgotten, and
//! a caller that gives up leaves nothing behind.

use crate::store::random::{
    COUNTING, Case, KINDS, RATES, Step, admitting, case, limiter, magnitude,
};
use proptest::prelude::*;
use ratescope::clock::{Clock, FakeClock};
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Details, Part};
use ratescope::store::Keyed;
use ratescope::waiting::{NotAllowed, Waiting, until_allowed};
use ratescope::{DirectRateLimiter, Event, MemoryStore, Policy, RateLimiter, Span, Time};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};

/// A clock that stands still, and knows when to wake its sleepers.
#[derive(Default)]
struct Alarms(FakeClock, Mutex<BTreeSet<Time>>);

impl Clock for Alarms {
    fn now(&self) -> Time {
        self.0.now()
    }

    async fn sleep(&self, span: Span) {
        self.1.lock().unwrap().insert(self.now().after(span));
        self.0.sleep(span).await;
    }
}

/// Somebody who waits for a key from some time on, and may hang up.
#[derive(Clone, Debug)]
struct Caller {
    key: u8,
    start: Time,
    cost: f64,
    hangs_up: Option<Time>,
}

type Wait<'a> = Spawn<Pin<Box<dyn Future<Output = Result<(), NotAllowed>> + Send + 'a>>>;

/// Runs all callers to their ends, from alarm to alarm. Returns who passed, and when. Nobody is polled
/// who was not woken.
fn run(keyed: &Keyed<AnyLimiter>, callers: Vec<Caller>) -> Vec<(Time, Caller)> {
    let alarms = Arc::new(Alarms::default());
    let limiter = RateLimiter::<u8, _, _>::new(keyed.clone(), Arc::clone(&alarms));
    let wait = |caller: &Caller| -> Wait<'_> {
        let (key, waiting) = (caller.key, Waiting::DEFAULT.cost(caller.cost));
        let limiter = &limiter;
        spawn(Box::pin(async move { limiter.until_key_ready_with(&key, waiting).await }))
    };
    let (mut passed, mut waiting, mut to_come) = (Vec::new(), Vec::new(), callers);
    let mut rounds = 0;
    loop {
        let now = alarms.now();
        let mut is_new = false;
        let starts = to_come.iter().position(|caller| caller.start <= now);
        if let Some(starts) = starts {
            let caller = to_come.remove(starts);
            waiting.push((wait(&caller), caller));
            is_new = true;
        }
        let last = waiting.len().saturating_sub(1);
        let mut i = 0;
        waiting.retain_mut(|(task, caller)| {
            let polls = task.is_woken() || is_new && i == last;
            i += 1;
            if caller.hangs_up.is_some_and(|at| at <= now) {
                return false;
            }
            match if polls { task.poll() } else { Poll::Pending } {
                Poll::Pending => return true,
                Poll::Ready(Ok(_)) => passed.push((now, caller.clone())),
                Poll::Ready(result) => assert_eq!(result, Err(NotAllowed::Never)),
            }
            false
        });
        if is_new {
            continue;
        }
        let alarm = alarms.1.lock().unwrap().range(micros(now.as_micros() + 1)..).next().copied();
        let ends = waiting.iter().filter_map(|(_, caller)| caller.hangs_up);
        let starts = to_come.iter().map(|caller| caller.start);
        match alarm.into_iter().chain(ends).chain(starts).min() {
            Some(next) => alarms.0.set(next),
            None => break,
        }
        rounds += 1;
        assert!(rounds < 10_000, "nobody gets on at {now}");
    }
    assert!(waiting.is_empty(), "{} wait, and nobody wakes them", waiting.len());
    passed
}

fn micros(micros: i64) -> Time {
    Time::from_micros(micros)
}

/// Callers in terms of the limiter.
fn callers() -> impl Strategy<Value = (Case, Vec<Caller>)> {
    let start = prop_oneof![Just(0.0), magnitude(-4.0, 0.5)];
    let cost = prop_oneof![2 => Just(0.0), 1 => magnitude(-2.0, 0.05)];
    let patience = prop::option::weighted(0.3, magnitude(-4.0, 1.0));
    let caller = (0..2u8, start, cost, patience);
    let callers = prop::collection::vec(caller, 1..12);
    let cases = admitting(&KINDS).prop_filter("has no queue", |case| !case.limiter.delays());
    (cases, callers).prop_map(|(case, callers)| {
        let later = |factor: f64| micros((factor * case.period.as_secs_f64() * 1e6) as i64);
        let caller = |(key, start, cost, patience): (u8, f64, f64, Option<f64>)| Caller {
            key,
            start: later(start),
            cost: case.cost(Step { gap: 0.0, cost }),
            hangs_up: patience.map(|patience| later(start + patience)),
        };
        let callers = callers.into_iter().map(caller).collect();
        (case, callers)
    })
}

proptest! {
    /// The events that passed would have passed without any waiting, at these times and in this order;
    /// and the store remembers nothing else.
    #[test]
    fn whoever_waits_passes_when_it_may((case, callers) in callers()) {
        let [keyed, plain] = [0; 2].map(|_| Keyed::new(case.limiter.clone(), 10));
        for (now, caller) in run(&keyed, callers) {
            let outcome = plain.check(&caller.key, now, caller.cost);
            prop_assert_eq!(outcome.wait, Some(Span::ZERO), "{:?} at {}", caller, now);
        }
        for key in 0..2u8 {
            prop_assert_eq!(keyed.state(&key), plain.state(&key));
        }
    }
}

/// In a queue each passes when its turn has come, as it would have been told without waiting.
#[test]
fn a_queue_is_waited_for_in_order() {
    for text in ["leaky-bucket 2/1s queue 3", "nginx 2/1s burst 3", "nginx 2/1s burst 3 delay 1"] {
        let caller = |i: i64| {
            let start = micros(i / 2 * 100_000);
            Caller {
                key: 0,
                start,
                cost: 1.0,
                hangs_up: (i == 2).then(|| start.after(Span::from_micros(1))),
            }
        };
        let keyed = Keyed::new(limiter(text), 10);
        let passed = run(&keyed, (0..6).map(caller).collect());
        let plain = Keyed::new(limiter(text), 10);
        // A caller that hangs up leaves a place. Two find the queue full, and wait until there is room.
        let mut expected = Vec::new();
        for i in 0..6 {
            let mut now = caller(i).start;
            if let Some(room) = plain.retry_after(&0u8, now, 1.0).wait() {
                now = now.after(room);
            }
            let wait = plain.check(&0u8, now, 1.0).wait.unwrap();
            expected.extend((i != 2).then(|| now.after(wait)));
        }
        let passed: Vec<Time> = passed.into_iter().map(|(at, _)| at).collect();
        assert_eq!(passed, expected, "{text}");
    }
}

/// Strict Exim counts refused events, but a caller that waits sends nothing before its time has come. A queue is
/// not entered by those for whom it is too long.
#[test]
fn nothing_is_counted_before_an_event_passes() {
    for text in
        ["exim 1.5/1s strict", "gcra 1/1s", "leaky-bucket 1/1s queue 2", "nginx 1/1s burst 2"]
    {
        let (keyed, clock) = (Keyed::new(limiter(text), 10), FakeClock::default());
        let _ = keyed.check("a", Time::ZERO, 1.0);
        let before = keyed.state("a");
        let calls = RateLimiter::<str, _, _>::new(keyed.clone(), clock);
        let soon = Waiting::DEFAULT.at_most(Duration::from_micros(1));
        let mut late = spawn(calls.until_key_ready_with("a", soon));
        assert!(matches!(assert_ready!(late.poll()), Err(NotAllowed::Refused { .. })), "{text}");
        assert_eq!(keyed.state("a"), before, "{text}");
        if text.contains("burst") || text.contains("queue") {
            continue;
        }
        let mut dropped = spawn(calls.until_key_ready("a"));
        assert_pending!(dropped.poll());
        drop(dropped);
        assert_eq!(keyed.state("a"), before, "{text}");
    }
}

#[test]
fn what_costs_too_much_never_passes() {
    let calls =
        RateLimiter::<str, _>::keyed(limiter("gcra 3/1s"), 10).with_clock(FakeClock::default());
    for (cost, gave_up) in
        [(3.0, None), (3.5, Some(NotAllowed::Never)), (f64::NAN, Some(NotAllowed::Never))]
    {
        let mut task = spawn(calls.until_key_ready_with("a", Waiting::DEFAULT.cost(cost)));
        assert_eq!(assert_ready!(task.poll()).err(), gave_up);
    }
}

/// Its wait may be longer by the jitter, but not beyond the longest wait.
#[test]
fn jitter_spreads_waits_within_the_longest() {
    let full = || {
        let keyed = Keyed::new(limiter("gcra 1/1s"), 10);
        let _ = keyed.check("a", Time::ZERO, 1.0);
        keyed
    };
    let patience = Duration::from_millis(1500);
    // Half of the waits are cut.
    let waiting = Waiting::DEFAULT.jitter(Span::from_secs(1)).at_most(patience);
    let mut waits = BTreeSet::new();
    for _ in 0..64 {
        let alarms = Arc::new(Alarms::default());
        let calls = RateLimiter::<str, _, _>::new(full(), Arc::clone(&alarms));
        let mut task = spawn(calls.until_key_ready_with("a", waiting));
        assert_pending!(task.poll());
        let alarm = *alarms.1.lock().unwrap().first().unwrap();
        assert!((1_000_000..=1_500_000).contains(&alarm.as_micros()), "{alarm}");
        waits.insert(alarm);
        alarms.0.set(alarm);
        assert_ready_ok!(task.poll());
    }
    assert!(waits.len() > 1, "always {waits:?}");
}

/// A clock whose sleepers wake at once, and find that no time has passed.
#[derive(Default)]
struct Stopped(AtomicU32);

impl Clock for Stopped {
    fn now(&self) -> Time {
        Time::ZERO
    }

    async fn sleep(&self, _: Span) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A wait has been spent even if the clock was set back meanwhile.
#[test]
fn a_clock_that_stands_still_ends_no_wait_and_prolongs_none() {
    let clock = Arc::new(Stopped::default());
    let calls = RateLimiter::direct(limiter("gcra 1/300ms")).with_clock(Arc::clone(&clock));
    assert!(calls.check().is_allowed());
    let waiting = Waiting::DEFAULT.at_most(Duration::from_millis(900));
    let mut task = spawn(calls.until_ready_with(waiting));
    let wait = Duration::from_millis(300);
    assert_eq!(assert_ready!(task.poll()), Err(NotAllowed::Refused { after: wait }));
    assert_eq!(clock.0.load(Ordering::Relaxed), 3);
}

/// A clock that is set back lengthens a wait by a period at most, as often as it is asked.
#[test]
fn nobody_waits_until_the_clock_has_caught_up() {
    for kind in COUNTING.iter().chain(RATES) {
        let limiter = case(kind, 2.0, Span::from_secs(1), 2.0).limiter;
        let (keyed, clock) = (Keyed::new(limiter, 10), FakeClock::default());
        let late = micros(86_400_000_000);
        while keyed.check("a", late, 1.0).is_allowed() {}
        let longest = Span::from_secs(1).max(keyed.retry_after("a", late, 1.0).wait().unwrap());
        let calls = RateLimiter::<str, _, _>::new(keyed.clone(), clock.clone());
        let mut task = spawn(calls.until_key_ready("a"));
        while task.poll().is_pending() {
            clock.advance(Duration::from_millis(10));
            assert!(clock.now() <= Time::ZERO.after(longest).after(longest), "{}", keyed.limiter());
        }
    }
}

/// The same for events that hardly wait and are sent again and again, into a queue that is full or has one event.
#[test]
fn nobody_is_turned_away_until_the_clock_has_caught_up() {
    for events in [1, 3] {
        let (keyed, clock) =
            (Keyed::new(limiter("leaky-bucket 2/1s queue 2"), 10), FakeClock::default());
        (0..events).for_each(|_| _ = keyed.check("a", micros(86_400_000_000), 1.0));
        let soon = Waiting::DEFAULT.at_most(Duration::from_micros(1));
        let calls = RateLimiter::<str, _, _>::new(keyed, clock.clone());
        while !matches!(spawn(calls.until_key_ready_with("a", soon)).poll(), Poll::Ready(Ok(()))) {
            clock.advance(Duration::from_millis(10));
            assert!(clock.now() <= micros(1_000_000), "{events} events");
        }
    }
}

/// All limits have to pass, at the latest of their times; the future is one for a task of any thread.
#[test]
fn a_policy_is_waited_for() {
    fn any_thread<F: Future + Send>(future: F) -> F {
        future
    }
    let policy: Policy =
        "gcra 1/1s per user & gcra 2/1m per ip & exim 9/1m strict per ip".parse().unwrap();
    let (store, clock) = (MemoryStore::new(policy, 10), FakeClock::default());
    let ann = &[("user", "ann"), ("ip", "x")];
    let passes = || spawn(any_thread(until_allowed(&store, ann, &clock, Waiting::DEFAULT)));
    let _ = assert_ready_ok!(passes().poll());
    for wait in [1, 29] {
        let mut task = passes();
        assert_pending!(task.poll());
        clock.advance(Span::from_micros(wait * 1_000_000 - 1));
        assert_pending!(task.poll());
        clock.advance(Span::from_micros(1));
        assert!(task.is_woken());
        let _ = assert_ready_ok!(task.poll());
    }
}

/// The queue of a policy is entered by those for whom it is short enough, to the microsecond.
#[test]
fn the_queue_of_a_policy_may_be_too_long() {
    let policy: Policy = "leaky-bucket 1/1s queue 3 per user & gcra 9/1m per ip".parse().unwrap();
    let (store, clock) = (MemoryStore::new(policy, 10), FakeClock::default());
    let ann = &[("user", "ann"), ("ip", "x")];
    let look = || store.peek(&Event { time: Time::ZERO, cost: 1.0, fields: ann }).wait();
    assert!(store.check(&Event { time: Time::ZERO, cost: 1.0, fields: ann }).is_allowed());
    let wait = Span::from_secs(1);
    for (longest, is_too_long) in [(Span::from_micros(999_999), true), (wait, false)] {
        let waiting = Waiting::DEFAULT.at_most(longest);
        let mut task = spawn(until_allowed(&store, ann, &clock, waiting));
        if is_too_long {
            assert_eq!(
                assert_ready!(task.poll()).err(),
                Some(NotAllowed::Refused { after: Duration::from_secs(1) })
            );
            assert_eq!(look(), Some(wait));
        } else {
            assert_pending!(task.poll());
            assert_eq!(look(), Some(Span::from_secs(2)));
        }
    }
}

/// The verdict and the wait are of the same instant.
#[test]
fn a_refusal_says_when_to_come_back() {
    let policy: Policy = "exim 1.5/1m strict per user & gcra 9/1m".parse().unwrap();
    let store = MemoryStore::new(policy, 10);
    let fields = &[("user", "ann")];
    let event = Event { time: Time::ZERO, cost: 1.0, fields };
    let check = || store.decide_one(&Part::count(&event), Details::default().with_retry());
    assert_eq!(check().retry_after(), None);
    let refused = check();
    assert_eq!((refused.is_allowed(), refused.decided_by().unwrap().at), (false, 0));
    assert_eq!(refused.retry_after(), Some(store.retry_after(&event)));
}

/// In the order in which they came, whatever they cost: nobody overtakes, and only the first is woken.
#[test]
fn whoever_came_first_passes_first() {
    let clock = FakeClock::default();
    let calls = RateLimiter::<str, _>::keyed(limiter("gcra 10/1s"), 10).with_clock(clock.clone());
    let _ = calls.check_key_n("a", 10.0);
    let mut costly = spawn(calls.until_key_ready_with("a", Waiting::DEFAULT.cost(10.0)));
    assert_pending!(costly.poll());
    let mut cheap: Vec<_> = (0..20).map(|_| spawn(calls.until_key_ready("a"))).collect();
    cheap.iter_mut().for_each(|task| assert_pending!(task.poll()));
    // Room for one that is cheap, who is not the first; and others are no matter of theirs.
    clock.advance(Duration::from_millis(100));
    assert!(!cheap.iter().any(|task| task.is_woken()));
    assert_ready_ok!(spawn(calls.until_key_ready("b")).poll());
    clock.advance(Duration::from_millis(900));
    assert!(costly.is_woken() && !cheap.iter().any(|task| task.is_woken()));
    assert_ready_ok!(costly.poll());
    for (i, done) in (0..20).enumerate() {
        // One wakes, and waits for its turn.
        let woken = cheap.iter().filter(|task| task.is_woken()).count();
        assert_eq!(woken, 1, "{done} have passed");
        assert_pending!(cheap[0].poll());
        clock.advance(Duration::from_millis(100));
        assert_ready_ok!(cheap[0].poll());
        drop(cheap.remove(0));
        assert_eq!(
            clock.now(),
            Time::ZERO.after(Span::try_from_secs_f64(1.1 + 0.1 * i as f64).unwrap())
        );
    }
}

/// A caller that hangs up, first or in between, holds up nobody.
#[test]
fn a_line_closes_up() {
    let clock = FakeClock::default();
    let calls = RateLimiter::direct(limiter("gcra 1/1s")).with_clock(clock.clone());
    let _ = calls.check();
    let mut tasks: Vec<_> = (0..4).map(|_| spawn(calls.until_ready())).collect();
    tasks.iter_mut().for_each(|task| assert_pending!(task.poll()));
    drop(tasks.remove(2));
    assert!(!tasks.iter().any(|task| task.is_woken()));
    drop(tasks.remove(0));
    assert!(tasks[0].is_woken() && !tasks[1].is_woken());
    assert_pending!(tasks[0].poll());
    clock.advance(Duration::from_secs(1));
    assert_ready_ok!(tasks[0].poll());
    // That nobody stands in it any more: the next passes at once.
    drop(tasks);
    clock.advance(Duration::from_secs(1));
    assert_ready_ok!(spawn(calls.until_ready()).poll());
}

/// Who waits in a line gives up when its time is over, and before if it is certain that it would wait for longer.
#[test]
fn a_line_may_be_too_long() {
    let clock = FakeClock::default();
    let calls = RateLimiter::direct(limiter("gcra 1/1s")).with_clock(clock.clone());
    let _ = calls.check();
    let mut first = spawn(calls.until_ready());
    assert_pending!(first.poll());
    let at_most = |millis| Waiting::DEFAULT.at_most(Duration::from_millis(millis));
    let second = Duration::from_secs(1);
    let mut soon = spawn(calls.until_ready_with(at_most(500)));
    assert_eq!(assert_ready!(soon.poll()), Err(NotAllowed::Refused { after: second }));
    let mut never = spawn(calls.until_ready_with(at_most(9000).cost(1.5)));
    assert_eq!(assert_ready!(never.poll()), Err(NotAllowed::Never));
    let mut late = spawn(calls.until_ready_with(at_most(1500)));
    assert_pending!(late.poll());
    clock.advance(second);
    assert_ready_ok!(first.poll());
    // It is the first now, and would have to wait for another half of a second too long.
    assert!(late.is_woken());
    assert_eq!(assert_ready!(late.poll()), Err(NotAllowed::Refused { after: second }));
    // The first of these is not polled, and the other gives up in time.
    let mut held_up = spawn(calls.until_ready());
    assert_pending!(held_up.poll());
    let mut late = spawn(calls.until_ready_with(at_most(3000)));
    assert_pending!(late.poll());
    clock.advance(Duration::from_millis(2999));
    assert!(!late.is_woken());
    clock.advance(Duration::from_millis(1));
    let refused = assert_ready!(late.poll());
    assert_eq!(refused, Err(NotAllowed::Refused { after: Duration::from_micros(1) }));
    // Nor does it pass before those who wait, if it does not want to wait at all.
    let mut hasty = spawn(calls.until_ready_with(at_most(0)));
    assert_eq!(
        assert_ready!(hasty.poll()),
        Err(NotAllowed::Refused { after: Duration::from_micros(1) })
    );
    assert_ready_ok!(held_up.poll());
}

/// A line for each combination of fields, and a queue within a policy that several may enter.
#[test]
fn a_policy_has_lines() {
    let policy: Policy = "gcra 1/1s per user & leaky-bucket 1/1s queue 9 per ip".parse().unwrap();
    let (store, clock) = (MemoryStore::new(policy, 10), FakeClock::default());
    let [ann, bob] = ["ann", "bob"].map(|user| [("user", user), ("ip", "x")]);
    let wait = |fields| spawn(store.until_allowed(fields, &clock, Waiting::DEFAULT));
    let _ = assert_ready_ok!(wait(&ann).poll());
    let mut tasks = [wait(&ann), wait(&ann), wait(&bob)];
    tasks.iter_mut().for_each(|task| assert_pending!(task.poll()));
    // Bob is in the queue of the address, before Ann.
    clock.advance(Duration::from_secs(1));
    assert_eq!([0, 1, 2].map(|i: usize| tasks[i].is_woken()), [true, false, true]);
    let _ = assert_ready_ok!(tasks[2].poll());
    // Now Ann is in the queue, and out of the line.
    assert_pending!(tasks[0].poll());
    assert!(tasks[1].is_woken());
    assert_pending!(tasks[1].poll());
    clock.advance(Duration::from_secs(1));
    let _ = assert_ready_ok!(tasks[0].poll());
}

/// The caller's conversion may ask the limiter itself.
#[test]
fn a_cost_is_known_before_the_lock() {
    struct Left<'a>(&'a DirectRateLimiter<AnyLimiter, FakeClock>);
    impl From<Left<'_>> for f64 {
        fn from(Left(limiter): Left<'_>) -> f64 {
            limiter.peek().remaining()
        }
    }
    let calls = RateLimiter::direct(limiter("gcra 10/1s")).with_clock(FakeClock::default());
    calls.charge(Left(&calls)).unwrap();
    assert_eq!(calls.peek().remaining(), 0.0);
}

/// So may its clock.
#[test]
fn a_clock_is_read_before_the_lock() {
    struct Asks(DirectRateLimiter<AnyLimiter, FakeClock>);
    impl Clock for Asks {
        fn now(&self) -> Time {
            let _ = self.0.peek();
            self.0.clock().now()
        }

        async fn sleep(&self, span: Span) {
            self.0.clock().sleep(span).await;
        }
    }
    let asked = RateLimiter::direct(limiter("gcra 10/1s")).with_clock(FakeClock::default());
    let calls: DirectRateLimiter<AnyLimiter, Asks> =
        RateLimiter::new(asked.states().clone(), Asks(asked));
    calls.charge(4.0).unwrap();
    assert!(calls.check_n(3.0).is_allowed());
    let counted = calls.check();
    assert!(counted.is_allowed() && counted.undo());
    assert_ready_ok!(spawn(calls.until_ready()).poll());
    assert_eq!(calls.peek().remaining(), 2.0);
}

/// A thread that waits needs no other, which a forked process does not have.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_waits_by_itself() {
    let me = std::env::current_exe().unwrap();
    let args = ["--exact", "--include-ignored", "store::waiting::of_a_process_of_its_own"];
    let output = std::process::Command::new(me).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "a_thread_waits_by_itself runs it"]
fn of_a_process_of_its_own() {
    let calls = RateLimiter::direct(limiter("gcra 1/1ms"));
    (0..3).for_each(|_| calls.block_until_ready().unwrap());
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap());
    let names: Vec<String> = names.collect();
    assert!(!names.iter().any(|name| name.starts_with("ratescope")), "{names:?}");
}

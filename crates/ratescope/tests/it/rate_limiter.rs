//! The limiter with a clock, as a program has it.

use futures_util::FutureExt;
use ratescope::clock::{Clock, FakeClock, MonotonicClock, SystemClock};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::limit::per_key::PerKey;
use ratescope::limit::token_bucket::TokenBucket;
use ratescope::rules::{Fault, MemoryStore};
use ratescope::waiting::{NotAllowed, Waiting};
use ratescope::{DirectRateLimiter, Event, Limiter, Policy, RateLimiter, Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn direct(limiter: Gcra) -> (DirectRateLimiter<Gcra, FakeClock>, FakeClock) {
    let clock = FakeClock::default();
    (RateLimiter::direct(limiter).with_clock(clock.clone()), clock)
}

#[test]
fn one_key() {
    let (calls, clock) = direct(Gcra::per_second(2));
    assert_eq!(calls.check().remaining(), 1.0);
    assert_eq!(calls.peek().remaining(), 1.0);
    assert_eq!(calls.check().retry_after(), Some(Duration::ZERO));
    let refused = calls.check();
    assert!(!refused.is_allowed());
    assert_eq!(refused.to_string(), "refused: level 3, limit 2");
    assert_eq!(refused.retry_after(), Some(Duration::from_millis(500)));
    assert_eq!((refused.remaining(), refused.reset_after()), (0.0, SECOND));
    assert!(!refused.undo(), "a refused event was not counted");
    clock.advance(Duration::from_millis(500));
    assert!(calls.check().is_allowed());
    assert!(!calls.clone().check().is_allowed(), "a clone has the same states");
    calls.reset();
    assert_eq!(calls.peek().remaining(), 2.0);
    assert!(calls.peek().is_allowed() && !calls.peek().undo());
}

#[test]
fn costs() {
    let (bytes, clock) = direct(Gcra::per_second(1000));
    assert!(bytes.check_n(600).is_allowed());
    assert_eq!(bytes.check_n(600).retry_after(), Some(Duration::from_millis(200)));
    assert_eq!(bytes.check_n(1000.5).retry_after(), None);
    assert!(!bytes.check_n(f64::NAN).is_allowed() && !bytes.check_n(-1).is_allowed());
    bytes.charge(1400).unwrap();
    assert!(bytes.charge(-1).is_err());
    assert_eq!(bytes.check().retry_after(), Some(Duration::from_millis(1001)));
    clock.advance(2 * SECOND);
    let failed = bytes.check_n(300);
    assert!(failed.is_allowed() && failed.undo());
    assert_eq!(bytes.peek().remaining(), 1000.0);
}

#[test]
fn many_keys() {
    let clock = FakeClock::default();
    let users = RateLimiter::<str, _>::keyed(Gcra::per_minute(6), 100).with_clock(clock.clone());
    assert!(users.check_key_n("ann", 6).is_allowed());
    assert!(!users.check_key(&String::from("ann")).is_allowed(), "a String is the key of its str");
    assert!(
        users.check_key("joe").is_allowed() && users.check_key(&String::from("eve")).is_allowed()
    );
    assert_eq!(users.peek_key("ann").retry_after(), Some(10 * SECOND));
    users.charge_key("bob", 7).unwrap();
    assert_eq!(users.check_key("bob").retry_after(), Some(20 * SECOND));
    users.reset_key("ann");
    assert!(users.check_key("ann").is_allowed());
    // With a time from elsewhere.
    assert_eq!(users.states().remaining("ann", Time::ZERO), 5.0);
    assert_eq!((users.states().len(), users.limiter()), (4, &Gcra::per_minute(6)));
}

/// The decision about an event that passes after a wait says so, and the wait is kept.
#[test]
fn a_queue() {
    let clock = FakeClock::default();
    let jobs = RateLimiter::direct(LeakyBucket::per_second(2)).with_clock(clock.clone());
    assert_eq!(jobs.check().wait(), Duration::ZERO);
    assert_eq!(jobs.check().wait(), Duration::from_millis(500));
    assert_eq!(jobs.check().wait(), Duration::ZERO, "it was refused");
    let late = jobs.until_ready_with(Waiting::DEFAULT.at_most(Duration::from_millis(499)));
    assert_eq!(
        late.now_or_never(),
        Some(Err(NotAllowed::Refused { after: Duration::from_millis(500) }))
    );
}

#[test]
fn threads_share_it() {
    let (calls, _) = direct(Gcra::per_hour(1000));
    let passed = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let count = (0..400).filter(|_| calls.check().is_allowed()).count();
                passed.fetch_add(count as u32, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(passed.into_inner(), 1000);
}

/// Neither waits for less than the limit says: three in turn, at 50 a second, take 40 ms.
#[test]
fn without_a_runtime() {
    let limiter = || RateLimiter::direct(Gcra::per_second(50).with_burst(1));
    let begin = MonotonicClock.now();
    let calls = limiter();
    (0..3).for_each(|_| calls.block_until_ready().unwrap());
    assert!(begin.until(MonotonicClock.now()) >= Span::from_micros(40_000));

    let (begin, calls) = (MonotonicClock.now(), limiter());
    let waits = async {
        futures_util::future::join3(calls.until_ready(), calls.until_ready(), calls.until_ready())
            .await
    };
    assert_eq!(block(waits), (Ok(()), Ok(()), Ok(())));
    assert!(begin.until(MonotonicClock.now()) >= Span::from_micros(40_000));
}

/// Runs a future on this thread, as an executor does that knows no timers.
fn block<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = Box::pin(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            std::task::Poll::Ready(result) => return result,
            std::task::Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_sleep_that_is_dropped_wakes_nobody() {
    struct Count(AtomicU32);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (count, clock) = (Arc::new(Count(AtomicU32::new(0))), FakeClock::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let mut sleeps = [1, 1, 2].map(|seconds| {
        let clock = clock.clone();
        Box::pin(async move { clock.sleep(Span::from_secs(seconds)).await })
    });
    for sleep in &mut sleeps {
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        assert!(sleep.as_mut().poll(&mut context).is_pending());
    }
    let [first, dropped, last] = sleeps;
    drop(dropped);
    assert_eq!(Arc::strong_count(&count), 4, "this, the waker, and two that sleep");
    clock.advance(SECOND);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    drop((first, last));
    clock.advance(SECOND);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
}

/// Both begin at the Unix epoch, so that windows are aligned to hours and days.
#[test]
fn clocks_agree() {
    let (monotonic, system) = (MonotonicClock.now(), SystemClock.now());
    assert!(system.since(monotonic).abs() < 3600.0, "{monotonic}, {system}");
    assert!(MonotonicClock.now() >= monotonic);
}

#[test]
fn any_limiter_will_do() {
    for (text, passes) in [
        ("token-bucket 2/1s", 2),
        ("sliding-counter 3/1s", 3),
        ("exim 4/1s leaky", 4),
        ("fixed-window 0/1s", 0),
    ] {
        let limiter: AnyLimiter = text.parse().unwrap();
        let keyed = RateLimiter::<u32, _>::keyed(limiter, 10).with_clock(FakeClock::default());
        let passed = (0..9).filter(|_| keyed.check_key(&1).is_allowed()).count();
        assert_eq!(passed, passes, "{text}");
    }
}

/// A number from elsewhere may be 0, and a customer may have nothing.
#[test]
fn a_limit_of_nothing() {
    let gcra = [Gcra::none(), Gcra::per_minute(0), Gcra::per_second(9).with_burst(0)];
    let gcra = gcra.into_iter().chain([Gcra::none().with_burst(9)]).map(AnyLimiter::from);
    let others = [TokenBucket::per_day(0).into(), LeakyBucket::per_hour(0).into()];
    let read = ["0/1m", "gcra 0/1m", "gcra 0/1m burst 0", "sliding-log 0/1h"];
    let read = read.map(|text| text.parse::<AnyLimiter>().unwrap());
    for limiter in gcra.chain(others).chain(read) {
        assert_eq!(limiter.to_string().parse(), Ok(limiter.clone()));
        assert_eq!(Limiter::max_admitted(&limiter, Span::from_hours(9), 1.0), 0.0, "{limiter}");
        assert_eq!(limiter.quota().map(|quota| quota.count()), Some(0.0), "{limiter}");
        let clock = FakeClock::default();
        let keyed = RateLimiter::<u32, _>::keyed(limiter.clone(), 10).with_clock(clock.clone());
        for _ in 0..3 {
            let checked = keyed.check_key(&1);
            assert!(!checked.is_allowed(), "{limiter}");
            assert_eq!((checked.retry_after(), checked.remaining()), (None, 0.0), "{limiter}");
            assert_eq!(keyed.block_until_key_ready(&1), Err(NotAllowed::Never), "{limiter}");
            clock.advance(Duration::from_secs(1_000_000));
        }
        assert!(keyed.states().is_empty(), "{limiter}");
        keyed.charge_key(&1, 5).unwrap();
        assert!(!keyed.check_key(&1).is_allowed() && keyed.check_key_n(&2, 0).is_allowed());
    }
    // Events that were counted before go on counting.
    let users = RateLimiter::<str, _>::keyed(PerKey::new(Gcra::per_hour(2)), 10)
        .with_clock(FakeClock::default());
    assert!(users.check_key("ann").is_allowed());
    assert!(!users.check_key_with(Gcra::none(), "ann").is_allowed());
    assert_eq!([0; 2].map(|_| users.check_key("ann").is_allowed()), [true, false]);
}

#[test]
fn threads_and_tasks() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>(of: T) -> T {
        of
    }
    fn sent<T: Send>(_: T) {}
    let calls = shared(RateLimiter::direct(Gcra::per_second(1)));
    let keyed = shared(RateLimiter::<u32, _>::keyed(Gcra::per_second(1), 10));
    sent(calls.until_ready());
    sent(keyed.until_key_ready(&7));
    sent(calls.check());
}

/// A user's limit comes from elsewhere, and may change with each event.
#[test]
fn a_limit_of_a_users_own() {
    let clock = FakeClock::default();
    let users = PerKey::new(Gcra::per_minute(6));
    let users = RateLimiter::<str, _>::keyed(users, 100).with_clock(clock.clone());
    let [small, large] = [1, 60].map(Gcra::per_minute);
    // The default, and one of ann's own.
    assert!(users.check_key_n("bob", 6).is_allowed() && !users.check_key("bob").is_allowed());
    assert!(users.check_key_n_with(large, "ann", 40).is_allowed());
    assert!(!users.check_key_n_with(large, "ann", 21).is_allowed());
    // It drains at the rate by which it was counted, also for an event with other numbers, which changes nothing.
    let refused = users.check_key_with(small, "ann");
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(40)));
    clock.advance(39 * SECOND);
    assert!(!users.check_key_with(small, "ann").is_allowed());
    clock.advance(SECOND);
    assert_eq!(users.check_key_with(small, "ann").remaining(), 0.0);
    // It was counted by the small one, and drains at its rate from now on.
    clock.advance(30 * SECOND);
    assert_eq!(users.check_key_with(large, "ann").remaining(), 60.0 - 1.5);
    // A cost that its limit never allows, though the default would.
    assert_eq!(users.check_key_n_with(small, "eve", 3).retry_after(), None);
    users.reset_key("ann");
    assert_eq!(users.peek_key("ann").remaining(), 6.0);
}

/// Any number of limits: those of a hundred thousand users are more than are shared.
#[test]
fn as_many_limits_as_users() {
    let users = RateLimiter::<u32, _>::keyed(PerKey::new(Gcra::per_hour(1)), 2000);
    let users = users.with_clock(FakeClock::default());
    for round in 0..2 {
        for user in 1..=1000u32 {
            let own = Gcra::per_hour(user);
            let checked = users.check_key_with(own, &user);
            assert_eq!(checked.is_allowed(), user > round, "{user}");
            assert_eq!(checked.remaining(), f64::from(user.saturating_sub(round + 1)), "{user}");
        }
    }
}

/// With another algorithm a key starts over.
#[test]
fn a_limit_of_another_shape() {
    let limit = |text: &str| text.parse::<AnyLimiter>().unwrap();
    let users = RateLimiter::<str, _>::keyed(PerKey::new(limit("gcra 1/1h")), 10);
    let users = users.with_clock(FakeClock::default());
    let log = Arc::new(limit("sliding-log 3/1h"));
    assert!(users.check_key("ann").is_allowed() && !users.check_key("ann").is_allowed());
    assert_eq!(
        (0..9).filter(|_| users.check_key_with(Arc::clone(&log), "ann").is_allowed()).count(),
        3
    );
    let bucket = Arc::new(limit("token-bucket 5/1h"));
    assert_eq!(
        (0..9).filter(|_| users.check_key_with(Arc::clone(&bucket), "ann").is_allowed()).count(),
        5
    );
}

/// A key that its own limiter refuses is not evicted, though the default would never allow so much.
#[test]
fn a_refused_key_with_a_limit_of_its_own_is_protected() {
    let users = RateLimiter::<u32, _>::keyed(PerKey::new(Gcra::per_hour(1)), 7);
    let users = users.with_clock(FakeClock::default());
    let large = Gcra::per_hour(100);
    assert!(users.check_key_n_with(large, &1000, 90).is_allowed());
    assert!(!users.check_key_n_with(large, &1000, 20).is_allowed());
    (0..100).for_each(|key| _ = users.check_key(&key));
    assert!(!users.check_key_n_with(large, &1000, 11).is_allowed());
    assert!(users.check_key_n_with(large, &1000, 10).is_allowed());
}

/// An event that waits in a queue may pass.
#[test]
fn a_check_is_a_result() {
    let calls = RateLimiter::direct(Gcra::per_hour(2)).with_clock(FakeClock::default());
    assert_eq!(calls.check_n(3).allowed().map(drop), Err(NotAllowed::Never));
    assert_eq!(calls.check_n(2).allowed().map(|checked| checked.remaining()), Ok(0.0));
    let later = NotAllowed::Refused { after: Duration::from_secs(1800) };
    assert_eq!(calls.check().allowed().map(drop), Err(later));
    let queue: AnyLimiter = "leaky-bucket 1/1s queue 2".parse().unwrap();
    let queue = RateLimiter::direct(queue).with_clock(FakeClock::default());
    let waits = [(); 3].map(|()| queue.check().allowed().map(|checked| checked.wait()));
    let later = Err(NotAllowed::Refused { after: Duration::from_secs(1) });
    assert_eq!(waits, [Ok(Duration::ZERO), Ok(Duration::from_secs(1)), later]);
}

#[test]
fn a_decision_is_a_result() {
    let store = MemoryStore::new("gcra 1/1m per user".parse::<Policy>().unwrap(), 10);
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
    assert!(store.check(&event).allowed().is_ok_and(|decision| decision.is_allowed()));
    assert_eq!(store.check(&event).allowed().map(drop), Err(NotAllowed::Unknown));
    let mut failed = store.check(&event);
    failed.fault = Some(Fault::Late);
    let error = failed.allowed().unwrap_err();
    assert_eq!(
        (error.retry_after(), error.to_string()),
        (None, "the event is refused while its store can't be asked".to_owned())
    );
}

//! Waiting for any store that decides by rules, wherever it is.

use crate::store::far::{Far, ruled};
use crate::store::random::{COUNTING, RATES, case};
use crate::store::set_back::assert_followed;
use ratescope::clock::FakeClock;
use ratescope::rules::Fault;
use ratescope::waiting::{NotAllowed, Waiting, until_allowed};
use ratescope::{Event, Span, Time};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};

#[test]
fn any_store_is_waited_for() {
    let mut far =
        Far::new("domain: d\nlimit: exim 1.5/1m strict per user & gcra 1/1s per user\n", 0);
    let clock = FakeClock::default();
    let fields = [("user", "ann")];
    let _ = assert_ready_ok!(spawn(until_allowed(&far, &fields, &clock, Waiting::DEFAULT)).poll());
    {
        let mut task = spawn(until_allowed(&far, &fields, &clock, Waiting::DEFAULT));
        assert_pending!(task.poll());
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
        let wait = far.ruled.retry_after(&event).wait().unwrap();
        clock.set(Time::ZERO.after(wait));
        let _ = assert_ready_ok!(task.poll());
    }
    // Nobody knows when it will be back.
    far.fault = Some(Fault::Late);
    let mut task = spawn(until_allowed(&far, &fields, &clock, Waiting::DEFAULT));
    assert_eq!(assert_ready!(task.poll()).err(), Some(NotAllowed::Fault(Fault::Late)));
}

/// A caller that leaves while the store is asked has counted once or not at all, and the next one passes as ever.
#[test]
fn it_may_be_dropped_at_any_await_point() {
    let (clock, fields) = (FakeClock::default(), [("user", "ann")]);
    let mut counted = Vec::new();
    for polls in 0.. {
        let far = Far::new("domain: d\nlimit: fixed-window 2/1m per user\n", 2);
        let mut task = spawn(until_allowed(&far, &fields, &clock, Waiting::DEFAULT));
        let is_done = (0..polls).any(|_| task.poll().is_ready());
        drop(task);
        let mut left = 0;
        let next = |far: &Far| {
            let mut task = spawn(until_allowed(far, &fields, &clock, Waiting::DEFAULT));
            (0..9).any(|_| task.poll().is_ready())
        };
        while next(&far) {
            left += 1;
        }
        counted.push(2 - left);
        if is_done {
            break;
        }
    }
    // It is looked at and counted in one step, whose answer takes two polls more.
    assert_eq!(counted, [0, 1, 1, 1]);
}

/// A clock that is set back lengthens a wait by a period at most, also for a store that can't give back.
#[test]
fn nobody_waits_until_the_clock_has_caught_up() {
    for kind in COUNTING.iter().chain(RATES) {
        let limiter = case(kind, 2.0, Span::from_secs(1), 2.0).limiter;
        let rules = format!("domain: d\nlimit: {limiter} per user\n");
        assert_ready!(spawn(assert_followed(&ruled(&rules))).poll());
        assert_ready!(spawn(assert_followed(&Far::new(&rules, 0))).poll());
    }
}

//! When the clock is set back, nobody is protected until it has caught up.

use crate::store::random::{KINDS, case, limiter};
use crate::store::{gcra, is_held_back, remembered, seconds, sends};
use ratescope::limit::any::AnyLimiter;
use ratescope::store::Keyed;
use ratescope::{Span, Time};

/// Enough new keys to push out everybody who may go; each time others.
fn flood(keyed: &Keyed<AnyLimiter>, now: Time) {
    for key in 1000..1040 {
        let _ = keyed.check(&(key, now), now, 1.0);
    }
}

/// A key is refused, and the clock goes back by a thousand periods, which is further than any of
/// these takes to forget. From the first who needs room on, it takes two periods at most: one from
/// where the state follows the clock, and the wait that was due. So it is whenever that first one
/// comes, and by whatever limiter; but nginx, whose clock is never set back, would refuse until it
/// has caught up.
#[test]
fn protection_ends_within_a_period_or_so() {
    let period = 60;
    for kind in KINDS.into_iter().filter(|kind| !kind.starts_with("nginx")) {
        for later in [0, 10 * period] {
            let keyed = Keyed::new(case(kind, 5.0, Span::from_secs(period as u64), 5.0).limiter, 7);
            let (before, after) = (seconds(2000 * period), 1000 * period + later);
            is_held_back(&keyed, 0, before);
            flood(&keyed, before);
            assert_eq!(remembered(&keyed), [0], "{kind}: it is being refused");
            flood(&keyed, seconds(after));
            assert_eq!(remembered(&keyed), [0], "{kind}: the clock was set back");
            flood(&keyed, seconds(after + 2 * period));
            assert!(remembered(&keyed).is_empty(), "{kind}: and it is over");
        }
    }
}

/// By less than a state takes to be as new, it waits for the clock, and is not protected for
/// longer.
#[test]
fn protection_ends_when_the_clock_has_caught_up() {
    for kind in KINDS {
        let keyed = Keyed::new(case(kind, 5.0, Span::from_secs(60), 5.0).limiter, 7);
        is_held_back(&keyed, 0, seconds(1000));
        flood(&keyed, seconds(950));
        flood(&keyed, seconds(980));
        assert_eq!(remembered(&keyed), [0], "{kind}: the clock was set back");
        flood(&keyed, seconds(1000 + 120));
        assert!(remembered(&keyed).is_empty(), "{kind}: and it is over");
    }
}

/// Threads that hand in their events a little out of order free nobody.
#[test]
fn events_out_of_order_free_nobody() {
    for kind in KINDS {
        let keyed = Keyed::new(case(kind, 5.0, Span::from_secs(60), 5.0).limiter, 7);
        is_held_back(&keyed, 0, seconds(1000));
        for i in 0..200 {
            let now = seconds(1000 + if i % 3 == 0 { 0 } else { -(i % 7) });
            let _ = keyed.check(&(1000 + i), now, 1.0);
        }
        assert_eq!(remembered(&keyed), [0], "{kind}");
        assert!(!sends(&keyed, 0, seconds(1000)), "{kind}");
    }
}

/// The order of use is counted, not timed.
#[test]
fn the_order_of_use_does_not_follow_the_clock() {
    let keyed = Keyed::new(gcra(), 7);
    for (key, at) in
        [(0, 5000), (1, 100), (2, 4000), (3, 90), (4, 3000), (5, 80), (6, 2000), (7, 1)]
    {
        sends(&keyed, key, seconds(at));
    }
    sends(&keyed, 8, seconds(0));
    sends(&keyed, 9, seconds(9000));
    assert_eq!(remembered(&keyed), (2..10).collect::<Vec<_>>());
}

/// A thread that hands in its event ten seconds late finds all that counted then.
#[test]
fn nothing_is_freed_that_a_late_event_counts() {
    let keyed = Keyed::new(limiter("sliding-log 1/1m"), 10);
    let passes = |key: &str, at| keyed.check(key, seconds(at), 1.0).is_allowed();
    assert!(passes("ann", 0));
    assert_eq!((0..40).filter(|_| passes("bob", 61)).count(), 1);
    assert!(!passes("ann", 59));
}

/// The latest time is saved, too: only by it a restored store knows that the clock was set back.
#[test]
fn a_restored_store_knows_the_latest_time() {
    let gcra = || limiter("gcra 5/60s");
    let keyed = Keyed::new(gcra(), 7);
    is_held_back(&keyed, 0, seconds(120_000));
    let keyed = Keyed::restore(gcra(), 7, &keyed.save(seconds(120_000))).unwrap();
    flood(&keyed, seconds(60_000));
    assert_eq!(remembered(&keyed), [0]);
    flood(&keyed, seconds(60_120));
    assert!(remembered(&keyed).is_empty());
}

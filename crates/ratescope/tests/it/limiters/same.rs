//! Algorithms that are two forms of one, and how far apart the others are.

use crate::limiters::{Case, cases, limiter, micros_later, steps};
use proptest::prelude::*;
use ratescope::limit::sliding_window::SlidingWindow;
use ratescope::{Limiter, Rate, Span, Time};

const BUCKETS: &[&str] = &["token-bucket {rate} burst {n}"];
const WINDOWS: &[&str] = &["fixed-window {rate}"];

/// The same events through two limiters: equal in every number.
fn assert_same(case: &Case, other: &str, events: &[(Time, f64)]) {
    let (a, b) = (&case.limiter, &limiter(other));
    let (mut state_a, mut state_b) = (a.initial(), b.initial());
    for &(at, cost) in events {
        assert_eq!(a.remaining(&state_a, at), b.remaining(&state_b, at), "remaining at {at}");
        assert_eq!(a.reset_after(&state_a, at), b.reset_after(&state_b, at), "reset at {at}");
        let (x, y) = (a.check(&mut state_a, at, cost), b.check(&mut state_b, at, cost));
        assert_eq!(x, y, "{a} and {b} at {at}, cost {cost}");
    }
}

proptest! {
    /// For any events, also where time runs backwards.
    #[test]
    fn gcra_is_the_token_bucket(case in cases(BUCKETS), steps in steps(true)) {
        let other = case.limiter.to_string().replace("token-bucket", "gcra");
        assert_same(&case, &other, &case.events(&steps));
    }

    /// The queue admits the same events as the token bucket, and says how long it takes to come out.
    #[test]
    fn the_leaky_bucket_admits_as_the_token_bucket(case in cases(BUCKETS), steps in steps(true)) {
        let text = case.limiter.to_string();
        let queue = limiter(&text.replace("token-bucket", "leaky-bucket").replace("burst", "queue"));
        let (tokens, mut state) = (case.run(&steps).0, queue.initial());
        for ((at, cost), tokens) in case.events(&steps).into_iter().zip(tokens) {
            let before = queue.reset_after(&state, at);
            let queued = queue.check(&mut state, at, cost);
            match queued.wait {
                Some(wait) => prop_assert_eq!(wait, before),
                _ => prop_assert_eq!(queued, tokens),
            }
            prop_assert_eq!((queued.level, queued.limit), (tokens.level, tokens.limit));
            prop_assert_eq!(queued.is_allowed(), tokens.is_allowed());
        }
    }

    /// Also where time runs backwards, but not to before a refused event: at such an event a sliding window frees
    /// the blocks that have left it, and a fixed window keeps the only one it has.
    #[test]
    fn a_sliding_window_of_one_block_is_the_fixed_window(
        case in cases(WINDOWS),
        steps in steps(true),
    ) {
        let precision = format!(" precision {}", case.period);
        let other = case.limiter.to_string().replace("fixed", "sliding") + &precision;
        let (mut events, mut state) = (case.events(&steps), case.limiter.initial());
        let mut refused: Option<Time> = None;
        events.retain(|&(at, cost)| {
            let is_kept = refused.is_none_or(|refused| at >= refused);
            if is_kept && !case.limiter.check(&mut state, at, cost).is_allowed() {
                refused = Some(at);
            }
            is_kept
        });
        assert_same(&case, &other, &events);
    }

    /// With blocks of a microsecond, as fine as time is.
    #[test]
    fn a_sliding_window_of_microseconds_is_the_sliding_log(
        count in 1u32..30,
        micros in 1u64..=10_000,
        steps in steps(true),
    ) {
        let rate = Rate::new(f64::from(count), Span::from_micros(micros)).unwrap();
        let window = format!("sliding-window {rate} precision 1us");
        let case = Case { limiter: limiter(&window), count: rate.count(), period: rate.per() };
        assert_same(&case, &format!("sliding-log {rate}"), &case.events(&steps));
    }

    /// The bound on the way there. After the same events, the window counts no less than the log
    /// of a duration shorter by one precision, and no more than the log of the whole duration: the
    /// two differ only over events whose age is within a precision of the duration.
    #[test]
    fn a_sliding_window_is_within_a_precision_of_the_log(
        precision in 1u64..100_000,
        blocks in 1u64..50,
        gaps in prop::collection::vec((0u64..200_000, 0u32..5), 1..80),
    ) {
        let (duration, block) = (Span::from_micros(precision * blocks), Span::from_micros(precision));
        let limiter = SlidingWindow::new(Rate::new(1e9, duration).unwrap(), block).unwrap();
        let (mut state, mut now, mut events) = (limiter.initial(), 0, Vec::new());
        let shorter = Span::from_micros(precision * (blocks - 1));
        let count = |events: &[(Time, f64)], window, now: Time| {
            let inside = events.iter().filter(|(at, _)| *at > now.before(window));
            inside.map(|(_, cost)| cost).sum::<f64>()
        };
        for (gap, cost) in gaps {
            now += gap as i64;
            let (at, cost) = (Time::from_micros(now), f64::from(cost));
            let _ = limiter.check(&mut state, at, cost);
            events.push((at, cost));
            // A while later too.
            for at in [at, Time::from_micros(now + gap as i64 / 2)] {
                let level = limiter.peek(&state, at, 0.0).level;
                prop_assert!(count(&events, shorter, at) <= level);
                prop_assert!(level <= count(&events, duration, at));
            }
        }
    }
}

/// The queue lets events out steadily, however they come in. An event leaves when it comes, or when its
/// predecessor has been out for its share of the rate, whichever is later. An event is refused exactly if
/// it does not fit into the queue.
#[test]
fn the_output_of_a_leaky_bucket_is_steady() {
    let queue = limiter("leaky-bucket 10/1s queue 20");
    let (mut state, mut at, mut free) = (queue.initial(), Time::ZERO, Time::ZERO);
    let (mut at_once, mut queued, mut refused) = (0, 0, 0);
    for i in 0..3000i64 {
        // A little faster than the rate, with a pause now and then that empties the queue.
        let gap = if i % 100 == 0 { 3_000_000 } else { i * i * 7_919 % 160_000 };
        at = micros_later(at, gap);
        let full = free.since(at) > 1.9;
        match queue.check(&mut state, at, 1.0).wait {
            Some(wait) => {
                assert!(!full, "{at}");
                assert_eq!(at.after(wait), at.max(free));
                *(if free > at { &mut queued } else { &mut at_once }) += 1;
                free = micros_later(at.max(free), 100_000);
            }
            _ => {
                assert!(full, "{at}");
                refused += 1;
            }
        }
    }
    assert!(at_once > 20 && queued > 1000 && refused > 20, "{at_once} {queued} {refused}");
}

//! Each limiter at its edges, one by one.

use crate::limiters::{KINDS, case, limiter};
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::{Limiter, Retry, Span, Time};

/// How many of `times` pass.
fn passed(text: &str, times: impl IntoIterator<Item = f64>) -> Vec<bool> {
    let limiter = limiter(text);
    let mut state = limiter.initial();
    let check =
        |at| limiter.check(&mut state, Time::try_from_secs_f64(at).unwrap(), 1.0).is_allowed();
    times.into_iter().map(check).collect()
}

fn count(text: &str, times: impl IntoIterator<Item = f64>) -> usize {
    passed(text, times).into_iter().filter(|ok| *ok).count()
}

/// Twice the limit within a moment, around the edge of a fixed window; the others see through it,
/// but for the counter, to which the edge looks like any other time.
#[test]
fn a_burst_at_a_windows_edge() {
    let burst = || (0..40).map(|i| 59.8 + f64::from(i) * 0.01);
    assert_eq!(count("fixed-window 10/1m", burst()), 20);
    assert_eq!(count("sliding-window 10/1m precision 1m", burst()), 20);
    assert_eq!(count("sliding-window 10/1m precision 1s", burst()), 10);
    assert_eq!(count("sliding-counter 10/1m", burst()), 10);
    assert_eq!(count("sliding-log 10/1m", burst()), 10);
    assert_eq!(count("token-bucket 10/1m", burst()), 10);
    assert_eq!(count("gcra 10/1m", burst()), 10);
}

/// Exactly a period after it came, an event no longer counts; a microsecond before, it does.
#[test]
fn an_event_leaves_the_log_after_exactly_a_period() {
    assert_eq!(passed("sliding-log 1/1s", [0.5, 1.499999, 1.5]), [true, false, true]);
    assert_eq!(passed("fixed-window 1/1s", [0.5, 0.999999, 1.0]), [true, false, true]);
    assert_eq!(
        passed("sliding-window 1/1s precision 250ms", [0.6, 1.499999, 1.5]),
        [true, false, true]
    );
}

/// A window that is no whole number of blocks is as long as the next whole number.
#[test]
fn blocks_that_do_not_fit_are_rounded_up() {
    let times = [0.0, 10.0, 11.999999, 12.0];
    assert_eq!(passed("sliding-window 1/10s precision 4s", times), [true, false, false, true]);
}

/// Before the origin windows are aligned to it as after it.
#[test]
fn time_before_the_origin() {
    for text in ["fixed-window 1/10s", "sliding-window 1/10s precision 10s"] {
        assert_eq!(passed(text, [-10.0, -0.000001, 0.0]), [true, false, true], "{text}");
    }
    for text in ["gcra 1/10s", "token-bucket 1/10s", "sliding-log 1/10s", "exim 2/10s"] {
        assert!(passed(text, [-1e9])[0], "{text}");
    }
}

/// A sender that was never seen has nothing to wait for, wherever the origin of time is.
#[test]
fn who_was_never_seen_is_reset() {
    for kind in KINDS {
        let limiter = case(kind, 10.0, Span::from_secs(1), 10.0).limiter;
        for at in [i64::MIN, -1_000_000_000, 0, 1_000_000_000] {
            let reset = limiter.reset_after(&limiter.initial(), Time::from_micros(at));
            assert_eq!(reset, Span::ZERO, "{limiter} at {at}");
        }
    }
}

/// A fraction of a token is not a token.
#[test]
fn tokens_come_whole() {
    let times = [0.0, 0.5, 0.999999, 1.0];
    assert_eq!(passed("token-bucket 1/1s", times), [true, false, false, true]);
}

/// A cost of 0 is a question: it passes, and nothing comes of it.
#[test]
fn a_cost_of_zero_counts_nothing() {
    for text in ["gcra 2/1s", "fixed-window 2/1s", "sliding-log 2/1s", "sliding-counter 2/1s"] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        for _ in 0..5 {
            assert_eq!(limiter.check(&mut state, Time::ZERO, 0.0).level, 0.0, "{text}");
        }
        assert_eq!(limiter.remaining(&state, Time::ZERO), 2.0, "{text}");
    }
}

/// A window or a bucket of nothing refuses everything but a question.
#[test]
fn a_limit_of_zero_refuses_everything() {
    let windows = ["fixed-window", "sliding-window", "sliding-counter", "sliding-log"];
    for kind in windows.into_iter().chain(["gcra", "token-bucket", "leaky-bucket"]) {
        let limiter = limiter(&format!("{kind} 0/1m"));
        let mut state = limiter.initial();
        assert!(!limiter.check(&mut state, Time::ZERO, 1e-6).is_allowed());
        assert!(limiter.check(&mut state, Time::ZERO, 0.0).is_allowed());
    }
    for server in ["haproxy 0/1m", "fail2ban 0/1m"].map(limiter) {
        let new = server.initial();
        assert_eq!(server.retry_after(&new, Time::ZERO, 1.0), Retry::Never, "{server}");
        assert_eq!(server.retry_after(&new, Time::ZERO, 0.0), Retry::NOW, "{server}");
    }
}

/// Small costs do not make a log grow without bound: beyond its room it merges the latest, and
/// lets no more through for it.
#[test]
fn the_log_is_bounded() {
    let limiter = ratescope::limit::sliding_log::SlidingLog::new("10/1s".parse().unwrap()).unwrap();
    let mut state = limiter.initial();
    let mut allowed = 0.0;
    for i in 0..2000 {
        if limiter.check(&mut state, Time::from_micros(i * 100), 0.001).is_allowed() {
            allowed += 0.001;
        }
        assert!(state.len() <= limiter.capacity());
    }
    assert!((allowed - 2.0f64).abs() < 1e-9, "{allowed}");
    assert_eq!(limiter.peek(&state, Time::from_micros(1_000_000), 0.0).level, 1.999);
    assert_eq!(limiter.peek(&state, Time::from_micros(1_199_900), 0.0).level, 0.0);
}

/// Where the limit is less than a level that otherwise counts as forgotten.
#[test]
fn a_tiny_recent_average_is_reset_when_an_event_passes() {
    let limiter = limiter("earrrl 1/7s half-life 1us");
    let mut state = limiter.initial();
    let now = Time::from_micros(144);
    let _ = limiter.check(&mut state, Time::from_micros(143), 1.0);
    let _ = limiter.check(&mut state, now, 10.0);
    let reset = now.after(limiter.reset_after(&state, now));
    assert!(limiter.check(&mut state, reset, 1.0).is_allowed());
}

/// Counted by others beyond its own limit.
#[test]
fn more_than_a_counter_can_hold_is_over() {
    let limiter = limiter("sliding-counter 1000000000000/9000000000000s");
    let mut state = limiter.initial();
    for at in [-5, 0] {
        (0..40).for_each(|_| limiter.record(&mut state, Time::from_micros(at), 1e12, true));
    }
    assert!(!limiter.peek(&state, Time::ZERO, 1e12).is_allowed());
}

/// A log that was full gives its room back as its events leave.
#[test]
fn a_log_shrinks() {
    let AnyLimiter::SlidingLog(limiter) = limiter("sliding-log 10000/1s") else { panic!() };
    let mut state = limiter.initial();
    for at in 0..10_000 {
        let _ = limiter.check(&mut state, Time::from_micros(at), 1.0);
    }
    assert!(state.bytes() >= 160_000);
    assert_eq!((state.len(), state.is_empty()), (10_000, false));
    for second in 2..20 {
        let _ = limiter.check(&mut state, Time::from_micros(second * 1_000_000), 1.0);
    }
    assert_eq!((state.len(), state.bytes() < 2_000), (1, true));
}

/// A limiter treats the state of another kind as that of a new key, and replaces it when it counts.
#[test]
fn a_state_of_another_kind() {
    let [gcra, exim] = ["gcra 2/1m", "exim 2/1m"].map(limiter);
    let (mut state, new) = (gcra.initial(), exim.initial());
    gcra.charge(&mut state, Time::ZERO, 5.0).unwrap();
    assert_eq!(exim.peek(&state, Time::ZERO, 1.0), exim.peek(&new, Time::ZERO, 1.0));
    assert_eq!(exim.retry_after(&state, Time::ZERO, 1.0), Retry::NOW);
    assert_eq!(exim.remaining(&state, Time::ZERO), 2.0);
    assert_eq!(exim.reset_after(&state, Time::ZERO), Span::ZERO);
    assert_eq!(exim.keep(&state, Time::ZERO), exim.keep(&new, Time::ZERO));
    let (mut recorded, mut checked) = (state.clone(), state);
    exim.record(&mut recorded, Time::ZERO, 1.0, true);
    assert_eq!(exim.check(&mut checked, Time::ZERO, 1.0).level, 1.0);
    assert_eq!(recorded, checked);
    assert!(!gcra.undo(&mut checked, Time::ZERO, Time::ZERO, 1.0));
    assert_eq!(recorded, checked);
    assert!(matches!(checked, AnyState::Exim(_)));
}

#[test]
fn bounds_that_are_met_exactly_are_met() {
    for text in [
        "sliding-window 10/10000s precision 1s",
        "adaptive x3 decay 1h floor 5 by hour",
        "adaptive x3 decay 1m floor 5 by hour offset +24h",
        "adaptive x3 decay 1m floor 5 by hour offset -24h",
        "adaptive x1000000000000 decay 1m floor 0.001",
    ] {
        let _ = limiter(text);
    }
    assert!("sliding-window 10/10001s precision 1s".parse::<AnyLimiter>().is_err());
}

/// An event that costs as much as the limit is not below it.
#[test]
fn a_rate_that_is_the_limit_is_over() {
    for text in
        ["exim 5/1m", "adaptive x3 decay 1m floor 5", "adaptive x3 decay 1m floor 5 by hour"]
    {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        let peeked = limiter.peek(&state, Time::ZERO, 5.0);
        assert_eq!((peeked.level, peeked.limit, peeked.is_allowed()), (5.0, 5.0, false), "{text}");
        assert_eq!(limiter.check(&mut state, Time::ZERO, 5.0), peeked, "{text}");
        assert_eq!(limiter.retry_after(&state, Time::ZERO, 5.0), Retry::Never, "{text}");
    }
}

/// Two periods after a window of HAProxy began, the next begins with the request; sooner, where it ended.
#[test]
fn a_window_of_haproxy_is_the_one_before_for_a_period() {
    let haproxy = limiter("haproxy 10/1s");
    // Five, and another five later: how many are left a period and a half after these.
    for (later, left) in [(1999, 10.0), (2000, 8.0), (2001, 8.0)] {
        let at = |millis: i64| Time::from_micros(millis * 1000);
        let mut state = haproxy.initial();
        for millis in [0, later] {
            assert!(haproxy.check(&mut state, at(millis), 5.0).is_allowed(), "{later}");
        }
        assert_eq!(haproxy.remaining(&state, at(later + 1500)), left, "{later}");
    }
}

/// Those with a queue, as far as events wait in it.
#[test]
fn whose_events_may_wait() {
    for (text, wait) in [
        ("gcra 1/1s burst 5", false),
        ("fixed-window 5/1s", false),
        ("exim 5/1s", false),
        ("leaky-bucket 1/1s queue 5", true),
        ("nginx 1/1s", false),
        ("nginx 1/1s burst 5", true),
        ("nginx 1/1s burst 5 delay 4", true),
        ("nginx 1/1s burst 5 delay 5", false),
        ("nginx 1/1s burst 5 nodelay", false),
    ] {
        assert_eq!(limiter(text).delays(), wait, "{text}");
    }
}

/// Levels are in events, and so are limits.
#[test]
fn the_level_after_three_events() {
    for (text, unit, level, limit) in [
        ("fixed-window 10/1m", "in window", 3.0, 10.0),
        ("sliding-window 10/1m", "in window", 3.0, 10.0),
        ("sliding-counter 10/1m", "in window", 3.0, 10.0),
        ("sliding-log 10/1m", "in window", 3.0, 10.0),
        ("token-bucket 10/1m burst 7", "tokens used", 3.0, 7.0),
        ("leaky-bucket 10/1m queue 7", "queue", 3.0, 7.0),
        ("nginx 10/1m burst 6", "tokens used", 3.0, 7.0),
        ("envoy 10/1m burst 7", "tokens used", 3.0, 7.0),
        ("haproxy 10/1m", "in window", 3.0, 10.0),
        ("fail2ban 10/1m", "failures", 3.0, 10.0),
    ] {
        let (limiter, mut levels) = (limiter(text), Vec::new());
        let three = [(Time::ZERO, 1.0); 3].into_iter();
        limiter.outcomes(three, |_, outcome| levels.push((outcome.level, outcome.limit)));
        assert_eq!(levels.last(), Some(&(level, limit)), "{text}");
        assert_eq!((levels.len(), limiter.unit()), (3, unit), "{text}");
    }
}

/// The queue of a leaky bucket, and how many even events pass it, as they are counted.
#[test]
fn a_queue_drains_between_events() {
    let rate = "10/1s".parse().unwrap();
    let bucket = LeakyBucket::new(rate, 5.0).unwrap();
    let mut state = bucket.initial();
    bucket.charge(&mut state, Time::ZERO, 3.0).unwrap();
    assert_eq!(bucket.level(&state, Time::from_micros(100_000)), 2.0);
    for (level, elapsed, left) in [(3.0, 0.0, 3.0), (3.0, 0.1, 2.0), (3.0, 0.5, 0.0)] {
        assert_eq!(LeakyBucket::level_after(level, rate, elapsed), left);
    }
    for (queue, steady) in [(0.5, 12.5), (1.0, 20.0), (5.0, 16.0), (5.0, 40.0), (5.5, 25.0)] {
        let bucket = LeakyBucket::new(rate, queue).unwrap();
        let mut state = bucket.initial();
        let mut passes = |i: &i64| {
            let at = Time::from_micros(i * (1e6 / steady) as i64);
            bucket.check(&mut state, at, 1.0).is_allowed()
        };
        let passed = (0..1000).take_while(|i| passes(i)).count();
        assert_eq!(bucket.passing(steady), passed as f64, "{queue} at {steady}");
    }
    assert_eq!([5.0, 10.0].map(|steady| bucket.passing(steady)), [f64::INFINITY; 2]);
}

/// A sender may use its whole limit at once, and not a millionth of an event more, up to the largest limit.
#[test]
fn a_cost_of_the_whole_limit() {
    for whole in [1e10, 5.76e11 + 1.0, 6e11 + 1.0, 999_999_999_999.0, 1e12 - 0.5, 1e12] {
        for text in [
            format!("fixed-window {whole}/1d"),
            format!("sliding-window {whole}/1d"),
            format!("sliding-counter {whole}/1d"),
            format!("token-bucket 1/1d burst {whole}"),
            format!("gcra 1/1d burst {whole}"),
        ] {
            let limiter = limiter(&text);
            let mut state = limiter.initial();
            assert!(limiter.check(&mut state, Time::ZERO, whole).is_allowed(), "{text}");
            assert!(!limiter.check(&mut state, Time::ZERO, 1e-6).is_allowed(), "{text}");
        }
    }
}

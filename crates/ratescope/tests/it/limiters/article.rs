//! The figures of the article on EARRRL, with exact expectations.

use crate::limiters::limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::earrrl::Earrrl;
use ratescope::{Limiter, Time};

fn earrrl(text: &str) -> Earrrl {
    let AnyLimiter::Earrrl(limiter) = limiter(text) else { unreachable!() };
    limiter
}

fn seconds(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

/// Periodic requests from 50 s to 200 s, in number: those sent up to `end`.
fn track(limiter: &Earrrl, gap: f64, end: f64) -> <Earrrl as Limiter>::State {
    let mut state = limiter.initial();
    let sent = (0..).map(|i| seconds(50.0 + f64::from(i) * gap));
    for at in sent.take_while(|at| *at < seconds(end)) {
        limiter.record(&mut state, at, 1.0, true);
    }
    state
}

#[track_caller]
fn assert_near(got: f64, want: f64, part: f64) {
    assert!((got - want).abs() <= part * want.abs(), "{got}, should be {want}");
}

/// The first two figures: 10, 1 and 0.1 requests a second from 50 s to 200 s, with half-lives of
/// 10 s and 1 s. Periodic requests are a geometric series, so at every instant the estimate has
/// a closed form; and one half-life after the change it is half-way, up and down.
#[test]
fn the_estimate_tracks_three_rates() {
    for half_life in [10.0, 1.0] {
        let limiter = earrrl(&format!("earrrl 1000/1s half-life {half_life}s"));
        let lambda = core::f64::consts::LN_2 / half_life;
        for rate in [10.0, 1.0, 0.1] {
            let gap = 1.0 / rate;
            // Just before the request at `end`, after n requests and a gap.
            let series =
                |n: f64| lambda * (1.0 - (-lambda * gap * n).exp()) / (lambda * gap).exp_m1();
            for requests in [1.0, 10.0, 15.0] {
                let end = 50.0 + requests * gap;
                let level = limiter.level(track(&limiter, gap, end), seconds(end));
                assert_near(level, series(requests), 1e-12);
            }
            // At 200 s it reads the rate but for the decay of one gap, λ/2 to first order.
            let at_end = limiter.level(track(&limiter, gap, 200.0), seconds(200.0));
            assert_near(at_end, series(150.0 * rate), 1e-12);
            assert!(rate - lambda * 0.5 - rate * 2e-3 < at_end || lambda * gap > 0.5);
            // A half-life after it began, a whole number of gaps for the first two.
            let up =
                limiter.level(track(&limiter, gap, 50.0 + half_life), seconds(50.0 + half_life));
            if half_life * rate >= 1.0 {
                let steady = lambda / (lambda * gap).exp_m1();
                assert_near(up, steady / 2.0, 1e-12);
            }
            // And down: half of the level at the end.
            let state = track(&limiter, gap, 200.0);
            let down = limiter.level(state, seconds(200.0 + half_life));
            assert_near(down, at_end / 2.0, 1e-12);
        }
    }
}

/// The numbers that the article reads off its figures, to the digit.
#[test]
fn the_figures_read_so() {
    let reads = |half_life: &str, rate: f64, at: f64| {
        let limiter = earrrl(&format!("earrrl 1000/1s half-life {half_life}"));
        let level = limiter.level(track(&limiter, 1.0 / rate, at.min(200.0)), seconds(at));
        (level * 1000.0).round() / 1000.0
    };
    for (half_life, rate, up, top, down) in [
        ("10s", 10.0, 4.983, 9.965, 4.983),
        ("10s", 1.0, 0.483, 0.966, 0.483),
        ("10s", 0.1, 0.035, 0.069, 0.035),
        ("1s", 10.0, 4.829, 9.657, 4.829),
        ("1s", 1.0, 0.347, 0.693, 0.347),
        ("1s", 0.1, 0.347, 0.001, 0.0),
    ] {
        let span = if half_life == "10s" { 10.0 } else { 1.0 };
        assert_eq!(reads(half_life, rate, 50.0 + span), up, "{half_life}, {rate}, up");
        assert_eq!(reads(half_life, rate, 200.0), top, "{half_life}, {rate}, at the end");
        assert_eq!(reads(half_life, rate, 200.0 + span), down, "{half_life}, {rate}, down");
    }
}

/// The abusive user: 1/0.6 a second for 150 s, then exactly one a second.
fn abuse() -> Vec<Time> {
    let fast = (0..250).map(|i| i * 600_000);
    let slow = (150..=300).map(|i| i * 1_000_000);
    fast.chain(slow).map(Time::from_micros).collect()
}

fn allowed(text: &str) -> Vec<(Time, bool)> {
    let limiter = limiter(text);
    let mut state = limiter.initial();
    abuse().into_iter().map(|at| (at, limiter.check(&mut state, at, 1.0).is_allowed())).collect()
}

/// The window of 20 s next to it in the article: the abuser gets the whole limit, in every window.
#[test]
fn the_window_forgives_at_every_edge() {
    let events = allowed("fixed-window 20/20s");
    for window in 0..15 {
        let begins = seconds(20.0 * f64::from(window));
        let ends = seconds(20.0 * f64::from(window + 1));
        let inside = events.iter().filter(|(at, ok)| *ok && (begins..ends).contains(at));
        assert_eq!(inside.count(), 20, "from {begins}");
    }
}

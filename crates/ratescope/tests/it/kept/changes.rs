//! Each limiter over each kind of change, in numbers.

use crate::kept::limiter;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Retry, Time};

/// Eight events of cost 1 in one instant under `old`. Then, at the same instant, the remaining cost under `new` and how
/// long an event of cost 1 waits, or the change of the shape.
#[track_caller]
fn change(old: &str, new: &str) -> String {
    let (old, new) = (limiter(old), limiter(new));
    let (mut state, now) = (old.initial(), Time::from_micros(1_790_000_000_000_000));
    (0..8).for_each(|_| old.charge(&mut state, now, 1.0).unwrap());
    let kept = Kept::from_bytes(&old.keep(&state, now).to_bytes()).unwrap();
    match new.restore(&kept) {
        Ok(state) => {
            let wait = match new.retry_after(&state, now, 1.0) {
                Retry::After(wait) => format!("{:.1}s", wait.as_secs_f64()),
                Retry::Never => "never".to_owned(),
            };
            format!("{:.1} left, wait {wait}", new.remaining(&state, now) + 0.0)
        }
        Err(changed) => {
            let problem = changed.to_string();
            let [from, to] = [old, new].map(|limiter| limiter.shape().to_string());
            let what = changed.what();
            assert_eq!(problem, format!("the {what} changed from {from} to {to}: it starts over"));
            format!("{what} changed")
        }
    }
}

/// Old limiters, and below each new ones with the effect on the events.
const CHANGES: &str = "\
exim 10/1m
  exim 10/1m: 2.0 left, wait 0.0s
  exim 100/1m: 92.0 left, wait 0.0s
  # 60 s ln(8/4), and a little for the event itself.
  exim 4/1m: 0.0 left, wait 52.5s
  exim 4/1m strict: 0.0 left, wait 52.5s
  exim 4/1m readonly: 0.0 left, wait 41.6s
  exim 10/1h: period changed
  exim 600/1h strict: period changed
  earrrl 10/1m: algorithm changed
  gcra 10/1m: algorithm changed
exim 10/1m strict
  exim 10/1m leaky: 2.0 left, wait 0.0s
earrrl 10/1m half-life 1m
  # The limit is reached at 10/ln 2 events.
  earrrl 10/1m half-life 1m: 6.4 left, wait 0.0s
  earrrl 100/1m half-life 1m: 136.3 left, wait 0.0s
  earrrl 4/1m half-life 1m: 0.0 left, wait 28.3s
  earrrl 20/2m half-life 1m: 6.4 left, wait 0.0s
  earrrl 10/1m half-life 2m: half-life changed
  exim 10/1m: algorithm changed
fixed-window 10/1m
  fixed-window 10/1m: 2.0 left, wait 0.0s
  fixed-window 100/1m: 92.0 left, wait 0.0s
  fixed-window 4/1m: 0.0 left, wait 40.0s
  fixed-window 10/2m: period changed
  sliding-window 10/1m precision 1m: algorithm changed
sliding-window 10/1m precision 1s
  sliding-window 10/1m precision 1s: 2.0 left, wait 0.0s
  sliding-window 10/60s precision 1000ms: 2.0 left, wait 0.0s
  sliding-window 100/1m precision 1s: 92.0 left, wait 0.0s
  sliding-window 4/1m precision 1s: 0.0 left, wait 60.0s
  sliding-window 10/2m precision 1s: period changed
  sliding-window 10/1m precision 2s: precision changed
  sliding-log 10/1m: algorithm changed
sliding-counter 10/1m
  sliding-counter 10/1m: 2.0 left, wait 0.0s
  sliding-counter 100/1m: 92.0 left, wait 0.0s
  # 40 s of this window, and of the next until 8 have faded to 3.
  sliding-counter 4/1m: 0.0 left, wait 77.5s
  sliding-counter 10/2m: period changed
  fixed-window 10/1m: algorithm changed
sliding-log 10/1m
  sliding-log 10/1m: 2.0 left, wait 0.0s
  sliding-log 100/1m: 92.0 left, wait 0.0s
  sliding-log 4/1m: 0.0 left, wait 60.0s
  sliding-log 10/2m: period changed
  sliding-window 10/1m precision 1s: algorithm changed
adaptive x3 decay 1m increase 1h floor 10
  adaptive x3 decay 1m increase 1h floor 10: 2.0 left, wait 0.0s
  adaptive x3 decay 1m increase 1h floor 100: 92.0 left, wait 0.0s
  adaptive x2 decay 1m increase 1h floor 10 strict: 2.0 left, wait 0.0s
  adaptive x3 decay 1m increase 1h floor 4: 0.0 left, wait 52.5s
  adaptive x3 decay 2m increase 1h floor 10: decay changed
  adaptive x3 decay 1m increase 2h floor 10: increase changed
  exim 10/1m: algorithm changed
# As the servers do: nginx's zone stays over a reload, Envoy's bucket is made again.
nginx 10/1m burst 9
  nginx 10/1m burst 9: 2.0 left, wait 0.0s
  nginx 100/1m burst 99: 92.0 left, wait 0.0s
  nginx 10/1m burst 3 nodelay: 0.0 left, wait 30.1s
  gcra 10/1m: algorithm changed
haproxy 10/1m
  haproxy 10/1m: 2.0 left, wait 0.0s
  haproxy 100/1m allowed: 92.0 left, wait 0.0s
  haproxy 4/1m: 0.0 left, wait 90.0s
  haproxy 10/2m: period changed
  sliding-counter 10/1m: algorithm changed
envoy 10/1m burst 10
  envoy 10/1m burst 10: 2.0 left, wait 0.0s
  # It keeps what is there instead of what is missing.
  envoy 10/1m burst 20: 2.0 left, wait 0.0s
  envoy 100/1m burst 10: interval of a token changed
  token-bucket 10/1m: algorithm changed
";

#[test]
fn each_limiter_over_each_change() {
    let mut old = "";
    for line in CHANGES.lines().filter(|line| !line.trim_start().starts_with('#')) {
        match line.trim().split_once(": ") {
            None => old = line,
            Some((new, want)) => assert_eq!(change(old, new), want, "{old} -> {new}"),
        }
    }
}

#[test]
fn buckets() {
    let table = [
        ("{} 10/1m {size} 10", "2.0 left, wait 0.0s"),
        ("{} 100/1m {size} 100", "92.0 left, wait 0.0s"),
        ("{} 10/1m {size} 20", "12.0 left, wait 0.0s"),
        ("{} 10/1h {size} 10", "2.0 left, wait 0.0s"),
        // Four too many and the event itself, at 4 or 8 a minute.
        ("{} 4/1m {size} 4", "0.0 left, wait 75.0s"),
        ("{} 8/1m {size} 4", "0.0 left, wait 37.5s"),
        // Also where it is more than the new bucket holds.
        ("{} 2/1m {size} 2", "0.0 left, wait 210.0s"),
        ("exim 10/1m", "algorithm changed"),
        ("sliding-log 10/1m", "algorithm changed"),
    ];
    let three = [("token-bucket", "burst"), ("gcra", "burst"), ("leaky-bucket", "queue")];
    for (old, size) in three {
        for (new, new_size) in three {
            let old = format!("{old} 10/1m {size} 10");
            for (text, want) in table {
                let new = text.replace("{}", new).replace("{size}", new_size);
                assert_eq!(change(&old, &new), want, "{old} -> {new}");
            }
        }
    }
}

/// The clock of a rule moves on by an hour: the habit of nine o'clock stays that of nine.
#[test]
fn habits_are_kept_by_the_clock() {
    let rule = |words: &str| limiter(&format!("adaptive x{words}"));
    let old = rule("3 decay 10m increase 7d floor 5 by hour offset +1h");
    let (mut state, mut now) = (old.initial(), Time::ZERO);
    for day in 0..30 {
        for i in 0..60 {
            // From 8 to 9 by the origin's clock.
            now = Time::from_micros((day * 86_400 + 8 * 3600 + i * 60) * 1_000_000);
            let _ = old.check(&mut state, now, 1.0);
        }
    }
    let kept = old.keep(&state, now);
    let new = rule("2 decay 10m increase 7d floor 5 by hour offset +2h");
    let moved = new.restore(&kept).unwrap();
    let limit = |rule: &AnyLimiter, state: &AnyState, hour: i64| {
        let at = Time::from_micros((30 * 86_400 + hour * 3600 - 1) * 1_000_000);
        rule.peek(state, at, 0.0).limit
    };
    let (before, after) = (limit(&old, &state, 9), limit(&new, &moved, 8));
    assert!((before / 3.0 - after / 2.0).abs() < 0.1 && before > 15.0, "{before} and {after}");
    assert_eq!((limit(&old, &state, 7), limit(&old, &state, 11)), (5.0, 5.0));
    assert_eq!((limit(&new, &moved, 6), limit(&new, &moved, 10)), (5.0, 5.0));
    for (words, change) in [
        ("3 decay 5m increase 7d floor 5 by hour", "decay"),
        ("3 decay 10m increase 8d floor 5 by hour", "increase"),
        ("3 decay 10m increase 7d floor 5 by hour day 12h", "day"),
        ("3 decay 10m increase 7d floor 5", "algorithm"),
    ] {
        assert_eq!(rule(words).restore(&kept).unwrap_err().what(), change);
    }
}

/// As nginx after a reload: the excess stays as it is, and drains at the new rate.
#[test]
fn a_smaller_bucket_of_nginx_owes_as_much() {
    let [old, new] = ["nginx 10/1m burst 9", "nginx 10/1m burst 3 nodelay"].map(limiter);
    let (mut state, now) = (old.initial(), Time::from_micros(1_790_000_000_000_000));
    old.charge(&mut state, now, 19.0).unwrap();
    let state = new.restore(&old.keep(&state, now)).unwrap();
    let wait = new.retry_after(&state, now, 1.0).wait().unwrap();
    assert_eq!(wait.to_string(), "96.386s");
}

/// A habit learned over weeks stays: eight a minute, above a floor of five.
#[test]
fn a_habit_is_kept() {
    let [old, new] =
        ["adaptive x3 decay 1m increase 1h floor 5", "adaptive x2 decay 1m increase 1h floor 1"]
            .map(limiter);
    let (mut state, mut now) = (old.initial(), Time::ZERO);
    for i in 0..10_000 {
        now = Time::from_micros(i * 7_500_000);
        let _ = old.check(&mut state, now, 1.0);
    }
    let limit = old.peek(&state, now, 0.0).limit;
    assert!((limit - 24.0).abs() < 2.0, "{limit}");
    let state = new.restore(&old.keep(&state, now)).unwrap();
    assert!((new.peek(&state, now, 0.0).limit - limit / 1.5).abs() < 1e-9);
}

/// A log of 5,000 events that becomes one with room for 1,000 refuses for as long as before.
#[test]
fn a_long_log_becomes_short() {
    let old = limiter("sliding-log 5000/1h");
    let mut state = old.initial();
    for i in 0..5000 {
        old.charge(&mut state, Time::from_micros(i * 500_000), 1.0).unwrap();
    }
    let now = Time::from_micros(5000 * 500_000);
    let kept = old.keep(&state, now);
    for limit in ["sliding-log 500/1h", "sliding-log 1000/1h", "sliding-log 3000/1h"].map(limiter) {
        // The answer of the limit with all 5,000 events.
        let all = limit.peek(&limit.restore(&kept).unwrap(), now, 1.0);
        assert!(!all.is_allowed(), "{all}");
        let mut state = limit.restore(&kept).unwrap();
        let Retry::After(wait) = limit.retry_after(&state, now, 1.0) else { panic!("never") };
        // It waits until fewer events than the limit are left.
        let last = 5000 - limit.max_admitted(ratescope::Span::from_micros(1), 1.0) as i64;
        assert_eq!(now.after(wait).as_micros(), last * 500_000 + 3_600_000_000, "{limit}");
        assert!(limit.check(&mut state, now.after(wait), 1.0).is_allowed());
    }
}

/// A log with room for fewer events keeps the times of those that matter to it.
#[test]
fn a_smaller_log_keeps_the_latest_events() {
    let [old, new] = ["sliding-log 20000/10s", "sliding-log 2/10s"].map(limiter);
    let (mut state, now) = (old.initial(), Time::from_micros(5_000_000));
    for i in 0..20_000 {
        assert!(old.check(&mut state, Time::from_micros(i * 250), 1.0).is_allowed());
    }
    let restored = new.restore(&old.keep(&state, now)).unwrap();
    // The last two are of 4.9995 s and 4.99975 s.
    let retry = new.retry_after(&restored, now, 1.0);
    assert_eq!(retry, Retry::After("9999500us".parse().unwrap()));
}

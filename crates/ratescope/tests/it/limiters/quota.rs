//! Limits as clients are told of them.

use ratescope::limit::any::AnyLimiter;

#[track_caller]
fn assert_quota(text: &str, expected: &str) {
    let limiter: AnyLimiter = text.parse().unwrap();
    let quota = limiter.quota().map_or("none".to_owned(), |quota| quota.to_string());
    assert_eq!(quota, expected, "{text}");
}

#[test]
fn rates_and_windows_are_as_they_are_written() {
    for kind in
        ["exim", "earrrl", "fixed-window", "sliding-counter", "sliding-log", "haproxy", "fail2ban"]
    {
        assert_quota(&format!("{kind} 10/1m"), "10/1m");
    }
    assert_quota("sliding-window 10/1m precision 1s", "10/1m");
    assert_quota("exim 0/1m", "none");
}

/// The quota of a bucket is what passes at once, and never more than remains.
#[test]
fn buckets_are_what_they_hold() {
    assert_quota("gcra 1/1s burst 100", "100/1m40s");
    assert_quota("token-bucket 10/1m burst 3", "3/18s");
    assert_quota("leaky-bucket 1/1s queue 5", "5/5s");
    assert_quota("nginx 1/1s burst 9", "10/10s");
    // nginx cuts this rate to 16 thousandths a second: an event each 60 s would be refused.
    assert_quota("nginx 1/1m burst 1", "2/2m5s");
    assert_quota("envoy 10/1m burst 20", "20/2m");
}

#[test]
fn an_adaptive_limit_is_that_of_a_stranger() {
    assert_quota("adaptive x3 decay 1m increase 1h floor 10", "10/1m");
    assert_quota("adaptive x3 decay 1m increase 7d floor 10 by hour", "10/1m");
}

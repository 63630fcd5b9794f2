//! Measurements and decisions of other implementations, replayed. `tests/vectors/README.md` says where each file is
//! from.

use crate::common;
use common::{EXIM, exim};
use ratescope::estimate::exim::Measured;
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::{Limiter, Rate, Span, Time};
use std::collections::BTreeMap;

/// Fails unless `got` is within `part` of `want`, relative to it.
#[track_caller]
fn assert_near(what: &str, got: f64, want: f64, part: f64) {
    let off = (got - want).abs() / want.abs();
    assert!(got == want || off <= part, "{what}: {got}, should be {want}; off by {off:e}");
}

#[track_caller]
fn replay(file: &str, json: &str) {
    let mut states: BTreeMap<String, Measured> = BTreeMap::new();
    let mut answers = 0;
    for (i, attempt) in exim(json).iter().enumerate() {
        let Some(theirs) = &attempt.answer else { continue };
        answers += 1;
        let (limiter, what) = (attempt.limiter(), format!("{file}, event {i}"));
        let state = states.entry(attempt.key.clone()).or_insert_with(|| limiter.initial());
        let asked = limiter.peek(state, attempt.at, attempt.cost);
        let ours = limiter.check(state, attempt.at, attempt.cost);
        assert_eq!(ours, asked, "{what}: asked before");
        let over = ours.level >= ours.limit;
        assert_eq!(over, theirs.over, "{what}: the verdict at {}", ours.level);
        assert_eq!(ours.is_allowed(), !theirs.over || limiter.measures_only(), "{what}");
        assert_eq!(format!("{:.1}", ours.level), theirs.printed, "{what}: $sender_rate");
        let stored = *state;
        assert_near(&what, stored.rate, theirs.stored.rate, 1e-6);
        assert_eq!(stored.at, theirs.stored.at, "{what}: when it was stored");
    }
    assert!(answers > 30, "{file} is nearly empty");
}

#[test]
fn exim_decided_the_same() {
    for (file, json) in EXIM {
        replay(file, json);
    }
}

#[test]
fn periods_that_exim_refuses() {
    let (_, json) = EXIM[3];
    let mut read_here = Vec::new();
    for attempt in exim(json) {
        if attempt.answer.is_none() && common::exim_rate(&attempt.rate).is_ok() {
            read_here.push(attempt.rate);
        }
    }
    read_here.dedup();
    // As people type them; the documentation of `Span` says so.
    assert_eq!(read_here, ["0/1.5s", "0/500ms", "0/1h 30m", "0/1S"]);
}

#[test]
fn a_zero_period_is_no_rate_though_it_is_a_span() {
    assert!("0s".parse::<Span>().is_ok());
    assert!("0/0s".parse::<Rate>().is_err());
}

#[test]
fn the_naughty_user_on_redis() {
    common::limiters::assert_naughty_user();
}

/// The output of Redis in the EARRRL article, as the number of a request and the estimate before it. The
/// half-life is 10 s, the limit 0.5 a second, and `sleep 1` stands between two requests.
const ARTICLE: [(u32, f64); 13] = [
    (0, 0.0),
    (1, 0.064625593423117),
    (2, 0.12483578218756),
    (3, 0.18093794941434),
    (4, 0.2332841604735),
    (5, 0.28208311764286),
    (6, 0.32757287863479),
    (7, 0.36998350934232),
    (8, 0.40940326068647),
    (9, 0.44628146174133),
    (10, 0.48060100760135),
    (11, 0.51262461170605),
    (70, 0.94514712058575),
];

const ARTICLES: RecentAverage = RecentAverage { half_life: Span::from_secs(10) };

/// The estimate before request `n` when requests are `gap` seconds apart.
fn estimate_before(n: u32, gap: f64) -> f64 {
    let at = |i: u32| Time::try_from_secs_f64(f64::from(i) * gap).unwrap();
    let state = (0..n).fold(Impulse::default(), |state, i| ARTICLES.add(state, at(i), 1.0));
    ARTICLES.estimate(state, at(n))
}

/// A gap of `sleep 1` is a little longer than a second: `sleep` and `redis-cli` have to start.
/// So the article's estimates are below those of exact seconds, by about 1 %.
#[test]
fn the_article_is_a_little_slower_than_a_request_a_second() {
    for (n, printed) in ARTICLE {
        let exact = estimate_before(n, 1.0);
        assert!(printed <= exact, "request {n}: {printed} is above {exact}");
        assert_near(&format!("request {n}"), printed, exact, 0.014);
        assert_eq!(exact > 0.5, n >= 11, "request {n}: limited");
    }
}

/// With one and the same overhead in every gap, all of the article fits within half a percent.
#[test]
fn ten_milliseconds_of_overhead_explain_the_article() {
    for (n, printed) in ARTICLE {
        assert_near(&format!("request {n}"), estimate_before(n, 1.010), printed, 0.005);
    }
}

#[test]
fn a_half_life_after_the_article_ended_half_is_left() {
    let (_, before) = ARTICLE[12];
    let state = Impulse { size: before / ARTICLES.lambda() + 1.0, at: Time::ZERO };
    let ours = ARTICLES.estimate(state, Time::from_micros(10_000_000));
    assert_near("the last line", ours, 0.50703163627721, 0.001);
}

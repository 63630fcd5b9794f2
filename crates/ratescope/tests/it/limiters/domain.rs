//! Limiters outside of the domain in which f64 alone decides alike, and the errors about them. `tests/redis/edges.rs`
//! tries the ends of that domain.

use crate::limiters::table::rows;
use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;

fn exact(text: &str) -> Result<(), String> {
    let limiter: AnyLimiter = text.parse().unwrap_or_else(|e| panic!("{e}"));
    limiter.in_f64().map(drop).map_err(|e| e.to_string())
}

#[test]
fn what_people_write_is_inside() {
    for form in FORMS {
        assert_eq!(exact(form.example), Ok(()));
    }
    for text in [
        "gcra 999983/1d",
        "token-bucket 999983/30d burst 2000000000",
        "leaky-bucket 0.1/1s queue 1000000000",
        "gcra 1000000000/1s",
        "gcra 333.333333/1ms burst 1",
        "2000000000/52w",
        "sliding-counter 2000000000/140d",
        "sliding-window 1000000/104w precision 1d",
        "sliding-log 100000/3700w",
        "exim 1000000000000/5000000w",
    ] {
        assert_eq!(exact(text), Ok(()), "{text}");
    }
}

#[test]
fn what_is_outside_says_why() {
    for [text, problem] in rows("
        gcra 10/1s burst 3000000000 | the burst cannot be 3000000000: it must be below 2.25e9 to be exact in f64
        leaky-bucket 1/1s queue 2251799813.685248 | \
            the queue cannot be 2251799813.685248: it must be below 2.25e9 to be exact in f64
        token-bucket 999999.999999/30d | the product of a rate's millionths and microseconds in lowest terms cannot be
        fixed-window 2500000000/1s | \
            the count of a rate cannot be 2500000000: it must be below 2.25e9 to be exact in f64
        sliding-counter 10/3730w | \
            the period of a rate in seconds cannot be 2255904000: it must be below 71 years to be exact in f64
        sliding-window 10/3730w precision 1w | the period of a rate in seconds cannot be
        sliding-log 10/3730w | the period of a rate in seconds cannot be
        nginx 10/1s burst 3000000000 | the burst cannot be 3000000000: it must be below 2.25e9 to be exact in f64
        haproxy 1000000000/20d | \
            the product of a rate's count and milliseconds cannot be 1728000000000000000: it must be below 2^53
        fail2ban 5/3730w | the period of a rate in seconds cannot be 2255904000
        fail2ban 5/10m ban 3730w | the ban in seconds cannot be 2255904000
        ") {
        let error = exact(text).unwrap_err();
        assert!(error.starts_with(problem), "{text}: {error}");
    }
    // 2^51 microseconds or millionths, and a product of 2^53, are outside. One less is inside.
    for (outside, inside) in [
        ("leaky-bucket 1/1s queue 2251799813.685248", "leaky-bucket 1/1s queue 2251799813.685247"),
        ("1/2251799813685248us", "1/2251799813685247us"),
        (
            "gcra 9007199254.740992/1us burst 1",
            // 6361 × 1416003655831
            "gcra 0.006361/1416003655831us burst 1",
        ),
    ] {
        assert_eq!((exact(outside).is_err(), exact(inside)), (true, Ok(())), "{outside}");
    }
}

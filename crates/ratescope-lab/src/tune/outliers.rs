//! The clients far above all others: perhaps those to stop.
//!
//! With fewer than a thousand clients, "leave 999 of 1,000 alone" means all of them. Then the fastest client sets the
//! limit, and if that client is an abuser, the limit stops nobody. If the sorted levels of the clients have a wide gap
//! near the top, every limit within the gap has one effect: it refuses the clients above the gap and leaves all others
//! alone. The curve has a plateau there, and [`outliers`] finds it.
//!
//! # The rule
//! Let the levels be `x1 >= x2 >= ...`, and the gap below the `k`th client `g(k) = xk / (x(k+1) + 1)`. The first `k`
//! clients are outliers if
//!
//! 1. they are few: `k <= sqrt(n)` of the `n` clients;
//! 2. the gap is wide by itself: `g(k) >= 4`;
//! 3. the gap is wide for these clients: on a scale of ratios, at least twice as wide as any below it,
//!    `g(k) >= g(j)^2` for all `j > k`.
//!
//! Of several such `k` the largest is taken, so that abusers of different speeds are all found.
//!
//! # Why so
//! *Ratios*, as levels spread over powers of ten: from 10 to 20 is as far as from 100 to 200. *One event more*, since a
//! count of `x` may have been nearly `x + 1`; so a client that came three times is not far from clients that came once.
//! *The widest gap of the others* says how far apart neighbours are without anything unusual. The usual robust measure,
//! the median deviation, is 0 where most clients came once, and then everybody else would be an outlier; the outliers
//! themselves raise a standard deviation; a fixed percentage names somebody in every log. A knee may be absent, and
//! cannot distinguish a slope from a step. *Twice*, since the distances between neighbours grow towards the top: of
//! clients whose levels have a tail of power `a`, the distance below the first is on average twice the distance below
//! the second. *Four* leaves room for a limit between: twice the highest level of the others is then half the level of
//! the outliers. *The square root* grows more slowly than any share: a tenth of the clients is a group of customers,
//! not the exception.
//!
//! # What it can't know
//! A level says how fast a client came, not why. An office, a proxy, a monitor or a search engine may stand as far
//! above the others as an abuser. So this rule refuses nothing: it adds a second limit to the answer, with the names of
//! the clients that this limit refuses, and a person decides. Where the busiest clients differ widely among themselves,
//! the rule often names nobody; it never names a client that comes no faster than the others.
//!
//! # How often it is right
//! Made-up logs of one hour, 200 of each kind: of 40 people who send mails, mostly one at a time, or of 400 visitors
//! who read pages with pictures. The level is the highest count of a minute, or of an hour. Each cell has the share of
//! logs in which the rule named all abusers, then the share in which it named somebody else.
//! (`tests/it/tune/outliers.rs` makes the table.)
//!
//! | abusers | 40, a minute | 40, an hour | 400, a minute | 400, an hour |
//! |---|---|---|---|---|
//! | nobody | -, 0 % | -, 0 % | -, 0 % | -, 0 % |
//! | one, 400 in ten minutes | 95 %, 0 % | 100 %, 0 % | 0 %, 0 % | 90 %, 0 % |
//! | one, slow: 3 a minute, for an hour | 0 %, 0 % | 97.5 %, 0 % | 0 %, 0 % | 0 %, 0 % |
//! | three, of 400, 800 and 1,600 in ten minutes | 95 %, 0 % | 100 %, 0 % | 0 %, 0 % | 90 %, 0 % |
//! | a botnet of 50 at the rate of the others | 0 %, 0 % | 0 %, 0 % | 0 %, 0 % | 0 %, 0 % |
//! | nobody, but a proxy of 60 people | -, 0 % | -, 97.5 % | -, 0 % | -, 99.5 % |
//! | nobody, but levels with a tail of power 1 | -, 26.5 % | -, 26.5 % | -, 30.5 % | -, 30.5 % |
//!
//! So a long period finds a slow abuser. A short one does not: in a minute, this abuser comes no faster than a page
//! with its pictures. A botnet as slow as people is never found. By the hour, a proxy for sixty people is accused
//! nearly always: nothing in the levels distinguishes it from an abuser. And where some levels are naturally many times
//! as high as others, the rule accuses the busiest in more than a quarter of the logs.

use ratescope::internal::larger;

/// A wide gap between two levels, as a ratio.
const WIDE: f64 = 4.0;

/// The number of outliers among clients, and the lowest of their levels. `levels` has each level, from the highest to
/// the lowest, and the number of its clients. `None` if nobody is far above the others.
pub fn outliers(levels: &[(f64, u64)]) -> Option<(u64, f64)> {
    let all: u64 = levels.iter().map(|(_, clients)| clients).sum();
    let few = libm::sqrt(all as f64) as u64;
    // Levels less than one event apart have no gap.
    let gap = |pair: &[(f64, u64)]| match pair {
        [(high, _), (low, _)] => high.max(1.0) / (low.max(1.0) + 1.0),
        _ => 1.0,
    };
    // The widest gap below each level.
    let mut widest = 1.0;
    let below = levels.windows(2).rev().map(|pair| {
        let below = widest;
        widest = larger(widest, gap(pair));
        below
    });
    let mut below: Vec<f64> = below.collect();
    let mut count = 0;
    let mut found = None;
    for pair in levels.windows(2) {
        let (Some(below), [(level, clients), _]) = (below.pop(), pair) else { break };
        count += clients;
        if count > few {
            break;
        }
        if gap(pair) >= WIDE && gap(pair) >= below * below {
            found = Some((count, *level));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_near_the_top() {
        for (levels, expected) in [
            // The abuser of the mails, whatever the others do.
            (&[(40.0, 1), (7.0, 1), (5.0, 4), (2.0, 15), (1.0, 20)][..], Some((1, 40.0))),
            (&[(40.0, 1), (1.0, 40)], Some((1, 40.0))),
            // Two of different speeds, and the gap below both.
            (&[(900.0, 1), (100.0, 1), (9.0, 10), (8.0, 30)], Some((2, 100.0))),
            // No gap; no wide gap; a gap that is not wide for these clients.
            (&[], None),
            (&[(9.0, 50)], None),
            (&[(20.0, 1), (7.0, 40)], None),
            (&[(320.0, 1), (64.0, 1), (8.0, 20), (1.0, 20)], None),
            // One event more is not far from one, and a few events are not far from none.
            (&[(3.0, 1), (1.0, 99)], None),
            (&[(3.0, 1), (0.0, 99)], None),
            // Six of forty are few, seven are a group.
            (&[(90.0, 6), (9.0, 34)], Some((6, 90.0))),
            (&[(90.0, 7), (9.0, 33)], None),
            // Of three clients one may be an outlier; a single one has no others.
            (&[(90.0, 1), (9.0, 2)], Some((1, 90.0))),
            (&[(90.0, 1)], None),
            // A ratio of exactly four is wide.
            (&[(40.0, 1), (9.0, 50)], Some((1, 40.0))),
            (&[(39.9, 1), (9.0, 50)], None),
            (&[(f64::INFINITY, 1), (9.0, 50)], Some((1, f64::INFINITY))),
        ] {
            assert_eq!(outliers(levels), expected, "{levels:?}");
        }
    }
}

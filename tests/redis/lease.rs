//! Leases: what passes by them, against the bound.

use super::random;
use super::server::Server;
use super::{check, open, patient, rules, run};
use ratescope::redis_store::{Leased, Leases, Terms};
use ratescope::rules::{AsyncStore, Details};
use ratescope::{Event, Limiter, Span, Time};

fn terms(events: u32, age: Span) -> Terms {
    Terms { events, age, keys: 100 }
}

async fn passes(store: &Leased, micros: i64, user: &str) -> bool {
    let fields = [("user", user)];
    let time = Time::from_micros(micros);
    let answer = check(store, time, 1.0, &fields, Details::default()).await;
    assert_eq!(answer.fault, None);
    answer.ruling.is_allowed()
}

/// A share is one call; then nobody is asked, until it is used up or old.
#[test]
fn a_share_is_used_up_here() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules("fixed-window 10/1h per user"), patient("l:"));
        let leased = Leased::new(store, terms(4, Span::seconds(1))).unwrap();
        let calls = || -> u64 {
            let stats = server.command(&["INFO", "commandstats"]);
            let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:"));
            let calls = line.and_then(|line| line.split(&['=', ','][..]).nth(1)).unwrap_or("0");
            calls.parse().unwrap()
        };
        let before = calls();
        for i in 0..8 {
            assert!(passes(&leased, 1_000_000 + i, "ann").await, "event {i}");
        }
        // The first call is repeated with the script's text.
        assert_eq!(calls() - before, 2, "for eight events");
        // Four more would be too many; two are left, and then none.
        assert!(passes(&leased, 1_000_010, "ann").await);
        assert!(passes(&leased, 1_000_011, "ann").await);
        assert!(!passes(&leased, 1_000_012, "ann").await);
        assert_eq!(leased.leases(), Leases { taken: 2, passed: 6, lost: 0 });
        // What is old is lost.
        assert!(passes(&leased, 1_000_000, "bob").await);
        assert!(passes(&leased, 2_100_000, "bob").await);
        assert_eq!(leased.leases(), Leases { taken: 4, passed: 6, lost: 3 });
        // A look is one at Redis, where eight are counted.
        let event =
            Event { time: Time::from_micros(2_100_000), cost: 0.0, fields: &[("user", "bob")] };
        let level = leased.peek(&event, Details::default()).await;
        assert_eq!(level.ruling.decided_by().unwrap().outcome.level, 8.0);
    });
}

/// Three processes with leases of one limit, hammered: in every window there pass no more than
/// `max_admitted` says of one that is longer by the age.
#[test]
fn the_bound_holds() {
    let Some(server) = Server::start(&[]) else { return };
    let limits = [
        "gcra 20/10s burst 20",
        "fixed-window 20/10s",
        "sliding-window 20/10s precision 1s",
        "sliding-counter 20/10s",
        "sliding-log 20/10s",
    ];
    run(async {
        for (number, text) in limits.into_iter().enumerate() {
            let limiter = random::limiter(text);
            let age = Span::seconds(2);
            let open = |_| {
                let rules = rules(&format!("{text} per user"));
                let store = open(&server.url(), rules, patient(&format!("b{number}:")));
                Leased::new(store, terms(5, age)).unwrap()
            };
            let processes = [0; 3].map(open);
            let mut passed = Vec::new();
            for i in 0..1_500i64 {
                let now = 1_000_000_000 + i * 40_000;
                if passes(&processes[i as usize % 3], now, "ann").await {
                    passed.push(now);
                }
            }
            let mut over = 0;
            for window in [Span::seconds(1), Span::seconds(10), Span::seconds(25)] {
                let micros = (window.secs() * 1e6) as i64;
                let longer = Span::from_secs(window.secs() + age.secs()).unwrap();
                let bound = limiter.max_admitted(longer, 1.0);
                for (i, from) in passed.iter().enumerate() {
                    let within = passed[i..].iter().take_while(|at| **at < from + micros).count();
                    assert!(within as f64 <= bound, "{text}: {within} in {window}, {bound}");
                    over = over.max(within);
                }
            }
            // They are not refused for good either: nearly the rate passes.
            assert!(passed.len() > 80, "{text}: {} of 120", passed.len());
            assert!(over > 0);
        }
    });
}

/// More senders than there is room for are asked for one by one.
#[test]
fn leases_are_bounded() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules("fixed-window 3/1h per user"), patient("n:"));
        let leased = Leased::new(store, terms(3, Span::hours(1))).unwrap();
        for user in 0..150 {
            assert!(passes(&leased, 1, &user.to_string()).await);
        }
        assert_eq!(leased.leases().taken, 100);
        for user in 0..150 {
            let user = user.to_string();
            assert!(passes(&leased, 1, &user).await && passes(&leased, 1, &user).await);
            assert!(!passes(&leased, 1, &user).await, "{user}: three in all");
        }
    });
}

#[test]
fn what_cannot_be_leased_is_refused() {
    run(async {
        for (text, problem) in [
            ("exim 10/1m strict per user", "does not count what it allows at once"),
            ("leaky-bucket 10/1m per user", "does not count what it allows at once"),
            ("domain: d\nlimit: 5/1s\nshadow: true\n", "a shadow"),
        ] {
            let store = open("redis://127.0.0.1:1", rules(text), patient(""));
            let error = Leased::new(store, terms(5, Span::seconds(1))).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    });
}

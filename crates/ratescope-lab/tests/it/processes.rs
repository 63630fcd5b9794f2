//! Several processes that share a limit: the events beyond it, the level that each knows, and the calls to Redis.

use crate::recorded::compared;
use ratescope::Time;
use ratescope_lab::compare::{Comparison, Lane, Link, Template};
use ratescope_lab::lane::processes::Shared;

/// A run of one lane with a limit of 10 in 10 s, and all of its processes at work.
fn run(lane: &str, others: &str, script: &str) -> Comparison {
    compared(&format!("auto=off&lanes={lane}&{others}&script={script}&at=9"))
}

fn shared(run: &Comparison) -> &Shared {
    run.lanes()[0].shared().unwrap()
}

const LIMITERS: [&str; 9] = [
    "fixed-window",
    "sliding-window",
    "sliding-counter",
    "sliding-log",
    "token-bucket",
    "gcra",
    "exim leaky",
    "exim strict",
    "earrrl",
];

/// Each process lets the whole limit pass, so all but one of them are over it.
#[test]
fn alone_each_process_has_the_whole_limit() {
    for count in [1, 2, 3, 10, 40] {
        for limiter in &LIMITERS[..6] {
            let run =
                run(&format!("{limiter} share alone"), &format!("processes={count}"), "1000 at 1s");
            let lane = &run.lanes()[0];
            assert_eq!(lane.allowed(), 10 * count, "{limiter}");
            let over = shared(&run).over();
            assert!(
                (over - 10.0 * (count - 1) as f64).abs() < 1e-3,
                "{limiter} in {count}: {over}"
            );
            assert_eq!(shared(&run).calls(), 0);
            let at = Time::try_from_secs_f64(1.0).unwrap();
            assert!(lane.history().column_at(at).unwrap().high >= 10.0 * count as f64 - 1e-6);
            assert_eq!(lane.curves().len() as u64, count.min(5));
            for number in 0..lane.curves().len() {
                assert!(lane.level_of(number, run.now()).0 <= 10.0, "{limiter}");
            }
        }
    }
}

/// Where all events of a sender go to one process, it is as if there were only that one.
#[test]
fn to_one_process_nothing_is_over() {
    for spread in ["all to one", "by key"] {
        for limiter in LIMITERS {
            let run = run(
                &format!("{limiter} share alone;{limiter}"),
                &format!("processes=7&balance={spread}"),
                "30 at 1s, 2/1s from 2s",
            );
            assert_eq!(shared(&run).over(), 0.0, "{limiter}, {spread}");
        }
    }
    // Each of three users has a process, and the limit in each.
    let users = "20 at 1s user ann, 20 at 1s user bob, 20 at 1s user cid";
    let run = run("sliding-log share alone", "processes=3&balance=by key", users);
    assert_eq!((run.lanes()[0].allowed(), shared(&run).over()), (30, 20.0));
}

/// Asking Redis about each event is as good as one process.
#[test]
fn exact_is_as_one() {
    for limiter in LIMITERS {
        for spread in ["in turn", "by chance"] {
            let run = run(
                &format!("{limiter} share exact;{limiter}"),
                &format!("processes=7&call=80ms&balance={spread}"),
                "3/1s poisson, 30 at 4s, 10/1s from 5s",
            );
            let [exact, one] = run.lanes() else { panic!() };
            assert_eq!((exact.allowed(), exact.refused()), (one.allowed(), one.refused()));
            assert_eq!(exact.level(run.now()), one.level(run.now()), "{limiter}");
            assert_eq!((shared(&run).over(), shared(&run).calls()), (0.0, run.sent()));
        }
    }
}

/// By chance some processes get more than others. The seed determines which.
#[test]
fn chance_follows_the_seed() {
    let passed = |seed: u32| {
        let others = format!("processes=10&balance=by chance&seed={seed}");
        let run = run("fixed-window share alone", &others, "100 at 1s");
        run.lanes()[0].allowed()
    };
    assert_eq!(passed(1), passed(1));
    let all: Vec<u64> = (1..30).map(passed).collect();
    assert!(all.iter().all(|n| (60..100).contains(n)), "{all:?}");
    assert!(all.iter().any(|n| *n != all[0]));
}

/// The most that passed in any 10 s, by a lane that lets all pass and counts.
fn most(lane: &Lane, until: f64) -> u64 {
    let columns = lane.history().columns(Time::ZERO, Time::try_from_secs_f64(until).unwrap(), 0.0);
    let each: Vec<u64> = columns.iter().map(|column| column.allowed.into()).collect();
    // Columns of 16.384 ms: 10 s are 610 of them and a part.
    each.windows(611.min(each.len())).map(|window| window.iter().sum()).max().unwrap_or(0)
}

/// Leases are counted before they are spent, so little is over the limit, at few calls.
#[test]
fn leases_cost_few_calls() {
    for (limiter, call) in [
        ("gcra", "0s"),
        ("token-bucket", "2ms"),
        ("sliding-log", "0s"),
        ("sliding-log", "100ms"),
        ("sliding-window", "2ms"),
        ("fixed-window", "2ms"),
    ] {
        let link = format!(
            "limit=1000/10s&auto=off&processes=4&call={call}\
             &lanes={limiter} share leased 1s;{limiter}&script=80/1s,800/1s from 15s to 17s&at=30"
        );
        let run = compared(&link);
        let told = shared(&run);
        let [leased, exact] = run.lanes() else { panic!() };
        // Events left in leases are refused elsewhere, a tenth of the limit at most.
        assert!(leased.allowed() <= exact.allowed() + 100, "{limiter}");
        assert!(leased.allowed() + 100 >= exact.allowed(), "{limiter}");
        assert!(told.over() <= 100.0, "{limiter}: {}", told.over());
        assert!(told.calls() * 3 < run.sent(), "{limiter}, {call}: {} calls", told.calls());
        let promised = told.max_admitted("10s".parse().unwrap(), 1.0);
        assert!(most(leased, 29.0) as f64 <= promised, "{limiter}");
    }
}

/// A limiter that counts refused events can't lend, but a process refuses by itself and tells Redis of the sum.
#[test]
fn refused_events_are_told_together() {
    for limiter in ["exim strict", "earrrl"] {
        let lanes = format!("{limiter} share leased 1s;{limiter}");
        let run = compared(&format!("auto=off&lanes={lanes}&script=100/1s to 8s&at=9"));
        let [leased, one] = run.lanes() else { panic!() };
        assert_eq!(leased.allowed(), one.allowed(), "{limiter}");
        assert!(shared(&run).calls() < 60, "{limiter}: {}", shared(&run).calls());
        assert_eq!(leased.level(run.now()), one.level(run.now()), "the true level");
    }
}

/// A process that is synced lets as much pass as it knows to be free, until it hears of the others.
#[test]
fn syncs_tell_the_others_later() {
    let told = |others: &str, script: &str, at: u32| {
        let lanes = "gcra 100/10s burst 100 share synced 1s";
        let run = compared(&format!("auto=off&lanes={lanes}&{others}&script={script}&at={at}"));
        let lane = &run.lanes()[0];
        let levels: Vec<f64> =
            (0..lane.curves().len()).map(|number| lane.level_of(number, run.now()).0).collect();
        (lane.allowed(), shared(&run).over(), shared(&run).calls(), levels)
    };
    // In an instant, nobody knows of the others.
    let (passed, over, calls, _) = told("processes=4", "1000 at 1s", 2);
    assert_eq!((passed, over, calls), (400, 300.0, 0));
    // At 2 s each tells Redis in turn. The first has an answer without the others, so 5 more pass there.
    let (passed, _, calls, levels) = told("processes=4&call=100ms", "1000 at 1s, 20 at 3s", 4);
    assert_eq!((passed, calls), (405, 4));
    // As of 2 s, the second knows of 200, and so on; 2 s later 20 have drained. The first has counted 5 more.
    let near = |level: f64, of: f64| (level - of).abs() < 1e-6;
    assert!(levels.iter().zip([85.0, 180.0, 280.0, 380.0]).all(|(a, b)| near(*a, b)), "{levels:?}");
    // Little by little, each learns of the events of the others a second ago.
    let (passed, over, calls, _) = told("processes=4", "8/1s", 20);
    assert_eq!((passed, over), (159, 0.0));
    assert!((70..=80).contains(&calls), "{calls}");
    // The bound.
    let link = "auto=off&lanes=gcra 100/10s burst 100 share synced 1s&processes=4&call=100ms&script=200/1s&at=30";
    let run = compared(link);
    let promised = shared(&run).max_admitted("10s".parse().unwrap(), 1.0);
    assert!(most(&run.lanes()[0], 29.0) as f64 <= promised, "{promised}");
}

/// Until the answer has come, a process asks about each event.
#[test]
fn a_far_redis_is_asked_more() {
    let calls = |call: &str| {
        let link = format!(
            "limit=1000/10s&auto=off&processes=2&call={call}&lanes=gcra share leased 1s\
             &script=100/1s&at=10"
        );
        shared(&compared(&link)).calls()
    };
    let [near, far] = ["0s", "200ms"].map(calls);
    assert!(near * 2 < far, "{near} {far}");
}

#[test]
fn any_steps_give_the_same_run() {
    let link = "limit=100/10s&pattern=poisson&auto-rate=30&processes=5&balance=by chance&call=20ms\
        &lanes=sliding-log share leased 1s;gcra share alone;gcra share synced 1s;exim strict share leased 200ms;gcra&at=20";
    let whole = compared(link);
    let parsed: Link = link.parse().unwrap();
    let mut steps = Comparison::open(&parsed).unwrap();
    let mut n = 1_u64;
    while steps.now() < parsed.at {
        n = n * 7 % 997;
        let next = steps.now().after(ratescope::Span::from_micros(n * 1000)).min(parsed.at);
        steps.advance(next, usize::MAX);
    }
    for (a, b) in whole.lanes().iter().zip(steps.lanes()) {
        assert_eq!((a.allowed(), a.refused()), (b.allowed(), b.refused()));
        assert_eq!(a.level(whole.now()), b.level(whole.now()));
        for number in 0..a.curves().len() {
            assert_eq!(a.level_of(number, whole.now()), b.level_of(number, whole.now()));
        }
        let told = |lane: &Lane| lane.shared().map(|shared| (shared.over(), shared.calls()));
        assert_eq!(told(a), told(b));
    }
    // A link has all of it.
    let again = compared(&whole.link().unwrap().to_string());
    assert_eq!(again.settings(), whole.settings());
}

/// Another number of processes is as if it had been so from the start.
#[test]
fn the_number_can_be_turned() {
    let mut run = run("fixed-window share alone", "processes=2", "100 at 1s");
    assert_eq!(run.lanes()[0].allowed(), 20);
    run.set("processes", "5").unwrap();
    run.advance(run.now(), usize::MAX);
    assert_eq!((run.lanes()[0].allowed(), shared(&run).over()), (50, 40.0));
    for wrong in ["0", "51", "2.5", "", "-1"] {
        assert!(run.set("processes", wrong).is_err(), "{wrong}");
    }
    assert!(run.set("balance", "evenly").is_err() && run.set("call", "11s").is_err());
}

#[test]
fn the_text_of_a_lane_says_how() {
    let text = "gcra 5/1s share leased 1s retry every 1s";
    for read in [
        text,
        "gcra 5/1s  retry every 1s share leased 1s",
        "gcra 5/1s share leased 1000ms retry every 1s",
    ] {
        assert_eq!(read.parse::<Template>().unwrap().to_string(), text);
    }
    for (wrong, why) in [
        ("gcra 5/1s share often", "exact"),
        ("leaky-bucket 5/1s share leased", "can't be leased"),
        ("exim 5/1m share synced", "can't be synced"),
        ("gcra 5/1s & gcra 9/1m share alone", "one limiter"),
        ("windowed-average share alone", "one limiter"),
    ] {
        let error = wrong.parse::<Template>().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

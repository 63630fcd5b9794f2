//! Clients that try again: each way waits as it says, jobs end, and a run is the same in any steps and in its link.

use crate::recorded;
use proptest::prelude::*;
use ratescope::Time;
use ratescope_lab::clients::Way;
use ratescope_lab::compare::script::Script;
use ratescope_lab::compare::{Comparison, Lane, Link};
use recorded::{at, compared};

/// A run of lanes with a script, up to `until` seconds.
fn run(lanes: &str, script: &str, until: f64) -> Comparison {
    compared(&format!("limit=10/10s&auto=off&lanes={lanes}&script={script}&at={until}"))
}

/// The times of a lane's requests, each in a column of its own.
fn times(lane: &Lane) -> Vec<f64> {
    let columns = lane.history().columns(Time::ZERO, at(30.0), 0.0);
    columns.iter().filter_map(|column| Some(column.judged?.0.as_secs_f64())).collect()
}

/// One client whose first request passes and whose second is refused for a long time: the times of its tries.
fn tries(way: &str, seed: u64) -> Vec<f64> {
    let link = format!(
        "limit=1/25s&auto=off&seed={seed}&lanes=fixed-window&script=1 client of 2 retry {way}&at=24"
    );
    let run = compared(&link);
    let times = times(&run.lanes()[0]);
    assert_eq!(times[..2], [0.0, 0.1], "the second comes with the answer to the first");
    times[1..].to_vec()
}

/// The waits between tries, without the time that the answer takes.
fn waits(way: &str, seed: u64) -> Vec<f64> {
    let tries = tries(way, seed);
    tries.windows(2).map(|pair| ((pair[1] - pair[0] - 0.1) * 1e6).round() / 1e6).collect()
}

#[test]
fn each_way_waits_as_it_says() {
    assert_eq!(waits("every 1s", 1)[..3], [1.0, 1.0, 1.0]);
    assert!(waits("at once", 1).iter().all(|wait| *wait == 0.0));
    // The first retry waits for the base.
    assert_eq!(waits("exponential 500ms", 1)[..5], [0.5, 1.0, 2.0, 4.0, 8.0]);
    assert_eq!(waits("exponential 500ms x3 most 4s", 1)[..5], [0.5, 1.5, 4.0, 4.0, 4.0]);
    // A request that is refused at 0.1 s would pass at 25 s, in 24.9 s: 25 by the header.
    assert_eq!(tries("retry-after", 1), [0.1]);
    let passes = compared(
        "limit=1/25s&auto=off&lanes=fixed-window&script=1 client of 2 retry retry-after&at=26",
    );
    assert_eq!(times(&passes.lanes()[0]), [0.0, 0.1, 25.2]);
    let never =
        compared("limit=1/25s&auto=off&lanes=fixed-window&script=1 client of 5 retry never&at=24");
    let crowd = never.lanes()[0].crowd().unwrap();
    assert_eq!((crowd.passed(), crowd.given_up(), crowd.left(), crowd.sent()), (1, 4, 0, 5));
}

#[test]
fn jitter_stays_in_its_range_and_fills_it() {
    // For each way: the range of the wait before a retry, by its number and the wait before.
    type Range = fn(i32, f64) -> [f64; 2];
    let rows: [(&str, Range); 6] = [
        ("every 1s full", |_, _| [0.0, 1.0]),
        ("every 1s equal", |_, _| [0.5, 1.0]),
        ("exponential 100ms most 3s full", |k, _| [0.0, (0.1 * 2f64.powi(k)).min(3.0)]),
        ("exponential 100ms most 3s equal", |k, _| {
            let most = (0.1 * 2f64.powi(k)).min(3.0);
            [most / 2.0, most]
        }),
        ("exponential 100ms most 3s decorrelated", |k, last| {
            let last = if k == 0 { 0.1 } else { last };
            [0.1, (3.0 * last).min(3.0)]
        }),
        ("exponential 100ms x1 most 3s full", |_, _| [0.0, 0.1]),
    ];
    for (way, range) in rows {
        let mut shares = Vec::new();
        for seed in 1..60 {
            let waits = waits(way, seed);
            let mut last = 0.0;
            for (wait, k) in waits.iter().zip(0..) {
                let [least, most] = range(k, last);
                assert!(*wait >= least - 2e-6 && *wait <= most + 2e-6, "{way}, retry {k}: {wait}");
                if most > least && !(way.contains("decorrelated") && most == 3.0) {
                    shares.push((wait - least) / (most - least));
                }
                last = *wait;
            }
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!((mean - 0.5).abs() < 0.05, "{way}: {mean}");
        assert!(shares.iter().any(|s| *s < 0.05) && shares.iter().any(|s| *s > 0.95), "{way}");
    }
}

#[test]
fn a_client_sends_so_many_at_once_and_pauses() {
    let run =
        run("token-bucket 100/1s", "2 clients of 5 together 2 pause 1s answer 500ms at 3s", 30.0);
    let lane = &run.lanes()[0];
    // Two clients with two places each: 4 at 3 s, 4 after answer and pause, and the last two.
    assert_eq!(times(lane), [3.0, 4.5, 6.0]);
    let columns = lane.history().columns(Time::ZERO, at(30.0), 0.0);
    let counts: Vec<u32> = columns.iter().map(|c| c.allowed).filter(|n| *n > 0).collect();
    assert_eq!(counts, [4, 4, 2]);
    let crowd = lane.crowd().unwrap();
    assert_eq!(crowd.done().map(|done| done.unwrap().as_secs_f64()), [3.5, 3.5]);
}

/// A request that waits in a queue has its answer after the wait, and the client does not send again meanwhile.
#[test]
fn a_queue_is_waited_for() {
    let run = run("leaky-bucket 1/1s queue 5", "1 client of 3", 30.0);
    let crowd = run.lanes()[0].crowd().unwrap();
    assert_eq!((crowd.sent(), crowd.passed()), (3, 3));
    // At 0 s at once; at 0.1 s, waits 0.9 s; its answer at 1.1 s, waits until 2 s.
    assert_eq!(times(&run.lanes()[0]), [0.0, 0.1, 1.1]);
    assert_eq!(crowd.done()[1].unwrap().as_secs_f64(), 2.1);
    assert_eq!(crowd.longest().as_secs_f64(), 0.9);
}

/// Each lane has its own clients, who begin alike; events that all lanes get are counted beside them.
#[test]
fn each_lane_has_its_own_clients() {
    let run = run(
        "exim strict;exim leaky;exim leaky retry every 1s",
        "4 clients of 10 answer 1s retry at once, 3 at 5s",
        60.0,
    );
    let told = run.lanes().iter().map(|lane| {
        let crowd = lane.crowd().unwrap();
        (crowd.left() == 0, lane.allowed() + lane.refused() - crowd.sent())
    });
    assert_eq!(told.collect::<Vec<_>>(), [(false, 3), (true, 3), (true, 3)]);
    assert_eq!(run.sent(), 3);
}

#[test]
fn clients_are_users() {
    let run = run(
        "sliding-log 3/10s per user",
        "3 clients of 5, 1 client of 5 user ann, 2 at 0s user ann",
        5.0,
    );
    // Three each; Ann used two of her three beside the client.
    assert_eq!(run.lanes()[0].allowed(), 3 * 3 + 3);
    let users: Script = "2 clients of 5, 2 clients of 5 user bot, 1 client of 1".parse().unwrap();
    assert_eq!(users.users, ["", "c1", "c2", "bot1", "bot2", "c5"]);
}

const SCRIPT: &str = "3 clients of 8 together 2 pause 300ms retry exponential 200ms x3 most 5s full, 2 clients of 9 retry retry-after equal user slow, 1/1s poisson from 2s";
const LANES: &str = "fixed-window;token-bucket retry every 1s equal;exim strict retry exponential 1s decorrelated;sliding-log per user;windowed-average;exim-2009";

fn seen(run: &Comparison) -> Vec<String> {
    run.lanes()
        .iter()
        .map(|lane| format!("{:?} {} {}", lane.crowd(), lane.allowed(), lane.refused()))
        .collect()
}

/// In any steps, by its link, and after another setting was changed and changed back.
#[test]
fn a_run_is_the_same_in_any_steps() {
    let whole = run(LANES, SCRIPT, 40.0);
    let link: Link =
        format!("limit=10/10s&auto=off&lanes={LANES}&script={SCRIPT}").parse().unwrap();
    let mut stepped = Comparison::open(&link).unwrap();
    let mut now = 0.0;
    while now < 40.0 {
        now = f64::min(now + 0.0377, 40.0);
        stepped.advance(at(now), usize::MAX);
    }
    // And in steps of little work.
    let mut little = Comparison::open(&link).unwrap();
    while little.now() < at(40.0) {
        little.advance(at(40.0), 7);
    }
    let replayed = compared(&whole.link().unwrap().to_string());
    for other in [&stepped, &little, &replayed] {
        assert_eq!(seen(other), seen(&whole));
    }
    let mut turned = whole.clone();
    turned.set("limit", "20/10s").unwrap();
    while turned.catch_up(usize::MAX) {}
    assert_ne!(seen(&turned), seen(&whole));
    turned.set("limit", "10/10s").unwrap();
    while turned.catch_up(usize::MAX) {}
    assert_eq!(seen(&turned), seen(&whole));
}

#[test]
fn changed_clients_begin_anew_and_others_go_on() {
    let mut run = run("token-bucket", "2 clients of 50 retry every 1s", 20.0);
    let sent = run.lanes()[0].crowd().unwrap().sent();
    run.set("auto-rate", "3").unwrap();
    run.set("auto", "on").unwrap();
    assert_eq!(run.lanes()[0].crowd().unwrap().sent(), sent);
    run.set("script", "3 clients of 50 retry every 1s").unwrap();
    let crowd = run.lanes()[0].crowd().unwrap();
    assert_eq!((crowd.sent(), crowd.left()), (0, 150));
    run.set("script", "").unwrap();
    assert!(run.lanes()[0].crowd().is_none());
    run.advance(at(30.0), usize::MAX);
}

#[test]
fn what_is_wrong_is_said() {
    for (script, at, said) in [
        ("0 clients of 5", "0", "choose from 1 to 50"),
        ("51 clients of 5", "51", "choose from 1 to 50"),
        ("10 clients", "", "the job is missing"),
        ("30 clients of 5, 21 clients of 5", "21", "more than 50 clients in all"),
        ("5 clients of 0", "0", "1 to 10000 requests"),
        ("5 clients of 5 together 11", "11", "1 to 10 at once"),
        ("5 clients of 5 answer 1ms", "1ms", "choose from 10ms to 1m"),
        ("5 clients of 5 pause 2h", "2h", "choose from 0s to 1h"),
        ("50 clients of 5 together 10 answer 10ms", "50", "10000 are the most"),
        ("5 clients of 5 retry", "retry", "a value is missing"),
        ("5 clients of 5 retry often", "often", "not a way to try again"),
        ("5 clients of 5 retry every", "retry", "a value is missing"),
        ("5 clients of 5 retry every 2d", "2d", "choose from 1ms to 1d"),
        ("5 clients of 5 retry every 1s decorrelated", "decorrelated", "goes with exponential"),
        ("5 clients of 5 retry at once full", "full", "full and equal go with all that wait"),
        ("5 clients of 5 retry exponential 1s x11", "x11", "x1 to x10"),
        ("5 clients of 5 retry exponential 1s sometimes", "sometimes", ""),
    ] {
        let error = script.parse::<Script>().unwrap_err();
        assert_eq!(&script[error.at()], at, "{script}: {error}");
        assert!(error.to_string().contains(said), "{script}: {error}");
    }
    for lanes in [
        "gcra retry often",
        "gcra retry every 1s;gcra brust 2 retry every 1s",
        "exim-2009 fast",
        "windowed-average strict",
    ] {
        assert!(format!("lanes={lanes}").parse::<Link>().is_err(), "{lanes}");
    }
    // The Scope has no clients.
    let scope = "limiter=gcra retry every 1s".parse::<ratescope_lab::scope::Link>().unwrap_err();
    assert!(scope.to_string().contains("the lanes of Compare"), "{scope}");
    let scope = "limiter=gcra share alone".parse::<ratescope_lab::scope::Link>().unwrap_err();
    assert!(scope.to_string().contains("one process here"), "{scope}");
}

fn way() -> impl Strategy<Value = String> {
    let jitter = prop_oneof![Just(""), Just(" full"), Just(" equal")];
    let span = prop_oneof![Just("1ms"), Just("250ms"), Just("1s"), Just("1m30s"), Just("1d")];
    prop_oneof![
        Just("never".to_owned()),
        Just("at once".to_owned()),
        jitter.clone().prop_map(|jitter| format!("retry-after{jitter}")),
        (span.clone(), jitter.clone()).prop_map(|(span, jitter)| format!("every {span}{jitter}")),
        (span.clone(), 10..100_u32, span, prop_oneof![jitter, Just(" decorrelated")]).prop_map(
            |(base, factor, most, jitter)| {
                format!("exponential {base} x{} most {most}{jitter}", f64::from(factor) / 10.0)
            }
        ),
    ]
}

proptest! {
    #[test]
    fn ways_and_scripts_are_written_as_they_are_read(
        way in way(), clients in 1..20_u32, requests in 1..100_u32, together in 1..4_u32, named: bool,
    ) {
        let read: Way = way.parse().unwrap();
        prop_assert_eq!(read.to_string(), way.clone());
        let name = if named { " user bot" } else { "" };
        let s = if clients == 1 { "" } else { "s" };
        let many = if together == 1 { String::new() } else { format!(" together {together}") };
        let text = format!("{clients} client{s} of {requests}{many} retry {way}{name}, 1/1s");
        let script: Script = text.parse().unwrap();
        prop_assert_eq!(script.to_string(), text.clone());
        prop_assert_eq!(script.to_string().parse::<Script>().unwrap(), script);
        let link: Link = format!("lanes=gcra 1/1s retry {way}&script={text}").parse().unwrap();
        prop_assert_eq!(link.to_string().parse::<Link>().unwrap(), link);
    }

    /// Whatever the limiter and the way: requests are never lost, and each lane counts the requests of its clients.
    #[test]
    fn no_request_is_lost(way in way(), seed: u64, lane in 0..6_usize, clients in 1..8_u32, requests in 1..15_u32) {
        let lanes = ["fixed-window", "token-bucket", "exim strict", "leaky-bucket", "earrrl", "windowed-average"];
        let link = format!(
            "limit=10/10s&auto=off&seed={}&lanes={}&script={clients} clients of {requests} together 2 retry {way}&at=60",
            seed % 1_000_000, lanes[lane],
        );
        let run = compared(&link);
        let lane = &run.lanes()[0];
        let crowd = lane.crowd().unwrap();
        let all = u64::from(clients * requests);
        prop_assert_eq!(crowd.passed() + crowd.given_up() + crowd.left(), all);
        prop_assert_eq!(crowd.sent(), lane.allowed() + lane.refused());
        prop_assert_eq!(crowd.passed(), lane.allowed());
        prop_assert!(crowd.flights().count() <= 2 * clients as usize);
        prop_assert_eq!(crowd.done()[1].is_some(), crowd.left() == 0);
    }
}

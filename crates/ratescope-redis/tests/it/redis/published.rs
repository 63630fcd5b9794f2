//! The scripts of the two articles, repaired, beside ours on the same events. They read the clock of
//! Redis; here they are given the time.

use super::server::Server;
use super::{check, open, patient, rules};
use ratescope::Time;
use ratescope::rules::Details;

const EARRRL: &str = include_str!("../../../benches/redis/earrrl.lua");
const WINDOWS: &str = include_str!("../../../benches/redis/windows.lua");

/// Gaps in seconds, in no simple pattern: bursts, a steady stream, silences.
fn gaps() -> impl Iterator<Item = u64> {
    (0..1_500u64).map(|i| match (i / 100) % 3 {
        0 => u64::from(i % 7 == 6),
        1 => i * i % 11,
        _ => {
            if i % 50 == 49 {
                400
            } else {
                1
            }
        }
    })
}

/// EARRRL's article: the same verdicts, and estimates to the digits that it prints.
#[tokio::test]
async fn earrrl_decides_as_its_article() {
    let Some(server) = Server::start(&[]) else { return };
    let text = EARRRL
        .replace("local time_array = redis.call(\"time\")\n", "")
        .replace("time_array[1]+0.000001*time_array[2]", "tonumber(ARGV[1])");
    let store = open(&server.url(), rules("earrrl 5/10s half-life 10s per user"), patient("o:"));
    let (mut now, mut refused) = (1_000_000, 0);
    for (i, gap) in gaps().enumerate() {
        now += gap;
        let theirs = server.command(&["EVAL", &text, "1", "user", &now.to_string()]);
        let mut lines = theirs.lines().skip(1);
        let limited = lines.next() == Some(":1");
        let estimate: f64 = theirs.lines().last().unwrap().parse().unwrap();
        let time = Time::from_micros(now as i64 * 1_000_000);
        let ours = check(&store, time, 1.0, &[("user", "ann")], Details::default()).await;
        let outcome = ours.decided_by().unwrap().outcome;
        assert_eq!(outcome.is_allowed(), !limited, "event {i}: {outcome}, {theirs}");
        // Theirs is for a second, and ours for ten.
        let (ours, near) = (outcome.level / 10.0, 1e-12 + 1e-12 * estimate);
        assert!((ours - estimate).abs() <= near, "event {i}: {ours}, not {estimate}");
        refused += usize::from(limited);
    }
    assert!((100..1_400).contains(&refused), "{refused}");
}

/// Carlson's article: three limits, one of them sliding, and costs; the same verdicts.
#[tokio::test]
async fn windows_decide_as_their_article() {
    let Some(server) = Server::start(&[]) else { return };
    let text = WINDOWS.replace("tonumber(redis.call('TIME')[1])", "tonumber(ARGV[3])");
    let limits = "[[1,10],[60,120],[3600,240,60]]";
    let ours = "10/1s per user & 120/1m per user & sliding-window 240/1h precision 1m per user";
    let store = open(&server.url(), rules(ours), patient("o:"));
    let (mut now, mut refused) = (1_000_000, 0);
    for (i, gap) in gaps().enumerate() {
        now += gap;
        let cost = [1.0, 1.0, 3.0, 2.0][i % 4];
        let arguments = [limits, &cost.to_string(), &now.to_string()];
        let theirs =
            server.command(&[&["EVAL", &text, "1", "user"], arguments.as_slice()].concat());
        // The second that it reads is the one that its events are in.
        let time = Time::from_micros(now as i64 * 1_000_000 + i as i64 % 7 * 1_000);
        let ours = check(&store, time, cost, &[("user", "ann")], Details::default()).await;
        let limited = theirs.trim() == ":1";
        assert_eq!(ours.is_allowed(), !limited, "event {i}: {}", ours);
        refused += usize::from(limited);
    }
    assert!((100..1_400).contains(&refused), "{refused}");
}

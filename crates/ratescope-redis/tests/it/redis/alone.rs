//! Scripts that stand alone: they decide as the store does, also when other clients call them.

use super::random::{self, KINDS};
use super::rules;
use super::server::{Server, command_line};
use crate::files::Folder;
use crate::servers::{program, skip};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ratescope::policy::Defaults;
use ratescope::rules::MemoryStore;
use ratescope::{Event, Policy, Time};
use ratescope_redis::{decode, stand_alone};
use std::process::Command;

fn policy(text: &str) -> Policy {
    Policy::read(text, &Defaults::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A script that takes the time from its third argument, in microseconds.
fn timed(text: &str) -> String {
    let script = stand_alone(&policy(text)).unwrap();
    assert_eq!(script.matches("call('TIME')").count(), 1, "{script}");
    script.replace("call('TIME')", "{0, tonumber(ARGV[3])}").replace(
        "if ARGV[2] and ARGV[2] ~= 'peek' then",
        "if ARGV[2] == '' then ARGV[2] = nil end\nif ARGV[2] and ARGV[2] ~= 'peek' then",
    )
}

/// Puts events through the script and through memory.
async fn assert_alike(server: &Server, text: &str, keys: &[&str], events: &[(Time, f64)]) {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let script = timed(text);
    let memory = MemoryStore::new(rules(text), 100);
    let fields = [("user", "ann"), ("ip", "192.0.2.7")];
    for (i, (time, cost)) in events.iter().copied().enumerate() {
        let event = Event { time, cost, fields: &fields };
        for operation in ["peek", ""] {
            let mut call = redis::cmd("EVAL");
            call.arg(&script).arg(keys.len()).arg(keys);
            call.arg(cost.to_string()).arg(operation).arg(time.as_micros());
            let theirs: Vec<String> = call.query_async(&mut connection).await.unwrap();
            let ours = if operation == "peek" { memory.peek(&event) } else { memory.check(&event) };
            let what = || format!("{text}, event {i} at {time}, cost {cost}, {operation}: {ours}");
            assert_eq!(theirs[0] == "1", ours.is_allowed(), "{}", what());
            let wait = ours.wait().map_or(0.0, |wait| wait.as_secs_f64());
            let levels = ours.outcomes().flat_map(|one| [one.outcome.level, one.outcome.limit]);
            let expected: Vec<f64> = [wait].into_iter().chain(levels).collect();
            assert_eq!(theirs.len(), 1 + expected.len(), "{}", what());
            for (theirs, ours) in theirs[1..].iter().zip(expected) {
                let theirs: f64 = theirs.parse().unwrap();
                // Lua writes 14 digits.
                assert!(
                    (theirs - ours).abs() <= 1e-13 * ours.abs(),
                    "{}: {theirs}, not {ours}",
                    what()
                );
            }
        }
    }
}

#[tokio::test]
async fn a_script_alone_decides_as_the_store() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    for (number, kind) in KINDS.iter().enumerate() {
        let drawn = || {
            let case =
                random::cases(&KINDS[number..=number]).new_tree(&mut runner).unwrap().current();
            let steps = random::steps(false).new_tree(&mut runner).unwrap().current();
            (case.limiter.in_f64().is_ok()).then(|| (case.limiter.to_string(), case.events(&steps)))
        };
        let (limiter, events) = core::iter::repeat_with(drawn).flatten().next().unwrap();
        let key = format!("{number}");
        assert_alike(&server, &format!("{limiter} per user"), &[&key], &events).await;
        let several = format!("{limiter} per user & 5/1m per user & sliding-log 9/1m per ip");
        let keys = [format!("{number}a"), format!("{number}b"), format!("{number}c")];
        let is_ring = kind.starts_with("sliding-window") || kind.starts_with("sliding-log");
        let keys: Vec<&str> =
            keys.iter().take(2 + usize::from(is_ring)).map(String::as_str).collect();
        assert_alike(&server, &several, &keys, &events).await;
    }
}

#[test]
fn the_comment_says_how_it_is_called() {
    let script =
        stand_alone(&policy("10/1s per user & gcra 100/1h per user & sliding-log 20/1m per ip"));
    let script = script.unwrap();
    let comment: Vec<&str> = script.lines().take_while(|line| line.starts_with("--")).collect();
    for line in [
        "--   limit 2: gcra 100/1h burst 100 per user",
        "-- KEYS[1]  the states of limits 1, 2: one string a key, such as limit:{user=...}:1-2",
        "-- KEYS[2]  the states of limit 3: one string a key, such as limit:{ip=...}:3",
        "-- ARGV[1]  the cost of the event, from 0 to 1e12; 1 by default",
    ] {
        assert!(comment.contains(&line), "{line} is not in\n{}", comment.join("\n"));
    }
    let error = stand_alone(&policy("1/1s & 2/2s & 3/3s & 4/4s & 5/5s")).unwrap_err();
    assert_eq!(error.to_string(), "a script alone has at most 4 limits");
    let error = stand_alone(&policy("gcra 10000000000/1s")).unwrap_err().to_string();
    assert!(error.contains("below 2.25e9"), "{error}");
}

/// The output of redis-cli.
fn cli(server: &Server, words: &[&str]) -> String {
    let port = server.port.to_string();
    let run = command_line().args([&["-p", &port], words].concat()).output().unwrap();
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// A client is told of its mistakes.
#[test]
fn a_wrong_call_changes_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let script = stand_alone(&policy("2/1h")).unwrap();
    let call = |arguments: &[&str]| cli(&server, &[&["EVAL", &script], arguments].concat());
    for (arguments, error) in [
        (&["0"][..], "ERR the number of keys is not 1"),
        (&["2", "a", "b"], "ERR the number of keys is not 1"),
        (&["1", "a", "much"], "ERR the cost is a number from 0 to 1e12, such as 1"),
        (&["1", "a", "-1"], "ERR the cost is a number from 0 to 1e12, such as 1"),
        (&["1", "a", "nan"], "ERR the cost is a number from 0 to 1e12, such as 1"),
        (&["1", "a", "1", "poke"], "ERR after the cost comes peek, or nothing"),
    ] {
        let told = call(arguments);
        assert!(told.contains(error), "{arguments:?}: {told}");
        assert_eq!(server.keys(), 0, "{arguments:?}");
    }
    assert_eq!(call(&["1", "a", "2"]), "1\n0\n2\n2\n");
    assert_eq!(call(&["1", "a"]), "0\n0\n3\n2\n");
}

/// The value of a key can be decoded.
#[test]
fn a_state_is_decoded() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "gcra 10/1h burst 5 per user & earrrl 5/1h half-life 1h per user";
    let script = stand_alone(&policy(text)).unwrap();
    for _ in 0..3 {
        cli(&server, &["EVAL", &script, "1", "key"]);
    }
    let value = command_line()
        .args(["-p", &server.port.to_string(), "GET", "key"])
        .output()
        .unwrap()
        .stdout;
    let value = value.strip_suffix(b"\n").unwrap();
    let now = Time::try_from_secs_f64(1.0).unwrap();
    let limits = decode(&policy(text), value, now).unwrap();
    let said: Vec<(String, f64)> =
        limits.iter().map(|one| (one.limit.clone(), one.outcome.level.round())).collect();
    let gcra = "gcra 10/1h burst 5".to_owned();
    // The clock of the reader is far behind: nothing has drained.
    assert_eq!(said[0], (gcra, 4.0));
    assert_eq!(said[1].0, "earrrl 5/1h half-life 1h");
    assert_eq!(said[1].1, (3.0 * core::f64::consts::LN_2).round());
    let error = decode(&policy("gcra 10/1h burst 5"), value, now).unwrap_err().to_string();
    assert_eq!(error, "16 more bytes than the states of these limits have");
    assert!(decode(&policy("sliding-log 5/1h"), value, now).is_err());
    assert!(decode(&policy(text), &value[..5], now).is_err());
}

/// The examples of other languages, as they are. In a client's call, five at once pass.
#[test]
fn other_languages_decide_by_it() {
    let Some(server) = Server::start(&[]) else { return };
    let folder = Folder::new("alone");
    let script = stand_alone(&policy("gcra 10/1h burst 5 per user")).unwrap();
    std::fs::write(folder.0.join("limit.lua"), script).unwrap();
    let languages = [
        ("RATESCOPE_PYTHON", "python3", "import redis", "limit.py", "-c"),
        ("RATESCOPE_RUBY", "ruby", "require 'redis'", "limit.rb", "-e"),
    ];
    for (variable, name, client, example, flag) in languages {
        let Some(program) = program(variable, name) else { continue };
        let has_client = Command::new(&program).args([flag, client]).output().unwrap();
        if !has_client.status.success() {
            skip(&format!("the client of Redis for {name}"));
            continue;
        }
        let path = format!("{}/examples/{example}", env!("CARGO_MANIFEST_DIR"));
        for n in 1..=6 {
            let run = Command::new(&program)
                .args([&path, name])
                .env("REDIS_URL", format!("redis://127.0.0.1:{}", server.port))
                .current_dir(&folder.0)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&run.stdout).into_owned();
            let errors = String::from_utf8_lossy(&run.stderr).into_owned();
            let verdict = if n <= 5 { "allowed" } else { "refused" };
            assert!(said.starts_with(&format!("{name}: {verdict}, ")), "{said}{errors}");
            assert_eq!(run.status.code(), Some(i32::from(n > 5)), "{said}{errors}");
        }
    }
}

//! `ratescope simulate --store`, as it is run, with a Redis of this test.

use crate::nodes;
use crate::server;
use crate::shell;
use nodes::Cluster;
use server::{Port, Server, wait_until};
use shell::{Running, file, text};
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    shell::command(&[&["simulate"], arguments].concat())
}

fn simulate(arguments: &[&str], input: &str) -> Output {
    shell::run(&mut command(arguments), input)
}

/// Bursts and silences of three users from two addresses, some out of order.
fn events() -> String {
    let mut csv = String::from("time,user,ip,cost,load\n");
    for i in 0..300u64 {
        let time = i / 7 * 13 + i % 5 - if i % 41 == 40 { 3 } else { 0 };
        let (user, ip) = (["ann", "bob", "eve"][i as usize % 3], i / 3 % 2);
        let (cost, load) = (if i % 10 == 0 { 3 } else { 1 }, i % 100);
        csv += &format!("{time}.{i:06},{user},192.0.2.{ip},{cost},{load}%\n");
    }
    csv
}

const RULES: &str = "
domain: web
limit: 40/1m
descriptors:
  - key: user
    limit: [gcra 10/1m burst 5 per user, exim 30/1h strict per user+ip]
    throttle: elastic up to 2x while load < 50%
  - key: ip
    limit: sliding-window 20/1m precision 10s
    shadow: true
";

const LIMITERS: [&str; 15] = [
    "token-bucket 10/1m burst 4 per user",
    "gcra 10/1m burst 4 per user",
    "leaky-bucket 7/1m queue 4 per user",
    "fixed-window 10/1m per ip",
    "sliding-window 10/1m precision 7s per user",
    "sliding-counter 10/1m per user",
    "sliding-log 10/1m per user+ip",
    "exim 10/1m leaky per user",
    "exim 10/1m strict per user",
    "earrrl 10/1m per user",
    "adaptive x3 decay 1m increase 1h floor 5 per user",
    "nginx 30/1m burst 2 delay 1 per user",
    "haproxy 10/1m per user",
    "envoy 10/1m burst 4 per user",
    "6/10s per user & 10/10s per ip & gcra 50/1h per all",
];

/// Lines and summary are equal, in memory and on Redis.
fn assert_decides_alike(store: &str) {
    let rules = file("redis.yaml", RULES);
    let mut arguments = LIMITERS.to_vec();
    arguments.extend(["--format", "csv", "--key", "user", "--rules", &rules]);
    let here = simulate(&arguments, &events());
    arguments.extend(["--store", store]);
    let there = simulate(&arguments, &events());
    assert!(here.status.success() && there.status.success(), "{}", text(&there.stderr));
    assert_eq!(text(&there.stdout), text(&here.stdout));
    // The number of keys is another: limits for the same fields share one.
    let counts = |output: &Output| -> Vec<String> {
        let lines = text(&output.stderr);
        lines.lines().map(|line| line.split(", keys: ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(counts(&there), counts(&here));
}

#[test]
fn redis_decides_as_the_program_does_and_nothing_is_left() {
    let Some(server) = Server::start(&[]) else { return };
    assert_decides_alike(&server.url());
    assert_eq!(server.keys(), 0);
}

/// On all of its nodes, and with the keys of others left alone.
#[test]
fn a_cluster_decides_as_the_program_does_and_nothing_is_left() {
    let Some(cluster) = Cluster::start() else { return };
    let own = ["a", "b", "c", "d", "e", "f"];
    let at = |key| cluster.master(&cluster.slot(key));
    own.iter().for_each(|key| _ = cluster.nodes[at(key)].command(&["SET", key, "kept"]));
    assert_decides_alike(&cluster.url());
    let masters = (0..cluster.nodes.len()).filter(|node| own.iter().any(|key| at(key) == *node));
    assert_eq!(masters.count(), 3);
    let left = || cluster.nodes.iter().map(Server::keys).sum::<usize>();
    // Replicas hear of it later.
    wait_until("keys are left", || left() == 2 * own.len());

    // One node is enough to find the others. A run whose keys are on several of them is ended early.
    let url = cluster.nodes[0].url().replace("redis://", "redis-cluster://");
    let mut events = String::from("time,user\n");
    (0..50).for_each(|user| events += &format!("0,user{user}\n"));
    let wrong = simulate(&["gcra 2/1m per user", "--store", &url], &(events + "x,ann\n"));
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("line 52"));
    wait_until("keys are left", || left() == 2 * own.len());
}

/// A run that ends early deletes its keys, too.
#[test]
fn nothing_is_left_by_a_run_that_ends_early() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.url();
    let wrong = simulate(&["gcra 2/1m per user", "--store", &url], "time,user\n0,ann\nx,ann\n");
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("line 3"));
    assert_eq!(server.keys(), 0);

    let mut command = command(&["gcra 2/1m per user", "--store", &url, "--format", "csv"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = Running(command.spawn().unwrap());
    let mut input = process.0.stdin.take().unwrap();
    input.write_all(b"time,user\n").unwrap();
    // Events come until it has ended.
    let writer = std::thread::spawn(move || {
        let events = "0,ann\n".repeat(1000);
        while input.write_all(events.as_bytes()).is_ok() {}
    });
    wait_until("no event was decided", || server.keys() > 0);
    process.signal("INT");
    process.0.wait().unwrap();
    writer.join().unwrap();
    assert_eq!(server.keys(), 0);
}

#[test]
fn what_is_no_redis_says_so() {
    let input = "time,user\n0,ann\n";
    let free = Port::hold();
    let nobody = format!("redis://{free}");
    for (arguments, problem) in [
        (["gcra 2/1m", "--store", "localhost"], "not the address of a Redis, as in redis://"),
        (["gcra 2/1m", "--store", "redis-cluster://"], "as in redis-cluster://127.0.0.1:7000,"),
        (["gcra 2/1m", "--store", nobody.as_str()], "at 0 s: the store can't be reached"),
        (
            ["gcra 10/1s burst 3000000000", "--store", nobody.as_str()],
            "not exact where only f64 exists",
        ),
    ] {
        let output = simulate(&arguments, input);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(problem), "{arguments:?}: {said}");
    }
}

/// redis-cli calls the printed script, and the value of a key is decoded.
#[test]
fn a_script_decides_without_this_program() {
    let Some(server) = Server::start(&[]) else { return };
    let limits = "gcra 2/1h per user & 100/1d per user";
    let script = shell::printed(&mut shell::command(&["script", limits]), "");
    let cli = |words: &[&str]| {
        let port = server.port.to_string();
        let run = server::command_line().args(["-p", &port]).args(words).output().unwrap();
        assert!(run.status.success(), "{}", text(&run.stderr));
        run.stdout
    };
    let key = "limit:{user=ann}:1-2";
    let eval = || text(&cli(&["EVAL", &script, "1", key])).lines().next().unwrap().to_owned();
    assert_eq!([(); 3].map(|()| eval()), ["1", "1", "0"]);
    let value = cli(&["GET", key]);
    let said = shell::printed(&mut shell::command(&["keys", "decode", limits]), &value);
    let lines: Vec<&str> = said.lines().collect();
    let gcra = "gcra 2/1h burst 2: with one more event, level ";
    assert!(lines[0].starts_with(gcra) && lines[0].contains("it would be refused"), "{said}");
    let day = "fixed-window 100/1d: with one more event, level 3 of 100, and it would pass; all free after ";
    assert!(lines[1].starts_with(day) && lines.len() == 2, "{said}");
    let wrong = shell::run(&mut shell::command(&["keys", "decode", "exim 2/1h strict"]), &value);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("more bytes"), "{wrong:?}");
    let wrong = shell::run(&mut shell::command(&["script", "gcra 2/1h brust 3"]), "");
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("brust"), "{wrong:?}");
}

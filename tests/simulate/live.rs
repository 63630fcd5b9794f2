//! `ratescope simulate --live`: the events of a log pass in Live.

use super::{ratescope, text};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;

/// A simulation that is seen; it is killed when it is dropped.
struct Replay {
    child: Option<Child>,
    address: String,
}

impl Replay {
    /// Begins to replay `input`, which then ends if `ends`.
    fn start(args: &[&str], input: &str, ends: bool) -> Self {
        let mut command = ratescope(&[&["simulate", "--live", "--port", "0"], args].concat());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        stdin.flush().unwrap();
        if ends {
            drop(child.stdin.take());
        }
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (_, rest) = line.split_once("http://").unwrap();
        let (address, _) = rest.split_once("/live.html").unwrap();
        Replay { address: address.to_owned(), child: Some(child) }
    }

    /// Looks until all of these are said.
    fn told(&self, until: &[&str]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let request = format!("GET /live/events HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        while !until.iter().all(|part| said.contains(part)) {
            let mut bytes = [0; 4096];
            let n = stream.read(&mut bytes).unwrap();
            assert!(n > 0, "it ended: {said}");
            said.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
        said
    }

    /// Ctrl-C, and the end of it.
    fn stop(mut self) -> Output {
        let child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        child.wait_with_output().unwrap()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            _ = child.kill();
            _ = child.wait();
        }
    }
}

const LOG: &str = "time,user\n0,ann\n1,ann\n1.5,bob\n90000,ann\n90000.5,ann\n90000.6,ann\n";

/// Sums and keys are those of all events, the last one among them, and so is the summary.
#[test]
fn all_events_of_a_log_are_seen() {
    let replay = Replay::start(&["--speed", "1e9", "gcra 2/1h per user"], LOG, true);
    let said = replay.told(&[",5,1,0]", "event: speed\ndata: 0.0\n"]);
    assert!(said.contains(r#"["limiter-1","gcra 2/1h burst 2 per user"]"#), "{said}");
    // Who comes later sees the same.
    let said = replay.told(&[",5,1,0]", "event: keys"]);
    let ann = r#""count":5,"error":0,"hash":""#;
    assert!(said.contains(ann) && said.contains(r#""key":"user=bob""#), "{said}");
    let output = replay.stop();
    assert!(output.status.success());
    let last = "That was the last event; Ctrl-C stops Live.\n";
    let summary = format!("gcra 2/1h per user: 5 of 6 allowed (83.3%), 1 refused, keys: 2\n{last}");
    assert_eq!(text(&output.stderr), summary);
}

/// An event passes when it is time for it, and Ctrl-C does not wait for that; nor for a log that goes on.
#[test]
fn events_pass_in_their_time() {
    let input = "time,user\n0,ann\n1000000,ann\n";
    for ends in [true, false] {
        let replay = Replay::start(&["gcra 2/1h per user"], input, ends);
        let said = replay.told(&[",1,0,0]"]);
        assert!(!said.contains(",2,0,0]") && said.contains("event: speed\ndata: 1.0\n"), "{said}");
        assert!(replay.stop().status.success());
    }
    // Events that are known pass, though the log goes on.
    let replay = Replay::start(&["--speed", "1e9", "gcra 2/1h per user"], input, false);
    replay.told(&[",2,0,0]"]);
    assert!(replay.stop().status.success());
}

fn rules(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, "domain: web\ndescriptors:\n- {key: user, limit: gcra 1/1h}\n").unwrap();
    path
}

/// Events may cost less than 1, and a policy may have a limit twice, as without a screen.
#[test]
fn limits_below_a_cost_of_one_are_seen() {
    let log = "time,user,cost\n0,ann,0.125\n1,ann,0.25\n";
    let args = ["--speed", "1e9", "sliding-log 0.15/1m per user", "5/1s & 5/1s"];
    let replay = Replay::start(&args, log, true);
    replay.told(&["event: speed\ndata: 0.0\n", ",1,1,0,2,0,0]"]);
    assert!(replay.stop().status.success());
}

/// Several limiters and a file are rules beside each other.
#[test]
fn each_limiter_is_a_rule_of_its_own() {
    let rules = rules("live.yaml");
    let args = ["--speed", "1e9", "gcra 2/1h per user", "1/1m per all & 2/1h per user"];
    let args = [&args[..], &["--rules", rules.to_str().unwrap()]].concat();
    let replay = Replay::start(&args, LOG, true);
    let said = replay.told(&["event: speed\ndata: 0.0\n", ",5,1,0,2,4,0,3,3,0]"]);
    for rule in [r#"["limiter-1",""#, r#"["limiter-2",""#, r#"["web:user",""#] {
        assert!(said.contains(rule), "{rule} in {said}");
    }
}

#[test]
fn what_can_not_be_shown_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rules = rules("live-twice.yaml");
    let rules = rules.to_str().unwrap();
    for (args, input, says) in [
        (&["--speed", "0", "1/1s"][..], "time\n0\n", "write how many times as fast"),
        (&["--speed", "inf", "1/1s"], "time\n0\n", "write how many times as fast"),
        (&["--format", "csv", "1/1s"], "time\n0\n", "cannot be used with"),
        (&["--store", "redis://127.0.0.1", "1/1s"], "time\n0\n", "cannot be used with"),
        (&["--rules", rules, "--rules", rules], "time\n0\n", "rules for the domain web already"),
        (&["--port", &port, "1/1s"], "time\n0\n", "choose another with --port"),
        (&["1/1s"], "time\nx\n", "line 2"),
        (&["1/1s"], "", "empty"),
    ] {
        let mut command = ratescope(&["simulate", "--live"]);
        if !args.contains(&"--port") {
            command.args(["--port", "0"]);
        }
        let mut child = command.args(args).spawn().unwrap();
        // It may end before it reads.
        _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{says} in {said}");
    }
    let output = ratescope(&["simulate", "--speed", "60", "1/1s"]).output().unwrap();
    assert!(text(&output.stderr).contains("--live"), "it is for Live only");
}

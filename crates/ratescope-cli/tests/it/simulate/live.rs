//! `ratescope simulate --live`: the events of a log pass in Live.

use super::shell::{Running, command, file, listen, run};
use super::text;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

/// A simulation that is seen.
struct Replay {
    running: Running,
    address: String,
}

impl Replay {
    /// Begins to replay `input`, which then ends if `ends`.
    fn start(args: &[&str], input: &str, ends: bool) -> Self {
        let mut command = command(&[&["simulate", "--live", "--port", "0"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
        Replay { address: address.to_owned(), running: Running(child) }
    }

    /// Looks until all of these are said.
    fn told(&self, until: &[&str]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let request = format!("GET /live/events HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        listen(&mut stream, &request, until)
    }

    /// Ctrl-C, whether it ends well, and its last words.
    fn stop(mut self) -> (bool, String) {
        self.running.signal("INT");
        let mut said = String::new();
        self.running.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.running.0.wait().unwrap().success(), said)
    }
}

const LOG: &str = "time,user\n0,ann\n1,ann\n1.5,bob\n90000,ann\n90000.5,ann\n90000.6,ann\n";

/// Sums and keys are those of all events, the last one among them, and so is the summary.
#[test]
fn all_events_of_a_log_are_seen() {
    let replay = Replay::start(&["--speed", "1e9", "gcra 2/1h per user"], LOG, true);
    let said = replay.told(&[",5,1,0]", "event: speed\ndata: 0.0\n"]);
    assert!(said.contains(r#"["limiter-1","gcra 2/1h burst 2 per user",false]"#), "{said}");
    // Who comes later sees the same.
    let said = replay.told(&[",5,1,0]", "event: keys"]);
    let ann = r#""count":5,"error":0,"hash":""#;
    assert!(said.contains(ann) && said.contains(r#""key":"user=bob""#), "{said}");
    let (ended_well, said) = replay.stop();
    let last = "That was the last event; Ctrl-C stops Live.\n";
    let summary = format!("gcra 2/1h per user: 5 of 6 allowed (83.3%), 1 refused, keys: 2\n{last}");
    assert_eq!((ended_well, said), (true, summary));
}

/// An event passes when it is time for it, and Ctrl-C does not wait for that; nor for a log that goes on.
#[test]
fn events_pass_in_their_time() {
    let input = "time,user\n0,ann\n1000000,ann\n";
    for ends in [true, false] {
        let replay = Replay::start(&["gcra 2/1h per user"], input, ends);
        let said = replay.told(&[",1,0,0]"]);
        assert!(!said.contains(",2,0,0]") && said.contains("event: speed\ndata: 1.0\n"), "{said}");
        assert!(replay.stop().0);
    }
    // Events that are known pass, though the log goes on.
    let replay = Replay::start(&["--speed", "1e9", "gcra 2/1h per user"], input, false);
    replay.told(&[",2,0,0]"]);
    assert!(replay.stop().0);
}

fn rules(name: &str) -> String {
    file(name, "domain: web\ndescriptors:\n- {key: user, limit: gcra 1/1h}\n")
}

/// Events may cost less than 1, and a policy may have a limit twice, as without a screen.
#[test]
fn limits_below_a_cost_of_one_are_seen() {
    let log = "time,user,cost\n0,ann,0.125\n1,ann,0.25\n";
    let args = ["--speed", "1e9", "sliding-log 0.15/1m per user", "5/1s & 5/1s"];
    let replay = Replay::start(&args, log, true);
    replay.told(&["event: speed\ndata: 0.0\n", ",1,1,0,2,0,0]"]);
    assert!(replay.stop().0);
}

/// Several limiters and a file are rules beside each other.
#[test]
fn each_limiter_is_a_rule_of_its_own() {
    let rules = rules("live.yaml");
    let args = ["--speed", "1e9", "gcra 2/1h per user", "1/1m per all & 2/1h per user"];
    let args = [&args[..], &["--rules", &rules]].concat();
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
    let rules = &rules("live-twice.yaml");
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
        let mut command = command(&["simulate", "--live"]);
        if !args.contains(&"--port") {
            command.args(["--port", "0"]);
        }
        let output = run(command.args(args), input);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{says} in {said}");
    }
    let output = run(&mut command(&["simulate", "--speed", "60", "1/1s"]), "");
    assert!(text(&output.stderr).contains("--live"), "it is for Live only");
}

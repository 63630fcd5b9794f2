//! The start and the end of the program, and the admin port.

use super::program::{Channel, Program, get};
use super::requests::{RULES, descriptor, request};
use super::shell::{Folder, Running, command};
use ratescope_service::Code;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

fn run(args: &[&str], rules: &Path) -> Output {
    command(&["run"]).args(args).arg(rules).output().unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn what_can_not_run_is_refused_with_a_reason() {
    let folder = Folder::new("refused");
    let rules = folder.write("rules.yaml", RULES);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let options = ["--grpc", "--http", "--admin"];
    for option in options {
        let address = |each: &'static str| [each, if each == option { &port } else { "off" }];
        let args = options.map(address).concat();
        assert_refused(&run(&args, &rules), &[&port, "in use", option]);
    }
    let nowhere = options.map(|option| [option, "off"]).concat();
    assert_refused(&run(&nowhere, &rules), &["all ports are off", "--grpc"]);
    assert_refused(&run(&["--admin", "0.0.0.0:0"], &rules), &["--admin-token-file"]);
    let short = folder.write("short", "secret\n");
    let short = ["--admin-token-file", short.to_str().unwrap()];
    assert_refused(&run(&short, &rules), &["16 characters"]);
    if cfg!(unix) {
        let endless = ["--admin-token-file", "/dev/zero"];
        assert_refused(&run(&endless, &rules), &["/dev/zero: it has more than 65536 bytes"]);
    }
    for watch in ["0s", "0ms", "-1s", "nan", "inf"] {
        let refused = run(&[&format!("--watch={watch}"), "--check"], &rules);
        assert_eq!(refused.status.code(), Some(2), "{watch}");
        let message = String::from_utf8_lossy(&refused.stderr);
        let right = if watch.starts_with('0') { "longer than zero" } else { "write a span as 10s" };
        assert!(message.contains("--watch") && message.contains(right), "{message}");
    }
    let bad = folder.write("bad.yaml", "domain: web\nlimit: gcra 10/1x\n");
    assert_refused(&run(&["--check"], &bad), &["bad.yaml:2:17"]);
    // Limits of one process are shared with no other.
    let leased = folder.write("leased.yaml", "domain: web\nshare: leased\nlimit: gcra 100/1s\n");
    assert_refused(&run(&["--check"], &leased), &["leased.yaml:3:8", "keep them on Redis"]);
    let good = run(&["--check"], &rules);
    assert!(good.status.success());
    assert!(String::from_utf8_lossy(&good.stdout).starts_with("web: 4 rules in "), "{good:?}");
    let one = run(&["--check"], &folder.write("one.yaml", "domain: web\nlimit: gcra 10/1s\n"));
    assert!(String::from_utf8_lossy(&one.stdout).starts_with("web: 1 rule in "), "{one:?}");
    let odd = folder.write(
        "odd.yaml",
        "domain: web\ndescriptors:\n- {key: path, value: /a?, limit: gcra 1/1s}\n",
    );
    assert_refused(&run(&["--check"], &odd), &["line 3: no request has the path /a?", "write /a"]);
    assert!(run(&["--check", "--form", "path=text"], &odd).status.success());
    for wrong in [["--form", "path"], ["--form", "path=url"], ["--allow-origin", "example.org"]] {
        assert_eq!(run(&wrong, &rules).status.code(), Some(2), "{wrong:?}");
    }
    let all = run(&["--trusted-proxies", "10.0.0.0/8, 0.0.0.0/1", "--check"], &rules);
    assert_refused(&all, &["--trusted-proxies", "0.0.0.0/1", "public addresses", "--client-hops"]);
    assert!(
        run(&["--trusted-proxies", "0.0.0.0/0", "--client-hops", "2", "--check"], &rules)
            .status
            .success()
    );
    let twice = run(&["--field", "user=a", "--field", "user=b"], &rules);
    assert_refused(&twice, &["--field", "user", "two headers"]);
}

/// A service refuses events that would have to wait, and both commands that check rules say so.
#[test]
fn a_limit_that_lets_events_wait_is_noted() {
    let folder = Folder::new("waits");
    let rules = "domain: web\ndescriptors:\n- key: user\n  limit: leaky-bucket 1/1s queue 5\n- {key: ip, limit: gcra 1/1s}\n";
    let file = folder.write("rules.yaml", rules);
    let note = "rules.yaml:3: leaky-bucket 1/1s queue 5: nobody waits in ratescope run";
    for args in [&["run", "--check"][..], &["check"]] {
        let output = command(args).arg(&file).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.matches(note).count() == 1, "{args:?}: {said}");
        assert_eq!(said.matches("nobody waits").count(), 1, "{said}");
    }
}

#[test]
fn the_admin_port() {
    let folder = Folder::new("admin");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let args = ["--admin-token-file", token.to_str().unwrap(), "--watch", "10ms"];
    let program = Program::start(&rules, &args);
    let ask = |path: &str, token: &str| {
        get(program.admin, path, &format!("authorization: Bearer {token}\r\n"))
    };
    let good = "0123456789abcdef";
    for path in ["/metrics", "/rules", "/healthz?verbose", "/elsewhere"] {
        for wrong in ["", "0123456789abcdeg", "0123456789abcdef0"] {
            assert_eq!(ask(path, wrong).0, 401, "{path} {wrong}");
        }
    }
    // The name of the scheme is in any case.
    for scheme in ["bearer", "BEARER"] {
        let said = format!("authorization: {scheme} {good}\r\n");
        assert_eq!(get(program.admin, "/rules", &said).0, 200, "{scheme}");
    }
    assert_eq!(
        (get(program.admin, "/healthz", "").0, get(program.admin, "/readyz", "").0),
        (200, 200)
    );
    assert_eq!(get(program.http, "/healthcheck", "").0, 200);
    assert!(ask("/rules", good).1.contains("gcra 2/1m burst 2 per user"));
    assert!(ask("/healthz?verbose", good).1.contains("green"));
    // A broken file turns the health yellow, and the counters show it.
    folder.write("rules.yaml", "domain: web\nnonsense: 1\n");
    while !ask("/healthz?verbose", good).1.contains("yellow") {}
    assert!(ask("/healthz?verbose", good).1.contains("rules.yaml:2:1: \"nonsense\""));
    assert!(ask("/healthz?verbose", good).1.contains("1 of 1 files, whose earlier rules stay"));
    let metrics = ask("/metrics", good).1;
    for line in ["ratescope_reloads_total{outcome=\"rejected\"} 1\n", "ratescope_rules_broken 1\n"]
    {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert_eq!(get(program.admin, "/readyz", "").0, 200, "it goes on by the rules before");
}

/// Where a new file of a folder is wrong, nothing is limited by it, which is worse than earlier rules.
#[test]
fn a_new_file_that_is_wrong_turns_the_health_red() {
    let folder = Folder::new("red");
    folder.write("web.yaml", RULES);
    let program = Program::start(&folder.0, &["--watch", "10ms"]);
    folder.write("mail.yaml", "domain: mail\nnonsense: 1\n");
    let said = "red: mistakes in 1 of 2 files, which have no rules in force\n";
    while !get(program.admin, "/healthz?verbose", "").1.contains(said) {}
    assert!(!get(program.admin, "/healthz?verbose", "").1.contains("yellow"));
}

/// A ConfigMap with a wrong key takes the only rule file away: its limits stay, and the health, the counters and the log
/// say it. Without rules, where that is allowed, the health is yellow, too.
#[cfg(unix)]
#[test]
fn the_last_rule_file_that_leaves_is_told() {
    let folder = Folder::new("last");
    folder.write("web.yaml", "domain: web\nlimit: gcra 1/52w per user\n");
    let program = Program::start(&folder.0, &["--watch", "10ms"]);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    assert!(get(program.admin, "/readyz", "").1.ends_with("\ngreen: all rules are in force\n"));
    std::fs::rename(folder.0.join("web.yaml"), folder.0.join("web")).unwrap();
    let said = "yellow: problems with 1 of 1 files, whose earlier rules stay in force\n";
    for path in ["/healthz", "/readyz", "/healthz?verbose"] {
        while !get(program.admin, path, "").1.contains(said) {}
    }
    assert_eq!(get(program.admin, "/readyz", "").0, 200);
    assert!(get(program.admin, "/healthz?verbose", "").1.contains("web.yaml: it has left"));
    while !get(program.admin, "/metrics", "").1.contains("\nratescope_green 0\n") {}
    assert!(get(program.admin, "/metrics", "").1.contains("\nratescope_rules_broken 1\n"));
    assert_eq!(get(program.http, "/check?user=ann", "").0, 429, "its states stay, too");
    let log = program.ended();
    assert!(log.contains("ERROR") && log.contains("web.yaml: it has left its folder"), "{log}");

    let none = Folder::new("none");
    assert_refused(&run(&["--check"], &none.0), &["no file ends with .yaml or .yml"]);
    let program = Program::start(&none.0, &["--allow-no-rules"]);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    let said = "yellow: no rules are in force, and every request passes\n";
    assert!(get(program.admin, "/readyz", "").1.ends_with(said));
}

/// How often the files are looked at says nothing of how often the gauges are set.
#[test]
fn the_gauges_are_set_between_two_looks_at_the_files() {
    let program = Program::of(RULES, &["--watch", "1h"]);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    while !get(program.admin, "/metrics", "").1.contains("\nratescope_keys{layer=\"web\"} 1\n") {}
}

/// Somebody puts a pipe in the place of a rule file: nobody waits for text that is never written there.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_rule_file() {
    let folder = Folder::new("pipe");
    let rules = folder.write("rules.yaml", RULES);
    let mut program = Program::start(&rules, &["--watch", "10ms"]);
    std::fs::remove_file(&rules).unwrap();
    assert!(Command::new("mkfifo").arg(&rules).status().unwrap().success());
    let health = || get(program.admin, "/healthz?verbose", "").1;
    let said = "rules.yaml: it is not a regular file";
    while !health().contains(said) {}
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200, "by the rules before");
    program.running.signal("TERM");
    assert!(program.running.0.wait().unwrap().success());
    assert_refused(&run(&["--check"], &rules), &[said]);
}

/// The disk of the log is full, or who reads the log has gone: that ends no service.
#[cfg(unix)]
#[test]
fn a_log_that_can_not_be_written_ends_nothing() {
    let folder = Folder::new("unlogged");
    let mut program = Program::start(&folder.write("rules.yaml", RULES), &["--watch", "10ms"]);
    drop(program.running.0.stderr.take());
    folder.write("rules.yaml", "domain: web\nlimit: gcra 7/1m per user\n");
    while !get(program.admin, "/rules", "").1.contains("gcra 7/1m") {}
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    program.running.signal("TERM");
    assert!(program.running.0.wait().unwrap().success());
}

/// The reader of the log has stopped: that holds up no decision, and not the end.
#[cfg(unix)]
#[test]
fn a_log_that_nobody_reads_holds_up_nothing() {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (mut full, _unread) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.write(&[b'x'; 1024]).is_ok() || full.write(b"x").is_ok() {}
    full.set_nonblocking(false).unwrap();
    let folder = Folder::new("unread");
    let free = "127.0.0.1:0";
    let args = ["run", "--grpc", "off", "--http", free, "--admin", "off", "--notice", "0s"];
    let mut started = command(&args);
    started.arg(folder.write("rules.yaml", RULES)).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running(started.stderr(OwnedFd::from(full)).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let at = line.split("http://").nth(1).unwrap().trim().parse().unwrap();
    // Each refusal is a line of the log.
    let statuses = [(); 8].map(|()| get(at, "/check?user=ann", "").0);
    assert_eq!(statuses, [200, 200, 429, 429, 429, 429, 429, 429]);
    running.signal("TERM");
    assert!(running.0.wait().unwrap().success());
}

/// Nobody reads where it listens, or that disk is full: the log says it then.
#[test]
fn addresses_that_can_not_be_printed_end_nothing() {
    let folder = Folder::new("unprinted");
    let (reader, unread) = std::io::pipe().unwrap();
    drop(reader);
    let mut started = command(&["run", "--grpc", "off", "--http", "127.0.0.1:0", "--admin", "off"]);
    started.arg(folder.write("rules.yaml", RULES)).stdin(Stdio::null()).stdout(unread);
    let mut running = Running(started.stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let at = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
    assert_eq!(get(at.trim().parse().unwrap(), "/check?user=ann", "").0, 200);
}

/// When the program is asked to end, it announces that, serves on for the notice, and then ends. When it is
/// asked twice, it ends at once.
#[cfg(unix)]
#[tokio::test]
async fn the_end_is_announced() {
    let mut program = Program::of(RULES, &["--notice", "1h", "--drain", "1h"]);
    let mut channel = Channel::open(program.grpc).await;
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    program.running.signal("TERM");
    while get(program.admin, "/readyz", "").0 == 200 {}
    assert_eq!(get(program.http, "/healthcheck", "").0, 503);
    assert_eq!(get(program.admin, "/healthz", "").0, 200);
    let health =
        async |channel: &mut Channel| channel.call("/grpc.health.v1.Health/Check", &[]).await;
    while health(&mut channel).await != (0, vec![8, 2]) {}
    // New connections are still served.
    let mut other = Channel::open(program.grpc).await;
    assert_eq!(other.should_rate_limit(&ann).await.unwrap().overall_code(), Code::Ok);
    program.running.signal("TERM");
    assert!(program.running.0.wait().unwrap().success());
}

/// After the notice nobody can connect, calls under way are answered, and idle connections end.
#[cfg(unix)]
#[tokio::test]
async fn what_is_under_way_is_answered() {
    let mut program = Program::of(RULES, &["--drain", "1h"]);
    let mut channel = Channel::open(program.grpc).await;
    let _idle = TcpStream::connect(program.grpc).unwrap();
    let _idle = TcpStream::connect(program.http).unwrap();
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    let (answer, mut body) = channel.begin(super::program::SHOULD_RATE_LIMIT).await;
    let message = prost::Message::encode_to_vec(&ann);
    let mut frame = vec![0, 0, 0, 0, message.len() as u8];
    frame.extend(message);
    let rest = frame.split_off(7);
    body.send_data(frame.into(), false).unwrap();
    // The first part of the message has arrived once a later call is answered.
    channel.should_rate_limit(&ann).await.unwrap();
    program.running.signal("TERM");
    while TcpStream::connect(program.grpc).is_ok() {}
    body.send_data(rest.into(), true).unwrap();
    assert_eq!(answer.await.unwrap().status(), 200);
    drop((body, channel));
    assert!(program.running.0.wait().unwrap().success());
}

/// A client of HTTP/1 that asks all the time on one connection: each request is answered, and the last answer says that
/// it is the last one. Then nobody is there, or whoever is answers in the same way.
#[cfg(unix)]
fn ask_until_told(at: SocketAddr, tell: &std::sync::mpsc::Sender<()>) {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(at).unwrap();
    loop {
        stream.write_all(b"GET /check?free=x HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"}\n") {
            let n = stream.read(&mut byte).unwrap();
            assert!(n > 0, "a request is lost after {}", String::from_utf8_lossy(&answer));
            answer.push(byte[0]);
        }
        _ = tell.send(());
        if String::from_utf8_lossy(&answer).contains("\r\nconnection: close\r\n") {
            assert_eq!(stream.read(&mut byte).unwrap(), 0);
            return;
        }
    }
}

/// The end costs no request of a busy connection, with and without a notice.
#[cfg(unix)]
#[test]
fn the_end_costs_no_request_of_http() {
    for notice in ["0s", "200ms"] {
        let mut ends = Program::of(RULES, &["--drain", "1h", "--notice", notice]);
        let (tell, told) = std::sync::mpsc::channel();
        let at = ends.http;
        let clients: Vec<_> = (0..12)
            .map(|_| {
                let tell = tell.clone();
                std::thread::spawn(move || ask_until_told(at, &tell))
            })
            .collect();
        drop(tell);
        for _ in 0..600 {
            told.recv().unwrap();
        }
        ends.running.signal("TERM");
        for client in clients {
            client.join().unwrap();
        }
        assert!(ends.running.0.wait().unwrap().success());
    }
}

/// The signal by which other servers read their files again does so here, however rarely the files are looked at, and
/// ends no program whose input is no terminal.
#[cfg(unix)]
#[test]
fn a_hangup_reads_the_files_again() {
    let folder = Folder::new("hangup");
    let rules = folder.write("rules.yaml", RULES);
    let mut program = Program::start(&rules, &["--watch", "1h"]);
    folder.write("rules.yaml", "domain: web\nlimit: gcra 7/1m per user\n");
    program.running.signal("HUP");
    while !get(program.admin, "/rules", "").1.contains("gcra 7/1m") {}
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    program.running.signal("TERM");
    assert!(program.running.0.wait().unwrap().success());
}

/// A client that calls all the time: the first address until the server there says that it ends, then the
/// second. For each answer it sends whether it had moved to the second by then.
#[cfg(unix)]
async fn call([first, second]: [SocketAddr; 2], tell: mpsc::Sender<bool>) {
    let (mut channel, mut has_moved) = (Channel::open(first).await, false);
    let free = request(vec![descriptor(&[("free", "x")])]);
    for _ in 0..500 {
        let answer = match channel.try_should_rate_limit(&free).await {
            Ok(answer) => answer,
            // The server had announced that it takes no more calls, so it has not seen this one.
            Err(error) => {
                assert!(error.is_go_away() && !has_moved, "a call is lost: {error}");
                assert_eq!(error.reason(), Some(h2::Reason::NO_ERROR));
                (channel, has_moved) = (Channel::open(second).await, true);
                channel.should_rate_limit(&free).await
            }
        };
        assert_eq!(answer.unwrap().overall_code(), Code::Ok);
        tell.send(has_moved).await.unwrap();
    }
}

/// A process that ends answers each call that it has taken, and announces that it takes no more.
#[cfg(unix)]
#[tokio::test]
async fn the_end_costs_no_call_under_load() {
    let mut ends = Program::of(RULES, &["--drain", "1h"]);
    let stays = Program::of(RULES, &[]);
    let (tell, mut told) = mpsc::channel(1);
    let clients: Vec<_> =
        (0..8).map(|_| tokio::spawn(call([ends.grpc, stays.grpc], tell.clone()))).collect();
    drop(tell);
    let (mut n, mut moved) = (0, 0);
    while let Some(has_moved) = told.recv().await {
        (n, moved) = (n + 1, moved + u32::from(has_moved));
        if n == 400 {
            ends.running.signal("TERM");
        }
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(n, 4000);
    assert!(moved > 0 && ends.running.0.wait().unwrap().success());
}

/// Rules that change all the time under load: each call is answered, and counts survive each change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_under_load_loses_nothing() {
    let folder = Folder::new("load");
    let rules = |more: u32| {
        format!(
            "domain: web\ndescriptors:\n- {{key: user, rate_limit: {{unit: year, requests_per_unit: \
             300}}}}\n- {{key: more, value: v{more}}}\n"
        )
    };
    let file = folder.write("rules.yaml", rules(0));
    let program = Program::start(&file, &["--watch", "1ms"]);
    let loads = || {
        let metrics = get(program.admin, "/metrics", "").1;
        let value = metrics.split("\nratescope_reloads_total{outcome=\"applied\"} ").nth(1);
        value.map_or(0, |value| value.lines().next().unwrap().parse::<u32>().unwrap())
    };
    let (is_over, mut clients) = (Arc::new(AtomicBool::new(false)), Vec::new());
    for _ in 0..4 {
        let (is_over, mut channel) = (Arc::clone(&is_over), Channel::open(program.grpc).await);
        let ann = request(vec![descriptor(&[("user", "ann")])]);
        clients.push(tokio::spawn(async move {
            let (mut allowed, mut last) = (0, 0);
            // Until all changes are made, and then for 300 more calls, so that the limit is certainly
            // reached.
            while last <= 300 {
                last += u32::from(is_over.load(Ordering::Relaxed));
                let code = channel.should_rate_limit(&ann).await.unwrap().overall_code();
                allowed += u32::from(code == Code::Ok);
            }
            allowed
        }));
    }
    for i in 1..=20 {
        // By renaming, so that no half-written file is read.
        let new = folder.write("new", rules(i));
        std::fs::rename(new, &file).unwrap();
        while loads() < i {
            tokio::task::yield_now().await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let mut allowed = 0;
    for client in clients {
        allowed += client.await.unwrap();
    }
    assert_eq!((allowed, loads()), (300, 20));
}

/// Under load, a process ends and another one goes on from its states: what both allow is the limit, and each request is
/// answered by one of them.
#[cfg(unix)]
#[test]
fn states_outlive_a_restart_under_load() {
    let folder = Folder::new("state");
    let rules = folder.write("rules.yaml", "domain: web\nlimit: gcra 500/52w per user\n");
    let state = folder.path("state");
    let args = ["--state", state.to_str().unwrap(), "--drain", "1h"];
    let mut before = Program::start(&rules, &args);
    let clients = |at: SocketAddr, until: fn(u16) -> bool| -> Vec<_> {
        let ask = move || {
            let mut allowed = 0;
            // Until nobody listens, or the limit is reached.
            while TcpStream::connect(at).is_ok() {
                let Ok(answer) = std::panic::catch_unwind(|| get(at, "/check?user=ann", "")) else {
                    break;
                };
                allowed += u32::from(answer.0 == 200);
                if until(answer.0) {
                    break;
                }
            }
            allowed
        };
        (0..4).map(|_| std::thread::spawn(ask)).collect()
    };
    let sum = |clients: Vec<std::thread::JoinHandle<u32>>| -> u32 {
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    };
    let asking = clients(before.http, |_| false);
    while !get(before.admin, "/metrics", "").1.lines().any(|line| {
        line.starts_with("ratescope_requests_total{outcome=\"allowed\"")
            && line.split(' ').next_back().unwrap().parse::<u32>().unwrap() >= 100
    }) {}
    before.running.signal("TERM");
    assert!(before.running.0.wait().unwrap().success());
    let first = sum(asking);
    assert!((100..500).contains(&first), "{first}");
    let after = Program::start(&rules, &args);
    let second = sum(clients(after.http, |status| status == 429));
    assert_eq!(first + second, 500);
    // A file that is broken is told, and does not keep the program from starting.
    after.ended();
    std::fs::write(&state, "nonsense").unwrap();
    let anew = Program::start(&rules, &args);
    assert_eq!(get(anew.http, "/check?user=ann", "").0, 200);
    assert!(anew.ended().contains("all limits start over"));
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    let nowhere = folder.path("nowhere/state");
    assert_refused(&run(&["--state", nowhere.to_str().unwrap()], &rules), &["nowhere/state: "]);
}

/// States that can't be saved, as on a full disk, turn the health yellow; here nobody may create a file.
#[cfg(target_os = "linux")]
#[test]
fn states_that_can_not_be_saved_are_told() {
    let rules = "domain: web\nlimit: gcra 1/52w per user\n";
    let program = Program::of(rules, &["--state", "/proc/version"]);
    let said =
        "yellow: the states are not saved, and a restart would lose what was counted since\n";
    while !get(program.admin, "/readyz", "").1.contains(said) {}
    let report = get(program.admin, "/healthz?verbose", "").1;
    assert!(report.contains("\nstates: /proc/version: "), "{report}");
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    let log = program.ended();
    assert_eq!(log.matches("the states are not saved: /proc/version: ").count(), 2, "{log}");
}

/// Without arguments the rules are where envoyproxy/ratelimit finds them.
#[test]
fn rules_are_found_as_envoyproxy_ratelimit_finds_them() {
    let folder = Folder::new("runtime");
    folder.write("ratelimit/config/web.yaml", "domain: web\nlimit: gcra 1/1m per user\n");
    let check = |variables: &[(&str, &str)]| {
        let mut command = command(&["run", "--check"]);
        for name in ["RUNTIME_ROOT", "RUNTIME_SUBDIRECTORY", "RUNTIME_APPDIRECTORY"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let root = folder.0.to_str().unwrap();
    let found = check(&[("RUNTIME_ROOT", root), ("RUNTIME_SUBDIRECTORY", "ratelimit")]);
    assert!(String::from_utf8_lossy(&found.stdout).starts_with("web: 1 rule in "), "{found:?}");
    let named = [
        ("RUNTIME_ROOT", root),
        ("RUNTIME_SUBDIRECTORY", ""),
        ("RUNTIME_APPDIRECTORY", "ratelimit/config"),
    ];
    assert!(check(&named).status.success());
    assert_refused(&check(&[]), &["there are no rules", "RUNTIME_ROOT"]);
}

/// A container has no shell to ask with.
#[cfg(unix)]
#[test]
fn the_health_is_asked_without_a_shell() {
    let folder = Folder::new("asked");
    let rules = folder.write("rules.yaml", RULES);
    let program = Program::start(&rules, &["--watch", "10ms"]);
    let admin = program.admin.to_string();
    let health =
        |args: &[&str]| command(&["health", "--admin", &admin]).args(args).output().unwrap();
    for args in [&[][..], &["--green"]] {
        let output = health(args);
        assert!(output.status.success());
        assert_eq!(output.stdout, b"green: all rules are in force\n");
    }
    folder.write("rules.yaml", "nonsense");
    while health(&["--green"]).status.success() {}
    assert!(health(&[]).stdout.starts_with(b"yellow: problems with 1 of 1 files"));
    let verbose = health(&["--verbose"]).stdout;
    let verbose = String::from_utf8_lossy(&verbose).into_owned();
    assert!(verbose.starts_with("yellow: ") && verbose.contains("/rules.yaml: "), "{verbose}");
    program.ended();
    assert_refused(&health(&[]), &[&admin, "ratescope run listens there with --admin"]);
}

//! Hostile or careless clients: none of them keeps others from being served.

use super::program::{Channel, Program, SHOULD_RATE_LIMIT, get, http};
use super::requests::{RULES, descriptor, framed, request};
use super::shell::listen;
use prost::Message;
use ratescope_service::{
    BucketId, BucketQuotaUsage, Code, Entry, RateLimitQuotaResponse, RateLimitQuotaUsageReports,
};
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of connections that are left open. `./scripts/test strangers` sets it to ten thousand.
fn crowd() -> usize {
    let said = std::env::var("RATESCOPE_STRANGERS").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(400)
}

/// The memory of a program in KiB, if the system tells it.
fn memory(program: &Program) -> Option<usize> {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", program.running.0.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[tokio::test]
async fn strangers_do_no_harm() {
    let program = Program::of(RULES, &[]);
    let mut channel = Channel::open(program.grpc).await;

    // HTTP/1 on the port of gRPC gets an answer, and garbage ends its connection.
    let answer = http(program.grpc, "GET / HTTP/1.1\r\nhost: example.org\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 505") && answer.contains("HTTP/2"), "{answer}");
    for garbage in
        [&[0xff; 4096][..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
    {
        let mut stream = TcpStream::connect(program.grpc).unwrap();
        _ = stream.write_all(garbage);
        // The connection is closed, or reset because not all of the garbage was read.
        _ = stream.read_to_end(&mut Vec::new());
    }
    // Connections that send nothing, or half of something, stay open until their time is up; no more memory
    // than the connection itself is kept for them.
    let before = memory(&program);
    let idle: Vec<TcpStream> = (0..crowd())
        .map(|i| {
            let at = [program.grpc, program.http, program.admin][i % 3];
            let mut stream = TcpStream::connect(at).unwrap();
            let half: &[u8] = [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"][i / 3 % 3];
            // The server may have closed it as nonsense already.
            _ = stream.write_all(half);
            stream
        })
        .collect();
    for at in [program.http, program.admin] {
        assert_eq!(
            get(at, if at == program.http { "/check?user=x" } else { "/metrics" }, "").0,
            200
        );
    }
    if let (Some(before), Some(after)) = (before, memory(&program)) {
        let grown = after.saturating_sub(before);
        assert!(grown < 16 * crowd() + (16 << 10), "{grown} KiB for {} connections", crowd());
    }

    // A message that is too long is refused, however often it comes.
    for _ in 0..10 {
        let (code, answer) = channel.call(SHOULD_RATE_LIMIT, &vec![0; 4 << 20]).await;
        assert_eq!((code, answer.get(..2)), (0, Some(&[8, 2][..])));
    }

    // Calls are cancelled in all their states.
    let mut given_up = Channel::open(program.grpc).await;
    for i in 0..100 {
        let (answer, mut body) = given_up.begin(SHOULD_RATE_LIMIT).await;
        if i % 2 == 0 {
            body.send_data(vec![0, 0, 0, 0, 9].into(), false).unwrap();
        }
        body.send_reset(h2::Reason::CANCEL);
        drop(answer);
    }
    // A call ends within the time limit that it sets: DEADLINE_EXCEEDED.
    for within in ["1n", "900u", "20m"] {
        let (answer, mut body) = channel.try_begin(SHOULD_RATE_LIMIT, within).await.unwrap();
        body.send_data(vec![0, 0, 0, 0, 9].into(), false).unwrap();
        let head = answer.await.unwrap();
        assert_eq!(head.headers()["grpc-status"], "4", "{within}");
    }
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    let mut other = Channel::open(program.grpc).await;
    for channel in [&mut channel, &mut other] {
        assert_eq!(channel.should_rate_limit(&ann).await.unwrap().overall_code(), Code::Ok);
    }
    assert_eq!(get(program.http, "/check?user=eve", "").0, 200);
    drop(idle);
}

/// The memory that strangers hold is bounded, for each connection and for all of them.
#[tokio::test]
async fn strangers_hold_little() {
    let program = Program::of(RULES, &[]);
    let mut channel = Channel::open(program.grpc).await;
    for at in [program.http, program.admin] {
        let mut stream = TcpStream::connect(at).unwrap();
        // More may be sent than is read, and the connection reset.
        let head = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}", "x".repeat(70_000));
        _ = stream.write_all(head.as_bytes());
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    let before = memory(&program);
    // 2000 heads of 60 KiB each would be 117 MiB.
    let head = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}", "x".repeat(60_000));
    let mut heads: Vec<TcpStream> = Vec::new();
    for i in 0..2000 {
        let mut stream = TcpStream::connect([program.http, program.admin][i % 2]).unwrap();
        _ = stream.write_all(head.as_bytes());
        heads.push(stream);
    }
    // Bodies of 200 KiB in 200 calls on each of eight connections would be 312 MiB.
    let mut calls = Vec::new();
    for _ in 0..8 {
        let mut stranger = Channel::open(program.grpc).await;
        for _ in 0..200 {
            let (answer, mut body) = stranger.begin(SHOULD_RATE_LIMIT).await;
            let message = [&[0, 0, 3, 32, 0][..], &vec![b'x'; 199 << 10]].concat();
            _ = body.send_data(message.into(), false);
            calls.push((answer, body));
        }
    }
    // A usual request is answered all the while.
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(channel.should_rate_limit(&ann).await.unwrap().overall_code(), code);
        assert_eq!(get(program.admin, "/metrics", "").0, 200);
    }
    assert_eq!(get(program.http, "/check?user=eve", "").0, 200);
    if let (Some(before), Some(after)) = (before, memory(&program)) {
        let grown = after.saturating_sub(before);
        // Of each kind 64 MiB, besides free memory and the connections themselves.
        assert!(grown < (2 * 64 + 48) << 10, "{grown} KiB");
    }
    drop((heads, calls));
}

/// Strangers hold all connections that the file handles of the program allow: the log says so once, rules are read
/// again all the same, and operators can look.
#[cfg(unix)]
#[test]
fn file_handles_are_kept_for_rules_and_operators() {
    use super::shell::{Folder, Running};
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = Folder::new("handles");
    let rules = folder.write("rules.yaml", RULES);
    let program = env!("CARGO_BIN_EXE_ratescope");
    let script = "ulimit -n 48; exec \"$0\" run --grpc off --http 127.0.0.1:0 --admin 127.0.0.1:0 --watch 10ms \"$1\"";
    let mut started = Command::new("sh");
    started.args(["-c", script, program]).arg(&rules).stdin(Stdio::null());
    let started = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(started);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let at = |place: usize| -> SocketAddr {
        let rest = line.split("http://").nth(place).unwrap();
        rest.split([',', '\n']).next().unwrap().parse().unwrap()
    };
    let (http, admin) = (at(1), at(2));
    let many: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(http).unwrap()).collect();
    let mut log = BufReader::new(running.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("no connection can be accepted: ") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0);
    }
    assert!(line.contains("ulimit -n"), "{line}");
    folder.write("rules.yaml", "domain: web\nlimit: gcra 7/1m per user\n");
    while !get(admin, "/rules", "").1.contains("gcra 7/1m") {}
    drop(many);
    while !get(http, "/check?user=ann", "").1.starts_with("HTTP/1.1 200") {}
    running.signal("TERM");
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("no connection can be accepted"), "{rest}");
}

/// The lines that clients make our dependencies log are bounded.
#[cfg(unix)]
#[tokio::test]
async fn strangers_do_not_fill_the_log() {
    let program = Program::of(RULES, &[]);
    let mut stream = TcpStream::connect(program.grpc).unwrap();
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // An answer to a ping that nobody sent, of which h2 tells.
    let pong = b"\0\0\x08\x06\x01\0\0\0\0never...".repeat(500);
    let ping = b"\0\0\x08\x06\0\0\0\0\0answered";
    stream.write_all(&[&settings[..], &pong, ping].concat()).unwrap();
    let mut said = Vec::<u8>::new();
    while !said.windows(8).any(|part| part == b"answered") {
        let mut part = [0; 1024];
        let n = stream.read(&mut part).unwrap();
        assert!(n > 0);
        said.extend(&part[..n]);
    }
    drop(stream);
    let log = program.ended();
    let lines = log.lines().filter(|line| line.contains("never sent")).count();
    assert_eq!(lines, 10, "{log}");
}

/// Who has said all, and closes that half of the connection, gets an answer for each request.
#[test]
fn a_half_closed_connection_is_answered() {
    let program = Program::of(RULES, &[]);
    let request = "GET /check?user=ann HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for _ in 0..100 {
        let mut stream = TcpStream::connect(program.http).unwrap();
        stream.write_all(request.repeat(2).as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 2, "{answer}");
    }
}

/// Asks again and again on a connection and reads no answer, until the server closes it.
fn ask_and_never_read(at: SocketAddr, beginning: &[u8], request: &[u8]) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(beginning).unwrap();
    stream.set_nonblocking(true).unwrap();
    let (requests, begun) = (request.repeat(1000), Instant::now());
    let mut rest = requests.as_slice();
    loop {
        match stream.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                assert!(begun.elapsed() < Duration::from_secs(60), "{at}: it is held for ever");
                sleep(Duration::from_millis(5));
            }
            Err(_) => return,
        }
        if rest.is_empty() {
            rest = &requests;
        }
    }
}

/// Who reads no answers loses the connection after a time, on each port. A viewer of Live, who reads all of them, keeps
/// it for as long as the stream lasts.
#[test]
fn who_never_reads_holds_no_connection() {
    let program = Program::of(RULES, &["--unread", "100ms"]);
    let mut viewer = TcpStream::connect(program.admin).unwrap();
    let request = "GET /live/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    listen(&mut viewer, request, &["event: sums"]);
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    ask_and_never_read(program.http, b"", request("/check?user=ann").as_bytes());
    ask_and_never_read(program.admin, b"", request("/metrics").as_bytes());
    // The answer to each ping of HTTP/2 is a ping.
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    ask_and_never_read(program.grpc, settings, b"\0\0\x08\x06\0\0\0\0\0unread..");
    assert_eq!(get(program.http, "/check?user=eve", "").0, 200);
    listen(&mut viewer, "", &["event: sums"]);
}

/// Who leaves no room for an answer, but reads all else, loses the call after a time. A stream may be silent for longer.
#[cfg(unix)]
#[tokio::test]
async fn who_leaves_no_room_for_an_answer_holds_no_call() {
    let program = Program::of(RULES, &["--unread", "100ms", "--notice", "1h"]);
    let (silent, mut asked) =
        Channel::open(program.grpc).await.begin("/grpc.health.v1.Health/Watch").await;
    asked.send_data(vec![0; 5].into(), true).unwrap();
    let mut silent = silent.await.unwrap().into_body();
    assert_eq!(silent.data().await.unwrap().unwrap().last(), Some(&1), "it serves");

    let mut no_room = h2::client::Builder::new();
    let mut channel = Channel::by(no_room.initial_window_size(0), program.grpc).await;
    let (answer, mut asked) = channel.begin(SHOULD_RATE_LIMIT).await;
    let message = request(vec![descriptor(&[("user", "ann")])]).encode_to_vec();
    let head = [0, 0, 0, 0, message.len() as u8];
    asked.send_data([&head[..], &message].concat().into(), true).unwrap();
    let end = answer.await.unwrap().into_body().data().await.unwrap().unwrap_err();
    assert_eq!(end.reason(), Some(h2::Reason::CANCEL));
    program.running.signal("TERM");
    assert_eq!(silent.data().await.unwrap().unwrap().last(), Some(&2), "it ends");
}

/// All answers that are not read share a budget of 64 MiB beyond the part of each connection, and each takes 32 KiB.
#[tokio::test]
async fn answers_that_nobody_reads_are_bounded() {
    let program = Program::of(RULES, &["--unread", "1h"]);
    let message = request(vec![descriptor(&[("user", "ann")])]).encode_to_vec();
    let head = [0, 0, 0, 0, message.len() as u8];
    let framed = bytes::Bytes::from([&head[..], &message].concat());
    let (mut held, mut refused) = (Vec::new(), 0);
    for _ in 0..10 {
        let mut no_room = h2::client::Builder::new();
        let mut channel = Channel::by(no_room.initial_window_size(0), program.grpc).await;
        for _ in 0..250 {
            let (answer, mut asked) = channel.begin(SHOULD_RATE_LIMIT).await;
            asked.send_data(framed.clone(), true).unwrap();
            let answer = answer.await.unwrap();
            // RESOURCE_EXHAUSTED, for which no room is needed.
            refused += usize::from(answer.headers().get("grpc-status").is_some_and(|s| s == "8"));
            held.push(answer.into_body());
        }
    }
    assert_eq!(refused, 10 * (250 - 2) - 2048);
    // Clients who read are served, and streams that are given up make room.
    let mut channel = Channel::open(program.grpc).await;
    assert!(
        channel.should_rate_limit(&request(vec![descriptor(&[("user", "eve")])])).await.is_ok()
    );
    drop(held);
}

/// Streams of health that stay open take nothing from those who read their answers slowly.
#[tokio::test]
async fn open_streams_take_no_answers() {
    let program = Program::of(RULES, &["--unread", "1h"]);
    let refused = |answer: &http::Response<_>| {
        answer.headers().get("grpc-status").is_some_and(|status| status == "8")
    };
    let (mut watchers, mut n) = (Vec::new(), 0);
    // Each connection may have 256, and these would be 72 MiB.
    for _ in 0..9 {
        let mut channel = Channel::open(program.grpc).await;
        for _ in 0..250 {
            let (answer, mut asked) = channel.begin("/grpc.health.v1.Health/Watch").await;
            asked.send_data(vec![0; 5].into(), true).unwrap();
            let answer = answer.await.unwrap();
            n += usize::from(refused(&answer));
            let mut stream = answer.into_body();
            _ = stream.data().await;
            watchers.push((stream, asked));
        }
    }
    assert_eq!(n, 9 * (250 - 2) - 2048, "they are bounded, too");
    let message = request(vec![descriptor(&[("free", "x")])]).encode_to_vec();
    let head = [0, 0, 0, 0, message.len() as u8];
    let mut no_room = h2::client::Builder::new();
    let mut slow = Channel::by(no_room.initial_window_size(0), program.grpc).await;
    let mut held = Vec::new();
    for _ in 0..100 {
        let (answer, mut asked) = slow.begin(SHOULD_RATE_LIMIT).await;
        asked.send_data([&head[..], &message].concat().into(), true).unwrap();
        let answer = answer.await.unwrap();
        assert!(!refused(&answer), "{answer:?}");
        held.push(answer);
    }
    // Later clients may still ask for the health.
    let mut other = Channel::open(program.grpc).await;
    assert_eq!(other.call("/grpc.health.v1.Health/Check", &[]).await, (0, vec![8, 1]));
    drop(watchers);
}

/// Streams of quotas are bounded, and each may be open for as long as its Envoy runs.
#[tokio::test]
async fn streams_of_quotas_are_bounded() {
    const STREAM: &str =
        "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas";
    let program = Program::of(RULES, &[]);
    // A report with a field that is not known, of so many bytes.
    let long = |bytes: usize| {
        let mut message = Vec::new();
        prost::encoding::string::encode(1, &"web".to_owned(), &mut message);
        prost::encoding::string::encode(9, &"a".repeat(bytes), &mut message);
        message
    };
    let stream = tokio::net::TcpStream::connect(program.grpc).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut channel = Channel::over(stream, program.grpc).await;
    let (answer, mut reports) = channel.begin(STREAM).await;
    let mut answers = answer.await.unwrap().into_body();
    // 75 MiB in all, and the budget of bodies is 64.
    let report = framed(&long(100 << 10));
    for _ in 0..750 {
        let mut rest = report.clone();
        while !rest.is_empty() {
            reports.reserve_capacity(rest.len());
            let room = poll_fn(|context| reports.poll_capacity(context)).await.unwrap().unwrap();
            reports.send_data(rest.split_to(room.min(rest.len())), false).unwrap();
        }
    }
    let usage = BucketQuotaUsage {
        bucket_id: Some(BucketId {
            bucket: vec![Entry { key: "user".into(), value: "ann".into() }],
        }),
        num_requests_allowed: 0,
        num_requests_denied: 1,
    };
    let usages = vec![usage];
    let asked = RateLimitQuotaUsageReports { domain: String::new(), bucket_quota_usages: usages };
    reports.send_data(framed(&asked.encode_to_vec()), false).unwrap();
    let told = answers.data().await.unwrap().unwrap();
    let told = RateLimitQuotaResponse::decode(&told[5..]).unwrap();
    let assigned = told.bucket_action[1].quota_assignment_action.as_ref().unwrap();
    assert_eq!(assigned.rate_limit_strategy.as_ref().unwrap().token_bucket.unwrap().max_tokens, 1);
    // OUT_OF_RANGE.
    assert_eq!(channel.call(STREAM, &long(1 << 20)).await.0, 11);

    // This stream and 84 others are 64 MiB; each connection has 64 KiB besides.
    let (mut streams, mut refused) = (Vec::new(), 0);
    for _ in 0..2 {
        let mut channel = Channel::open(program.grpc).await;
        for _ in 0..200 {
            let (answer, reports) = channel.begin(STREAM).await;
            let answer = answer.await.unwrap();
            refused += usize::from(answer.headers().get("grpc-status").is_some());
            streams.push((answer, reports));
        }
    }
    assert_eq!(refused, 400 - 84);
    let mut other = Channel::open(program.grpc).await;
    assert_eq!(other.call("/grpc.health.v1.Health/Check", &[]).await, (0, vec![8, 1]));
}

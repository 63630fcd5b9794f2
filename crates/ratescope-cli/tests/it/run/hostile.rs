//! Hostile or careless clients: none of them keeps others from being served.

use super::core::{RULES, descriptor, request};
use super::program::{Channel, Program, SHOULD_RATE_LIMIT, get, http};
use super::shell::listen;
use prost::Message;
use ratescope_service::Code;
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

    // A message that is too long is refused with a code, however often it comes, and so is one that can't be
    // read.
    for _ in 0..10 {
        let (long, _) = channel.call(SHOULD_RATE_LIMIT, &vec![0; 4 << 20]).await;
        assert!([8, 11].contains(&long), "{long}");
    }
    let (wrong, _) = channel.call(SHOULD_RATE_LIMIT, &[0xff; 100]).await;
    assert!([3, 13].contains(&wrong), "{wrong}");

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

/// Who reads no answers loses the connection after a time, on each port. A viewer of Live, who reads what there is, keeps
/// it for as long as the stream lasts.
#[test]
fn who_never_reads_holds_no_connection() {
    let program = Program::of(RULES, &["--unread", "100ms"]);
    let mut viewer = TcpStream::connect(program.admin).unwrap();
    let request = "GET /live/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    listen(&mut viewer, request, &["event: columns"]);
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    ask_and_never_read(program.http, b"", request("/check?user=ann").as_bytes());
    ask_and_never_read(program.admin, b"", request("/metrics").as_bytes());
    // The answer to each ping of HTTP/2 is a ping.
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    ask_and_never_read(program.grpc, settings, b"\0\0\x08\x06\0\0\0\0\0unread..");
    assert_eq!(get(program.http, "/check?user=eve", "").0, 200);
    listen(&mut viewer, "", &["event: columns"]);
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

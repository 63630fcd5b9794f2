//! The real servers run the configuration of `tune --for`, and refuse each client as `tune` said.

use super::shell::{Folder, command, printed, start};
use super::tune;
use crate::tune_cli::installed::{self, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The requests of each client, all at once. They come through a proxy, and two of the clients are
/// addresses of one IPv6 network.
fn clients() -> Vec<(String, usize)> {
    let few = (1..40).map(|n| (format!("203.0.113.{n}"), 1 + n % 4));
    let many = [("198.51.100.7", 23), ("2001:db8:5::1", 9), ("2001:db8:5::2:1", 8)];
    few.chain(many.map(|(address, requests)| (address.to_owned(), requests))).collect()
}

fn log() -> String {
    let line = |address: &str, second| {
        format!(
            "{address} 10.0.0.1 - - [10/Oct/2000:13:55:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n"
        )
    };
    let all = clients();
    let lines = all.iter().zip(0..).map(|((address, n), second)| line(address, second).repeat(*n));
    lines.collect()
}

/// The requests that are refused of each client: its address, or its network.
type Refused = BTreeMap<String, usize>;

/// The requests of the log that the limiter refuses.
fn expected(limit: &str) -> Refused {
    let args = ["simulate", "--format", "jsonl", "--no-spread", "--key", "ip", limit];
    let printed = printed(&mut command(&args), log());
    let mut refused = Refused::new();
    for line in printed.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let key = line["key"].as_str().unwrap().replace("ip=", "");
        *refused.entry(key).or_default() += usize::from(line["allowed"] == false);
    }
    refused
}

/// Sends a request of a client, and tells whether it is refused.
fn is_refused(at: SocketAddr, client: &str) -> bool {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: {client}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).unwrap();
    assert!(status.starts_with("HTTP/1.1 "), "{status}");
    status.starts_with("HTTP/1.1 429")
}

/// The requests that the server refuses; `None` if they took so long that it may have forgiven one.
fn refused(at: SocketAddr) -> Option<Refused> {
    let mut refused = Refused::new();
    let start = Instant::now();
    for (address, requests) in clients() {
        let key =
            if address.contains(':') { "2001:db8:5::/64".to_owned() } else { address.clone() };
        let of_it = (0..requests).filter(|_| is_refused(at, &address)).count();
        *refused.entry(key).or_default() += of_it;
    }
    let in_time = start.elapsed() < Duration::from_secs(50);
    if !in_time {
        eprintln!("skipped: the machine is too slow for a limit by the minute");
    }
    in_time.then_some(refused)
}

/// Compares a server with the report about it. `period` is long, so that nothing is forgiven meanwhile.
fn compare(
    server: &str,
    period: &str,
    program: &Path,
    arguments: &[&str],
    wrap: impl Fn(&str, &Path, u16) -> String,
) {
    let args = ["--no-spread", "--untouched", "90", "--only", "--period", period, "--for", server];
    let answer = tune(&args, log().as_bytes());
    let own = &answer["for"][0];
    let limit = own["recommended"]["limit"].as_str().unwrap();
    let expected = expected(limit);
    assert_eq!(expected.len(), 41);
    assert!(expected.values().filter(|refused| **refused > 0).count() >= 2, "{limit} does nothing");
    let configuration = own["configuration"].as_str().unwrap();
    let folder = Folder::new(server);
    let write = |port| wrap(configuration, &folder.0, port);
    let server = &mut Command::new(program);
    let (_server, at) = start(server.args(arguments), &folder.path("server.yaml"), write);
    if let Some(refused) = refused(at) {
        assert_eq!(refused, expected, "{limit}");
    }
}

#[test]
fn nginx_refuses_what_is_said() {
    let Some(nginx) = program("NGINX", "nginx") else { return };
    compare("nginx", "1m", &nginx, &["-e", "stderr", "-c"], |text, folder, port| {
        fs::write(folder.join("index.html"), "").unwrap();
        installed::nginx(text, folder, port)
    });
}

#[test]
fn haproxy_refuses_what_is_said() {
    let Some(haproxy) = program("HAPROXY", "haproxy") else { return };
    compare("haproxy", "1h", &haproxy, &["-db", "-f"], |text, _, port| {
        installed::haproxy(text, port)
    });
}

#[test]
fn envoy_refuses_what_is_said() {
    let Some(envoy) = program("ENVOY", "envoy") else { return };
    let id = (std::process::id() % 30_000).to_string();
    let arguments = ["--concurrency", "1", "--base-id", &id, "-c"];
    compare("envoy", "1m", &envoy, &arguments, |text, _, port| installed::envoy(text, port));
}

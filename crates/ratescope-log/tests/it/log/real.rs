//! Logs that real servers wrote, in `real`: events, clients and times are compared with those that
//! independent readers found.

use ratescope_log::{Log, Options, Record, Year, unpack};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/log/real")
}

/// Reads the log in a file: returns the description of its format, the time and the address of each line that
/// has one, and the number of events without an address.
fn read(file: &str, options: &Options) -> (String, Vec<(i64, String)>, u64) {
    let file = File::open(folder().join(format!("{file}.gz"))).unwrap();
    let mut log = Log::open(unpack(file).unwrap(), options).unwrap();
    let mut seen = Vec::new();
    let mut see = |record: &Record<'_>| {
        if let Some(ip) = record.value("ip") {
            seen.push((record.time().as_micros(), ip.to_owned()));
        }
    };
    while log.read(&mut see).unwrap() {}
    (log.shape().to_string(), seen, log.counts().keyless)
}

fn options() -> Options {
    Options { ipv6_prefix: 128, year: Year::First(2026), ..Options::default() }
}

/// A time in seconds with six decimals, as microseconds.
fn micros(text: &str) -> i64 {
    text.replace('.', "").parse().unwrap()
}

#[test]
fn real_logs_are_read_as_they_are() {
    let table = fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [file, events, clients, first, last, each] = cells[..] else { panic!("{row}") };
        let (about, mut seen, _) = read(file, &options());
        // Lines may be out of order, since a server writes a line when it has answered.
        seen.sort();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        seen.iter().for_each(|(_, ip)| *count.entry(ip).or_default() += 1);
        let want: BTreeMap<&str, usize> = each
            .split(' ')
            .map(|client| client.split_once('=').unwrap())
            .map(|(ip, n)| (ip, n.parse().unwrap()))
            .collect();
        let times = [seen.first(), seen.last()].map(|line| line.unwrap().0);
        // A time with more than six decimals may be cut or rounded.
        let is_off = |(at, text)| i64::abs_diff(at, micros(text)) > 1;
        if count != want || times.into_iter().zip([first, last]).any(is_off) {
            let found = format!("{about}: {} events, {times:?}, {count:?}", seen.len());
            wrong.push(format!("{file}: {found}\n  not {events} of {clients}, {first} to {last}"));
        }
        assert_eq!(want.values().sum::<usize>().to_string(), events);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(table.lines().count(), 29);
}

/// Some lines have no client, since their server was not told the client or could not log it.
#[test]
fn events_without_a_client_are_counted() {
    let keyless = |file: &str| read(file, &options()).2;
    assert_eq!(keyless("envoy-default.log"), 48);
    assert_eq!(keyless("apache-epoch.log"), 0);
    assert_eq!(keyless("caddy-default-mixed.log"), 0);
}

/// A line in the middle of each log has its fields under the names that they have in all formats.
#[test]
fn fields_have_their_names_everywhere() {
    let names = ["method", "path", "status", "user", "flags", "queue"];
    let line = |file: &str, line: u64| {
        let file = File::open(folder().join(format!("{file}.gz"))).unwrap();
        let mut log = Log::open(unpack(file).unwrap(), &options()).unwrap();
        let mut found = String::new();
        let mut see = |record: &Record<'_>| {
            if record.line() == line {
                found = names.map(|name| record.value(name).unwrap_or("").to_owned()).join(" ");
            }
        };
        while log.read(&mut see).unwrap() {}
        found
    };
    assert_eq!(line("haproxy-stdout.httplog.log", 57), "DELETE /x\\y 405  ---- 0/0");
    assert_eq!(line("rsyslog-haproxy-file.httplog.log", 57), "DELETE /x\\y 405  ---- 0/0");
    assert_eq!(line("haproxy-stdout.tcplog.log", 57), "    -- 0/0");
    assert_eq!(line("envoy-default.log", 2), "GET /caf%C3%A9.html 404  - ");
    assert_eq!(line("squid-native.log", 57), "GET /ab 000   ");
    assert_eq!(line("nginx-pipes.log", 57), "GET /login 404   ");
    assert_eq!(line("caddy-console.log", 57), "GET /login 404   ");
    assert_eq!(line("docker-jsonfile-nginx.log", 2), "GET /caf%C3%A9.html 404 j\\xC3\\xBCrgen  ");
    assert_eq!(line("varnishncsa-default.log", 57), "GET /login 404   ");
}

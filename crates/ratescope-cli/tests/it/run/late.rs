//! How the program reaches its store, and what it says when the store is late.

use super::program::{Program, get};
use super::server::{Port, Server};
use super::shell::{Folder, command};
use crate::proxy::Proxy;
use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::time::Duration;

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 1/1h}
- {key: closed, limit: gcra 100/1h, on_store_failure: refuse}
";

/// Waits until the store answers the program, or does not.
fn until(program: &Program, said: &str) {
    while !get(program.admin, "/healthz?verbose", "").1.contains(said) {}
}

/// The error of a program that does not start with these arguments.
fn refused(args: &[&str], variable: Option<&str>) -> String {
    let mut run = command(&["run", "--check", "rules.yaml"]);
    run.args(args).envs(variable.map(|value| ("RATESCOPE_STORE_PASSWORD", value)));
    let output = run.output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

/// A password stands in no list of processes.
#[test]
fn the_password_of_the_store_is_in_a_file_or_in_the_environment() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("password");
    let rules = folder.write("rules.yaml", RULES);
    let file = folder.write("password", "p@ss: wörd/%\nanother line\n");
    redis.command(&["CONFIG", "SET", "requirepass", "p@ss: wörd/%"]);
    let (url, file) = (redis.url(), file.to_str().unwrap());
    let [by_file, by_variable, by_none] = [
        (&["--store", &url, "--store-password-file", file][..], &[][..]),
        (&["--store", &url], &[("RATESCOPE_STORE_PASSWORD", "p@ss: wörd/%")]),
        (&["--store", &url], &[]),
    ]
    .map(|(args, variables)| Program::start_in(&rules, args, variables));
    until(&by_none, "yellow: the store says: \"NOAUTH\"");
    until(&by_file, "green");
    until(&by_variable, "green");
    assert_eq!(get(by_file.http, "/check?user=ann", "").0, 200);
    assert_eq!(get(by_variable.http, "/check?user=ann", "").0, 429, "both ask the same Redis");

    let twice = "redis://:secret@127.0.0.1:1";
    for (args, variable, said) in [
        (&["--store", twice, "--store-password-file", file][..], None, "leave one of the two out"),
        (&["--store", twice], Some("secret"), "RATESCOPE_STORE_PASSWORD: --store has a password"),
        (&["--store", &url], Some(""), "RATESCOPE_STORE_PASSWORD: it is empty"),
        (&["--store", &url, "--store-password-file", "/nowhere"], None, "/nowhere: "),
        (&["--store-password-file", file], None, "--store <URL>"),
    ] {
        let error = refused(args, variable);
        assert!(error.contains(said) && !error.contains("secret"), "{args:?}: {error}");
    }
}

/// A certificate that the system does not know is named as everywhere.
#[test]
fn the_store_is_reached_by_tls() {
    let held = Port::hold();
    let port = held.number.to_string();
    let [ca, certificate, key] = ["ca.pem", "server.pem", "server.key"].map(|name| {
        format!("{}/../ratescope-redis/tests/it/redis/tls/{name}", env!("CARGO_MANIFEST_DIR"))
    });
    let settings = [
        ["--tls-port", &port],
        ["--tls-auth-clients", "no"],
        ["--tls-ca-cert-file", &ca],
        ["--tls-cert-file", &certificate],
        ["--tls-key-file", &key],
    ];
    let Some(redis) = Server::start(settings.as_flattened()) else { return };
    let folder = Folder::new("tls");
    let rules = folder.write("rules.yaml", RULES);
    let url = format!("rediss://127.0.0.1:{port}");
    let args = ["--store", url.as_str()];
    let stranger = Program::start(&rules, &args);
    until(&stranger, "yellow: the store can't be reached");
    let knows = Program::start_in(&rules, &args, &[("SSL_CERT_FILE", &ca)]);
    until(&knows, "green");
    assert_eq!(get(knows.http, "/check?user=ann", "").0, 200);
    // Beside the key of a ping, which is there for a millisecond.
    while redis.keys() != 1 {}
}

/// Two services with the same rules count apart if they say so.
#[test]
fn another_prefix_is_another_service() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("prefix");
    let rules = folder.write("rules.yaml", RULES);
    let url = redis.url();
    let program = |prefix: &[&str]| Program::start(&rules, &[&["--store", &url], prefix].concat());
    let asked = |program: &Program| get(program.http, "/check?user=ann", "").0;
    let [one, other] = [program(&[]), program(&["--prefix", "staging:"])];
    assert_eq!([asked(&one), asked(&other), asked(&one), asked(&other)], [200, 200, 429, 429]);
    // Beside those that the pings of the health leave for a millisecond.
    let keys = redis.command(&["KEYS", "staging:*"]);
    let is_own = |line: &&str| line.starts_with("staging:") && !line.contains("ping");
    assert_eq!(keys.lines().filter(is_own).count(), 1, "{keys}");

    let long = "x".repeat(101);
    for (args, said) in [
        (["--store", &url, "--prefix", "a{b"], "a prefix has no braces"),
        (["--store", &url, "--prefix", ""], "a prefix has 1 to 100 bytes"),
        (["--store", &url, "--prefix", &long], "a prefix has 1 to 100 bytes"),
        (["--store", &url, "--deadline", "0s"], "the deadline must be longer than zero"),
        (["--store", &url, "--processes", "0"], "0 is not in 1.."),
        (["--http", "off", "--deadline", "1s"], "--store <URL>"),
        (["--http", "off", "--prefix", "a:"], "--store <URL>"),
        (["--http", "off", "--processes", "2"], "--store <URL>"),
    ] {
        let error = refused(&args, None);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

/// The health waits for longer than a decision, so it says when no decision ever waits for long enough.
#[test]
fn a_store_that_is_too_far_away_is_told() {
    let Some(redis) = Server::start(&[]) else { return };
    let (folder, proxy) = (Folder::new("far"), Proxy::before(&redis));
    let rules = folder.write("rules.yaml", RULES);
    proxy.delay(Duration::from_millis(5));
    let url = proxy.url();
    let [short, long] =
        ["1ms", "10s"].map(|most| Program::start(&rules, &["--store", &url, "--deadline", most]));
    until(&short, " ms: ok, but a decision waits for at most 1ms: see --deadline\n");
    until(&long, " ms: ok\n");
}

/// However many decisions are made without the store: one line when it is given up, and one when it is back. A refused
/// client is told to come again.
#[test]
fn an_outage_has_two_lines_in_the_log() {
    let Some(mut redis) = Server::start(&[]) else { return };
    let folder = Folder::new("outage");
    let rules = folder.write("rules.yaml", RULES);
    // With a second domain, and so with several layers.
    folder.write("mail.yaml", RULES.replace("web", "mail"));
    let url = redis.url();
    let mut program = Program::start(rules.parent().unwrap(), &["--store", &url]);
    let (tell, told) = mpsc::channel();
    let log = BufReader::new(program.running.0.stderr.take().unwrap());
    std::thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|l| tell.send(l)));
    until(&program, "green");
    redis.kill();
    let mut without = 0;
    for _ in 0..10 {
        let json = r#"{"domain":"web","descriptors":[{"entries":[{"key":"closed","value":"x"}]}]}"#;
        let post = format!(
            "POST /json HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{json}",
            json.len()
        );
        for answer in [
            get(program.http, "/check?domain=web&closed=x", "").1,
            get(program.http, "/check?domain=mail&closed=x", "").1,
            super::program::http(program.http, &post),
        ] {
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
            without += 1;
        }
    }
    redis.restart(&[]);
    let mut lines: Vec<String> = Vec::new();
    while !lines.iter().any(|line| line.contains("answers again; ")) {
        without += usize::from(get(program.http, "/check?domain=web&closed=x", "").0 == 503);
        lines.extend(told.try_iter());
    }
    let about: Vec<&String> = lines.iter().filter(|line| line.contains("answer")).collect();
    assert_eq!(about.len(), 2, "{lines:#?}");
    assert!(about[0].contains("until it answers again, each rule decides as"), "{about:?}");
    let again = format!("the store answers again; {without} decisions were made without it");
    assert!(about[1].contains(&again), "{about:?}, not {without}");
}

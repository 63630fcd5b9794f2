//! The service of `examples/service.rs`, as those meet it who attack it: over a socket, with a real
//! listener and the real clock.

use crate::service_example as service;
use metrics_exporter_prometheus::PrometheusBuilder;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

struct Server {
    address: SocketAddr,
    rules: PathBuf,
}

/// One for all tests, which come from addresses of their own: counters are of the whole process.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let name = format!("service-{}.yaml", std::process::id());
    let rules = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&rules, slow(include_str!("../../examples/service.yaml"))).unwrap();
    let (tell, told) = mpsc::channel();
    let path = rules.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let metrics = PrometheusBuilder::new().install_recorder().unwrap();
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let (ruled, watch) = ratescope_tower::watch::open(path, 100_000).unwrap();
            service::serve(listener, ruled, watch, metrics).await.unwrap();
        });
    });
    Server { address: told.recv().unwrap(), rules }
});

/// The rules of the example with periods that are longer than any test: nothing is forgiven on a slow machine, and no
/// window ends before 2038.
fn slow(rules: &str) -> String {
    let slower =
        [("10/1s burst", "10/1d burst"), ("exim 5/1m", "exim 5/1d"), (": 3/1m", ": 3/3600w")];
    slower.into_iter().fold(rules.to_owned(), |rules, (usual, slow)| {
        assert_eq!(rules.matches(usual).count(), 1, "{usual}");
        rules.replace(usual, slow)
    })
}

struct Answer {
    status: u16,
    /// In lower case, with a line break before each header.
    head: String,
    body: String,
}

/// A connection that stays open.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open() -> Self {
        let stream = TcpStream::connect(SERVER.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Connection(BufReader::new(stream))
    }

    fn send(&mut self, request: &str, headers: &[(&str, &str)]) {
        let mut text = format!("{request} HTTP/1.1\r\nhost: test\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        self.0.get_mut().write_all(format!("{text}\r\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.0.read_line(&mut head).unwrap() > 0, "it hung up: {head}");
        }
        let head = head.to_lowercase();
        let length = head.split("\ncontent-length: ").nth(1).unwrap().lines().next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: String::from_utf8(body).unwrap() }
    }

    fn ask(&mut self, request: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(request, headers);
        self.receive()
    }
}

fn ask(request: &str, headers: &[(&str, &str)]) -> Answer {
    Connection::open().ask(request, headers)
}

fn metrics() -> String {
    ask("GET /metrics", &[]).body
}

/// Waits until the counters say so, for half a minute at most.
#[track_caller]
fn wait_for(line: &str) {
    let start = Instant::now();
    while !metrics().lines().any(|known| known == line) {
        assert!(start.elapsed() < Duration::from_secs(30), "no {line:?} in\n{}", metrics());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn it_tells_what_is_left() {
    let answer = ask("GET /", &[("x-forwarded-for", "198.51.100.1")]);
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello\n"));
    assert!(
        answer.head.contains("\nratelimit-policy: \"example:ip\";q=50;w=432000\r"),
        "{}",
        answer.head
    );
    assert!(answer.head.contains("\nx-ratelimit-remaining: 49\r"), "{}", answer.head);
    // Without a user, and from an address that never guessed, nothing else applies.
    let user =
        ask("GET /", &[("x-forwarded-for", "198.51.100.1"), ("authorization", "Bearer ann")]);
    assert!(user.head.contains("\"example:user\";q=30;w=18\r"), "{}", user.head);
}

/// Each guess comes with another made-up address, in whatever header there is.
#[test]
fn passwords_are_not_guessed_under_made_up_addresses() {
    let mut connection = Connection::open();
    let mut statuses = Vec::new();
    for i in 0..8 {
        let forged = format!("203.0.113.{i}");
        let list = format!("{forged}, 198.51.100.2:{}", 1000 + i);
        let element = format!("for={forged}");
        let headers = [
            ("forwarded", element.as_str()),
            ("x-real-ip", &forged),
            ("x-forwarded-for", &list),
            ("true-client-ip", &forged),
        ];
        let answer = connection.ask("POST /login", &headers);
        if answer.status == 429 {
            assert!(answer.head.contains("\nretry-after: "), "{}", answer.head);
            assert!(answer.head.contains("\ncontent-type: application/problem+json\r"));
            assert!(answer.body.contains("\"violated-policies\":[\"example:route=/login,ip\"]"));
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    // Nor in a second line, whose entries come before those of the first proxy.
    let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.2")];
    assert_eq!(connection.ask("POST /login", &lines).status, 429);
    // Others are not held back.
    assert_eq!(connection.ask("POST /login", &[("x-forwarded-for", "198.51.100.3")]).status, 200);
}

#[test]
fn a_flood_is_refused_and_the_rest_is_served() {
    let mut connection = Connection::open();
    let mut flood = |headers: &[(&str, &str)]| -> usize {
        let answers = (0..300).map(|_| connection.ask("GET /nowhere", headers).status);
        answers.filter(|status| *status == 404).count()
    };
    assert_eq!(flood(&[("x-forwarded-for", "198.51.100.4")]), 50);
    // Nor do other spellings of the address help, or of an IPv6 network.
    assert_eq!(flood(&[("x-forwarded-for", "::ffff:198.51.100.4")]), 0);
    let passes = |i: &i32| {
        let ip = format!("[2001:db8:1:1::{i:x}]:443");
        ask("GET /", &[("x-forwarded-for", &ip)]).status == 200
    };
    assert_eq!((0..300).filter(passes).count(), 50);
    assert_eq!(ask("GET /", &[("x-forwarded-for", "198.51.100.5")]).status, 200);
}

#[test]
fn a_shadow_refuses_nobody_and_is_counted() {
    for _ in 0..5 {
        let answer = ask("GET /items/7", &[("x-forwarded-for", "198.51.100.6")]);
        assert_eq!(answer.status, 200);
        assert!(!answer.head.contains("items"), "{}", answer.head);
    }
    let line = "ratescope_decisions_total{rule=\"example:route=/items/%7Bid%7D,ip\",\
                outcome=\"shadow_refused\"} 2";
    wait_for(line);
}

/// The kilobytes of one answer are felt by the next request, and by no other route or address.
#[test]
fn a_download_is_paid_for_when_it_is_sent() {
    let own = [("x-forwarded-for", "198.51.100.10")];
    let mut connection = Connection::open();
    for _ in 0..2 {
        let answer = connection.ask("GET /download", &own);
        assert_eq!((answer.status, answer.body.len()), (200, 660_000));
    }
    // Of 1,320 kB all but a thousand are to be waited for, at ten thousand an hour.
    let refused = connection.ask("GET /download", &own);
    assert_eq!(refused.status, 429);
    let wait = refused.head.split("\nretry-after: ").nth(1).unwrap().lines().next().unwrap();
    assert!((1..=116).contains(&wait.parse().unwrap()), "{wait}");
    assert_eq!(connection.ask("GET /", &own).status, 200);
    let other = [("x-forwarded-for", "198.51.100.11")];
    assert_eq!(connection.ask("GET /download", &other).status, 200);
}

/// A client that hangs up while it waits leaves the queue.
#[test]
fn a_report_waits_and_its_place_is_given_up() {
    let own = [("x-forwarded-for", "198.51.100.7")];
    let start = Instant::now();
    assert_eq!(ask("GET /report", &own).status, 200);
    let mut waits = [Connection::open(), Connection::open()];
    waits.iter_mut().for_each(|connection| connection.send("GET /report", &own));
    wait_for("ratescope_waiting 2");
    if start.elapsed() < Duration::from_millis(900) {
        let refused = ask("GET /report", &own);
        assert_eq!(refused.status, 429, "two wait at most");
    }
    let [mut first, second] = waits;
    drop(second);
    assert_eq!(first.receive().status, 200);
    assert!(start.elapsed() >= Duration::from_millis(900), "it was to wait");
    wait_for("ratescope_waiting 0");
}

#[test]
fn nonsense_is_survived() {
    let long = "a".repeat(20_000);
    let many = "10.0.0.1,".repeat(2000);
    for list in
        ["", ",,,,", "\"", "for=\"", long.as_str(), many.as_str(), "[[[[::", "1.2.3.4:99999"]
    {
        for header in ["x-forwarded-for", "forwarded", "authorization"] {
            let status = ask("GET /", &[(header, list)]).status;
            assert!(matches!(status, 200 | 429), "{header}: {status}");
        }
    }
    for path in ["/%00", "/%ff%fe", "/a%0d%0aset-cookie:x", "/../../etc/passwd", "/items/%22%3e"] {
        let answer = ask(&format!("GET {path}"), &[("x-forwarded-for", "198.51.100.8")]);
        assert!(matches!(answer.status, 200 | 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.head.contains("set-cookie"));
    }
}

/// While requests come in, the file is changed, and then spoilt.
#[test]
fn rules_change_under_way() {
    let own = [("x-forwarded-for", "198.51.100.9"), ("x-probe", "1")];
    let statuses =
        |n: usize| -> Vec<u16> { (0..n).map(|_| ask("GET /new", &own).status).collect() };
    assert_eq!(statuses(3), [404; 3]);
    let old = fs::read_to_string(&SERVER.rules).unwrap();
    let rule = "  - key: path\n    value: /new\n    limit: 2/3600w\n    cost: 1\n";
    let replace = |text: &str| {
        let other = SERVER.rules.with_extension("new");
        fs::write(&other, text).unwrap();
        fs::rename(&other, &SERVER.rules).unwrap();
    };
    replace(&format!("{old}{rule}"));
    wait_for("ratescope_reloads_total{outcome=\"applied\"} 1");
    assert_eq!(statuses(3), [404, 404, 429]);
    replace(&format!("{old}{rule}").replace("2/3600w", "200/1d brust 3"));
    wait_for("ratescope_reloads_total{outcome=\"rejected\"} 1");
    assert_eq!(statuses(1), [429], "the last good rules stay");
}

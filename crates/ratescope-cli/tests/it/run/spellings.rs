//! One request in many spellings is one request: as the arguments say, and through the real servers of the examples.

use super::program::{Program, get, http};
use super::real::{example, start, upstream};
use super::requests::{descriptor, request};
use super::servers::program;
use super::shell::{Folder, Running};
use super::spelled::{DOUBTFUL, HOSTS, LOGIN, RULES};
use ratescope_service::{Code, Entry, RateLimitDescriptor, RateLimitRequest};
use std::net::SocketAddr;

/// Fields of other names can be paths, slashes can mean something, and doubtful paths can pass.
#[test]
fn as_the_operator_says() {
    let rules = "domain: web\ndescriptors:\n- {key: url, value: //login, limit: gcra 1/1d}\n\
                 - {key: url, value: /login, limit: gcra 1/1d}\n\
                 - {key: url, value: /a%2Fb, limit: gcra 1/1d}\n\
                 - {key: path, value: '/a?b', limit: gcra 1/1d}\n";
    let args =
        ["--form", "url=path", "--form", "path=text", "--keep-slashes", "--pass-doubtful-paths"];
    let program = Program::of(rules, &args);
    let check = |query: &str| get(program.http, &format!("/check?{query}"), "").0;
    for (first, again) in [
        ("url=/login", "url=/x/../%256cogin%3Fa"),
        ("url=//login", "url=//./%256cogin"),
        ("url=/a%252fb", "url=/a%252Fb"),
        ("path=/a?b", "path=/a%3Fb"),
    ] {
        assert_eq!([check(first), check(again)], [200, 429], "{first}");
    }
    assert_eq!(check("path=/a"), 200);
}

/// Bytes that are not UTF-8 are values like others: each apart, and the same in all fronts.
#[tokio::test]
async fn values_that_are_no_text() {
    let rules = "domain: web\ndescriptors:\n- {key: user, limit: gcra 1/1d}\n- {key: path, value: /%FF, limit: gcra 1/1d}\n";
    let program = Program::of(rules, &["--field", "user=x-user"]);
    let mut channel = super::program::Channel::open(program.grpc).await;
    let mut asked = async |key: &str, value: &[u8]| {
        let message = raw_request(key, value);
        let (code, answer) = channel.call(super::program::SHOULD_RATE_LIMIT, &message).await;
        assert_eq!(code, 0);
        // OK is 1, OVER_LIMIT is 2, in field 1.
        answer[1]
    };
    assert_eq!(asked("user", b"eve\xff").await, 1);
    assert_eq!(asked("user", b"eve\xff").await, 2);
    assert_eq!(asked("user", b"eve\xfe").await, 1);
    assert_eq!(asked("user", b"eve").await, 1);
    let check = |query: &str| get(program.http, &format!("/check?{query}"), "").0;
    assert_eq!([check("user=eve%ff"), check("user=eve%fe"), check("user=eve%fd")], [429, 429, 200]);
    let head = b"GET /auth HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-user: eve\xfd\r\n\r\n";
    assert!(sent(program.http, head).starts_with("HTTP/1.1 429"));
    let head =
        b"GET /auth HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-forwarded-uri: /\xff\r\n\r\n";
    assert!(sent(program.http, head).starts_with("HTTP/1.1 200"));
    assert_eq!(asked("path", b"/\xff?x").await, 2);
    assert_eq!(asked("path", b"/%ff").await, 2);
}

/// The bytes of a request with one descriptor of one entry.
fn raw_request(key: &str, value: &[u8]) -> Vec<u8> {
    let part = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, bytes.len() as u8], bytes].concat();
    let entry = [part(1, key.as_bytes()), part(2, value)].concat();
    [part(1, b"web"), part(2, &part(1, &entry))].concat()
}

/// Sends bytes on a new connection; the answer, as far as it is text.
pub(crate) fn sent(at: SocketAddr, bytes: &[u8]) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The path in a target as a server reads it that decodes and cleans as much as any does.
fn as_read(target: &str) -> String {
    let target = target.split(['?', '#']).next().unwrap();
    let target = match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(target).collect();
    let text = String::from_utf8_lossy(&bytes).replace('\\', "/");
    let text = text.split('\0').next().unwrap();
    let mut segments = Vec::new();
    for segment in text.split('/').map(|segment| segment.split(';').next().unwrap()) {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Asks for a target by a method, with more headers; the status, and the path that the server behind was asked for.
fn ask(at: SocketAddr, method: &str, target: &str, headers: &str) -> (u16, Option<String>) {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n"
    );
    let answer = http(at, &head);
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{target}: {answer:?}"));
    let asked = answer
        .to_lowercase()
        .find("\r\nx-target: ")
        .map(|at| answer[at + 12..].split("\r\n").next().unwrap().to_owned());
    (status.parse().unwrap(), asked)
}

/// The limits hold for a server in front of the service, however a request is spelled. `headers` name the client.
fn holds(at: SocketAddr, headers: &str) {
    let host = format!("host: h\r\n{headers}");
    let (status, asked) = ask(at, "GET", "/login", &host);
    assert_eq!((status, asked.as_deref()), (200, Some("/login")));
    for target in LOGIN.iter().chain(DOUBTFUL).filter(|target| !target.is_empty()) {
        let (status, asked) = ask(at, "GET", target, &host);
        let passed = asked.as_deref().map(as_read);
        let is_limited = status >= 400 || passed.as_deref().is_some_and(|path| path != "/login");
        assert!(is_limited, "{target}: {status}, as {asked:?}");
    }
}

fn service_of(rules: &str) -> Program {
    Program::of(rules, &["--field", "user=x-user"])
}

/// Asks a server, which takes `method` for `POST`, in the spellings of paths, hosts and methods that mean the same.
fn no_spelling_passes_twice(at: SocketAddr, method: &str) {
    holds(at, "");
    // An empty path is that of the root.
    assert_eq!(ask(at, "GET", "/", "host: h\r\n").0, 200);
    for target in ["/", "//", "/x/..", "http://h?x", "http://h"] {
        assert!(ask(at, "GET", target, "host: h\r\n").0 >= 400, "{target}");
    }
    assert_eq!(ask(at, "GET", "/x", "host: API.example.com\r\n").0, 200);
    for host in HOSTS {
        assert_eq!(ask(at, "GET", "/x", &format!("host: {host}\r\n")).0, 429, "{host}");
    }
    assert_eq!(ask(at, method, "/x", "host: h\r\n").0, 200);
    for method in ["POST", "post"] {
        assert!(ask(at, method, "/x", "host: h\r\n").0 >= 400, "{method}");
    }
    // A client can't say that it asked for something else.
    for posing in
        ["x-original-uri: /x\r\n", "x-forwarded-uri: /x\r\n", "x-original-method: PUT\r\n"]
    {
        assert_eq!(ask(at, "GET", "/login", &format!("host: h\r\n{posing}")).0, 429, "{posing}");
    }
}

#[test]
fn through_nginx() {
    let Some(server) = program("NGINX", "nginx") else { return };
    let (folder, limits) = (Folder::new("nginx-spelled"), service_of(RULES));
    let (_server, at) = super::real::start_nginx(&server, limits.http, &folder);
    no_spelling_passes_twice(at, "POST");
}

#[test]
fn through_caddy() {
    let Some(server) = program("CADDY", "caddy") else { return };
    let (folder, limits, upstream) = (Folder::new("caddy-spelled"), service_of(RULES), upstream());
    let changes =
        [("127.0.0.1:3000", upstream.to_string()), ("127.0.0.1:8080", limits.http.to_string())];
    let args = ["run", "--adapter", "caddyfile", "--config"];
    let (_server, at): (Running, _) = start(&server, &args, "Caddyfile", &changes, &folder);
    no_spelling_passes_twice(at, "post");
}

/// The rules of the example are for `/export` of each user: three of two hits each, of six.
#[test]
fn through_envoy() {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let limits = Program::start(&example("rules.yaml"), &[]);
    let folder = Folder::new("envoy-spelled");
    // A service that can't be asked lets requests pass, so that an error would be seen.
    let fails = [("failure_mode_deny: true", "failure_mode_deny: false".to_owned())];
    let ports = [limits.grpc.port()];
    let (_server, at) = super::real::start_envoy(&server, (&ports, "60s"), &fails, &folder);
    for (i, login) in LOGIN.iter().chain(DOUBTFUL).enumerate() {
        let (export, user) =
            (login.replace("ogin", "xport"), format!("host: h\r\nx-user: u{i}\r\n"));
        let export = export.replace("/l", "/e").replace("%6c", "%65").replace("%6C", "%65");
        for _ in 0..3 {
            assert_eq!(ask(at, "GET", "/export", &user).0, 200);
        }
        assert_eq!(ask(at, "GET", "/export?", &user).0, 429);
        let (status, asked) = ask(at, "GET", &export, &user);
        let passed = asked.as_deref().map(as_read);
        let is_limited = status >= 400 || passed.as_deref().is_some_and(|path| path != "/export");
        assert!(is_limited, "{export}: {status}, as {asked:?}");
    }
    // Bytes that are not UTF-8 are a user like others: five a day. So is a value that is too long for the service.
    let eve = |user: &[u8]| {
        let head =
            [&b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-user: "[..], user, b"\r\n\r\n"];
        sent(at, &head.concat())[9..12].parse::<u16>().unwrap()
    };
    assert_eq!([(); 7].map(|()| eve(b"eve\xff")), [200, 200, 200, 200, 200, 429, 429]);
    assert_eq!(eve(b"eve\xfe"), 200);
}

/// A message that can't be read is a refusal, and no error that a proxy lets pass.
#[tokio::test]
async fn what_can_not_be_read_is_refused() {
    let program = Program::of(RULES, &[]);
    let mut channel = super::program::Channel::open(program.grpc).await;
    let long = Entry { key: "user".into(), value: "x".repeat(60_000) };
    let one = RateLimitDescriptor { entries: vec![long], ..RateLimitDescriptor::default() };
    let long = request(vec![one; 5]);
    for why in ["more than 256 KiB", "more than 256 KiB"] {
        let answer = channel.should_rate_limit(&long).await.unwrap();
        assert_eq!(answer.overall_code(), Code::OverLimit);
        assert!(format!("{:?}", answer.dynamic_metadata).contains(why), "{answer:?}");
    }
    // Garbage, a domain that is not UTF-8, and a message that is cut.
    for message in [&[0xff; 100][..], b"\x0a\x01\xff", b"\x0a\x09web"] {
        let (code, answer) = channel.call(super::program::SHOULD_RATE_LIMIT, message).await;
        assert_eq!((code, answer.get(..2)), (0, Some(&[8, 2][..])), "{message:x?}");
    }
    let login = RateLimitRequest {
        domain: "web".into(),
        ..request(vec![descriptor(&[("path", "/login")])])
    };
    assert_eq!(channel.should_rate_limit(&login).await.unwrap().overall_code(), Code::Ok);
    let metrics = get(program.admin, "/metrics", "").1;
    let line = "ratescope_request_errors_total{error=\"unread\"} 5\n";
    assert!(metrics.contains(line), "{metrics}");
    // One line of the log for all of them.
    let log = program.ended();
    assert_eq!(log.matches("it can't be read").count(), 1, "{log}");
}

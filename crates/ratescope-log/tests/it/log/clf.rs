//! Common and Combined Log Format.

use super::{of, read, shape};
use proptest::prelude::*;
use ratescope_log::{Format, Options};

const TIME: &str = "[10/Oct/2000:13:55:36 -0700]";
/// The time [`TIME`] in microseconds.
const MICROS: i64 = 971_211_336_000_000;

const NAMES: [&str; 11] = [
    "ip",
    "user",
    "method",
    "path",
    "status",
    "bytes",
    "referer",
    "agent",
    "host",
    "forwarded",
    "peer",
];

/// The description of the format of a log with only this line, and the line's fields.
#[track_caller]
fn line(line: &str) -> (String, [String; 11]) {
    let read = read(line.as_bytes(), &Options::default(), NAMES);
    assert_eq!(read.counts.problems, []);
    let [(time, cost, fields)] = read.events.try_into().unwrap();
    assert_eq!((time, cost, read.coarse), (MICROS, 1.0, vec![true]), "{line}");
    (shape(line.as_bytes(), &Options::default()).to_string(), fields)
}

#[track_caller]
fn assert_line(text: &str, about: &str, fields: [&str; 11]) {
    assert_eq!(line(text), (about.to_owned(), fields.map(str::to_owned)), "{text}");
}

#[test]
fn the_columns_are_fields() {
    assert_line(
        &format!("192.0.2.7 - ann {TIME} \"GET /a/b?c=1&d HTTP/1.1\" 200 2326"),
        "Common Log Format",
        ["192.0.2.7", "ann", "GET", "/a/b", "200", "2326", "", "", "", "", "192.0.2.7"],
    );
    assert_line(
        &format!(
            "::1 - - {TIME} \"POST /a HTTP/2.0\" 304 - \"https://example.org/x\" \"Fox/5.0 (X11; \\\"a\\\")\""
        ),
        "Combined Log Format",
        [
            "::/64",
            "",
            "POST",
            "/a",
            "304",
            "",
            "https://example.org/x",
            "Fox/5.0 (X11; \\\"a\\\")",
            "",
            "",
            "::1",
        ],
    );
}

/// The id of a request before the user, as in BunkerWeb's log, is no part of its name.
#[test]
fn an_id_of_a_request_is_no_user() {
    let user = |text: &str| {
        let log = format!(
            "www.example.org 192.0.2.7 - {text} {TIME} \"GET / HTTP/1.1\" 200 1 \"-\" \"-\""
        );
        line(&log).1[1].clone()
    };
    let id = "00112233445566778899aabbccddeeff";
    assert_eq!(
        [user(&format!("{id} -")), user(&format!("{id} ann lee")), user("ann lee"), user(id)],
        ["", "ann lee", "ann lee", id]
    );
}

/// There may be a column before the address: the requested host, or X-Forwarded-For.
#[test]
fn a_column_may_come_first() {
    let rest = format!("- - {TIME} \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"");
    let fields =
        |ip, host, forwarded, peer| [ip, "", "GET", "/", "200", "1", "", "", host, forwarded, peer];
    assert_line(
        &format!("www.example.org:443 192.0.2.7 {rest}"),
        "Combined Log Format, after a column with the host",
        fields("192.0.2.7", "www.example.org", "", "192.0.2.7"),
    );
    let about = "Combined Log Format, after a column with X-Forwarded-For";
    assert_line(
        &format!("203.0.113.9 10.0.0.5 {rest}"),
        about,
        fields("203.0.113.9", "", "203.0.113.9", "10.0.0.5"),
    );
    // The client wrote the beginning of the list, which is not believed; the end is by our own proxies.
    assert_line(
        &format!("198.51.100.1, 203.0.113.9, 10.1.2.3 10.0.0.5 {rest}"),
        about,
        fields("203.0.113.9", "", "203.0.113.9", "10.0.0.5"),
    );
    assert_line(&format!("- 192.0.2.7 {rest}"), about, fields("192.0.2.7", "", "", "192.0.2.7"));
    // nginx writes the list at the end of the line, where it is a field and does not change the address.
    assert_line(
        &format!("192.0.2.7 - - {TIME} \"GET / HTTP/1.1\" 200 1 \"-\" \"-\" \"203.0.113.9\""),
        "Combined Log Format",
        fields("192.0.2.7", "", "203.0.113.9", "192.0.2.7"),
    );
}

/// A name in place of the peer's address, as with Apache's `HostnameLookups`, may be anybody's, so what that
/// peer says of its client is not believed.
#[test]
fn a_name_is_no_proxy() {
    let rest = format!("- - {TIME} \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"");
    let about = "Combined Log Format, after a column with X-Forwarded-For";
    for (peer, name) in [("host.example.net", "host.example.net"), ("-", "")] {
        let list = "198.51.100.1, 203.0.113.9,";
        let fields = [name, "", "GET", "/", "200", "1", "", "", "", "203.0.113.9", name];
        assert_line(&format!("{list} {peer} {rest}"), about, fields);
    }
}

/// Odd requests count as requests, since somebody sent them.
#[test]
fn odd_requests_are_read() {
    let path = |request: &str| {
        let log = format!("192.0.2.7 - - {TIME} \"{request}\" 400 0");
        let read = read(log.as_bytes(), &Options::default(), ["method", "path"]);
        read.fields().concat().join(" ")
    };
    assert_eq!(path("-"), " ");
    assert_eq!(path(""), " ");
    assert_eq!(path("\\x16\\x03\\x01"), " ");
    assert_eq!(path("GET /a b HTTP/1.1"), "GET /a b");
    assert_eq!(path("GET /a"), "GET /a");
    assert_eq!(path("GET /a\\\" HTTP/1.1"), "GET /a\\\"");
    assert_eq!(path("GET /a\\\\\\\"b"), "GET /a\\\\\\\"b");
    assert_eq!(path("GET /a\\\\"), "GET /a\\\\", "the backslash is escaped, and not the quote");
    assert_eq!(path("GET http://example.org/a?b HTTP/1.1"), "GET /a");
    assert_eq!(path("GET http://example.org HTTP/1.1"), "GET /");
    assert_eq!(path("GET /go?to=http://example.org/ HTTP/1.1"), "GET /go");
    assert_eq!(path("GET /a/http://b HTTP/1.1"), "GET /a/http://b");
    assert_eq!(path("CONNECT example.org:443 HTTP/1.1"), "CONNECT example.org:443");
    assert_eq!(path("OPTIONS * HTTP/1.1"), "OPTIONS *");
}

#[test]
fn users_may_have_spaces() {
    for user in ["ann", "ann lee", "a [b] c", "a - b", "-"] {
        let log = format!("192.0.2.7 - {user} {TIME} \"GET / HTTP/1.1\" 200 1");
        let read = read(log.as_bytes(), &of(Format::COMBINED), ["ip", "user"]);
        assert_eq!(read.fields(), [["192.0.2.7", user.trim_matches('-')]], "{user}");
    }
}

/// Lines that can't be read are counted and reported, and the other lines are read.
#[test]
fn wrong_lines_are_told() {
    let right = format!("192.0.2.7 - - {TIME} \"GET / HTTP/1.1\" 200 1");
    let log = [
        &right,
        "",
        "half a line 200 1",
        &right.replace("Oct", "Okt"),
        &right.replace("13:55", "24:55"),
        &right.replace(" HTTP/1.1\"", ""),
        &right.replace(" 1", ""),
        &right.replace("200", "OK"),
        "\u{0}\u{0}\u{1b}[31m",
        &right,
    ]
    .join("\n");
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    assert_eq!(read.fields(), [["192.0.2.7"]; 2]);
    let counts = &read.counts;
    assert_eq!((counts.lines, counts.events, counts.unread, counts.others), (10, 2, 7, 0));
    assert_eq!(
        read.problems(),
        [
            "line 3: no address and [time] before a \"request\"",
            "line 4: not a time: [10/Okt/2000:13:55:36 -0700]",
            "line 5: not a time: [10/Oct/2000:24:55:36 -0700]",
            "line 6: the request is not closed by a quote",
            "line 7: no status and bytes after the request",
        ]
    );
}

/// Apache's `%{sec}t` is a time, so it is not the problem of a line.
#[test]
fn a_time_in_seconds_is_no_problem() {
    let line = |time: &str, rest: &str| format!("192.0.2.7 - - [{time}] \"GET /{rest}\n");
    let log = [
        line("971211336", " HTTP/1.1\" 200 1"),
        line("971211336", ""),
        line("971211336.5", " HTTP/1.1\" OK 1"),
        line("soon", " HTTP/1.1\" 200 1"),
    ]
    .concat();
    let problems = read(log.as_bytes(), &Options::default(), ["ip"]).problems();
    assert_eq!((problems.len(), problems[2].as_str()), (3, "line 4: not a time: [soon]"));
    assert!(!problems[..2].concat().contains("time"), "{problems:?}");
}

proptest! {
    /// Columns are read as they were written, whatever the name of the user.
    #[test]
    fn columns_come_back(
        ip in "[0-9]{1,2}\\.[0-9]{1,2}\\.1\\.2",
        user in "[a-z][a-z.@ -]{0,8}[a-z]",
        target in "/[a-zA-Z0-9/._%-]{0,20}",
        (status, bytes) in (100u16..600, any::<u32>()),
        (referer, agent) in ("[a-z:/.]{1,9}", "[A-Za-z0-9/(); .]{1,20}"),
    ) {
        let log = format!(
            "{ip} - {user} {TIME} \"GET {target} HTTP/1.1\" {status} {bytes} \"{referer}\" \"{agent}\"\n"
        );
        let names = ["ip", "user", "method", "path", "status", "bytes", "referer", "agent"];
        let read = read(log.as_bytes(), &Options::default(), names);
        let (status, bytes) = (status.to_string(), bytes.to_string());
        let want = [&ip, &user, "GET", &target, &status, &bytes, &referer, &agent];
        prop_assert_eq!(read.fields(), [want]);
    }
}

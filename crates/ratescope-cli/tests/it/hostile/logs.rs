//! Logs in every format.

use crate::hostile::growth::{Parser, are_linear, repeat};
use ratescope_log::{Format, Log, Options, Reader, recognize};
use std::io::Read;

/// The fields that are looked for in each event.
const NAMES: [&str; 8] = ["ip", "user", "path", "forwarded", "agent", "message", "sender", "none"];

fn read(format: Format, first: &str, log: &[u8]) {
    read_with(&Options { format: Some(format), ..Options::default() }, first, log);
}

/// Reads a log in pieces, after a first line that is right.
pub(crate) fn read_with(options: &Options, first: &str, log: &[u8]) {
    let log = [first.as_bytes(), log].concat();
    let shape = recognize(&log, true, options).unwrap().unwrap();
    let mut reader = Reader::new(&shape, options).unwrap();
    let mut found = 0;
    let mut see = |record: &ratescope_log::Record<'_>| {
        found += NAMES.iter().filter(|name| record.value(name).is_some()).count();
    };
    for piece in log.chunks(1 << 16) {
        reader.feed(piece, &mut see).unwrap();
    }
    reader.finish(&mut see).unwrap();
}

fn combined(log: &[u8]) {
    read(Format::COMBINED, "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"-\" 408 -\n", log);
}

fn json(log: &[u8]) {
    read(Format::JSON, "{\"ts\":0}\n", log);
}

fn exim(log: &[u8]) {
    read(Format::EXIM, "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=c [192.0.2.7] S=9\n", log);
}

fn syslog(log: &[u8]) {
    read(Format::SYSLOG, "2024-05-01T12:00:00Z a sshd[1]: Failed password for a from ::1\n", log);
}

/// An entry of a journal, and the text after it.
fn exported(log: &[u8]) {
    let first = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=971186136000000\nSYSLOG_IDENTIFIER=sshd\n\
                 MESSAGE=Failed password for a from ::1\n\n";
    read(Format::SYSLOG, first, log);
}

fn csv(log: &[u8]) {
    read(Format::CSV, "time,key,ip,cost\n", log);
}

/// A header, which is the first line.
fn header(log: &[u8]) {
    let options = Options { format: Some(Format::CSV), ..Options::default() };
    let _ = recognize(log, true, &options);
}

/// Texts to recognize a format in.
pub(crate) fn any(log: &[u8]) {
    let _ = recognize(log, true, &Options::default());
}

/// Texts that come a few bytes at a time.
fn dripping(log: &[u8]) {
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = into.len().min(13);
            self.0.read(&mut into[..most])
        }
    }
    let _ = Log::open(Drip(log), &Options::default());
}

/// Lines in the wrapper of the first one.
fn wrapped(first: &str, log: &[u8]) {
    read_with(&Options::default(), &format!("{first}{CLF}/a HTTP/1.1\" 200 1\n"), log);
}

fn compose(log: &[u8]) {
    wrapped("web-1  | ", log);
}

fn container(log: &[u8]) {
    wrapped("2000-10-10T13:55:36.123456789Z stdout F ", log);
}

fn old_syslog(log: &[u8]) {
    wrapped("<190>Oct 10 13:55:36 web1 nginx: ", log);
}

fn three_wrappers(log: &[u8]) {
    wrapped("web-1  | 2000-10-10T13:55:36.123Z Oct 10 13:55:36 web1 nginx: ", log);
}

fn docker(log: &[u8]) {
    let inner = "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \\\"GET /a HTTP/1.1\\\" 200 1\\n";
    let first = format!("{{\"log\":\"{inner}\",\"time\":\"2000-10-10T13:55:36Z\"}}\n");
    read_with(&Options::default(), &first, log);
}

fn aliases(log: &[u8]) {
    let aliases = vec!["ip=client.address".parse().unwrap()];
    let options = Options { format: Some(Format::JSON), aliases, ..Options::default() };
    read_with(&options, "{\"ts\":0,\"client\":{\"address\":\"::1\"}}\n", log);
}

fn messages(log: &[u8]) {
    let mut options = Options { format: Some(Format::SYSLOG), ..Options::default() };
    options.filter.messages = vec!["from".to_owned()];
    read_with(&options, "2024-05-01T12:00:00Z a b[1]: from ::1\n", log);
}

/// With tests on fields: a network, a part of a text, and a regular expression.
fn tested(log: &[u8]) {
    let mut options = Options { format: Some(Format::COMBINED), ..Options::default() };
    options.filter.also =
        ["ip=192.0.2.0/24", "path~^(/a*)*b"].map(|test| test.parse().unwrap()).to_vec();
    options.filter.not = vec!["agent=aaaaaaaab".parse().unwrap()];
    read_with(&options, &format!("{CLF}/a HTTP/1.1\" 200 1 \"-\" \"-\"\n"), log);
}

const CLF: &str = "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET ";
const MAIL: &str = "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b ";
const LOGIN: &str = "2024-05-01T12:00:00Z a sshd[1]: Failed password for ";

const PARSERS: &[Parser] = &[
    Parser::of(
        "combined: lines",
        |n| repeat("", &format!("{CLF}/a HTTP/1.1\" 200 1\n"), "", n),
        combined,
        4,
    ),
    Parser::new(
        "combined: a long path",
        [CLF, "/a%20", " HTTP/1.1\" 200 1 \"-\" \"-\""],
        combined,
        4,
    ),
    Parser::new("combined: brackets and quotes", ["", "[\"\\", ""], combined, 4),
    Parser::of(
        "combined: many addresses before",
        |n| repeat("", "203.0.113.9, ", &format!("{CLF}/ HTTP/1.1\" 200 1\n"), n),
        combined,
        4,
    ),
    Parser::new("json: lines", ["", "{\"ts\":1,\"ip\":\"::1\",\"a\":{\"b\":[1]}}\n", ""], json, 4),
    Parser::of(
        "json: empty objects in one with a long name",
        |n| repeat(&format!("{{\"{}\":{{", "a".repeat(250)), "\"\":{},", "\"\":1},\"ts\":1}", n),
        json,
        4,
    ),
    Parser::new("json: escapes", ["{\"ts\":1,\"a\":\"", "\\u00e9\\", "\"}"], json, 4),
    Parser::new("json: members", ["{\"ts\":1", ",\"a\\n\":2", "}"], json, 4),
    Parser::of(
        "json: other members in each line",
        |n| {
            let line = |i: usize| format!("{{\"ts\":1,\"a{i}\":{{\"b{i}\":2,\"c\":[{i}]}}}}\n");
            (0..n / 40).flat_map(|i| line(i).into_bytes()).collect()
        },
        json,
        4,
    ),
    Parser::new("json: open braces", ["", "{\"a\":", ""], json, 4),
    Parser::new("exim: fields", [MAIL, "A=\"p:ann H=x (", "\n"], exim, 4),
    Parser::of(
        "exim: a subject of quotes",
        |n| repeat(&format!("{MAIL}T=\""), "\\\" [", "\"\n", n),
        exim,
        4,
    ),
    Parser::new(
        "syslog: where it was from",
        [LOGIN, "a from for user=<[", "192.0.2.7 port 5 ssh2\n"],
        syslog,
        4,
    ),
    Parser::new(
        "syslog: structured data",
        ["1 2024-05-01T12:00:00Z a sshd 1 - ", "[a b=\"\\]\"]", " Failed \n"],
        syslog,
        4,
    ),
    Parser::new(
        "syslog: repeated messages",
        [
            "",
            "2024-05-01T12:00:00Z a sshd[1]: message repeated 100000 times: \
             [ Failed password for a from ::1]\n",
            "",
        ],
        syslog,
        4,
    ),
    Parser::new(
        "exim: refusals",
        ["", "2024-05-01 12:00:00 H=(a [ F=\"x= [192.0.2.7] F=< rejected \n", ""],
        exim,
        4,
    ),
    Parser::new(
        "exported: entries",
        [
            "",
            "__CURSOR=s=1\n__REALTIME_TIMESTAMP=971186136000000\nSYSLOG_IDENTIFIER=sshd\n\
             MESSAGE=Failed password for a from ::1\n\n",
            "",
        ],
        exported,
        4,
    ),
    Parser::new(
        "exported: texts with the length of others",
        ["__CURSOR=s=1\n", "MESSAGE\n\u{5}\0\0\0\0\0\0\0a\n=\nb\n\n", ""],
        exported,
        4,
    ),
    Parser::new(
        "exported: one long text",
        ["MESSAGE\n\u{7f}\u{7f}\u{7f}\u{7f}\0\0\0\0", "a\n", ""],
        exported,
        4,
    ),
    Parser::new("compose: bars", ["web-1  ", "| ", "\n"], compose, 4),
    Parser::new("compose: spaces", ["web-1", " ", "|\n"], compose, 4),
    Parser::new("container: words", ["2000-10-10T13:55:36Z", " F", "\n"], container, 4),
    Parser::new("syslog: colons", ["<190>Oct 10 13:55:36 ", "a[", ": \n"], old_syslog, 4),
    Parser::new("syslog: priorities", ["", "<1", ">\n"], old_syslog, 4),
    Parser::new("three wrappers", ["web-1  | ", "2000 ", "\n"], three_wrappers, 4),
    Parser::new("docker: escapes", ["{\"log\":\"", "\\\"\\n", "\"}\n"], docker, 8),
    Parser::new("docker: members", ["{\"log\":\"\"", ",\"time\":\"\"", "}\n"], docker, 8),
    Parser::new(
        "json: members under another name",
        ["{\"ts\":1,\"client\":{\"a\":1", ",\"address\":{}", "}}\n"],
        aliases,
        4,
    ),
    Parser::new(
        "messages: addresses",
        ["2024-05-01T12:00:00Z a b: from", " ::1.", "\n"],
        messages,
        4,
    ),
    Parser::of(
        "tests of fields",
        |n| repeat(CLF, "/a", &format!(" HTTP/1.1\" 200 1 \"-\" \"{}\"\n", "a".repeat(n / 2)), n),
        tested,
        4,
    ),
    Parser::of("bytes: no UTF-8", |n| [vec![0xff; n], b"\n".to_vec()].concat(), csv, 32),
    Parser::new("csv: lines", ["", "1,a,::1,2\n", ""], csv, 4),
    Parser::new("csv: quotes", ["1,\"", "\"\"", "\"\n"], csv, 16),
    Parser::new("csv: commas", ["1", ",", "\n"], csv, 32),
    Parser::of(
        "csv: columns",
        |n| {
            let names = (0..n / 7).flat_map(|i| format!(",a{i}").into_bytes());
            b"time".iter().copied().chain(names).collect()
        },
        header,
        64,
    ),
    Parser::new("any: nothing that is known", ["", "a \"[{<1,=", ""], any, 16),
    Parser::new("any: lines of nothing that is known", ["", "a,b\n{\n\n1 ", ""], any, 8),
    Parser::new("any: a few bytes at a time", ["", "a,b\n{\n\n1 ", ""], dripping, 8),
];

#[test]
fn logs_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

//! Logs in every format.

use crate::growth::{Parser, are_linear, repeat};
use ratescope::event::Fields;
use ratescope::log::{Format, Options, Reader, recognize};

/// The fields that are looked for in each event.
const NAMES: [&str; 8] = ["ip", "user", "path", "forwarded", "agent", "message", "sender", "none"];

/// Reads a log in pieces, after a first line that is right.
fn read(format: Format, first: &str, log: &[u8]) {
    let options = Options { format: Some(format), ..Options::default() };
    let log = [first.as_bytes(), log].concat();
    let shape = recognize(&log, true, &options).unwrap().unwrap();
    let mut reader = Reader::new(&shape, &options).unwrap();
    let mut found = 0;
    let mut see = |record: &ratescope::log::Record<'_>| {
        found += NAMES.iter().filter(|name| record.value(name).is_some()).count();
    };
    for piece in log.chunks(1 << 16) {
        reader.feed(piece, &mut see).unwrap();
    }
    reader.finish(&mut see).unwrap();
}

fn combined(log: &[u8]) {
    read(Format::Combined, "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"-\" 408 -\n", log);
}

fn json(log: &[u8]) {
    read(Format::Json, "{\"ts\":0}\n", log);
}

fn exim(log: &[u8]) {
    read(Format::Exim, "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=c [192.0.2.7] S=9\n", log);
}

fn syslog(log: &[u8]) {
    read(Format::Syslog, "2024-05-01T12:00:00Z a sshd[1]: Failed password for a from ::1\n", log);
}

fn csv(log: &[u8]) {
    read(Format::Csv, "time,key,ip,cost\n", log);
}

/// A header, which is the first line.
fn header(log: &[u8]) {
    let options = Options { format: Some(Format::Csv), ..Options::default() };
    let _ = recognize(log, true, &options);
}

/// Texts to recognize a format in.
fn any(log: &[u8]) {
    let _ = recognize(log, true, &Options::default());
}

const CLF: &str = "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET ";
const MAIL: &str = "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b ";
const LOGIN: &str = "2024-05-01T12:00:00Z a sshd[1]: Failed password for ";

const PARSERS: &[Parser] = &[
    Parser {
        name: "combined: lines",
        input: |n| repeat("", &format!("{CLF}/a HTTP/1.1\" 200 1\n"), "", n),
        read: combined,
        bytes: 4,
    },
    Parser {
        name: "combined: a long path",
        input: |n| repeat(CLF, "/a%20", " HTTP/1.1\" 200 1 \"-\" \"-\"", n),
        read: combined,
        bytes: 4,
    },
    Parser {
        name: "combined: brackets and quotes",
        input: |n| repeat("", "[\"\\", "", n),
        read: combined,
        bytes: 4,
    },
    Parser {
        name: "combined: many addresses before",
        input: |n| repeat("", "203.0.113.9, ", &format!("{CLF}/ HTTP/1.1\" 200 1\n"), n),
        read: combined,
        bytes: 4,
    },
    Parser {
        name: "json: lines",
        input: |n| repeat("", "{\"ts\":1,\"ip\":\"::1\",\"a\":{\"b\":[1]}}\n", "", n),
        read: json,
        bytes: 4,
    },
    Parser {
        name: "json: empty objects in one with a long name",
        input: |n| {
            repeat(&format!("{{\"{}\":{{", "a".repeat(250)), "\"\":{},", "\"\":1},\"ts\":1}", n)
        },
        read: json,
        bytes: 4,
    },
    Parser {
        name: "json: escapes",
        input: |n| repeat("{\"ts\":1,\"a\":\"", "\\u00e9\\", "\"}", n),
        read: json,
        bytes: 4,
    },
    Parser {
        name: "json: members",
        input: |n| repeat("{\"ts\":1", ",\"a\\n\":2", "}", n),
        read: json,
        bytes: 4,
    },
    Parser {
        name: "json: other members in each line",
        input: |n| {
            let line = |i: usize| format!("{{\"ts\":1,\"a{i}\":{{\"b{i}\":2,\"c\":[{i}]}}}}\n");
            (0..n / 40).flat_map(|i| line(i).into_bytes()).collect()
        },
        read: json,
        bytes: 4,
    },
    Parser {
        name: "json: open braces",
        input: |n| repeat("", "{\"a\":", "", n),
        read: json,
        bytes: 4,
    },
    Parser {
        name: "exim: fields",
        input: |n| repeat(MAIL, "A=\"p:ann H=x (", "\n", n),
        read: exim,
        bytes: 4,
    },
    Parser {
        name: "exim: a subject of quotes",
        input: |n| repeat(&format!("{MAIL}T=\""), "\\\" [", "\"\n", n),
        read: exim,
        bytes: 4,
    },
    Parser {
        name: "syslog: where it was from",
        input: |n| repeat(LOGIN, "a from for user=<[", "192.0.2.7 port 5 ssh2\n", n),
        read: syslog,
        bytes: 4,
    },
    Parser {
        name: "syslog: structured data",
        input: |n| repeat("1 2024-05-01T12:00:00Z a sshd 1 - ", "[a b=\"\\]\"]", " Failed \n", n),
        read: syslog,
        bytes: 4,
    },
    Parser {
        name: "syslog: repeated messages",
        input: |n| {
            let line = "2024-05-01T12:00:00Z a sshd[1]: message repeated 100000 times: \
                        [ Failed password for a from ::1]\n";
            repeat("", line, "", n)
        },
        read: syslog,
        bytes: 4,
    },
    Parser { name: "csv: lines", input: |n| repeat("", "1,a,::1,2\n", "", n), read: csv, bytes: 4 },
    Parser {
        name: "csv: quotes",
        input: |n| repeat("1,\"", "\"\"", "\"\n", n),
        read: csv,
        bytes: 16,
    },
    Parser { name: "csv: commas", input: |n| repeat("1", ",", "\n", n), read: csv, bytes: 32 },
    Parser {
        name: "csv: columns",
        input: |n| {
            let names = (0..n / 7).flat_map(|i| format!(",a{i}").into_bytes());
            b"time".iter().copied().chain(names).collect()
        },
        read: header,
        bytes: 64,
    },
    Parser {
        name: "any: nothing that is known",
        input: |n| repeat("", "a \"[{<1,=", "", n),
        read: any,
        bytes: 8,
    },
    Parser {
        name: "any: lines of nothing that is known",
        input: |n| repeat("", "a,b\n{\n\n1 ", "", n),
        read: any,
        bytes: 8,
    },
];

#[test]
fn logs_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

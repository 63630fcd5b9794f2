//! Links, texts of limits, states, marks, summaries and headers.

use crate::growth::{Parser, are_linear, repeat};
use crate::text;
use http::{HeaderMap, HeaderValue};
use ratescope::lab::run::Link;
use ratescope::lab::tune::{Choices, MarkedKeys, Room, Summary};
use ratescope::lab::{compare, scope};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::middleware::{Networks, Proxies};
use ratescope::policy::Per;
use ratescope::store::Keyed;
use ratescope::{Limiter, Span, Time};
use std::net::IpAddr;

fn link(data: &[u8]) {
    let _ = Link::<scope::Settings>::good_parts(text(data));
    let _ = Link::<compare::Settings>::good_parts(text(data));
    let _ = text(data).parse::<Choices>();
}

fn limiter(data: &[u8]) {
    let _ = text(data).parse::<AnyLimiter>();
}

fn span(data: &[u8]) {
    let _ = text(data).parse::<Span>();
}

fn marks(data: &[u8]) {
    let _ = text(data).parse::<MarkedKeys>();
}

fn kept(data: &[u8]) {
    let _ = Kept::from_bytes(data);
}

fn saved(data: &[u8]) {
    let _ = Keyed::restore(any("gcra 1/1m"), data.len(), data);
}

fn any(limiter: &str) -> AnyLimiter {
    limiter.parse().unwrap()
}

fn summary(data: &[u8]) {
    let _ = Summary::read(data, Room::default());
}

fn networks(data: &[u8]) {
    let _ = text(data).parse::<Networks>();
}

/// Through a trusted proxy.
fn header(name: &'static str, data: &[u8]) {
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_bytes(data).unwrap());
    let trusted: Networks = "10.0.0.0/8".parse().unwrap();
    let proxies = match name {
        "forwarded" => Proxies::forwarded(trusted),
        _ => Proxies::x_forwarded_for(trusted),
    };
    proxies.client(IpAddr::from([10, 0, 0, 1]), &headers);
}

fn forwarded(data: &[u8]) {
    header("forwarded", data);
}

fn addresses(data: &[u8]) {
    header("x-forwarded-for", data);
}

/// The log of a limit, of as many events as fit in about `length` bytes.
fn events(length: usize) -> Vec<u8> {
    let limiter = any("sliding-log 10000/1h");
    let mut state = limiter.initial();
    for i in 0..(length / 4).min(10_000) {
        limiter.charge(&mut state, Time::from_micros(i as i64 * 1000), 1.0).unwrap();
    }
    limiter.keep(&state, Time::ZERO).to_bytes()
}

/// The states of as many keys.
fn keys(length: usize) -> Vec<u8> {
    let keyed = Keyed::new(any("gcra 1/1m"), length);
    for key in 0..length / 24 {
        let _ = keyed.check(&key, Time::from_micros(key as i64), 1.0);
    }
    keyed.save(Time::ZERO)
}

/// A summary of as many clients.
fn clients(length: usize) -> Vec<u8> {
    let mut summary = Summary::new("ip".parse::<Per>().unwrap(), Room::default());
    for i in 0..length / 12 {
        summary.clients.add(&i.to_string(), Time::from_micros(i as i64), 1.0);
    }
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

const PARSERS: &[Parser] = &[
    Parser { name: "link: unknown", input: |n| repeat("", "a&", "a", n), read: link, bytes: 16 },
    Parser { name: "link: wrong", input: |n| repeat("", "at=&", "", n), read: link, bytes: 16 },
    Parser { name: "link: right", input: |n| repeat("", "at=1&", "", n), read: link, bytes: 16 },
    Parser {
        name: "link: escapes",
        input: |n| repeat("lanes=", "%61", "", n),
        read: link,
        bytes: 16,
    },
    Parser {
        name: "link: lanes",
        input: |n| repeat("lanes=", "exim;", "", n),
        read: link,
        bytes: 64,
    },
    Parser {
        name: "link: commands",
        input: |n| repeat("do=", "1:events,", "1:events", n),
        read: link,
        bytes: 64,
    },
    Parser {
        name: "link: commands that change",
        input: |n| repeat("do=", "1:limit=9,", "1:events", n),
        read: link,
        bytes: 64,
    },
    Parser {
        name: "limiter: words",
        input: |n| repeat("exim ", "1/1m ", "", n),
        read: limiter,
        bytes: 64,
    },
    Parser {
        name: "limiter: digits",
        input: |n| repeat("exim ", "1", "/1m", n),
        read: limiter,
        bytes: 16,
    },
    Parser { name: "span: parts", input: |n| repeat("", "1h1m1s", "", n), read: span, bytes: 16 },
    Parser { name: "span: digits", input: |n| repeat("1.", "0", "1s", n), read: span, bytes: 16 },
    Parser {
        name: "marks",
        input: |n| (0..n / 6).flat_map(|i| format!("{i}\n").into_bytes()).collect(),
        read: marks,
        bytes: 64,
    },
    Parser { name: "marks: remarks", input: |n| repeat("", " #", "", n), read: marks, bytes: 16 },
    Parser { name: "kept: a log", input: events, read: kept, bytes: 64 },
    Parser { name: "saved: keys", input: keys, read: saved, bytes: 16 },
    Parser { name: "summary: clients", input: clients, read: summary, bytes: 128 },
    Parser {
        name: "networks",
        input: |n| {
            (0..n / 14)
                .flat_map(|i| format!("10.0.{}.{}, ", i >> 8 & 255, i & 255).into_bytes())
                .chain(*b"::1")
                .collect()
        },
        read: networks,
        bytes: 64,
    },
    Parser {
        name: "forwarded: proxies",
        input: |n| repeat("", "for=10.0.0.2;by=_x,", "for=10.0.0.2", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "forwarded: quotes",
        input: |n| repeat("", "\"\\", "", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "forwarded: backslashes",
        input: |n| repeat("\"", "\\\\\"", "", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "forwarded: escapes",
        input: |n| repeat("for=\"", "\\", "\"\"\"\"\"\"\"", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "forwarded: pairs",
        input: |n| repeat("", "a;", "", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "forwarded: commas",
        input: |n| repeat("", ",", "", n),
        read: forwarded,
        bytes: 16,
    },
    Parser {
        name: "addresses",
        input: |n| repeat("", "10.0.0.2,", "::1", n),
        read: addresses,
        bytes: 16,
    },
];

#[test]
fn texts_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

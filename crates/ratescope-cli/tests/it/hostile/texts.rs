//! Links, texts of limits, rule files, states, marks, summaries and headers.

use crate::hostile::growth::{Parser, are_linear, numbered};
use crate::hostile::text;
use http::{HeaderMap, HeaderValue};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::policy::{Per, Policy};
use ratescope::rules::cases::Cases;
use ratescope::rules::{OpenError, Rules};
use ratescope::store::Keyed;
use ratescope::{Limiter, Span, Time};
use ratescope_lab::run::Link;
use ratescope_lab::tune::{Choices, MarkedKeys, Room, Summary};
use ratescope_lab::{compare, scope};
use ratescope_redis::{Options, RedisStore};
use ratescope_tower::{Networks, Proxies};
use std::net::IpAddr;

fn link(data: &[u8]) {
    let _ = Link::<scope::Settings>::good_parts(text(data));
    let _ = Link::<compare::Settings>::good_parts(text(data));
    let _ = text(data).parse::<Choices>();
}

fn options(data: &[u8]) {
    let mut options = Choices::default();
    for name in ["where", "not", "field", "path", "status"] {
        let _ = options.set(name, text(data));
    }
}

fn limiter(data: &[u8]) {
    let _ = text(data).parse::<AnyLimiter>();
}

fn policy(data: &[u8]) {
    let _ = text(data).parse::<Policy>();
    let _ = text(data).parse::<compare::Template>();
}

fn script(data: &[u8]) {
    let _ = text(data).parse::<compare::script::Script>();
}

fn rules(data: &[u8]) {
    let _ = Rules::read("rules.yaml", text(data));
}

fn cases(data: &[u8]) {
    let _ = Cases::read("cases.yaml", text(data));
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
        "forwarded" => Proxies::forwarded(trusted).unwrap(),
        _ => Proxies::x_forwarded_for(trusted).unwrap(),
    };
    proxies.client(IpAddr::from([10, 0, 0, 1]), &headers);
}

fn forwarded(data: &[u8]) {
    header("forwarded", data);
}

fn addresses(data: &[u8]) {
    header("x-forwarded-for", data);
}

fn redis(data: &[u8]) {
    let rules = Rules::read("rules.yaml", "domain: d\nlimit: 5/1s\n").unwrap();
    let opened = RedisStore::open(text(data), rules, Options::default()).unwrap_err();
    // The address was read.
    assert!(matches!(opened, OpenError::Runtime), "{opened}");
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
    written(&summary)
}

/// A summary of one client with so many events.
fn one_client(events: usize) -> Vec<u8> {
    let mut summary = Summary::new("ip".parse::<Per>().unwrap(), Room::default());
    for i in 0..events {
        summary.clients.add("a", Time::from_micros(i as i64 * 1000), 1.0);
    }
    written(&summary)
}

/// A summary of as many hours.
fn zones(length: usize) -> Vec<u8> {
    let mut summary = Summary::new("ip".parse::<Per>().unwrap(), Room::default());
    for i in 0..length as i64 / 4 {
        summary.zones.add_line(Time::from_micros(i * 3_600_000_000), (i % 2 * 60) as i16);
    }
    written(&summary)
}

fn written(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

const PARSERS: &[Parser] = &[
    Parser::new("link: unknown", ["", "a&", "a"], link, 16),
    Parser::new("link: wrong", ["", "at=&", ""], link, 16),
    Parser::new("link: right", ["", "at=1&", ""], link, 16),
    Parser::new("link: escapes", ["lanes=", "%61", ""], link, 16),
    Parser::new("link: lanes", ["lanes=", "exim;", ""], link, 64),
    Parser::new("link: commands", ["do=", "1:events,", "1:events"], link, 64),
    Parser::new("link: commands that change", ["do=", "1:limit=9,", "1:events"], link, 64),
    Parser::new("options: tests", ["", "ip=a,", ""], options, 128),
    Parser::new("options: commas", ["a=", ",", ""], options, 32),
    Parser::new("options: fields", ["", "ip=a.b,", ""], options, 128),
    Parser::new("options: paths", ["", "/,", ""], options, 128),
    Parser::new("options: statuses", ["", "404,", ""], options, 64),
    Parser::new("limiter: words", ["exim ", "1/1m ", ""], limiter, 64),
    Parser::new("limiter: digits", ["exim ", "1", "/1m"], limiter, 16),
    Parser::new("policy: limits", ["", "gcra 1/1m & ", "gcra 1/1m"], policy, 64),
    Parser::new("policy: fields", ["gcra 1/1m per ", "a+", "a"], policy, 64),
    Parser::new("policy: a list", ["[[1,10]", ",[1,10]", "]"], policy, 64),
    Parser::new("script", ["", "1 at 1s,", ""], script, 64),
    Parser::new("rules: a list", ["", "- a\n", ""], rules, 128),
    Parser::new("rules: keys", ["domain: d\ndescriptors:\n", "- {key: k}\n", ""], rules, 144),
    Parser::of("rules: one map", |n| numbered("", "k#: a\n", "", n), rules, 128),
    Parser::new("rules: aliases", ["a: &b [c, d]\ne: [", "*b, ", "*b]\n"], rules, 128),
    Parser::new("rules: a long text", ["domain: \"", "\\t", "\"\n"], rules, 64),
    Parser::of(
        "cases: tests",
        |n| numbered("tests:\n", "- {name: t#, events: []}\n", "", n),
        cases,
        128,
    ),
    Parser::new(
        "cases: events",
        ["tests:\n- name: a\n  events:\n", "  - {at: 0, expect: allowed}\n", ""],
        cases,
        128,
    ),
    Parser::new("span: parts", ["", "1h1m1s", ""], span, 16),
    Parser::new("span: digits", ["1.", "0", "1s"], span, 16),
    Parser::of("marks", |n| numbered("", "#\n", "", n), marks, 64),
    Parser::new("marks: remarks", ["", " #", ""], marks, 16),
    Parser::of("kept: a log", events, kept, 64),
    Parser::of("saved: keys", keys, saved, 16),
    Parser::of("summary: clients", clients, summary, 128),
    Parser::of("summary: one client", |n| one_client(n / 3), summary, 64),
    Parser::of("summary: zones", zones, summary, 128),
    Parser::of(
        "networks",
        |n| {
            (0..n / 14)
                .flat_map(|i| format!("10.0.{}.{}, ", i >> 8 & 255, i & 255).into_bytes())
                .chain(*b"::1")
                .collect()
        },
        networks,
        64,
    ),
    Parser::new("forwarded: proxies", ["", "for=10.0.0.2;by=_x,", "for=10.0.0.2"], forwarded, 16),
    Parser::new("forwarded: quotes", ["", "\"\\", ""], forwarded, 16),
    Parser::new("forwarded: backslashes", ["\"", "\\\\\"", ""], forwarded, 16),
    Parser::new("forwarded: escapes", ["for=\"", "\\", "\"\"\"\"\"\"\""], forwarded, 16),
    Parser::new("forwarded: pairs", ["", "a;", ""], forwarded, 16),
    Parser::new("forwarded: commas", ["", ",", ""], forwarded, 16),
    Parser::new("redis: a user", ["redis-cluster://", "u", ":p@a,b"], redis, 64),
    Parser::new("redis: nodes", ["redis-cluster://", "[::1]:7000,", "a"], redis, 256),
    Parser::new("redis: sentinels", ["redis-sentinel://", "a,", "a/main"], redis, 512),
    Parser::new("redis: a query", ["redis-sentinel://a/main?", "a=b&", ""], redis, 64),
    Parser::new("addresses", ["", "10.0.0.2,", "::1"], addresses, 16),
];

#[test]
fn texts_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

//! Links, texts of limits, rule files, states, marks, summaries and headers.

use crate::growth::{Parser, are_linear, numbered, repeat};
use crate::text;
use http::{HeaderMap, HeaderValue};
use ratescope::lab::run::Link;
use ratescope::lab::tune::{Choices, MarkedKeys, Room, Summary};
use ratescope::lab::{compare, scope};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::middleware::{Networks, Proxies};
use ratescope::policy::{Per, Policy};
use ratescope::redis_store::{Options, RedisStore};
use ratescope::rules::cases::Cases;
use ratescope::rules::{OpenError, Rules};
use ratescope::store::Keyed;
use ratescope::{Limiter, Span, Time};
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
        summary.zones.see(Time::from_micros(i * 3_600_000_000), (i % 2 * 60) as i16);
    }
    written(&summary)
}

fn written(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

const PARSERS: &[Parser] = &[
    Parser::new("link: unknown", |n| repeat("", "a&", "a", n), link, 16),
    Parser::new("link: wrong", |n| repeat("", "at=&", "", n), link, 16),
    Parser::new("link: right", |n| repeat("", "at=1&", "", n), link, 16),
    Parser::new("link: escapes", |n| repeat("lanes=", "%61", "", n), link, 16),
    Parser::new("link: lanes", |n| repeat("lanes=", "exim;", "", n), link, 64),
    Parser::new("link: commands", |n| repeat("do=", "1:events,", "1:events", n), link, 64),
    Parser::new(
        "link: commands that change",
        |n| repeat("do=", "1:limit=9,", "1:events", n),
        link,
        64,
    ),
    Parser::new("options: tests", |n| repeat("", "ip=a,", "", n), options, 128),
    Parser::new("options: commas", |n| repeat("a=", ",", "", n), options, 32),
    Parser::new("options: fields", |n| repeat("", "ip=a.b,", "", n), options, 128),
    Parser::new("options: paths", |n| repeat("", "/,", "", n), options, 128),
    Parser::new("options: statuses", |n| repeat("", "404,", "", n), options, 64),
    Parser::new("limiter: words", |n| repeat("exim ", "1/1m ", "", n), limiter, 64),
    Parser::new("limiter: digits", |n| repeat("exim ", "1", "/1m", n), limiter, 16),
    Parser::new("policy: limits", |n| repeat("", "gcra 1/1m & ", "gcra 1/1m", n), policy, 64),
    Parser::new("policy: fields", |n| repeat("gcra 1/1m per ", "a+", "a", n), policy, 64),
    Parser::new("script", |n| repeat("", "1 at 1s,", "", n), script, 64),
    Parser::new("rules: a list", |n| repeat("", "- a\n", "", n), rules, 128),
    Parser::new(
        "rules: keys",
        |n| repeat("domain: d\ndescriptors:\n", "- {key: k}\n", "", n),
        rules,
        128,
    ),
    Parser::new("rules: one map", |n| numbered("", "k#: a\n", "", n), rules, 128),
    Parser::new("rules: aliases", |n| repeat("a: &b [c, d]\ne: [", "*b, ", "*b]\n", n), rules, 128),
    Parser::new("rules: a long text", |n| repeat("domain: \"", "\\t", "\"\n", n), rules, 64),
    Parser::new(
        "cases: tests",
        |n| numbered("tests:\n", "- {name: t#, events: []}\n", "", n),
        cases,
        128,
    ),
    Parser::new(
        "cases: events",
        |n| repeat("tests:\n- name: a\n  events:\n", "  - {at: 0, expect: allowed}\n", "", n),
        cases,
        128,
    ),
    Parser::new("span: parts", |n| repeat("", "1h1m1s", "", n), span, 16),
    Parser::new("span: digits", |n| repeat("1.", "0", "1s", n), span, 16),
    Parser::new("marks", |n| numbered("", "#\n", "", n), marks, 64),
    Parser::new("marks: remarks", |n| repeat("", " #", "", n), marks, 16),
    Parser::new("kept: a log", events, kept, 64),
    Parser::new("saved: keys", keys, saved, 16),
    Parser::new("summary: clients", clients, summary, 128),
    Parser::new("summary: one client", |n| one_client(n / 3), summary, 64),
    Parser::new("summary: zones", zones, summary, 128),
    Parser::new(
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
    Parser::new(
        "forwarded: proxies",
        |n| repeat("", "for=10.0.0.2;by=_x,", "for=10.0.0.2", n),
        forwarded,
        16,
    ),
    Parser::new("forwarded: quotes", |n| repeat("", "\"\\", "", n), forwarded, 16),
    Parser::new("forwarded: backslashes", |n| repeat("\"", "\\\\\"", "", n), forwarded, 16),
    Parser::new(
        "forwarded: escapes",
        |n| repeat("for=\"", "\\", "\"\"\"\"\"\"\"", n),
        forwarded,
        16,
    ),
    Parser::new("forwarded: pairs", |n| repeat("", "a;", "", n), forwarded, 16),
    Parser::new("forwarded: commas", |n| repeat("", ",", "", n), forwarded, 16),
    Parser::new("redis: a user", |n| repeat("redis-cluster://", "u", ":p@a,b", n), redis, 64),
    Parser::new("redis: nodes", |n| repeat("redis-cluster://", "[::1]:7000,", "a", n), redis, 256),
    Parser::new("redis: sentinels", |n| repeat("redis-sentinel://", "a,", "a/main", n), redis, 512),
    Parser::new("redis: a query", |n| repeat("redis-sentinel://a/main?", "a=b&", "", n), redis, 64),
    Parser::new("addresses", |n| repeat("", "10.0.0.2,", "::1", n), addresses, 16),
];

#[test]
fn texts_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

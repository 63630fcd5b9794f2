//! Logs of columns, in every layout, and the notation of layouts.

use crate::hostile::growth::{Parser, are_linear, repeat};
use crate::hostile::logs::{any, read_with};
use crate::hostile::text;
use ratescope_log::{Layout, Options, Piece, Pieces};
use std::sync::Arc;

/// Reads a log with a layout.
fn said(layout: &str, first: &str, log: &[u8]) {
    let layout = Some(Arc::new(layout.parse().unwrap()));
    read_with(&Options { layout, ..Options::default() }, &format!("{first}\n"), log);
}

/// Reads a log whose layout is known.
fn known(first: &str, log: &[u8]) {
    read_with(&Options::default(), &format!("{first}\n"), log);
}

fn notation(data: &[u8]) {
    let _ = text(data).parse::<Layout>();
}

const TIME: &str = "10/Oct/2000:13:55:36 +0000";

/// A column that the client wrote, and then those of the server.
fn agent_first(log: &[u8]) {
    said("$http_user_agent [$time_local] $remote_addr", &format!("x [{TIME}] 192.0.2.7"), log);
}

fn address_after(log: &[u8]) {
    said("$http_user_agent $remote_addr] $time_local", &format!("x 192.0.2.7] {TIME}"), log);
}

fn port_after(log: &[u8]) {
    let first = format!("x 192.0.2.7:80 {TIME}");
    said("$http_user_agent $remote_addr:$remote_port $time_local", &first, log);
}

fn quoted_time(log: &[u8]) {
    said("$http_user_agent \"$time_local\"", &format!("x \"{TIME}\""), log);
}

fn padded(log: &[u8]) {
    let first = format!("x  {TIME} 192.0.2.7");
    said("$http_user_agent  $time_local $remote_addr", &first, log);
}

fn commas(log: &[u8]) {
    said("$request_time,$remote_addr,$time_local", &format!("1,192.0.2.7,{TIME}"), log);
}

fn padded_after(log: &[u8]) {
    let first = format!("x {TIME}  192.0.2.7");
    said("$http_user_agent $time_local  $remote_addr", &first, log);
}

fn padded_address(log: &[u8]) {
    let first = format!("x 192.0.2.7  {TIME}");
    said("$http_user_agent $remote_addr  $time_local", &first, log);
}

fn guessed(log: &[u8]) {
    // A guess has to read nine lines of ten.
    let first = format!("x|{TIME}|192.0.2.7|GET /a HTTP/1.1|200");
    known(&[&*first; 20].join("\n"), log);
}

fn haproxy(log: &[u8]) {
    let first = "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 0/0/0/0/0 200 9 - - ---- 1/1/0/0/0 0/0 \
                 {a|b} \"GET /a HTTP/1.1\"";
    known(first, log);
}

fn envoy(log: &[u8]) {
    let first = "[2000-10-10T13:55:36.000Z] \"GET /a HTTP/1.1\" 200 - 0 1 2 3 \"198.51.100.1,192.0.2.7\" \
                 \"curl\" \"id\" \"host\" \"10.0.0.1:80\"";
    known(first, log);
}

fn squid(log: &[u8]) {
    known("971186136.000    120 192.0.2.7 TCP_MISS/000 9 GET http://a/ - HIER_NONE/- -", log);
}

fn alb(log: &[u8]) {
    let first = "https 2000-10-10T13:55:36.000000Z app/a/b 192.0.2.7:4711 10.0.0.1:80 0.1 0.2 0.3 200 200 \
                 34 9 \"GET https://a:443/a?b HTTP/1.1\" \"curl\" ECDHE TLSv1.2 arn \"Root=1\" \"-\" \"-\"";
    known(first, log);
}

fn over_a_limit(log: &[u8]) {
    let first = "2000/10/10 13:55:36 [error] 7#7: *3 limiting requests, excess: 5.320 by zone \"one\", \
                 client: 192.0.2.7, server: _, request: \"GET /a HTTP/1.1\", host: \"x\"";
    known(first, log);
}

fn iis(log: &[u8]) {
    let first = "#Fields: date time cs-method cs(User-Agent) c-ip sc-status\n\
                 2000-10-10 13:55:36 GET curl 192.0.2.7 200";
    known(first, log);
}

/// Looks for the last header of each piece.
fn pieces(log: &[u8]) {
    let header = b"#Fields: time c-ip\n971211336 192.0.2.7\n";
    let log = [header, log].concat();
    let mut pieces = Pieces::open(&log[..], &Options::default()).unwrap();
    let mut piece = Piece::default();
    while pieces.next(&mut piece).unwrap() {}
}

fn cloudfront(log: &[u8]) {
    let first = "#Fields: date time cs-method cs(User-Agent) c-ip sc-status\n\
                 2000-10-10\t13:55:36\tGET\tcurl 7\t192.0.2.7\t200";
    known(first, log);
}

const PARSERS: &[Parser] = &[
    Parser::new("notation: nginx's columns", ["", "$a ", ""], notation, 256),
    Parser::new("notation: Apache's columns", ["", "%h ", ""], notation, 256),
    Parser::new("notation: open braces", ["$a ", "${", ""], notation, 16),
    Parser::new("notation: quotes", ["log_format a '", "' '", "$a'"], notation, 16),
    Parser::new("columns: a time anywhere", ["x", " [", "\n"], agent_first, 4),
    Parser::new("columns: an address anywhere", ["x", " a", "\n"], address_after, 4),
    Parser::new("columns: a port anywhere", ["x", " a", "\n"], port_after, 4),
    Parser::new("columns: a port nowhere", ["x", " :", "\n"], port_after, 4),
    Parser::new("columns: a quote anywhere", ["x", " \"", "\n"], quoted_time, 4),
    Parser::new("columns: backslashes", ["x", "\\", "\"\n"], quoted_time, 4),
    Parser::new("columns: spaces", ["x", " ", "\n"], padded, 4),
    Parser::new("columns: spaces after a time", ["x", " ", "\n"], padded_after, 4),
    Parser::new("columns: spaces after an address", ["x", " ", "\n"], padded_address, 4),
    Parser::of(
        "headers: many",
        |n| {
            let header = |i: usize| format!("#Fields: a{i}\n").into_bytes();
            let headers = (0..n / 32).flat_map(header);
            headers.chain(b"b\n".repeat(n / 4)).collect()
        },
        any,
        64,
    ),
    Parser::of(
        "headers: many addresses",
        |n| {
            let names = " x c-ip".repeat((n / 16).min(120));
            let header = format!("#Fields: date time{names}\n2000-10-10\t13:55:36");
            repeat(&header, "\ta", "\n", n)
        },
        any,
        64,
    ),
    Parser::new("columns: commas", ["", ",", "\n"], commas, 4),
    Parser::new("columns: guessed", ["x|", "|[", "\n"], guessed, 4),
    Parser::new(
        "haproxy: captures",
        [
            "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 0/0/0/0/0 200 9 - - ---- \
             1/1/0/0/0 0/0 ",
            "{a} ",
            "\"GET /a HTTP/1.1\n",
        ],
        haproxy,
        4,
    ),
    Parser::new("haproxy: colons", ["", "a:", " [\n"], haproxy, 4),
    Parser::new("envoy: quotes", ["[2000-10-10T13:55:36.000Z] \"", "\\\" \"", "\n"], envoy, 4),
    Parser::new(
        "envoy: addresses",
        [
            "[2000-10-10T13:55:36.000Z] \"GET / HTTP/1.1\" 200 - 0 1 2 3 \"",
            "::1,",
            "\" \"curl\" \"id\" \"host\" \"10.0.0.1:80\"\n",
        ],
        envoy,
        4,
    ),
    Parser::new("squid: spaces", ["971186136.000", " ", "1 x\n"], squid, 4),
    Parser::new("squid: words", ["971186136.000 ", " a", "\n"], squid, 4),
    Parser::new("alb: words", ["https ", "2 ", "\n"], alb, 4),
    Parser::new(
        "alb: quotes",
        [
            "https 2000-10-10T13:55:36.000000Z app/a/b 192.0.2.7:4711 10.0.0.1:80 0.1 0.2 0.3 \
             200 200 34 9 \"",
            "\\\" \"",
            "\n",
        ],
        alb,
        4,
    ),
    Parser::new(
        "nginx's error log: clients",
        [
            "2000/10/10 13:55:36 [error] 7#7: *3 limiting requests, excess: 1 by zone \"",
            "\", client: ",
            "\n",
        ],
        over_a_limit,
        4,
    ),
    Parser::new("iis: headers", ["", "#Fields: time c-ip\n", ""], iis, 4),
    Parser::new("iis: a long header", ["#Fields: time", " a", "\n"], iis, 4),
    Parser::new("iis: headers in a line", ["x", "#Fields:", "\n"], pieces, 8),
    Parser::new("iis: words", ["2000-10-10 13:55:36 GET", " a", "\n"], iis, 4),
    Parser::new("iis: spaces", ["2000-10-10 13:55:36 GET", " ", "\n"], iis, 4),
    Parser::new("cloudfront: tabs", ["2000-10-10\t13:55:36\tGET", "\ta", "\n"], cloudfront, 4),
    Parser::new(
        "cloudfront: addresses",
        ["2000-10-10\t13:55:36\tGET\t", "::1\t", "\n"],
        cloudfront,
        4,
    ),
];

#[test]
fn columns_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

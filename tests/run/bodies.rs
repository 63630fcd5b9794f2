//! Requests of the service take time and memory in proportion to their length, up to the longest one.

use super::core::{RULES, service};
use super::growth::{Parser, are_linear, numbered, repeat};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use ratescope::service::{Grpc, Http, HttpSettings, NAME};
use std::future::Future;
use std::sync::Arc;
use tower::Service as _;

/// The longest body by HTTP, the longest message by gRPC, and the longest URI.
const HTTP: usize = 64 << 10;
const GRPC: usize = 256 << 10;
const URI: usize = 65_000;

fn run(asked: impl Future) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(asked);
}

fn http(request: http::request::Builder, body: &[u8]) {
    let request = request.body(Full::new(Bytes::copy_from_slice(body))).unwrap();
    let http = Http::new(Arc::new(service(RULES).0), HttpSettings::default());
    run(http.answer(request, None));
}

fn json(body: &[u8]) {
    http(Request::post("/json"), body);
}

fn check(body: &[u8]) {
    http(Request::post("/check"), body);
}

fn get(uri: &[u8]) {
    http(Request::get(uri), &[]);
}

fn grpc(message: &[u8]) {
    let framed = [&[0], &(message.len() as u32).to_be_bytes()[..], message].concat();
    let path = format!("/{NAME}/ShouldRateLimit");
    let request = Request::post(path).header("content-type", "application/grpc");
    let request = request.body(Full::new(Bytes::from(framed))).unwrap();
    run(Grpc::new(Arc::new(service(RULES).0)).call(request));
}

/// A body has a longest length, so its bytes need no more than what is fixed: 48 bytes for each byte of JSON. A
/// descriptor that is empty has 2 bytes by gRPC and 3 as JSON, and takes 96.
const PARSERS: &[Parser] = &[
    Parser::new(
        "json: a long domain",
        |n| repeat("{\"domain\":\"", "\\u00e4", "\"}", n.min(HTTP)),
        json,
        0,
    ),
    Parser::new("json: too long", |n| repeat("{\"domain\":\"", "a", "\"}", n), json, 1),
    Parser::new("json: lists", |n| repeat("", "[", "", n.min(HTTP)), json, 0),
    Parser::new(
        "json: descriptors",
        |n| repeat("{\"descriptors\":[", "{},", "{}]}", n.min(HTTP)),
        json,
        1,
    ),
    Parser::new(
        "json: entries",
        |n| repeat("{\"descriptors\":[{\"entries\":[", "{},", "{}]}]}", n.min(HTTP)),
        json,
        0,
    ),
    Parser::new(
        "check: one field",
        |n| repeat("{\"fields\":{", "\"a\":\"\",", "\"a\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::new(
        "check: fields",
        |n| numbered("{\"fields\":{", "\"#\":\"\",", "\"a\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::new(
        "check: escapes",
        |n| repeat("{\"fields\":{\"", "\\n", "\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::new("query: one field", |n| repeat("/check?", "a&", "a", n.min(URI)), get, 0),
    Parser::new("query: fields", |n| numbered("/check?", "#&", "a", n.min(URI)), get, 0),
    Parser::new("query: escapes", |n| repeat("/check?a=", "%61", "", n.min(URI)), get, 0),
    Parser::new("auth: slashes", |n| repeat("/auth", "/", "a/", n.min(URI)), get, 0),
    Parser::new("auth: escapes", |n| repeat("/auth/", "%61", "?refused=403", n.min(URI)), get, 0),
    Parser::new("grpc: descriptors", |n| repeat("", "\x12\0", "", n.min(GRPC)), grpc, 12),
    Parser::new("grpc: too long", |n| repeat("", "\x12\0", "", n), grpc, 1),
    Parser::new("grpc: domains", |n| repeat("", "\n\x01a", "", n.min(GRPC)), grpc, 0),
    Parser::new("grpc: unknown fields", |n| repeat("", "\x7a\0", "", n.min(GRPC)), grpc, 0),
    Parser::new("grpc: groups", |n| repeat("", "\x7b", "", n.min(GRPC)), grpc, 0),
];

#[test]
fn requests_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

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
    Parser::of(
        "json: a long domain",
        |n| repeat("{\"domain\":\"", "\\u00e4", "\"}", n.min(HTTP)),
        json,
        0,
    ),
    Parser::new("json: too long", ["{\"domain\":\"", "a", "\"}"], json, 1),
    Parser::of("json: lists", |n| repeat("", "[", "", n.min(HTTP)), json, 0),
    Parser::of(
        "json: descriptors",
        |n| repeat("{\"descriptors\":[", "{},", "{}]}", n.min(HTTP)),
        json,
        1,
    ),
    Parser::of(
        "json: entries",
        |n| repeat("{\"descriptors\":[{\"entries\":[", "{},", "{}]}]}", n.min(HTTP)),
        json,
        0,
    ),
    Parser::of(
        "check: one field",
        |n| repeat("{\"fields\":{", "\"a\":\"\",", "\"a\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::of(
        "check: fields",
        |n| numbered("{\"fields\":{", "\"#\":\"\",", "\"a\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::of(
        "check: escapes",
        |n| repeat("{\"fields\":{\"", "\\n", "\":\"\"}}", n.min(HTTP)),
        check,
        0,
    ),
    Parser::of("query: one field", |n| repeat("/check?", "a&", "a", n.min(URI)), get, 0),
    Parser::of("query: fields", |n| numbered("/check?", "#&", "a", n.min(URI)), get, 0),
    Parser::of("query: escapes", |n| repeat("/check?a=", "%61", "", n.min(URI)), get, 0),
    Parser::of("auth: slashes", |n| repeat("/auth", "/", "a/", n.min(URI)), get, 0),
    Parser::of("auth: escapes", |n| repeat("/auth/", "%61", "?refused=403", n.min(URI)), get, 0),
    Parser::of("grpc: descriptors", |n| repeat("", "\x12\0", "", n.min(GRPC)), grpc, 12),
    Parser::new("grpc: too long", ["", "\x12\0", ""], grpc, 1),
    Parser::of("grpc: domains", |n| repeat("", "\n\x01a", "", n.min(GRPC)), grpc, 0),
    Parser::of("grpc: unknown fields", |n| repeat("", "\x7a\0", "", n.min(GRPC)), grpc, 0),
    Parser::of("grpc: groups", |n| repeat("", "\x7b", "", n.min(GRPC)), grpc, 0),
];

#[test]
fn requests_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

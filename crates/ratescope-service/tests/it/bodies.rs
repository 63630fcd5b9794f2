//! Requests of the service take time and memory in proportion to their length, up to the longest one.

use super::growth::{Parser, are_linear, numbered, repeat};
use super::requests::{RULES, framed, service};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use ratescope_service::{Grpc, Http, HttpSettings, NAME};
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
    let path = format!("/{NAME}/ShouldRateLimit");
    let request = Request::post(path).header("content-type", "application/grpc");
    let request = request.body(Full::new(framed(message))).unwrap();
    run(Grpc::new(Arc::new(service(RULES).0)).call(request));
}

/// A body has a longest length, so its bytes need no more than a fixed amount: 48 bytes for each byte of JSON. A
/// descriptor that is empty has 2 bytes by gRPC and 3 as JSON, and takes 96.
const PARSERS: &[Parser] = &[
    Parser::new("json: a long domain", ["{\"domain\":\"", "\\u00e4", "\"}"], json, 0).at_most(HTTP),
    Parser::new("json: too long", ["{\"domain\":\"", "a", "\"}"], json, 1),
    Parser::new("json: lists", ["", "[", ""], json, 0).at_most(HTTP),
    Parser::new("json: descriptors", ["{\"descriptors\":[", "{},", "{}]}"], json, 16).at_most(HTTP),
    Parser::new("json: entries", ["{\"descriptors\":[{\"entries\":[", "{},", "{}]}]}"], json, 0)
        .at_most(HTTP),
    Parser::new("check: one field", ["{\"fields\":{", "\"a\":\"\",", "\"a\":\"\"}}"], check, 0)
        .at_most(HTTP),
    Parser::of(
        "check: fields",
        |n| numbered("{\"fields\":{", "\"#\":\"\",", "\"a\":\"\"}}", n),
        check,
        0,
    )
    .at_most(HTTP),
    Parser::new("check: escapes", ["{\"fields\":{\"", "\\n", "\":\"\"}}"], check, 0).at_most(HTTP),
    Parser::new("query: one field", ["/check?", "a&", "a"], get, 0).at_most(URI),
    Parser::of("query: fields", |n| numbered("/check?", "#&", "a", n), get, 0).at_most(URI),
    Parser::new("query: escapes", ["/check?a=", "%61", ""], get, 0).at_most(URI),
    Parser::new("auth: slashes", ["/auth", "/", "a/"], get, 0).at_most(URI),
    Parser::new("auth: escapes", ["/auth/", "%61", "?refused=403"], get, 0).at_most(URI),
    Parser::new("grpc: descriptors", ["", "\x12\0", ""], grpc, 48).at_most(GRPC),
    Parser::of("grpc: too long", |n| repeat("", "\x12\0", "", n.max(GRPC + 2)), grpc, 1),
    Parser::new("grpc: domains", ["", "\n\x01a", ""], grpc, 0).at_most(GRPC),
    Parser::new("grpc: unknown fields", ["", "\x7a\0", ""], grpc, 0).at_most(GRPC),
    Parser::new("grpc: groups", ["", "\x7b", ""], grpc, 0).at_most(GRPC),
];

#[test]
fn requests_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}

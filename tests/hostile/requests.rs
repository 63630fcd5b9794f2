//! What comes by HTTP: requests for the page and for Live, and answers that ask for a pause.

use crate::growth::{Parser, are_linear, repeat};
use crate::text;
use http::header::{ACCEPT_ENCODING, HOST, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use ratescope::clock::FakeClock;
use ratescope::live::{Wanted, page};
use ratescope::waiting::outgoing::Pace;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

fn wanted(data: &[u8]) {
    let _ = Wanted::read(text(data), Some(text(data)));
}

fn headers(name: HeaderName, data: &[u8]) -> HeaderMap {
    HeaderMap::from_iter([(name, HeaderValue::from_bytes(data).unwrap())])
}

fn host(data: &[u8]) {
    page::is_local(&headers(HOST, data), Some(80));
}

fn path(data: &[u8]) {
    page::file(&Method::GET, text(data), &HeaderMap::new());
}

fn encodings(data: &[u8]) {
    page::file(&Method::GET, "/", &headers(ACCEPT_ENCODING, data)).unwrap();
}

/// A service that asks for a pause.
#[derive(Clone)]
struct Busy(HeaderMap);

impl Service<Request<()>> for Busy {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        *response.headers_mut() = self.0.clone();
        ready(Ok(response))
    }
}

fn pause(data: &[u8]) {
    let pace = Pace::new("gcra 1/1s").unwrap().clock(FakeClock::default());
    let mut client = pace.layer(Busy(headers(RETRY_AFTER, data)));
    let _ =
        client.poll_ready(&mut Context::from_waker(std::task::Waker::noop())).map(Result::unwrap);
    tokio_test::block_on(client.call(Request::get("http://a/").body(()).unwrap())).unwrap();
}

const PARSERS: &[Parser] = &[
    Parser::new("live: parts", |n| repeat("", "a&", "", n), wanted, 16),
    Parser::new("live: a hash", |n| repeat("watch=", "0", "", n), wanted, 16),
    Parser::new("live: an id", |n| repeat("0.", "0", ".0", n), wanted, 16),
    Parser::new("live: dots", |n| repeat("", ".", "", n), wanted, 16),
    Parser::new("page: a path", |n| repeat("/", "../", "", n), path, 16),
    Parser::new("page: escapes", |n| repeat("/", "%2e", "", n), path, 16),
    Parser::new("page: a host", |n| repeat("", "a.", ":80", n), host, 16),
    Parser::new("page: brackets", |n| repeat("", "[", ":80", n), host, 16),
    Parser::new("page: a port", |n| repeat("localhost:", "0", "80", n), host, 16),
    Parser::new("page: encodings", |n| repeat("", "br;q=0,", "", n), encodings, 16),
    Parser::new("pause: a number", |n| repeat("", "9", "", n), pause, 16),
    Parser::new("pause: zeros", |n| repeat("", "0", "1", n), pause, 16),
    Parser::new("pause: no date", |n| repeat("", "Sun, ", "", n), pause, 16),
    Parser::new("pause: spaces", |n| repeat("1", " ", "1", n), pause, 16),
];

#[test]
fn what_comes_by_http_is_read_in_proportion_to_its_length() {
    are_linear(PARSERS);
}

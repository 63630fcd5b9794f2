//! Input by HTTP: requests for the page and for Live, and answers that ask for a pause.

use crate::hostile::growth::{Parser, are_linear};
use crate::hostile::text;
use http::header::{ACCEPT_ENCODING, HOST, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use ratescope::clock::FakeClock;
use ratescope_live::{Wanted, page};
use ratescope_tower::outgoing::Pace;
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
    Parser::new("live: parts", ["", "a&", ""], wanted, 16),
    Parser::new("live: a hash", ["watch=", "0", ""], wanted, 16),
    Parser::new("live: an id", ["0.", "0", ".0"], wanted, 16),
    Parser::new("live: dots", ["", ".", ""], wanted, 16),
    Parser::new("page: a path", ["/", "../", ""], path, 16),
    Parser::new("page: escapes", ["/", "%2e", ""], path, 16),
    Parser::new("page: a host", ["", "a.", ":80"], host, 16),
    Parser::new("page: brackets", ["", "[", ":80"], host, 16),
    Parser::new("page: a port", ["localhost:", "0", "80"], host, 16),
    Parser::new("page: encodings", ["", "br;q=0,", ""], encodings, 16),
    Parser::new("pause: a number", ["", "9", ""], pause, 16),
    Parser::new("pause: zeros", ["", "0", "1"], pause, 16),
    Parser::new("pause: no date", ["", "Sun, ", ""], pause, 16),
    Parser::new("pause: spaces", ["1", " ", "1"], pause, 16),
];

#[test]
fn what_comes_by_http_is_read_in_proportion_to_its_length() {
    are_linear(PARSERS);
}

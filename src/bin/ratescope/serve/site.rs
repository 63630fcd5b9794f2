//! The site: the page in this program, or a folder, for browsers on this machine.

use super::folder::Folder;
use super::page;
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use std::io;
use std::path::Path;
use tower_http::services::fs::ServeFileSystemResponseBody;

/// A body from a folder, or from this program.
pub(crate) type Body = Either<ServeFileSystemResponseBody, Full<Bytes>>;

/// Sent with every response, errors too.
const HEADERS: [(&str, &str); 6] = [
    // The page loads nothing but its own files, runs no script but those, and is in no frame.
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; worker-src 'self'; \
         manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    // Cross-origin isolation: without it browsers make performance.now() 0.1 ms coarse.
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("x-content-type-options", "nosniff"),
    // Browsers ask each time whether a file changed, so that a rebuilt page is seen on reload.
    ("cache-control", "no-cache"),
    ("referrer-policy", "no-referrer"),
];

/// The names of this machine in the address of the site.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The files and the port at which they are served.
#[derive(Clone)]
pub(crate) struct Site {
    /// The port at which it is served, or any: a tunnel may lead here.
    port: Option<u16>,
    /// `None` stands for the page in this program.
    folder: Option<Folder>,
}

impl Site {
    pub(super) fn new(dir: Option<&Path>, port: u16) -> io::Result<Self> {
        Ok(Site { port: Some(port), folder: dir.map(Folder::new).transpose()? })
    }

    /// The page in this program, at any port.
    #[cfg(feature = "run")]
    pub(crate) fn embedded() -> Self {
        Site { port: None, folder: None }
    }

    /// Answers a request. Files that may not be served are not found.
    pub(super) async fn answer<B>(mut self, request: Request<B>) -> Response<Body>
    where
        B: Send + 'static,
    {
        let response = match self.is_meant(request.headers()) {
            true => self.found(request).await,
            false => refuse(StatusCode::MISDIRECTED_REQUEST),
        };
        guarded(response)
    }

    /// Answers a request by whatever name it was sent here.
    #[cfg(feature = "run")]
    pub(crate) async fn show<B: Send + 'static>(mut self, request: Request<B>) -> Response<Body> {
        guarded(self.found(request).await)
    }

    async fn found<B: Send + 'static>(&mut self, request: Request<B>) -> Response<Body> {
        let response = match &mut self.folder {
            None => page::answer(request.method(), request.uri().path(), request.headers())
                .map(|response| response.map(Either::Right)),
            Some(folder) => match folder.answer(request).await {
                Some(Err(_)) => return refuse(StatusCode::INTERNAL_SERVER_ERROR),
                Some(Ok(response)) => Some(response.map(Either::Left)),
                None => None,
            },
        };
        response.unwrap_or_else(|| refuse(StatusCode::NOT_FOUND))
    }

    /// Whether the browser was sent here by a name of this machine. A foreign name that leads here
    /// (DNS rebinding) would let another site read the folder.
    pub(crate) fn is_meant(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        let is_port = port.is_some() && self.port.is_none_or(|own| port == Some(own));
        is_port && NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// With the headers that every response has.
fn guarded(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A response that says its status in words.
fn refuse(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

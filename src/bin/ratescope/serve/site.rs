//! The site: the files of a folder, for browsers on this machine.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use tower_http::services::ServeDir;
use tower_http::services::fs::ServeFileSystemResponseBody as Body;

/// Sent with every response, errors too.
const HEADERS: [(&str, &str); 6] = [
    // The page loads nothing but its own files, runs no script but those, and is in no frame.
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
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

/// A folder and the port at which it is served.
#[derive(Clone)]
pub(super) struct Site {
    /// The folder, without symbolic links in its path.
    root: PathBuf,
    port: u16,
    files: ServeDir,
}

impl Site {
    pub(super) fn new(dir: &Path, port: u16) -> io::Result<Self> {
        let root = dir.canonicalize()?;
        Ok(Site { files: ServeDir::new(&root), root, port })
    }

    /// Answers a request. Files that may not be served are not found.
    pub(super) async fn answer<B>(
        mut self,
        request: Request<B>,
    ) -> Result<Response<Body>, Infallible>
    where
        B: Send + 'static,
    {
        let mut response = if !self.is_meant(request.headers()) {
            refuse(StatusCode::MISDIRECTED_REQUEST)
        } else if !self.is_inside(request.uri().path()).await {
            refuse(StatusCode::NOT_FOUND)
        } else {
            let answer = self.files.try_call(request).await;
            answer.unwrap_or_else(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR))
        };
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        Ok(response)
    }

    /// Whether the browser was sent here by a name of this machine. A foreign name that leads here
    /// (DNS rebinding) would let another site read the folder.
    fn is_meant(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        port == Some(self.port) && NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether a path leads to something in the folder that is not hidden. Symbolic links may lead
    /// out of it.
    async fn is_inside(&self, path: &str) -> bool {
        let Ok(path) = percent_decode_str(path).decode_utf8() else { return false };
        let mut file = self.root.clone();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if name.starts_with('.') || name.contains(['\\', '\0']) {
                return false;
            }
            file.push(name);
        }
        if path.ends_with('/') {
            file.push("index.html");
        }
        let found = tokio::fs::canonicalize(file).await;
        found.is_ok_and(|found| found.starts_with(&self.root))
    }
}

/// A response that says its status in words.
fn refuse(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

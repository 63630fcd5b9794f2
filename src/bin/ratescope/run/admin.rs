//! The port for those who run the service: its health, its counters, the rules in force,
//! and Live.

use super::live::{self, Told};
use crate::serve::Site;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use ratescope::service::{Service, States};
use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The body of an answer: a text, a file of the page, or the stream of Live.
type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// The answers of the port.
pub(super) struct Admin<B: States> {
    pub(super) service: Arc<Service<B>>,
    pub(super) metrics: PrometheusHandle,
    /// The token that requests must have, if there is one.
    pub(super) token: Option<String>,
    /// Whether new requests are welcome.
    pub(super) is_ready: AtomicBool,
    /// Whether the program is about to end, and with it the streams of viewers.
    pub(super) ends: watch::Receiver<bool>,
}

impl<B: States> Admin<B> {
    pub(super) async fn answer<Q: Send + 'static>(&self, request: Request<Q>) -> Response<Body> {
        let uri = request.uri();
        let is_reading = is_reading(&request);
        let answer = match (uri.path(), uri.query()) {
            ("/healthz", None) if is_reading => said(StatusCode::OK, "ok\n"),
            ("/readyz", None) if is_reading => self.readiness(),
            (path @ (live::EVENTS | "/healthz" | "/readyz" | "/metrics" | "/rules"), _) => {
                match (path, self.refusal(&request)) {
                    (_, Some(refusal)) => refusal,
                    (live::EVENTS, None) => return self.events(&request),
                    ("/healthz", None) => said(StatusCode::OK, self.health()),
                    ("/metrics", None) => said(StatusCode::OK, self.metrics.render()),
                    ("/rules", None) => said(StatusCode::OK, self.rules()),
                    _ => self.readiness(),
                }
            }
            _ => return self.page(request).await,
        };
        answer.map(boxed)
    }

    /// A file of the page, which says nothing of this service, so that no token is asked for.
    async fn page<Q: Send + 'static>(&self, request: Request<Q>) -> Response<Body> {
        let refusal = self.refusal(&request);
        let shown = Site::embedded().show(request).await;
        if shown.status() != StatusCode::NOT_FOUND {
            return shown.map(|body| body.map_err(Into::into).boxed_unsync());
        }
        let known =
            "there are /healthz, /healthz?verbose, /readyz, /metrics, /rules and /live.html\n";
        refusal.unwrap_or_else(|| said(StatusCode::NOT_FOUND, known)).map(boxed)
    }

    /// The stream of Live.
    fn events<Q>(&self, request: &Request<Q>) -> Response<Body> {
        // A foreign name that leads here (DNS rebinding) would let another site listen.
        if self.token.is_none() && !Site::embedded().is_meant(request.headers()) {
            let why = "without a token it is told at localhost only\n";
            return said(StatusCode::MISDIRECTED_REQUEST, why).map(boxed);
        }
        match Told::new(&self.service, request, self.ends.clone()) {
            Some(told) => told.map(|body| body.map_err(Into::into).boxed_unsync()),
            None => {
                let why = "no more can look at once; close one, and try again\n";
                said(StatusCode::SERVICE_UNAVAILABLE, why).map(boxed)
            }
        }
    }

    /// The refusal of a request without the token, or of one that would change something.
    fn refusal<Q>(&self, request: &Request<Q>) -> Option<Response<Full<Bytes>>> {
        if !self.is_known(request) {
            let mut response = said(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return Some(response);
        }
        (!is_reading(request)).then(|| said(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"))
    }

    /// Whether new requests are welcome.
    pub(super) fn readiness(&self) -> Response<Full<Bytes>> {
        match self.is_ready.load(Ordering::Relaxed) {
            true => said(StatusCode::OK, "ok\n"),
            false => said(StatusCode::SERVICE_UNAVAILABLE, "it is about to end\n"),
        }
    }

    fn health(&self) -> String {
        let files = self.service.health();
        let broken = files.iter().filter(|(_, problem)| problem.is_some()).count();
        let mut text = match broken {
            0 => "green: all rules are in force\n".to_owned(),
            n => format!("yellow: {n} of {} files are not in force as they are\n", files.len()),
        };
        for (path, problem) in files {
            // Writing to a String does not fail.
            _ = writeln!(text, "{}: {}", path.display(), problem.as_deref().unwrap_or("ok"));
        }
        if let Some(memory) = self.service.memory() {
            _ = writeln!(text, "{} keys, {} forgotten", memory.keys, memory.forgotten);
        }
        text
    }

    fn rules(&self) -> String {
        let each = self.service.rules();
        each.iter().map(|rules| format!("# {}\n{rules}\n", rules.file())).collect()
    }

    fn is_known<Q>(&self, request: &Request<Q>) -> bool {
        let Some(token) = &self.token else { return true };
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        given
            .and_then(|given| given.strip_prefix(b"Bearer "))
            .is_some_and(|given| is_same(given, token.as_bytes()))
    }
}

/// Whether two texts are the same, in a time that says nothing about where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && black_box(a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b))) == 0
}

fn is_reading<Q>(request: &Request<Q>) -> bool {
    request.method() == Method::GET || request.method() == Method::HEAD
}

fn boxed(body: Full<Bytes>) -> Body {
    body.map_err(Into::into).boxed_unsync()
}

fn said(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

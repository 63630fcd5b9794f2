//! The port for those who run the service: its health, its counters, and the rules in force.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use ratescope::service::{Service, States};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers of the port.
pub(super) struct Admin<B: States> {
    pub(super) service: Arc<Service<B>>,
    pub(super) metrics: PrometheusHandle,
    /// The token that requests must have, if there is one.
    pub(super) token: Option<String>,
    /// Whether new requests are welcome.
    pub(super) is_ready: AtomicBool,
}

impl<B: States> Admin<B> {
    pub(super) fn answer<Q>(&self, request: &Request<Q>) -> Response<Full<Bytes>> {
        let uri = request.uri();
        let is_health = matches!(uri.path(), "/healthz" | "/readyz") && uri.query().is_none();
        if !is_health && !self.is_known(request) {
            let mut response = said(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return response;
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return said(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        }
        match (uri.path(), uri.query()) {
            ("/healthz", None) => said(StatusCode::OK, "ok\n"),
            ("/healthz", Some(_)) => said(StatusCode::OK, self.health()),
            ("/readyz", _) => self.readiness(),
            ("/metrics", _) => said(StatusCode::OK, self.metrics.render()),
            ("/rules", _) => said(StatusCode::OK, self.rules()),
            _ => said(
                StatusCode::NOT_FOUND,
                "there are /healthz, /healthz?verbose, /readyz, /metrics and /rules\n",
            ),
        }
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

fn said(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

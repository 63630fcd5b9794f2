//! The port for those who run the service: its health, its counters, the rules in force,
//! and Live.

use super::health::Health;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use ratescope_live::{Body, Routes};
use ratescope_service::Service;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers of the port.
pub(super) struct Admin {
    pub(super) service: Arc<Service>,
    pub(super) metrics: PrometheusHandle,
    /// The page, the probe's view of the service, and the token if there is one.
    pub(super) live: Routes,
    /// New requests are welcome.
    pub(super) is_ready: AtomicBool,
    pub(super) health: Health,
}

impl Admin {
    /// Answers a request. `/healthz` and `/readyz` without a query, and the files of the page, are public; all else
    /// needs the token or, if there is none, a name of this machine as the host.
    pub(super) fn answer<Q>(&self, request: &Request<Q>) -> Response<Body> {
        let is_reading = request.method() == Method::GET || request.method() == Method::HEAD;
        let (status, text) = match (request.uri().path(), request.uri().query()) {
            ("/healthz", None) if is_reading => (StatusCode::OK, self.health.summary().into()),
            ("/readyz", None) if is_reading => self.readiness(),
            (path @ ("/healthz" | "/readyz" | "/metrics" | "/rules"), _) => {
                if let Some(refusal) = self.live.refusal(request) {
                    return refusal;
                }
                match path {
                    "/healthz" => (StatusCode::OK, self.health.report().into()),
                    "/metrics" => (StatusCode::OK, self.metrics.render().into()),
                    "/rules" => (StatusCode::OK, self.rules().into()),
                    _ => self.readiness(),
                }
            }
            _ => {
                let shown = self.live.answer(request);
                if shown.status() != StatusCode::NOT_FOUND {
                    return shown;
                }
                if let Some(refusal) = self.live.refusal(request) {
                    return refusal;
                }
                let known = "there are /healthz, /healthz?verbose, /readyz, /metrics, /rules and /live.html\n";
                (StatusCode::NOT_FOUND, known.into())
            }
        };
        plain(status, text)
    }

    /// Answers a load balancer on the port for everybody.
    pub(super) fn healthcheck(&self) -> (StatusCode, Bytes) {
        let (status, text) = self.readiness();
        (status, if status == StatusCode::OK { "ok\n".into() } else { text })
    }

    /// Answers whether new requests are welcome. They are while the health is yellow: a proxy without any service would
    /// have no limits.
    pub(super) fn readiness(&self) -> (StatusCode, Bytes) {
        if self.is_ready.load(Ordering::Relaxed) {
            return (StatusCode::OK, self.health.summary().into());
        }
        (StatusCode::SERVICE_UNAVAILABLE, "the service is about to end\n".into())
    }

    fn rules(&self) -> String {
        let each = self.service.rules();
        each.iter().map(|rules| format!("# {}\n{rules}\n", rules.file())).collect()
    }
}

pub(super) fn plain<B: From<Bytes>>(status: StatusCode, text: Bytes) -> Response<B> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

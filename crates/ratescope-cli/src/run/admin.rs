//! The port for those who run the service: its health, its counters, the rules in force,
//! and Live.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use ratescope::internal::plural;
use ratescope::rules::{Fault, Memory};
use ratescope_live::{Body, Routes};
use ratescope_service::Service;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The answers of the port.
pub(super) struct Admin {
    pub(super) service: Arc<Service>,
    pub(super) metrics: PrometheusHandle,
    /// The page, the probe's view of the service, and the token if there is one.
    pub(super) live: Routes,
    /// New requests are welcome.
    pub(super) is_ready: AtomicBool,
    /// Why the store did not answer the last ping; `None` if it did.
    pub(super) fault: Mutex<Option<String>>,
}

impl Admin {
    /// Answers a request. `/healthz` and `/readyz` without a query, and the files of the page, are public; all else
    /// needs the token or, if there is none, a name of this machine as the host.
    pub(super) fn answer<Q>(&self, request: &Request<Q>) -> Response<Body> {
        let is_reading = request.method() == Method::GET || request.method() == Method::HEAD;
        let (status, text) = match (request.uri().path(), request.uri().query()) {
            ("/healthz", None) if is_reading => (StatusCode::OK, "ok\n".into()),
            ("/readyz", None) if is_reading => self.readiness(),
            (path @ ("/healthz" | "/readyz" | "/metrics" | "/rules"), _) => {
                if let Some(refusal) = self.live.refusal(request) {
                    return refusal;
                }
                match path {
                    "/healthz" => (StatusCode::OK, self.health().into()),
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

    /// Keeps the answer of the store to a ping.
    pub(super) fn record_ping(&self, answer: Result<(), Fault>) {
        let fault = answer.err().map(|fault| match fault.cause() {
            Some(cause) => format!("{fault}: {cause}"),
            None => fault.to_string(),
        });
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Answers whether new requests are welcome.
    pub(super) fn readiness(&self) -> (StatusCode, Bytes) {
        if self.is_ready.load(Ordering::Relaxed) {
            return (StatusCode::OK, "ok\n".into());
        }
        (StatusCode::SERVICE_UNAVAILABLE, "the service is about to end\n".into())
    }

    fn health(&self) -> String {
        let files = self.service.health();
        let all = files.len();
        let without_rules = files.iter().filter(|f| f.problem.is_some() && !f.is_in_force).count();
        let outdated = files.iter().filter(|f| f.problem.is_some() && f.is_in_force).count();
        let new = files.iter().filter(|f| f.problem.is_none() && !f.is_in_force).count();
        // Writing to a String does not fail.
        let mut text = String::new();
        if without_rules > 0 {
            _ = writeln!(
                text,
                "red: mistakes in {without_rules} of {all} files, which have no rules in force"
            );
        }
        if outdated > 0 {
            _ = writeln!(
                text,
                "yellow: mistakes in {outdated} of {all} files, whose earlier rules stay in force"
            );
        }
        if new > 0 {
            _ = writeln!(text, "yellow: {new} of {all} files are new, and not in force yet");
        }
        if let Some(fault) = &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            _ = writeln!(text, "yellow: {fault}; each rule decides as its on_store_failure says");
        }
        if text.is_empty() {
            text += "green: all rules are in force\n";
        }
        for file in files {
            let fine = if file.is_in_force { "ok" } else { "waits for the next look" };
            let status = file.problem.as_deref().unwrap_or(fine);
            _ = writeln!(text, "{}: {status}", file.path.display());
        }
        for (domain, Memory { keys, evicted, .. }) in self.service.memory() {
            let s = plural(keys as u64);
            _ = writeln!(text, "{domain}: {keys} key{s} in memory, {evicted} evicted");
        }
        text
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

//! The port for those who run the service: its health, its counters, the rules in force,
//! and Live.

use super::health::Health;
use super::keys::{self, By};
use hyper::body::Bytes;
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use ratescope::policy::KeySecret;
use ratescope::rules::Load;
use ratescope_live::{Body, Routes};
use ratescope_service::Service;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The answers of the port.
pub(super) struct Admin {
    pub(super) service: Arc<Service>,
    pub(super) metrics: PrometheusHandle,
    /// The page, the probe's view of the service, and the token if there is one.
    pub(super) live: Routes,
    /// New requests are welcome.
    pub(super) is_ready: AtomicBool,
    pub(super) health: Health,
    /// The secret of the hashes in place of keys; `None` if keys are shown.
    pub(super) hides: Option<KeySecret>,
    /// The load of the service is told here.
    pub(super) takes_load: bool,
    pub(super) wrong_tokens: WrongTokens,
}

/// The time from one line of the log about wrong tokens to the next.
const PAUSE: Duration = Duration::from_secs(60);

/// Logs that somebody tries tokens, in a line a minute.
#[derive(Default)]
pub(super) struct WrongTokens {
    /// When the last line was logged, and how many tokens were wrong since.
    last: Mutex<(Option<Instant>, u64)>,
}

impl WrongTokens {
    fn tell(&self, peer: Option<SocketAddr>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, passed_over) = &mut *last;
        if at.is_some_and(|at| at.elapsed() < PAUSE) {
            *passed_over += 1;
            return;
        }
        let peer = peer.map_or_else(String::new, |peer| peer.ip().to_string());
        let passed_over = *passed_over;
        tracing::warn!(target: "ratescope", peer, passed_over, "a wrong token on the admin port");
        *last = (Some(Instant::now()), 0);
    }
}

impl Admin {
    /// Answers a request. `/healthz` and `/readyz` without a query, and the files of the page, are public; all else
    /// needs the token or, if there is none, a name of this machine as the host.
    pub(super) async fn answer<Q>(&self, request: &Request<Q>) -> Response<Body> {
        let answer = self.answer_of(request).await;
        let is_refused = answer.status() == StatusCode::UNAUTHORIZED;
        if is_refused && request.headers().contains_key(AUTHORIZATION) {
            self.wrong_tokens.tell(request.extensions().get::<SocketAddr>().copied());
        }
        answer
    }

    async fn answer_of<Q>(&self, request: &Request<Q>) -> Response<Body> {
        match request.uri().path() {
            "/key" => return self.key(request).await,
            "/load" => return self.load(request),
            _ => {}
        }
        let is_reading = request.method() == Method::GET || request.method() == Method::HEAD;
        let (status, text) = match (request.uri().path(), request.uri().query()) {
            ("/healthz", None) if is_reading => (StatusCode::OK, self.health.summary().into()),
            ("/readyz", None) if is_reading => self.readiness(),
            ("/keys", query) => {
                if let Some(refusal) = self.live.refusal(request) {
                    return refusal;
                }
                let lists = keys::lists(&self.service, query.unwrap_or(""), self.hides.as_ref());
                return json(lists);
            }
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
                let known = "there are /healthz, /healthz?verbose, /readyz, /metrics, /rules, /keys, /key, /load and /live.html\n";
                (StatusCode::NOT_FOUND, known.into())
            }
        };
        plain(status, text)
    }

    /// Answers about one key.
    async fn key<Q>(&self, request: &Request<Q>) -> Response<Body> {
        if let Some(refusal) = self.live.unauthorized(request) {
            return refusal;
        }
        let method = request.method();
        if ![Method::GET, Method::HEAD, Method::DELETE, Method::PUT].contains(method) {
            let why = "the method must be GET, DELETE to reset the key, or PUT for an exception\n";
            return not_allowed(why, "GET, HEAD, DELETE, PUT");
        }
        let query = request.uri().query().unwrap_or("");
        let peer = request.extensions().get::<SocketAddr>().copied();
        let by = By { peer, token: self.live.who(request) };
        json(keys::one(&self.service, method, query, &by).await)
    }

    /// Answers about the load, or takes one.
    fn load<Q>(&self, request: &Request<Q>) -> Response<Body> {
        if let Some(refusal) = self.live.unauthorized(request) {
            return refusal;
        }
        let bad = |why: &str| plain(StatusCode::BAD_REQUEST, format!("{why}\n").into());
        let query = request.uri().query().unwrap_or("");
        match *request.method() {
            Method::GET | Method::HEAD => {}
            Method::PUT if !self.takes_load => {
                return bad("the load is told here with --load admin");
            }
            Method::PUT => {
                let percent = query.strip_prefix("percent=").and_then(|text| text.parse().ok());
                let load = percent.and_then(|percent| Load::from_percent(percent).ok());
                let Some(load) = load else { return bad("write the load as in /load?percent=42") };
                self.service.set_load(Some(load));
            }
            _ => {
                return not_allowed(
                    "the method must be GET, or PUT to tell the load\n",
                    "GET, HEAD, PUT",
                );
            }
        }
        let load = self.service.load().map_or("unknown".to_owned(), |load| load.to_string());
        plain(StatusCode::OK, format!("{load}\n").into())
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

fn json((status, text): keys::Answer) -> Response<Body> {
    let mut response = plain(status, text);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn not_allowed(why: &'static str, methods: &'static str) -> Response<Body> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, why.into());
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

pub(super) fn plain<B: From<Bytes>>(status: StatusCode, text: Bytes) -> Response<B> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

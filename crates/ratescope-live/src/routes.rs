//! Live as routes of a service.

use super::body::{Body, Now};
use super::page;
use super::probe::Probe;
use super::viewer::Wanted;
use bytes::Bytes;
use core::convert::Infallible;
use core::fmt;
use core::future::{Ready, ready};
use core::hint::black_box;
use core::net::{IpAddr, SocketAddr};
use core::task::{Context, Poll};
use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use http::{Extensions, Method, Request, Response, StatusCode};
use ratescope::clock::{Clock, SystemClock};
use ratescope::text::BadNumber;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The path of the stream of events.
const EVENTS: &str = "/live/events";

const LIVE: &str = "/live.html";

/// The header that tells the page of a service, before it asks for the stream: a site without a service would answer
/// with an error, which browsers write to their console.
const HERE: HeaderName = HeaderName::from_static("ratescope-live");

/// The fewest characters of a token.
const SHORTEST: usize = 16;

/// Reads the client's address from the extensions that the server attached to the request.
type Peer = Arc<dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync>;

/// A service of tower with the page and the data of a probe, to be mounted under a path of its own.
///
/// Open that path, with a `/` at its end, or `live.html` under it. The files of the page are public. The data of the
/// probe include keys of clients, so they need the [token](Self::token). Without a token, only this machine gets them:
/// the [peer](Self::peer) must be on loopback, and the request must name this machine as its host. A proxy on this
/// machine looks like such a peer, so set a token behind a proxy. With [`Probe::hiding_keys`] viewers see hashes in
/// place of keys.
///
/// The page is in the program if `./scripts/build` ran before, as for the released crate; otherwise the answer to
/// `live.html` says that it is missing. Mount the routes outside of the limits, or viewers are limited, too.
///
/// ```
/// use axum::extract::ConnectInfo;
/// use axum::{Router, routing::get};
/// use ratescope_live::{Probe, Routes};
/// use ratescope_tower::RateLimitLayer;
/// use ratescope::rules::{MemoryStore, Rules};
/// use std::net::SocketAddr;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 10/1m per ip\n")?;
/// let probe = Arc::new(Probe::default());
/// let store = probe.observe(MemoryStore::new(rules, 100_000));
/// let peer = |peer: &ConnectInfo<SocketAddr>| peer.0.ip();
/// let live = Routes::new(probe).peer(peer);
/// // Or for anybody who has this token, from anywhere:
/// let live = live.token("correct horse battery staple")?;
/// let app: Router = Router::new()
///     .route("/", get(|| async { "hello\n" }))
///     .layer(RateLimitLayer::new(store).peer(peer))
///     .nest_service("/scope", live);
/// // axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Routes {
    probe: Arc<Probe>,
    /// The tokens, each with its name.
    tokens: Vec<[Arc<str>; 2]>,
    peer: Peer,
    now: Now,
    ends: Arc<AtomicBool>,
}

impl Routes {
    /// Serves the data of this probe, with the system's clock.
    pub fn new(probe: Arc<Probe>) -> Self {
        let peer = |extensions: &Extensions| {
            let socket = extensions.get::<SocketAddr>().map(SocketAddr::ip);
            socket.or_else(|| extensions.get::<IpAddr>().copied())
        };
        let now = Arc::new(|| SystemClock.now());
        Routes { probe, tokens: Vec::new(), peer: Arc::new(peer), now, ends: Arc::default() }
    }

    /// Requires a token for the data of the probe, as in `Authorization: Bearer TOKEN`. The page asks its user for it.
    /// Called again, any of the tokens will do.
    ///
    /// # Errors
    /// If the token has fewer than 16 characters.
    pub fn token(self, token: &str) -> Result<Self, BadNumber> {
        self.named_token("", token)
    }

    /// Requires a token, as [`token`](Self::token) does. [`who`](Self::who) returns its name.
    ///
    /// # Errors
    /// If the token has fewer than 16 characters.
    pub fn named_token(mut self, name: &str, token: &str) -> Result<Self, BadNumber> {
        let length = token.chars().count();
        if length < SHORTEST {
            return Err(BadNumber {
                what: "the length of a token",
                given: length as f64,
                want: "at least 16 characters",
            });
        }
        self.tokens.push([name.into(), token.into()]);
        Ok(self)
    }

    /// Sets how to read the client's address from the extensions of a request: with axum, that is
    /// `|peer: &ConnectInfo<SocketAddr>| peer.0.ip()`. By default it is a `SocketAddr` or an `IpAddr` there.
    pub fn peer<T: Send + Sync + 'static>(
        self,
        address: impl Fn(&T) -> IpAddr + Send + Sync + 'static,
    ) -> Self {
        let peer = move |extensions: &Extensions| extensions.get::<T>().map(&address);
        Routes { peer: Arc::new(peer), ..self }
    }

    /// Sets the clock, which must be that of the probe's events.
    pub fn clock(self, clock: impl Clock) -> Self {
        Routes { now: Arc::new(move || clock.now()), ..self }
    }

    /// Ends the streams of all viewers, now and later, within a quarter of a second. Call it before a graceful
    /// shutdown, which waits for open streams.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Answers a request with a file of the page, with the stream for a viewer, or with an error. The root is the page
    /// Live.
    pub fn answer<Q>(&self, request: &Request<Q>) -> Response<Body> {
        let path = match request.uri().path() {
            EVENTS => return self.refusal(request).unwrap_or_else(|| self.events(request)),
            "" | "/" => LIVE,
            path => path,
        };
        let file = page::file(request.method(), path, request.headers());
        let mut response = file.unwrap_or_else(|| {
            let why = if page::is_built() {
                "there is live.html\n"
            } else {
                "this program was built without the page\n"
            };
            text(StatusCode::NOT_FOUND, why)
        });
        page::guard(path, response.headers_mut());
        response.headers_mut().insert(HERE, HeaderValue::from_static("1"));
        response
    }

    /// The refusal of a request for protected data: the token is missing or wrong, or the method is neither GET nor
    /// HEAD. Without a token, the request must come from this machine and name it as its host. `None` if the request
    /// may be answered. Other routes for the same readers can use this, too.
    pub fn refusal<Q>(&self, request: &Request<Q>) -> Option<Response<Body>> {
        let is_reading = request.method() == Method::GET || request.method() == Method::HEAD;
        self.unauthorized(request).or_else(|| {
            (!is_reading).then(|| {
                let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "the method must be GET\n");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            })
        })
    }

    /// The same for routes with other methods. For a page of another site, a browser sends a GET or a POST without
    /// asking first: so let neither change anything.
    pub fn unauthorized<Q>(&self, request: &Request<Q>) -> Option<Response<Body>> {
        if !self.tokens.is_empty() && self.who(request).is_none() {
            let mut response = text(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return Some(response);
        }
        if !self.tokens.is_empty() {
            return None;
        }
        let peer = (self.peer)(request.extensions());
        if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
            let why = "without a token, only this machine gets an answer\n";
            return Some(text(StatusCode::FORBIDDEN, why));
        }
        let why = "without a token, the host must be localhost or a loopback address\n";
        (!page::is_local(request.headers(), None))
            .then(|| text(StatusCode::MISDIRECTED_REQUEST, why))
    }

    /// The stream of events for a viewer, or an error.
    fn events<Q>(&self, request: &Request<Q>) -> Response<Body> {
        let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        let wanted = Wanted::read(request.uri().query().unwrap_or_default(), last);
        let Some(viewer) = self.probe.look(&wanted, (self.now)()) else {
            let why = "too many viewers are connected; close one, and try again\n";
            return text(StatusCode::SERVICE_UNAVAILABLE, why);
        };
        let news = Body::news(viewer, Arc::clone(&self.now), Arc::clone(&self.ends));
        let mut response = Response::new(news);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// The name of the token that a request brings; `None` without a valid one.
    pub fn who<Q>(&self, request: &Request<Q>) -> Option<&str> {
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes)?;
        // The name of the scheme is case-insensitive (RFC 9110, section 11.1).
        let (scheme, given) = given.split_at_checked(b"Bearer ".len())?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer ");
        // All are compared, so that the time tells nothing.
        let known = self.tokens.iter().filter(|[_, token]| is_same(given, token.as_bytes()));
        let name = known.fold(None, |_, [name, _]| Some(&**name));
        name.filter(|_| is_bearer)
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is left out.
        f.debug_struct("Routes").field("probe", &self.probe).finish_non_exhaustive()
    }
}

impl<Q> tower_service::Service<Request<Q>> for Routes {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}

/// Compares two texts in constant time.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && black_box(a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b))) == 0
}

/// A response in plain text.
fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()).into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

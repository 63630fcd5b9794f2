//! The service by HTTP, for clients that do not speak gRPC.
//!
//! | request | what it asks | answer |
//! |---|---|---|
//! | `POST /json` | the messages of Envoy's protocol as JSON | 200 or 429, with the response as JSON |
//! | `GET /check?domain=web&user=ann` | an event with these fields; `hits` is its cost, 0 a look | 200 or 429, with the headers of the layer |
//! | `POST /check` | the same as `{"domain": "web", "fields": {"user": "ann"}, "hits": 1}` | the same |
//! | any method, `/auth` or `/auth/web` | the request that a proxy is about to pass on | 200 or 429; with `?refused=403`, 403 |
//!
//! In a path, the domain is escaped as in any URL (`/auth/my%20shop`), without slashes around it. The domain can be
//! left out if there is only one; with several, the answer is then 400. A domain without rules lets everything pass and
//! is counted as unknown; so does a service without domains. If the store can't be asked and a rule then refuses, the
//! answer is 503, with `Retry-After`. `/check` and `/auth` find rules by all fields, as [the layer](ratescope_tower)
//! does; `/json` by lists of keys.
//!
//! `/auth` is for nginx's `auth_request`, Traefik's `forwardAuth` and Caddy's `forward_auth`. Its fields are `ip`,
//! `method`, `path`, `host` and those that [`HttpSettings::fields`] takes from headers; Envoy's names `remote_address`
//! and `masked_remote_address` are the same as `ip`. A request that a rule would count by any other field is refused
//! with 500, since all clients would share one count. The first four come from the headers that proxies write (`X-Forwarded-For`, `X-Forwarded-Method` or `X-Original-Method`, `X-Forwarded-Uri` or
//! `X-Original-URI`, `X-Forwarded-Host`), if the proxy is trusted. The proxy must overwrite the headers that it writes,
//! since clients can send them, too. A client may also send the other header of a pair: if the two differ, the answer
//! is 400.
//!
//! [`Forms`](super::Forms) says how fields are read, such as `path` in its [normal form](ratescope::event::normal). If
//! rules are about a path that servers read in different ways, such as `/a%2flogin`, the answer is 400; in `/auth`, the
//! status of `refused`, and in `/json` a refusal. A value that is not UTF-8 never equals a text.
//!
//! # Who should reach it
//! Only the proxies and programs that ask, because anyone who reaches the port can spend the limits of others, and give
//! hits back. Any page can make a browser within reach send requests. So `/check` and `/json` answer 403 to a browser's
//! request for the page of another site (by `Sec-Fetch-Site` and `Origin`), or to another host than localhost or a
//! loopback address, unless [`HttpSettings::origins`] has the page's origin. Browsers send neither header with an image
//! by plain HTTP from another machine.

mod auth;
mod sites;

use self::auth::Auth;
use super::decide::NoAnswer;
use super::forms::{ECHO, Named};
use super::message::{Code, RateLimitRequest};
use super::meters::Protocol;
use super::spans::{self, Ended};
use super::{Domain, Service};
use bytes::Bytes;
use core::fmt::Display;
use core::net::IpAddr;
use core::time::Duration;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;
use ratescope::clock::Clock;
use ratescope::event::Event;
use ratescope::internal::shown;
use ratescope::limit::MAX_COST;
use ratescope::rules::{Details, Store};
use ratescope_tower::internal::{RECOVERY, RequestOutcome, retry, text, up};
use ratescope_tower::{Head, Proxies};
use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::time::timeout;
use tower_service::Service as _;
use tracing::Instrument;

/// The most fields of a request.
const MOST: usize = 64;

/// Why a request with more fields is refused.
const TOO_MANY: &str = "there are more than 64 fields";

const HITS: &str = "hits must be a number from 0 to 1e12";

/// The longest body of a request in bytes.
const LONGEST: usize = 64 << 10;

/// The longest time that a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(5);

type Body = Full<Bytes>;

/// A domain that has rules.
type Known = Arc<Domain>;

type HttpResult = Result<Response<Body>, Wrong>;

/// How `/auth` finds the fields of a request.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The proxies whose headers are trusted; by default those on this machine that write `X-Forwarded-For`.
    pub proxies: Proxies,
    /// Fields, each with the header that it is taken from.
    pub fields: Vec<(String, HeaderName)>,
    /// The origins whose pages may ask `/check` and `/json` from a browser, as in `https://example.org`; by default none.
    pub origins: Vec<HeaderValue>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        HttpSettings {
            proxies: Proxies::on_this_machine(),
            fields: Vec::new(),
            origins: Vec::new(),
        }
    }
}

/// A service as HTTP serves it.
pub struct Http<C = ratescope::clock::SystemClock> {
    service: Arc<Service<C>>,
    settings: HttpSettings,
    /// The layers of `/auth`, one for each domain.
    layers: Mutex<Layers<C>>,
}

type Layers<C> = Vec<(Known, Auth<C>)>;

impl<C: Clock + Clone> Http<C> {
    /// Serves this service.
    pub fn new(service: Arc<Service<C>>, settings: HttpSettings) -> Self {
        Http { service, settings, layers: Mutex::default() }
    }

    /// Answers a request that came from `peer`. If that is unknown, `/auth` answers 500 to requests that a rule would
    /// count by address.
    pub async fn answer<Q>(&self, request: Request<Q>, peer: Option<IpAddr>) -> Response<Body>
    where
        Q: http_body::Body,
        Q::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
    {
        let begun = Instant::now();
        let path = request.uri().path().to_owned();
        let protocol = match path.as_str() {
            "/json" => Some(Protocol::Json),
            "/check" => Some(Protocol::Check),
            path if domain_of_auth(path).is_some() => Some(Protocol::Auth),
            _ => None,
        };
        let origin = match path.as_str() {
            // The headers of `/auth` are those of a proxy's client.
            "/check" | "/json" => match sites::origin(&request, &self.settings.origins) {
                Err(why) => return wrong(StatusCode::FORBIDDEN, why).response(),
                Ok(origin) => origin.cloned(),
            },
            _ => None,
        };
        let answer = match (request.method(), path.as_str()) {
            (&Method::GET, "/check") => self.check_query(request).await,
            // A future that reads a body is large. Boxed, it doesn't slow down requests without a body.
            (&Method::POST, "/json") => Box::pin(self.json(request)).await,
            (&Method::POST, "/check") => Box::pin(self.check_body(request)).await,
            (&Method::OPTIONS, "/check" | "/json") if origin.is_some() => Ok(sites::preflight()),
            (_, "/json") => Ok(not_allowed("POST")),
            (_, "/check") => Ok(not_allowed("GET, POST")),
            (_, path) => match domain_of_auth(path) {
                Some(name) => Box::pin(self.auth(request, peer, name)).await,
                None => Err(wrong(
                    StatusCode::NOT_FOUND,
                    "there is no such path; there are /json, /check and /auth",
                )),
            },
        };
        let mut answer = answer.unwrap_or_else(Wrong::response);
        if let Some(origin) = origin {
            sites::allow(origin, answer.headers_mut());
        }
        if let Some(protocol) = protocol {
            self.service.meters().answered(protocol, begun.elapsed());
        }
        answer
    }

    async fn json<Q>(&self, request: Request<Q>) -> HttpResult
    where
        Q: http_body::Body,
        Q::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
    {
        let request: RateLimitRequest = read(request).await?;
        let answer = self.service.should_rate_limit(&request).await.map_err(|error| {
            let status = match error {
                NoAnswer::Invalid(_) => StatusCode::BAD_REQUEST,
                NoAnswer::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
                NoAnswer::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            wrong(status, &error.to_string())
        })?;
        let text = serde_json::to_string(&answer).unwrap_or_default();
        let mut response = json(text);
        if answer.overall_code() == Code::OverLimit {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        }
        Ok(response)
    }

    async fn check_query<Q>(&self, request: Request<Q>) -> HttpResult {
        let request = request.map(drop);
        let query = request.uri().query().unwrap_or_default();
        let mut domain = None;
        let mut hits = None;
        let mut fields = List::new();
        for (name, value) in pairs(query) {
            match &*name {
                "domain" => domain = Some(value),
                "hits" => hits = Some(value.parse().map_err(|_| bad(HITS))?),
                _ => {
                    // The last value of a name counts.
                    fields.retain(|(known, _)| *known != name);
                    fields.push((name, value));
                }
            }
            if fields.len() > MOST {
                return Err(bad(TOO_MANY));
            }
        }
        self.check(&request, domain.as_deref(), fields, hits).await
    }

    async fn check_body<Q>(&self, request: Request<Q>) -> HttpResult
    where
        Q: http_body::Body,
        Q::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let CheckBody { domain, fields, hits } = read(Request::new(body)).await?;
        if fields.len() > MOST {
            return Err(bad(TOO_MANY));
        }
        let request = Request::from_parts(head, ());
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.check(&request, domain.as_deref(), fields.collect(), hits).await
    }

    async fn check(
        &self,
        request: &Request<()>,
        domain: Option<&str>,
        fields: List<'_>,
        hits: Option<f64>,
    ) -> HttpResult {
        let span = spans::decision(domain.unwrap_or_default());
        let answer = self.decide(request, domain, fields, hits).instrument(span.clone()).await;
        Ended::by(status(&answer)).record(&span);
        answer
    }

    async fn decide(
        &self,
        request: &Request<()>,
        domain: Option<&str>,
        mut fields: List<'_>,
        hits: Option<f64>,
    ) -> HttpResult {
        let hits = hits.unwrap_or(1.0);
        if !(0.0..=MAX_COST).contains(&hits) {
            return Err(bad(HITS));
        }
        let Some(known) = self.domain(domain)? else {
            // Names the domains, so that a misspelling is found.
            let named = domain.map_or_else(
                || "at all".to_owned(),
                |name| format!("called {}", shown(name, ECHO)),
            );
            let decision = format!("allowed: there is no domain {named}");
            return Ok(json(Allowed { allowed: true, decision: &decision }.text()));
        };
        let forms = &self.service.forms;
        for (name, value) in &mut fields {
            if let Some(why) = forms.doubt(name, value, &known.store.rules()) {
                return Err(bad(&why));
            }
            let read = forms.read(name, value);
            if read != *value {
                *value = Cow::Owned(read.into_owned());
            }
        }
        self.service.hear_load(fields.iter().map(|(name, value)| (&**name, &**value)));
        let cost = if hits == 0.0 { 1.0 } else { hits };
        let fields = Named { fields: &fields, forms };
        let event = Event { time: self.service.clock.now(), cost, fields: &fields };
        let details = Details::ALL.at_once();
        let answered = if hits > 0.0 {
            known.store.check_async(&event, details).await
        } else {
            known.store.peek_async(&event, details).await
        };
        let front = &known.front;
        if hits > 0.0 {
            let now = self.service.clock.now();
            front.record(&event, &answered, now);
            front.count_request(RequestOutcome::of_decision(&answered));
            if self.service.states.is_on_redis() {
                front.took(event.time.until(now));
            }
        }
        if retry(&answered).is_some() {
            return Ok(front.refusal(Head::new(request), &answered));
        }
        let mut response = json(Allowed { allowed: true, decision: &answered }.text());
        front.write(&answered, response.headers_mut());
        Ok(response)
    }

    /// Asks the layer of the domain `name`, which is escaped; if it is empty, of the only domain.
    async fn auth<Q>(&self, request: Request<Q>, peer: Option<IpAddr>, name: &str) -> HttpResult {
        let name = percent_decode_str(name).decode_utf8();
        let name = name.map_err(|_| bad("the domain is not UTF-8"))?;
        let span = spans::decision(&name);
        let answer = self.auth_in(request, peer, &name).instrument(span.clone()).await;
        Ended::by(status(&answer)).record(&span);
        answer
    }

    /// Asks the layer of the domain `name`; if it is empty, of the only domain.
    async fn auth_in<Q>(
        &self,
        request: Request<Q>,
        peer: Option<IpAddr>,
        name: &str,
    ) -> HttpResult {
        let name = Some(name).filter(|name| !name.is_empty());
        let Some(domain) = self.domain(name)? else { return Ok(Response::default()) };
        let query = request.uri().query().unwrap_or_default();
        let refused = match form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "refused")
            .map(|(_, value)| value.into_owned())
            .as_deref()
        {
            None | Some("429") => StatusCode::TOO_MANY_REQUESTS,
            Some("403") => StatusCode::FORBIDDEN,
            Some("401") => StatusCode::UNAUTHORIZED,
            Some(_) => return Err(bad("refused must be 429, 403 or 401")),
        };
        let mut request = request.map(drop);
        if let Some(peer) = peer {
            auth::agree(&self.settings, peer, request.headers()).map_err(|why| bad(&why))?;
            request.extensions_mut().insert(peer);
        }
        self.hear_load(request.headers());
        let mut layer = self.layer(&domain);
        let Ok(mut response) = layer.call(request).await;
        // A doubtful path is refused with 400, which a proxy that asks for another status would not understand.
        let is_asked = refused != StatusCode::TOO_MANY_REQUESTS;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::BAD_REQUEST && is_asked
        {
            *response.status_mut() = refused;
        }
        Ok(response)
    }

    /// Takes over the load that a header of `/auth` tells, if the field of the load is taken from one.
    fn hear_load(&self, headers: &http::HeaderMap) {
        let Some(field) = self.service.load_field() else { return };
        let of = self.settings.fields.iter().find(|(name, _)| name == field);
        let value = of.and_then(|(_, header)| headers.get(header)?.to_str().ok());
        self.service.hear_load(value.map(|value| (field, value)));
    }

    /// The domain of this name, or the only one; `None` if there is no such domain, or none at all.
    fn domain(&self, name: Option<&str>) -> Result<Option<Known>, Wrong> {
        let domain = match name {
            Some(name) => self.service.domain(name),
            None => {
                let only = self.service.only();
                only.ok_or_else(|| bad("name the domain: there are several"))?
            }
        };
        if domain.is_none() {
            self.service.meters().count_unknown_domain();
        }
        Ok(domain)
    }

    fn layer(&self, domain: &Known) -> Auth<C> {
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = layers.iter().find(|(known, _)| Arc::ptr_eq(known, domain));
        if let Some((_, layer)) = known {
            return layer.clone();
        }
        // Drops the layers of removed domains, to which only the list and the layer still refer.
        layers.retain(|(known, _)| Arc::strong_count(known) > 2);
        let layer = auth::layer(domain, &self.settings, &self.service.forms, &self.service.clock);
        layers.push((Arc::clone(domain), layer.clone()));
        layer
    }
}

/// The domain of a path for `/auth`, escaped.
fn domain_of_auth(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/auth")?;
    (name.is_empty() || name.starts_with('/')).then(|| name.trim_matches('/'))
}

/// The fields of a request.
type List<'a> = SmallVec<[(Cow<'a, str>, Cow<'a, str>); 4]>;

/// The names and values of a query.
fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let each = query.split('&').filter(|pair| !pair.is_empty());
    each.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

/// A name or a value of a query. Bytes that are not UTF-8 are read as the layer reads such a header.
fn decoded(part: &str) -> Cow<'_, str> {
    if !part.contains(['+', '%']) {
        return Cow::Borrowed(part);
    }
    let spaced = part.replace('+', " ");
    let bytes: Cow<'_, [u8]> = percent_decode_str(&spaced).into();
    Cow::Owned(text(&bytes).into_owned())
}

/// The body of a `POST /check`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object with domain, fields or hits")]
struct CheckBody {
    domain: Option<String>,
    fields: BTreeMap<String, String>,
    hits: Option<f64>,
}

/// The answer of `/check` to an allowed event.
#[derive(Serialize)]
struct Allowed<'a, R: Display> {
    allowed: bool,
    #[serde(serialize_with = "as_text")]
    decision: &'a R,
}

impl<R: Display> Allowed<'_, R> {
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(128);
        // Writing to a Vec does not fail.
        _ = serde_json::to_writer(&mut text, self);
        text.push(b'\n');
        text
    }
}

fn as_text<R: Display, S: Serializer>(decision: &R, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(decision)
}

/// Reads the body of a request as JSON.
async fn read<Q, T: for<'de> Deserialize<'de>>(request: Request<Q>) -> Result<T, Wrong>
where
    Q: http_body::Body,
    Q::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
{
    let body = Limited::new(request.into_body(), LONGEST);
    let late = || wrong(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 5 s");
    let body = timeout(ARRIVAL, Box::pin(body.collect())).await.map_err(|_| late())?;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            wrong(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 64 KiB")
        } else {
            bad("the body broke off")
        }
    });
    let body = body?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| bad(&format!("the body: {error}")))
}

fn json(text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn bad(why: &str) -> Wrong {
    wrong(StatusCode::BAD_REQUEST, why)
}

fn wrong(status: StatusCode, why: &str) -> Wrong {
    Wrong(status, why.to_owned())
}

/// The answer to a request by another method than these (RFC 9110, 15.5.6).
fn not_allowed(methods: &'static str) -> Response<Body> {
    let why = format!("this method is not allowed here; the methods are: {methods}");
    let mut response = wrong(StatusCode::METHOD_NOT_ALLOWED, &why).response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

fn status(answer: &HttpResult) -> StatusCode {
    match answer {
        Ok(answer) => answer.status(),
        Err(Wrong(status, _)) => *status,
    }
}

/// An error for the client: its status, and why.
struct Wrong(StatusCode, String);

impl Wrong {
    fn response(self) -> Response<Body> {
        let mut response = Response::new(format!("{}\n", self.1).into());
        *response.status_mut() = self.0;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, plain);
        if self.0 == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(up(RECOVERY)));
        }
        response
    }
}

//! The layer and its settings.

use super::bodies::{BodyLimitLayer, Uncharged};
use super::decide::Shared;
use super::fields::{FieldSource, Head, KnownValues, MissingSources, Sources};
use super::headers::Headers;
use super::outages::Outages;
use super::proxies::Proxies;
use super::refusal::Problem;
use super::service::RateLimited;
use super::unidentified::Unidentified;
use core::fmt;
use core::marker::PhantomData;
use core::net::IpAddr;
use http::header::HeaderName;
use http::{Extensions, HeaderMap, Response, StatusCode};
use ratescope::clock::{Clock, SystemClock};
use ratescope::event::normal::doubt;
use ratescope::rules::Store;
use ratescope::text::ParseError;
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

/// The default number of requests that may wait at once.
pub const QUEUE: usize = 1024;

/// The default number of refusals that are logged each second.
pub const LOGGED: u64 = 10;

/// The settings of a layer that limits requests; [`layer`](Self::layer) makes the layer.
///
/// By default rules can be for the fields `method`, `path` and `host`, and for `ip` if something puts a
/// `SocketAddr` or an `IpAddr` into the extensions of a request. Each request costs 1. If rules are for
/// a field without a source, see [missing sources](super::fields#missing-sources).
#[must_use = "it limits nothing until its layer is used"]
pub struct RateLimit<S, A = Problem, C = SystemClock> {
    pub(super) store: S,
    pub(super) answer: A,
    pub(super) clock: C,
    pub(super) settings: LayerSettings,
}

/// The settings that do not change the type of the layer.
pub(super) struct LayerSettings {
    pub(super) sources: Sources,
    pub(super) skip: Option<Skip>,
    pub(super) cost: Option<Cost>,
    pub(super) charge: Option<Charge>,
    pub(super) charge_sent: Option<ChargeSent>,
    pub(super) headers: Headers,
    pub(super) queue: usize,
    /// `None` for half of the queue.
    pub(super) queue_per_key: Option<usize>,
    pub(super) logged: u64,
    pub(super) outages: Arc<Outages>,
    pub(super) name: Option<Arc<str>>,
    pub(super) inserts_decision: bool,
    pub(super) reserves: bool,
}

type Skip = Box<dyn Fn(Head<'_>) -> bool + Send + Sync>;
type Cost = Box<dyn Fn(Head<'_>) -> f64 + Send + Sync>;
type Charge = Box<dyn Fn(ResponseHead<'_>) -> f64 + Send + Sync>;
type ChargeSent = Box<dyn Fn(u64) -> f64 + Send + Sync>;

impl Default for LayerSettings {
    fn default() -> Self {
        LayerSettings {
            sources: Sources::default(),
            skip: None,
            cost: None,
            charge: None,
            charge_sent: None,
            headers: Headers::ALL,
            queue: QUEUE,
            queue_per_key: None,
            logged: LOGGED,
            outages: Arc::default(),
            name: None,
            inserts_decision: false,
            reserves: false,
        }
    }
}

impl LayerSettings {
    /// Whether a request that passed may cost more later.
    pub(super) fn is_charged_later(&self) -> bool {
        self.charge.is_some() || self.charge_sent.is_some()
    }
}

/// The head of a response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The values that the service added, such as the cost of its answer.
    pub extensions: &'a Extensions,
}

impl<'a> ResponseHead<'a> {
    /// The head of `response`.
    pub fn new<B>(response: &'a Response<B>) -> Self {
        let (status, headers) = (response.status(), response.headers());
        ResponseHead { status, headers, extensions: response.extensions() }
    }
}

impl<S: Store> RateLimit<S> {
    /// Limits requests by the rules of a store: a [`MemoryStore`](ratescope::rules::MemoryStore); a `RedisStore` of the
    /// crate `ratescope-redis`; an `Arc<dyn Store>`, which may be either; one that is
    /// [observed](ratescope::rules::Observed), as by a probe; or any other [`Store`]. A clone is the same store, so the
    /// service can keep one.
    pub fn new(store: S) -> Self {
        RateLimit { store, answer: Problem, clock: SystemClock, settings: LayerSettings::default() }
    }
}

impl<S: Store, A, C> RateLimit<S, A, C> {
    /// Checks that each field of the rules has a source, and that the rules fit the [values](Self::values) of the
    /// fields. `ip` has a source if [`peer`](Self::peer) was called.
    ///
    /// # Errors
    /// Names the fields without a source, and the values that do not fit.
    pub fn check_sources(&self) -> Result<(), MissingSources> {
        let (rules, sources) = (self.store.rules(), &self.settings.sources);
        let needs_peer = rules.fields().into_iter().any(|field| sources.may_be_ip(field));
        let no_ip = (needs_peer && sources.peer.is_none()).then_some("ip");
        let missing = no_ip.into_iter().chain(sources.missing(&rules));
        let fields: Vec<String> = missing.map(str::to_owned).collect();
        let values = sources.unmatched(&rules);
        let fits = fields.is_empty() && values.is_empty();
        if fits { Ok(()) } else { Err(MissingSources { fields, values }) }
    }

    /// Makes the layer, as [`layer`](Self::layer) does, if each field of the rules has a source. For rules that a
    /// reload brings, and with `layer`, see [missing sources](super::fields#missing-sources).
    ///
    /// ```
    /// use ratescope_tower::RateLimit;
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use std::net::IpAddr;
    ///
    /// let policy: Policy = "gcra 10/1s per ip".parse()?;
    /// let limit = || RateLimit::new(MemoryStore::new(policy.clone(), 100_000));
    /// assert!(limit().try_layer().is_err_and(|missing| missing.fields == ["ip"]));
    /// assert!(limit().peer(|address: &IpAddr| *address).try_layer().is_ok());
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Names the fields without a source, and the values that do not fit.
    pub fn try_layer(self) -> Result<RateLimitLayer<S, A, C>, MissingSources> {
        self.check_sources()?;
        Ok(self.layer())
    }

    /// Makes the layer. All services of the layer and of its clones share the store and the queue. If a field of the
    /// rules has no source, all clients are limited together: see [missing sources](super::fields#missing-sources).
    pub fn layer(self) -> RateLimitLayer<S, A, C> {
        RateLimitLayer::new(self)
    }

    /// Makes a layer that also counts the bytes of the bodies of responses while they are sent, and charges the `cost`
    /// of that number: when the body ends, or when the client hangs up. The headers of the response do not include this
    /// cost.
    pub fn layer_for_bodies(
        mut self,
        cost: impl Fn(u64) -> f64 + Send + Sync + 'static,
    ) -> BodyLimitLayer<S, A, C> {
        self.settings.charge_sent = Some(Box::new(cost));
        RateLimitLayer::new(self)
    }
}

impl<S, A, C> RateLimit<S, A, C> {
    /// Takes the address of the peer from an extension of the request, set by the server. With axum
    /// that is `|peer: &ConnectInfo<SocketAddr>| peer.0.ip()`, with tonic
    /// `|peer: &TcpConnectInfo| peer.remote_addr().map(|address| address.ip())`.
    pub fn peer<T, P>(mut self, address: impl Fn(&T) -> P + Send + Sync + 'static) -> Self
    where
        T: Send + Sync + 'static,
        P: Into<Option<IpAddr>>,
    {
        let peer = move |extensions: &Extensions| Some(address(extensions.get::<T>()?).into());
        self.settings.sources.peer = Some(Box::new(peer));
        self
    }

    /// Sets the proxies in front of the service, which report the client's address. Without proxies the client is the
    /// peer.
    pub fn behind(mut self, proxies: Proxies) -> Self {
        self.settings.sources.proxies = Some(proxies);
        self
    }

    /// Sets the prefix in bits by which IPv6 addresses are grouped, from 0 to 128; the default is
    /// [`IPV6_PREFIX`](super::IPV6_PREFIX), 64. With 128 or more each address counts alone.
    pub fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.settings.sources.ipv6_prefix = bits;
        self
    }

    /// Keeps runs of slashes in the field `path`. By default a run counts as one slash.
    pub fn keep_slashes(mut self) -> Self {
        self.settings.sources.keep_slashes = true;
        self
    }

    /// Refuses requests whose path servers [read in different ways](ratescope::event::normal::doubt), with status 400, where
    /// rules are about `path`. It replaces a source of this field.
    pub fn refuse_doubtful_paths(self) -> Self {
        let keep_slashes = self.settings.sources.keep_slashes;
        self.key("path", move |head| match doubt(head.uri.path().as_bytes(), keep_slashes) {
            Some(what) => Err(Unidentified::doubtful(what)),
            None => Ok(Some(super::fields::path(head.uri, keep_slashes))),
        })
    }

    /// Takes the field `user` from an extension that the service's authentication sets. The layer of
    /// the authentication must be outside of this one, so that it runs first.
    pub fn user<T: Send + Sync + 'static>(
        self,
        name: impl for<'a> Fn(&'a T) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.extension("user", name)
    }

    /// Takes a field from an extension of the request. With axum, the pattern of the route is
    /// `extension("route", |path: &MatchedPath| path.as_str())`.
    pub fn extension<T: Send + Sync + 'static>(
        self,
        field: &str,
        text: impl for<'a> Fn(&'a T) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.field(field, move |head| Some(Cow::Borrowed(text(head.extensions.get::<T>()?))))
    }

    /// Takes a field from a header. Any client can send any header, so use one that the service checks, such as an API
    /// key. Logs, Redis and Live show a header with credentials, as [`is_credential`](ratescope::policy::is_credential)
    /// knows them, as a [hash](ratescope::policy::Per).
    pub fn header(self, field: &str, name: HeaderName) -> Self {
        self.source(field, FieldSource::Header(name))
    }

    /// Sets the field `route` to the pattern that the path matches, such as `/users/{id}` or
    /// `/files/{*rest}`, so that `/users/1` and `/users/2` count together. The patterns are those of
    /// axum.
    ///
    /// # Errors
    /// When a pattern is wrong or conflicts with another.
    pub fn routes<'p>(
        self,
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Result<Self, ParseError> {
        let (mut routes, mut values) = (matchit::Router::new(), Vec::new());
        for pattern in patterns {
            let inserted = routes.insert(pattern, pattern.to_owned());
            inserted.map_err(|error| ParseError::whole(pattern, error.to_string()))?;
            values.push(pattern.to_owned());
        }
        let known = KnownValues { field: "route".to_owned(), values, all_limited: false };
        Ok(self.source("route", FieldSource::Routes(routes, known)))
    }

    /// Says which values a field can have, such as the routes that axum knows. A rule for another value never applies,
    /// and is a [warning or an error](super::fields#values-that-nobody-has).
    pub fn values<'v>(self, field: &str, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.known(field, values, false)
    }

    /// Says which values a field can have, and that each of them should have a rule, such as the tiers of customers:
    ///
    /// ```
    /// use ratescope_tower::RateLimit;
    /// use ratescope::rules::{MemoryStore, Rules};
    ///
    /// let rules = Rules::read("rules.yaml", "
    /// domain: web
    /// descriptors:
    /// - {key: tier, value: free, limit: gcra 10/1s per user}
    /// - {key: tier, value: glod, limit: gcra 99/1s per user}
    /// ")?;
    /// let limit = RateLimit::new(MemoryStore::new(rules, 100_000))
    ///     .header("user", http::HeaderName::from_static("x-user"))
    ///     .header("tier", http::HeaderName::from_static("x-tier"))
    ///     .limited_values("tier", ["free", "gold"]);
    /// let wrong = limit.try_layer().err().unwrap();
    /// assert_eq!(wrong.values, [
    ///     "the rule web:tier=glod never applies, as tier=glod is none of the tiers",
    ///     "no rule is for the tier gold",
    /// ]);
    /// # Ok::<(), ratescope::rules::RulesError>(())
    /// ```
    pub fn limited_values<'v>(
        self,
        field: &str,
        values: impl IntoIterator<Item = &'v str>,
    ) -> Self {
        self.known(field, values, true)
    }

    fn known<'v>(
        mut self,
        field: &str,
        values: impl IntoIterator<Item = &'v str>,
        all_limited: bool,
    ) -> Self {
        let values = values.into_iter().map(str::to_owned).collect();
        let known = KnownValues { field: field.to_owned(), values, all_limited };
        self.settings.sources.known.retain(|other| other.field != field);
        self.settings.sources.known.push(known);
        self
    }

    /// Takes a field from a closure. For a field that a request must have, see [`key`](Self::key).
    pub fn field(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.source(field, FieldSource::Closure(Box::new(find)))
    }

    /// Takes a field from a closure, or from the client's address if the closure finds nothing. So clients without a
    /// key are limited, too, by address as in the field `ip`:
    ///
    /// ```
    /// use ratescope_tower::RateLimit;
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use std::net::IpAddr;
    ///
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// let policy: Policy = "gcra 10/1s per client".parse()?;
    /// let limit = RateLimit::new(MemoryStore::new(policy, 100_000))
    ///     .peer(|address: &IpAddr| *address)
    ///     // The authentication runs outside of this layer, and adds the user that it knows.
    ///     .field_or_ip("client", |head| Some(head.extensions.get::<User>()?.0.as_str().into()));
    /// # let _ = limit.try_layer().unwrap();
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// Take only keys that were checked: a client that makes up a new key for each request is never limited. A key that
    /// is written like an address gets the character U+007F at its end, so that the two never count together.
    pub fn field_or_ip(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.source(field, FieldSource::OrIp(Box::new(find)))
    }

    /// Passes on requests without limiting them, such as those of a health check: no limit is asked, nothing is
    /// counted, not even by the [meters](super::meters), and the layer adds no headers.
    ///
    /// ```
    /// use ratescope_tower::RateLimit;
    /// use ratescope::{Policy, rules::MemoryStore};
    ///
    /// let policy: Policy = "gcra 10/1s".parse()?;
    /// let limit = RateLimit::new(MemoryStore::new(policy, 100_000))
    ///     .skip(|head| head.method == http::Method::OPTIONS || head.uri.path() == "/health");
    /// # let _ = limit.layer();
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// A client chooses the path and the headers that it sends, so skip only what costs nothing to answer. For other
    /// exemptions use a [rule](ratescope::rules#exemptions), which can be reloaded.
    pub fn skip(mut self, skip: impl Fn(Head<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.settings.skip = Some(Box::new(skip));
        self
    }

    /// Adds a source, or replaces the one of the same name.
    pub(super) fn source(mut self, field: &str, source: FieldSource) -> Self {
        self.settings.sources.add(field, source);
        self
    }

    /// Sets the cost of requests, from 0 to [`MAX_COST`](ratescope::limit::MAX_COST). A request with any
    /// other cost is refused. A rule with its own cost uses that instead.
    pub fn cost(mut self, cost: impl Fn(Head<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.settings.cost = Some(Box::new(cost));
        self
    }

    /// Sets an additional cost that is known only from the response's head. It is counted before the response is passed
    /// on; the headers do not include it. More than [`MAX_COST`](ratescope::limit::MAX_COST) counts as that. A negative
    /// cost or NaN is logged and counts as 0. A request that is dropped before its response costs only what
    /// [`cost`](Self::cost) says. For the size of a body that is streamed, see
    /// [`layer_for_bodies`](Self::layer_for_bodies).
    pub fn charge(
        mut self,
        cost: impl Fn(ResponseHead<'_>) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.settings.charge = Some(Box::new(cost));
        self
    }

    /// Counts the [`cost`](Self::cost) of a request only as reserved, and adds a [`Reservation`](super::Reservation) to
    /// its extensions, which settles the request at its actual cost.
    pub fn reserve(mut self) -> Self {
        self.settings.reserves = true;
        self
    }

    /// Sets the headers of responses.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.settings.headers = headers;
        self
    }

    /// Sets how many requests, delayed by a leaky bucket, may wait at once; the default is [`QUEUE`]. Further requests
    /// that would have to wait are refused, and not counted. A request that may have to wait takes its place before the
    /// store is asked.
    pub fn queue(mut self, places: usize) -> Self {
        self.settings.queue = places;
        self
    }

    /// Sets how many places in the queue the requests of one key may hold, so that no client fills the queue. The
    /// default is half of the queue, rounded up. A leaky bucket `per all` has no such bound.
    pub fn queue_per_key(mut self, places: usize) -> Self {
        self.settings.queue_per_key = Some(places);
        self
    }

    /// Sets how many refusals are logged each second; the default is [`LOGGED`]. A failure of the store is logged once,
    /// and its end once, with the number of decisions that were made without it.
    pub fn log_per_second(mut self, events: u64) -> Self {
        self.settings.logged = events;
        self
    }

    /// Shares the [`Outages`] of a store with its other layers, so that a failure is logged once for all of them.
    #[doc(hidden)]
    pub fn outages(mut self, outages: Arc<Outages>) -> Self {
        self.settings.outages = outages;
        self
    }

    /// Sets the name of the layer, for a service with several: the label `layer` of its
    /// [counters](super::meters), and a field of its events in the log.
    pub fn name(mut self, name: &str) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Adds the store's answer to the extensions of each request that is passed on, as an
    /// [`Decision`](ratescope::rules::Decision). Handlers read from it whether a soft limit was exceeded, and how much
    /// is left of each limit:
    ///
    /// ```
    /// use axum::{Extension, Router, routing::get};
    /// use ratescope_tower::RateLimit;
    /// use ratescope::rules::{Decision, MemoryStore};
    ///
    /// async fn left(Extension(answered): Extension<Decision>) -> String {
    ///     let least = answered.quota();
    ///     least.map_or(String::new(), |least| format!("You have {} left.\n", least.remaining))
    /// }
    ///
    /// # let policy: ratescope::Policy = "gcra 10/1s".parse()?;
    /// # let store = MemoryStore::new(policy, 100_000);
    /// let limit = RateLimit::new(store).insert_decision();
    /// let app: Router = Router::new().route("/", get(left)).layer(limit.layer());
    /// # let _ = app;
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// Of several layers that do this, handlers see the decision of the innermost.
    pub fn insert_decision(mut self) -> Self {
        self.settings.inserts_decision = true;
        self
    }

    /// Sets the response to refused requests; the default is [`Problem`]. A closure needs the types of its argument and
    /// its result:
    ///
    /// ```
    /// use axum::response::{IntoResponse, Response};
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use ratescope_tower::{RateLimit, Refused};
    ///
    /// let policy: Policy = "gcra 10/1s per ip".parse()?;
    /// let limit = RateLimit::new(MemoryStore::new(policy, 100_000)).answer(
    ///     |refused: &Refused<'_>| -> Response {
    ///         (refused.status(), "Please wait a little.\n").into_response()
    ///     },
    /// );
    /// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get("")).layer(limit.layer());
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    pub fn answer<B>(self, answer: B) -> RateLimit<S, B, C> {
        let RateLimit { store, clock, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }

    /// Sets the clock; the default is the [`SystemClock`].
    pub fn clock<D: Clock>(self, clock: D) -> RateLimit<S, A, D> {
        let RateLimit { store, answer, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }
}

impl<S, A, C> fmt::Debug for RateLimit<S, A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.settings.name;
        f.debug_struct("RateLimit").field("name", name).finish_non_exhaustive()
    }
}

/// A layer that limits requests. `W` says whether the layer [charges](super::Charged) for the bodies of responses.
pub struct RateLimitLayer<S, A = Problem, C = SystemClock, W = Uncharged> {
    pub(super) shared: Arc<Shared<S, A, C>>,
    bodies: PhantomData<W>,
}

impl<S: Store, A, C, W> RateLimitLayer<S, A, C, W> {
    fn new(limit: RateLimit<S, A, C>) -> Self {
        RateLimitLayer { shared: Arc::new(Shared::new(limit)), bodies: PhantomData }
    }
}

impl<S, A, C, W> RateLimitLayer<S, A, C, W> {
    /// The number of requests in the queue.
    pub fn waiting(&self) -> usize {
        self.shared.waiting()
    }
}

impl<S, A, C, W> Clone for RateLimitLayer<S, A, C, W> {
    fn clone(&self) -> Self {
        RateLimitLayer { shared: Arc::clone(&self.shared), bodies: PhantomData }
    }
}

impl<S, A, C, W> fmt::Debug for RateLimitLayer<S, A, C, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.shared.name();
        f.debug_struct("RateLimitLayer").field("name", &name).finish_non_exhaustive()
    }
}

impl<I, S, A, C, W> Layer<I> for RateLimitLayer<S, A, C, W> {
    type Service = RateLimited<I, S, A, C, W>;

    fn layer(&self, inner: I) -> Self::Service {
        RateLimited::new(inner, Arc::clone(&self.shared))
    }
}

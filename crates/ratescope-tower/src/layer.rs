//! The layer and its settings.

use super::bodies::{Charged, Uncharged};
use super::cycles::CycleClock;
use super::decide::Shared;
use super::fields::{FieldSource, Head, KnownValues, MissingSources, Sources};
use super::headers::Headers;
use super::outages::Outages;
use super::own::{FindLimiter, unknown_limits};
use super::proxies::Proxies;
use super::refusal::Problem;
use super::report::NotNormal;
use super::service::RateLimit;
use core::fmt;
use core::marker::PhantomData;
use core::net::IpAddr;
use http::header::HeaderName;
use http::{Extensions, HeaderMap, Response, StatusCode};
use ratescope::clock::Clock;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::Store;
use ratescope::text::ParseError;
use ratescope::time::Span;
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

/// The default number of requests that may wait at once.
pub const QUEUE: usize = 1024;

/// The default number of refusals that are logged each second, and of those by shadows.
pub const LOGGED: u64 = 10;

/// A layer that limits requests, with its settings. All services of the layer and of its clones share the store and the
/// queue. A setting makes another layer of the same store, with a queue of its own.
///
/// ```
/// use axum::{Router, routing::get};
/// use ratescope::{MemoryStore, Policy};
/// use ratescope_tower::RateLimitLayer;
///
/// let policy: Policy = "gcra 10/1s burst 20 per ip".parse()?;
/// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000)).axum()?;
/// let app: Router = Router::new().route("/", get(|| async { "hello\n" })).layer(limit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// By default rules can be for the fields `method`, `path` and `host`, and for `ip` if something puts a
/// `SocketAddr` or an `IpAddr` into the extensions of a request. Each request costs 1. If rules are for
/// a field without a source, see [missing sources](super::fields#missing-sources).
///
/// `W` says whether it [charges](super::Charged) for the bodies of responses.
#[must_use = "it limits nothing until it is laid around a service"]
pub struct RateLimitLayer<S, A = Problem, C = CycleClock, W = Uncharged> {
    pub(super) shared: Arc<Shared<S, A, C>>,
    bodies: PhantomData<W>,
}

/// The settings that do not change the type of the layer.
#[derive(Clone)]
pub(super) struct LayerSettings {
    pub(super) sources: Sources,
    pub(super) skip: Option<Skip>,
    pub(super) cost: Option<Cost>,
    pub(super) charge: Option<Charge>,
    /// The limits whose limiters may be a request's own, by their names.
    pub(super) limiters: Vec<(String, FindLimiter)>,
    pub(super) charge_sent: Option<ChargeSent>,
    pub(super) headers: Headers,
    /// How much later than needed a refusal may say to retry, at most.
    pub(super) retry_jitter: Span,
    pub(super) queue: usize,
    /// `None` for half of the queue.
    pub(super) queue_per_key: Option<usize>,
    pub(super) logged: u64,
    pub(super) outages: Arc<Outages>,
    pub(super) name: Option<Arc<str>>,
    pub(super) inserts_decision: bool,
    pub(super) reserves: bool,
}

type Skip = Arc<dyn Fn(Head<'_>) -> bool + Send + Sync>;
type Cost = Arc<dyn Fn(Head<'_>) -> f64 + Send + Sync>;
type Charge = Arc<dyn Fn(ResponseHead<'_>) -> f64 + Send + Sync>;
type ChargeSent = Arc<dyn Fn(u64) -> f64 + Send + Sync>;

impl Default for LayerSettings {
    fn default() -> Self {
        LayerSettings {
            sources: Sources::default(),
            skip: None,
            cost: None,
            charge: None,
            limiters: Vec::new(),
            charge_sent: None,
            headers: Headers::ALL,
            retry_jitter: Span::ZERO,
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
    /// True if each request needs the rules in force before the store is asked.
    pub(super) fn needs_latest(&self) -> bool {
        self.sources.may_fail || self.sources.refuse_missing || !self.limiters.is_empty()
    }

    /// True if a request that passed may cost more later.
    pub(super) fn is_charged_later(&self) -> bool {
        self.charge.is_some() || self.charge_sent.is_some()
    }

    /// True if a request that passed is settled later, or handlers want its decision.
    pub(super) fn needs_ticket(&self) -> bool {
        self.is_charged_later() || self.reserves || self.inserts_decision
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
        ResponseHead {
            status: response.status(),
            headers: response.headers(),
            extensions: response.extensions(),
        }
    }
}

impl<S: Store> RateLimitLayer<S> {
    /// Limits requests by the rules of a store: a [`MemoryStore`](ratescope::rules::MemoryStore); a `RedisStore` of the
    /// crate `ratescope-redis`; an `Arc` or a `Box` of either or of `dyn Store`; one that is
    /// [observed](ratescope::rules::Observed), as by a probe; or any other [`Store`]. A clone is the same store, so the
    /// service can keep one.
    pub fn new(store: S) -> Self {
        RateLimitLayer::of(
            Arc::new(store),
            Arc::new(Problem),
            Arc::new(CycleClock::default()),
            LayerSettings::default(),
        )
    }
}

impl<S: Store, A, C, W> RateLimitLayer<S, A, C, W> {
    /// Checks that each field of the rules has a source, and that the rules fit the [values](Self::values) of the
    /// fields and their normal forms. `ip` has a source if [`peer`](Self::peer) was called. For rules that a reload brings, and without this
    /// check, see [missing sources](super::fields#missing-sources).
    ///
    /// ```
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use std::net::IpAddr;
    ///
    /// let policy: Policy = "gcra 10/1s per ip".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000));
    /// assert!(limit.clone().check_sources().is_err_and(|missing| missing.fields == ["ip"]));
    /// assert!(limit.peer(|address: &IpAddr| *address).check_sources().is_ok());
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Names the fields without a source, and the values that do not fit.
    pub fn check_sources(self) -> Result<Self, MissingSources> {
        let rules = self.shared.store.rules();
        let sources = &self.shared.settings().sources;
        let needs_peer = rules.fields().into_iter().any(|field| sources.may_be_ip(field));
        let no_ip = (needs_peer && sources.peer.is_none()).then_some("ip");
        let missing = no_ip.into_iter().chain(sources.missing(&rules));
        let fields: Vec<String> = missing.map(str::to_owned).collect();
        let mut values = sources.unmatched(&rules);
        let of_rule =
            |one: NotNormal<'_>| format!("the rule {} never applies: {one}", one.rule.name());
        values.extend(sources.not_normal(&rules).map(of_rule));
        values.extend(unknown_limits(&rules, &self.shared.settings().limiters));
        let fits = fields.is_empty() && values.is_empty();
        if fits { Ok(self) } else { Err(MissingSources { fields, values }) }
    }
}

impl<S, A, C, W> RateLimitLayer<S, A, C, W> {
    fn of(store: Arc<S>, answer: Arc<A>, clock: Arc<C>, settings: LayerSettings) -> Self {
        let shared = Arc::new(Shared::new(store, answer, clock, settings));
        RateLimitLayer { shared, bodies: PhantomData }
    }

    /// This layer after a change of its settings.
    pub(super) fn with(self, change: impl FnOnce(&mut LayerSettings)) -> Self {
        let Shared { store, answer, clock, .. } = &*self.shared;
        let mut settings = self.shared.settings().clone();
        change(&mut settings);
        Self::of(Arc::clone(store), Arc::clone(answer), Arc::clone(clock), settings)
    }

    /// Takes the address of the peer from an extension of the request, set by the server. With axum
    /// that is `|peer: &ConnectInfo<SocketAddr>| peer.0.ip()`, with tonic
    /// `|peer: &TcpConnectInfo| peer.remote_addr().map(|address| address.ip())`.
    pub fn peer<T, P>(self, address: impl Fn(&T) -> P + Send + Sync + 'static) -> Self
    where
        T: Send + Sync + 'static,
        P: Into<Option<IpAddr>>,
    {
        let peer = move |extensions: &Extensions| Some(address(extensions.get::<T>()?).into());
        self.with(|settings| settings.sources.peer = Some(Arc::new(peer)))
    }

    /// Sets the proxies in front of the service, which report the client's address. Without proxies the client is the
    /// peer.
    pub fn behind(self, proxies: Proxies) -> Self {
        self.with(|settings| settings.sources.proxies = Some(proxies))
    }

    /// Sets the prefix in bits by which IPv6 addresses are grouped; the default is
    /// [`IPV6_PREFIX`](super::IPV6_PREFIX), 64. With 128 or more, each address counts alone.
    pub fn ipv6_prefix(self, bits: u8) -> Self {
        self.with(|settings| settings.sources.ipv6_prefix = bits)
    }

    /// Keeps runs of slashes in the field `path`. By default a run counts as one slash.
    pub fn keep_slashes(self) -> Self {
        self.with(|settings| settings.sources.keep_slashes = true)
    }

    /// Refuses requests whose path servers [read in different ways](ratescope::event::normal::doubt), with status 400, where
    /// rules are about `path`. It replaces a source of this field.
    pub fn refuse_doubtful_paths(self) -> Self {
        self.source("path", FieldSource::UndoubtedPath)
    }

    /// Refuses requests that a rule would count by a field without a source, or by the address of a peer that the server
    /// does not tell, with status 500, in place of counting all of them [together](super::fields#missing-sources). It is for a layer whose rules are not known when it is made.
    pub fn refuse_missing_sources(self) -> Self {
        self.with(|settings| settings.sources.refuse_missing = true)
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
        self.source(field, FieldSource::of_extension(text))
    }

    /// Takes a field from a header. Any client can send any header, so use one that the service checks, such as an API
    /// key. It is a [secret](super::fields#secrets), unless it is [`shown`](Self::shown).
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
        let mut routes = matchit::Router::new();
        let mut values = Vec::new();
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
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::rules::{MemoryStore, Rules};
    ///
    /// let rules = Rules::read("rules.yaml", "
    /// domain: web
    /// descriptors:
    /// - {key: tier, value: free, limit: gcra 10/1s per user}
    /// - {key: tier, value: glod, limit: gcra 99/1s per user}
    /// ")?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(rules, 100_000))
    ///     .header("user", http::HeaderName::from_static("x-user"))
    ///     .header("tier", http::HeaderName::from_static("x-tier"))
    ///     .limited_values("tier", ["free", "gold"]);
    /// let wrong = limit.check_sources().err().unwrap();
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
        self,
        field: &str,
        values: impl IntoIterator<Item = &'v str>,
        all_limited: bool,
    ) -> Self {
        let values = values.into_iter().map(str::to_owned).collect();
        let known = KnownValues { field: field.to_owned(), values, all_limited };
        self.with(|settings| {
            settings.sources.known.retain(|other| other.field != field);
            settings.sources.known.push(known);
        })
    }

    /// Takes a field from a closure. It is a [secret](super::fields#secrets), unless it is [`shown`](Self::shown). For a
    /// field that a request must have, see [`key`](Self::key).
    pub fn field(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.source(field, FieldSource::Closure(Arc::new(find)))
    }

    /// Takes a field from a closure, or from the client's address if the closure finds nothing. So clients without a
    /// key are limited, too, by address as in the field `ip`:
    ///
    /// ```
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use std::net::IpAddr;
    ///
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// let policy: Policy = "gcra 10/1s per client".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
    ///     .peer(|address: &IpAddr| *address)
    ///     // The authentication runs outside of this layer, and adds the user that it knows.
    ///     .field_or_ip("client", |head| Some(head.extensions.get::<User>()?.0.as_str().into()));
    /// # let _ = limit.check_sources().unwrap();
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
        self.source(field, FieldSource::OrIp(Arc::new(find)))
    }

    /// Says that a field is no [secret](super::fields#secrets), although it comes from a header or from a closure: logs,
    /// Redis and Live show it in clear. (If a program also asks the store on Redis itself, the two have the same keys only
    /// if the field is shown, or if the rules mark it, as in `hash(user)`.)
    ///
    /// ```
    /// use http::HeaderName;
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::{Policy, rules::MemoryStore};
    ///
    /// let policy: Policy = "gcra 10/1s per key & gcra 100/1s per tier".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
    ///     .header("key", HeaderName::from_static("x-customer-key"))
    ///     .header("tier", HeaderName::from_static("x-tier"))
    ///     .shown("tier");
    /// # let _ = limit;
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    pub fn shown(self, field: &str) -> Self {
        self.with(|settings| settings.sources.shown.push(field.to_owned()))
    }

    /// Passes on requests without limiting them, such as those of a health check: no limit is asked, nothing is
    /// counted, not even by the [meters](super::meters), and the layer adds no headers.
    ///
    /// ```
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::{Policy, rules::MemoryStore};
    ///
    /// let policy: Policy = "gcra 10/1s".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
    ///     .skip(|head| head.method == http::Method::OPTIONS || head.uri.path() == "/health");
    /// # let _ = limit;
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// A client chooses the path and the headers that it sends, so skip only requests that cost nothing to answer. For
    /// other exemptions use a [rule](ratescope::rules#exemptions), which can be reloaded.
    pub fn skip(self, skip: impl Fn(Head<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.skip = Some(Arc::new(skip)))
    }

    /// Adds a source, or replaces the one of the same name.
    pub(super) fn source(self, field: &str, source: FieldSource) -> Self {
        self.with(|settings| settings.sources.add(field, source))
    }

    /// Gives a limit the numbers of each request's own, such as those that a customer pays for. `limit` is the
    /// [name](ratescope::policy::Limit::named) of the limit, as in RateLimit-Policy; where `limiter` returns `None`, the
    /// rules have the numbers.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use ratescope::{MemoryStore, Policy, limit::gcra::Gcra};
    /// use ratescope_tower::RateLimitLayer;
    ///
    /// /// The authentication runs outside of this layer, and adds the customer from the database.
    /// #[derive(Clone)]
    /// struct Customer {
    ///     name: String,
    ///     per_minute: Option<Gcra>,
    /// }
    ///
    /// let policy: Policy = "gcra 10/1m per user as calls & gcra 100/1s per all".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
    ///     .user(|customer: &Customer| &customer.name)
    ///     .limit_of("calls", |head| head.extensions.get::<Customer>()?.per_minute)
    ///     .check_sources()?;
    /// # let _: Router = Router::new().route("/", get(|| async { "hello\n" })).layer(limit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Events that were counted by one set of numbers count in all, in memory and on Redis: see
    /// [`Numbers`](ratescope::rules::Numbers). So the numbers belong to the key, not to the request: a customer whose
    /// requests come with different numbers in turn gets up to the largest of them. The closure is asked once, and once more if the store has to be
    /// waited for. Its limiters are of the same [shape](ratescope::limit::kept) as that of the rules; others are logged, and
    /// the rules decide. The 256 combinations of numbers that came last are kept, and fewer with more than 390 limits in
    /// the rules; others are made again when they come.
    pub fn limit_of<L: Into<AnyLimiter>>(
        self,
        limit: &str,
        limiter: impl Fn(Head<'_>) -> Option<L> + Send + Sync + 'static,
    ) -> Self {
        let find: FindLimiter = Arc::new(move |head| limiter(head).map(Into::into));
        self.with(|settings| {
            settings.limiters.retain(|(known, _)| known != limit);
            settings.limiters.push((limit.to_owned(), find));
        })
    }

    /// Sets the cost of requests, from 0 to [`MAX_COST`](ratescope::limit::MAX_COST). A request with any
    /// other cost is refused. A rule with its own cost uses that instead.
    pub fn cost(self, cost: impl Fn(Head<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.cost = Some(Arc::new(cost)))
    }

    /// Sets an additional cost that is known only from the response's head. It is counted before the response is passed
    /// on; the headers do not include it. More than [`MAX_COST`](ratescope::limit::MAX_COST) counts as that. A negative
    /// cost or NaN is logged and counts as 0. A request that is dropped before its response costs only as much as
    /// [`cost`](Self::cost) says. For the size of a body that is streamed, see [`charge_body`](Self::charge_body).
    pub fn charge(self, cost: impl Fn(ResponseHead<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.charge = Some(Arc::new(cost)))
    }

    /// Also counts the bytes of the bodies of responses while they are sent, and charges the `cost` of that number: when
    /// the body ends, or when the client hangs up. The headers of the response do not include this cost.
    pub fn charge_body(
        self,
        cost: impl Fn(u64) -> f64 + Send + Sync + 'static,
    ) -> RateLimitLayer<S, A, C, Charged> {
        let charging = self.with(|settings| settings.charge_sent = Some(Arc::new(cost)));
        RateLimitLayer { shared: charging.shared, bodies: PhantomData }
    }

    /// Counts the [`cost`](Self::cost) of a request only as reserved, and adds a [`Reservation`](super::Reservation) to
    /// its extensions, which settles the request at its actual cost.
    pub fn reserve(self) -> Self {
        self.with(|settings| settings.reserves = true)
    }

    /// Sets the headers of responses.
    pub fn headers(self, headers: Headers) -> Self {
        self.with(|settings| settings.headers = headers)
    }

    /// Adds a random time between zero and `most` to the time of a retry in a refusal, in headers and body, for
    /// each refusal separately; the default is zero. So clients that were refused together, as at the edge of a window, do
    /// not come back together. Nobody is told to come too early.
    pub fn retry_jitter(self, most: Span) -> Self {
        self.with(|settings| settings.retry_jitter = most)
    }

    /// Sets how many requests, delayed by a leaky bucket, may wait at once; the default is [`QUEUE`]. Further requests
    /// that would have to wait are refused, and not counted. A request that may have to wait takes its place before the
    /// store is asked.
    pub fn queue(self, places: usize) -> Self {
        self.with(|settings| settings.queue = places)
    }

    /// Sets how many places in the queue the requests of one key may hold, so that no client fills the queue. The
    /// default is half of the queue, rounded up. A leaky bucket `per all` has no such bound.
    pub fn queue_per_key(self, places: usize) -> Self {
        self.with(|settings| settings.queue_per_key = Some(places))
    }

    /// Sets how many refusals are logged each second, and how many requests that only a
    /// [shadow](ratescope::rules#shadows) would have refused; the default is [`LOGGED`]. A failure of the store is logged once,
    /// and its end once, with the number of decisions that were made without it.
    pub fn log_per_second(self, events: u64) -> Self {
        self.with(|settings| settings.logged = events)
    }

    /// Shares the [`Outages`] of a store with its other layers, so that a failure is logged once for all of them.
    #[doc(hidden)]
    pub fn outages(self, outages: Arc<Outages>) -> Self {
        self.with(|settings| settings.outages = outages)
    }

    /// Sets the name of the layer, for a service with several: the label `layer` of its
    /// [counters](super::meters), and a field of its events in the log.
    pub fn name(self, name: &str) -> Self {
        self.with(|settings| settings.name = Some(name.into()))
    }

    /// Adds the store's [`Decision`](ratescope::rules::Decision) to the extensions of each request that is passed on.
    /// Handlers read from it whether a soft limit was exceeded, and how much is left of each limit:
    ///
    /// ```
    /// use axum::{Extension, Router, routing::get};
    /// use ratescope_tower::RateLimitLayer;
    /// use ratescope::rules::{Decision, MemoryStore};
    ///
    /// async fn left(Extension(decision): Extension<Decision>) -> String {
    ///     let least = decision.quota();
    ///     least.map_or(String::new(), |least| format!("You have {} left.\n", least.remaining))
    /// }
    ///
    /// # let policy: ratescope::Policy = "gcra 10/1s".parse()?;
    /// # let store = MemoryStore::new(policy, 100_000);
    /// let limit = RateLimitLayer::new(store).insert_decision();
    /// let app: Router = Router::new().route("/", get(left)).layer(limit);
    /// # let _ = app;
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// Of several layers that do this, handlers see the decision of the innermost.
    pub fn insert_decision(self) -> Self {
        self.with(|settings| settings.inserts_decision = true)
    }

    /// Sets the response to refused requests; the default is [`Problem`]. A closure needs the types of its argument and
    /// its result:
    ///
    /// ```
    /// use axum::response::{IntoResponse, Response};
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use ratescope_tower::{RateLimitLayer, Refused};
    ///
    /// let policy: Policy = "gcra 10/1s per ip".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000)).answer(
    ///     |refused: &Refused<'_>| -> Response {
    ///         (refused.status(), "Please wait a little.\n").into_response()
    ///     },
    /// );
    /// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get("")).layer(limit);
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    pub fn answer<B>(self, answer: B) -> RateLimitLayer<S, B, C, W> {
        let Shared { store, clock, .. } = &*self.shared;
        let settings = self.shared.settings().clone();
        RateLimitLayer::of(Arc::clone(store), Arc::new(answer), Arc::clone(clock), settings)
    }

    /// Sets the clock; the default is the [`CycleClock`].
    pub fn clock<D: Clock>(self, clock: D) -> RateLimitLayer<S, A, D, W> {
        let Shared { store, answer, .. } = &*self.shared;
        let settings = self.shared.settings().clone();
        RateLimitLayer::of(Arc::clone(store), Arc::clone(answer), Arc::new(clock), settings)
    }

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

impl<I, S: Store, A, C, W> Layer<I> for RateLimitLayer<S, A, C, W> {
    type Service = RateLimit<I, S, A, C, W>;

    fn layer(&self, inner: I) -> Self::Service {
        self.shared.report();
        RateLimit::new(inner, Arc::clone(&self.shared))
    }
}

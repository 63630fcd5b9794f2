//! The layer and its settings.

use super::bodies::{BodyLimitLayer, Uncharged};
use super::clock::{Clock, SystemClock};
use super::headers::Headers;
use super::keys::{Head, Keys, Source};
use super::proxies::Proxies;
use super::refused::Problem;
use super::service::RateLimited;
use super::shared::Shared;
use crate::rules::AsyncStore;
use core::marker::PhantomData;
use core::net::IpAddr;
use http::header::HeaderName;
use http::{Extensions, HeaderMap, Response, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

/// The default number of requests that may wait at once.
pub const QUEUE: usize = 1024;

/// The default number of refusals, and of failures of the store, that are logged each second.
pub const TOLD: u64 = 10;

/// The settings of a layer that limits requests; [`layer`](Self::layer) makes the layer.
///
/// By default rules can be for the fields `method` and `path`, and for `ip` if the server puts a
/// `SocketAddr` or an `IpAddr` into the extensions of a request. Each request costs 1.
#[must_use = "it limits nothing until its layer is used"]
pub struct RateLimit<S, A = Problem, C = SystemClock> {
    pub(super) store: S,
    pub(super) answer: A,
    pub(super) clock: C,
    pub(super) settings: Settings,
}

/// The settings that do not change the type of the layer.
pub(super) struct Settings {
    pub(super) keys: Keys,
    pub(super) cost: Option<Cost>,
    pub(super) charge: Option<Charge>,
    pub(super) charge_sent: Option<ChargeSent>,
    pub(super) headers: Headers,
    pub(super) queue: usize,
    pub(super) told: u64,
}

type Cost = Box<dyn Fn(Head<'_>) -> f64 + Send + Sync>;
type Charge = Box<dyn Fn(ResponseHead<'_>) -> f64 + Send + Sync>;
type ChargeSent = Box<dyn Fn(u64) -> f64 + Send + Sync>;

impl Settings {
    /// Whether a request that passed may cost more later.
    pub(super) fn is_charged_later(&self) -> bool {
        self.charge.is_some() || self.charge_sent.is_some()
    }
}

/// The head of a response.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What the service put there, such as the cost of its answer.
    pub extensions: &'a Extensions,
}

impl<'a> ResponseHead<'a> {
    /// The head of `response`.
    pub fn of<B>(response: &'a Response<B>) -> Self {
        let (status, headers) = (response.status(), response.headers());
        ResponseHead { status, headers, extensions: response.extensions() }
    }
}

impl<S: AsyncStore> RateLimit<S> {
    /// Limits requests by the rules of a store, such as a [`Ruled`](crate::rules::Ruled) or an `Arc` of
    /// one.
    pub fn new(store: S) -> Self {
        let settings = Settings {
            keys: Keys::default(),
            cost: None,
            charge: None,
            charge_sent: None,
            headers: Headers::ALL,
            queue: QUEUE,
            told: TOLD,
        };
        RateLimit { store, answer: Problem, clock: SystemClock, settings }
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
        let peer = move |extensions: &Extensions| address(extensions.get::<T>()?).into();
        self.settings.keys.peer = Box::new(peer);
        self
    }

    /// Sets the proxies in front of the service, which report the client. Without proxies the client is
    /// the peer.
    pub fn behind(mut self, proxies: Proxies) -> Self {
        self.settings.keys.proxies = Some(proxies);
        self
    }

    /// Sets the prefix in bits by which IPv6 addresses are grouped, from 0 to 128; the default is
    /// [`IPV6_PREFIX`](super::IPV6_PREFIX), 64. With 128 or more each address counts alone.
    pub fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.settings.keys.ipv6_prefix = bits;
        self
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

    /// Takes a field from a header. Any client can send any header, so use one that the service checks,
    /// such as an API key.
    pub fn header(self, field: &str, name: HeaderName) -> Self {
        self.source(field, Source::Header(name))
    }

    /// Sets the field `route` to the pattern that the path matches, such as `/users/{id}` or
    /// `/files/{*rest}`, so that `/users/1` and `/users/2` count together. The patterns are those of
    /// axum.
    ///
    /// # Errors
    /// If a pattern is wrong or conflicts with another.
    pub fn routes<'p>(
        self,
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Result<Self, matchit::InsertError> {
        let mut routes = matchit::Router::new();
        for pattern in patterns {
            routes.insert(pattern, pattern.to_owned())?;
        }
        Ok(self.source("route", Source::Routes(routes)))
    }

    /// Takes a field from a closure.
    pub fn field(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.source(field, Source::Closure(Box::new(find)))
    }

    /// Adds a source, or replaces the one of the same name.
    fn source(mut self, field: &str, source: Source) -> Self {
        let sources = &mut self.settings.keys.sources;
        sources.retain(|(known, _)| known != field);
        sources.push((field.to_owned(), source));
        self
    }

    /// Sets the cost of requests, from 0 to [`MAX_COST`](crate::limit::MAX_COST). A request with any
    /// other cost is refused. A rule with its own cost uses that instead.
    pub fn cost(mut self, cost: impl Fn(Head<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.settings.cost = Some(Box::new(cost));
        self
    }

    /// Sets an additional cost that is known only from the response's head. It is counted before the
    /// response is passed on; the headers do not include it. A request that is dropped before its
    /// response costs only what [`cost`](Self::cost) says. For the size of a body that is streamed,
    /// see [`layer_for_bodies`](Self::layer_for_bodies).
    pub fn charge(
        mut self,
        cost: impl Fn(ResponseHead<'_>) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.settings.charge = Some(Box::new(cost));
        self
    }

    /// Sets the headers of responses.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.settings.headers = headers;
        self
    }

    /// Sets the number of requests that may wait at once, because a leaky bucket delays them; the
    /// default is [`QUEUE`]. Further requests that would have to wait are refused.
    pub fn queue(mut self, places: usize) -> Self {
        self.settings.queue = places;
        self
    }

    /// Sets how many refusals, and how many failures of the store, are logged each second; the default
    /// is [`TOLD`] of each.
    pub fn told(mut self, per_second: u64) -> Self {
        self.settings.told = per_second;
        self
    }

    /// Sets the response to refused requests; the default is [`Problem`].
    pub fn answer<B>(self, answer: B) -> RateLimit<S, B, C> {
        let RateLimit { store, clock, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }

    /// Sets the clock; the default is the [`SystemClock`].
    pub fn clock<D: Clock>(self, clock: D) -> RateLimit<S, A, D> {
        let RateLimit { store, answer, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }

    /// Makes the layer. All services of the layer and of its clones share the store and the queue.
    pub fn layer(self) -> RateLimitLayer<S, A, C> {
        RateLimitLayer::new(self)
    }

    /// Makes a layer that also counts the bytes of the bodies of responses while they are sent, and
    /// charges the `cost` of so many bytes: when a body has ended, or when it is dropped before, because
    /// the client hung up. The headers of its response do not include it.
    pub fn layer_for_bodies(
        mut self,
        cost: impl Fn(u64) -> f64 + Send + Sync + 'static,
    ) -> BodyLimitLayer<S, A, C> {
        self.settings.charge_sent = Some(Box::new(cost));
        RateLimitLayer::new(self)
    }
}

/// A layer that limits requests. `W` says whether it [charges](super::Charged) for the bodies of
/// responses.
pub struct RateLimitLayer<S, A = Problem, C = SystemClock, W = Uncharged> {
    shared: Arc<Shared<S, A, C>>,
    bodies: PhantomData<W>,
}

impl<S, A, C, W> RateLimitLayer<S, A, C, W> {
    fn new(limit: RateLimit<S, A, C>) -> Self {
        RateLimitLayer { shared: Arc::new(Shared::new(limit)), bodies: PhantomData }
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

impl<I, S, A, C, W> Layer<I> for RateLimitLayer<S, A, C, W> {
    type Service = RateLimited<I, S, A, C, W>;

    fn layer(&self, inner: I) -> Self::Service {
        RateLimited::new(inner, Arc::clone(&self.shared))
    }
}

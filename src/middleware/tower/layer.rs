//! The layer, and how it is set up.

use super::clock::{Clock, SystemClock};
use super::headers::Headers;
use super::keys::{Head, Keys, Source};
use super::proxies::Proxies;
use super::refused::Problem;
use super::service::RateLimited;
use super::shared::Shared;
use crate::rules::AsyncStore;
use core::net::IpAddr;
use http::header::HeaderName;
use http::{Extensions, HeaderMap, Response, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

/// How many requests may wait at once, unless it is said.
pub const QUEUE: usize = 1024;

/// How many refusals are told each second, unless it is said.
pub const TOLD: u64 = 10;

/// What limits the requests to a service, being set up: [`layer`](Self::layer) makes a layer of it.
///
/// Without more than a store, rules may be for the fields `method` and `path`, and for `ip` where the
/// server leaves a `SocketAddr` or an `IpAddr` in the extensions of a request. Each request costs 1.
#[must_use = "it limits nothing until its layer is used"]
pub struct RateLimit<S, A = Problem, C = SystemClock> {
    pub(super) store: S,
    pub(super) answer: A,
    pub(super) clock: C,
    pub(super) settings: Settings,
}

/// What has a type of its own.
pub(super) struct Settings {
    pub(super) keys: Keys,
    pub(super) cost: Option<Cost>,
    pub(super) charge: Option<Charge>,
    pub(super) headers: Headers,
    pub(super) queue: usize,
    pub(super) told: u64,
}

type Cost = Box<dyn Fn(Head<'_>) -> f64 + Send + Sync>;
type Charge = Box<dyn Fn(ResponseHead<'_>) -> f64 + Send + Sync>;

/// A response without its body, for what is charged after it.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What the service left there, such as what its answer took.
    pub extensions: &'a Extensions,
}

impl<'a> ResponseHead<'a> {
    /// That of a response.
    pub fn of<B>(response: &'a Response<B>) -> Self {
        let (status, headers) = (response.status(), response.headers());
        ResponseHead { status, headers, extensions: response.extensions() }
    }
}

impl<S: AsyncStore> RateLimit<S> {
    /// Requests limited by the rules of a store: a [`Ruled`](crate::rules::Ruled), an `Arc` of one,
    /// or one on Redis.
    pub fn new(store: S) -> Self {
        let settings = Settings {
            keys: Keys::default(),
            cost: None,
            charge: None,
            headers: Headers::ALL,
            queue: QUEUE,
            told: TOLD,
        };
        RateLimit { store, answer: Problem, clock: SystemClock, settings }
    }
}

impl<S, A, C> RateLimit<S, A, C> {
    /// Where the server says from which address a connection comes: an extension of the request. With
    /// axum that is `|peer: &ConnectInfo<SocketAddr>| peer.0.ip()`, with tonic
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

    /// The proxies in front of the service, which say where requests come from. Without any, a client
    /// is where the connection comes from.
    pub fn behind(mut self, proxies: Proxies) -> Self {
        self.settings.keys.proxies = Some(proxies);
        self
    }

    /// How many bits of an IPv6 address are its network: 64, unless it is said; with 128, each address
    /// stands for itself.
    pub fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.settings.keys.ipv6_prefix = bits;
        self
    }

    /// The field `user`: what the service's authentication has left in the extensions of the request.
    /// Its layer must be outside of this one, so that it comes first.
    pub fn user<T: Send + Sync + 'static>(
        self,
        name: impl for<'a> Fn(&'a T) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.extension("user", name)
    }

    /// A field out of an extension of the request; with axum, the pattern of the route is
    /// `extension("route", |path: &MatchedPath| path.as_str())`.
    pub fn extension<T: Send + Sync + 'static>(
        self,
        field: &str,
        text: impl for<'a> Fn(&'a T) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.field(field, move |head| Some(Cow::Borrowed(text(head.extensions.get::<T>()?))))
    }

    /// A field out of a header. Anybody can send any header: it is for what is checked elsewhere, such
    /// as the key of an interface.
    pub fn header(self, field: &str, name: HeaderName) -> Self {
        self.source(field, Source::Header(name))
    }

    /// The field `route`: the pattern that the path fits, as in `/users/{id}` and `/files/{*rest}`, so
    /// that `/users/1` and `/users/2` count together. Patterns are those of axum.
    ///
    /// # Errors
    /// When a pattern is wrong, or at odds with another one.
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

    /// A field that a closure finds in a request.
    pub fn field(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.source(field, Source::Closure(Box::new(find)))
    }

    /// In place of a source of the same name.
    fn source(mut self, field: &str, source: Source) -> Self {
        let sources = &mut self.settings.keys.sources;
        sources.retain(|(known, _)| known != field);
        sources.push((field.to_owned(), source));
        self
    }

    /// What a request costs, from 0 to [`MAX_COST`](crate::limit::MAX_COST); any other number refuses
    /// it. A rule with a cost of its own has that instead.
    pub fn cost(mut self, cost: impl Fn(Head<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.settings.cost = Some(Box::new(cost));
        self
    }

    /// What a request has cost beside that, which is known only from its response; it counts before
    /// the response is handed on, whose headers are of the time before it. What is given up before has
    /// no response, and costs no more than [`cost`](Self::cost) says.
    pub fn charge(
        mut self,
        cost: impl Fn(ResponseHead<'_>) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.settings.charge = Some(Box::new(cost));
        self
    }

    /// Which headers responses have.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.settings.headers = headers;
        self
    }

    /// How many requests may wait at once for what a leaky bucket lets out: [`QUEUE`], unless it is
    /// said. One more is refused.
    pub fn queue(mut self, places: usize) -> Self {
        self.settings.queue = places;
        self
    }

    /// How many refusals are told to the log each second: [`TOLD`], unless it is said.
    pub fn told(mut self, per_second: u64) -> Self {
        self.settings.told = per_second;
        self
    }

    /// What is answered to requests that are refused.
    pub fn answer<B>(self, answer: B) -> RateLimit<S, B, C> {
        let RateLimit { store, clock, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }

    /// Another clock than the [`SystemClock`].
    pub fn clock<D: Clock>(self, clock: D) -> RateLimit<S, A, D> {
        let RateLimit { store, answer, settings, .. } = self;
        RateLimit { store, answer, clock, settings }
    }

    /// The layer. What it makes shares the store and the queue, and so do its clones.
    pub fn layer(self) -> RateLimitLayer<S, A, C> {
        RateLimitLayer(Arc::new(Shared::new(self)))
    }
}

/// A layer that limits requests.
pub struct RateLimitLayer<S, A = Problem, C = SystemClock>(Arc<Shared<S, A, C>>);

impl<S, A, C> RateLimitLayer<S, A, C> {
    /// How many requests wait in the queue.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

impl<S, A, C> Clone for RateLimitLayer<S, A, C> {
    fn clone(&self) -> Self {
        RateLimitLayer(Arc::clone(&self.0))
    }
}

impl<I, S, A, C> Layer<I> for RateLimitLayer<S, A, C> {
    type Service = RateLimited<I, S, A, C>;

    fn layer(&self, inner: I) -> Self::Service {
        RateLimited::new(inner, Arc::clone(&self.0))
    }
}

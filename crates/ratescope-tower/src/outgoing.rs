//! Calls of other services: a layer that waits until a limit allows a call.
//!
//! Services limit their clients. A [`Pace`] keeps to such a limit for all clones of a client, and waits when
//! the service says so: by status 429 or 503 with `Retry-After`. It wraps any client that is a service of
//! [tower](https://docs.rs/tower) for requests of the crate `http`, such as that of hyper-util. Here the
//! client is a stand-in, and the clock that of a test:
//!
//! ```
//! use http::{Request, Response};
//! use ratescope_tower::outgoing::Pace;
//! use ratescope::clock::FakeClock;
//! use ratescope::waiting::Waiting;
//! use std::time::Duration;
//! use tower_layer::Layer;
//! use tower_service::Service;
//! # use std::convert::Infallible;
//! # use std::future::{Ready, ready};
//! # use std::task::{Context, Poll};
//! # #[derive(Clone)]
//! # struct Client;
//! # impl Service<Request<String>> for Client {
//! #     type Response = Response<String>;
//! #     type Error = Infallible;
//! #     type Future = Ready<Result<Response<String>, Infallible>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
//! #         Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, _: Request<String>) -> Self::Future {
//! #         ready(Ok(Response::new("hello".to_owned())))
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = FakeClock::default(); // a SystemClock without it
//! let pace = Pace::new("gcra 1/1s")?.clock(clock.clone()).waiting(Waiting::DEFAULT.at_most(Duration::from_secs(9)));
//! let mut client = pace.layer(Client);
//! let get = || Request::get("https://api.example.com/items").body(String::new());
//! client.call(get()?).await?; // The first one passes at once.
//! let second = tokio::spawn(client.call(get()?));
//! tokio::task::yield_now().await; // It waits now.
//! clock.advance(Duration::from_secs(1));
//! assert_eq!(second.await??.body(), "hello");
//! # Ok(())
//! # }
//! ```
//!
//! # Who shares a limit
//! A limit without `per` is for each host, with its port if the URI has one. Limits can also be `per method`,
//! `per path`, of several of these, or `per all`. A client that is limited in other ways, such as by account,
//! asks a [store](ratescope::rules::Store) itself: see [waiting](ratescope::waiting).
//!
//! # When the service asks for a pause
//! After a response with status 429 or 503 and `Retry-After`, calls of that host wait until that time, and are not
//! counted before. The header has seconds, or a date; of several the longest pause counts. A date is compared with the `Date`
//! of the response, so the clocks of the two need not agree. A pause is at most [an hour](Pace::longest_pause). The response itself is returned as it
//! came: retries are up to the caller, for example the retries of tower around this layer.
//!
//! # What is promised
//! * A call that waits holds nothing of the inner client, and makes it ready after the wait.
//! * A call that is dropped, or gives up since its wait would be too long, leaves nothing counted, as
//!   [waiting](ratescope::waiting#what-is-counted) says. A call that gives up in a queue, since the host asked for a
//!   pause meanwhile, is [undone](ratescope::Limiter::undo).
//! * Memory is bounded: [`HOSTS`] keys of each limit, and the pauses of [`HOSTS`] hosts.
//!
//! # With reqwest
//! By the feature `reqwest`, a [`Pace`] is a middleware of the crate `reqwest-middleware`:
//!
//! ```
//! use ratescope_tower::outgoing::Pace;
//! use reqwest_middleware::ClientBuilder;
//!
//! let pace = Pace::new("gcra 5/1s burst 10")?;
//! let client = ClientBuilder::new(reqwest::Client::new()).with(pace).build();
//! // As with the client itself: client.get("https://api.example.com/items").send().await?
//! # let _ = client;
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! A call that gives up fails with a [`CallError`] within the middleware's error:
//!
//! ```
//! use ratescope_tower::outgoing::CallError;
//! use reqwest_middleware::Error;
//!
//! fn gave_up(error: &Error) -> bool {
//!     let Error::Middleware(error) = error else { return false };
//!     matches!(error.downcast_ref(), Some(CallError::<Error>::GaveUp(_)))
//! }
//! # let error = CallError::<Error>::GaveUp(ratescope::waiting::NotAllowed::Never);
//! # assert!(gave_up(&Error::middleware(error)));
//! ```
//!
//! A timeout of reqwest begins after the wait. Redirects that reqwest follows are not counted. For retries, put the
//! middleware that retries before this one.

mod pause;
#[cfg(feature = "reqwest")]
mod reqwest;
mod service;

pub use service::{CallError, Paced};

use pause::Pause;
use ratescope::clock::{Clock, SystemClock};
use ratescope::policy::{Defaults, Policy};
use ratescope::rules::MemoryStore;
use ratescope::store::Keyed;
use ratescope::text::ParseError;
use ratescope::time::Span;
use ratescope::waiting::Waiting;
use std::sync::Arc;
use tower_layer::Layer;

/// The capacity: keys of each limit, and hosts that asked for a pause.
pub const HOSTS: usize = 10_000;

const FIELDS: [&str; 3] = ["host", "method", "path"];

/// A layer for calls of other services, which waits until its limits allow a call: see [the module](self). All services
/// of one layer are limited together.
#[derive(Debug)]
#[must_use = "it limits nothing until it is laid around a client"]
pub struct Pace<C = SystemClock> {
    limits: Arc<Limits>,
    waiting: Waiting,
    longest_pause: Span,
    clock: Arc<C>,
}

/// The limits and their states.
#[derive(Debug)]
struct Limits {
    store: MemoryStore,
    /// Until when each host wants no calls.
    pauses: Keyed<Pause>,
}

impl Pace {
    /// A layer with the limits of a [policy](ratescope::policy), such as `gcra 5/1s burst 10` for each host. A call
    /// waits without a bound, and a pause is an hour at most.
    ///
    /// # Errors
    /// When the text is not a policy, or a limit is for a field that calls don't have.
    pub fn new(policy: &str) -> Result<Self, ParseError> {
        let fields = Some(FIELDS.map(str::to_owned).to_vec());
        let defaults = Defaults { rate: None, per: FIELDS[0].parse()?, fields, cost: 1.0 };
        let store = MemoryStore::new(Policy::read(policy, &defaults)?, HOSTS);
        Ok(Pace {
            limits: Arc::new(Limits { store, pauses: Keyed::new(Pause, HOSTS) }),
            waiting: Waiting::DEFAULT,
            longest_pause: Span::from_hours(1),
            clock: Arc::new(SystemClock),
        })
    }
}

impl<C> Pace<C> {
    /// Sets how a call waits: its cost, its longest wait, and its jitter. With a longest wait of zero no call
    /// waits: it passes at once or fails.
    pub fn waiting(self, waiting: Waiting) -> Self {
        Pace { waiting, ..self }
    }

    /// Sets the longest pause that a service can ask for; zero ignores `Retry-After`.
    pub fn longest_pause(self, longest_pause: Span) -> Self {
        Pace { longest_pause, ..self }
    }

    /// Sets the clock, for tests and for machines without a system clock.
    pub fn clock<D: Clock>(self, clock: D) -> Pace<D> {
        let Pace { limits, waiting, longest_pause, .. } = self;
        Pace { limits, waiting, longest_pause, clock: Arc::new(clock) }
    }
}

/// The clone has the same limits.
impl<C> Clone for Pace<C> {
    fn clone(&self) -> Self {
        Pace {
            limits: Arc::clone(&self.limits),
            clock: Arc::clone(&self.clock),
            waiting: self.waiting,
            longest_pause: self.longest_pause,
        }
    }
}

impl<I, C> Layer<I> for Pace<C> {
    type Service = Paced<I, C>;

    fn layer(&self, inner: I) -> Paced<I, C> {
        Paced::new(inner, self.clone())
    }
}

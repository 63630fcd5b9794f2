//! The layer between a service and its clients, and rule files that are watched.
//! For calls of other services there is [another layer](crate::waiting::outgoing).
//!
//! The feature `tower` has both, the feature `watch` only the second. This is a whole service, with
//! axum:
//!
#![cfg_attr(feature = "tower", doc = include_str!("middleware/ten_lines.md"))]
//!
//! [`RateLimit`] builds a layer of [tower](https://docs.rs/tower), for axum, hyper, tonic and anything
//! else that takes such layers. The layer asks the [rules](crate::rules) about each request, wherever
//! their states are. Then it does one of three things:
//!
//! * It passes the request on, and adds [`headers`] that tell the client how much is left.
//! * It [refuses](refusal) the request with status 429, and says when the request would pass.
//! * It delays the request, if a [leaky bucket](crate::limit::leaky_bucket) lets it pass later. The
//!   number of waiting requests is bounded, for all clients and for each
//!   ([`RateLimit::queue`], [`RateLimit::queue_per_key`]). A client that hangs up leaves the queue at
//!   once; what was counted for it stays counted.
//!
//! [`keys`] lists what a limit may be for. One of them is the address of the client, which [`proxies`]
//! may report. [`meters`] lists what is counted. Events of `tracing` with the target `ratescope` say
//! why requests were refused, at most a few each second.
//!
#![cfg_attr(feature = "tower", doc = include_str!("middleware/chapter.md"))]
//!
//! # Guarantees
//! * The layer calls the inner service only after that said it is ready. While a request waits, for the
//!   store or in the queue, it holds nothing of the inner service: it gives back what the inner service
//!   reserved for it, and asks for readiness again after the wait. A refused request gives it back, too.
//!   So requests that wait are not held back by the inner service's limits until their wait is over.
//! * The layer holds no lock while it waits. A request that is dropped, at any moment, leaves nothing
//!   behind but the events that were counted for it.
//! * A request that is refused because the queue is full is not counted, in memory. On Redis it may be,
//!   if other requests are counted between the two steps of looking and counting.
//! * Memory does not grow with the number of clients, nor with what they send: see
//!   [the store](crate::store).
//! * If a store fails, each rule says what happens, within the store's deadline: see the
//!   [faults of Redis](crate::redis_store#what-happens-at-each-fault).
//! * A setup that cannot work limits all clients together instead of nobody, and is logged: rules for
//!   fields that no request has, and servers that do not say who is connected. See
//!   [missing sources](keys#missing-sources).
//! * Time comes from a [`Clock`]: the system's, or that of a test.
//!
//! # Cost
//! `./scripts/bench middleware` prints what the layer adds to a request. With one rule in memory and
//! all headers it is less than a microsecond, or little more where the state of the client is not in
//! the processor's cache.

#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "watch")]
pub mod watch;

#[cfg(feature = "tower")]
pub use tower::*;

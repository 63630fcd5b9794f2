//! What stands between a service and its limits: a layer for services of http, and rule files that
//! are watched.
//!
//! Features `tower` and, without the layer, `watch`. A service with axum, whole:
//!
#![cfg_attr(feature = "tower", doc = include_str!("middleware/ten_lines.md"))]
//!
//! [`RateLimit`] sets up a layer of [tower](https://docs.rs/tower), which is for whatever takes such
//! layers: axum, hyper, tonic. It asks the [rules](crate::rules) about each request, wherever their
//! states are, and
//!
//! * hands it on, and tells its sender in [`headers`] what is left;
//! * or [refuses](refused) it with status 429 and the time after which it would pass;
//! * or lets it wait, where a [leaky bucket](crate::limit::leaky_bucket) lets it pass later. At most
//!   so many wait at once ([`RateLimit::queue`]), and whoever hangs up gives its place to others,
//!   though not what was counted for it.
//!
//! [`keys`] are what limits may be for, among them the address of the client, which [`proxies`] in
//! front of the service are asked for. [`meters`] are what is counted, and `tracing` events of the
//! target `ratescope` say why requests were refused, a few a second at most.
//!
//! # What holds
//! * The inner service is asked whether it is ready before it is called. Requests that wait hold
//!   nothing of it, and those that are refused leave it ready for the next one.
//! * No lock is held while anything is waited for. A request that is given up, whenever that is,
//!   leaves nothing behind but what was counted for it.
//! * Memory does not grow with the number of clients, nor with what they send: see
//!   [the store](crate::store).
//! * What can't be decided since a store fails is decided as each rule says. What was misunderstood is
//!   told in the log: rules for fields that no request has, servers that don't say who is connected.
//! * Time comes from a [`Clock`]: the system's, or one of a test.
//!
//! # What it costs
//! With the states in memory, less than a microsecond a request, headers and all: `./scripts/bench
//! middleware` prints it.

#[cfg(all(feature = "tower", not(target_arch = "wasm32")))]
mod tower;
#[cfg(all(feature = "watch", not(target_arch = "wasm32")))]
pub mod watch;

#[cfg(all(feature = "tower", not(target_arch = "wasm32")))]
pub use tower::*;

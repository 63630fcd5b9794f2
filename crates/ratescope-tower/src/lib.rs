//! Limits for services of tower: axum, hyper, tonic and the like.
//!
//! * [`RateLimitLayer`] is the layer, over any [`Store`](ratescope::rules::Store).
//! * [`Refused`] is a refused request; an [`Answer`] makes its response: [`Problem`], [`GrpcStatus`] or a closure.
//! * [`outgoing`] has the layer for clients, whose calls wait until a limit allows them.
//! * [`watch`] reads a rule file again when it changes.
//!
//! **How it works.** `service.rs` takes a request. `decide.rs` reads its fields (`fields.rs`; the client's address by
//! `proxies.rs`) and asks the store: at once if the states are in memory. The request is passed on with `headers.rs`,
//! waits in `queue.rs`, or is refused by `refusal.rs`. The parts that depend on the rules alone are in `prepared.rs`,
//! made once at each reload; `own.rs` finds the numbers of a request's own. A request that passes has a `ticket.rs`
//! until its response is complete, also in frameworks that take no layers: [`RateLimitLayer::check`]. `settle.rs`
//! settles costs that are known only afterwards: of `bodies.rs` and of `reservation.rs`. `meters.rs` and `report.rs`
//! count and log. `cycles.rs` is the clock.
//!
//! **What it promises.** A request is counted once, and no request makes the layer panic. The queue, the log and the
//! labels of the counters are bounded, however many clients send. When the store fails, each rule says what happens to
//! the request. The layer calls the inner service only when it is ready.
//!
//! This is a whole service, with axum:
#![doc = include_str!("ten_lines.md")]
#![doc = include_str!("chapter.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_debug_implementations)]

#[cfg(feature = "actix")]
pub mod actix;
#[cfg(feature = "axum")]
mod axum;
mod bodies;
mod cycles;
mod decide;
mod draft;
pub mod fields;
mod front_end;
mod grpc;
pub mod headers;
mod layer;
pub mod meters;
mod outages;
pub mod outgoing;
mod own;
mod prepared;
pub mod proxies;
mod queue;
pub mod refusal;
mod report;
mod reservation;
mod service;
mod settle;
mod ticket;
mod unidentified;
pub mod watch;

pub use bodies::{Bodies, Charged, Counted, Uncharged};
pub use cycles::CycleClock;
pub use fields::{Head, MissingSources};
pub use grpc::GrpcStatus;
pub use headers::Headers;
pub use layer::{LOGGED, QUEUE, RateLimitLayer, ResponseHead};
pub use proxies::Proxies;
pub use ratescope::address::{IPV6_PREFIX, Networks};
pub use ratescope::clock::{Clock, FakeClock, SystemClock};
pub use refusal::{Answer, Problem, Refused};
pub use report::log_reload;
pub use reservation::Reservation;
pub use service::{RateLimit, ResponseFuture};
pub use ticket::Ticket;
pub use unidentified::Unidentified;

/// Items that the rate limit service shares with the layer. Semver promises nothing here.
#[doc(hidden)]
pub mod internal {
    pub use crate::fields::{bytes, text};
    pub use crate::front_end::FrontEnd;
    pub use crate::headers::{up, waiting};
    pub use crate::meters::RequestOutcome;
    pub use crate::outages::Outages;
    pub use crate::refusal::{RECOVERY, is_unavailable, retry};
    pub use crate::report::{NotNormal, not_normal};
}

/// Runs the chapter of the library's guide that is about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../ratescope/src/guide/web.md")]
struct Chapter;

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

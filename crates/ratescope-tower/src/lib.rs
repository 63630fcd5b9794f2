//! The layer between a service and its clients, the one for a client of other services ([`outgoing`]), and rule
//! files that are read again when they change ([`watch`]). This is a whole service, with axum:
//!
#![doc = include_str!("ten_lines.md")]
#![doc = include_str!("chapter.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod charge;
mod decide;
mod draft;
pub mod fields;
pub mod headers;
mod lasting;
mod layer;
pub mod meters;
mod outages;
pub mod outgoing;
mod prepared;
pub mod proxies;
mod queue;
pub mod refusal;
mod report;
mod service;
mod teller;
mod unidentified;
pub mod watch;

pub use bodies::{Bodies, BodyLimitLayer, BodyLimited, Charged, Counted, Uncharged};
pub use fields::{Head, MissingSources};
pub use headers::Headers;
pub use layer::{LOGGED, QUEUE, RateLimit, RateLimitLayer, ResponseHead};
pub use proxies::Proxies;
pub use ratescope::address::{IPV6_PREFIX, Networks};
pub use ratescope::clock::{Clock, FakeClock, SystemClock};
pub use refusal::{Answer, GrpcStatus, Problem, Refused};
pub use report::seen;
pub use service::{RateLimited, ResponseFuture};
pub use unidentified::Unidentified;

/// What the rate limit service shares with the layer. No promise of semver holds here.
#[doc(hidden)]
pub mod internal {
    pub use crate::fields::{bytes, text};
    pub use crate::headers::{up, waiting};
    pub use crate::outages::Outages;
    pub use crate::refusal::{RECOVERY, is_unavailable, retry};
    pub use crate::report::{NotNormal, not_normal};
    pub use crate::teller::Teller;
}

/// Runs the chapter of the library's guide that is about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../ratescope/src/guide/web.md")]
struct Chapter;

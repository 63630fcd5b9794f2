//! The layer.

mod bodies;
mod charge;
mod decide;
mod draft;
pub mod fields;
pub mod headers;
mod lasting;
mod layer;
pub mod meters;
mod prepared;
pub mod proxies;
mod queue;
pub mod refusal;
mod report;
mod service;
#[cfg(all(feature = "run", not(target_arch = "wasm32")))]
mod teller;
mod unidentified;

pub use crate::address::{IPV6_PREFIX, Networks};
pub use crate::clock::{Clock, FakeClock, SystemClock};
pub use bodies::{Bodies, BodyLimitLayer, BodyLimited, Charged, Counted, Uncharged};
pub use fields::{Head, MissingSources};
pub use headers::Headers;
pub use layer::{LOGGED, QUEUE, RateLimit, RateLimitLayer, ResponseHead};
pub use proxies::Proxies;
pub use refusal::{Answer, GrpcStatus, Problem, Refused};
pub use report::seen;
pub use service::{RateLimited, ResponseFuture};
pub use unidentified::Unidentified;
#[cfg(all(feature = "run", not(target_arch = "wasm32")))]
pub(crate) use {
    fields::text,
    refusal::{is_unavailable, retry},
    teller::Teller,
};

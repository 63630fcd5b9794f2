//! The layer.

mod bodies;
mod clock;
mod draft;
pub mod headers;
pub mod keys;
mod known;
mod layer;
pub mod meters;
mod networks;
pub mod proxies;
pub mod refused;
mod report;
mod service;
mod shared;
mod waiting;

pub use crate::address::IPV6_PREFIX;
pub use bodies::{BodyLimitLayer, BodyLimited, Charged, Counted, Uncharged};
pub use clock::{Clock, SystemClock};
pub use headers::Headers;
pub use keys::Head;
pub use layer::{QUEUE, RateLimit, RateLimitLayer, ResponseHead, TOLD};
pub use networks::Networks;
pub use proxies::Proxies;
pub use refused::{Answer, Grpc, Problem, Refused};
pub use report::seen;
pub use service::{RateLimited, ResponseFuture};

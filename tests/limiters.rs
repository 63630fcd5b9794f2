//! The promises of the limiters: which of them decide alike, which events they count, when to retry, and the
//! most they let through. Limits, periods, gaps and costs are of many orders of magnitude.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "limiters/adaptive.rs"]
mod adaptive;
#[path = "limiters/article.rs"]
mod article;
#[path = "limiters/backwards.rs"]
mod backwards;
#[path = "limiters/bound.rs"]
mod bound;
#[path = "limiters/by_hour.rs"]
mod by_hour;
#[path = "limiters/charging.rs"]
mod charging;
mod common;
#[path = "limiters/counting.rs"]
mod counting;
#[path = "limiters/domain.rs"]
mod domain;
#[path = "limiters/edges.rs"]
mod edges;
#[path = "limiters/quota.rs"]
mod quota;
#[path = "common/random.rs"]
mod random;
#[path = "limiters/retrying.rs"]
mod retrying;
#[path = "limiters/same.rs"]
mod same;
#[path = "limiters/text.rs"]
mod text;
#[path = "limiters/undoing.rs"]
mod undoing;
#[path = "limiters/worst.rs"]
mod worst;

use random::*;

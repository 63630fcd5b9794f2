//! The promises of the limiters: which of them decide alike, which events they count, when to retry, and the
//! most they let through. Limits, periods, gaps and costs are of many orders of magnitude.
#![cfg(not(target_arch = "wasm32"))]

mod adaptive;
mod article;
mod backwards;
mod bound;
mod by_hour;
mod charging;
#[path = "../common/mod.rs"]
mod common;
mod counting;
mod domain;
mod edges;
mod quota;
#[path = "../common/random.rs"]
mod random;
mod retrying;
mod same;
#[path = "../common/table.rs"]
mod table;
mod text;
mod undoing;
mod worst;

use random::*;

//! The layer, as a service and its clients meet it, with a clock and stores of the tests' own.
#![cfg(not(target_arch = "wasm32"))]

mod answers;
mod bodies;
mod cancelling;
#[allow(dead_code)]
#[path = "../../examples/client.rs"]
mod client;
mod contract;
mod costs;
#[path = "../common/doubling.rs"]
mod doubling;
#[path = "../common/far.rs"]
mod far;
mod fields;
mod flooding;
mod forging;
#[allow(dead_code)]
#[path = "../../examples/grpc.rs"]
mod grpc;
mod handlers;
mod invariants;
mod meters;
#[cfg(feature = "redis")]
mod on_redis;
mod outgoing;
mod parts;
mod reports;
#[cfg(feature = "redis")]
#[path = "../redis/server.rs"]
mod server;
mod unidentified;
mod waiting;

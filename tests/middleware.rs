//! The layer, as a service and its clients meet it, with a clock and stores of the tests' own.
#![cfg(not(target_arch = "wasm32"))]

#[path = "middleware/answers.rs"]
mod answers;
#[path = "middleware/bodies.rs"]
mod bodies;
#[path = "middleware/cancelling.rs"]
mod cancelling;
#[allow(dead_code)]
#[path = "../examples/client.rs"]
mod client;
#[path = "middleware/contract.rs"]
mod contract;
#[path = "middleware/costs.rs"]
mod costs;
#[path = "common/doubling.rs"]
mod doubling;
#[path = "common/far.rs"]
mod far;
#[path = "middleware/fields.rs"]
mod fields;
#[path = "middleware/flooding.rs"]
mod flooding;
#[path = "middleware/forging.rs"]
mod forging;
#[allow(dead_code)]
#[path = "../examples/grpc.rs"]
mod grpc;
#[path = "middleware/handlers.rs"]
mod handlers;
#[path = "middleware/invariants.rs"]
mod invariants;
#[path = "middleware/meters.rs"]
mod meters;
#[cfg(feature = "redis")]
#[path = "middleware/on_redis.rs"]
mod on_redis;
#[path = "middleware/outgoing.rs"]
mod outgoing;
#[path = "middleware/parts.rs"]
mod parts;
#[path = "middleware/reports.rs"]
mod reports;
#[cfg(feature = "redis")]
#[path = "redis/server.rs"]
mod server;
#[path = "middleware/unidentified.rs"]
mod unidentified;
#[path = "middleware/waiting.rs"]
mod waiting;

//! The rate limit service: `ratescope run`, and its core without a network.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "run/bodies.rs"]
mod bodies;
mod common;
#[path = "run/core.rs"]
mod core;
#[path = "run/files.rs"]
mod files;
#[path = "common/growth.rs"]
mod growth;
#[path = "run/grpc.rs"]
mod grpc;
#[path = "run/hostile.rs"]
mod hostile;
#[path = "run/hours.rs"]
mod hours;
#[path = "run/http.rs"]
mod http;
#[path = "run/life.rs"]
mod life;
#[path = "run/live.rs"]
mod live;
#[path = "run/live_admin.rs"]
mod live_admin;
#[path = "run/live_keys.rs"]
mod live_keys;
#[path = "redis/nodes.rs"]
mod nodes;
#[path = "run/program.rs"]
mod program;
#[path = "redis/proxy.rs"]
mod proxy;
#[path = "run/real.rs"]
mod real;
#[path = "run/replay.rs"]
mod replay;
#[path = "run/routes.rs"]
mod routes;
#[path = "redis/server.rs"]
mod server;
#[path = "common/servers.rs"]
#[allow(dead_code)] // Each test file uses its part.
mod servers;
#[path = "run/shared.rs"]
mod shared;
#[path = "common/shell.rs"]
mod shell;
#[path = "run/vectors.rs"]
mod vectors;
#[path = "redis/watched.rs"]
mod watched;

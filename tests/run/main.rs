//! The rate limit service: `ratescope run`, and its core without a network.
#![cfg(not(target_arch = "wasm32"))]

mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod core;
mod files;
#[path = "../common/growth.rs"]
mod growth;
mod grpc;
mod hostile;
mod hours;
mod http;
mod life;
mod live;
mod live_admin;
mod live_keys;
#[path = "../redis/nodes.rs"]
mod nodes;
mod program;
#[path = "../redis/proxy.rs"]
mod proxy;
mod real;
mod replay;
mod routes;
#[path = "../redis/server.rs"]
mod server;
#[path = "../common/servers.rs"]
#[allow(dead_code)] // Each test file uses its part.
mod servers;
mod shared;
#[path = "../common/shell.rs"]
mod shell;
mod vectors;
#[path = "../redis/watched.rs"]
mod watched;

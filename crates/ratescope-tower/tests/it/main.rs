//! Behaviour that users of `ratescope-tower` observe, one module a topic.

#[allow(dead_code)]
#[path = "../../examples/actix.rs"]
mod actix_example;
#[allow(dead_code)]
#[path = "../../examples/client.rs"]
mod client;
#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
#[path = "../../../../tests/common/far.rs"]
mod far;
#[allow(dead_code)]
#[path = "../../examples/grpc.rs"]
mod grpc;
#[allow(dead_code)]
#[path = "../../examples/hyper.rs"]
mod hyper_example;
mod middleware;
#[path = "../../../../tests/common/seeds.rs"]
mod seeds;
#[path = "../../../ratescope-redis/tests/it/redis/server.rs"]
mod server;
mod service;
#[allow(dead_code)]
#[path = "../../examples/service.rs"]
mod service_example;
#[path = "../../../../tests/common/shell.rs"]
mod shell;
#[allow(dead_code)]
#[path = "../../examples/tokens.rs"]
mod tokens;
mod watch;

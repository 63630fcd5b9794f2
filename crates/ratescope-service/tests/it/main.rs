//! Behaviour that users of `ratescope-service` observe, one module a topic.

mod bodies;
mod decisions;
mod files;
#[path = "../../../../tests/common/files.rs"]
mod folders;
#[path = "../../../../tests/common/growth.rs"]
mod growth;
mod keys;
mod limitador;
mod load;
#[path = "../../../ratescope-redis/tests/it/redis/nodes.rs"]
mod nodes;
#[path = "../../../ratescope-redis/tests/it/redis/proxy.rs"]
mod proxy;
mod quotas;
mod requests;
#[path = "../../../ratescope-redis/tests/it/redis/server.rs"]
mod server;
mod spelled;
mod spellings;
mod states;
mod whole;

//! Behaviour that users of `ratescope-cli` observe, one module a topic.

#[path = "../../../../tests/common/committed.rs"]
mod committed;
#[path = "../../../../tests/common/growth.rs"]
mod growth;
mod hostile;
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../ratescope/examples/limiters.rs"]
mod limiters_example;
#[path = "../../../ratescope-redis/tests/it/redis/nodes.rs"]
mod nodes;
#[path = "../../../../tests/papers.rs"]
mod papers;
#[path = "../../../../tests/common/picture.rs"]
mod picture;
#[allow(dead_code)]
#[path = "../../../ratescope-lab/examples/picture.rs"]
mod picture_example;
#[path = "../../../ratescope-redis/tests/it/redis/proxy.rs"]
mod proxy;
mod redis_cli;
mod rules_cli;
mod run;
mod serve;
#[path = "../../../ratescope-redis/tests/it/redis/server.rs"]
mod server;
#[path = "../../../../tests/common/servers.rs"]
mod servers;
#[path = "../../../../tests/common/shell.rs"]
mod shell;
mod simulate;
mod tune_cli;
#[path = "../../../ratescope-redis/tests/it/redis/watched.rs"]
mod watched;

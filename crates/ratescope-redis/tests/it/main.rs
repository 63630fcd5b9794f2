//! Behaviour that users of `ratescope-redis` observe, one module a topic.

#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../../../../tests/common/decided.rs"]
mod decided;
#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
#[path = "../../../../tests/common/files.rs"]
mod files;
#[path = "../../../../tests/common/random.rs"]
mod random;
mod redis;
#[path = "../../../../tests/common/servers.rs"]
mod servers;
#[path = "../../../../tests/common/set_back.rs"]
mod set_back;

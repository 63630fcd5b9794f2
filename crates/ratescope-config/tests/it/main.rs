//! Behaviour that users of `ratescope-config` observe, one module a topic.

#[path = "../../../../tests/common/committed.rs"]
mod committed;
#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
#[path = "../../../../tests/common/files.rs"]
mod files;
mod read;
#[path = "../../../../tests/common/seeds.rs"]
mod seeds;
#[path = "../../../../tests/common/servers.rs"]
mod servers;
#[path = "../../../../tests/common/table.rs"]
mod table;
mod write;

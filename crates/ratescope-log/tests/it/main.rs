//! Behaviour that users of `ratescope-log` observe, one module a topic.

#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
mod log;
#[path = "../../../../tests/common/seeds.rs"]
mod seeds;
#[path = "../../../../tests/common/table.rs"]
mod table;

//! Behaviour that users of `ratescope-lab` observe, one module a topic.

mod bits;
mod by_hour;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/by_hour/main.rs"]
mod by_hour_example;
mod clients;
#[path = "../../../../tests/common/committed.rs"]
mod committed;
#[path = "../../../../tests/common/mod.rs"]
mod common;
mod compare;
mod compare_view;
#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
#[path = "../../../../tests/common/files.rs"]
mod files;
mod limiters_drawn;
mod live_view;
mod memory;
mod models;
mod outlook;
mod palette;
#[path = "../../../../tests/common/picture.rs"]
mod picture;
mod plot;
mod processes;
#[path = "../../../../tests/common/recorded.rs"]
mod recorded;
#[allow(unreachable_pub)]
mod retries;
#[path = "../../../../tests/common/runs.rs"]
mod runs;
mod scenarios;
mod scenarios_drawn;
mod scope;
mod scope_view;
#[path = "../../../../tests/common/seeds.rs"]
mod seeds;
mod svg;
#[path = "../../../../tests/common/table.rs"]
mod table;
mod trace;
mod traffic;
mod tune;
mod tune_view;

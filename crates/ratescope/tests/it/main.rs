//! Behaviour that users of `ratescope` observe, one module a topic.

#[path = "../../../../tests/common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../../examples/customers.rs"]
mod customers;
#[path = "../../../../tests/common/decided.rs"]
mod decided;
#[path = "../../../../tests/common/doubling.rs"]
mod doubling;
#[path = "../../../../tests/common/far.rs"]
mod far;
mod golden;
#[allow(dead_code)]
#[path = "../../examples/hello.rs"]
mod hello;
mod interface;
#[path = "../../../../tests/common/judged.rs"]
mod judged;
mod kept;
mod limiters;
mod policy;
mod properties;
#[path = "../../../../tests/common/random.rs"]
mod random;
mod rate_limiter;
#[allow(dead_code)]
#[path = "../../examples/restart.rs"]
mod restart;
mod rules;
#[path = "../../../../tests/common/seeds.rs"]
mod seeds;
mod servers;
#[path = "../../../../tests/common/set_back.rs"]
mod set_back;
#[allow(dead_code)]
#[path = "../../examples/several.rs"]
mod several;
mod store;
#[path = "../../../../tests/common/table.rs"]
mod table;
mod text_forms;
mod vectors;
#[allow(dead_code)]
#[path = "../../examples/waiting.rs"]
mod waiting;

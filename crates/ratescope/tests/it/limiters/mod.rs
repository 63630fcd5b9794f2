//! The promises of the limiters: which of them decide alike, which events they count, when to retry, and the
//! most they let through. Limits, periods, gaps and costs are of many orders of magnitude.

mod adaptive;
mod article;
mod atomic;
mod backwards;
mod bound;
mod by_hour;
mod charging;
mod counting;
mod domain;
mod edges;
mod fixed_window;
mod invariants;
mod quota;
mod retrying;
mod same;
mod text;
mod undoing;
mod worst;

use crate::common;
use crate::random;
use crate::table;
use random::*;

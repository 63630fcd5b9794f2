//! The layer, as a service and its clients meet it, with a clock and stores of the tests' own.

mod answers;
mod axum;
mod bodies;
mod cancelling;
mod contract;
mod costs;
mod fields;
mod flooding;
mod forging;
mod handlers;
mod invariants;
mod listed;
mod meters;
mod on_redis;
mod outgoing;
mod own;
mod parts;
mod reports;
mod reqwest;
mod reservations;
mod unidentified;
mod waiting;
mod without_tower;

use crate::doubling;
use crate::far;
use crate::server;

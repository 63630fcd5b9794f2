//! The rate limit service: `ratescope run`, and its core without a network.

mod bodies;
mod core;
mod files;
mod grpc;
mod hostile;
mod http;
mod late;
mod life;
mod live;
mod live_admin;
mod live_keys;
mod past;
mod program;
mod real;
mod replay;
mod routes;
mod secrets;
mod shared;
mod spellings;
mod whole;

use crate::growth;
use crate::nodes;
use crate::server;
use crate::servers;
use crate::shell;
use crate::watched;

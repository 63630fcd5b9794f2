//! The rate limit service: `ratescope run`.

mod grpc;
mod guide;
mod hostile;
mod http;
mod keys;
mod late;
mod life;
mod live_admin;
mod load;
mod log;
mod monitoring;
mod processes;
mod program;
mod real;
#[path = "../../../../ratescope-service/tests/it/requests.rs"]
mod requests;
mod secrets;
mod shared;
mod spans;
#[path = "../../../../ratescope-service/tests/it/spelled.rs"]
mod spelled;
mod spellings;
mod tls;

use crate::nodes;
use crate::server;
use crate::servers;
use crate::shell;
use crate::watched;

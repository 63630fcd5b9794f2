//! Traefik: the middleware `rateLimit`, a token bucket that lets requests wait briefly.
//!
//! YAML, TOML and labels are read as paths with values, as in `http.middlewares.NAME.rateLimit.average`, case-insensitive.
//!
//! Source: Traefik 2 and 3, "RateLimit", and `pkg/middlewares/ratelimiter/rate_limiter.go`.

mod entries;
mod read;
mod rule;
mod write;

pub(crate) use read::read;
pub(crate) use write::{check_bucket, write};

use crate::words::has;
use crate::write::Names;

pub(crate) const NAMES: Names =
    Names { name: "traefik", title: "Traefik", file: "dynamic configuration of Traefik, YAML" };

pub(crate) fn is_known(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    has(&lower, &["#"], "ratelimit") && has(&lower, &["#"], "average")
}

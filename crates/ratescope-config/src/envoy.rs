//! Envoy: the buckets of the filter `local_ratelimit`, as YAML or JSON.
//!
//! Source: Envoy 1.40, "Local rate limit" and its protocol buffers.

mod bucket;
mod entries;
mod read;
mod write;

pub(crate) use entries::{REAL_ADDRESS, actions, entries};
pub(crate) use read::read;
pub(crate) use write::write;

use crate::words::has;
use crate::write::Names;

pub(crate) const NAMES: Names = Names { name: "envoy", title: "Envoy", file: "envoy.yaml" };

pub(crate) fn is_known(text: &str) -> bool {
    let either = |snake, camel| has(text, &["#"], snake) || has(text, &["#"], camel);
    either("token_bucket", "tokenBucket") && either("max_tokens", "maxTokens")
}

/// The shortest interval of a bucket, in milliseconds.
const SHORTEST: u64 = 50;

//! Removing keys.

use super::Redis;
use super::address::Address;
use super::keys::Scan;
use super::link::Link;
use super::options::Options;
use super::plan;
use core::time::Duration;
use ratescope::rules::Fault;
use redis::{Pipeline, from_redis_value};
use tokio::time::Instant;

/// Removes all keys of stores whose [prefix](Options::prefix) begins with `prefix`, and returns how many
/// there were. `url` is the address of a Redis or a cluster, as in
/// [`Redis::open`].
///
/// # Errors
/// When the address can't be read; when Redis can't be reached, refuses, or does not answer within ten
/// seconds; and outside of a Tokio runtime.
pub async fn clear(url: &str, prefix: &str) -> Result<u64, Fault> {
    let link = Address::read(url).and_then(|address| Link::new(address, &Options::default()));
    let link = link.map_err(Fault::failed)?;
    // The prefix stands in braces where all keys are on one node.
    Ok(all(&link, prefix).await? + all(&link, &format!("{{{prefix}")).await?)
}

impl Redis {
    /// Removes all keys with the [prefix](Options::prefix), on all nodes, and returns how many there were.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or does not answer within ten seconds.
    pub async fn clear(&self) -> Result<u64, Fault> {
        all(&self.link, &plan::begin(&self.options)).await
    }
}

/// Removes all keys that begin with this, on all nodes.
async fn all(link: &Link, begin: &str) -> Result<u64, Fault> {
    let mut removed = 0;
    for server in link.servers(in_ten_seconds()).await? {
        let mut scan = Scan::new(&server, begin);
        while let Some(keys) = scan.next().await? {
            if keys.is_empty() {
                continue;
            }
            // One by one, since in a cluster no command may have keys of several slots.
            let mut unlink = Pipeline::new();
            for key in keys {
                unlink.cmd("UNLINK").arg(key);
            }
            for count in server.send_all(unlink, 0, in_ten_seconds()).await? {
                removed += from_redis_value::<u64>(count).map_err(Fault::failed)?;
            }
        }
    }
    Ok(removed)
}

/// The deadline of an answer.
pub(super) fn in_ten_seconds() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

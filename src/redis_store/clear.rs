//! Removing keys.

use super::address::Address;
use super::link::{Link, Node};
use super::options::Options;
use crate::rules::Fault;
use redis::{RedisError, RedisResult};

/// Removes all keys of stores whose [prefix](Options::prefix) begins with `prefix` from the Redis or the
/// cluster at `url`, which is as in [`RedisStore::open`](super::RedisStore::open), and returns how many
/// there were.
///
/// # Errors
/// When the address can't be read; what Redis says, or the connection to it.
pub async fn clear(url: &str, prefix: &str) -> Result<u64, Fault> {
    let link = Link::new(&Address::new(url), &Options::default());
    let link = link.map_err(|error| Fault::Failed(error.to_string()))?;
    // The prefix stands in braces where all keys are on one node.
    Ok(all(&link, prefix).await? + all(&link, &format!("{{{prefix}")).await?)
}

/// Removes all keys that begin so, on all nodes.
pub(super) async fn all(link: &Link, begin: &str) -> Result<u64, Fault> {
    let removed = async {
        let mut removed = 0;
        for node in link.nodes().await? {
            removed += at(link, &node, begin).await?;
        }
        Ok(removed)
    };
    removed.await.map_err(|error: RedisError| Fault::Failed(error.to_string()))
}

async fn at(link: &Link, node: &Node, begin: &str) -> RedisResult<u64> {
    let (mut cursor, mut removed) = (0u64, 0);
    let pattern = format!("{}*", escaped(begin));
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1000);
        let found = link.command_at(node, &scan).await?;
        let (next, keys): (u64, Vec<Vec<u8>>) = redis::from_redis_value(found)?;
        if !keys.is_empty() {
            // In a cluster, each is sent to where it is.
            let mut unlink = redis::cmd("UNLINK");
            unlink.arg(keys);
            removed += redis::from_redis_value::<u64>(link.command(&unlink).await?)?;
        }
        cursor = next;
        if cursor == 0 {
            return Ok(removed);
        }
    }
}

/// A text as a pattern of Redis that only it matches.
fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\' | '^');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

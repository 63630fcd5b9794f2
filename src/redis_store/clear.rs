//! Removing keys.

use super::link::Link;
use super::options::Options;
use crate::rules::Fault;

/// Removes all keys that begin with `prefix` from the Redis at `url`, and returns how many there were.
///
/// # Errors
/// When the address is none; what Redis says, or the connection to it.
pub async fn clear(url: &str, prefix: &str) -> Result<u64, Fault> {
    let link = Link::new(url, &Options::default());
    by(&link.map_err(|error| Fault::Failed(error.to_string()))?, prefix).await
}

pub(super) async fn by(link: &Link, prefix: &str) -> Result<u64, Fault> {
    let removed = async {
        let (mut cursor, mut removed) = (0u64, 0);
        let pattern = format!("{}*", escaped(prefix));
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1000);
            let found = link.command(&scan).await?;
            let (next, keys): (u64, Vec<Vec<u8>>) = redis::from_redis_value(found)?;
            if !keys.is_empty() {
                let mut unlink = redis::cmd("UNLINK");
                unlink.arg(keys);
                removed += redis::from_redis_value::<u64>(link.command(&unlink).await?)?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(removed);
            }
        }
    };
    removed.await.map_err(|error: redis::RedisError| Fault::Failed(error.to_string()))
}

/// A text as a pattern of Redis that only it matches.
fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\' | '^');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

//! Listing keys.

use super::RedisStore;
use super::clear::in_ten_seconds;
use super::question::LEASES;
use super::server::Server;
use ratescope::rules::{Fault, StoredKey};
use redis::from_redis_value;
use std::collections::BTreeSet;
use std::sync::Arc;

impl RedisStore {
    /// The keys with the prefix of this store, on all nodes: at most `most`, sorted. Of more, an arbitrary part is
    /// returned.
    ///
    /// Redis scans all of its keys, some at a time, so that it answers others meanwhile. Keys that are made or removed
    /// meanwhile may be missing.
    ///
    /// The end of the key, made from the name of the rule and the shapes of its limits, finds the rule. So keys of
    /// other stores with the same prefix have no rule, nor have old keys of a rule whose limits changed.
    ///
    /// ```no_run
    /// # use ratescope_redis::RedisStore;
    /// # async fn example(store: &RedisStore) -> Result<(), ratescope::rules::Fault> {
    /// for key in store.keys(1000).await? {
    ///     println!("{} by {}", key.subject, key.rule.as_deref().unwrap_or("no rule of ours"));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or does not answer within ten seconds.
    pub async fn keys(&self, most: usize) -> Result<Vec<StoredKey>, Fault> {
        let plan = self.0.plan.load_full();
        let rules = plan.by_tag();
        let read = |key: &Vec<u8>| {
            let (subject, tag) =
                str::from_utf8(key).ok()?.strip_prefix(&plan.begin)?.rsplit_once('}')?;
            if tag.ends_with(LEASES) {
                return None;
            }
            let rule = rules.get(tag).map(|rule| rule.name().to_owned());
            Some(StoredKey { subject: subject.to_owned(), rule })
        };
        let mut found = BTreeSet::new();
        for server in self.0.redis.link.servers(in_ten_seconds()).await? {
            let mut scan = Scan::new(&server, &plan.begin);
            while found.len() < most
                && let Some(keys) = scan.next().await?
            {
                found.extend(keys.iter().filter_map(read));
            }
        }
        Ok(found.into_iter().take(most).collect())
    }
}

/// Scans a server for keys that begin with a text, some at a time.
pub(super) struct Scan<'a> {
    server: &'a Arc<Server>,
    pattern: String,
    /// Where to go on; `None` at the end.
    cursor: Option<u64>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(server: &'a Arc<Server>, begin: &str) -> Self {
        Scan { server, pattern: format!("{}*", escaped(begin)), cursor: Some(0) }
    }

    /// Returns the next keys, or `None` at the end. The list may be empty, and may repeat keys.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(1000);
        let found = self.server.send(scan, in_ten_seconds()).await?;
        let (next, keys): (u64, _) = from_redis_value(found).map_err(Fault::failed)?;
        self.cursor = (next != 0).then_some(next);
        Ok(Some(keys))
    }
}

/// Escapes a text, so that as a pattern of Redis it matches only itself.
fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\' | '^');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

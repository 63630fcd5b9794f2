//! Exceptions, kept on Redis for all processes.
//!
//! All exceptions of a domain are lines of one value. A script makes a change, so that changes at the same time are all
//! kept. The value expires with the last of them.

use super::call::Call;
use super::plan;
use super::script::Script;
use super::{Few, Inner};
use ratescope::internal::{escaped, too_many};
use ratescope::rules::{Exception, Fault};
use ratescope::time::Time;
use std::sync::Arc;

const CHANGE: &str = include_str!("lua/exceptions.lua");

const READ: &str = "return redis.call('GET', KEYS[1]) or ''";

impl Inner {
    /// The exceptions of the domain, after this change at its time, if there is one.
    pub(super) async fn exceptions(
        &self,
        change: Option<(&Exception, Time)>,
    ) -> Result<Vec<Exception>, Fault> {
        let rules = self.fallback.store.rules();
        let key =
            format!("{}exceptions:{}", plan::begin(&self.redis.options), escaped(rules.domain()));
        let (text, args) = match change {
            None => (READ, Few::new()),
            Some((exception, now)) => {
                let args = [exception.to_string(), now.as_micros().to_string()];
                (CHANGE, args.into_iter().map(String::into_bytes).collect())
            }
        };
        let call = Call {
            script: Arc::new(Script::new(text.to_owned())),
            keys: [key.into_bytes()].into_iter().collect(),
            args,
            groups: Few::new(),
            asked: 0,
            places: Few::new(),
            tells: false,
        };
        let link = &self.redis.link;
        let read = |bytes: &[u8]| core::str::from_utf8(bytes).ok().map(str::to_owned);
        let lines = link.run(&call, link.until(), read).await?;
        if lines == "!" {
            return Err(too_many());
        }
        // A line of a later version that can't be read is left alone.
        Ok(lines.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

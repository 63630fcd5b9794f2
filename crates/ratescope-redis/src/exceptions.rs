//! Exceptions, kept on Redis for all processes.
//!
//! All exceptions of a domain are lines of one value. A script makes a change, so that changes at the same time are all
//! kept. The value expires with the last of them.

use super::plan::{self, Call};
use super::script::Script;
use super::{Few, Inner};
use ratescope::internal::{escaped, too_many};
use ratescope::rules::{Exception, Fault};
use ratescope::time::Time;
use std::sync::Arc;

/// Replaces the line of the same key in the same limit, and leaves out those that are over. Returns the lines, or `!` if
/// there is no room.
const CHANGE: &str = "
local line, now, most = ARGV[1], tonumber(ARGV[2]), 1000
local of = string.match(line, '^%S+ (%S+ %S+) ')
local kept, last = {}, 0
local function keep(one)
    kept[#kept + 1] = one
    last = math.max(last, tonumber(string.match(one, '^%S+')))
end
for one in string.gmatch(redis.call('GET', KEYS[1]) or '', '[^\n]+') do
    local is_over = tonumber(string.match(one, '^%S+')) <= now
    if not is_over and string.match(one, '^%S+ (%S+ %S+) ') ~= of then keep(one) end
end
if tonumber(string.match(line, '^%S+')) > now then
    if #kept >= most then return '!' end
    keep(line)
end
if #kept == 0 then
    redis.call('UNLINK', KEYS[1])
    return ''
end
local text = table.concat(kept, '\n')
redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', math.ceil((last - now) / 1000) + 1000))
return text
";

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

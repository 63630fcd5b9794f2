//! Cloudflare: rate limiting rules for its Rulesets API.
//!
//! Source: Cloudflare, "Rate limiting rules", "Rate limiting parameters"; and its blog, "How we built
//! rate limiting capable of scaling to millions of domains", for the [sliding
//! counter](ratescope::limit::sliding_counter).

use super::field::{Field, fields, no_user};
use super::{Notes, Written, each, is_whole};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};

/// The periods that Cloudflare offers, in seconds.
const PERIODS: [f64; 6] = [10.0, 60.0, 120.0, 300.0, 600.0, 3600.0];

pub(super) fn write(limits: &[Limit], notes: &mut Notes) -> Written {
    let rules = each(limits, |n, limit| {
        let AnyLimiter::SlidingCounter(counter) = &limit.limiter else {
            let problem = "it has a counter only; write a limit such as sliding-counter 500/1m";
            return Err(problem.to_owned());
        };
        let count = counter.limit().count();
        let secs = counter.limit().per().secs();
        if !PERIODS.contains(&secs) {
            return Err("its periods are 10s, 1m, 2m, 5m, 10m and 1h".to_owned());
        }
        if !is_whole(count) {
            return Err("its requests are a whole number from 1".to_owned());
        }
        let keys = characteristics(&limit.per)?;
        let comma = if n == limits.len() { "" } else { "," };
        Ok(format!(
            "  {{\n    \"description\": \"{limit}\",\n    \"expression\": \"true\",\n    \
             \"action\": \"block\",\n    \"ratelimit\": {{\n      \"characteristics\": [{keys}],\n      \
             \"period\": {secs},\n      \"requests_per_period\": {count},\n      \
             \"mitigation_timeout\": 0\n    }}\n  }}{comma}\n"
        ))
    })?;
    notes.add("Cloudflare counts in each of its data centers for itself");
    notes.add(
        "a mitigation_timeout of 0 refuses what is above the rate, and no more; not every plan has \
         it, and with another everything of the sender is refused for that long",
    );
    if limits.len() > 1 {
        notes.add("a request that one rule refuses may have counted in others");
    }
    Ok(format!("[\n{rules}]\n"))
}

/// The characteristics by which Cloudflare counts requests separately, always with its data center.
fn characteristics(per: &Per) -> Result<String, String> {
    let mut names = vec!["\"cf.colo.id\"".to_owned()];
    for field in fields(per)? {
        names.push(match field {
            Field::Ip => "\"ip.src\"".to_owned(),
            Field::Host => "\"http.host\"".to_owned(),
            Field::Path => "\"http.request.uri.path\"".to_owned(),
            Field::Method => {
                return Err("it does not tell requests apart by their method".to_owned());
            }
            Field::User => return Err(no_user()),
            Field::Header(header) => format!("\"http.request.headers[\\\"{header}\\\"]\""),
        });
    }
    Ok(names.join(", "))
}

//! A policy as descriptors.

use super::SHORTEST;
use super::entries::{REAL_ADDRESS, actions, entries};
use crate::Addresses;
use crate::write::{Notes, Written, each, token_bucket};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::envoy::Envoy;
use ratescope::policy::Limit;

/// The number of buckets that Envoy keeps for a descriptor with a wildcard; its default is 20.
const BUCKETS: usize = 100_000;

const BEGIN: &str = "\
# In http_filters, before the router:
- name: envoy.filters.http.local_ratelimit
  typed_config:
    \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
    stat_prefix: ratescope
    filter_enabled: { default_value: { numerator: 100, denominator: HUNDRED } }
    filter_enforced: { default_value: { numerator: 100, denominator: HUNDRED } }
";

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut rate_limits = String::new();
    let descriptors = each(limits, |n, limit| {
        let own = own(limit, notes)?;
        let entries = entries(&limit.per, (limits.len() > 1).then_some(n), addresses, notes)?;
        rate_limits += &actions(&entries, "    ");
        warn(&own, notes);
        let keys: String = entries.iter().map(|entry| entry.descriptor()).collect();
        let burst = own.burst();
        let fill = own.fill().count();
        let interval = own.fill().per().as_secs_f64();
        Ok(format!(
            "    - entries:\n{keys}      token_bucket: {{ max_tokens: {burst}, \
             tokens_per_fill: {fill}, fill_interval: {interval}s }}\n"
        ))
    })?;
    let shared = shared_interval(limits, notes)?;
    let wild = limits.iter().any(|limit| !limit.per.fields().is_empty());
    if wild {
        notes.add(format!(
            "Envoy keeps {BUCKETS} buckets of a descriptor here, and 20 unless it is told so: a \
             client with more keys than that evades the limit"
        ));
    }
    if limits.len() > 1 {
        notes.add(
            "Envoy takes from one bucket after the other, the slowest first: a request that a \
             later one refuses has paid the first",
        );
    }
    let kept =
        if wild { format!("    max_dynamic_descriptors: {BUCKETS}\n") } else { String::new() };
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    Ok(format!(
        "{client}{BEGIN}    # For requests that no descriptor matches: in effect no limit.\n    \
         token_bucket: {{ max_tokens: 4294967295, tokens_per_fill: 4294967295, fill_interval: {shared}s }}\n    \
         always_consume_default_token_bucket: false\n{kept}    rate_limits:\n{rate_limits}    descriptors:\n{descriptors}"
    ))
}

/// An interval in seconds of which those of all limits are multiples, as Envoy wants that of the filter's own bucket.
fn shared_interval(limits: &[Limit], notes: &mut Notes) -> Result<f64, (Option<String>, String)> {
    let mut shared = 0;
    for limit in limits {
        // A limit that can't be written was reported where it was tried.
        let Ok(own) = own(limit, notes) else { continue };
        let millis = libm::round(own.fill().per().as_secs_f64() * 1e3) as u64;
        shared = greatest_common_divisor(shared, millis);
    }
    if shared < SHORTEST && limits.len() > 1 {
        let problem = "its intervals must be multiples of one of at least 50ms";
        return Err((None, problem.to_owned()));
    }
    Ok(shared as f64 / 1e3)
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The limiter of Envoy that decides as the limit does.
fn own(limit: &Limit, notes: &mut Notes) -> Result<Envoy, String> {
    if let AnyLimiter::Envoy(envoy) = &limit.limiter {
        return Ok(*envoy);
    }
    let problem = "it has a bucket only; write a limit such as envoy 5/1s burst 10";
    let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
    if burst != libm::floor(burst) {
        return Err("its burst is a whole number of events".to_owned());
    }
    let envoy = Envoy::new(rate, burst as u64).map_err(|e| e.to_string())?;
    notes.instead(
        limit,
        &envoy,
        "which counts in doubles: an event at the very edge may be refused",
    );
    Ok(envoy)
}

fn warn(own: &Envoy, notes: &mut Notes) {
    let count = own.fill().count();
    let per = own.fill().per();
    if count > 1.0 {
        let each = libm::round(per.as_secs_f64() / count * 1e6) / 1e6;
        notes.add(format!(
            "Envoy's tokens drip, for {count}/{per} one each {each}s, and the end of the interval brings \
             nothing"
        ));
    }
}

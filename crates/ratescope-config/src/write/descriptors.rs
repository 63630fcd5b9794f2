//! The rate limit service that Envoy calls: descriptors, and the actions that produce them.
//!
//! Source: `envoyproxy/ratelimit`, README, "The rate limit service configuration". Limits are fixed
//! windows of one clock unit, in UTC.

use super::envoy::{REAL_ADDRESS, actions, entries};
use super::{Addresses, Notes, Written, each};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;
use ratescope::rate::Rate;

/// The units of a limit, with their lengths in seconds.
const UNITS: [(&str, f64); 4] =
    [("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86_400.0)];

pub(super) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut rate_limits = String::new();
    let descriptors = each(limits, |n, limit| {
        let AnyLimiter::FixedWindow(window) = &limit.limiter else {
            let problem = "it has fixed windows only; write a limit such as 10/1m";
            return Err(problem.to_owned());
        };
        let unit = unit(window.limit())?;
        let entries = entries(&limit.per, (limits.len() > 1).then_some(n), addresses, notes)?;
        rate_limits += &actions(&entries, "# ");
        let mut text = String::new();
        for (depth, entry) in entries.iter().enumerate() {
            let indent = "  ".repeat(depth);
            if depth > 0 {
                text += &format!("{indent}descriptors:\n");
            }
            text += &format!("{indent}- key: {}\n", entry.key());
            if let Some(value) = entry.value() {
                text += &format!("{indent}  value: {value}\n");
            }
        }
        if entries.iter().filter(|entry| entry.value().is_none()).count() > 1 {
            notes.add(
                "the service joins the values of a key by _ and does not escape it: values with _ \
                 in them may make the same key",
            );
        }
        let indent = "  ".repeat(entries.len());
        let count = window.limit().count();
        Ok(format!("{text}{indent}rate_limit: {{ unit: {unit}, requests_per_unit: {count} }}\n"))
    })?;
    if limits.len() > 1 {
        notes.add("the service counts a request in every limit, also when another refuses it");
    }
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    let client: String = client.lines().map(|line| format!("# {line}\n")).collect();
    Ok(format!(
        "domain: ratescope\ndescriptors:\n{descriptors}\
         \n# In the route of Envoy, whose filter has the domain ratescope:\n# rate_limits:\n\
         {rate_limits}{client}"
    ))
}

fn unit(limit: Rate) -> Result<&'static str, String> {
    let count = limit.count();
    let secs = limit.per().secs();
    let whole = count == libm::floor(count) && count <= f64::from(u32::MAX);
    let unit = UNITS.iter().find(|(_, length)| *length == secs);
    match unit {
        Some((name, _)) if whole => Ok(name),
        Some(_) => Err("its limits are whole numbers below 2^32".to_owned()),
        None => Err("its windows are 1s, 1m, 1h or 1d".to_owned()),
    }
}

//! Caddy, with the plugin `mholt/caddy-ratelimit`: a log of the last events of each key.
//!
//! Source: its `caddyfile.go`, `handler.go` and `ringbuffer.go`.

use super::field::{Field, fields, joined};
use super::{Addresses, Notes, Written, each, is_whole};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};
use ratescope::time::Span;

pub(super) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let zones = each(limits, |n, limit| {
        let AnyLimiter::SlidingLog(log) = &limit.limiter else {
            let problem = "its plugin keeps a log only; write a limit such as sliding-log 10/1m";
            return Err(problem.to_owned());
        };
        let count = log.limit().count();
        if !is_whole(count) {
            return Err("its number of events must be whole, and at least 1".to_owned());
        }
        let key = key(&limit.per, addresses, notes)?;
        let window = duration(log.limit().per())?;
        Ok(format!(
            "\tzone limit{n} {{\n\t\tkey {key}\n\t\twindow {window}\n\t\tevents {count}\n\t}}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "Caddy asks one zone after the other: a request that a later one refuses has \
                   counted in those before",
        );
    }
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    Ok(format!(
        "{client}# In a site, with the plugin github.com/mholt/caddy-ratelimit and, in the global options,\n\
         # order rate_limit before basic_auth:\nrate_limit {{\n{zones}}}\n"
    ))
}

/// The options by which Caddy takes the client from X-Forwarded-For, from 2.8 on.
const REAL_ADDRESS: &str = "\
# In the global options, as clients come through proxies of a private network:
servers {
\ttrusted_proxies static private_ranges
\ttrusted_proxies_strict
}

";

/// A span in Go's syntax.
///
/// # Errors
/// When it is not a whole number of microseconds.
pub(super) fn duration(span: Span) -> Result<String, String> {
    for (unit, per_second) in [("s", 1.0), ("ms", 1e3), ("us", 1e6)] {
        let number = libm::round(span.secs() * per_second);
        if number / per_second == span.secs() {
            return Ok(format!("{number}{unit}"));
        }
    }
    Err("its periods are whole microseconds".to_owned())
}

fn key(per: &Per, addresses: Addresses, notes: &mut Notes) -> Result<String, String> {
    let fields = fields(per)?;
    joined(&fields).into_iter().for_each(|note| notes.add(note));
    let names: Vec<String> = fields.iter().map(|field| name(field, addresses, notes)).collect();
    Ok(match names.as_slice() {
        [] => "all".to_owned(),
        [one] => one.clone(),
        _ => format!("\"{}\"", names.join(" ")),
    })
}

fn name(field: &Field, addresses: Addresses, notes: &mut Notes) -> String {
    let name = match field {
        Field::Ip if addresses.forwarded => {
            if addresses.has_networks() {
                notes.add("behind a proxy, Caddy counts each address, and no networks");
            }
            return "{http.vars.client_ip}".to_owned();
        }
        Field::Ip if addresses.has_networks() => {
            let Addresses { ipv4_prefix, ipv6_prefix, .. } = addresses;
            return format!("{{http.request.remote.host/{ipv4_prefix},{ipv6_prefix}}}");
        }
        Field::Ip => "remote.host",
        Field::Host => "host",
        Field::Path => "uri.path",
        Field::Method => "method",
        Field::User => {
            notes.add("Caddy knows the user only after basic_auth: order rate_limit after it");
            return "{http.auth.user.id}".to_owned();
        }
        Field::Header(header) => return format!("{{http.request.header.{header}}}"),
    };
    format!("{{http.request.{name}}}")
}

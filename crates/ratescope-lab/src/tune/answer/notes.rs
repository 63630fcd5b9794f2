//! Notes on a configuration: how the server counts differently from how the log was read.

use super::Choices;
use crate::tune::Imported;
use core::net::Ipv6Addr;
use ratescope::internal::plural;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Per;
use ratescope_config::{Addresses, Target};
use ratescope_log::Filter;

impl Choices {
    /// The differences between the events of the log and the server's events, one sentence each.
    pub(super) fn notes(&self, limiter: &AnyLimiter, per: &Per) -> Vec<String> {
        let options = &self.reading.options;
        let server = self.target;
        // In Rust, the program itself chooses the events and their fields.
        if server == Target::Rust {
            return Vec::new();
        }
        // The time span of the log makes no difference to a server.
        let Filter { paths, methods, statuses, messages, also, not, .. } = options.filter.clone();
        let before = Filter { paths, methods, also, not, ..Filter::default() };
        let after = Filter { statuses, messages, ..Filter::default() };
        let chosen = (!before.is_empty()).then(|| match server {
            // nftables sees connections, not requests.
            Target::Nftables => format!(
                "this limit was chosen for those with {before} only, but {server} counts every new \
                 connection"
            ),
            _ => format!(
                "this limit was chosen for requests with {before} only; put it where {server} counts \
                 no others"
            ),
        });
        // fail2ban also reads a log, so it knows the responses.
        let reads_log = server == Target::Fail2ban;
        let answered = (!after.is_empty() && !reads_log).then(|| {
            format!(
                "this limit was chosen for requests with {after} only, but {server} counts a request \
                 before its answer is known: it counts all requests, and refuses more than is said here"
            )
        });
        let by_path = per.fields().iter().any(|field| field == "path");
        let depth = options.path_depth.filter(|_| by_path).map(|depth| {
            let s = plural(u64::from(depth.get()));
            format!(
                "above, the first {depth} segment{s} of a path count; for {server}, all of them"
            )
        });
        let burst = match limiter {
            AnyLimiter::Nginx(l) if l.burst() > 0 => Some(format!(
                "nginx's burst={} does not count the first request, so bursts of {} pass",
                l.burst(),
                l.burst() + 1
            )),
            _ => None,
        };
        let dry = match server {
            Target::Nginx => Some(
                "add limit_req_dry_run on, and nginx only logs the requests that it would refuse",
            ),
            Target::Envoy => Some(
                "give filter_enforced the numerator 0, and the counter rate_limited says how many requests it \
                 would refuse",
            ),
            Target::Descriptors => Some(
                "add shadow_mode: true to each descriptor, and the service only counts the requests that it \
                 would refuse",
            ),
            Target::Cloudflare => Some("let the action be log, if the plan has it"),
            Target::Haproxy => Some(
                "write set-header x-over-limit 1 in place of deny deny_status 429, and the server behind \
                 sees which requests would be refused",
            ),
            Target::Exim => Some(
                "write warn in place of deny and log_message in place of message, and Exim only logs the \
                 mails that it would refuse; with defer in place of deny, and leaky in place of strict, senders \
                 try refused mails again later",
            ),
            Target::Nftables => Some(
                "write counter in place of drop, and nftables only counts the packets that it would refuse",
            ),
            Target::Fail2ban => {
                Some("add banaction = dummy, and fail2ban only writes to its log whom it would ban")
            }
            _ => None,
        };
        let last = (server == Target::Exim).then(|| {
            "the log has only accepted mails, and Exim also counts those that a later condition refuses, so \
             put this last"
                .to_owned()
        });
        let dry = dry.map(|how| format!("to try it first without refusing anything, {how}"));
        [dry, last, burst, chosen, answered, depth].into_iter().flatten().collect()
    }

    /// Returns an error if costs come from a field or the highest cost is not 1, since a server counts each request as
    /// 1; but not for Rust, nor for costs that Exim counts.
    pub(super) fn check_costs(&self, highest: f64) -> Result<(), String> {
        let cost = match self.reading.field_of_costs() {
            Some(name) if self.target.counts(name) => return Ok(()),
            Some(name) => name,
            _ if highest != 1.0 => "cost",
            _ => return Ok(()),
        };
        let server = self.target;
        match server {
            Target::Rust => Ok(()),
            _ => Err(format!(
                "a request counts as its {cost} above, and as 1 for {server}; let each count as 1, or \
                 write the limit for Rust"
            )),
        }
    }
}

impl Imported {
    /// How the clients' addresses were counted.
    pub fn addresses(&self) -> Addresses {
        Addresses {
            ipv4_prefix: 32,
            ipv6_prefix: self.ipv6_prefix().unwrap_or(128),
            // The names of the formats say where the address comes from.
            forwarded: self.formats().iter().any(|format| format.contains("X-Forwarded-For")),
        }
    }

    /// The prefix of the first client with an IPv6 address or network, since a summary does not have the options of
    /// reading.
    pub fn ipv6_prefix(&self) -> Option<u8> {
        let bits = |text: &str| {
            let (address, bits) = text.split_once('/').unwrap_or((text, "128"));
            address.parse::<Ipv6Addr>().ok().and(bits.parse().ok()).filter(|bits| *bits <= 128)
        };
        let clients = &self.summary.clients;
        (0..clients.len()).find_map(|place| clients.key(place).split(['=', ',']).find_map(bits))
    }
}

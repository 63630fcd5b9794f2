//! A policy as sets and rules.

use crate::Addresses;
use crate::field::{Field, fields};
use crate::write::{Notes, Written, each, is_whole, token_bucket, whole_count};
use core::net::Ipv6Addr;
use ipnet::Ipv6Net;
use ratescope::policy::Limit;
use ratescope::rate::Rate;
use ratescope::time::Span;

const UNITS: [(&str, Span); 5] = [
    ("second", Span::from_secs(1)),
    ("minute", Span::from_mins(1)),
    ("hour", Span::from_hours(1)),
    ("day", Span::from_hours(24)),
    ("week", Span::from_hours(24 * 7)),
];

/// The condition of every rule: a new connection to the port of ssh, to be replaced by the user.
const PORT: &str = "tcp dport 22 ct state new";

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if addresses.forwarded {
        let problem = "it sees the address that connects, and no X-Forwarded-For";
        return Err((limits.first().map(ToString::to_string), problem.to_owned()));
    }
    addresses.warn_of_ipv4(notes);
    let mut rules = String::new();
    let sets = each(limits, |n, limit| {
        let problem = "it has a token bucket only; write a limit such as token-bucket 6/1h burst 5";
        let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
        let over = format!("limit rate over {} burst {burst} packets", rate_text(rate, burst)?);
        match fields(&limit.per)?.as_slice() {
            [] => {
                rules += &format!("\t\t{PORT} {over} drop\n");
                return Ok(String::new());
            }
            [Field::Ip] => {}
            _ => return Err("it knows addresses only; write per ip or per all".to_owned()),
        }
        // By then the bucket is full again, as a new one is, so dropping it changes nothing.
        let timeout = libm::ceil(burst / rate.frequency());
        let mask = mask(addresses.ipv6_prefix);
        rules += &format!(
            "\t\t{PORT} update @limit{n} {{ ip saddr {over} }} drop\n\
             \t\t{PORT} update @limit{n}v6 {{ ip6 saddr{mask} {over} }} drop\n"
        );
        let set = |name: &str, kind: &str| {
            format!(
                "\tset {name} {{\n\t\ttype {kind}\n\t\tsize 65535\n\t\tflags dynamic,timeout\n\
                 \t\ttimeout {timeout}s\n\t}}\n"
            )
        };
        Ok(set(&format!("limit{n}"), "ipv4_addr") + &set(&format!("limit{n}v6"), "ipv6_addr"))
    })?;
    notes.add(
        "nftables counts new connections, not requests or failed logins: one may bring several, and one that \
         succeeds counts, too",
    );
    notes.add(
        "a set holds 65,535 addresses; those beyond are not limited until others are forgotten",
    );
    if limits.len() > 1 {
        notes.add(
            "nftables asks one rule after the other: a connection that a later one drops has counted in \
             those before",
        );
    }
    Ok(format!(
        "# The port is that of ssh; write that of your service.\n\
         table inet ratescope {{\n{sets}\tchain input {{\n\
         \t\ttype filter hook input priority filter; policy accept;\n{rules}\t}}\n}}\n"
    ))
}

/// A rate as nftables writes it, as in `6/hour`.
///
/// # Errors
/// When nftables does not have the rate or the burst.
pub(crate) fn rate_text(rate: Rate, burst: f64) -> Result<String, String> {
    if !is_whole(burst) || burst > 65_535.0 {
        return Err("its burst is a whole number from 1 to 65,535".to_owned());
    }
    let count = |span| whole_count(rate, span).filter(|count| *count <= 1e6);
    let found = UNITS.iter().find_map(|(unit, span)| Some(format!("{}/{unit}", count(*span)?)));
    let problem = "its rates are whole numbers a second, minute, hour, day or week";
    found.ok_or_else(|| problem.to_owned())
}

/// The mask that cuts an IPv6 address to the prefix of its client, as in ` & ffff:ffff:ffff:ffff::`; empty
/// if each address is a client.
fn mask(prefix: u8) -> String {
    let network = Ipv6Net::new(Ipv6Addr::UNSPECIFIED, prefix).ok().filter(|_| prefix < 128);
    network.map_or(String::new(), |network| format!(" & {}", network.netmask()))
}

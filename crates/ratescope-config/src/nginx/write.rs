//! A policy as zones and their uses.

use crate::Addresses;
use crate::field::{Field, fields, joined};
use crate::write::{Notes, PROXIES, Written, each, is_whole, token_bucket, whole_count};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::policy::{Limit, Per};
use ratescope::rate::Rate;
use ratescope::time::Span;

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut uses = String::new();
    let client = client(addresses, notes);
    let modules = modules(addresses);
    let zones = each(limits, |n, limit| {
        let nginx = own(limit, notes)?;
        let key = key(&limit.per, client, notes)?;
        warn(&nginx, notes);
        uses += &format!("limit_req zone=limit{n}{};\n", words(&nginx));
        let unit = unit(&nginx);
        let count = nginx.rate().count();
        Ok(format!("limit_req_zone {key} zone=limit{n}:10m rate={count}r/{unit};\n"))
    })?;
    Ok(format!(
        "# In the http block:\n{modules}{zones}\n# In a server or location block:\n{uses}limit_req_status 429;\n"
    ))
}

/// The limiter of nginx that decides as the limit does.
pub(super) fn own(limit: &Limit, notes: &mut Notes) -> Result<Nginx, String> {
    let ((rate, size), delay) = match &limit.limiter {
        AnyLimiter::Nginx(nginx) => return Ok(*nginx),
        AnyLimiter::LeakyBucket(bucket) => ((bucket.rate(), bucket.queue()), Delay::Beyond(0)),
        other => {
            let problem =
                "it has a bucket only; write a limit such as nginx 10/1s burst 20 nodelay";
            (token_bucket(other).ok_or(problem)?, Delay::Never)
        }
    };
    if !is_whole(size) {
        return Err("its burst is a whole number of events".to_owned());
    }
    let nginx = Nginx::new(whole_rate(rate)?, size as u64 - 1, delay).map_err(|e| e.to_string())?;
    notes.instead(limit, &nginx, "which counts in whole milliseconds and thousandths");
    Ok(nginx)
}

/// The rate as a whole number a second or, if this is not possible, a minute.
fn whole_rate(rate: Rate) -> Result<Rate, String> {
    for per in [Span::from_secs(1), Span::from_mins(1)] {
        if let Some(count) = whole_count(rate, per) {
            return Rate::new(count, per).map_err(|e| e.to_string());
        }
    }
    let minute = libm::round(rate.frequency() * 60e6) / 1e6;
    Err(format!("its rates are whole numbers a second or a minute, and this is {minute} a minute"))
}

fn unit(nginx: &Nginx) -> &'static str {
    if nginx.rate().per() == Span::from_secs(1) { "s" } else { "m" }
}

/// The words after the zone.
fn words(nginx: &Nginx) -> String {
    let burst = match nginx.burst() {
        0 => String::new(),
        burst => format!(" burst={burst}"),
    };
    match nginx.delay() {
        Delay::Beyond(0) => burst,
        Delay::Beyond(first) => format!("{burst} delay={first}"),
        Delay::Never => burst + " nodelay",
    }
}

fn warn(nginx: &Nginx, notes: &mut Notes) {
    let count = nginx.rate().count();
    let per = nginx.rate().per().as_secs_f64();
    let kept = libm::round(nginx.per_second() * per * 1e3) / 1e3;
    if kept != count {
        notes.add(format!(
            "nginx keeps {count}r/m in whole thousandths a second, and so as {kept} a minute"
        ));
    }
    if nginx.burst() == 0 {
        let gap = libm::ceil(1e3 / nginx.per_second());
        notes.add(format!(
            "without a burst, the second of two requests within {gap}ms is refused, whatever came \
             before"
        ));
    }
}

/// The variables for the address of a client: alone, and in a key with others.
type Client = [&'static str; 2];

/// Tells whether the map can cut addresses to the IPv6 networks of clients: it cuts between two bytes, so the prefix
/// must be a multiple of 8.
const fn has_map(addresses: Addresses) -> bool {
    matches!(addresses.ipv6_prefix, 1..128) && addresses.ipv6_prefix.is_multiple_of(8)
}

pub(super) fn client(addresses: Addresses, notes: &mut Notes) -> Client {
    addresses.warn_of_ipv4(notes);
    if has_map(addresses) {
        return ["$limit_client"; 2];
    }
    if addresses.ipv6_prefix < 128 {
        notes.add("its IPv6 networks have whole bytes, so each IPv6 address is a client here");
    }
    ["$binary_remote_addr", "$remote_addr"]
}

/// The directives that find the client: the module for real addresses, and a map from an address to its network. A
/// value of the map begins with 4 for an IPv4 address, even if it comes as IPv6, and with 6 for an IPv6 network, so
/// that the two are never equal.
fn modules(addresses: Addresses) -> String {
    let mut text = String::new();
    if addresses.forwarded {
        text += "# The client as its proxies name it. They must be these, and no others:\n";
        text.extend(PROXIES.map(|network| format!("set_real_ip_from {network};\n")));
        text += "real_ip_header X-Forwarded-For;\nreal_ip_recursive on;\n";
    }
    if has_map(addresses) {
        let prefix = addresses.ipv6_prefix;
        let net = prefix / 8;
        let rest = 16 - prefix / 8;
        text += &format!(
            "# An IPv6 network of {prefix} bits is one client.\nmap $binary_remote_addr $limit_client {{\n    \
             default \"4$binary_remote_addr\";\n    \
             \"~^\\x00{{10}}\\xff{{2}}(?s)(?<limit_ipv4>.{{4}})\\z\" \"4$limit_ipv4\";\n    \
             \"~^(?s)(?<limit_net>.{{{net}}}).{{{rest}}}\\z\" \"6$limit_net\";\n}}\n"
        );
    }
    text
}

/// The key by which requests are counted. It is never empty: nginx does not limit an empty key.
fn key(per: &Per, [alone, joint]: Client, notes: &mut Notes) -> Result<String, String> {
    let fields = fields(per)?;
    joined(&fields).into_iter().for_each(|note| notes.add(note));
    if fields.contains(&Field::User) {
        notes.add(
            "nginx limits before it checks passwords: $remote_user is the name that a client \
             gives, and a client that gives others evades the limit",
        );
    }
    let names: Vec<String> = fields.iter().map(|field| name(field, joint)).collect();
    Ok(match fields.as_slice() {
        [] => "all".to_owned(),
        [Field::Ip] => alone.to_owned(),
        [Field::Host | Field::Path | Field::Method] => names.concat(),
        [_] => format!("\"={}\"", names.concat()),
        _ => format!("\"{}\"", names.join(" ")),
    })
}

fn name(field: &Field, client: &str) -> String {
    match field {
        Field::Ip => client.to_owned(),
        Field::Host => "$host".to_owned(),
        Field::Path => "$uri".to_owned(),
        Field::Method => "$request_method".to_owned(),
        Field::User => "$remote_user".to_owned(),
        Field::Header(header) => format!("$http_{}", header.replace('-', "_")),
    }
}

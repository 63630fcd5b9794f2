//! A policy as middlewares.

use crate::Addresses;
use crate::caddy::duration;
use crate::field::{Field, fields, no_user};
use crate::write::{Notes, Written, each, is_whole, token_bucket};
use ratescope::policy::{Limit, Per};
use ratescope::rate::Rate;

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let middlewares = each(limits, |n, limit| {
        let problem =
            "it has a token bucket only; write a limit such as token-bucket 10/1s burst 20";
        let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
        check_bucket(rate, burst)?;
        let wait = longest_wait(rate);
        notes.add(format!(
            "Traefik lets a request that comes up to {}ms before its token wait for it, and pass",
            wait * 1e3
        ));
        let average = rate.count();
        let period = duration(rate.per())?;
        let source = source(&limit.per, addresses)?;
        Ok(format!(
            "    limit{n}:\n      rateLimit:\n        average: {average}\n        period: {period}\n\
             \x20       burst: {burst}\n        sourceCriterion:\n          {source}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "each middleware counts for itself: a request that a later one refuses has \
                   counted in those before",
        );
    }
    if addresses.forwarded {
        notes.add(
            "Traefik believes X-Forwarded-For only of the networks in forwardedHeaders.trustedIPs of \
             its entry point; behind two proxies the depth is 2",
        );
    }
    if addresses.ipv6_prefix < 128 {
        notes.add("Traefik has ipv6Subnet from 3.1 on");
    }
    addresses.warn_of_ipv4(notes);
    notes.add("Traefik keeps 65,536 senders, and forgets one for another");
    Ok(format!("http:\n  middlewares:\n{middlewares}"))
}

/// Checks that Traefik has a bucket of this rate and burst, and keeps it until it is full again.
pub(crate) fn check_bucket(rate: Rate, burst: f64) -> Result<(), String> {
    if !is_whole(rate.count()) || !is_whole(burst) {
        return Err("its average and burst are whole numbers from 1".to_owned());
    }
    // The bucket must be full again before Traefik drops it: after two seconds of silence or, at a rate below one a
    // second, a second after the time of one token.
    let a_second = rate.frequency();
    let kept = if a_second >= 1.0 { 2.0 } else { 1.0 + libm::floor(1.0 / a_second) };
    let most = libm::floor(kept * a_second);
    if burst <= most {
        return Ok(());
    }
    Err(format!(
        "it forgets a sender that is silent for {kept}s, and lets the whole burst through again, which \
         takes longer to come back; at this rate the burst is {most} at most"
    ))
}

/// How long a request may wait for its token, in seconds.
fn longest_wait(rate: Rate) -> f64 {
    let a_second = libm::floor(rate.frequency()).max(1.0);
    libm::floor(1e9 / (a_second * 2.0)) / 1e9
}

fn source(per: &Per, addresses: Addresses) -> Result<String, String> {
    match fields(per)?.as_slice() {
        [Field::Ip] => Ok(strategy(addresses)),
        [Field::Host] => Ok("requestHost: true".to_owned()),
        [Field::Header(header)] => Ok(format!("requestHeaderName: {header}")),
        [Field::User] => Err(no_user()),
        _ => Err("its keys are the address, the host or a header, and one of them only".to_owned()),
    }
}

/// The `ipStrategy`, which chooses the address of the sender, and its prefix.
fn strategy(addresses: Addresses) -> String {
    let depth = addresses.forwarded.then(|| "depth: 1".to_owned());
    let prefix = addresses.ipv6_prefix;
    let subnet = (prefix < 128).then(|| format!("ipv6Subnet: {prefix}"));
    match depth.into_iter().chain(subnet).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "ipStrategy: {}".to_owned(),
        some => format!("ipStrategy: {{ {some} }}"),
    }
}

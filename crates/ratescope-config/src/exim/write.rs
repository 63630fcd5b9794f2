//! A policy as statements.

use crate::Addresses;
use crate::write::{Notes, Written, each};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};

/// Exim's word for the cost of a mail, and the ACLs in which Exim knows the cost. The cost is the value of a field, or
/// 1 without a field. `None` if Exim can't count the field.
pub(crate) fn counted(cost: Option<&str>) -> Option<(&'static str, &'static str)> {
    match cost {
        None => Some(("per_mail", "acl_smtp_mail, acl_smtp_rcpt or acl_smtp_data")),
        Some("bytes") => Some(("per_byte", "acl_smtp_data")),
        Some("recipients") => Some(("per_rcpt", "acl_smtp_data")),
        Some(_) => None,
    }
}

pub(crate) fn write(
    limits: &[Limit],
    addresses: Addresses,
    cost: Option<&str>,
    notes: &mut Notes,
) -> Written {
    let unknown = || (None, format!("it counts no {} of a mail", cost.unwrap_or_default()));
    let (per_cost, acls) = counted(cost).ok_or_else(unknown)?;
    addresses.warn_of_ipv4(notes);
    let statements = each(limits, |n, limit| {
        let AnyLimiter::Exim(exim) = &limit.limiter else {
            let problem = "it measures a rate of its own; write a limit such as exim 10/1m strict";
            return Err(problem.to_owned());
        };
        if exim.measures_only() {
            return Err("a limit of 0 only measures; write one above 0".to_owned());
        }
        let per = exim.limit.per();
        if per.as_secs_f64() != libm::floor(per.as_secs_f64()) {
            return Err("its periods are whole seconds".to_owned());
        }
        let mut conditions = String::new();
        for (condition, note) in limit.per.fields().iter().filter_map(|name| condition(name)) {
            conditions += condition;
            notes.add(note);
        }
        let number = (limits.len() > 1).then(|| format!("limit{n}"));
        let parts = number.into_iter().map(Ok).chain(key_parts(&limit.per, addresses));
        let key = parts.collect::<Result<Vec<String>, String>>()?.join(" / ");
        let count = exim.limit.count();
        let mode = exim.mode;
        Ok(format!(
            "deny\n{conditions}  message   = $sender_rate in $sender_rate_period is over the limit of \
             $sender_rate_limit\n  ratelimit = {count} / {per} / {per_cost} / {mode} / {key}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "Exim reads one statement after the other: a message that a later limit refuses has \
             counted in the earlier ones, and one that an earlier limit refuses does not count in \
             the later",
        );
    }
    Ok(format!("# In the ACL of {acls}:\n{statements}"))
}

/// The condition that a mail has the field, and a note. Without it, all mails without the field would share one key.
fn condition(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "user" | "auth" => {
            Some(("  authenticated = *\n", "a mail without a login is not limited per user"))
        }
        "sender" => {
            Some(("  !senders  = :\n", "a bounce, which has no sender, is not limited per sender"))
        }
        _ => None,
    }
}

fn key_parts(per: &Per, addresses: Addresses) -> impl Iterator<Item = Result<String, String>> {
    let all = per.fields().is_empty().then(|| Ok("all".to_owned()));
    all.into_iter().chain(per.fields().iter().map(move |name| part(name, addresses)))
}

fn part(name: &str, addresses: Addresses) -> Result<String, String> {
    let digest = |variable: &str| Ok(format!("${{md5:${variable}}}"));
    match name {
        "ip" | "address" if addresses.ipv6_prefix < 128 => Ok(format!(
            "${{if isip6{{$sender_host_address}}{{${{mask:$sender_host_address/{}}}}}{{$sender_host_address}}}}",
            addresses.ipv6_prefix
        )),
        "ip" | "address" => Ok("$sender_host_address".to_owned()),
        "user" | "auth" => digest("authenticated_id"),
        "sender" => digest("sender_address"),
        "host" => digest("sender_host_name"),
        "helo" => digest("sender_helo_name"),
        _ => Err(format!("it knows no {name}; the fields are ip, user, sender, host and helo")),
    }
}

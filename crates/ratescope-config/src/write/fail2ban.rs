//! fail2ban: a jail, which bans addresses by the failures in a log.
//!
//! Source: fail2ban 1.0, `man jail.conf`; [`limit::fail2ban`](ratescope::limit::fail2ban).

use super::field::{Field, fields};
use super::{Addresses, Notes, Written, each};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;

pub(super) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if addresses.forwarded {
        let problem = "it bans the address that connects, and would ban the proxy";
        return Err((limits.first().map(ToString::to_string), problem.to_owned()));
    }
    if limits.len() > 1 {
        return Err((None, "a jail has one limit; write one jail for each".to_owned()));
    }
    let jail = each(limits, |_, limit| {
        let AnyLimiter::Fail2ban(own) = &limit.limiter else {
            let problem = "it bans by failures; write a limit such as fail2ban 5/10m";
            return Err(problem.to_owned());
        };
        if fields(&limit.per)?.as_slice() != [Field::Ip] {
            return Err("it bans addresses only; write per ip".to_owned());
        }
        let most = own.limit().count();
        let find = own.limit().per().secs();
        let ban = own.ban().secs();
        if most >= 3.0 {
            // The quotient, cut to whole seconds, plus one: at the exact quotient the count ends in a half, which may
            // be rounded up, so that nothing fades.
            let gap = libm::floor(find / (2.0 * most - 3.0)) + 1.0;
            notes.add(format!(
                "a sender with a failure every {gap} s is never banned: fail2ban keeps a count, and \
                 rounds what it forgets of it"
            ));
        }
        Ok(format!(
            "# Lines for /etc/fail2ban/jail.local. The filter says which lines are failures: the jail of ssh \
             has its own.\n[sshd]\nenabled = true\nmaxretry = {most}\nfindtime = {find}\nbantime = {ban}\n"
        ))
    })?;
    addresses.warn_of_ipv4(notes);
    if addresses.ipv6_prefix != 128 {
        notes.add("fail2ban counts and bans each IPv6 address by itself, not networks");
    }
    notes.add(
        "fail2ban bans after the failure that reaches maxretry, which is counted as refused here",
    );
    Ok(jail)
}

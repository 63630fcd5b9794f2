//! The failed logins of mail servers: Postfix, Dovecot and Exim.

use super::{Failure, Kind, at, client};

/// A message of Postfix: `warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: ...`.
///
/// As in fail2ban's filter, it is not a failed login if Postfix can't ask its authentication server, or does not have
/// the mechanism, since then all users fail. With a user after it, the message counts: then Postfix had begun to ask,
/// and Dovecot may have closed the connection because of the client's data.
pub(super) fn of_postfix(message: &str) -> Option<Failure<'_>> {
    let (_, rest) = message.split_once('[')?;
    let (host, rest) = rest.split_once(']')?;
    let (_, rest) = rest.split_once(": SASL ")?;
    let (_, reason) = rest
        .split_once(" authentication failed")
        .filter(|(mechanism, _)| !mechanism.contains(' '))?;
    let (reason, user) = match reason.split_once(", sasl_username=") {
        Some((reason, user)) => (reason, Some(user)),
        None => (reason, None),
    };
    let reason = reason.trim_start_matches([':', ' ']);
    let is_ours = ["Connection lost to authentication server", "Invalid authentication mechanism"];
    if user.is_none() && is_ours.iter().any(|ours| reason.starts_with(ours)) {
        return None;
    }
    Some(Failure { ip: client(host), user: user.unwrap_or(""), times: 1, kind: Kind::Main })
}

/// A message of Dovecot: of a login process about all attempts of a connection, or of its authentication server about
/// one attempt.
pub(super) fn of_dovecot(message: &str) -> Option<Failure<'_>> {
    let mut times = None;
    if let Some((_, rest)) = message.split_once("auth failed, ") {
        let attempts = rest.split_once(" attempts").and_then(|(n, _)| n.parse().ok());
        times = Some(attempts.unwrap_or(1));
    } else if message.contains("(tried to use dis") || message.contains("(proxy dest auth failed)")
    {
        times = Some(1);
    }
    let Some(times) = times else { return of_authentication(message) };
    let [before, user, after] = user_of(message).unwrap_or([message, "", ""]);
    let host = [before, after].into_iter().find_map(|text| Some(at(text.rsplit_once("rip=")?.1)));
    Some(Failure { ip: host.and_then(client), user, times, kind: Kind::Main })
}

/// The user in a message of Dovecot, with the text before and after it.
fn user_of(message: &str) -> Option<[&str; 3]> {
    let (before, rest) = message.split_once("user=<")?;
    let end = rest.rfind(">, method=").or(rest.rfind(">, rip=")).or(rest.find('>'))?;
    let (user, after) = rest.split_at_checked(end)?;
    Some([before, user, after])
}

/// Why Dovecot's authentication server refuses a user.
const REASONS: [&str; 7] = [
    "unknown user",
    "Unknown user",
    "invalid credentials",
    "Invalid credentials",
    "password mismatch",
    "Password mismatch",
    "pam_authenticate() failed: ",
];

/// Reads `sql(ann,192.0.2.7,<session>): unknown user`, or the message of PAM. A client chooses the name, so the address
/// is read from the end of the parentheses. A logged password may imitate all of this: then the address is uncertain.
fn of_authentication(message: &str) -> Option<Failure<'_>> {
    if let Some((_, rest)) = message.split_once("(dovecot:auth): authentication failure;") {
        let host = rest.rsplit_once(" rhost=").map(|(_, host)| at(host));
        let user = rest.split_once(" ruser=").map_or("", |(_, user)| at(user));
        return Some(Failure { ip: host.and_then(client), user, times: 1, kind: Kind::Each });
    }
    let ends = || {
        let all = message.match_indices("): ");
        all.map(|(end, _)| end).filter(|end| {
            let rest = message.get(end + 3..).unwrap_or("");
            REASONS.iter().any(|reason| rest.starts_with(reason))
        })
    };
    let inside = message.get(..ends().last()?)?;
    let (driver, inside) = inside.split_once('(')?;
    // The number of a worker may come first, `auth-worker(4711): Info: sql(ann,...`.
    let inside = match inside.split_once("): ") {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            rest.split_once('(')?.1
        }
        _ => inside,
    };
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    let inside = inside
        .rsplit_once(",<")
        .filter(|(_, session)| session.ends_with('>'))
        .map_or(inside, |(rest, _)| rest);
    let (user, host) = inside.rsplit_once(',')?;
    let is_sure = ends().count() == 1 || !message.contains("given password");
    let ip = client(host).filter(|_| is_sure && !driver.is_empty());
    Some(Failure { ip, user, times: 1, kind: Kind::Each })
}

/// A message of Exim.
pub(super) fn of_exim(message: &str) -> Option<Failure<'_>> {
    let (ip, user) = crate::exim::failed_login(message)?;
    Some(Failure { ip, user, times: 1, kind: Kind::Main })
}

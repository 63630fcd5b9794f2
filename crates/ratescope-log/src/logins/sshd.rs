//! The failed logins of sshd.
//!
//! As fail2ban's filter `sshd` finds them. Messages about a connection that ended without a login count, too: a server
//! that takes only keys writes nothing else. `Failed publickey` is a failed login only if the user does not exist,
//! since a client tries all of its keys.

use super::{Failure, Kind, at, client};
use core::iter;
use memchr::memchr;

/// The failed login that a message tells.
pub(super) fn failure(message: &str) -> Option<Failure<'_>> {
    let message =
        message.strip_prefix("error: ").or(message.strip_prefix("fatal: ")).unwrap_or(message);
    let message = message.strip_prefix("PAM: ").unwrap_or(message);
    if let Some(rest) = message.strip_prefix("Failed ") {
        return failed(rest);
    }
    let (kind, (user, ip)) = other(message)?;
    Some(Failure { ip, user, times: 1, kind: Kind::Other(kind) })
}

/// Reads `password for invalid user ann from 192.0.2.7 port 52114 ssh2`, after which there may be `: ` and more.
///
/// A client chooses the name of an unknown user, and the text after the colon: its local user, or a comment. So the
/// first possible address is the right one if the user exists or, as fail2ban decides, if one word comes before it and
/// a colon after it. Otherwise it is the last possible address if the message ends with it, or else the only one.
fn failed(text: &str) -> Option<Failure<'_>> {
    let (method, rest) = text.split_once(' ')?;
    let rest = rest.strip_prefix("for ")?;
    let unknown = rest.strip_prefix("invalid user ").or(rest.strip_prefix("illegal user "));
    if method == "publickey" && unknown.is_none() {
        return None;
    }
    let text = unknown.unwrap_or(rest);
    let [mut with_version, mut without] = [Places::default(); 2];
    for place in places(text) {
        if place.has_version { with_version.add(place, text) } else { without.add(place, text) }
    }
    let places = if with_version.count > 0 { with_version } else { without };
    let place = match unknown {
        _ if places.after_word.is_some() => places.after_word,
        None => places.first,
        Some(_) => {
            let ends = places.last.is_some_and(|place| place.end == text.len());
            // After a public key comes only its fingerprint.
            let is_sure = ends || method == "publickey" || places.count == 1;
            places.last.filter(|_| is_sure)
        }
    };
    let (ip, user) = match &place {
        Some(place) => (client(place.host), text.get(..place.begin).unwrap_or("")),
        None => (None, ""),
    };
    Some(Failure { ip, user, times: 1, kind: Kind::Main })
}

/// A possible address of the client in a text: ` from 192.0.2.7 port 52114 ssh2`, at the end or before a colon.
#[derive(Clone, Copy)]
struct Place<'a> {
    begin: usize,
    host: &'a str,
    end: usize,
    /// It ends with `ssh2`.
    has_version: bool,
}

/// The possible addresses of a text, as far as they matter.
#[derive(Clone, Copy, Default)]
struct Places<'a> {
    first: Option<Place<'a>>,
    last: Option<Place<'a>>,
    /// The first possible address that follows a user of one word and precedes a colon.
    after_word: Option<Place<'a>>,
    count: usize,
}

impl<'a> Places<'a> {
    fn add(&mut self, place: Place<'a>, text: &str) {
        self.first = self.first.or(Some(place));
        self.last = Some(place);
        self.count += 1;
        let is_after_word = || {
            place.end < text.len()
                && text.get(..place.begin).is_some_and(|user| !user.contains(' '))
        };
        if self.after_word.is_none() && is_after_word() {
            self.after_word = Some(place);
        }
    }
}

/// The possible addresses of the client in a text.
fn places(text: &str) -> impl Iterator<Item = Place<'_>> {
    const FROM: &str = " from ";
    let mut next = 0;
    iter::from_fn(move || {
        loop {
            let begin = next + memchr(b' ', text.as_bytes().get(next..)?)?;
            let Some(rest) = text.get(begin..)?.strip_prefix(FROM) else {
                next = begin + 1;
                continue;
            };
            next = begin + FROM.len();
            let host = rest.get(..memchr(b' ', rest.as_bytes()).unwrap_or(rest.len()))?;
            let rest = rest.get(host.len()..)?;
            let rest = match rest.strip_prefix(" port ") {
                Some(port) => port.trim_start_matches(|c: char| c.is_ascii_digit()),
                None => rest,
            };
            let version = rest.strip_prefix(" ssh");
            let rest = match version {
                Some(version) => version.trim_start_matches(|c: char| c.is_ascii_digit()),
                None => rest,
            };
            if rest.is_empty() || rest.starts_with(": ") {
                let end = text.len() - rest.len();
                return Some(Place { begin, host, end, has_version: version.is_some() });
            }
        }
    })
}

/// The user and the client of a login that succeeded, `Accepted password for ann from 192.0.2.7 port 52114 ssh2`.
pub(super) fn success(message: &str) -> Option<Said<'_>> {
    let (_, rest) = message.strip_prefix("Accepted ")?.split_once(" for ")?;
    // After a public key comes its fingerprint.
    Some(at_end(rest.split(": ").next().unwrap_or(rest)))
}

/// The user and the client of a message.
pub(super) type Said<'a> = (&'a str, Option<&'a str>);

/// The user and the client of another message about a failed connection, and the number of its kind.
fn other(message: &str) -> Option<(u8, Said<'_>)> {
    let kinds =
        [invalid, closed, too_many, failed_by_pam, not_allowed, disconnected, refused, of_pam];
    kinds.into_iter().zip(0..).find_map(|(said, kind)| Some((kind, said(message)?)))
}

/// The text after the first matching beginning of a message, case-insensitive.
fn after<'a>(message: &'a str, begins: &[&str]) -> Option<&'a str> {
    let has = |begin: &&&str| {
        message.get(..begin.len()).is_some_and(|text| text.eq_ignore_ascii_case(begin))
    };
    message.get(begins.iter().find(has)?.len()..)
}

const UNKNOWN: [&str; 2] = ["invalid user ", "illegal user "];

fn invalid(message: &str) -> Option<Said<'_>> {
    after(message, &UNKNOWN).map(at_end)
}

fn closed(message: &str) -> Option<Said<'_>> {
    let rest = after(
        message,
        &["Connection closed by ", "Connection reset by ", "Disconnected from ", "Disconnecting "],
    )?;
    let existing = rest.strip_prefix("authenticating user ");
    let text = existing.or(after(rest, &UNKNOWN))?.strip_suffix(" [preauth]")?;
    // A reason may follow the port, and may contain a name that the client chose.
    if message.starts_with("Disconnecting ") {
        Some(before_reason(text, existing.is_some()))
    } else {
        Some(at_end(text))
    }
}

fn too_many(message: &str) -> Option<Said<'_>> {
    let rest = after(message, &["maximum authentication attempts exceeded for "])?;
    Some(at_end(after(rest, &UNKNOWN).unwrap_or(rest)))
}

fn failed_by_pam(message: &str) -> Option<Said<'_>> {
    let begins = [
        "authentication failure for ",
        "authentication error for ",
        "authentication failed for ",
        "User not known to the underlying authentication module for ",
    ];
    let rest = after(message, &begins)?;
    let rest = after(rest, &UNKNOWN).unwrap_or(rest);
    Some(at_end(rest.rsplit_once(" via ").map_or(rest, |(rest, _)| rest)))
}

/// The user exists here, so the client can't make up the name.
fn not_allowed(message: &str) -> Option<Said<'_>> {
    let (before, _) = message.strip_prefix("User ")?.split_once(" not allowed because ")?;
    let (user, host) = before.rsplit_once(" from ")?;
    Some((user, client(host)))
}

fn disconnected(message: &str) -> Option<Said<'_>> {
    let rest = message.strip_prefix("Received disconnect from ")?;
    let host = rest.split(' ').next()?;
    let is_auth = rest.contains(":3: ") || rest.contains(": 3: ");
    (is_auth && rest.contains(": Auth fail"))
        .then(|| ("", client(host.strip_suffix(':').unwrap_or(host))))
}

fn refused(message: &str) -> Option<Said<'_>> {
    if let Some(host) = message.strip_prefix("ROOT LOGIN REFUSED FROM ") {
        return Some(("ROOT", client(host.split(' ').next()?)));
    }
    let (_, host) = message.strip_prefix("refused connect from ")?.rsplit_once('(')?;
    Some(("", client(host.split(')').next()?)))
}

/// The name of the user comes after the host.
fn of_pam(message: &str) -> Option<Said<'_>> {
    // Old systems write the module after the program, as in `sshd(pam_unix)[7]: `.
    let (module, rest) = message.split_once("(sshd:auth): ").unwrap_or(("pam_unix", message));
    let rest = rest.trim_start_matches(' ').strip_prefix("authentication failure;")?;
    let host = rest.split_once(" rhost=").map(|(_, host)| at(host));
    let user = rest.split_once(" user=").map_or("", |(_, user)| user);
    module.starts_with("pam_").then(|| (user, host.and_then(client)))
}

/// The user and the client of `ann from 192.0.2.7 port 5 ssh2 [preauth]`, where the client is at the end.
fn at_end(text: &str) -> Said<'_> {
    let mut text = text.trim_end();
    text = text.strip_suffix(" [preauth]").unwrap_or(text);
    for word in [" ssh2", " ssh1", " ssh"] {
        text = text.strip_suffix(word).unwrap_or(text);
    }
    if let Some((before, port)) = text.rsplit_once(" port ")
        && port.bytes().all(|b| b.is_ascii_digit())
    {
        text = before;
    }
    let (user, host) = text.rsplit_once(' ').unwrap_or(("", text));
    (user.strip_suffix(" from").unwrap_or(user), client(host))
}

/// The user and the client of `ann 192.0.2.7 port 5: Too many authentication failures`.
fn before_reason(text: &str, is_existing: bool) -> Said<'_> {
    let mut places = text.match_indices(" port ").filter_map(|(at, port)| {
        let rest = text.get(at + port.len()..)?.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(": ").then(|| at_end(text.get(..at).unwrap_or("")))
    });
    match (places.next(), places.next()) {
        (Some(first), None) => first,
        (Some(first), Some(_)) if is_existing => first,
        _ => ("", None),
    }
}

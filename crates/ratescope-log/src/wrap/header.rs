//! The header of syslog: time, host and program before a message.
//!
//! ```text
//! Oct 10 13:55:36 web1 sshd[4567]: message
//! Oct 10 13:55:36.123456 web1 sshd[4567]: message
//! Oct 9 13:55:36 web1 sshd[4567]: message
//! Oct 10 13:55:36 <auth.info> web1 sshd[4567]: message
//! Oct 10 13:55:36 web1 sshd[4567]: [ID 800047 auth.info] message
//! 2000-10-10T13:55:36.123456+02:00 web1 sshd[4567]: message
//! Tue 2000-10-10 13:55:36 UTC web1 sshd[4567]: message
//! 971186136.123456 web1 sshd[4567]: message
//! [ 4711.123456] web1 sshd[4567]: message
//! <38>1 2000-10-10T13:55:36.123Z web1 sshd 4567 - - message
//! <190>Oct 10 13:55:36 nginx: message
//! ```
//!
//! The first is RFC 3164, and the third has a day of one digit without a space before it, as some write it. FreeBSD with
//! `-v` and Solaris write the fourth and the fifth. The second and the sixth to the ninth are the forms of rsyslog and of
//! journalctl (`short-precise`, `short-iso`, `short-full`, `short-unix` and `short-monotonic`, whose times count from
//! the start of the machine), the tenth is RFC 5424. Each may begin with a priority. The host may be
//! missing, as in the datagrams of HAProxy, and so may the program.

use super::{Envelope, Stamp, iso};
use crate::search;
use ratescope::internal::digits;

/// Removes the header from a line: returns its fields and the message. `None` without a header.
pub(super) fn peel(line: &str) -> Option<(Envelope<'_>, &str)> {
    let line = priority(line).unwrap_or(line);
    let (envelope, message) = match line.strip_prefix("1 ") {
        Some(rest) => rfc5424(rest)?,
        None => {
            let (stamp, rest) = stamp(line)?;
            tagged(stamp, rest)?
        }
    };
    let message = message.trim_start_matches(' ');
    let message = if message.starts_with("[ID ") { after_id(message) } else { message };
    let (times, message) = unrepeated(message);
    Some((Envelope { times, ..envelope }, message))
}

/// The text after a priority such as `<38>`.
fn priority(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('<')?.split_once('>')?;
    (number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// The time at the beginning of a line, and the text after the next space.
#[inline]
fn stamp(line: &str) -> Option<(Stamp<'_>, &str)> {
    match line.as_bytes().get(..16)? {
        [b'0'..=b'9', ..] => iso(line).or_else(|| {
            // A time in seconds, as in `971186136.123456 `.
            let (stamp, rest) = line.split_once(' ')?;
            (9..=11).contains(&seconds(stamp)?).then_some((Stamp::Any(stamp), rest))
        }),
        [b'[', ..] => {
            let (stamp, rest) = line.get(1..)?.split_once("] ")?;
            let stamp = stamp.trim_start_matches(' ');
            (seconds(stamp)? <= 9).then_some((Stamp::Any(stamp), rest))
        }
        // A month and a day of one digit without padding, as in `Oct 9 13:55:36`.
        [_, _, b'a'..=b'z', b' ', b'0'..=b'9', b' ', _, _, b':', _, _, b':', ..] => {
            without_year(line, 14)
        }
        // A month, as in `Oct 10 13:55:36`.
        [_, _, b'a'..=b'z', b' ', _, b'0'..=b'9', b' ', _, _, b':', _, _, b':', ..] => {
            without_year(line, 15)
        }
        // A day of the week, as in `Tue 2000-10-10 13:55:36 UTC`.
        [_, _, b'a'..=b'z', b' ', b'0'..=b'9', _, _, _, b'-', ..] => {
            let (zone, rest) = line.get(23..)?.strip_prefix(' ')?.split_once(' ')?;
            let known = matches!(zone, "UTC" | "GMT") || zone.starts_with(['+', '-']);
            let end = if known { 24 + zone.len() } else { 23 };
            Some((Stamp::Any(line.get(4..end)?), rest))
        }
        _ => None,
    }
}

/// A time without a year at the beginning of a line, of `length` bytes and perhaps decimals, and the text after the
/// next space.
#[inline]
fn without_year(line: &str, length: usize) -> Option<(Stamp<'_>, &str)> {
    let rest = line.as_bytes().get(length..)?;
    let end = match rest.strip_prefix(b".") {
        Some(decimals) => length + 1 + decimals.iter().position(|b| !b.is_ascii_digit())?,
        None => length,
    };
    Some((Stamp::WithoutYear(line.get(..end)?), line.get(end..)?.strip_prefix(' ')?))
}

/// The number of digits before the point, as in `971186136.123456`; `None` without a point.
fn seconds(number: &str) -> Option<usize> {
    digits(number).map(|(whole, _)| whole.len()).filter(|length| *length < number.len())
}

/// The text after a priority between the time and the host, as in `<auth.info> ` or `<4.6> ` of FreeBSD.
#[cold]
fn after_level(text: &str) -> &str {
    let is_level = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let rest = text.strip_prefix('<').and_then(|rest| rest.split_once("> "));
    rest.filter(|(level, _)| level.chars().all(is_level)).map_or(text, |(_, rest)| rest)
}

/// The text after the number of a message, as in `[ID 800047 auth.info] ` of Solaris.
#[cold]
fn after_id(message: &str) -> &str {
    let rest = message.strip_prefix("[ID ").and_then(|rest| rest.split_once("] "));
    rest.filter(|(id, _)| id.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(message, |(_, rest)| rest)
}

/// Reads `web1 sshd[4567]: message`, where the host or the program may be missing.
fn tagged<'a>(stamp: Stamp<'a>, text: &'a str) -> Option<(Envelope<'a>, &'a str)> {
    let text = if text.starts_with('<') { after_level(text) } else { text };
    let (first, rest) = search::split_once(text, b' ')?;
    let (host, tag, message) = match first.strip_suffix(':') {
        Some(tag) => ("", tag, rest),
        None => match search::split_before_space(rest, b':') {
            Some((tag, message)) if !tag.contains(' ') => (first, tag, message),
            _ => (first, rest.strip_suffix(':').unwrap_or(""), rest),
        },
    };
    let (program, pid) = search::split_once(tag, b'[').unwrap_or((tag, ""));
    let pid = pid.strip_suffix(']').unwrap_or(pid);
    // A program alone may be in brackets, `[sshd]: `.
    let is_alone = program.is_empty() && matches!(stamp, Stamp::WithoutYear(_));
    let (program, pid) = if is_alone { (pid, "") } else { (program, pid) };
    Some((Envelope { stamp, host, program, pid, times: None }, message))
}

/// Reads `2000-10-10T13:55:36.123Z web1 sshd 4567 ID [data]... message`.
fn rfc5424(text: &str) -> Option<(Envelope<'_>, &str)> {
    let mut words = text.splitn(6, ' ');
    let stamp = words.next().filter(|stamp| stamp.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut said = || words.next().map(|word| if word == "-" { "" } else { word });
    let host = said()?;
    let program = said()?;
    let pid = said()?;
    let _id = words.next()?;
    let mut rest = words.next()?;
    match rest.strip_prefix('-') {
        Some(after) => rest = after,
        None => {
            while rest.starts_with('[') {
                rest = element(rest)?;
            }
        }
    }
    let message = rest.trim_start_matches(' ');
    let message = message.strip_prefix('\u{feff}').unwrap_or(message);
    Some((Envelope { stamp: Stamp::Any(stamp), host, program, pid, times: None }, message))
}

/// The text after an element of structured data, in whose values `"`, `\` and `]` are escaped; some programs leave `]` as
/// it is.
fn element(text: &str) -> Option<&str> {
    let mut escaped = false;
    let mut quoted = false;
    let end = text.bytes().position(|b| {
        let ends = b == b']' && !quoted;
        quoted ^= b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    text.get(end + 1..)
}

/// The number and the message in `message repeated 3 times: [ ... ]`; `None` and the whole message for any other.
pub(super) fn unrepeated(message: &str) -> (Option<u32>, &str) {
    let repeated = || {
        let (times, rest) = message.strip_prefix("message repeated ")?.split_once(" times: [ ")?;
        Some((times.parse().ok()?, rest.strip_suffix(']')?))
    };
    repeated().map_or((None, message), |(times, message)| (Some(times), message))
}

//! The normal form of a request's path, host and method.
//!
//! A path can be spelled in many ways, and a limit on one spelling is evaded by another. So all fronts (the layer,
//! `/auth`, `/check` and Envoy's protocol) bring these fields into one form before rules see them:
//!
//! | field | read | taken as |
//! |---|---|---|
//! | path | `/login?a=b`, `/login#a`, `http://example.org/login` | `/login` |
//! | | `/%6cogin`, `/%6Cogin` | `/login` |
//! | | `//login`, `/./login`, `/x/../login`, `/x/%2e%2e/login` | `/login` |
//! | | empty, `?a=b` | `/` |
//! | | `/a%2fb`, `/straße`, `/%256cogin` | `/a%2Fb`, `/stra%C3%9Fe`, `/%256cogin` |
//! | host | `API.example.org`, `api.example.org:80`, `api.example.org.` | `api.example.org` |
//! | method | `post` | `POST` |
//!
//! Upper and lower case, and `/login` and `/login/`, are different paths.
//!
//! # What is decoded
//! RFC 3986 (sections 6.2.2 and 6.2.3) says which spellings are the same: escapes in either case, escaped characters
//! that need no escape, dot segments, an empty path. This goes further where servers do. A character that may stand in
//! a segment as it is (`pchar`: also `@`, `:`, `+` and the like) is decoded, once, and any other is escaped. A run of
//! slashes is one slash, unless `keep_slashes` is set. An escaped slash stays escaped: most servers do not take it for
//! a slash.
//!
//! # What is in doubt
//! Servers read some paths in different ways: an escaped slash, a backslash, `;` behind dots. Such a path has no normal
//! form that is right for all servers, so [`doubt`] names the doubtful part, and a front before unknown servers refuses
//! the path.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

/// The normal form of the path in a request's target. Without `keep_slashes`, a run of slashes is one slash. A text
/// that does not begin with a slash is no path, and stays as it is: `*`, the target of OPTIONS for the whole server, or
/// a word that a program uses as a path.
pub fn path(target: &[u8], keep_slashes: bool) -> Cow<'_, str> {
    let path = cut(target);
    let is_whole = !path.is_empty() && !path.starts_with(b"/");
    match (str::from_utf8(path), str::from_utf8(target)) {
        (_, Ok(text)) if is_whole => Cow::Borrowed(text),
        (Ok(text), _) if is_plain(path, keep_slashes) => Cow::Borrowed(text),
        _ => Cow::Owned(made(path, keep_slashes)),
    }
}

/// The part of a target's path that servers may read differently; `None` if they agree about it.
pub fn doubt(target: &[u8], keep_slashes: bool) -> Option<&'static str> {
    let path = cut(target);
    if is_plain(path, keep_slashes) && !path.contains(&b';') {
        return None;
    }
    for (i, byte) in path.iter().enumerate() {
        match byte {
            b'\\' => return Some("a backslash"),
            b'%' => match octet(path.get(i + 1..).unwrap_or_default()) {
                None => return Some("a % that is no escape"),
                Some(b'/') => return Some("an escaped slash"),
                Some(b'\\') => return Some("an escaped backslash"),
                Some(0..=0x1f | 0x7f) => return Some("an escaped control character"),
                Some(_) => {}
            },
            0..=0x1f | 0x7f => return Some("a control character"),
            _ => {}
        }
    }
    let mut segments = path.split(|byte| *byte == b'/').map(decoded);
    if segments.any(|segment| segment.starts_with(".;") || segment.starts_with("..;")) {
        return Some("a dot segment with a parameter");
    }
    // Merging slashes before removing dot segments gives another path than the reverse order.
    let differs = || made(made(path, true).as_bytes(), false) != made(path, false);
    (!keep_slashes && differs()).then_some("an empty segment before a dot segment")
}

/// The normal form of a host: without its port and the dot at its end, and in lower case.
pub fn host(given: &str) -> Cow<'_, str> {
    let mut host = given;
    loop {
        let mut rest = host.trim_end_matches('.');
        if let Some((name, port)) = rest.rsplit_once(':') {
            // An IPv6 address without brackets has colons and no port.
            let is_name = !name.contains(':') || name.ends_with(']');
            if is_name && port.bytes().all(|byte| byte.is_ascii_digit()) {
                rest = name;
            }
        }
        if rest.len() == host.len() {
            break;
        }
        host = rest;
    }
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// The normal form of a method: upper case, as all standard methods are.
pub fn method(given: &str) -> Cow<'_, str> {
    if given.bytes().any(|byte| byte.is_ascii_lowercase()) {
        Cow::Owned(given.to_ascii_uppercase())
    } else {
        Cow::Borrowed(given)
    }
}

/// The path in a target: without the scheme and the authority of an absolute one, the query and the fragment.
fn cut(target: &[u8]) -> &[u8] {
    let end = |bytes: &[u8]| bytes.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let target = target.get(..end(target).unwrap_or(target.len())).unwrap_or_default();
    let colon = target.iter().position(|byte| !is_of_scheme(*byte));
    let rest = colon.filter(|colon| *colon > 0).and_then(|colon| target.get(colon..));
    let Some(authority) = rest.and_then(|rest| rest.strip_prefix(b"://")) else { return target };
    let slash = authority.iter().position(|byte| *byte == b'/').unwrap_or(authority.len());
    authority.get(slash..).unwrap_or_default()
}

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// True if a path is in its normal form already, and has no escapes.
fn is_plain(path: &[u8], keep_slashes: bool) -> bool {
    let Some(segments) = path.strip_prefix(b"/") else { return false };
    let mut segments = segments.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let is_kept = match segment {
            b"" => is_last || keep_slashes,
            b"." | b".." => false,
            _ => segment.iter().all(|byte| is_pchar(*byte)),
        };
        if !is_kept {
            return false;
        }
    }
    true
}

/// The normal form of a path, of at most three times the bytes.
///
/// Each segment is added with a slash before it, so `..` cuts the result at its last slash. If the last segment is
/// empty or of dots, the path is that of a folder, and a slash is added at its end. Escapes are decoded first, and no
/// decoded character begins an escape or is a delimiter: so normalizing twice changes nothing.
fn made(path: &[u8], keep_slashes: bool) -> String {
    let mut made = String::with_capacity(path.len() + 1);
    let mut segments = path.strip_prefix(b"/").unwrap_or(path).split(|b| *b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let segment = decoded(segment);
        match &*segment {
            "." => {}
            ".." => made.truncate(made.rfind('/').unwrap_or(0)),
            "" if !(keep_slashes || is_last) => continue,
            _ => {
                made.push('/');
                made.push_str(&segment);
                continue;
            }
        }
        if is_last {
            made.push('/');
        }
    }
    made
}

/// A segment in which each character that may stand there is itself, and all others are escaped.
fn decoded(segment: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(segment)
        && segment.iter().all(|byte| is_pchar(*byte))
    {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some((first, after)) = rest.split_first() {
        let escaped = if *first == b'%' { octet(after) } else { None };
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
        match escaped.unwrap_or(*first) {
            byte if is_pchar(byte) => decoded.push(char::from(byte)),
            // Writing to a String does not fail.
            byte => _ = write!(decoded, "%{byte:02X}"),
        }
    }
    Cow::Owned(decoded)
}

/// The octet of the two digits at the beginning.
fn octet(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let [high, low, ..] = digits else { return None };
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

/// True for a byte that may stand in a segment as it is (RFC 3986, section 3.3).
fn is_pchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

//! Finds the client of a line, also behind proxies.
//!
//! A proxy appends the address of its peer to a list, X-Forwarded-For; anybody can send the part before it. So the
//! client is the last address of the list that is not internal, counted from the peer, as for a layer that trusts
//! internal networks. All formats use this rule.

use super::search;
use super::stamp::is_month;
use ratescope::address::{is_address, is_internal, parse};

/// The client of a request whose proxies wrote `list`. The connection came from `peer` or, without a `peer`, from the
/// last address of the list.
///
/// An internal peer is a proxy, and so is an internal address in the list, as long as a proxy named it. If all are
/// internal, the first is a client inside the network. An entry that is not an address (`unknown`, or an obfuscated
/// name) makes itself and all before it useless: then the client is the host that wrote the entry. `None` if there is
/// no client.
pub(super) fn client<'a>(list: &'a str, peer: Option<&'a str>) -> Option<&'a str> {
    let mut client = None;
    // IIS writes a plus for a space.
    let entries = list.rsplit(',').map(|entry| entry.trim_matches([' ', '"', '+']));
    for entry in peer.into_iter().chain(entries.filter(|entry| !entry.is_empty())) {
        let Some(address) = parse(entry) else {
            // A peer that is a name may be anybody, so its list is not trusted.
            return client.or(peer);
        };
        client = Some(entry);
        if !is_internal(address) {
            break;
        }
    }
    client
}

/// Tells whether a text is a list of several addresses.
#[inline]
pub(super) fn is_list(text: &str) -> bool {
    search::has(b',', text.as_bytes())
}

/// The last address of a list, which is the peer, and the rest of the list.
pub(super) fn last(list: &str) -> (&str, &str) {
    let (before, last) = list.rsplit_once(',').unwrap_or(("", list));
    (before, last.trim_matches(' '))
}

/// Tells whether a text may be a client: an address, the name of a host by RFC 1123 (also with underscores), a dash for
/// none, or nginx's `unix:` for a local socket.
#[inline]
pub(super) fn is_client(text: &str) -> bool {
    search::is_dotted(text.as_bytes()) || is_other_client(text)
}

/// Takes a client or a list of clients.
#[inline]
pub(super) fn are_clients(text: &str) -> bool {
    is_client(text) || text.split(',').all(|entry| is_client(entry.trim_matches(' ')))
}

/// The bytes of a name: letters, digits, dots, dashes and underscores; and the colon, which is counted.
const NAME: u8 = 1;
/// The bytes of an address of IPv6: hexadecimal digits, colons and dots.
const V6: u8 = 2;
const COLON: u8 = 4;

/// A lookup table of the classes of each byte, three times as fast as comparing with all ranges.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        if ascii.is_ascii_alphanumeric() || matches!(ascii, b'.' | b'-' | b'_') {
            classes[byte] |= NAME;
        }
        if ascii.is_ascii_hexdigit() || matches!(ascii, b':' | b'.') {
            classes[byte] |= V6;
        }
        if ascii == b':' {
            classes[byte] |= NAME | COLON;
        }
        byte += 1;
    }
    classes
};

fn is_other_client(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut colons = 0;
    let mut all = NAME | V6;
    for byte in bytes {
        let class = CLASSES[usize::from(*byte)];
        all &= class;
        colons += u32::from(class & COLON != 0);
    }
    let is_name = all & NAME != 0;
    match colons {
        // A date or a month is not a name: another program wrote it before the line.
        0 if is_name => text == "-" || is_host(text) && !is_month(bytes),
        0 => false,
        1 if text == "unix:" => true,
        // An address of IPv6 has eight groups, or `::` in place of some; a time has three parts.
        2.. if is_name && (colons > 5 || text.contains("::")) => all & V6 != 0 && colons < 9,
        _ => is_address(text),
    }
}

/// Tells whether labels with dots between them are the name of a host: the last label has a letter, unlike in dates and
/// numbers.
fn is_host(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| !label.is_empty() && label.len() < 64;
    let last = name.rsplit('.').next().unwrap_or(name);
    name.len() < 254
        && name.split('.').all(is_label)
        && last.bytes().any(|b| b.is_ascii_alphabetic())
        && !is_stamp(name.as_bytes())
}

/// Knows a name that begins like `2000-10-10T13`.
fn is_stamp(name: &[u8]) -> bool {
    let is_digit = |b: &u8| b.is_ascii_digit();
    name.len() > 10 && name[..4].iter().all(is_digit) && [name[4], name[7]] == *b"--"
}

#[cfg(test)]
mod tests {
    use super::is_client;

    #[test]
    fn what_stands_for_a_client() {
        let clients = "192.0.2.7 192.0.2.7:80 2001:db8::7 ::1 1:2:3:4:5:6:7:8 ::ffff:192.0.2.7 [2001:db8::7]:443 fe80::1%eth0 \
                       mail.example.org. web-1 a_b.example 4chan.example localhost unix: -";
        for text in clients.split_whitespace() {
            assert!(is_client(text), "{text}");
        }
        let others = [
            "",
            "(MainThread)",
            "            \"message\"",
            "\"message\":",
            "13:17:19.096748]",
            "13:17:19",
            "2025-08-16",
            "2025-08-16T13:02",
            "2025-08-16T13:02:58Z",
            "Oct",
            "12345",
            "1.5",
            "a..b",
            "[client",
            "192.0.2.7,",
            "x=y",
            "10/10/2000",
            "1:2",
            "a:b:c",
            "::g",
        ];
        for text in others {
            assert!(!is_client(text), "{text}");
        }
    }
}

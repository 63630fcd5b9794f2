//! Finds the address of a client behind proxies.
//!
//! A proxy appends the address of its peer to a header. Anybody can send such a header, so only the part that trusted
//! proxies wrote counts:
//!
//! 1. The connection comes from the peer. If the peer is not in the trusted networks, it is the
//!    client, and no header is read.
//! 2. Otherwise the header is read from its end. The first address that is not trusted is the client. The client may
//!    have written all entries before it, so they do not count.
//! 3. If all addresses are trusted, the first one is the client: a client inside the networks. If an entry is no
//!    address (`unknown`, or an obfuscated name), the client is the host that wrote the entry: the address after it, or
//!    the peer.
//!
//! Only one header is read, and all trusted proxies must write it: a proxy that writes X-Forwarded-For passes on a
//! Forwarded that the client made up.
//!
//! Sources: RFC 7239 (Forwarded), section 7.4 of it for X-Forwarded-For; A. Pritchard, "The perils of
//! the real client IP" (2022).

use core::net::IpAddr;
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};
use ratescope::address::{Networks, canonical, parse};

/// The proxies in front of a service.
#[derive(Clone, Debug)]
#[must_use = "it is given to `RateLimit::behind`"]
pub struct Proxies {
    trusted: Networks,
    header: HeaderName,
}

impl Proxies {
    /// Proxies in these networks that write X-Forwarded-For.
    pub fn x_forwarded_for(trusted: Networks) -> Self {
        Proxies::header(HeaderName::from_static("x-forwarded-for"), trusted)
    }

    /// Proxies in these networks that write Forwarded (RFC 7239).
    pub fn forwarded(trusted: Networks) -> Self {
        Proxies::header(FORWARDED, trusted)
    }

    /// Proxies in these networks that write an address or a list of addresses into this header. In
    /// `Forwarded`, the addresses are those of the parameter `for`.
    pub fn header(header: HeaderName, trusted: Networks) -> Self {
        Proxies { trusted, header }
    }

    /// The address of the client, if the connection comes from `peer`.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = canonical(peer);
        if !self.trusted.contains(client) {
            return client;
        }
        // Several headers of one name are one list.
        for value in headers.get_all(&self.header).iter().rev() {
            let mut rest = value.as_bytes();
            while let Some(entry) = self.last(&mut rest) {
                let Some(said) = entry else { return client };
                client = said;
                if !self.trusted.contains(client) {
                    return client;
                }
            }
        }
        client
    }

    /// Removes the last entry of a list, skipping empty ones, and reads its address.
    fn last(&self, rest: &mut &[u8]) -> Option<Option<IpAddr>> {
        loop {
            if rest.is_empty() {
                return None;
            }
            let quotes = self.header == FORWARDED;
            let entry = cut_last(rest, b',', quotes).trim_ascii();
            if !entry.is_empty() {
                return Some(if quotes { said_for(entry) } else { address(unquoted(entry)) });
            }
        }
    }
}

/// Cuts off the part after the last `separator`. With `quotes`, a separator between quotes does not
/// count.
///
/// The list is read from its end, so a quote that a client opened and never closed cannot change the
/// part after it.
fn cut_last<'a>(rest: &mut &'a [u8], separator: u8, quotes: bool) -> &'a [u8] {
    let all = *rest;
    let mut is_quoted = false;
    for (i, byte) in all.iter().enumerate().rev() {
        if quotes && *byte == b'"' && !(is_quoted && is_escaped(all, i)) {
            is_quoted = !is_quoted;
        } else if *byte == separator && !is_quoted {
            *rest = all.get(..i).unwrap_or_default();
            return all.get(i + 1..).unwrap_or_default();
        }
    }
    *rest = &[];
    all
}

/// Reads the address in an entry of a header; `None` if it is no address.
fn address(entry: &[u8]) -> Option<IpAddr> {
    parse(str::from_utf8(entry).ok()?)
}

/// The text between two quotes, or all of it if it has none.
fn unquoted(text: &[u8]) -> &[u8] {
    let within = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    within.unwrap_or(text)
}

/// True if the character at `place` follows an odd number of backslashes.
fn is_escaped(text: &[u8], place: usize) -> bool {
    let before = text.get(..place).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The address in the parameter `for` of one element of Forwarded, as in
/// `for="[2001:db8::1]:443";proto=https`.
fn said_for(element: &[u8]) -> Option<IpAddr> {
    let mut rest = element;
    while !rest.is_empty() {
        let pair = cut_last(&mut rest, b';', true).trim_ascii();
        let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = pair.split_at(equals);
        if name.eq_ignore_ascii_case(b"for") {
            let value = value.get(1..).unwrap_or_default();
            let value = unquoted(value);
            // With an unmatched quote, it is not sure where the element begins.
            return if value.contains(&b'"') { None } else { address(value) };
        }
    }
    None
}

//! Who sent a request that came through proxies.
//!
//! A proxy says in a header from which address it was asked, and adds that at the end of what the
//! header held before. Anybody can send such a header, so that only what one's own proxies have
//! added counts:
//!
//! 1. The connection comes from an address, the peer. When it is not in the trusted networks, it is
//!    the client, whatever any header says.
//! 2. Otherwise the header is read from its end. The first address that is not trusted is the client.
//!    What stands before it was there when the request came to the first trusted proxy; the client
//!    itself may have written it, and it does not count.
//! 3. Where all of them are trusted, the first one is: a client within the trusted networks. Where an
//!    entry is no address (`unknown`, or a name that hides one), the client is the one who wrote it:
//!    the address after it, or the peer.
//!
//! One header is read and no other: a proxy that writes X-Forwarded-For passes on the Forwarded that
//! a client made up. It must be the one that all trusted proxies write.
//!
//! Sources: RFC 7239 (Forwarded), section 7.4 of it for X-Forwarded-For; A. Pritchard, "The perils of
//! the real client IP" (2022).

use super::networks::{Networks, address};
use core::net::IpAddr;
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

/// The proxies in front of a service.
#[derive(Clone, Debug)]
pub struct Proxies {
    trusted: Networks,
    header: HeaderName,
}

impl Proxies {
    /// Those in these networks, which write X-Forwarded-For.
    pub fn x_forwarded_for(trusted: Networks) -> Self {
        Proxies::header(HeaderName::from_static("x-forwarded-for"), trusted)
    }

    /// Those in these networks, which write Forwarded (RFC 7239).
    pub fn forwarded(trusted: Networks) -> Self {
        Proxies::header(FORWARDED, trusted)
    }

    /// Those in these networks, which write an address, or a list of them, into this header. Of
    /// `Forwarded`, the addresses are what it says of `for`.
    pub fn header(header: HeaderName, trusted: Networks) -> Self {
        Proxies { trusted, header }
    }

    /// The address of the client, where the connection comes from `peer`.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.trusted.contains(client) {
            return client;
        }
        // A header that stands there twice is one list.
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

    /// Takes the last entry of a list that is not empty, and reads the address in it, if there is
    /// one.
    fn last(&self, rest: &mut &[u8]) -> Option<Option<IpAddr>> {
        loop {
            if rest.is_empty() {
                return None;
            }
            let quotes = self.header == FORWARDED;
            let entry = cut_last(rest, b',', quotes).trim_ascii();
            if !entry.is_empty() {
                return Some(if quotes { said_for(entry) } else { address(entry) });
            }
        }
    }
}

/// Cuts off what follows the last `separator`. Where there may be quotes, one within quotes is none.
///
/// It is read from the end, so that a quote which a client opened and never closed changes nothing of
/// what comes after it.
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

/// Whether an odd number of backslashes stands before a place.
fn is_escaped(text: &[u8], place: usize) -> bool {
    let before = text.get(..place).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The address that one element of Forwarded names as the one who asked, as in
/// `for="[2001:db8::1]:443";proto=https`.
fn said_for(element: &[u8]) -> Option<IpAddr> {
    let mut rest = element;
    while !rest.is_empty() {
        let pair = cut_last(&mut rest, b';', true).trim_ascii();
        let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = pair.split_at(equals);
        if name.eq_ignore_ascii_case(b"for") {
            let value = value.get(1..).unwrap_or_default();
            let within = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
            return address(within.unwrap_or(value));
        }
    }
    None
}

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
//! Networks that hold the internet would all be trusted, so that the first address would count, which is the client's
//! own invention: they are refused. Where the addresses of the proxies are not known, as behind the load balancers of a
//! cloud, [`hops`](Proxies::hops) counts the proxies, and [`one_address`](Proxies::one_address) reads a header that the
//! proxy in front sets.
//!
//! Only one header is read, and all trusted proxies must write it: a proxy that writes X-Forwarded-For passes on a
//! Forwarded that the client made up.
//!
//! Sources: RFC 7239 (Forwarded), section 7.4 of it for X-Forwarded-For; A. Pritchard, "The perils of
//! the real client IP" (2022).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};
use ratescope::ParseError;
use ratescope::address::{Networks, canonical, parse};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies in front of a service.
#[derive(Clone, Debug)]
#[must_use = "it is given to `RateLimitLayer::behind`"]
pub struct Proxies {
    header: HeaderName,
    /// The networks of peers that are believed; `None` for all peers.
    trusted: Option<Networks>,
    client: Place,
    remark: Option<String>,
}

/// Where in the header the client's address is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The first from the right that is not trusted.
    Untrusted,
    /// At this place from the right, which begins with 1; at 0 is the peer.
    FromRight(usize),
    /// The only one.
    Only,
}

impl Proxies {
    /// Proxies in these networks that write X-Forwarded-For.
    ///
    /// # Errors
    /// As [`header`](Self::header).
    pub fn x_forwarded_for(trusted: Networks) -> Result<Self, ParseError> {
        Proxies::header(X_FORWARDED_FOR, trusted)
    }

    /// Proxies in these networks that write Forwarded (RFC 7239).
    ///
    /// # Errors
    /// As [`header`](Self::header).
    pub fn forwarded(trusted: Networks) -> Result<Self, ParseError> {
        Proxies::header(FORWARDED, trusted)
    }

    /// Proxies in these networks that write an address or a list of addresses into this header. In
    /// `Forwarded`, the addresses are those of the parameter `for`.
    ///
    /// # Errors
    /// When the networks [can't be those of proxies](Networks::check_trust), as `0.0.0.0/0`.
    pub fn header(header: HeaderName, trusted: Networks) -> Result<Self, ParseError> {
        let remark = trusted.check_trust()?;
        Ok(Proxies { header, trusted: Some(trusted), client: Place::Untrusted, remark })
    }

    /// Proxies on this machine that write X-Forwarded-For.
    pub fn on_this_machine() -> Self {
        let loopback = [(Ipv4Addr::new(127, 0, 0, 0).into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)];
        let trusted = Some(Networks::new(loopback).unwrap_or_default());
        Proxies { header: X_FORWARDED_FOR, trusted, client: Place::Untrusted, remark: None }
    }

    /// A fixed number of proxies, each of which adds the address of its peer to this header. The client is the address
    /// at this place from the right: behind two proxies, the second. With 0 proxies it is the peer.
    ///
    /// If the header has fewer addresses, the request went past a proxy, and the first address counts. Nobody else must
    /// reach the service, since a client that goes past a proxy chooses an address: see [`only_from`](Self::only_from).
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName};
    /// use ratescope_tower::Proxies;
    ///
    /// let header = HeaderName::from_static("x-forwarded-for");
    /// let mut headers = HeaderMap::new();
    /// // One address made up by the client, one added by the outer proxy, and one by the inner proxy.
    /// headers.insert(&header, "198.51.100.1, 203.0.113.7, 10.0.0.2".parse()?);
    /// let client = Proxies::hops(header, 2).client("10.0.0.1".parse()?, &headers);
    /// assert_eq!(client.to_string(), "203.0.113.7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hops(header: HeaderName, proxies: usize) -> Self {
        Proxies { header, trusted: None, client: Place::FromRight(proxies), remark: None }
    }

    /// A proxy that sets this header to the address of the client, as `CF-Connecting-IP` or `X-Real-IP`. If the header
    /// has no address or several, the proxy did not set it, and the client is the peer. Nobody else must reach the
    /// service: see [`only_from`](Self::only_from).
    pub fn one_address(header: HeaderName) -> Self {
        Proxies { header, trusted: None, client: Place::Only, remark: None }
    }

    /// Believes only peers in these networks, in place of those before. A peer elsewhere is the client.
    ///
    /// # Errors
    /// As [`header`](Self::header), if the addresses of proxies are not counted.
    pub fn only_from(self, trusted: Networks) -> Result<Self, ParseError> {
        match self.client {
            Place::Untrusted => Proxies::header(self.header, trusted),
            _ => Ok(Proxies { trusted: Some(trusted), ..self }),
        }
    }

    /// True for a peer whose headers are believed.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted.as_ref().is_none_or(|trusted| trusted.contains(peer))
    }

    /// The address of the client, if the connection comes from `peer`.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = canonical(peer);
        if !self.trusts(peer) {
            return peer;
        }
        // Several headers of one name are one list.
        let lines = headers.get_all(&self.header).iter().rev().map(|value| value.as_bytes());
        let mut entries = lines.flat_map(|line| {
            let mut rest = line;
            core::iter::from_fn(move || self.last(&mut rest))
        });
        if let Place::Only = self.client {
            return match (entries.next(), entries.next()) {
                (Some(Some(only)), None) => only,
                _ => peer,
            };
        }
        let mut client = peer;
        for place in 0.. {
            let is_client = match self.client {
                Place::FromRight(last) => place == last,
                _ => !self.trusts(client),
            };
            match entries.next() {
                Some(Some(said)) if !is_client => client = said,
                _ => break,
            }
        }
        client
    }

    /// A remark on the networks, if they may be wrong.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
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

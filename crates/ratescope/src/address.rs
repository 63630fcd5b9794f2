//! Client addresses from logs and requests, each brought into one form.
//!
//! An IPv6 address can be written in many ways, and may stand for an IPv4 address. A client with IPv6 usually
//! has a whole /64 (RFC 6177) and can change its address within it (RFC 4941), so a limit for each address
//! would limit nobody. Here addresses that stand for IPv4 become IPv4 first, and the other IPv6 addresses are
//! grouped by network:
//!
//! | read | taken as |
//! |---|---|
//! | `192.0.2.7`, `192.0.2.7:4567`, `192.0.2.7:_hidden` | `192.0.2.7` |
//! | `::ffff:192.0.2.7`, `[::ffff:c000:207]:443` | `192.0.2.7` |
//! | `64:ff9b::192.0.2.7` | `192.0.2.7` |
//! | `2001:DB8:0:1:aaaa::1`, `[2001:db8:0:1::2]:443` | `2001:db8:0:1::/64` |
//! | `2001:db8::1`, with a prefix of 128 | `2001:db8::1` |
//! | `mail.example.org` and anything else that is no address | unchanged |
//!
//! # Which addresses stand for IPv4
//! * `::ffff:0:0/96` (IPv4-mapped): a socket for both protocols reports an IPv4 client so.
//! * `64:ff9b::/96` (NAT64, RFC 6052): a translator in front of an IPv6 network reports an IPv4 client so.
//!   Without this step, all clients of IPv4 would share one /64. Section 3.1 allows only global addresses
//!   inside, so an address with an internal one inside stays IPv6: `64:ff9b::10.0.0.1` is never taken for a
//!   proxy in `10.0.0.0/8`.
//! * Not `2002::/16` (6to4) nor `2001::/32` (Teredo). Nothing on the way checks that the IPv4 address inside
//!   is the sender's (RFC 3964), so anybody could pretend to have any IPv4 address, even that of a trusted
//!   proxy.

mod index;
pub(crate) mod made;
mod networks;
mod trust;

pub(crate) use index::Index;
pub use made::IPV6_PREFIX;
pub use networks::Networks;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 address that an IPv6 address stands for, or else the address itself.
#[inline]
pub fn canonical(address: IpAddr) -> IpAddr {
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(v6) => in_v6(v6),
    };
    v4.map_or(address, IpAddr::V4)
}

/// The IPv4 address that an IPv6 address stands for.
fn in_v6(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let outside = |v4: &Ipv4Addr| !is_internal(IpAddr::V4(*v4));
    v6.to_ipv4_mapped().or_else(|| nat64(v6).filter(outside))
}

/// The IPv4 address in an address of NAT64.
fn nat64(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let is_nat64 = v6.segments().starts_with(&[0x64, 0xff9b, 0, 0, 0, 0]);
    is_nat64.then(|| Ipv4Addr::from_bits(v6.to_bits() as u32))
}

/// True for an internal address: private, loopback, link-local or unspecified. Such an address, often that of a
/// proxy, does not identify a client.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_unique_local()
                || v6.is_loopback()
                || v6.is_unicast_link_local()
                || v6.is_unspecified()
        }
    }
}

/// Reads an address and returns its [canonical] form; `None` if the text is no address. An IPv4 address may
/// have a port, an IPv6 address a zone (`%eth0`), brackets, and after these a port.
pub fn parse(text: &str) -> Option<IpAddr> {
    let begin = text.bytes().next()?;
    if !(begin.is_ascii_hexdigit() || matches!(begin, b':' | b'[')) {
        return None;
    }
    let v6 = |text: &str| {
        let address = match in_full(text) {
            Some(address) => address,
            None => text.split('%').next()?.parse().ok()?,
        };
        Some(canonical(IpAddr::V6(address)))
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return v6(inside).filter(|_| is_port);
    }
    match text.split_once(':') {
        None => text.parse().ok().map(IpAddr::V4),
        // An IPv6 address has more than one colon.
        Some((ip, port)) if !port.contains(':') => {
            ip.parse().ok().map(IpAddr::V4).filter(|_| is_port(port))
        }
        Some(_) => v6(text),
    }
}

/// True for a text that is an address, with or without a port.
pub fn is_address(text: &str) -> bool {
    parse(text).is_some()
}

/// True for a port: up to five digits, or a name in place of a hidden port, as in `_hidden` (RFC
/// 7239, section 6.2).
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        None => text.bytes().all(|b| b.is_ascii_digit()) && text.len() < 6,
    }
}

/// Reads an IPv6 address of eight groups of digits, the usual form; `None` for an address with `::`. The parser of std
/// takes five times as long.
fn in_full(text: &str) -> Option<Ipv6Addr> {
    let mut groups = [0u16; 8];
    let mut place = 0;
    let mut digits = 0;
    for byte in text.bytes() {
        if byte == b':' {
            if digits == 0 {
                return None;
            }
            place += 1;
            digits = 0;
        } else {
            let digit = char::from(byte).to_digit(16)? as u16;
            let group = groups.get_mut(place).filter(|_| digits < 4)?;
            *group = *group << 4 | digit;
            digits += 1;
        }
    }
    (place == 7 && digits > 0).then(|| Ipv6Addr::from(groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_full_as_std_reads_it() {
        let texts = [
            "2001:db8:89fd:ce28:620:e70d:3dd1:1f40",
            "2001:0DB8:0:0000:a:b:c:d",
            "0:0:0:0:0:ffff:c000:207",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7:",
            ":1:2:3:4:5:6:7",
            "1:2:3::5:6:7:8",
            "1:2:3:4:5:6:7:00008",
            "1:2:3:4:5:6:7:g",
            "1:2:3:4:5:6:192.0.2.1",
            "1:2:3:4:5:6:7:8%eth0",
            "::",
            "",
        ];
        let mut read = 0;
        for text in texts {
            if let Some(address) = in_full(text) {
                assert_eq!(text.parse(), Ok(address), "{text}");
                read += 1;
            }
        }
        assert_eq!(read, 3);
    }
}

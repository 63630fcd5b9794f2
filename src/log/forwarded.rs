//! Finds the client in a list of forwarded addresses when no trusted proxies are configured.

use crate::address::parse;
use core::net::IpAddr;

/// Whether a text has dots and digits only. An IPv4 address without a port has one spelling.
#[inline]
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Whether an address is internal, such as that of a proxy in front of the server, and so says
/// nothing about who sent a request.
fn is_internal(address: IpAddr) -> bool {
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

/// The client in an X-Forwarded-For list: the last address that is not of a private network, since
/// anybody can send the part before it. If all addresses are private, the first of them, a client
/// inside the network.
pub(super) fn forwarded(list: &str) -> Option<&str> {
    let each = || list.split(',').map(str::trim).filter(|text| parse(text).is_some());
    each().rev().find(|text| parse(text).is_some_and(|a| !is_internal(a))).or_else(|| each().next())
}

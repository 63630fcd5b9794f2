//! Which address of a list is the client's, where nobody said which proxies are to be trusted.

use crate::address::parse;
use core::net::IpAddr;

/// Whether a text has dots and digits alone: an IPv4 address without a port has one spelling.
#[inline]
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Whether an address says nothing about who sent a request: that of a proxy of one's own.
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

/// The client that a list of X-Forwarded-For names: the last address that is not of a private
/// network, as whatever stands before it may have been sent by anybody. Where all are private, the
/// first of them: a client inside.
pub(super) fn forwarded(list: &str) -> Option<&str> {
    let each = || list.split(',').map(str::trim).filter(|text| parse(text).is_some());
    each().rev().find(|text| parse(text).is_some_and(|a| !is_internal(a))).or_else(|| each().next())
}

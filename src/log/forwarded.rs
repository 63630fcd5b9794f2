//! Finds the client in a list of forwarded addresses when no trusted proxies are configured.

use crate::address::{is_internal, parse};

/// Whether a text has dots and digits only. An IPv4 address without a port has one spelling.
#[inline]
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// The client in an X-Forwarded-For list: the last address that is not of a private network, since
/// anybody can send the part before it. If all addresses are private, the first of them, a client
/// inside the network.
pub(super) fn forwarded(list: &str) -> Option<&str> {
    let each = || list.split(',').map(str::trim).filter(|text| parse(text).is_some());
    each().rev().find(|text| parse(text).is_some_and(|a| !is_internal(a))).or_else(|| each().next())
}

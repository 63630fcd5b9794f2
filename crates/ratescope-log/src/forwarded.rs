//! Finds the client in a list of forwarded addresses when no trusted proxies are configured.

use super::eight;
use ratescope::address::{is_address, is_internal, parse};

/// Whether a text has no colon. If it is an address, it is then one of IPv4 without a port. This has one
/// spelling, so it needs no change.
#[inline]
pub(super) fn is_plain(text: &str) -> bool {
    !eight::has(b':', text.as_bytes())
}

/// The client in an X-Forwarded-For list: the last address that is not internal, since anybody can send the
/// part before it. If all addresses are internal, the client is inside the network, and is the first of them.
/// `None` if the list has no address.
pub(super) fn forwarded(list: &str) -> Option<&str> {
    let each = || list.split(',').map(str::trim).filter(|text| is_address(text));
    each().rev().find(|text| parse(text).is_some_and(|a| !is_internal(a))).or_else(|| each().next())
}

//! Networks of the clients of a log.

use ipnet::IpNet;
use ratescope::address;

/// Reads a network, as in `192.0.2.0/24`, or an address, which is a network of one address.
///
/// # Errors
/// When it is neither, with the problem.
pub fn network(text: &str) -> Result<IpNet, &'static str> {
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let one = IpNet::from(address::parse(address).ok_or("not an address or a network")?);
    let bits = if bits.is_empty() { Some(one.max_prefix_len()) } else { bits.parse().ok() };
    let network = bits.and_then(|bits| IpNet::new(one.addr(), bits).ok());
    let wrong = "the prefix of a network is at most 32 bits, and 128 of IPv6";
    network.map(|network| network.trunc()).ok_or(wrong)
}

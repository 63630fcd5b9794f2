//! A network of the clients of a log.

use core::net::IpAddr;
use ratescope::address;

/// A network, as in `192.0.2.0/24`: the addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// False for a network of IPv6.
    pub is_ipv4: bool,
    /// The number of these bits.
    pub bits: u8,
    /// These bits.
    head: u128,
}

impl Network {
    /// The network of an address with a prefix of `bits` bits; `None` if the address has fewer.
    pub fn of(address: IpAddr, bits: u8) -> Option<Self> {
        let (number, length) = match address {
            IpAddr::V4(v4) => (v4.to_bits().into(), 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128u8),
        };
        let head = number.checked_shr(length.checked_sub(bits)?.into()).unwrap_or(0);
        Some(Network { is_ipv4: address.is_ipv4(), bits, head })
    }

    /// Reads a network, or an address, which is a network of one address.
    ///
    /// # Errors
    /// When it is neither, with the problem.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        let address = address::parse(address).ok_or("not an address or a network")?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = if bits.is_empty() { Some(most) } else { bits.parse().ok() };
        let network = bits.and_then(|bits| Network::of(address, bits));
        network.ok_or("the prefix of a network is at most 32 bits, and 128 of IPv6")
    }
}

//! Lists of networks, such as those of the proxies in front of a service.

use super::{canonical, is_internal, nat64, parse};
use crate::text::ParseError;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use ipnet::{IpNet, Ipv4Net};

/// A list of networks. Its text form is `10.0.0.0/8, fd00::/8, 192.0.2.7`.
///
/// An IPv6 address that stands for an IPv4 address (`::ffff:192.0.2.7`, `64:ff9b::192.0.2.7`) counts as that IPv4
/// address. So a network within `64:ff9b::/96`, or one within `64:ff9b::/48` that contains it, would hold no public
/// address, and is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Networks(pub(super) Vec<IpNet>);

impl Networks {
    /// Makes a list of networks, each from its first address and the length of its prefix in bits, such as
    /// `10.0.0.0` and 8. A single address has the length 32 (IPv4) or 128 (IPv6).
    ///
    /// # Errors
    /// When a prefix is too long, an address is not the first of its network, or a network is one of NAT64.
    pub fn new(networks: impl IntoIterator<Item = (IpAddr, u8)>) -> Result<Self, ParseError> {
        let read = |(address, length): (IpAddr, u8)| {
            let text = format!("{address}/{length}");
            network(&text).map_err(|problem| ParseError::whole(&text, problem))
        };
        networks.into_iter().map(read).collect::<Result<_, _>>().map(Networks)
    }

    /// True for an address in one of the networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        self.0.iter().any(|network| network.contains(&address))
    }

    /// True for an address in one of the networks, or a group of addresses, such as
    /// `2001:db8:0:1::/64`, that lies wholly in one. `false` for any other text.
    pub(crate) fn has(&self, text: &str) -> bool {
        read(text).is_some_and(|network| self.0.iter().any(|known| known.contains(&network)))
    }

    pub(super) fn each(&self) -> &[IpNet] {
        &self.0
    }

    /// True for an empty list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, network) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            if network.prefix_len() == network.max_prefix_len() {
                write!(f, "{comma}{}", network.addr())?;
            } else {
                write!(f, "{comma}{network}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Networks {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const HELP: &str = "write networks and addresses, as in 10.0.0.0/8, fd00::/8, 192.0.2.7";
        let mut networks = Vec::new();
        for (from, part) in crate::text::parts(text, ',') {
            let word = part.trim();
            let from = from + (part.len() - part.trim_start().len());
            let wrong = |problem: String| {
                ParseError::new(text, from..from + word.len(), format!("{problem}; {HELP}"))
            };
            if word.is_empty() {
                return Err(wrong("a network is missing".to_owned()));
            }
            networks.push(network(word).map_err(wrong)?);
        }
        Ok(Networks(networks))
    }
}

/// An address, or a group of addresses, such as `2001:db8:0:1::/64`; `None` for any other text.
pub(super) fn read(text: &str) -> Option<IpNet> {
    match text.split_once('/') {
        None => parse(text).map(IpNet::from),
        Some(_) => text.parse().ok(),
    }
}

fn network(word: &str) -> Result<IpNet, String> {
    let Some((address, _)) = word.split_once('/') else {
        let address: IpAddr = word.parse().map_err(|_| "not an address".to_owned())?;
        return Ok(canonical(address).into());
    };
    let network: IpNet = word.parse().map_err(|_| "not a network".to_owned())?;
    let begin = network.trunc();
    if begin != network {
        // Probably a mistake, since the bits after the prefix mean nothing.
        return Err(format!("{address} is an address within the network {begin}"));
    }
    let IpNet::V6(v6) = network else { return Ok(network) };
    let length = v6.prefix_len().saturating_sub(96);
    let of = |v4| Ipv4Net::new(v4, length).ok();
    if let Some(mapped) = v6.addr().to_ipv4_mapped().and_then(of) {
        return Ok(IpNet::V4(mapped));
    }
    // A shorter prefix has other addresses, such as those of 64:ff9b:1::/48.
    let is_long = v6.prefix_len() >= 48;
    let Some(inside) = nat64(v6.addr()).and_then(of).filter(|_| is_long) else {
        return Ok(network);
    };
    // An internal address stays as it is. The shortest network of these is 10.0.0.0/8.
    let ends = [inside.network(), inside.broadcast()];
    if length >= 8 && ends.into_iter().all(|end| is_internal(end.into())) {
        return Ok(network);
    }
    let instead = if length > 0 { inside.to_string() } else { "the networks of those".to_owned() };
    Err(format!("addresses of NAT64 count as their IPv4 addresses: write {instead}"))
}

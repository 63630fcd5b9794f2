//! Clients marked as legitimate: a crawler, a monitor, an office.

use crate::lab::tune::Clients;
use core::convert::Infallible;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use std::collections::{BTreeSet, HashMap};

/// The keys of clients that should not be refused anything, or networks of such clients, as in
/// `192.0.2.0/24`. The text form has one on each line. A remark follows ` #`, or `#` at the beginning of a
/// line; empty lines are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedKeys(pub BTreeSet<String>);

impl MarkedKeys {
    /// Returns the places of the marked clients, in order, and the marks that match no client. If a client is
    /// a network itself, as in `2001:db8::/64`, its first address counts.
    pub fn places(&self, clients: &Clients) -> (Vec<usize>, Vec<&str>) {
        let mut marked = vec![false; clients.len()];
        // The networks, and whether a client is in them.
        let mut networks: HashMap<Network, bool> = HashMap::new();
        for key in &self.0 {
            match clients.find(key).and_then(|place| marked.get_mut(place)) {
                Some(marked) => *marked = true,
                None => networks.extend(Network::new(key).map(|network| (network, false))),
            }
        }
        // There are few lengths, and a client can be in one network of each.
        let lengths: BTreeSet<_> =
            networks.keys().map(|network| (network.is_ipv4, network.bits)).collect();
        let places = if networks.is_empty() { 0 } else { clients.len() };
        for (place, marked) in marked.iter_mut().enumerate().take(places) {
            let key = clients.key(place).split('/').next();
            let Some(address) = key.and_then(|text| text.parse::<IpAddr>().ok()) else { continue };
            for &(_, bits) in lengths.iter().filter(|(is_ipv4, _)| *is_ipv4 == address.is_ipv4()) {
                if let Some(is_found) = networks.get_mut(&Network::of(address, bits)) {
                    (*is_found, *marked) = (true, true);
                }
            }
        }
        let is_found = |key: &str| {
            let network = Network::new(key).and_then(|network| networks.get(&network));
            clients.find(key).is_some() || network == Some(&true)
        };
        let unknown = self.0.iter().map(String::as_str).filter(|key| !is_found(key)).collect();
        let places = marked.iter().enumerate().filter(|(_, marked)| **marked);
        (places.map(|(place, _)| place).collect(), unknown)
    }
}

/// A network of clients, as in `192.0.2.0/24`.
#[derive(PartialEq, Eq, Hash)]
struct Network {
    is_ipv4: bool,
    bits: u32,
    /// The bits that all its addresses begin with.
    head: u128,
}

impl Network {
    fn new(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let bits = bits.parse().ok().filter(|bits| *bits <= length(address))?;
        Some(Network::of(address, bits))
    }

    /// The network of `bits` bits that an address is in.
    fn of(address: IpAddr, bits: u32) -> Self {
        let beyond = length(address) - bits.min(length(address));
        let head = number(address).checked_shr(beyond).unwrap_or(0);
        Network { is_ipv4: address.is_ipv4(), bits, head }
    }
}

/// The number of bits of an address.
const fn length(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl FromStr for MarkedKeys {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let key = |line: &str| line.split(" #").next().unwrap_or("").trim().to_owned();
        let is_key = |key: &String| !key.is_empty() && !key.starts_with('#');
        Ok(MarkedKeys(text.lines().map(key).filter(is_key).collect()))
    }
}

/// One key a line.
impl fmt::Display for MarkedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| writeln!(f, "{key}"))
    }
}

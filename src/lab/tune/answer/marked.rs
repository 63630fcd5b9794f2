//! Clients marked as legitimate: a crawler, a monitor, an office.

use crate::lab::tune::Clients;
use core::convert::Infallible;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use std::collections::BTreeSet;

/// The keys of clients that should not be refused anything, or networks of such clients, as in
/// `192.0.2.0/24`. The text form has one on each line. A remark follows ` #`, or `#` at the beginning of a
/// line; empty lines are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedKeys(pub BTreeSet<String>);

impl MarkedKeys {
    /// Returns for each client, by its place, whether it is marked, and the marks that match no client.
    pub fn places(&self, clients: &Clients) -> (Vec<bool>, Vec<&str>) {
        let mut marked = vec![false; clients.len()];
        let mut unknown = Vec::new();
        for key in &self.0 {
            let found: Vec<usize> = match (clients.find(key), Network::new(key)) {
                (Some(place), _) => vec![place],
                (None, Some(network)) => {
                    (0..clients.len()).filter(|place| network.has(clients.key(*place))).collect()
                }
                (None, None) => Vec::new(),
            };
            if found.is_empty() {
                unknown.push(key.as_str());
            }
            for place in found {
                if let Some(marked) = marked.get_mut(place) {
                    *marked = true;
                }
            }
        }
        (marked, unknown)
    }
}

/// A network of clients, as in `192.0.2.0/24`.
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    fn new(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let bits = bits.parse().ok().filter(|bits| *bits <= length(address))?;
        Some(Network { address, bits })
    }

    /// Returns whether a client is in this network. If the client is a network itself, as in
    /// `2001:db8::/64`, its first address counts.
    fn has(&self, client: &str) -> bool {
        let address = client.split('/').next().and_then(|text| text.parse::<IpAddr>().ok());
        address.is_some_and(|address| {
            let beyond = length(address) - self.bits.min(length(address));
            let head = |address| number(address).checked_shr(beyond).unwrap_or(0);
            address.is_ipv4() == self.address.is_ipv4() && head(address) == head(self.address)
        })
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

//! Clients marked as legitimate: a crawler, a monitor, an office.

use crate::tune::Clients;
use core::convert::Infallible;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use ratescope_log::ipnet::IpNet;
use ratescope_log::network;
use std::collections::{BTreeSet, HashMap};

/// The keys of clients that should never be refused, or networks of such clients, as in `192.0.2.0/24`. The text form
/// has one a line. A comment follows ` #`, or `#` at the beginning of a line; empty lines are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedKeys(pub BTreeSet<String>);

impl MarkedKeys {
    /// Returns the places of the marked clients, in order, and the marks that match no client. If a client is
    /// a network itself, as in `2001:db8::/64`, its first address counts.
    pub fn places(&self, clients: &Clients) -> (Vec<usize>, Vec<&str>) {
        let mut marked = vec![false; clients.len()];
        // The networks, each with whether a client is in it.
        let mut networks: HashMap<IpNet, bool> = HashMap::new();
        // The marks that are not keys of clients, and their networks.
        let mut others = Vec::new();
        for key in &self.0 {
            match clients.find(key).and_then(|place| marked.get_mut(place)) {
                Some(marked) => *marked = true,
                None => {
                    let network = network(key).ok().filter(|_| key.contains('/'));
                    networks.extend(network.map(|network| (network, false)));
                    others.push((key.as_str(), network));
                }
            }
        }
        // There are few prefix lengths, and a client is in at most one network of each length.
        let lengths: BTreeSet<u8> = networks.keys().map(IpNet::prefix_len).collect();
        let places = if networks.is_empty() { 0 } else { clients.len() };
        for (place, marked) in marked.iter_mut().enumerate().take(places) {
            let key = clients.key(place).split('/').next();
            let Some(address) = key.and_then(|text| text.parse::<IpAddr>().ok()) else { continue };
            for bits in &lengths {
                let network = IpNet::new(address, *bits).ok().map(|network| network.trunc());
                if let Some(is_found) = network.and_then(|network| networks.get_mut(&network)) {
                    *is_found = true;
                    *marked = true;
                }
            }
        }
        others.retain(|(_, network)| network.and_then(|own| networks.get(&own)) != Some(&true));
        let unknown = others.into_iter().map(|(key, _)| key).collect();
        let places = marked.iter().enumerate().filter(|(_, marked)| **marked);
        (places.map(|(place, _)| place).collect(), unknown)
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

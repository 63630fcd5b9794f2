//! An index of many lists of networks by address.

use super::networks::{Networks, read};
use ipnet::IpNet;
use std::collections::HashMap;

/// An index of lists of networks, each with its place.
///
/// A network lies in a wider one if its address begins with the wider network's prefix. So each prefix length takes one
/// look-up, at most 33 for IPv4 and 129 for IPv6.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// The places of the lists that have a network, in order.
    places: HashMap<IpNet, Vec<usize>>,
    /// The different lengths of the prefixes of IPv4 and of IPv6.
    lengths: [Vec<u8>; 2],
}

impl Index {
    /// Adds a list, whose place is behind all others.
    pub(crate) fn push(&mut self, place: usize, networks: &Networks) {
        for network in networks.each() {
            let places = self.places.entry(*network).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
            let lengths = &mut self.lengths[usize::from(network.addr().is_ipv6())];
            if !lengths.contains(&network.prefix_len()) {
                lengths.push(network.prefix_len());
            }
        }
    }

    /// The place of the first list that [has](Networks::has) a text.
    pub(crate) fn first(&self, text: &str) -> Option<usize> {
        // Most lists have values and no networks, and reading an address takes time.
        let network = if self.places.is_empty() { None } else { read(text) }?;
        self.around(network).filter_map(|places| places.first()).min().copied()
    }

    /// The places of all lists that have a text, in order.
    pub(crate) fn having(&self, text: &str) -> Vec<usize> {
        in_order(read(text).into_iter().flat_map(|network| self.around(network)).flatten().copied())
    }

    /// The places of the lists that cover all of these networks, in order.
    pub(crate) fn covering(&self, networks: &Networks) -> Vec<usize> {
        let has = |place: &usize, network: &IpNet| {
            self.around(*network).any(|places| places.binary_search(place).is_ok())
        };
        // Such a list covers each of the networks, so the candidates of one network are enough.
        let many = |network: &&IpNet| self.around(**network).map(<[_]>::len).sum::<usize>();
        let rarest = networks.each().iter().min_by_key(many);
        let some = rarest.into_iter().flat_map(|network| self.around(*network)).flatten();
        let covers = |place: &&usize| networks.each().iter().all(|network| has(place, network));
        in_order(some.filter(covers).copied())
    }

    /// The places of the lists by each network that covers this one.
    fn around(&self, network: IpNet) -> impl Iterator<Item = &[usize]> {
        let lengths = &self.lengths[usize::from(network.addr().is_ipv6())];
        let shorter = lengths.iter().filter(move |length| **length <= network.prefix_len());
        shorter.filter_map(move |length| {
            let around = IpNet::new(network.addr(), *length).ok()?.trunc();
            self.places.get(&around).map(Vec::as_slice)
        })
    }
}

/// Sorted, each once.
fn in_order(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<_> = places.collect();
    places.sort_unstable();
    places.dedup();
    places
}

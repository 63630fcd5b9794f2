//! Notes on a configuration: how the server will count otherwise than the log was read.

use super::Choices;
use crate::lab::tune::Clients;
use crate::log::Cost;
use crate::policy::Per;
use crate::policy::export::Target;
use core::net::Ipv6Addr;

impl Choices {
    /// The differences between what was read and what the server will count, one sentence each.
    pub(super) fn notes(&self, per: &Per, network: Option<&str>) -> Vec<String> {
        let (options, server) = (&self.reading.options, self.target);
        let filter = &options.filter;
        let chosen = (!filter.is_empty()).then(|| {
            format!(
                "this limit was chosen for requests with {filter} only; put it where {server} counts \
                 no others"
            )
        });
        // In Rust, the program says the cost and the fields of an event.
        let own = server != Target::Rust;
        let cost = match &options.cost {
            Some(Cost::Field(name)) if own => {
                Some(format!("a request counts as its {name} above, and as 1 for {server}"))
            }
            _ => None,
        };
        let by_path = own && per.fields().iter().any(|field| field == "path");
        let depth = options.path_depth.filter(|_| by_path).map(|depth| {
            format!("of a path the first {depth} segments count above, and all for {server}")
        });
        // Cloudflare may group addresses itself.
        let network = network.filter(|_| own && server != Target::Cloudflare).map(|network| {
            format!(
                "an IPv6 network such as {network} is one client above, and each of its addresses one \
                 for {server}, so that it has a limit many times over; with an IPv6 prefix of 128 bits \
                 addresses are counted as there"
            )
        });
        let notes = [chosen, cost, depth, network];
        notes.into_iter().flatten().collect()
    }
}

/// The first client that is an IPv6 network.
pub fn network(clients: &Clients) -> Option<&str> {
    let is_network = |text: &&str| {
        let address = text.split_once('/').map(|(address, _)| address.parse::<Ipv6Addr>());
        matches!(address, Some(Ok(_)))
    };
    (0..clients.len()).find_map(|place| clients.key(place).split(['=', ',']).find(is_network))
}

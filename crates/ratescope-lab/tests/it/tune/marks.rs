//! Marked clients.

use super::doubling::{assert_linear, sizes};
use super::*;
use ratescope_lab::tune::MarkedKeys;

fn clients_of(keys: impl IntoIterator<Item = String>) -> Clients {
    let mut clients = Clients::new(Room::default());
    keys.into_iter().for_each(|key| clients.add(&key, Time::ZERO, 1.0));
    clients
}

#[test]
fn a_mark_is_a_client_or_a_network_of_clients() {
    let keys =
        ["192.0.2.7", "192.0.3.7", "2001:db8:1::/64", "ann", "10.0.0.0/8", "10.1.2.3", "::1"];
    let clients = clients_of(keys.map(str::to_owned));
    for (marks, marked, unknown) in [
        ("192.0.2.0/24", "1000000", ""),
        ("192.0.2.9/23", "1100000", ""),
        ("192.0.2.0/24\n192.0.2.1/24\n192.0.0.0/16\n198.51.100.0/24", "1100000", "198.51.100.0/24"),
        ("0.0.0.0/0", "1100110", ""),
        ("::/0", "0010001", ""),
        ("2001:db8::/32\n::1/128", "0010001", ""),
        ("2001:db8:2::/48", "0000000", "2001:db8:2::/48"),
        // As a client's address, this is one of IPv4, which has fewer bits.
        ("::ffff:192.0.2.0/120", "0000000", "::ffff:192.0.2.0/120"),
        // A key is the client of that name, also if it could be a network.
        ("10.0.0.0/8", "0000100", ""),
        ("ann\nbob\n192.0.2.0/33\n/8", "0001000", "/8 192.0.2.0/33 bob"),
    ] {
        let marks: MarkedKeys = marks.parse().unwrap();
        let (found, missing) = marks.places(&clients);
        let is_found = |place| if found.contains(&place) { '1' } else { '0' };
        let found: String = (0..keys.len()).map(is_found).collect();
        assert_eq!((found.as_str(), missing.join(" ").as_str()), (marked, unknown), "{marks}");
    }
}

#[test]
fn many_networks_are_looked_for_in_proportion() {
    assert_linear(&sizes(2000), |&n| {
        let network = |i: usize| format!("10.{}.{}.0/{}\n", i / 256, i % 256, 24 + i % 4);
        let marks: MarkedKeys = (0..n).map(network).collect::<String>().parse().unwrap();
        let clients = clients_of((0..n).map(|i| format!("10.{}.{}.1", i / 256, i % 256)));
        assert_eq!(marks.places(&clients).0.len(), n);
    });
}

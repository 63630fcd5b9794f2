//! Which networks can be those of proxies.

use super::Networks;
use crate::text::{ParseError, show::grouped};
use core::net::{Ipv4Addr, Ipv6Addr};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 networks of which no packet comes from the internet: RFC 6890, with the shared addresses of providers (RFC
/// 6598), which clouds give to machines of their customers.
const INTERNAL: [Ipv4Net; 7] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
];

/// The IPv6 addresses of the internet (RFC 4291, section 2.4).
const GLOBAL: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Internal addresses of IPv6 (RFC 4193).
const UNIQUE_LOCAL: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);

/// The most public IPv4 addresses that proxies may have: a /8. The largest networks for content have about ten million
/// addresses.
const MOST_V4: u64 = 1 << 24;

/// The most public networks of /64 that proxies may have: a /20. The largest allocations to clouds are a /24.
const MOST_V6: u64 = 1 << 44;

/// From a /16 of IPv4 or a /32 of IPv6 on, there is a remark.
const REMARKED_V4: u64 = 1 << 16;
const REMARKED_V6: u64 = 1 << 32;

/// The end of each error: the reason and the remedy.
const INSTEAD: &str = "a client there would choose the address that it is counted by, so name only the networks of your \
                       proxies, or count the proxies: behind two, the client is the second address from the right";

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

impl Networks {
    /// Checks that these can be the networks of your own proxies. A proxy is trusted to say who its peer is, so a
    /// client in one of these networks chooses its own address. `Some` is a remark on many public addresses.
    ///
    /// # Errors
    /// When a network has internal and public addresses, as `172.0.0.0/8` or `::/0`; or when all together have more
    /// public addresses than a /8 of IPv4, or than a /20 of IPv6.
    pub fn check_trust(&self) -> Result<Option<String>, ParseError> {
        for network in self.each() {
            let internal = internal_parts(network);
            if !internal.is_empty() {
                let problem = format!(
                    "the network has public addresses, too, and internal is {internal}; {INSTEAD}"
                );
                return Err(ParseError::whole(&network.to_string(), problem));
            }
        }
        // Overlapping and neighboring networks become one.
        let all = IpNet::aggregate(&self.each().to_vec());
        let sum = |of: fn(&IpNet) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
        let counts = [
            (sum(public_v4), MOST_V4, REMARKED_V4, "public addresses"),
            (sum(public_v6), MOST_V6, REMARKED_V6, "public networks of /64"),
        ];
        if let Some((n, most, _, what)) = counts.iter().find(|(n, most, ..)| n > most) {
            let problem = format!(
                "these are {} {what}, and proxies have at most {}; {INSTEAD}",
                grouped(*n),
                grouped(*most)
            );
            return Err(ParseError::whole(&self.to_string(), problem));
        }
        let many = counts.iter().filter(|(n, _, remarked, _)| n >= remarked);
        let many: Vec<String> =
            many.map(|(n, .., what)| format!("{} {what}", grouped(*n))).collect();
        let remark = "a client at one of them chooses the address that it is counted by";
        Ok((!many.is_empty()).then(|| format!("the proxies have {}: {remark}", many.join(" and "))))
    }
}

/// The internal networks within a network that has public addresses, too; empty for all other networks.
fn internal_parts(network: &IpNet) -> Networks {
    let inside: Vec<IpNet> = match network {
        IpNet::V4(v4) if public_v4(network) > 0 => {
            INTERNAL.into_iter().filter(|internal| v4.contains(internal)).map(IpNet::V4).collect()
        }
        IpNet::V6(v6) if v6.contains(&GLOBAL) && *v6 != GLOBAL => vec![IpNet::V6(UNIQUE_LOCAL)],
        _ => Vec::new(),
    };
    Networks(inside)
}

/// The number of public addresses of a network of IPv4.
fn public_v4(network: &IpNet) -> u64 {
    let IpNet::V4(network) = network else { return 0 };
    if INTERNAL.iter().any(|internal| internal.contains(network)) {
        return 0;
    }
    let size = |network: &Ipv4Net| 1 << (32 - network.prefix_len());
    let inside = INTERNAL.iter().filter(|internal| network.contains(*internal));
    size(network) - inside.map(size).sum::<u64>()
}

/// The number of public networks of /64 of a network of IPv6. A smaller network counts as one.
fn public_v6(network: &IpNet) -> u64 {
    let IpNet::V6(network) = network else { return 0 };
    if GLOBAL.contains(network) { 1 << 64_u8.saturating_sub(network.prefix_len()) } else { 0 }
}

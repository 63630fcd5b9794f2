//! Fields with whole addresses, for a limit that groups addresses.

use core::net::IpAddr;
use ratescope::address;
use ratescope::event::Fields;
use ratescope::internal::Made;
use ratescope_log::ipnet::Ipv4Net;

pub(super) struct Grouped<'a> {
    fields: &'a dyn Fields,
    ip: Option<Made>,
    forwarded: Option<Made>,
}

impl<'a> Grouped<'a> {
    /// The prefixes are those of IPv4 and of IPv6 addresses.
    pub(super) fn new(fields: &'a dyn Fields, (ipv4, ipv6): (u8, u8)) -> Self {
        let made = |name| {
            let address = match address::parse(fields.value(name)?)? {
                IpAddr::V4(v4) => IpAddr::V4(Ipv4Net::new(v4, ipv4).ok()?.network()),
                v6 => v6,
            };
            Some(Made::of(address, ipv6))
        };
        Grouped { fields, ip: made("ip"), forwarded: made("forwarded") }
    }
}

impl Fields for Grouped<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let made = match name {
            "ip" => self.ip.as_ref(),
            "forwarded" => self.forwarded.as_ref(),
            _ => None,
        };
        made.map(Made::as_str).or_else(|| self.fields.value(name))
    }
}

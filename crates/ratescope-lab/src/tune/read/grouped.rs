//! Fields with whole addresses, for a limit that groups IPv6 addresses.

use ratescope::address;
use ratescope::event::Fields;
use ratescope::internal::Made;

pub(super) struct Grouped<'a> {
    fields: &'a dyn Fields,
    ip: Option<Made>,
    forwarded: Option<Made>,
}

impl<'a> Grouped<'a> {
    pub(super) fn new(fields: &'a dyn Fields, ipv6_prefix: u8) -> Self {
        let made = |name| {
            let address = address::parse(fields.value(name)?)?;
            Some(Made::of(address, ipv6_prefix))
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

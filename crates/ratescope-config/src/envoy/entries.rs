//! The entries of a descriptor, and the actions that make them, also for the rate limit service.

use crate::Addresses;
use crate::field::{Field, fields, no_user};
use crate::write::Notes;
use ratescope::policy::Per;

/// The options by which Envoy takes the client from X-Forwarded-For.
pub(crate) const REAL_ADDRESS: &str = "\
# In the HttpConnectionManager, as clients come through one proxy; with two of them write 2:
use_remote_address: true
xff_num_trusted_hops: 1
";

/// An entry of a descriptor: the action that produces it, and its key and value.
pub(crate) struct Entry {
    action: String,
    key: String,
    /// `None` matches any value.
    value: Option<String>,
}

impl Entry {
    pub(super) fn descriptor(&self) -> String {
        let value = self.value.as_ref().map_or(String::new(), |value| format!(", value: {value}"));
        format!("      - {{ key: {}{value} }}\n", self.key)
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

/// The entries of a limit's descriptor. The number `n`, if given, distinguishes it from other limits.
pub(crate) fn entries(
    per: &Per,
    n: Option<usize>,
    addresses: Addresses,
    notes: &mut Notes,
) -> Result<Vec<Entry>, String> {
    let fields = fields(per)?;
    let fixed = match (n, fields.is_empty()) {
        (Some(n), _) => Some(format!("limit{n}")),
        (None, true) => Some("all".to_owned()),
        (None, false) => None,
    };
    let fixed = fixed.map(|value| Entry {
        action: format!("generic_key: {{ descriptor_value: {value} }}"),
        key: "generic_key".to_owned(),
        value: Some(value),
    });
    let named = fields.iter().map(|field| entry(field, addresses, notes));
    fixed.into_iter().map(Ok).chain(named).collect()
}

fn entry(field: &Field, addresses: Addresses, notes: &mut Notes) -> Result<Entry, String> {
    let header = |name: &str, key: &str| Entry {
        action: format!("request_headers: {{ header_name: \"{name}\", descriptor_key: {key} }}"),
        key: key.to_owned(),
        value: None,
    };
    Ok(match field {
        Field::Ip if addresses.has_networks() => Entry {
            action: format!("masked_remote_address: {{ {} }}", masks(addresses)),
            key: "masked_remote_address".to_owned(),
            value: None,
        },
        Field::Ip => Entry {
            action: "remote_address: {}".to_owned(),
            key: "remote_address".to_owned(),
            value: None,
        },
        Field::Host => header(":authority", "host"),
        Field::Path => {
            notes.add("Envoy's :path has the query string in it: other queries are other paths");
            header(":path", "path")
        }
        Field::Method => header(":method", "method"),
        Field::User => return Err(no_user()),
        Field::Header(name) => {
            notes.add(format!("requests without the header {name} are not limited"));
            header(name, name)
        }
    })
}

fn masks(Addresses { ipv4_prefix, ipv6_prefix, .. }: Addresses) -> String {
    let ipv4 = (ipv4_prefix < 32).then(|| format!("v4_prefix_mask_len: {ipv4_prefix}"));
    let ipv6 = (ipv6_prefix < 128).then(|| format!("v6_prefix_mask_len: {ipv6_prefix}"));
    ipv4.into_iter().chain(ipv6).collect::<Vec<_>>().join(", ")
}

/// The actions that produce a descriptor, as an item of `rate_limits`.
pub(crate) fn actions(entries: &[Entry], indent: &str) -> String {
    let item = |entry: &Entry| format!("{indent}  - {}\n", entry.action);
    format!("{indent}- actions:\n{}", entries.iter().map(item).collect::<String>())
}

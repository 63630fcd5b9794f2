//! Clients marked as legitimate: a crawler, a monitor, an office.

use crate::lab::tune::Clients;
use core::convert::Infallible;
use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

/// The keys of clients that should not be refused anything. The text form has one on each line. A
/// remark follows ` #`, and empty lines are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedKeys(pub BTreeSet<String>);

impl MarkedKeys {
    /// Says of each client, by its place, whether it is marked.
    pub fn places(&self, clients: &Clients) -> Vec<bool> {
        let mut marked = vec![false; clients.len()];
        for place in self.0.iter().filter_map(|key| clients.find(key)) {
            if let Some(marked) = marked.get_mut(place) {
                *marked = true;
            }
        }
        marked
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

//! Rust code with `ratescope`: any policy, written as a constant, and read from such a file.

use crate::read::{Config, Found, Remark};
use crate::words::lines;
use crate::write::Names;
use crate::{Addresses, Only};
use ratescope::ParseError;
use ratescope::policy::Policy;

pub(crate) const NAMES: Names = Names { name: "rust", title: "Rust", file: "limits.rs" };

const BEGIN: &str = "const LIMITS: &str = \"";

fn policies(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text, &["//"]).filter_map(|(line, text)| {
        let (_, policy) = text.split_once(BEGIN)?;
        Some((line, policy.split_once('"')?.0))
    })
}

pub(crate) fn is_known(text: &str) -> bool {
    policies(text).next().is_some()
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    for (line, policy) in policies(text) {
        match policy.parse::<Policy>() {
            Ok(policy) => {
                for (n, limit) in (1..).zip(policy.limits().iter().cloned()) {
                    let name = format!("limit{n}");
                    config.add(
                        line,
                        Ok(Found {
                            name,
                            line,
                            limit,
                            addresses: Addresses::default(),
                            scope: None,
                            only: Only::All,
                        }),
                    );
                }
            }
            Err(error) => config.remark(line, ParseError::to_string(&error)),
        }
    }
    Ok(())
}

pub(crate) fn write(policy: &Policy) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in policy.fields() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let pairs = (0..).zip(&names).map(|(i, name)| format!("(\"{name}\", fields[{i}])"));
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    let list = names.join(", ");
    let len = names.len();
    let (about, argument, fields, event) = match len {
        0 => (".".to_owned(), String::new(), String::new(), "&()"),
        _ => (
            format!("; its fields are {list}."),
            format!(", fields: [&str; {len}]"),
            format!("    let fields = [{pairs}];\n"),
            "&fields",
        ),
    };
    format!(
        "use ratescope::{{Event, MemoryStore, ParseError, Policy, Time}};\n\n\
         pub const LIMITS: &str = \"{policy}\";\n\n\
         /// The limits at work, for up to 100,000 keys of each.\n\
         pub fn limits() -> Result<MemoryStore, ParseError> {{\n    \
         Ok(MemoryStore::new(LIMITS.parse::<Policy>()?, 100_000))\n}}\n\n\
         /// Whether an event passes{about}\n\
         pub fn passes(limits: &MemoryStore, time: Time{argument}) -> bool {{\n{fields}    \
         limits.check(&Event {{ time, cost: 1.0, fields: {event} }}).is_allowed()\n}}\n"
    )
}

//! Rust code with this crate: any policy.

use ratescope::policy::Policy;

pub(super) fn write(policy: &Policy) -> String {
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
        "use ratescope::{{Event, KeyedPolicy, ParseError, Time}};\n\n\
         pub const LIMITS: &str = \"{policy}\";\n\n\
         /// The limits at work, for up to 100,000 keys of each.\n\
         pub fn limits() -> Result<KeyedPolicy, ParseError> {{\n    \
         Ok(KeyedPolicy::new(LIMITS.parse()?, 100_000))\n}}\n\n\
         /// Whether an event passes{about}\n\
         pub fn passes(limits: &KeyedPolicy, time: Time{argument}) -> bool {{\n{fields}    \
         limits.check(&Event {{ time, cost: 1.0, fields: {event} }}).is_allowed()\n}}\n"
    )
}

//! Text forms of types that have a name for each of their values: tables of both.

use alloc::string::String;
use alloc::vec::Vec;

/// The name of a value in `names`; empty if it has none.
pub(crate) fn name_of<T: PartialEq>(names: &[(T, &'static str)], of: &T) -> &'static str {
    names.iter().find(|(value, _)| value == of).map_or("", |(_, name)| name)
}

/// The value with the name `text`.
pub(crate) fn named<T: Copy>(names: &[(T, &str)], text: &str) -> Option<T> {
    names.iter().find(|(_, name)| *name == text).map(|(value, _)| *value)
}

/// All names, with commas between them.
pub(crate) fn listed<T>(names: &[(T, &str)]) -> String {
    names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

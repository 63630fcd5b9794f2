//! Text forms of types with a name for each value, as tables of values and their names.

use alloc::string::String;
use alloc::vec::Vec;

/// The name of a value in `names`; empty if the table has none.
pub(crate) fn name_of<T: PartialEq>(names: &[(T, &'static str)], of: &T) -> &'static str {
    names.iter().find(|(value, _)| value == of).map_or("", |(_, name)| name)
}

/// The value whose name is `text`; `None` if no value has that name.
pub(crate) fn named<T: Copy>(names: &[(T, &str)], text: &str) -> Option<T> {
    names.iter().find(|(_, name)| *name == text).map(|(value, _)| *value)
}

/// All names, with commas between them.
pub(crate) fn listed<T>(names: &[(T, &str)]) -> String {
    names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

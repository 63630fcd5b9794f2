//! Text forms of types with a name for each value, as tables of values and their names.

use super::ParseError;
use alloc::vec::Vec;

/// The value with the name `text`.
///
/// # Errors
/// When no value has this name: `help` says what would be right, with all names in place of `{}`.
pub fn named<T: Copy>(names: &[(T, &str)], text: &str, help: &str) -> Result<T, ParseError> {
    let value = names.iter().find(|(_, name)| *name == text).map(|(value, _)| *value);
    value.ok_or_else(|| {
        let all: Vec<_> = names.iter().map(|(_, name)| *name).collect();
        ParseError::whole(text, help.replace("{}", &all.join(", ")))
    })
}

/// Implements `Display` and `FromStr` of a type by the names of its values, with the help that
/// [`named`] gives.
#[doc(hidden)]
#[macro_export]
macro_rules! by_name {
    ($type:ty, $names:expr, $help:expr) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let name = $names.iter().find(|(value, _)| value == self);
                f.write_str(name.map_or("", |(_, name)| name))
            }
        }

        impl core::str::FromStr for $type {
            type Err = $crate::text::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::internal::named(&$names, text, $help)
            }
        }
    };
}

//! The names of formats.

use core::fmt;

#[doc = include_str!("formats.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format(pub(super) &'static str);

/// Writes the name, as in `combined`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

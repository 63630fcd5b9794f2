//! Keys: the names of the senders that a limit counts separately, written without ambiguity.
//!
//! A key is written as `user=ann,path=/login`. In a value, every character except letters, digits
//! and `-._~/:@` is written as `%` and two digits, as in a URL. So `=` and `,` only separate names
//! and values, and different values never make the same key. (If values were joined by a character
//! that they may contain, such as `_`, then `a` = `b_c` and `a_b` = `c` would.) The names come from
//! the limit and contain no such characters. The key for `all` is empty.
//!
//! A key is text, so that people can read it in a log and in Redis. In Redis it stands between braces,
//! which it never contains, so all limits of one key are on one node of a cluster.

use crate::event::Event;
use crate::text::{ParseError, parts, write_joined};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::str::FromStr;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that are escaped in a value.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':')
    .remove(b'@');

/// A value, escaped as in a key.
pub fn escaped(value: &str) -> impl fmt::Display {
    utf8_percent_encode(value, ESCAPED)
}

/// The fields of a limit's key, at most [`FIELDS`]: each combination of their values is counted
/// separately. Without fields, all events are counted together.
///
/// The text form is `user`, `ip+path` or, without fields, `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Per(Vec<String>);

impl Per {
    /// No fields: all events share one key.
    pub const ALL: Per = Per(Vec::new());

    /// The names of the fields; empty for [`ALL`](Self::ALL).
    pub fn fields(&self) -> &[String] {
        &self.0
    }

    /// The key of these fields, at most [`FIELDS`]; without any, [`ALL`](Self::ALL).
    ///
    /// # Errors
    /// When a name is empty, `all`, given twice, or has other characters than letters, digits and `-_.`; or
    /// when there are more than [`FIELDS`].
    pub fn new<F: AsRef<str>>(fields: impl IntoIterator<Item = F>) -> Result<Self, ParseError> {
        let mut per = Per::ALL;
        fields.into_iter().try_for_each(|name| per.add(name.as_ref()))?;
        Ok(per)
    }

    pub(super) fn add(&mut self, name: &str) -> Result<(), ParseError> {
        const HELP: &str = "write the name of a field, several as in ip+path, or all";
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let problem = match name {
            "" => "a field is missing",
            "all" => "everybody together is not a field",
            _ if !name.chars().all(is_of_name) => "not the name of a field",
            _ if self.0.iter().any(|known| known == name) => "a field that is there already",
            _ if self.0.len() == FIELDS => "more than 16 fields",
            _ => {
                self.0.push(name.to_owned());
                return Ok(());
            }
        };
        Err(ParseError::whole(name, format!("{problem}; {HELP}")))
    }

    /// Writes the key of an event.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_key(&self, event: &Event<'_>, out: &mut impl Write) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            out.write_str(if i == 0 { "" } else { "," })?;
            out.write_str(name)?;
            out.write_char('=')?;
            for part in utf8_percent_encode(event.field(name), ESCAPED) {
                out.write_str(part)?;
            }
        }
        Ok(())
    }

    /// The key of an event, as in `user=ann,path=/login`.
    pub fn key(&self, event: &Event<'_>) -> String {
        let mut key = String::new();
        // Writing to a String does not fail.
        let _ = self.write_key(event, &mut key);
        key
    }
}

/// The most fields of a key.
pub const FIELDS: usize = 16;

impl fmt::Display for Per {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("all"),
            names => write_joined(f, names, "+"),
        }
    }
}

impl FromStr for Per {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut per = Per::ALL;
        for (from, name) in parts(text, '+').filter(|_| text != "all") {
            per.add(name).map_err(|e| e.inside(text, from))?;
        }
        Ok(per)
    }
}

//! Keys: the names of the senders that a limit counts separately, written without ambiguity.
//!
//! A key is written as `user=ann,path=/login`. In a value, every character except letters, digits and `-._~/:@` is
//! written as `%` and two digits, as in a URL. So `=` and `,` only separate names and values, and different values
//! never make the same key. (Joined by a character that values may contain, such as `_`, `a` = `b_c` and `a_b` = `c`
//! would make the same key.) The names come from the limit and contain neither `=` nor `,`. The key for `all` is empty.
//!
//! A key is text, so that people can read it in a log and in Redis. In Redis it stands between braces,
//! which it never contains, so all limits of one key are on one node of a cluster.

use super::secret::{KeySecret, is_credential};
use crate::event::Event;
use crate::text::{ParseError, parts};
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
/// The text form is `user`, `ip+path`, `hash(email)` for a [secret field](crate::policy#secret-fields) or, without fields,
/// `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Per {
    fields: Vec<String>,
    /// A bit for each field that is secret.
    hashed: u16,
    secret: KeySecret,
}

impl Per {
    /// No fields: all events share one key.
    pub const ALL: Per = Per { fields: Vec::new(), hashed: 0, secret: KeySecret::EMPTY };

    /// The names of the fields; empty for [`ALL`](Self::ALL).
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The fields whose values keys show as hashes only.
    pub fn secret_fields(&self) -> impl Iterator<Item = &str> {
        let secret = |(i, _): &(usize, &String)| self.is_hashed(*i);
        self.fields.iter().enumerate().filter(secret).map(|(_, name)| name.as_str())
    }

    /// True if keys show the value of this field as a hash only.
    pub fn is_secret(&self, field: &str) -> bool {
        self.secret_fields().any(|secret| secret == field)
    }

    fn is_hashed(&self, i: usize) -> bool {
        self.hashed >> i & 1 == 1
    }

    /// This key with the values of these fields hashed, too, with this secret.
    #[cfg(feature = "std")]
    pub(crate) fn hashing(mut self, is_secret: impl Fn(&str) -> bool, secret: &KeySecret) -> Self {
        for (i, name) in self.fields.iter().enumerate() {
            self.hashed |= u16::from(is_secret(name)) << i;
        }
        self.secret = secret.clone();
        self
    }

    /// The key of these fields, at most [`FIELDS`]; without any, [`ALL`](Self::ALL).
    ///
    /// # Errors
    /// When a name is empty, `all`, given twice, or has other characters than letters, digits and `-_./:@~$*!`, but for
    /// the mark of a secret as in `hash(email)`; or when there are more than [`FIELDS`].
    pub fn new<F: AsRef<str>>(fields: impl IntoIterator<Item = F>) -> Result<Self, ParseError> {
        let mut per = Per::ALL;
        fields.into_iter().try_for_each(|name| per.add(name.as_ref()))?;
        Ok(per)
    }

    pub(super) fn add(&mut self, text: &str) -> Result<(), ParseError> {
        const HELP: &str = "write the name of a field, several as in ip+path, or all";
        let inner = text.strip_prefix("hash(").and_then(|rest| rest.strip_suffix(')'));
        let name = inner.unwrap_or(text);
        let problem = match name {
            "" => "a field is missing",
            "all" => "everybody together is not a field",
            _ if text.starts_with("hash(") && inner.is_none_or(|inner| !is_name(inner)) => {
                "not a secret field as in hash(email)"
            }
            _ if !is_name(name) => "not the name of a field",
            _ if self.fields.iter().any(|known| known == name) => "a field that is there already",
            _ if self.fields.len() == FIELDS => "more than 16 fields",
            _ => {
                self.hashed |=
                    u16::from(inner.is_some() || is_credential(name)) << self.fields.len();
                self.fields.push(name.to_owned());
                return Ok(());
            }
        };
        Err(ParseError::whole(text, format!("{problem}; {HELP}")))
    }

    /// Writes the key of an event.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_key(&self, event: &Event<'_>, out: &mut impl Write) -> fmt::Result {
        for (i, name) in self.fields.iter().enumerate() {
            out.write_str(if i == 0 { "" } else { "," })?;
            out.write_str(name)?;
            out.write_char('=')?;
            let value = event.field(name);
            if !value.is_empty() && (self.is_hashed(i) || event.fields.is_secret(name)) {
                self.secret.write_hash(value.as_bytes(), out)?;
                continue;
            }
            for part in utf8_percent_encode(value, ESCAPED) {
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

/// True if a text may be the name of a field: letters, digits and `-_.`, and for the names of Envoy and its gateway
/// `/:@~$*!`, and `#` before a number. A text like a rate, as `5/1s`, or like the prefix of a network, as `ip/64`, is
/// refused.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain =
        |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_part = |c: char| c.is_alphanumeric() || "-_./:@~$*!#".contains(c);
    let is_prefix =
        |(name, bits): (&str, &str)| is_plain(name) && bits.bytes().all(|b| b.is_ascii_digit());
    is_plain(name)
        || name.chars().all(is_part)
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.split_once('/').is_some_and(is_prefix)
}

/// The most fields of a key.
pub const FIELDS: usize = 16;

impl fmt::Display for Per {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return f.write_str("all");
        }
        for (i, name) in self.fields.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "+" })?;
            if self.is_hashed(i) && !is_credential(name) {
                write!(f, "hash({name})")?;
            } else {
                f.write_str(name)?;
            }
        }
        Ok(())
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

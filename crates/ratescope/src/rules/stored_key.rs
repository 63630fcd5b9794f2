//! The keys that a store remembers, as it lists them.

use crate::event::Event;
use crate::policy::Per;
use sha1_smol::Sha1;
use std::borrow::Cow;

/// A key that a store remembers.
///
/// ```
/// use ratescope::rules::StoredKey;
///
/// let key = StoredKey { subject: "user=ann,path=/a%20b".to_owned(), rule: None };
/// let fields: Vec<_> = key.fields().collect();
/// assert_eq!(fields, [("user", "ann".into()), ("path", "/a b".into())]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[doc(hidden)]
pub struct StoredKey {
    /// The sender, as in `user=ann,path=/login`: see [`Per::key`](crate::policy::Per::key). `all` for a limit that
    /// counts all clients together. A text of more than 160 bytes is replaced by `#` and its SHA-1.
    pub subject: String,
    /// The name of the rule that it belongs to; `None` if no rule in force has it.
    pub rule: Option<String>,
}

impl StoredKey {
    /// The subject of an event's key in a limit that counts by these fields. A long one is replaced by its SHA-1, so that
    /// nobody fills the memory with long names. A client that makes up two names with one SHA-1 shares a
    /// limit only with itself: it can't find a name with the SHA-1 of another client's name.
    pub fn subject_of(per: &Per, event: &Event<'_>) -> String {
        let subject = per.key(event);
        match subject.len() {
            0 => "all".to_owned(),
            1..=LONGEST => subject,
            _ => format!("#{}", Sha1::from(&subject).digest()),
        }
    }

    /// The names of its fields and their values. A secret value is a hash that begins with `#`. Empty for `all`, and if
    /// the subject is a SHA-1.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let pairs = self.subject.split(',').filter_map(|part| part.split_once('='));
        pairs.map(|(name, value)| {
            (name, percent_encoding::percent_decode_str(value).decode_utf8_lossy())
        })
    }
}

/// The longest subject, in bytes, that is written as it is.
const LONGEST: usize = 160;

//! Events: the requests, mails or calls that are limited.
//!
//! ```
//! use ratescope::event::{Event, Fields};
//! use ratescope::Time;
//!
//! let mail = Event { time: Time::try_from_secs_f64(12.5)?, cost: 1.0, fields: &[("user", "ann"), ("ip", "192.0.2.7")] };
//! assert_eq!(mail.fields.value("user"), Some("ann"));
//! assert_eq!(mail.field("path"), "");
//! # Ok::<(), ratescope::BadNumber>(())
//! ```

pub mod normal;

use crate::time::Time;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;

/// Something that happened: a request, a mail, a login.
///
/// It is written as a literal, so it will never have more than these three fields: all else that is known of an event
/// is one of its `fields`.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// When it happened.
    pub time: Time,
    /// How much it counts: usually 1, and from 0 to [`MAX_COST`](crate::limit::MAX_COST).
    pub cost: f64,
    /// The texts that keys are made of: the sender, its address, the path and so on.
    pub fields: &'a dyn Fields,
}

/// Named texts: a list of pairs, a map, or anything else that finds a text by its name, such as a line of
/// a log or the head of a request. `()` has none.
///
/// Fields are `Sync`, so that a task may hold an event while it waits for a store, and move between threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no named fields",
    note = "give a reference to pairs, such as `&[(\"user\", name), (\"ip\", address)]`, or to a map; `&()` has none"
)]
pub trait Fields: Sync {
    /// The text of the field called `name`, if there is one.
    fn value(&self, name: &str) -> Option<&str>;

    /// The bytes of that text, from which keys in memory are made. Implement this only if [`value`](Self::value) has to
    /// check the bytes before it can return them as a text.
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.value(name).map(str::as_bytes)
    }

    /// True if the text of a field is secret, whatever the limits say. Keys then show only its hash, as for [secret
    /// fields](crate::policy::Per). For a layer, fields from headers with credentials are secret.
    fn is_secret(&self, _name: &str) -> bool {
        false
    }

    /// The list of keys and values that the sender of the event made, as Envoy does. Only this list is looked up in the
    /// rules. With `None`, all lists that the fields can form are looked up.
    fn descriptor(&self) -> Option<Descriptor<'_>> {
        None
    }
}

/// A list of keys and values that a client of a rate limit service sends. Only the rule with exactly
/// these keys in this order applies.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Descriptor<'a> {
    /// Keys and their values.
    pub entries: &'a [(&'a str, &'a str)],
    /// True if the rule for all events applies, too. It is set for one event of each request, so that the rule counts a
    /// request once.
    pub is_first: bool,
}

impl Event<'_> {
    /// The text of the field called `name`; empty if there is none. All events without the field of
    /// a limit therefore share one key.
    pub fn field(&self, name: &str) -> &str {
        self.fields.value(name).unwrap_or("")
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event { time, cost, .. } = self;
        f.debug_struct("Event").field("time", time).field("cost", cost).finish_non_exhaustive()
    }
}

/// No fields at all.
impl Fields for () {
    fn value(&self, _name: &str) -> Option<&str> {
        None
    }
}

/// Pairs of a name and a text. If a name occurs twice, its first text counts.
impl<N: AsRef<str> + Sync, T: AsRef<str> + Sync> Fields for [(N, T)] {
    fn value(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| known.as_ref() == name).map(|(_, text)| text.as_ref())
    }
}

impl<N: AsRef<str> + Sync, T: AsRef<str> + Sync, const LEN: usize> Fields for [(N, T); LEN] {
    fn value(&self, name: &str) -> Option<&str> {
        self.as_slice().value(name)
    }
}

impl<N: AsRef<str> + Sync, T: AsRef<str> + Sync> Fields for Vec<(N, T)> {
    fn value(&self, name: &str) -> Option<&str> {
        self.as_slice().value(name)
    }
}

#[cfg(feature = "std")]
impl<N, T, S> Fields for std::collections::HashMap<N, T, S>
where
    N: Borrow<str> + Eq + core::hash::Hash + Sync,
    T: AsRef<str> + Sync,
    S: core::hash::BuildHasher + Sync,
{
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(T::as_ref)
    }
}

impl<N: Borrow<str> + Ord + Sync, T: AsRef<str> + Sync> Fields for BTreeMap<N, T> {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(T::as_ref)
    }
}

/// Lets a slice be given, as in `fields: &slice`.
impl<F: Fields + ?Sized> Fields for &F {
    fn value(&self, name: &str) -> Option<&str> {
        (**self).value(name)
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        (**self).bytes(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        (**self).is_secret(name)
    }

    fn descriptor(&self) -> Option<Descriptor<'_>> {
        (**self).descriptor()
    }
}

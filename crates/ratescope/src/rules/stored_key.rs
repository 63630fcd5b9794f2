//! The keys that a store remembers, as it lists them.

/// A key that a store remembers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredKey {
    /// The sender, as in `user=ann,path=/login`: see [`Per::key`](crate::policy::Per::key). For a limit that counts
    /// everybody together, `all`.
    pub subject: String,
    /// The name of the rule that it belongs to; `None` if no rule in force has it.
    pub rule: Option<String>,
}

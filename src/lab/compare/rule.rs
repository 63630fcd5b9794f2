//! The text of a lane: a policy in which limits without a rate have the common rate of all lanes.
//!
//! ```text
//! exim strict
//! token-bucket 10/10s burst 20 per user & fixed-window per address
//! ```
//!
//! All events of a run come from one address. A limit is for the address unless it says `per user` or
//! `per all`.

use crate::event::Fields;
use crate::policy::{Defaults, Policy, limit_texts};
use crate::rate::Rate;
use crate::text::ParseError;
use core::fmt;
use core::str::FromStr;

/// The text of a lane, with one space between words. It is kept as text because whether it can be
/// read may depend on the common rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(String);

impl Rule {
    /// Reads a rule, and the policy that it means when limits without a rate have `rate`.
    ///
    /// # Errors
    /// As for [`Policy::read`]. The error points at the word.
    pub fn read(text: &str, rate: Rate) -> Result<(Rule, Policy), ParseError> {
        let fields = Some(vec!["user".to_owned(), "address".to_owned()]);
        let defaults = Defaults { rate: Some(rate), per: "address".parse()?, fields };
        let policy = Policy::read(text, &defaults)?;
        let words =
            |(_, limit): (usize, &str)| limit.split_whitespace().collect::<Vec<_>>().join(" ");
        let tidy = limit_texts(text).map(words).collect::<Vec<_>>().join(" & ");
        Ok((Rule(tidy), policy))
    }

    /// The policy that it means when limits without a rate have `rate`.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn resolve(&self, rate: Rate) -> Result<Policy, ParseError> {
        Self::read(&self.0, rate).map(|(_, policy)| policy)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a rule with the common rate of [`Settings::default`](super::Settings).
impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text, Rate::TEN_IN_TEN_SECONDS).map(|(rule, _)| rule)
    }
}

/// The fields of an event of a run: a user, and the one address that all of them share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender<'a>(pub(super) &'a str);

impl Fields for Sender<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "user" => Some(self.0),
            "address" => Some("192.0.2.1"),
            _ => None,
        }
    }
}

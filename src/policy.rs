//! Policies: what is enforced, as one or several limits, each for a key.
//!
//! A [limiter](crate::limit) is an algorithm with its numbers; a [`Limit`] is a limiter for a key,
//! such as `per user`; a [`Policy`] is one or several limits that an event must all pass. It has
//! one text form, wherever limits are written:
//!
//! ```text
//! exim 100/1h strict per user
//! 6/10s per user & 10/10s per ip & gcra 1000/1s per all
//! ```
//!
//! ```
//! use ratescope::event::Event;
//! use ratescope::policy::Policy;
//! use ratescope::store::Store;
//! use ratescope::Time;
//!
//! let policy: Policy = "gcra 3/1m per user & gcra 4/1m per ip".parse()?;
//! let store = Store::new(policy, 100_000);
//! let mail = |user| store.check(&Event {
//!     time: Time::ZERO,
//!     cost: 1.0,
//!     fields: &[("user", user), ("ip", "192.0.2.7")],
//! });
//! assert_eq!(["ann"; 3].map(|user| mail(user).is_allowed()), [true; 3]);
//! // Ann has used up her own limit, and all at this address nearly theirs.
//! let [ann, bob, eve] = ["ann", "bob", "eve"].map(mail);
//! assert_eq!(ann.to_string(), "refused: level 4, limit 3");
//! assert!(bob.is_allowed());
//! assert_eq!(store.policy().limits()[eve.by].to_string(), "gcra 4/1m burst 4 per ip");
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! # All or none
//! Source: Josiah Carlson, "Introduction to rate limiting with Redis", parts 1 and 2. The first
//! version there counts in one limit after the other until one refuses, so that a refused event
//! uses up the limits it was put to before. A client over its limit per second then loses its
//! limit per hour to events that never passed, and the order of the limits matters. The remedy is
//! to pass over them twice: first all are asked, then the event is counted in all or in none.
//!
//! The one exception is for limits that count refused events by their nature: strict Exim, EARRRL
//! and HAProxy's request rate. They count every event that was put to them, whoever refused it, as
//! they do when they are alone.

#[cfg(feature = "serde")]
mod as_text;
mod decide;
#[cfg(feature = "lab")]
pub mod export;
mod key;
mod text;

#[cfg(feature = "rules")]
pub(crate) use decide::retry_after_all;
pub use decide::{Verdict, strictest};
pub(crate) use decide::{retry_after, stricter};
pub use key::Per;
#[cfg(feature = "rules")]
pub(crate) use key::escaped;
pub use text::Defaults;
#[cfg(feature = "lab")]
pub(crate) use text::limit_texts;

use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::limit::kept::Shape;
use crate::text::BadNumber;
use crate::time::Span;

/// The most limits in a policy.
pub const LIMITS: usize = 8;

/// A limiter, and whom it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limiter.
    pub limiter: AnyLimiter,
    /// The fields that make the key: each combination of their values has a state of its own.
    pub per: Per,
}

impl Limit {
    /// What its states are made by: the shape of its limiter.
    pub fn shape(&self) -> Shape {
        self.limiter.shape()
    }
}

/// From one to [`LIMITS`] limits, which an event must all pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy(Vec<Limit>);

impl Policy {
    /// All of `limits`; their order decides nothing.
    ///
    /// # Errors
    /// When there is none, or more than [`LIMITS`].
    pub fn new(limits: Vec<Limit>) -> Result<Self, BadNumber> {
        if (1..=LIMITS).contains(&limits.len()) {
            return Ok(Policy(limits));
        }
        let given = limits.len() as f64;
        Err(BadNumber { what: "the number of limits", given, want: "from 1 to 8" })
    }

    /// The limits.
    pub fn limits(&self) -> &[Limit] {
        &self.0
    }

    /// The names of the fields that the limits are for; one may come twice.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|limit| limit.per.fields()).map(String::as_str)
    }

    /// What the states of each limit are called under the key of their sender, in a store that
    /// outlives the rules: the [shape](Limit::shape), as in `exim/1m`, and for a second limit of
    /// the same shape for the same fields, `exim/1m#2`.
    ///
    /// Two policies, old and new or in two processes, share the states whose names both have, and
    /// leave the others alone. What that means for a limit that changes, [`kept`] says.
    ///
    /// [`kept`]: crate::limit::kept
    pub fn state_names(&self) -> Vec<String> {
        let same = |a: &Limit, b: &Limit| a.shape() == b.shape() && a.per == b.per;
        let name = |(i, limit): (usize, &Limit)| match self
            .0
            .iter()
            .take(i)
            .filter(|before| same(before, limit))
            .count()
        {
            0 => limit.shape().to_string(),
            before => format!("{}#{}", limit.shape(), before + 1),
        };
        self.0.iter().enumerate().map(name).collect()
    }

    /// The most that is ever admitted for one key of each limit: the least of any
    /// [`Limiter::max_admitted`].
    pub fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let each = self.0.iter().map(|limit| limit.limiter.max_admitted(window, cost));
        each.fold(f64::INFINITY, |least, most| if most < least { most } else { least })
    }
}

impl From<Limit> for Policy {
    fn from(limit: Limit) -> Self {
        Policy(vec![limit])
    }
}

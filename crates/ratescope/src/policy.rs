//! Policies: one or several limits, each for a key.
//!
//! A [limiter](crate::limit) is an algorithm with its numbers. A [`Limit`] is a limiter for a key,
//! such as `per user`. A [`Policy`] is one or several limits, all of which an event must pass. Its
//! text form is the same wherever limits are written:
//!
//! ```text
//! exim 100/1h strict per user
//! 6/10s per user & 10/10s per ip & gcra 1000/1s per all
//! gcra 10/1s per user as often & fixed-window 5000/1d per user as daily
//! ```
//!
//! A rate alone, such as `6/10s`, is a [fixed window](crate::limit::fixed_window): `fixed-window 6/10s`, which admits up
//! to twelve within ten seconds, across the edge of two windows.
//!
//! A limit may have a [name](Limit::named), which clients see in headers.
//!
//! ```
//! use ratescope::event::Event;
//! use ratescope::policy::Policy;
//! use ratescope::MemoryStore;
//! use ratescope::Time;
//!
//! let policy: Policy = "gcra 3/1m per user & gcra 4/1m per ip".parse()?;
//! let store = MemoryStore::new(policy, 100_000);
//! let mail = |user| store.check(&Event {
//!     time: Time::ZERO,
//!     cost: 1.0,
//!     fields: &[("user", user), ("ip", "192.0.2.7")],
//! });
//! assert_eq!(["ann"; 3].map(|user| mail(user).is_allowed()), [true; 3]);
//! // Ann has used up her own limit, and three of the four that this address may send.
//! let [ann, bob, eve] = ["ann", "bob", "eve"].map(mail);
//! assert_eq!(ann.to_string(), "refused by policy: level 4, limit 3");
//! assert!(bob.is_allowed());
//! let by = eve.decided_by().map(|by| by.limit.to_string());
//! assert_eq!(by.as_deref(), Some("gcra 4/1m burst 4 per ip"));
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! # Events without the field
//! Events that lack the field of a limit have an empty value, and so share one key: with `per user`, all visitors who
//! are not logged in count together, and one of them can use up the limit of all. A [rule](crate::rules) for each user
//! does not apply to them: [`NewRule::each`](crate::rules::NewRule::each), or `key: user` in a file. Or give every event
//! the field, such as the address where there is no user.
//!
//! # Secret fields
//! Logs, Redis and Live show keys, but should not show an API key or the address of a customer. They show the value of
//! a field that is marked, as in `per hash(email)`, as `#` and its [hash](KeySecret), as in
//! `email=#7f83b1657ff1fc53b92dc18148a1d65d`. Fields with the name of a header with credentials are secret without a
//! mark: `authorization`, `proxy-authorization`, `cookie`, `x-api-key` and the like. So is what a layer takes from any
//! header, unless it is told otherwise.
//!
//! # All or none
//! Source: Josiah Carlson, "Introduction to rate limiting with Redis", parts 1 and 2. The first version there counts in
//! one limit after the other until one refuses, so a refused event uses up the limits before. A client over its limit
//! per second then loses its limit per hour to events that never passed. The remedy is two passes: first all limits are
//! asked, then the event is counted in all of them or in none.
//!
//! Limiters that count refused events are the exception: Exim and the adaptive limiter in strict mode,
//! EARRRL, HAProxy's request rate, and fail2ban except during a ban. They also count an event that
//! another limit refused.

mod decide;
pub(crate) mod key;
mod list;
mod secret;
#[cfg(feature = "serde")]
mod serialize;
mod text;

pub use decide::{retry_after, tightness};
pub use key::{FIELDS, Per};
pub use secret::{KeySecret, is_credential};
pub use text::Defaults;
#[cfg(feature = "rules")]
pub(crate) use {
    decide::{fullness, longer},
    key::escaped,
};

use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::limit::kept::Shape;
use crate::outcome::Retry;
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The most limits in a policy.
pub const LIMITS: usize = 8;

/// A limiter, the fields that its key is made of, and perhaps a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limiter.
    pub limiter: AnyLimiter,
    /// The fields of the key: each combination of their values has a state of its own.
    pub per: Per,
    /// The [name](Self::named), if it has one of its own.
    pub name: Option<String>,
}

impl Limit {
    /// Names the limit, as clients see it in the headers of a response. States do not depend on it.
    ///
    /// ```
    /// use ratescope::Policy;
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::policy::Limit;
    ///
    /// let often = Limit::from(Gcra::per_second(10)).by("user")?.named("often")?;
    /// let policy: Policy = "gcra 10/1s per user as often & fixed-window 5000/1d per user as daily".parse()?;
    /// assert_eq!(policy.limits()[0], often);
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// When the name is empty or has other characters than letters, digits and `-_./:@~$*!`.
    pub fn named(mut self, name: &str) -> Result<Self, ParseError> {
        if name.is_empty() || !key::is_name(name) {
            const HELP: &str = "not a name; write letters, digits, - and _, as in daily";
            return Err(ParseError::whole(name, HELP));
        }
        self.name = Some(name.to_owned());
        Ok(self)
    }

    /// True if both count the same by the same numbers, whatever their names are.
    #[cfg(feature = "std")]
    pub(crate) fn counts_as(&self, other: &Limit) -> bool {
        self.limiter == other.limiter && self.per == other.per
    }

    /// Adds a field to the key: each combination of the values of its fields has a state of its own.
    ///
    /// ```
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::policy::{Limit, Policy};
    /// use ratescope::{Rate, MemoryStore};
    ///
    /// let often = Limit::from(Gcra::per_second(10)).by("user")?;
    /// let much = Limit::from(Gcra::new(Rate::per_day(5000), 500.0)?).by("user")?.by("path")?;
    /// let policy = Policy::new(vec![often, much])?;
    /// assert_eq!(policy, "gcra 10/1s burst 10 per user & gcra 5000/1d burst 500 per user+path".parse()?);
    /// let store = MemoryStore::new(policy, 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the name is empty, `all`, in the key already, or has other characters than letters, digits and `-_.`; or
    /// when the key has [`FIELDS`] fields.
    #[doc(alias = "per")]
    pub fn by(mut self, field: &str) -> Result<Self, ParseError> {
        self.per.add(field)?;
        Ok(self)
    }

    /// The shape of its states: that of its limiter.
    pub fn shape(&self) -> Shape {
        self.limiter.shape()
    }

    /// Why a store that has only f64, such as Redis, can't compute the limit, or not exactly: see
    /// [`in_f64`](crate::limit::in_f64). `None` if it can.
    pub fn not_in_f64(&self) -> Option<String> {
        if matches!(self.limiter, AnyLimiter::Custom(_)) {
            return Some("an algorithm of your own, which runs in memory only".to_owned());
        }
        let error = self.limiter.in_f64().err()?;
        Some(format!("not exact where only f64 exists, as on Redis: {error}"))
    }

    /// The problem of a limit that never admits an event of cost `cost`, with its [`remedy`](Self::remedy).
    pub(crate) fn too_small(&self, cost: f64) -> Option<String> {
        let remedy = self.remedy(cost)?;
        Some(format!("no event of cost {cost} can pass; {remedy}"))
    }

    /// How to write the limit so that it admits an event of cost `cost`, as in `write a burst of at least 5`. `None` if
    /// it admits such an event from rest, if it is meant to admit nothing, or if the cost is 0.
    pub(crate) fn remedy(&self, cost: f64) -> Option<String> {
        let new = self.limiter.initial();
        let admits = |cost| self.limiter.retry_after(&new, Time::ZERO, cost) != Retry::Never;
        if cost == 0.0 || admits(cost) || !admits(1e-6) {
            return None;
        }
        let most = self.limiter.remaining(&new, Time::ZERO);
        let than = if admits(most) { "of at least" } else { "above" };
        Some(format!("write a {} {than} {}", self.limiter.size_word(), cost))
    }
}

/// From one to [`LIMITS`] limits. An event must pass all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy(Vec<Limit>);

impl Policy {
    /// A policy of `limits`. Their order does not matter for decisions.
    ///
    /// # Errors
    /// When there is no limit, or more than [`LIMITS`].
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

    /// The names of the fields of all keys; a name may occur twice.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|limit| limit.per.fields()).map(String::as_str)
    }

    /// The names of the limits' states, for a store that outlives the rules: such a store uses them beside the key of
    /// the sender. A name is the [shape](Limit::shape), as in `exim/1m`; a second limit of the same shape for the same
    /// fields has the name `exim/1m#2`.
    ///
    /// Two policies, old and new or in two processes, share the states whose names both have. [`kept`] says what this
    /// means for a limit that changes.
    ///
    /// [`kept`]: crate::limit::kept
    pub fn state_names(&self) -> Vec<String> {
        state_names(&self.0)
    }

    /// The most that is ever admitted from one sender, who has one key for each limit: the least
    /// [`Limiter::max_admitted`] of all limits.
    pub fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let each = self.0.iter().map(|limit| limit.limiter.max_admitted(window, cost));
        each.fold(f64::INFINITY, f64::min)
    }
}

/// See [`Policy::state_names`].
pub(crate) fn state_names(limits: &[Limit]) -> Vec<String> {
    let name = |(i, limit): (usize, &Limit)| {
        let same = |before: &&Limit| before.shape() == limit.shape() && before.per == limit.per;
        match limits.iter().take(i).filter(same).count() {
            0 => limit.shape().to_string(),
            before => format!("{}#{}", limit.shape(), before + 1),
        }
    };
    limits.iter().enumerate().map(name).collect()
}

/// The limiter applied to all events together, `per all`.
impl<L: Into<AnyLimiter>> From<L> for Limit {
    fn from(limiter: L) -> Self {
        Limit { limiter: limiter.into(), per: Per::ALL, name: None }
    }
}

impl From<Limit> for Policy {
    fn from(limit: Limit) -> Self {
        Policy(vec![limit])
    }
}

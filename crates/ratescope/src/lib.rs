//! Rate limiting for Rust: every common limiter and those of real servers, stores for many keys and
//! threads, limits in files, and waiting instead of refusing.
//!
//! | to | take | feature, or crate |
//! |---|---|---|
//! | limit keys in a process | [`store::Keyed`], or a [`Store`] for several limits in a text | |
//! | wait instead of refusing | `waiting` | `wait` |
//! | keep quotas over a restart | [`store::saved`] | |
//! | have limits in a file that is read again | [`rules`] | |
//! | test all of that without waiting | `clock::FakeClock` | `wait` |
//! | limit requests in axum, tonic or hyper | `RateLimit` | `ratescope-tower` |
//! | limit the calls of a client | `outgoing::Pace` | `ratescope-tower` |
//! | share limits between processes | `RedisStore` | `ratescope-redis` |
//! | see a service's limits at work | `Probe` | `ratescope-live` |
//! | choose a limit from a log | `tune` | `ratescope-lab`, or the command of `ratescope-cli` |
//!
//! # A first example
//! A limiter is a rule without memory; a state is what it remembers of one sender. An event goes
//! in with the time of its arrival. An outcome comes out, with the numbers that explain it.
//!
//! ```
//! use ratescope::limit::exim::{Exim, Mode};
//! use ratescope::{Limiter, Retry, Time};
//!
//! let limiter = Exim { limit: "10/1m".parse()?, mode: Mode::Leaky };
//! let mut alice = limiter.initial();
//!
//! // A burst of ten passes; the eleventh event does not.
//! let now = Time::from_secs(12.5)?;
//! for _ in 0..10 {
//!     assert!(limiter.check(&mut alice, now, 1.0).is_allowed());
//! }
//! let outcome = limiter.check(&mut alice, now, 1.0);
//! assert!(!outcome.is_allowed());
//!
//! // The limiter says when the event would pass, and it is right.
//! if let Retry::After(wait) = limiter.retry_after(&alice, now, 1.0) {
//!     assert!(limiter.check(&mut alice, now.after(wait), 1.0).is_allowed());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For many senders and several limits see [`policy`] and [`store`]. To choose a limiter, see the
//! tables in [`limit`]; to read one from a text, [`limit::any`].
//!
//! # The chapters, in the order to read them
//! 1. [`time`]: instants and spans. [`rate`]: a count per span.
//! 2. [`estimate`]: how fast are events arriving? Exim's rate, the recent average, the smoothed
//!    rate.
//! 3. [`limit`]: may this event pass? The trait, and one module for each limiter. [`outcome`]: the
//!    answer.
//! 4. [`event`]: a time, a cost and named fields. [`policy`]: one or several limits, each for a key
//!    made of fields.
//! 5. [`store`]: decides a policy for many keys and many threads. [`store::Keyed`]: the same for
//!    one limiter and keys of any type. [`store::saved`]: what survives a restart.
//! 6. [`rules`]: a file that says which limits apply to which events, tried on a log and reloaded while
//!    a service runs. [`address`]: clients by their addresses.
//! 7. `waiting` (feature `wait`): waits until an event is allowed, instead of refusing it.
//!
//! [`text`] holds what all text forms share. Without the feature `std`, which is on by default, there are the chapters
//! from the first to the fourth, for machines that have an allocator and nothing else.
//!
//! # Waiting instead of refusing
//! A client of somebody else's service would rather wait than fail. `until_allowed` of a [`store::Keyed`] and of a
//! [`Store`] and, for states that are elsewhere, `waiting::until_allowed` wait until an event is allowed,
//! with a longest wait and a jitter if you like. An event is counted when it passes; a caller that gives up
//! leaves nothing behind. `waiting` says what that means for limiters with a queue, and who is first.
//!
//! # What survives a restart
//! States on Redis stay there. States in a process end with it, unless it [saves][`store::saved`] them:
//! [`Store::save`] gives bytes, `files::write` writes them so that a file is never half there, and
//! [`Store::restore`] goes on as if nothing had happened. The same is there for [`store::Keyed`] and
//! [`rules::Ruled`]. The clock has to go on, too: take the Unix time.
//!
//! # What holds everywhere
//! **Time is an argument.** Limiters, stores and rules read no clock, so a recorded run can be replayed exactly
//! and a test need not wait. The caller chooses the origin; fixed windows are aligned to it. A service
//! takes its start as the origin and reads its own clock:
//!
//! ```
//! # use ratescope::Time;
//! let start = std::time::Instant::now();
//! let now = Time::from(start.elapsed());
//! ```
//!
//! **Time may run backwards.** No sender is locked out by that: [`limit`] says what happens.
//!
//! **A cost** is a number of events, or of other things that are limited, such as bytes. It is usually 1
//! and may be from 0 to [`limit::MAX_COST`]. Cost 0 asks and counts nothing. Any other number is
//! refused.
//!
//! **A limit of 0:** limiters that count in windows refuse everything. Exim's limiter refuses nothing and only
//! measures. (In Exim itself every event is over that limit, so there it measures in a `warn`.) The other limiters
//! accept no limit of 0.
//!
//! **Bad numbers never pass.** A number that is negative, infinite or NaN is refused where it
//! enters. A [`BadNumber`] says what would be right; a [`ParseError`] also points at the word of the
//! text. A panic is a bug.
//!
//! **Text forms** are read by `FromStr` and written by `Display`; reading what was written gives an
//! equal value: [`Span`] `1h30m`, [`Rate`] `10/1m`, [limiters](limit::FORMS)
//! `gcra 10/1s burst 20`, [policies](policy) `6/10s per user & 10/10s per ip`.
//!
//! **The same bits everywhere.** Exponentials and logarithms come from the `libm` crate, so the
//! same events give the same bits natively, in WebAssembly and on every machine.
//!
//! **Bounded.** A state is a few words of fixed size, except for logs and windows. Everything
//! that can grow has a cap that the caller can see.
//!
//! # What semver promises
//! A change by which a program no longer compiles, or decides otherwise, comes with a new major version, or a
//! minor one before 1.0. A struct with a default, such as the options of a store or the headers of a layer, can
//! get more fields with any version: end it with `..Default::default()`.

#![cfg_attr(not(feature = "std"), no_std)]
// On docs.rs each item says which features it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

#[cfg_attr(not(feature = "std"), macro_use)]
extern crate alloc;

#[cfg(feature = "std")]
pub mod address;
#[cfg(feature = "wait")]
pub mod clock;
pub mod estimate;
pub mod event;
mod extremes;
#[cfg(all(feature = "std", not(target_arch = "wasm32")))]
pub mod files;
pub mod limit;
pub mod outcome;
pub mod policy;
pub mod rate;
#[cfg(feature = "std")]
pub mod rules;
#[cfg(feature = "std")]
pub mod store;
pub mod text;
pub mod time;
#[cfg(feature = "wait")]
pub mod waiting;

pub use event::Event;
pub use limit::Limiter;
pub use outcome::{Decision, Outcome, Retry};
pub use policy::Policy;
pub use rate::Rate;
#[cfg(feature = "std")]
pub use store::Store;
pub use text::{BadNumber, ParseError};
pub use time::{Span, Time};

/// What the crates of this workspace share beside the documented items. No promise of semver holds here.
#[doc(hidden)]
pub mod internal {
    #[cfg(feature = "std")]
    pub use crate::address::{made::Made, network::Network};
    pub use crate::by_name;
    pub use crate::extremes::{larger, smaller};
    pub use crate::limit::bucket::lowest_terms;
    pub use crate::limit::{is_cost, sealed::Sealed};
    pub use crate::policy::key::escaped;
    #[cfg(feature = "std")]
    pub use crate::rules::asked::{Ask, AskedOutcomes};
    #[cfg(feature = "std")]
    pub use crate::rules::by_rules::{ByRules, Reader};
    #[cfg(feature = "std")]
    pub use crate::rules::together::one_after_the_other;
    #[cfg(feature = "std")]
    pub use crate::rules::{not_in_f64, ruling::LimitAnswer, standing::Left};
    #[cfg(feature = "std")]
    pub use crate::store::{Secret, all_or_none::Few};
    pub use crate::text::names::{name_of, named};
    pub use crate::text::number::{Decimal, count, digits, float, leading_number, number};
    pub use crate::text::show::{ECHO, beginning, grouped, parts, plural, shown, visible};
    pub use crate::text::words::{Word, Words};
}

//! Rate limiting for Rust: every common limiter and those of real servers, in a process or shared on Redis, with
//! limits in code or in files.
//!
//! ```
//! use ratescope::RateLimiter;
//! use ratescope::limit::gcra::Gcra;
//!
//! // Ten requests a second for each user, up to twenty at once. 100,000 users are remembered.
//! let users = RateLimiter::<String, _>::keyed(Gcra::per_second(10).with_burst(20), 100_000);
//!
//! let checked = users.check_key("ann");
//! if checked.is_allowed() {
//!     println!("hello, ann; {} left", checked.remaining().floor());
//! } else {
//!     println!("try again in {:?}", checked.retry_after());
//! }
//! # assert!(checked.is_allowed());
//! ```
//!
//! # Four types
//! * A **limiter**, such as [`Gcra`](limit::gcra::Gcra), is an algorithm with its numbers. It is pure: a state, a time
//!   and a cost go in, an [`Outcome`] comes out, and the state has changed ([`Limiter`]).
//! * A [`RateLimiter`] is a limiter with the states of its keys and a clock. Threads share it, and calls can wait for
//!   room.
//! * A [`Policy`] is several limits, each for a key made of fields, as in `gcra 6/10s per user & gcra 10/10s per ip`. A
//!   [`Store`] counts an event in all of them or in none. Events [without the field](policy#events-without-the-field)
//!   share one key.
//! * [`Rules`](rules::Rules) are a file that says which policies are for which events; it is read again when it changes.
//!
//! An event (a time, a cost, fields) goes down: rules find its policy, a store its keys, a limiter decides. The decision
//! goes up: allowed or refused, by which limit, when again, how much is left.
//!
//! # What it promises
//! Time is an argument, and only a [`clock`](mod@clock) reads one, so recorded events are decided again exactly. Memory is
//! bounded, and a sender that is refused is not evicted. `retry_after` is exact. Bad numbers never pass. The bits are
//! the same on every machine. There is no `unsafe`.
//!
//! # Chapters
//! 1. [Choosing a limiter](guide::choosing)
//! 2. [In a web service](guide::web)
//! 3. [On Redis](guide::redis)
//! 4. [Over many machines](guide::machines)
//! 5. [Waiting](guide::waiting)
//! 6. [Testing with a fake clock](guide::testing)
//! 7. [Changing limits](guide::changing)
//! 8. [A store of your own](guide::store)
//! 9. [For those who know governor](guide::governor): a table, and six conversions
//! 10. [What a refusal does to clients](guide::clients)
//! 11. [Around a limit](guide::system): whom to limit, where to count, programs in other languages
//!
//! # The words
//! | word | thing |
//! |---|---|
//! | limiter | an algorithm with its numbers |
//! | limit | a limiter and the fields that it counts by |
//! | policy | one or several limits, all or none |
//! | rules | which policies are for which events |
//! | event | a time, a cost and fields |
//! | outcome | what a limiter says, with the numbers that explain it |
//! | decision | what a store says: allowed or not, by which limit, when again, how much is left |
//! | store | what decides, and remembers keys: in memory or on Redis |
//!
//! # The limiters
//! | limiter | for |
//! |---|---|
//! | [`gcra`](limit::gcra), [`token_bucket`](limit::token_bucket) | a burst, then a steady rate |
//! | [`leaky_bucket`](limit::leaky_bucket) | a steady pace: what passes waits in a queue |
//! | [`sliding_log`](limit::sliding_log) | never more than n in any period |
//! | [`sliding_counter`](limit::sliding_counter), [`sliding_window`](limit::sliding_window) | nearly that, in less memory |
//! | [`fixed_window`](limit::fixed_window) | a quota for each hour or day of the clock |
//! | [`exim`](limit::exim), [`earrrl`](limit::earrrl) | nothing for an abuser until it stops |
//! | [`adaptive`](limit::adaptive), [`by_hour`](limit::by_hour) | a multiple of what each sender usually does |
//! | [`nginx`](limit::nginx), [`haproxy`](limit::haproxy), [`envoy`](limit::envoy), [`fail2ban`](limit::fail2ban) | the decisions of these servers |
//!
//! # Where to find what
//! | to | take | crate |
//! |---|---|---|
//! | limit keys in a process, or wait | [`RateLimiter`] | |
//! | count an event in several limits, all or none | [`MemoryStore`] | |
//! | give each user a limit of its own | [`limit::per_key`] | |
//! | settle a cost that is known afterwards | [`Checked::undo`], [`charge`](RateLimiter::charge_key) | |
//! | write a limiter of your own | [`Limiter`], and [`limit::custom`] for policies | |
//! | limit without std, also in interrupts | [`limit::atomic`], or a limiter and its state | |
//! | have limits in a file that is read again | [`rules`] | |
//! | keep quotas over a restart | [`store::saved`] | |
//! | know who is limited now | [`rules::TopKeys`] | |
//! | limit requests in axum, tonic or hyper | `RateLimitLayer` | `ratescope-tower` |
//! | limit the calls of a client | `outgoing::Pace` | `ratescope-tower` |
//! | share limits between processes | `RedisStore` | `ratescope-redis` |
//! | see a service's limits at work | `Probe` | `ratescope-live` |
//! | choose a limit from a log | `tune` | `ratescope-lab`, or the command of `ratescope-cli` |
//!
//! The modules, in the order to read them: [`time`](mod@time), [`rate`]; [`estimate`], how fast events arrive;
//! [`limit`] and [`outcome`]; [`event`] and [`policy`]; [`store`]; [`rules`] and [`address`]; [`clock`](mod@clock),
//! [`waiting`] and [`rate_limiter`]. [`text`] holds the parts that all text forms share.
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `std`, on by default | [`RateLimiter`], its clocks, [`waiting`], [`Keyed`](store::Keyed) |
//! | `rules` | [`MemoryStore`], [`rules`], [`address`] and [`files`], and six more crates |
//! | `serde` | Serialize and Deserialize for types with a text form, as that text, and Serialize for those that a dashboard shows |
//!
//! Without features, the modules up to `policy` remain, for machines with an allocator but no std.
//!
//! # What holds everywhere
//! **Time is an argument.** Limiters, stores and rules read no clock, so a recorded run can be replayed exactly and a
//! test need not wait. The caller chooses the origin; fixed windows are aligned to it. A limiter and a state are
//! enough:
//!
//! ```
//! use ratescope::limit::exim::{Exim, Mode};
//! use ratescope::{Limiter, Rate, Retry, Time};
//!
//! let limiter = Exim { limit: Rate::per_minute(10), mode: Mode::Leaky };
//! let mut alice = limiter.initial();
//!
//! // A burst of ten passes; the eleventh event does not.
//! let now = Time::try_from_secs_f64(12.5)?;
//! for _ in 0..10 {
//!     assert!(limiter.check(&mut alice, now, 1.0).is_allowed());
//! }
//! let outcome = limiter.check(&mut alice, now, 1.0);
//! assert!(!outcome.is_allowed() && outcome.level > outcome.limit);
//!
//! // The limiter says when the event would pass, and it is right.
//! let Retry::After(wait) = limiter.retry_after(&alice, now, 1.0) else { panic!("never") };
//! assert!(limiter.check(&mut alice, now.after(wait), 1.0).is_allowed());
//! # Ok::<(), ratescope::BadNumber>(())
//! ```
//!
//! **Time may run backwards.** This locks no sender out: [`limit`] says what happens.
//!
//! **A cost** is a number of events, or of other things that are limited, such as bytes. It is usually 1
//! and may be from 0 to [`limit::MAX_COST`]. Cost 0 asks and counts nothing. Any other number is
//! refused; only [`charge`](Limiter::charge) takes a larger one, as `MAX_COST`.
//!
//! **A limit of 0:** limiters that count in windows, and token bucket, GCRA and leaky bucket, refuse everything, as
//! [`Gcra::none()`](limit::gcra::Gcra::none) does. Exim's limiter refuses nothing and only measures. (In Exim itself
//! every event is over that limit, so there it measures in a `warn`.) The other limiters accept no limit of 0.
//!
//! **Bad numbers never pass.** A number that is negative, infinite or NaN is refused where it
//! enters. A [`BadNumber`] says what would be right; a [`ParseError`] also points at the word of the
//! text. A panic is a bug.
//!
//! **Text forms** are read by `FromStr` and written by `Display`; reading what was written gives an
//! equal value: [`Span`] `1h30m`, [`Rate`] `10/1m`, [limiters](limit::FORMS)
//! `gcra 10/1s burst 20`, [policies](policy) `6/10s per user & 10/10s per ip`. Where a limiter is expected, a rate alone
//! is a [fixed window](limit::fixed_window): `10/1s` means `fixed-window 10/1s`, which admits up to 20 within a second
//! across the edge of two windows. Write `gcra 10/1s` for a steady rate.
//!
//! **The same bits everywhere.** Exponentials and logarithms come from the `libm` crate, so the
//! same events give the same bits natively, in WebAssembly and on every machine.
//!
//! **Bounded.** A state is a few words of fixed size, except for logs and windows. Everything
//! that can grow has a cap that the caller can see.
//!
//! # What semver promises
//! A change by which a program no longer compiles, or decides otherwise, comes with a new major version, or a
//! minor one before 1.0. With any version, a type marked `#[non_exhaustive]` can get more fields or variants, a trait
//! more methods with a default, and a message other words. So make such a struct by its constructor or from its
//! default, and match its variants with `_` at the end. Items that this documentation does not show promise nothing.

#![cfg_attr(not(feature = "std"), no_std)]
// On docs.rs each item says which features it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "rules"),
    allow(dead_code, reason = "much of it only a store of rules needs")
)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_debug_implementations)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

#[cfg_attr(not(feature = "std"), macro_use)]
extern crate alloc;

#[cfg(feature = "rules")]
pub mod address;
#[cfg(feature = "std")]
pub mod clock;
pub mod estimate;
pub mod event;
mod extremes;
#[cfg(all(feature = "rules", not(target_arch = "wasm32")))]
pub mod files;
#[cfg(all(feature = "rules", any(doc, doctest)))]
pub mod guide;
pub mod limit;
pub mod outcome;
pub mod policy;
pub mod rate;
#[cfg(feature = "std")]
pub mod rate_limiter;
#[cfg(feature = "rules")]
pub mod rules;
pub mod share;
#[cfg(feature = "std")]
pub mod store;
pub mod text;
pub mod time;
#[cfg(feature = "std")]
pub mod waiting;

pub use event::Event;
pub use limit::Limiter;
pub use outcome::{Outcome, Quota, Retry};
pub use policy::Policy;
pub use rate::Rate;
pub use text::{BadNumber, ParseError};
pub use time::{Span, Time};

#[cfg(feature = "std")]
pub use rate_limiter::{Checked, DirectRateLimiter, RateLimiter};
#[cfg(feature = "rules")]
pub use rules::{Decision, MemoryStore, Store};

/// Items that the crates of this workspace share. Semver promises nothing here.
#[doc(hidden)]
pub mod internal {
    pub use crate::by_name;
    pub use crate::extremes::{larger, smaller};
    pub use crate::limit::{amount::amount, bucket::lowest_terms, sum_of_costs};
    pub use crate::policy::key::escaped;
    pub use crate::text::names::named;
    pub use crate::text::number::{count, digits, number};
    pub use crate::text::show::{beginning, grouped, parts, plural, shown, visible};
    pub use crate::text::words::{Word, Words};

    #[cfg(feature = "rules")]
    pub use crate::{
        address::made::Made,
        rules::by_rules::ByRules,
        rules::decision::{PlacedOutcome, RawQuota},
        rules::exceptions::{changed, too_many},
        rules::plan::{Ask, Asked, Mode},
        rules::sketch::{Placed, Sketch},
    };

    /// YAML as a tree.
    #[cfg(feature = "rules")]
    pub mod yaml {
        pub use crate::rules::yaml::{Kind, Node, read};
    }
}

/// Runs the example of this crate's README.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

//! An oscilloscope for rate limiters: ten limiters and those of real servers, the
//! measurements they are made of, and the runs that show them at work, without a screen.
//!
//! # A first example
//! A limiter is a rule; what it remembers of one sender is a state. An event goes in with the time
//! at which it came, and an outcome comes out, with the numbers that it is based on.
//!
//! ```
//! use ratescope::limit::exim::{Exim, Mode};
//! use ratescope::{Limiter, Retry, Time};
//!
//! let limiter = Exim { limit: "10/1m".parse()?, mode: Mode::Leaky };
//! let mut alice = limiter.initial();
//!
//! // A burst of ten passes, and one more does not.
//! let now = Time::from_secs(12.5)?;
//! for _ in 0..10 {
//!     assert!(limiter.check(&mut alice, now, 1.0).is_allowed());
//! }
//! let outcome = limiter.check(&mut alice, now, 1.0);
//! assert!(!outcome.is_allowed());
//!
//! // Asked when to come back, it says so and means it.
//! if let Retry::After(wait) = limiter.retry_after(&alice, now, 1.0) {
//!     assert!(limiter.check(&mut alice, now.after(wait), 1.0).is_allowed());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For many senders and several limits see [`policy`] and [`store`]; to choose a limiter by a text,
//! [`limit::any`]; to choose one at all, the tables in [`limit`].
//!
//! # The chapters, in the order to read them
//! 1. [`time`]: instants and spans, and [`rate`]: how many, per how long.
//! 2. [`estimate`]: how fast are events arriving? Exim's rate, the recent average, the smoothed
//!    line, and the exact count that they are held against.
//! 3. [`limit`]: may this event pass? What a limiter is, and one page for each. [`outcome`] is
//!    what it answers.
//! 4. [`event`]: what is limited, with named fields, and [`policy`]: one limit or several, each for
//!    a key made of fields.
//! 5. [`store`]: a policy and events in, verdicts out, for many keys and many threads;
//!    [`store::Keyed`]: one limiter for keys of any type. [`rules`]: a file that says which limits
//!    are for which events, and which [`middleware::watch`] reads anew when it changes (features
//!    `rules` and `watch`).
//! 6. [`log`]: events out of files.
//! 7. [`traffic`]: where events come from when nobody sends any.
//! 8. [`lab`]: the oscilloscope without its screen. [`lab::scope`] is one limiter, measured,
//!    [`lab::compare`] the same events through several policies at once, and [`lab::run`] what both
//!    have in common: a clock that is told, and commands that a link can list.
//!    [`lab::tune`] chooses a limit from the events of a log.
//! 9. [`view`]: what to draw of them, and [`plot`]: the marks, scales and colours to draw with.
//!
//! Chapter 6 is behind the feature `log`, chapters 7 to 9 behind the feature `lab`. A service needs
//! neither.
//!
//! [`text`] is what all text forms share.
//!
//! # What holds everywhere
//! **Time is an argument.** No clock is read here, so that a recorded run gives what it gave when
//! it happened, and a test needs no waiting. Any origin will do; windows of the clock begin at it.
//! A service keeps one, and asks its own clock:
//!
//! ```
//! # use ratescope::Time;
//! let start = std::time::Instant::now();
//! let now = Time::from(start.elapsed());
//! ```
//!
//! **Time may run backwards**, and no one is locked out for it: [`limit`] says what happens then.
//!
//! **A cost** is a number of events, or of whatever is limited: 1 mostly, and from 0 to
//! [`limit::MAX_COST`]. Cost 0 asks and counts nothing. Any other number is denied.
//!
//! **A limit of 0** refuses everything where events are counted in windows. Exim's limiter
//! measures and refuses nothing then, as Exim itself does. The others have no limit of 0.
//!
//! **Bad numbers never pass.** What is negative, infinite or not a number is refused where it
//! enters, with a [`BadNumber`] that says what would be right. What is read from a text is refused
//! with a [`ParseError`], which knows the word that is wrong. A panic is a bug.
//!
//! **Text forms** are read by `FromStr`, written by `Display`, and come back as what they were:
//! [`Span`] `1h30m`, [`Rate`] `10/1m`, [`Pattern`] `bursts`, [limiters](limit::FORMS)
//! `gcra 10/1s burst 20`, [policies](policy) `6/10s per user & 10/10s per ip`.
//!
//! **The same bits everywhere.** Exponentials and logarithms are those of the `libm` crate, so the
//! same events give the same bits natively, in WebAssembly and on every machine.
//!
//! **Bounded.** A state is a few words, of fixed size but for the logs and windows; whatever can
//! grow has a cap that the caller can see.
//!
//! # The map
//! Imports run downwards only. `tests/tidy.rs` holds that, and that only floor 4 knows a clock, a
//! file or the browser.
//!
//! | floor | modules | imports from |
//! |---|---|---|
//! | 4 | `web`, the page, in WebAssembly only; [`middleware`]; the programs | all |
//! | 3 | [`view`] | 0, 1, 2, p |
//! | 2 | [`lab`], [`rules`] | 0, 1 |
//! | 1 | [`event`], [`policy`], [`store`], [`log`], [`traffic`] | 0, and those before it |
//! | 0 | [`text`], [`time`], [`civil`], [`rate`], [`outcome`], [`estimate`], [`limit`] | those before it |
//! | p | [`plot`] | nothing of ours |

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(any(feature = "lab", feature = "log"))]
pub mod civil;
pub mod estimate;
pub mod event;
#[cfg(feature = "lab")]
pub mod lab;
pub mod limit;
#[cfg(feature = "log")]
pub mod log;
#[cfg(feature = "watch")]
pub mod middleware;
mod order;
pub mod outcome;
#[cfg(feature = "lab")]
pub mod plot;
pub mod policy;
pub mod rate;
#[cfg(feature = "rules")]
pub mod rules;
pub mod store;
pub mod text;
pub mod time;
#[cfg(feature = "lab")]
pub mod traffic;
#[cfg(feature = "lab")]
pub mod view;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub mod web;

pub use event::Event;
pub use limit::Limiter;
pub use outcome::{Decision, Outcome, Retry};
pub use policy::Policy;
pub use rate::Rate;
pub use store::Store;
pub use text::{BadNumber, ParseError};
pub use time::{Span, Time};
#[cfg(feature = "lab")]
pub use traffic::{Pattern, Traffic};

/// The examples of the README are run with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

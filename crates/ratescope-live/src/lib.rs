//! A probe in a running service: what each rule allows and refuses, the busiest keys, and the events of a watched key.
//!
//! * [`Probe`] counts, and [`Probe::observe`] has it observe a store.
//! * [`Viewer`] takes the news for a viewer, who asks by a [`Wanted`].
//! * [`Routes`] serve the page Live to those who may see it, as `ratescope run` does.
//!
//! ```
//! use ratescope::rules::{Details, MemoryStore, Part, Rules, Store};
//! use ratescope::{Event, Time};
//! use ratescope_live::{Probe, Wanted};
//! use std::sync::Arc;
//!
//! let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 1/1h per user\n")?;
//! let probe = Arc::new(Probe::default());
//! // An observed store can be given to a layer as it is.
//! let store = probe.observe(MemoryStore::new(rules, 100));
//! let mut viewer = probe.look(&Wanted::default(), Time::ZERO).ok_or("too many look")?;
//! for _ in 0..3 {
//!     let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
//!     let _ = store.decide_now(&[Part::count(&event)], Details::default());
//! }
//! // One of the three events was allowed, two were refused, and no shadow would have refused any.
//! let news = viewer.next(Time::try_from_secs_f64(1.0)?);
//! assert!(news.contains("[1000000,1,2,0]") && news.contains("user=ann"), "{news}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **How it works.** A decision reaches `observer.rs`, and `probe.rs` adds it to the sums of its rules; once a second,
//! `past.rs` keeps the additions. While there are viewers, the decision also goes to the sketch of keys (the library's
//! `rules/sketch.rs`) and to the events of watched keys (`memory.rs`). `viewer.rs` writes the news as text;
//! `routes.rs` decides who may read it.
//!
//! **What it promises.** Memory and text are bounded, and no decision waits for a slow viewer, which misses events of
//! its key and is told how many. No count is lost. Without viewers, a decision costs a few additions.
#![doc = include_str!("memory.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod body;
mod memory;
mod observer;
pub mod page;
mod past;
mod probe;
mod routes;
mod viewer;

pub use body::Body;
pub use memory::{EVENTS, KEYS, LONGEST_KEY, MOST_RULES, VIEWERS, WATCHED};
pub use observer::ProbeObserver;
pub use past::{HOURS, PAST_RULES, SECONDS, TENS};
pub use probe::{Probe, Taps};
pub use routes::Routes;
pub use viewer::{Viewer, Wanted};

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

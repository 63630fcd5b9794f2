//! A probe in a running service: it counts the events that each rule allows and refuses, finds the busiest
//! keys, and keeps the events of a key that a viewer watches. `ratescope run` shows all of it on the page
//! Live. With the feature `routes` any service that uses the crate can do so: see `Routes`.
//!
//! ```
//! use ratescope_live::{Probe, Seen, Wanted};
//! use ratescope::rules::{AsyncStore, Details, Ruled, Rules};
//! use ratescope::{Event, Time};
//! use std::sync::Arc;
//!
//! let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 1/1h per user\n")?;
//! // Any store can be seen, and be given to a layer as it is.
//! let store = Seen::new(Ruled::new(rules, 100), Arc::new(Probe::default()));
//! let mut viewer = store.probe().look(&Wanted::default(), Time::ZERO).ok_or("too many look")?;
//!
//! for _ in 0..3 {
//!     let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
//!     let _ = store.check_now(&event, Details::default());
//! }
//! // One of the three events was allowed, two were refused, and no shadow would have refused any.
//! let told = viewer.next(Time::from_secs(1.0)?);
//! assert!(told.contains("[1000000,1,2,0]"), "{told}");
//! assert!(told.contains("user=ann"), "{told}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//! The probe always keeps the sums of each rule, three numbers, and those at the beginnings of the last
//! [`HOURS`] hours: at most 600 KiB. It keeps all else only while there are viewers and for a minute after
//! the last one has gone, so that a viewer who lost the connection can go on. That is at most
//!
//! * the sums of [`MOST_RULES`] rules at the beginnings of [`COLUMNS`] quarters of a second: 6 MiB;
//! * two [sketches](Sketch) of [`KEYS`] keys each, with at most [`LONGEST_KEY`] characters of the text of
//!   each key;
//! * for [`WATCHED`] keys the last [`EVENTS`] events: 2 MiB;
//! * [`VIEWERS`] viewers, each with a note of what it was told last.
//!
//! A viewer asks for news when it can take them. Nobody waits for a slow one: it misses columns, or events of
//! its key, and is told how many. No count is ever lost, only the time at which it was made, since sums count
//! from the beginning.
//!
//! The history of columns at many resolutions (`lab::lane::history`) is made on the viewer's page and not
//! here, since only that page draws it.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod body;
mod memory;
pub mod page;
mod probe;
mod routes;
mod seen;
mod sketch;
mod viewer;

pub use body::Body;
pub use memory::{COLUMNS, EVENTS, HOURS, KEYS, LONGEST_KEY, MOST_RULES, VIEWERS, WATCHED};
pub use probe::{Probe, Taps};
pub use routes::Routes;
pub use seen::Seen;
pub use sketch::{Placed, Sketch, Weighed};
pub use viewer::{Viewer, Wanted};

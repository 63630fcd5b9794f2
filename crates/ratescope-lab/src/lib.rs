//! The oscilloscope without its screen: runs that a link can repeat, their measurements and decisions, and
//! the history to draw. It is a part of the application and [outside of semver](crate#what-semver-promises).
//!
//! | module | content |
//! |---|---|
//! | [`run`] | what every run has: events, commands with their times, a pace, settings as text, a link |
//! | [`lane`] | a policy that decides about the events of a run, and the history of its level |
//! | [`scope`] | one limiter, measured closely |
//! | [`trace`] | the history of a run of the scope, at several resolutions |
//! | [`compare`] | the same events through several limiters at once, with the history of each |
//! | [`live`] | the sums that a running service reports, and the history of each of its rules |
//! | [`tune`] | the events of a log, and the clients that each possible limit would have refused |
//!
//! A run knows no clock and no screen. It is a function of its first settings and of its commands
//! with their times, so the same link gives the same run everywhere.
//!
//! The feature `lab` turns this module on; a service that limits does not need it.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

pub mod compare;
pub mod export;
pub mod lane;
pub mod live;
pub mod plot;
pub mod run;
pub mod scope;
pub mod trace;
pub mod traffic;
pub mod tune;
pub mod view;

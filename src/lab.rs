//! The oscilloscope without its screen: runs that are repeated from a link, what is measured and
//! decided in them, and the history that is drawn of it.
//!
//! | module | what it is |
//! |---|---|
//! | [`run`] | what every run has: events, commands with their times, a pace, settings that are read from text, a link |
//! | [`scope`] | one limiter, measured closely |
//! | [`trace`] | what the scope remembers of a run, at several resolutions |
//! | [`compare`] | the same events through several limiters at once, and the history of each |
//! | [`tune`] | the events of a log, and whom every possible limit would have refused |
//!
//! A run knows no clock and no screen. It is a function of the settings it began with and of the
//! commands with their times, so the same link gives the same run everywhere.
//!
//! Only with the feature `lab`: a service that limits needs none of it.

pub mod compare;
pub mod run;
pub mod scope;
pub mod trace;
pub mod tune;

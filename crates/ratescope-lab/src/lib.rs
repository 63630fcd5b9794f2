//! The oscilloscope without a screen: traffic, runs of limiters, comparison, tuning, and their pictures as data. Part
//! of the application, not a public API. The page and the command call it; it reads no clock, no file and no screen.
//!
//! | module | content |
//! |---|---|
//! | [`traffic`] | generated events, and a made-up log |
//! | [`run`] | the parts of every run: events, commands with their times, a pace, settings as text, a link |
//! | [`scope`], [`trace`] | one limiter, measured closely, and its history at several resolutions |
//! | [`compare`], [`lane`] | the same events through several limiters, with the history of each |
//! | [`clients`] | clients with a job, who try again when they are refused |
//! | [`live`] | the sums that a running service reports, and the history of each of its rules |
//! | [`tune`] | the events of a log, and the clients that each possible limit would have refused |
//! | [`view`], [`plot`] | pictures of these, as marks: plain data, drawn on a canvas or written as SVG |
//!
//! [`Run`](run::Run) is a function of its settings and of its commands with their times, so a link gives the same run
//! everywhere, to the bit. It passes each event to its experiment, the instrument of the scope or the lanes of a
//! comparison, which asks a limiter and folds the outcome into columns. A view makes marks of the columns.
//!
//! [`Import`](tune::Import) reads logs into [`Clients`](tune::Clients), in a few bytes an event.
//! [`Analysis`](tune::Analysis) answers a user's choices by them, stage by stage, and [`Report`](tune::Report) writes
//! the answer in sentences.
//!
//! The time of a picture grows with its pixels, not with the events, and all that is kept has a bound that the caller
//! can see. Where there are threads, tuning uses all processors; results do not depend on their number.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

pub mod clients;
pub mod compare;
pub mod csv;
pub mod lane;
pub mod live;
pub mod plot;
pub mod run;
pub mod scope;
pub mod trace;
pub mod traffic;
pub mod tune;
pub mod view;

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

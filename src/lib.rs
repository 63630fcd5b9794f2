//! An oscilloscope for rate limiters.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod estimate;
pub mod keyed;
pub mod limit;
mod order;
pub mod outcome;
pub mod plot;
pub mod rate;
pub mod replay;
pub mod run;
pub mod scope;
pub mod text;
pub mod time;
pub mod trace;
pub mod traffic;
pub mod view;
#[cfg(target_arch = "wasm32")]
pub mod web;

pub use limit::Limiter;
pub use outcome::{Answer, Decision, Outcome, Retry};
pub use rate::Rate;
pub use text::{BadNumber, ParseError};
pub use time::{Span, Time};
pub use traffic::{Pattern, Traffic};

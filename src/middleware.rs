//! The layer between a service and its clients (feature `tower`), and rule files that are watched (feature `watch`).
//! For calls of other services there is another layer, `waiting::outgoing`.
//!
#![cfg_attr(feature = "tower", doc = "This is a whole service, with axum:\n")]
#![cfg_attr(feature = "tower", doc = include_str!("middleware/ten_lines.md"))]
#![cfg_attr(feature = "tower", doc = include_str!("middleware/chapter.md"))]

#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "watch")]
pub mod watch;

#[cfg(feature = "tower")]
pub use tower::*;

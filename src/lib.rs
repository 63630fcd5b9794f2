//! The page: events of the browser in, pictures and texts out. Only in WebAssembly.
//!
//! There are two classes. [`Page`] is a view: the script of a page makes one, calls it for everything that
//! happens, and writes the texts that it returns. Times are those of the browser's own events and frames, in
//! milliseconds. The class does what all views do alike. A view is an implementation of one trait; a new one
//! is a file of [`page`] and a line in `view::named`. [`Tuner`] is for the Worker of the Tune view, which
//! reads logs and counts. One module has both, for all pages and the Worker, so that it is loaded once.

#![cfg(target_arch = "wasm32")]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod page;
mod texts;
pub mod tuner;

pub use page::Page;
pub use tuner::Tuner;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
#[path = "../tests/common/runs.rs"]
mod runs;
/// Named by its path, as this crate has no rlib that a test in `tests/` could use.
#[cfg(test)]
#[path = "../tests/web.rs"]
mod web;

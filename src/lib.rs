//! The page: events of the browser in, pictures and texts out. Only in WebAssembly. `wasm-pack build` makes a module with
//! all parts. `./scripts/build` makes three: for all views but Tune, so that it is loaded once; for Tune and its Worker,
//! who load the same one; and for the Worker that reads configurations. Each is without some parts (`without_pages`,
//! `without_tune` and `without_configuration`).
//!
//! * [`Page`] is a view on a canvas. The script of a page makes one, calls it for everything that happens, and writes
//!   the texts that it returns. It has the parts that all views share: frames, the pointer, keys, zoom, links.
//! * `page::view::Scene` says which view it is, and `page::view::View` is the trait by which views differ. A new view is a
//!   file of [`page`] and an arm of `Scene`.
//! * `page::run::Shown` is the run of a view, or the recorded events of a log's client in its place.
//! * [`Tuner`] is the Worker's half of the Tune view: it reads logs and counts.
//! * [`configuration`] converts a limiter to a server's configuration and back, in another Worker.
//!
//! An action of the viewer changes the view or the run. The next frame lets time pass, has the view make marks, which
//! `page::canvas` paints, and returns the changed texts beside the picture. All arithmetic and all marks are those of
//! `ratescope_lab`.
//!
//! Times are those of the browser's own events and frames, in milliseconds. The cost of a frame grows with its pixels.
//! A wrong link or setting becomes a message, never a panic.

#![cfg(target_arch = "wasm32")]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(without_configuration))]
pub mod configuration;
#[cfg(not(without_pages))]
pub mod page;
#[cfg(not(without_pages))]
mod texts;
#[cfg(not(without_tune))]
pub mod tuner;

#[cfg(not(without_pages))]
pub use page::Page;
#[cfg(not(without_tune))]
pub use tuner::Tuner;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
#[path = "../tests/common/runs.rs"]
mod runs;
/// Included by its path: this crate has no rlib for a test in `tests/`.
#[cfg(test)]
#[path = "../tests/web.rs"]
mod web;

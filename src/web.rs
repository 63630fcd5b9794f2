//! The page: events of the browser in, pictures and texts out. Only in WebAssembly.
//!
//! There are three modules of WebAssembly, of two classes. [`Page`] is a view: the script of a
//! page makes one, calls it for everything that happens, and writes the texts that it returns. Times
//! are those of the browser's own events and frames, in milliseconds. The class does what all views
//! do alike. A view is an implementation of one trait; a new one is a file of [`page`] and a line in
//! `view::named`. [`Tuner`] is for the Worker beside the Tune view, which reads logs and counts: no
//! other page has to load that, and it is optimized for speed, where the page is for size. That view has a
//! module of its own with all views in it, so that the others need not carry it.

#[cfg(feature = "npm")]
pub mod limiters;
#[cfg(feature = "page")]
pub mod page;
#[cfg(any(feature = "page", feature = "tuner"))]
mod texts;
#[cfg(feature = "tuner")]
pub mod tuner;

#[cfg(feature = "page")]
pub use page::Page;
#[cfg(feature = "tuner")]
pub use tuner::Tuner;

//! The page: events of the browser in, pictures and texts out. Only in WebAssembly.
//!
//! There are two classes. [`Page`] is a view: the script of a page makes one, calls it for everything that
//! happens, and writes the texts that it returns. Times are those of the browser's own events and frames, in
//! milliseconds. The class does what all views do alike. A view is an implementation of one trait; a new one
//! is a file of [`page`] and a line in `view::named`. [`Tuner`] is for the Worker of the Tune view, which
//! reads logs and counts.
//!
//! The classes are built into four modules of WebAssembly. Scope and Compare have one each, with [`Page`] and
//! that view alone. The pages of Tune and Live load a third one with all views. The fourth has [`Tuner`], which
//! only Tune loads; it is optimized for speed, and the others for size. The package for JavaScript, `limiters`,
//! is a module of its own.

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

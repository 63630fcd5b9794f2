//! The page: what the browser tells it, and what it shows. Only in WebAssembly.
//!
//! There is one class for the page, [`Page`], and one for the Worker beside it, [`Tuner`]. A page's
//! script makes one of the first for a view, calls it for everything that happens, and writes what it
//! says. Times are those of the browser's own events and frames, in milliseconds. The class does what
//! all views do alike. A view is an implementation of one trait; a new one is a file here and a line in
//! `view::named`.

mod canvas;
mod client;
mod compare;
mod ease;
mod nudge;
mod page;
mod pointer;
mod run;
mod scope;
mod texts;
mod tune;
mod tuner;
mod view;
mod viewer;

pub use page::Page;
pub use tuner::Tuner;

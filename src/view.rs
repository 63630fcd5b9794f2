//! What to draw: state and size in, marks out. No browser, and no formula of its own.

mod label;
pub mod scope;
mod strip;
mod timebase;

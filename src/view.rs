//! What to draw: state and size in, marks out. No browser, and no formula of its own.

pub mod compare;
mod label;
pub mod scope;
mod strip;
mod timebase;

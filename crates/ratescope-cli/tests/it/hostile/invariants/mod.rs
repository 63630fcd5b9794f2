//! Properties that hold for any input, however broken: for the tests and for the fuzzer.

pub(crate) mod csv;
pub(crate) mod forwarded;
pub(crate) mod kept;
pub(crate) mod limiters;
pub(crate) mod links;
pub(crate) mod policies;

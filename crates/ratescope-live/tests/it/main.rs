//! Behaviour that users of `ratescope-live` observe, one module a topic.

mod keys;
mod past;
mod replay;
mod routes;
mod viewers;

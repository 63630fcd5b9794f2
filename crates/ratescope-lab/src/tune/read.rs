//! Reading logs: lines become events, which are kept by client.

mod batch;
mod grouped;
mod import;
mod options;
mod parallel;

pub use import::{Failure, Import, Imported};
pub(super) use options::{OPEN, open, or_open};
pub use options::{ReadOptions, path};

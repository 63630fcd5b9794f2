//! The page of Ratescope, `ratescope::web`, as a module for the browser.

pub use ratescope::web::*;

//! The oscilloscope: one limiter, measured closely.
//!
//! ```
//! use ratescope::Time;
//! use ratescope_lab::scope::{Link, Scope};
//!
//! // Twelve events at once against a limit of ten, as in the page's address.
//! let link: Link = "limit=10&auto=off&do=1:events*12".parse()?;
//! let mut scope = Scope::open(&link)?;
//! scope.advance(Time::try_from_secs_f64(5.0)?, usize::MAX);
//! assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (10, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The scope is a [run] of an [`Instrument`], which measures with an
//! [estimator](ratescope::estimate) and a [limiter](ratescope::limit).
//! [`view::scope`](mod@crate::view::scope) draws it.

pub mod instrument;
pub mod models;
pub mod moving_average;
pub mod outlook;
pub mod settings;

pub use instrument::Instrument;
pub use models::Models;
pub use outlook::Outlook;
pub use settings::Settings;

use crate::run::{self, Run};

/// A link to a run of the scope.
pub type Link = run::Link<Settings>;

/// A run of the scope.
pub type Scope = Run<Instrument>;

impl Scope {
    /// The instrument.
    pub fn instrument(&self) -> &Instrument {
        self.experiment()
    }
}

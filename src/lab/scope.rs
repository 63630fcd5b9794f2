//! The oscilloscope: one limiter, measured closely.
//!
//! ```
//! use ratescope::Time;
//! use ratescope::lab::scope::{Link, Scope};
//!
//! // Twelve events at once against a limit of ten, as in the page's address.
//! let link: Link = "limit=10&auto=off&do=1:events*12".parse()?;
//! let mut scope = Scope::open(&link)?;
//! scope.advance(Time::from_secs(5.0)?, usize::MAX);
//! assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (10, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The scope is a [run] of an [`Instrument`], which measures with an
//! [estimator](crate::estimate) and a [limiter](crate::limit).
//! [`view::scope`](mod@crate::view::scope) draws it.

pub mod instrument;
pub mod models;
pub mod outlook;
pub mod settings;

pub use instrument::Instrument;
pub use models::Models;
pub use outlook::Outlook;
pub use settings::Settings;

use crate::lab::run::{self, Experiment, Run};
use crate::text::ParseError;

/// A link to a run of the scope.
pub type Link = run::Link<Settings>;

/// A run of the scope.
pub type Scope = Run<Instrument>;

/// The most work of repeating a run to show its past, in events.
const GLANCE: usize = Instrument::PER_FRAME;

impl Scope {
    /// The instrument.
    pub fn instrument(&self) -> &Instrument {
        self.experiment()
    }

    /// Gives a setting another value, now, as [`set`](Run::set) does. If a line of the [models] is
    /// shown that lacks its past, the run so far is repeated to fill it in, unless that is too much
    /// work.
    ///
    /// # Errors
    /// As for [`set`](Run::set).
    pub fn show(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.set(name, value)?;
        if Settings::MODELS.contains(&name)
            && self.instrument().models().is_some_and(|models| !models.is_whole())
            && let Some(again) = self.again(GLANCE)
        {
            *self = again;
        }
        Ok(())
    }
}

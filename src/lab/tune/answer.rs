//! Choosing a limit: the choices, the recommendation, and the whole answer.

mod advice;
#[cfg(feature = "log")]
mod analysis;
mod busiest;
#[cfg(feature = "log")]
mod choices;
mod frontier;
mod marked;
mod metric;
#[cfg(feature = "log")]
mod notes;
mod study;

pub use advice::{Advice, Aim, Doubt, Share, advise};
#[cfg(feature = "log")]
pub use analysis::Analysis;
pub use busiest::ClientRow;
#[cfg(feature = "log")]
pub use choices::Choices;
pub use frontier::{Burst, Frontier};
pub use marked::MarkedKeys;
pub use metric::{Metric, PERIODS};
#[cfg(feature = "log")]
pub use notes::network;
pub use study::Study;

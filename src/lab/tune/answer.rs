//! Choosing a limit: the choices, the recommendation, and the whole answer.

mod advice;
#[cfg(feature = "log")]
mod analysis;
#[cfg(feature = "log")]
mod choices;
mod frontier;
#[cfg(feature = "log")]
mod in_words;
#[cfg(feature = "log")]
mod labels;
mod marked;
mod metric;
#[cfg(feature = "log")]
mod notes;
#[cfg(feature = "log")]
mod picture_data;
#[cfg(feature = "log")]
mod report;
#[cfg(feature = "log")]
mod rows;
#[cfg(feature = "log")]
mod table_order;
#[cfg(feature = "log")]
mod today;

pub use advice::{Advice, Aim, Doubt, advise};
#[cfg(feature = "log")]
pub use analysis::{Analysis, Count};
#[cfg(feature = "log")]
pub use choices::{Choices, is_bucket, percentage};
pub use frontier::{Burst, Frontier};
#[cfg(feature = "log")]
pub use labels::LabelRow;
pub use marked::MarkedKeys;
pub use metric::{Metric, PERIODS};
#[cfg(feature = "log")]
pub use picture_data::{PictureData, Refusals};
#[cfg(feature = "log")]
pub use report::{LimitEffect, Report};
#[cfg(feature = "log")]
pub use rows::{ClientRow, LimitRow};
#[cfg(feature = "log")]
pub use table_order::TableOrder;
#[cfg(feature = "log")]
pub use today::Today;

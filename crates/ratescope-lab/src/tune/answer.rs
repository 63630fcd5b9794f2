//! Choosing a limit: the choices, the recommendation, and the whole answer.

mod analysis;
mod choices;
mod curves;
mod in_words;
mod notes;
mod picture_data;
mod plateau;
mod report;
mod rows;
mod today;

pub use analysis::Analysis;
pub use choices::{Choices, is_bucket, percentage};
pub use picture_data::{PictureData, Refusals};
pub use plateau::Plateau;
pub use report::{LimitEffect, Report, is_looser, stops};
pub use rows::{ClientRow, LabelRow, LimitRow, TableOrder};
pub use today::Today;

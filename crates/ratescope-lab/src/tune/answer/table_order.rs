//! The order of the clients in the table.

use ratescope::internal::by_name;

/// The column by which the clients in the table are sorted. The text form is its name, as in `requests`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableOrder {
    /// The busiest first.
    Requests,
    /// The most refused first, and then the busiest.
    #[default]
    Refused,
    /// By key, in ascending order.
    Client,
    /// The highest level first.
    Peak,
    /// By the time of the highest level, the earliest first; clients without a level come last.
    PeakAt,
    /// By the time of the first refusal, the earliest first; clients without a refusal come last.
    First,
}

const NAMES: [(TableOrder, &str); 6] = [
    (TableOrder::Requests, "requests"),
    (TableOrder::Refused, "refused"),
    (TableOrder::Client, "client"),
    (TableOrder::Peak, "peak"),
    (TableOrder::PeakAt, "peak-at"),
    (TableOrder::First, "first"),
];

by_name!(TableOrder, NAMES, "not a column; write one of {}");

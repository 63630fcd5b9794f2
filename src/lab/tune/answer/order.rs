//! The order of the clients in a table.

use crate::text::ParseError;
use core::fmt;
use core::str::FromStr;

/// By which column of the table its clients are sorted. The text form is its name, as in `requests`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The busiest first.
    #[default]
    Requests,
    /// The most refused first.
    Refused,
    /// By key.
    Client,
    /// The highest level first.
    Peak,
    /// By the time of the highest level.
    PeakAt,
    /// By the time of the first refusal.
    First,
}

impl Order {
    const ALL: [(Order, &'static str); 6] = [
        (Order::Requests, "requests"),
        (Order::Refused, "refused"),
        (Order::Client, "client"),
        (Order::Peak, "peak"),
        (Order::PeakAt, "peak-at"),
        (Order::First, "first"),
    ];
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Order::ALL.iter().find(|(order, _)| order == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl FromStr for Order {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let named = Order::ALL.iter().find(|(_, name)| *name == text);
        named.map(|(order, _)| *order).ok_or_else(|| {
            let names = Order::ALL.map(|(_, name)| name).join(", ");
            ParseError::whole(text, format!("not a column; write one of {names}"))
        })
    }
}

//! Shares of clients and requests, as text.

use core::fmt;
use ratescope::internal::{grouped, plural};

/// The number of clients that a limit touches, and of all clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The clients with refused requests.
    pub touched: u64,
    /// All clients.
    pub clients: u64,
}

/// As in `14 of 9,812 clients (0.14 %)`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { touched, clients } = self;
        let share = percent(*touched as f64 / (*clients).max(1) as f64);
        let touched = grouped(*touched);
        let of_all = grouped(*clients);
        write!(f, "{touched} of {of_all} client{} ({share})", plural(*clients))
    }
}

/// A share from 0 to 1, as in `2.1 %`. Only a share of 0 is shown as 0.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        tiny if tiny < 0.01 => "<0.01 %".to_owned(),
        small if small < 1.0 => format!("{small:.2} %"),
        more => format!("{more:.1} %"),
    }
}

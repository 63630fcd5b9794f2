//! The clients of a log and their events, kept in a few bytes each.

mod client;
mod clients;
mod clock;
mod dictionary;
mod marked;
mod sample;
mod stream;
mod summary;

pub use clients::{Clients, Room, Ticket, key};
pub use clock::{LogClock, Zone, Zones};
pub use dictionary::{Codes, Dictionary};
pub use marked::MarkedKeys;
pub use stream::Moment;
pub use summary::{BadSummary, Origin, Summary, VERSION};

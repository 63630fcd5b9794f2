#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//! * A [`Log`] reads its source itself. A [`Reader`] takes pieces, as in a page, after [`recognize`] has found the
//!   [`LogShape`]: one of the [formats](Format), with its properties.
//! * A [`Record`] is a line with events. It borrows its [fields](Record#fields) from the line; a [`Row`] is a copy of some
//!   of them.
//! * [`Order`] sorts late lines, and spreads the events of a whole second over it.
//! * [`Options`] choose the format, the key, the [`Filter`] and the costs.
//! * Several threads can read the [`Pieces`] of a log.
//!
//! Times are [`ratescope::Time`], and a record is the [`Event`](ratescope::Event) that a limiter of [`ratescope`] takes.
//!
//! # How a line becomes an event
//! `unpack.rs` unpacks the source, `pieces.rs` reads it piece by piece, `recognize.rs` finds the format in the table of
//! `formats.rs`, `lines.rs` cuts the pieces into lines, and `reader.rs` unwraps each (`wrap.rs`) and passes it to the
//! parser of the format, one a file. Lines that cannot be read are counted, and the first few are kept with their
//! numbers and reasons.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

pub mod civil;
mod clf;
mod columns;
mod counts;
mod csv;
mod error;
mod exim;
mod export;
mod filter;
mod formats;
mod forwarded;
mod input;
mod instant;
mod json;
mod layout;
mod lines;
mod logins;
mod names;
mod network;
mod number;
mod object;
mod options;
mod order;
mod pieces;
mod reader;
mod recognize;
mod record;
mod request;
mod search;
mod shape;
mod stamp;
mod strftime;
mod table;
#[cfg(feature = "packed")]
mod unpack;
mod wrap;

pub use columns::Proposal;
pub use counts::{Counts, PROBLEMS, Unread};
pub use error::{Error, Unknown};
pub use filter::{Filter, Statuses, Test, WrittenTime};
pub use formats::nouns;
pub use input::Log;
pub use ipnet;
pub use layout::Layout;
pub use lines::{HEAD, LONGEST};
pub use names::Alias;
pub use network::network;
pub use number::Unit;
pub use options::{Cost, Options, ipv6_prefix};
pub use order::{Corrections, HELD, Order, SLACK, Spread, StepsBack, When};
pub use pieces::{Piece, Pieces};
pub use ratescope;
pub use ratescope::address::IPV6_PREFIX;
pub use reader::Reader;
pub use recognize::recognize;
pub use record::{Names, Record, Row};
pub use shape::{Format, LogShape};
pub use stamp::Year;
#[cfg(feature = "packed")]
pub use unpack::{packer, unpack};

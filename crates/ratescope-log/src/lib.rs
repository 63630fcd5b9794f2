//! Events from the logs of web, mail and other servers: lines in, events out. Part of the application, and not a public API.
//!
//! ```
//! use ratescope::KeyedPolicy;
//! use ratescope_log::{Log, Options};
//!
//! let text = "\
//! 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 2326
//! 192.0.2.7 - - [10/Oct/2000:13:55:37 -0700] \"GET /b?c=1 HTTP/1.1\" 404 153
//! 192.0.2.9 - - [10/Oct/2000:13:55
//! ::ffff:192.0.2.7 - - [10/Oct/2000:13:55:38 -0700] \"GET /c HTTP/1.1\" 200 99
//! ";
//! let mut log = Log::open(text.as_bytes(), &Options::default())?;
//! assert_eq!(log.shape().to_string(), "Common Log Format");
//!
//! let store = KeyedPolicy::new("gcra 2/1m per ip".parse()?, 1000);
//! let mut decided = Vec::new();
//! while log.read(&mut |record| decided.push(store.check(&record.event()).is_allowed()))? {}
//! assert_eq!(decided, [true, true, false]);
//! assert!(log.counts().problems[0].to_string().starts_with("line 3: no address"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * A [`Log`] reads its source itself. A [`Reader`] takes pieces, as in a page, after [`recognize`] has found the
//!   [`LogShape`]: one of the [formats](Format), with its properties.
//! * A [`Record`] is a line with events. It borrows its [fields](Record#fields) from the line.
//! * [`Order`] sorts late lines, and spreads the events of a whole second.
//! * [`Options`] choose the format, the key, the filter and the costs.
//!
//! A line becomes an event in these steps: `unpack.rs` unpacks the source, `pieces.rs` reads it piece by piece,
//! `recognize.rs` finds the format, `lines.rs` cuts the pieces into lines, and `reader.rs` unwraps each (`wrap.rs`) and
//! passes it to the parser of the format, one a file.
//!
//! Reading a line allocates nothing. Every input is bounded in memory and time, and no bytes make it panic. Lines that
//! cannot be read are counted, and the first few are kept with their numbers and reasons.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

pub mod civil;
mod clf;
mod csv;
mod cut;
mod defaults;
mod eight;
mod exim;
mod export;
mod filter;
mod format;
mod forwarded;
mod input;
mod json;
mod layout;
mod lines;
mod logins;
mod names;
mod network;
mod number;
mod options;
mod order;
mod pieces;
mod reader;
mod recognize;
mod record;
mod request;
mod row;
mod spread;
mod stamp;
mod strftime;
mod table;
mod test;
mod unknown;
#[cfg(feature = "packed")]
mod unpack;
mod wrap;

pub use filter::{Filter, Statuses, WrittenTime};
pub use format::{Format, LogShape, NOUNS};
pub use input::{Error, Log};
pub use layout::{Layout, Proposal};
pub use lines::LONGEST;
pub use names::Alias;
pub use network::Network;
pub use number::Unit;
pub use options::{Cost, Options, ipv6_prefix};
pub use order::{Corrections, HELD, Order, SLACK, StepsBack, When};
pub use pieces::{Piece, Pieces};
pub use ratescope::address::IPV6_PREFIX;
pub use reader::{Counts, PROBLEMS, Reader, Unread};
pub use recognize::{HEAD, recognize};
pub use record::Record;
pub use row::{Names, Row};
pub use spread::Spread;
pub use stamp::Year;
pub use test::Test;
pub use unknown::Unknown;
#[cfg(feature = "packed")]
pub use unpack::{packer, unpack};

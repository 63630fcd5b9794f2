//! Logs, for the application and [outside of semver](crate#what-semver-promises): lines in, events out.
//!
//! | format | read as events |
//! |---|---|
//! | [`combined`](Format::Combined) | requests in the Common and Combined Log Format of Apache and nginx, also after a column with the host or X-Forwarded-For |
//! | [`json`](Format::Json) | requests in JSON lines, as nginx, Caddy, Traefik and Envoy write them |
//! | [`exim`](Format::Exim) | arriving mails in Exim's main log, refused ones in its reject log |
//! | [`syslog`](Format::Syslog) | failed logins of sshd, Postfix and Dovecot, or messages that contain given texts |
//! | [`csv`](Format::Csv) | comma-separated values with a header that has `time` |
//! | [`columns`](Format::Columns) | requests in the columns of HAProxy, Envoy, Istio, Squid, AWS ALB and nginx's error log, of a `#Fields` header, of a given [`Layout`], or of one that is guessed |
//!
//! Each of these may be inside the log of another program: syslog, the journal, docker or Kubernetes.
//!
//! A line becomes an event in these steps. `unpack.rs` unpacks the source, `pieces.rs` reads it piece by piece, and
//! `recognize.rs` finds the format by the first lines. `lines.rs` cuts the pieces into lines, and `reader.rs` unwraps each
//! and gives it to the parser of the format. The [`Record`] (`record.rs`) borrows its fields from the line. Then [`Order`]
//! sorts what is late.
//!
//! ```
//! use ratescope::Store;
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
//! let store = Store::new("gcra 2/1m per ip".parse()?, 1000);
//! let mut verdicts = Vec::new();
//! while log.read(&mut |record| verdicts.push(store.check(&record.event()).is_allowed()))? {}
//! assert_eq!(verdicts, [true, true, false]);
//! assert!(log.counts().problems[0].to_string().starts_with("line 3: no address"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Log`] reads its source itself. A [`Reader`] is fed pieces, as in a page, after [`recognize`] has found
//! the format. For each line with events it hands out a [`Record`], which stands for [`Record::times`] equal
//! events: one, unless the line reports repeated messages or several failed logins. A record borrows from its
//! line: its fields are looked up on demand, and nothing is allocated. Lines that cannot be read are counted;
//! the first few are kept with their numbers and reasons.
//!
//! # Fields
//! In every format, fields of the same meaning have the same name: `ip`, `user`, `method`, `path`, `status`,
//! `bytes`, `host`, `agent`, `referer`, `forwarded`. In JSON and CSV they are also found under the names that
//! servers use, and every other field under its own name. So `per ip` and `per user+path` mean the same for
//! all logs. In `ip`, an IPv6 address that stands for an IPv4 address becomes that one, and any other is
//! grouped by its /64, unless [`Options`] say otherwise. `path` has no query, and may be cut to its first
//! segments.
//!
//! # Times
//! Time zones are respected; a time without one is taken as UTC. When a log has whole seconds, the events of
//! one second should be spread over it, and lines out of order should be sorted: [`Order`] does both.
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

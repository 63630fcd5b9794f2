//! Logs, for the application and [outside of semver](crate#what-semver-promises): lines in, events out.
//!
//! | format | servers | how it is recognized | the client, `ip` | what a proxy changes |
//! |---|---|---|---|---|
//! | [`combined`](Format::Combined) | nginx, Apache, lighttpd, Varnish, Traefik: requests in the Common and Combined Log Format | `[time] "request" status bytes` after two or three words | the address before it, also after a column with the host | a list beside the address, in its place or in quotes tells the client; one at the end of the line is only `forwarded` |
//! | [`json`](Format::Json) | nginx, Caddy, Traefik, Envoy, Kong, pino; the load balancers and firewalls of Google, Azure and AWS, its API Gateway and CloudTrail; Vercel, Cloudflare's Logpush, Nextcloud: requests in JSON lines | an object with a time | the best of the names that servers use for it, in any case and in objects around it | a list in that field tells the client; an X-Forwarded-For in a field of its own is only `forwarded` |
//! | [`columns`](Format::Columns) | HAProxy (`httplog`, `tcplog`) | its columns | the address before the port | nothing |
//! | | Envoy's text | its columns | the end of the X-Forwarded-For, where Envoy adds its peer | the list tells the client |
//! | | Istio | its columns | the downstream address | nothing |
//! | | Squid's own format | its columns | the address after the duration | nothing |
//! | | AWS ALB, NLB and classic load balancers | their columns | the address before the port | nothing |
//! | | nginx-proxy-manager (both formats), NPMplus | their columns | the address after `Client`; before the duration | nothing |
//! | | nginx's error log: requests over a limit | `limiting requests` and `client:` | the address after `client:` | nothing |
//! | | IIS, CloudFront, and others with a header `#Fields` | the header; of IIS also the columns that it logs by default | `c-ip` | an `x-forwarded-for` beside `c-ip`, or without it, tells the client |
//! | | any other, with a [`Layout`] that is given | it is said | `$remote_addr`, `%h`, `%a` and so on | a list beside the address, or without one, tells the client |
//! | | any other, guessed | a time, a request or a method and a path, and one column that may be the client's, in nine of ten lines | an address that varies, before the request; or after it, if the one before is that of a server or of a few proxies | nothing |
//! | [`syslog`](Format::Syslog) | sshd, Postfix, Dovecot, Exim: failed logins, as fail2ban's filters find them; of any program, messages that contain given texts | time, host and program before a message | where the program writes it; in other messages an address that is not the server's own | nothing |
//! | [`exim`](Format::Exim) | Exim: arriving mails in its main log; refusals or failed logins in its reject log | a time and the id of a message, or a host that is refused | the last address in brackets before the next field | nothing |
//! | [`csv`](Format::Csv) | comma-separated values | a header that has `time` | as in JSON; the key is the column `key`, or all | as in JSON |
//!
//! Each of these may be inside the log of another program: syslog, the journal, docker or Kubernetes; or in the text of a
//! JSON entry, as GKE writes it.
//!
//! What stands for a client is an address, the name of a host, or a dash for none. A line in which it is anything else is
//! not read, and a log of which a server's layout fits fewer than a quarter of the first lines is not that server's.
//!
//! A list of forwarded addresses has one rule in all formats: the client is the last address that is not internal, counted
//! from the peer; see `forwarded.rs`. If a log begins with five internal peers or more, they are the clients, and not
//! proxies. Where a list is only the field `forwarded` and nearly all requests come from a few internal addresses, Tune
//! asks whether these are proxies.
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
//! Time zones are respected; a time without one is taken as UTC. A [`Layout`] may say the form of a time as for
//! `strftime`. When a log has whole seconds, the events of
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

//! The rate limits of servers, read from their configuration and written.
//!
//! # Reading
//! ```
//! let nginx = "
//! http {
//!     limit_req_zone $binary_remote_addr zone=login:10m rate=10r/m;
//!     server {
//!         location /login { limit_req zone=login burst=5 nodelay; }
//!     }
//! }";
//! let config = ratescope_config::read(nginx)?;
//! let found = &config.found[0];
//! assert_eq!(found.limit.to_string(), "nginx 10/1m burst 5 nodelay per ip");
//! assert_eq!((found.name.as_str(), found.line), ("login", 5));
//! assert_eq!(found.scope.as_deref(), Some("location /login"));
//!
//! let unknown = "limit_req_zone $key zone=one:1m rate=1r/s;\nlimit_req zone=one;";
//! let error = ratescope_config::read(unknown).unwrap_err();
//! assert_eq!(error.to_string(), "line 1: it counts by $key, which is no field of a log");
//! # Ok::<(), ratescope_config::Error>(())
//! ```
//!
//! The server is recognized by the words of the text. Nothing is guessed: if a value is a variable or a macro, or may
//! be in another file, a remark says with its line that it is not understood. Remarks also name unlimited keys,
//! requests that an earlier rule lets pass or refuses, and anything that refuses besides the limits. A text that the
//! server itself refuses is an error.
//!
//! [`Found::only`] is the scope of a limit as a test of an event's fields, to try it on the events of a log:
//! ```
//! # let nginx = "limit_req_zone $host zone=login:10m rate=10r/m;
//! # server { location /login { limit_req zone=login burst=5 nodelay; } }";
//! use ratescope_config::Only;
//!
//! let config = ratescope_config::read(nginx)?;
//! let Only::Fields(test) = &config.found[0].only else { panic!("it is for /login") };
//! let filter = test.compile()?;
//! assert!(filter.passes(&[("path", "/login/a")]));
//! assert!(!filter.passes(&[("path", "/")]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A text has at most 1 MiB, its blocks nest at most 64 levels deep, and at most 1,000 limits are read.
//!
//! # Writing
//! ```
//! use ratescope::Policy;
//! use ratescope_config::Target;
//!
//! let policy: Policy = "nginx 1/1m burst 5 nodelay per ip".parse()?;
//! let written = Target::Nginx.configure(&policy)?;
//! assert!(written.text.contains("limit_req zone=limit1 burst=5 nodelay;"));
//! assert_eq!(written.warnings, [
//!     "nginx keeps 1r/m in whole thousandths a second, and so as 0.96 a minute",
//! ]);
//!
//! // A policy that a server cannot express is an error.
//! let error = Target::Haproxy.configure(&policy).unwrap_err();
//! assert_eq!(error.to_string(), "HAProxy cannot say \"nginx 1/1m burst 5 nodelay per ip\": \
//!     it counts in windows of its own; write a limit such as haproxy 20/10s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A limit is written only if the server decides as the limiter does. If the server differs slightly, or does something
//! unexpected, a warning says how. Nothing is approximated silently.
//!
//! # Servers
//! | server | what is read and written | as |
//! |---|---|---|
//! | nginx | `limit_req_zone`, `limit_req` with `burst`, `delay`, `nodelay` | `nginx` |
//! | HAProxy | `stick-table`, `track-sc`, and rules that compare `http_req_rate`, `conn_rate`, `sess_rate` or `gpc0_rate` | `haproxy` |
//! | Envoy | `local_ratelimit` as YAML or JSON, its `token_bucket` and `descriptors` | `envoy` |
//! | the rate limit service | its rule file | `fixed-window`, or the `limit` there |
//! | Caddy | `rate_limit` of `mholt/caddy-ratelimit`, in a Caddyfile | `sliding-log` |
//! | Traefik | `rateLimit` as YAML, TOML or labels | `token-bucket` |
//! | Cloudflare | `ratelimit` of a rule, as JSON | `sliding-counter` |
//! | Exim | `ratelimit =` of an ACL | `exim` |
//! | fail2ban | `maxretry`, `findtime` and `bantime` of jails that are enabled | `fail2ban` |
//! | nftables | `limit rate` of a rule, a set or a meter | `token-bucket` |
//! | Rust | the constant `LIMITS` of a written file | as written |
//!
//! # Keys
//! | field | meaning |
//! |---|---|
//! | `ip`, `address` | the address of the client, as the server sees it; [`Addresses`] says more |
//! | `forwarded` | the client that X-Forwarded-For names, by the server's own module for it |
//! | `host`, `path`, `method` | of the request |
//! | `user` | the name of a client, claimed or authenticated, if the server knows it |
//! | `agent`, `referer` | the request headers `User-Agent` and `Referer` |
//! | any other | the request header of that name |
//!
//! A field that is known only after the answer, such as `status`, cannot be a key.
//!
//! In Exim `ip`, `host`, `helo`, `sender` and `user` (or `auth`) are those of the message.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(clippy::disallowed_methods)] // clippy.toml says which, and why.

mod blocks;
mod caddy;
mod cloudflare;
mod descriptors;
mod earlier;
mod envoy;
mod exim;
mod fail2ban;
mod field;
mod haproxy;
mod nftables;
mod nginx;
mod only;
mod read;
mod rust;
mod traefik;
mod tree;
mod words;
mod write;

pub use only::{Filter, Is, Only, Test};
pub use read::{Config, Error, Found, LONGEST, Remark, is_configuration, read, read_named};
pub use write::{Addresses, CannotSay, Configuration, Target};

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

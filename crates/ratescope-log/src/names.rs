//! The names of fields: the standard ones, and the names that servers use for them.
//!
//! In JSON and CSV a field may have any name. The standard fields are found under the names listed below; if
//! a line has several of the names, the first one listed counts. An alias replaces them: with
//! `ip=client.address` the address is taken from that field only. A dot leads into an object, as in Caddy's
//! `request.remote_ip`.

use core::fmt;
use core::str::FromStr;
use ratescope::text::ParseError;

/// A field that has the same name in every format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standard {
    Time,
    Ip,
    User,
    Method,
    Path,
    Status,
    Bytes,
    Host,
    Agent,
    Referer,
    Forwarded,
    /// A text such as `GET /path HTTP/1.1`, used for the method and the path if these have no fields of their
    /// own.
    Request,
}

/// The number of standard fields.
pub(super) const STANDARDS: usize = 12;

/// Each standard field with its names: first the standard name, then those of servers, the best first.
const NAMES: [(Standard, &[&str]); STANDARDS] = [
    (
        Standard::Time,
        &[
            "time",
            "ts",
            "timestamp",
            "@timestamp",
            "time_iso8601",
            "msec",
            "start_time",
            "StartUTC",
            "StartLocal",
            "time_local",
            "datetime",
            "_SOURCE_REALTIME_TIMESTAMP",
            "__REALTIME_TIMESTAMP",
            "date",
        ],
    ),
    (
        Standard::Ip,
        &[
            "ip",
            "client_ip",
            "request.client_ip",
            "remote_ip",
            "request.remote_ip",
            "remote_addr",
            "request.remote_addr",
            "ClientHost",
            "ClientAddr",
            "downstream_remote_address_without_port",
            "downstream_remote_address",
            "clientip",
            "clientIp",
            "client",
            "client.ip",
            "remote_address",
            "remoteIp",
            "source.ip",
            "src_ip",
            "address",
            "c-ip",
            "req.remoteAddress",
        ],
    ),
    (
        Standard::User,
        &[
            "user",
            "remote_user",
            "user_id",
            "ClientUsername",
            "username",
            "user_name",
            "userId",
            "user.name",
            "user.id",
            "cs-username",
        ],
    ),
    (
        Standard::Method,
        &[
            "method",
            "request_method",
            "request.method",
            "RequestMethod",
            "http_method",
            "http.request.method",
            "requestMethod",
            "verb",
            "cs-method",
            "req.method",
            "span.method",
        ],
    ),
    (
        Standard::Path,
        &[
            "path",
            "uri",
            "request_uri",
            "request.uri",
            "RequestPath",
            "x_envoy_original_path",
            "url",
            "request.path",
            "url.path",
            "requestUrl",
            "cs-uri-stem",
            "req.url",
            "span.uri",
        ],
    ),
    (
        Standard::Status,
        &[
            "status",
            "DownstreamStatus",
            "response_code",
            "status_code",
            "response.status",
            "http.response.status_code",
            "statusCode",
            "code",
            "sc-status",
            "res.statusCode",
            "fields.status",
        ],
    ),
    (
        Standard::Bytes,
        &[
            "bytes",
            "body_bytes_sent",
            "bytes_sent",
            "DownstreamContentSize",
            "size",
            "response_size",
            "responseSize",
            "http.response.bytes",
            "sc-bytes",
        ],
    ),
    (
        Standard::Host,
        &[
            "host",
            "http_host",
            "request.host",
            "RequestHost",
            "authority",
            "server_name",
            "vhost",
            "virtual_host",
            "cs-host",
            "cs(Host)",
            "req.headers.host",
        ],
    ),
    (
        Standard::Agent,
        &[
            "agent",
            "user_agent",
            "http_user_agent",
            "request.headers.User-Agent",
            "request_User-Agent",
            "userAgent",
            "user_agent.original",
            "useragent",
            "cs(User-Agent)",
            "req.headers.user-agent",
        ],
    ),
    (
        Standard::Referer,
        &[
            "referer",
            "http_referer",
            "referrer",
            "request.headers.Referer",
            "request_Referer",
            "cs(Referer)",
            "req.headers.referer",
        ],
    ),
    (
        Standard::Forwarded,
        &[
            "forwarded",
            "x_forwarded_for",
            "http_x_forwarded_for",
            "xff",
            "X-Forwarded-For",
            "request.headers.X-Forwarded-For",
            "request_X-Forwarded-For",
            "x-forwarded-for",
            "proxy_add_x_forwarded_for",
            "req.headers.x-forwarded-for",
        ],
    ),
    (Standard::Request, &["request"]),
];

impl Standard {
    /// The standard field with this standard name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let known = NAMES.iter().find(|(_, names)| names.first() == Some(&name));
        known.map(|(standard, _)| *standard)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, names)| names[0])
    }
}

pub(super) fn standards() -> impl Iterator<Item = Standard> {
    NAMES.iter().map(|(standard, _)| *standard)
}

/// Another name for a standard field: `time=when` finds the time in the field `when`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    standard: Standard,
    field: String,
}

impl FromStr for Alias {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| Err(ParseError::whole(text, problem));
        let Some((name, field)) = text.split_once('=') else {
            return wrong("write the name and the field that has it, as in time=when");
        };
        match Standard::of(name) {
            _ if field.is_empty() => wrong("a field is missing after the =, as in time=when"),
            Some(standard) => Ok(Alias { standard, field: field.to_owned() }),
            None => wrong(
                "an unknown name; the known ones are time, ip, user, method, path, status, bytes, host, \
                 request, agent, referer and forwarded",
            ),
        }
    }
}

/// Writes an alias as in `time=when`.
impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.standard.name(), self.field)
    }
}

/// A standard field, and the rank of a name for it: the lower, the better.
pub(super) type Class = (Standard, u8);

/// The standard field that a field of this name is taken for, and the rank of the name; `None` if it is no
/// such name.
pub(super) fn classify(field: &str, aliases: &[Alias]) -> Option<Class> {
    if let Some(alias) = aliases.iter().find(|alias| alias.field == field) {
        return Some((alias.standard, 0));
    }
    NAMES.iter().find_map(|(standard, names)| {
        let place = names.iter().position(|name| *name == field)?;
        // With an alias for the standard field, its other names do not count.
        let said = aliases.iter().any(|alias| alias.standard == *standard);
        (!said).then_some((*standard, place as u8 + 1))
    })
}

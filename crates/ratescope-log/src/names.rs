//! The names of fields: the standard ones, and the names that servers use for them.
//!
//! In JSON and CSV a field may have any name. The standard fields are found under the names listed below, in any case
//! (`clientIp`, `ClientIP`, `client_ip`), and also in objects around them, as in `httpRequest.remoteIp`; if a line has
//! several of the names, the outermost counts, and of several outermost the first listed. An alias replaces the names:
//! with `ip=client.address` the address comes only from this field. A dot leads into an object, as in Caddy's
//! `request.remote_ip`.

use core::fmt;
use core::str::FromStr;
use ratescope::text::ParseError;
use std::collections::HashMap;
use std::sync::LazyLock;

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
    /// A text such as `GET /path HTTP/1.1`, for the method and the path if they have no fields of their own.
    Request,
}

/// The number of standard fields.
pub(super) const STANDARDS: usize = 12;

/// Each standard field with its name, and the names that servers use for it, the best first. Case, `_` and `-` do not
/// matter.
const NAMES: [(Standard, &str, &str); STANDARDS] = [
    (
        Standard::Time,
        "time",
        "ts timestamp time_iso8601 msec start_time StartUTC StartLocal time_local datetime \
         _SOURCE_REALTIME_TIMESTAMP __REALTIME_TIMESTAMP EdgeStartTimestamp requestTimeEpoch reqTimeSec \
         started_at eventTime requestReceivedTimestamp date",
    ),
    (
        Standard::Ip,
        "ip",
        "client_ip remote_ip remote_addr ClientHost ClientAddr downstream_remote_address_without_port \
         downstream_remote_address client client:port client.ip client.address client.ipAddress \
         remote_address client_address source.ip source.address src_ip source_ip sourceIPs \
         sourceIPAddress callerIp callerIpAddress cliIP src_endpoint.ip connection.src_ip addr.remote \
         request_ip visitor_ip ip_address address c-ip id.orig_h",
    ),
    (
        Standard::User,
        "user",
        "remote_user user_id ClientUsername username user_name user.name user.id user.username \
         cs-username",
    ),
    (
        Standard::Method,
        "method",
        "request_method http_method http.request.method ClientRequestMethod reqMethod verb cs-method \
         span.method",
    ),
    (
        Standard::Path,
        "path",
        "uri request_uri RequestPath x_envoy_original_path url url.path url.original http.request.uri \
         requestUrl resourcePath ClientRequestURI ClientRequestPath reqPath cs-uri-stem span.uri",
    ),
    (
        Standard::Status,
        "status",
        "DownstreamStatus response_code status_code response.status http.response.status_code \
         http.response.status http_status http_status_code EdgeResponseStatus responseStatus.code code \
         sc-status res.statusCode fields.status",
    ),
    (
        Standard::Bytes,
        "bytes",
        "body_bytes_sent bytes_sent DownstreamContentSize size response_size response.size \
         http.response.bytes http.response.body.bytes EdgeResponseBytes responseLength sentBytes sc-bytes",
    ),
    (
        Standard::Host,
        "host",
        "http_host RequestHost authority server_name vhost virtual_host url.domain ClientRequestHost \
         cs-host cs(Host) headers.host",
    ),
    (
        Standard::Agent,
        "agent",
        "user_agent http_user_agent headers.User-Agent request_User-Agent user_agent.original \
         ClientRequestUserAgent UA cs(User-Agent)",
    ),
    (
        Standard::Referer,
        "referer",
        "http_referer referrer http.request.referrer headers.Referer request_Referer ClientRequestReferer \
         cs(Referer)",
    ),
    (
        Standard::Forwarded,
        "forwarded",
        "x_forwarded_for forwarded_for http_x_forwarded_for xff headers.X-Forwarded-For \
         request_X-Forwarded-For proxy_add_x_forwarded_for cs(X-Forwarded-For)",
    ),
    (Standard::Request, "request", ""),
];

/// A name whose case matters: `request_time` is a duration.
const EXACT: (&str, Class) = ("requestTime", (Standard::Time, 60));

/// Objects with fields of the request or of the client, in which any of the names counts.
const AROUND: [&str; 18] = [
    "request",
    "req",
    "httprequest",
    "requestcontext",
    "identity",
    "http",
    "properties",
    "proxy",
    "jsonpayload",
    "protopayload",
    "requestmetadata",
    "data",
    "event",
    "record",
    "source",
    "result",
    "transaction",
    "attributes",
];

/// Objects with fields of others than the client.
const OTHERS: [&str; 11] = [
    "upstream",
    "server",
    "destination",
    "dest",
    "backend",
    "origin",
    "target",
    "response",
    "dns",
    "geo",
    "latencies",
];

/// The names that are clear in any object.
const CLEAR: [&str; 12] = [
    "clientip",
    "remoteip",
    "remoteaddr",
    "sourceip",
    "callerip",
    "statuscode",
    "httpstatus",
    "httpmethod",
    "requestmethod",
    "requesturi",
    "useragent",
    "xforwardedfor",
];

impl Standard {
    /// The standard field with this standard name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let known = NAMES.iter().find(|(_, known, _)| *known == name);
        known.map(|(standard, ..)| *standard)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(known, ..)| *known == self).map_or("", |(_, name, _)| *name)
    }
}

pub(super) fn standards() -> impl Iterator<Item = Standard> {
    NAMES.iter().map(|(standard, ..)| *standard)
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
        match Standard::from_name(name) {
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

/// The rank of an alias, and of the standard name.
pub(super) const SAID: u8 = 1;

/// The standard field for a field of this name, and the rank of the name; `None` for other names.
pub(super) fn classify(field: &str, aliases: &[Alias]) -> Option<Class> {
    if let Some(alias) = aliases.iter().find(|alias| alias.field == field) {
        return Some((alias.standard, 0));
    }
    let class = known(field)?;
    // With an alias for the standard field, its other names do not count.
    let said = aliases.iter().any(|alias| alias.standard == class.0);
    (!said).then_some(class)
}

/// The standard field for a field of this name, by the whole name or else by its longest known end.
fn known(field: &str) -> Option<Class> {
    static ALL: LazyLock<HashMap<String, Class>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for (standard, name, others) in NAMES {
            for (place, name) in [name].into_iter().chain(others.split_whitespace()).enumerate() {
                all.entry(plain(name)).or_insert((standard, place as u8 + SAID));
            }
        }
        all
    });
    let name = plain(field);
    let mut rest = name.as_str();
    let mut is_around = true;
    for depth in 0.. {
        let (outer, inner) = rest.split_once('.').unwrap_or((rest, ""));
        let class = ALL.get(rest).filter(|_| is_around || CLEAR.contains(&rest));
        if let Some((standard, rank)) = class.filter(|(standard, _)| is_of(&name, *standard)) {
            // Each enclosing object adds more to the rank than all names.
            return Some((*standard, rank.saturating_add(depth * 64)));
        }
        if inner.is_empty() || OTHERS.contains(&outer) || depth == 3 {
            break;
        }
        is_around &= AROUND.contains(&outer);
        rest = inner;
    }
    (field.rsplit('.').next() == Some(EXACT.0)).then_some(EXACT.1)
}

/// Tells whether the name of a field may mean this standard field: a request has a size, too, but `bytes` is the size
/// of the response; and a proxy has an address, but `ip` is the client's.
fn is_of(name: &str, standard: Standard) -> bool {
    match standard {
        Standard::Bytes | Standard::Status | Standard::Request => {
            !name.starts_with("request.") && !name.starts_with("req.")
        }
        Standard::Ip => !matches!(name, "proxy.ip" | "proxy.address"),
        _ => true,
    }
}

/// A name in the form that is compared: without `_`, `-` and upper case.
fn plain(name: &str) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || *c == '.';
    name.chars().filter(is_part).map(|c| c.to_ascii_lowercase()).collect()
}

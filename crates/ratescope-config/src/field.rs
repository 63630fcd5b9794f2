//! The fields of a log that a key counts by, as web servers know them.

use crate::Addresses;
use crate::read::said;
use crate::write::Notes;
use ratescope::policy::{Limit, Per};

/// The field of a request header.
pub(crate) fn header(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "user-agent" => "agent".to_owned(),
        name => name.to_owned(),
    }
}

pub(crate) fn ip() -> String {
    "ip".to_owned()
}

/// The remark that no log has a part of a key.
pub(crate) fn unknown(part: &str) -> String {
    format!("it counts by {}, which is no field of a log", said(part))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Ip,
    Host,
    Path,
    Method,
    User,
    /// The request header of this name, in lower case.
    Header(String),
}

/// Fields of a log that no server can count by before it answers, and the remedy.
const UNKNOWN: [(&str, &str); 9] = [
    ("status", "no answer is known yet when a request is counted; write per ip, user or path"),
    ("bytes", "no answer is known yet when a request is counted; write per ip, user or path"),
    ("time", "each request would have a limit of its own; write per ip, user or path"),
    ("request", "it is a line of the log; write per method+path"),
    ("peer", "it is the address of the last proxy; write per ip, which is the client"),
    ("key", "it is a column of the log; read it under the name of a field, as in --field ip=key"),
    ("sender", "only Exim knows the sender of a mail; write per ip or user"),
    ("helo", "only Exim knows the greeting of a mail's client; write per ip or user"),
    ("message", "it is a text of the log; write per ip or user"),
];

impl Field {
    fn new(name: &str) -> Result<Self, String> {
        if let Some((_, why)) = UNKNOWN.iter().find(|(unknown, _)| *unknown == name) {
            return Err(format!("it cannot count by {name}: {why}"));
        }
        Ok(match header_of(name).as_deref().unwrap_or(name) {
            "ip" | "address" | FORWARDED => Field::Ip,
            "host" => Field::Host,
            "path" => Field::Path,
            "method" => Field::Method,
            "user" => Field::User,
            "agent" => Field::Header("user-agent".to_owned()),
            name if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
                Field::Header(name.to_ascii_lowercase())
            }
            name => {
                return Err(format!(
                    "{name} is no field of a request; the name of a header has letters, digits \
                     and - only"
                ));
            }
        })
    }

    /// A free value may contain spaces, which separate the fields of a key.
    const fn is_free(&self) -> bool {
        matches!(self, Field::Path | Field::User | Field::Header(_))
    }
}

/// The request header of a log's field: in JSON `req.headers.x-api-key`, as a variable of nginx `http_x_api_key`.
fn header_of(name: &str) -> Option<String> {
    let member = name.rsplit_once("headers.").map(|(_, header)| header.to_owned());
    let variable = || Some(format!("x-{}", name.strip_prefix("http_x_")?.replace('_', "-")));
    member.or_else(variable)
}

/// The field of a log with the client by X-Forwarded-For.
const FORWARDED: &str = "forwarded";

/// The fields of a key: the address first, and fields whose values may contain spaces last. With at most one such
/// field, values joined by spaces never make the same key.
pub(crate) fn fields(per: &Per) -> Result<Vec<Field>, String> {
    let place = |field: &Field| (field.is_free(), *field != Field::Ip);
    let mut fields: Vec<Field> = Vec::new();
    for name in per.fields() {
        let field = Field::new(name)?;
        fields.insert(fields.partition_point(|other| place(other) <= place(&field)), field);
    }
    fields.dedup();
    Ok(fields)
}

impl Addresses {
    /// Warns of networks of IPv4 for a server that has none.
    pub(crate) fn warn_of_ipv4(self, notes: &mut Notes) {
        if self.ipv4_prefix < 32 {
            notes.add("each IPv4 address is a client of its own here");
        }
    }

    /// Several addresses may be one client.
    pub(crate) const fn has_networks(self) -> bool {
        self.ipv4_prefix < 32 || self.ipv6_prefix < 128
    }

    /// The settings that these limits need: proxies and networks only if a limit counts by addresses, and always
    /// proxies if one counts by `forwarded`.
    pub(crate) fn of(self, limits: &[Limit]) -> Self {
        let has = |name| limits.iter().any(|limit| limit.per.fields().iter().any(|f| f == name));
        if has("ip") || has("address") || has(FORWARDED) {
            Addresses { forwarded: self.forwarded || has(FORWARDED), ..self }
        } else {
            Addresses::default()
        }
    }
}

/// A warning about fields that are joined by spaces, if it is needed.
pub(crate) fn joined(fields: &[Field]) -> Option<&'static str> {
    let free = fields.iter().filter(|field| field.is_free()).count();
    (free > 1).then_some(
        "the fields of a key are joined by spaces, and values with spaces in them may make the \
         same key",
    )
}

/// The error about `user`, for a server that does not know who the user is.
pub(crate) fn no_user() -> String {
    "it knows no users; name the request header that carries the user, as in per x-user".to_owned()
}

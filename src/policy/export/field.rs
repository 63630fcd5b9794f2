//! The fields of a key as web servers know them.

use crate::policy::Per;

/// A field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Ip,
    Host,
    Path,
    Method,
    User,
    /// The request header of this name, in lower case.
    Header(String),
}

impl Field {
    fn new(name: &str) -> Result<Self, String> {
        Ok(match name {
            "ip" | "address" => Field::Ip,
            "host" => Field::Host,
            "path" => Field::Path,
            "method" => Field::Method,
            "user" => Field::User,
            "agent" => Field::Header("user-agent".to_owned()),
            _ if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
                Field::Header(name.to_ascii_lowercase())
            }
            _ => {
                return Err(format!(
                    "{name} is no field of a request; the name of a header has letters, digits \
                     and - only"
                ));
            }
        })
    }

    /// Whether its value may contain spaces, which separate the fields of a key.
    const fn is_free(&self) -> bool {
        matches!(self, Field::Path | Field::User | Field::Header(_))
    }
}

/// The fields of a key, those whose values may contain spaces last. If there is at most one of
/// these, different values never make the same key when they are joined by spaces.
pub(super) fn fields(per: &Per) -> Result<Vec<Field>, String> {
    let mut fields =
        per.fields().iter().map(|name| Field::new(name)).collect::<Result<Vec<_>, _>>()?;
    fields.sort_by_key(Field::is_free);
    Ok(fields)
}

/// A warning about fields that are joined by spaces, if one is needed.
pub(super) fn joined(fields: &[Field]) -> Option<&'static str> {
    let free = fields.iter().filter(|field| field.is_free()).count();
    (free > 1).then_some(
        "the fields of a key are joined by spaces, and values with spaces in them may make the \
         same key",
    )
}

/// The error about `user`, for a server that does not know users.
pub(super) fn no_user() -> String {
    "it knows no users; name the request header that carries the user, as in per x-user".to_owned()
}

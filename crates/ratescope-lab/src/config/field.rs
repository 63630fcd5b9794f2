//! The field of a log that a request's part is: the other way round, [`crate::export`] writes them.

/// The field of a request header.
pub(super) fn header(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "user-agent" => "agent".to_owned(),
        name => name.to_owned(),
    }
}

pub(super) fn ip() -> String {
    "ip".to_owned()
}

/// That a key has a part that no log has.
pub(super) fn unknown(part: &str) -> String {
    format!("it counts by {}, which is no field of a log", super::said(part))
}

//! The field of a log for a part of a request, the inverse of the writer.

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

/// The remark that no log has a part of a key.
pub(super) fn unknown(part: &str) -> String {
    format!("it counts by {}, which is no field of a log", super::said(part))
}

//! The fields RateLimit-Policy and RateLimit, as structured fields.
//!
//! Source: `draft-ietf-httpapi-ratelimit-headers-11`, "RateLimit header fields for HTTP" (23 May
//! 2026), sections 3 to 5, and RFC 9651 for the syntax. The next version of the draft may differ;
//! everything that depends on the draft is in this file.
//! [`headers`](super::headers) documents the items.

use super::headers::RoundedQuota;
use core::fmt::{self, Write};
use http::StatusCode;
use http::header::HeaderName;

pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The problem type of a request that exceeds a limit (section 5.1).
pub(super) const QUOTA_EXCEEDED: ProblemType = ProblemType {
    kind: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Request cannot be satisfied as assigned quota has been exceeded",
};

/// The problem type of a service that lacks resources (section 5.2).
pub(super) const REDUCED_CAPACITY: ProblemType = ProblemType {
    kind: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    title: "Request cannot be satisfied due to temporary server capacity constraints",
};

/// The problem of a status that says it all (RFC 9457, section 4.2.1).
pub(super) fn of_status(status: StatusCode) -> ProblemType {
    ProblemType { kind: "about:blank", title: status.canonical_reason().unwrap_or_default() }
}

pub(super) struct ProblemType {
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
}

/// The member of the problem details with the names of the policies.
pub(super) const VIOLATED: &str = "violated-policies";

/// The largest integer of a structured field: 15 digits.
const LARGEST: u64 = 999_999_999_999_999;

/// The name of a policy. A string of a structured field can hold visible ASCII and spaces; other
/// characters are escaped as in a URL.
pub(super) fn name(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string()
}

/// A name in an item of either list: a string in quotes.
pub(super) fn name_in_list(name: &str) -> String {
    Text(name).to_string()
}

/// An item of RateLimit-Policy: `quota` units of `unit` in `window` seconds.
pub(super) fn policy(name: &str, quota: u64, window: u64, unit: Option<&str>) -> String {
    let quota = quota.min(LARGEST);
    let window = window.clamp(1, LARGEST);
    let unit = unit.map(|unit| format!(";qu={}", Text(&self::name(unit)))).unwrap_or_default();
    format!("{name};q={quota}{unit};w={window}")
}

/// The beginning of an item of RateLimit, up to the first number.
pub(super) fn item(name: &str) -> String {
    format!("{name};r=")
}

/// The list of RateLimit. Each limit gives the [beginning](item) of its item, the units that remain, and the seconds
/// until the reset.
pub(super) fn limits<'a>(each: impl Iterator<Item = (&'a str, RoundedQuota)> + Clone) -> Vec<u8> {
    let digits = |n: u64| n.checked_ilog10().map_or(1, |log| log as usize + 1);
    let each = each.map(|(item, RoundedQuota { remaining, reset })| {
        (item, remaining.min(LARGEST), reset.min(LARGEST))
    });
    let length =
        |(item, r, t): (&str, u64, u64)| item.len() + digits(r) + ";t=, ".len() + digits(t);
    // A header takes over a list without spare room, at once. This saves a tenth of the instructions of a request.
    let mut list = Vec::with_capacity(each.clone().map(length).sum::<usize>().saturating_sub(2));
    for (item, r, t) in each {
        if !list.is_empty() {
            list.extend_from_slice(b", ");
        }
        list.extend_from_slice(item.as_bytes());
        list.extend_from_slice(itoa::Buffer::new().format(r).as_bytes());
        list.extend_from_slice(b";t=");
        list.extend_from_slice(itoa::Buffer::new().format(t).as_bytes());
    }
    list
}

/// A string of a structured field; it must be visible ASCII and spaces.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut from = 0;
        for (at, _) in self.0.match_indices(['"', '\\']) {
            f.write_str(self.0.get(from..at).unwrap_or_default())?;
            f.write_char('\\')?;
            from = at;
        }
        f.write_str(self.0.get(from..).unwrap_or_default())?;
        f.write_char('"')
    }
}

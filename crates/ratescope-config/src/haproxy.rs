//! HAProxy: a stick table for each limit, and the rules that count and compare its rates.
//!
//! Source: HAProxy configuration manual, "stick-table", "http-request track-sc" and "sc-inc-gpc0". A request counts
//! when it is tracked, so a later rule compares a rate that includes it; `sc-inc-gpc0` after the rules counts only
//! requests that passed, so they count in all of these limits or in none.

mod condition;
mod index;
mod read;
mod sections;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

use crate::words::{Units, has};
use crate::write::Names;

pub(crate) const NAMES: Names = Names { name: "haproxy", title: "HAProxy", file: "haproxy.cfg" };

const UNITS: Units = &[
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("", 1e-3),
];

/// The rates in a table, with the things they count.
const RATES: [(&str, &str); 4] = [
    ("http_req_rate", ""),
    ("conn_rate", "connections"),
    ("sess_rate", "sessions"),
    ("gpc0_rate", ""),
];

pub(crate) fn is_known(text: &str) -> bool {
    ["stick-table ", "track-sc", "sc_http_req_rate", "sc0_http_req_rate", "src_http_req_rate"]
        .iter()
        .any(|word| has(text, &["#"], word))
}

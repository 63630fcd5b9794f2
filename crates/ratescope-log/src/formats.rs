//! The table of formats. A format is one file with its [`LogFormat`](super::shape::LogFormat), and one row here.

use super::format::Format;
use super::shape::FormatRow;
use super::{clf, columns, csv, exim, json, logins};
use core::str::FromStr;
use ratescope::text::ParseError;
use std::collections::BTreeSet;

/// All formats, in the order in which they are tried: of several that fit a line equally well, the first counts.
pub(super) static FORMATS: &[&FormatRow] =
    &[&json::ROW, &clf::ROW, &exim::ROW, &logins::ROW, &csv::ROW, &columns::ROW];

impl Format {
    /// All formats, in the order in which they are tried.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.iter().map(|row| row.format)
    }
}

/// Reads the name of a format, or of a server that writes it by default, as in `nginx`.
impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = |row: &&&FormatRow| row.format.0 == text || row.servers.contains(&text);
        FORMATS.iter().find(known).map(|row| row.format).ok_or_else(|| {
            let servers = FORMATS.iter().flat_map(|row| row.servers.iter().copied());
            let all: Vec<&str> = Format::all().map(|format| format.0).chain(servers).collect();
            let all = all.join(", ");
            ParseError::whole(text, format!("not a format of logs; write one of {all}"))
        })
    }
}

/// The plural nouns for the events of logs, such as `requests` or `failed logins`, sorted.
pub fn nouns() -> impl Iterator<Item = &'static str> {
    let nouns: BTreeSet<&str> = FORMATS.iter().flat_map(|row| row.nouns).copied().collect();
    nouns.into_iter()
}

//! The table of formats. A format is one file with its [`LogFormat`](super::shape::LogFormat), and one row here.

use super::shape::{Format, FormatRow};
use super::{clf, columns, csv, exim, json, logins};
use core::str::FromStr;
use ratescope::text::ParseError;
use std::collections::BTreeSet;

/// All formats, in the order in which they are tried: of several that fit a line equally well, the first counts.
pub(super) static FORMATS: &[&FormatRow] =
    &[&json::ROW, &clf::ROW, &exim::ROW, &logins::ROW, &csv::ROW, &columns::ROW];

/// The words of a format, apart from its parser: a page that only names formats then has no parsers in its module.
#[derive(Clone, Copy)]
struct Words {
    format: Format,
    servers: &'static [&'static str],
    nouns: &'static [&'static str],
}

static WORDS: [Words; FORMATS.len()] = {
    let mut all = [Words { format: Format(""), servers: &[], nouns: &[] }; FORMATS.len()];
    let mut i = 0;
    while i < all.len() {
        let FormatRow { format, servers, nouns, .. } = FORMATS[i];
        all[i] = Words { format: *format, servers, nouns };
        i += 1;
    }
    all
};

impl Format {
    /// All formats, in the order in which they are tried.
    pub fn all() -> impl Iterator<Item = Format> {
        WORDS.iter().map(|words| words.format)
    }
}

/// Reads the name of a format, or of a server that writes it by default, as in `nginx`.
impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = |words: &&Words| words.format.0 == text || words.servers.contains(&text);
        WORDS.iter().find(known).map(|words| words.format).ok_or_else(|| {
            let servers = WORDS.iter().flat_map(|words| words.servers.iter().copied());
            let all: Vec<&str> = Format::all().map(|format| format.0).chain(servers).collect();
            let all = all.join(", ");
            ParseError::whole(text, format!("not a format of logs; write one of {all}"))
        })
    }
}

/// The plural nouns for the events of logs, such as `requests` or `failed logins`, sorted.
pub fn nouns() -> impl Iterator<Item = &'static str> {
    let nouns: BTreeSet<&str> = WORDS.iter().flat_map(|words| words.nouns).copied().collect();
    nouns.into_iter()
}

//! Lines with their macros expanded, and the words at their beginning.

use crate::words::lines;
use std::collections::BTreeMap;

/// The verbs of an ACL.
const VERBS: [&str; 7] = ["accept", "defer", "deny", "discard", "drop", "require", "warn"];

/// The value of `ratelimit = ...` in a line.
pub(super) fn value(line: &str) -> Option<&str> {
    let line = verb(line).map_or(line, |(_, rest)| rest);
    let value = line.strip_prefix("ratelimit")?.trim_start().strip_prefix('=')?;
    Some(value.trim())
}

/// A verb at the beginning of a line, and the rest of it.
pub(super) fn verb(line: &str) -> Option<(&str, &str)> {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    VERBS.contains(&word).then(|| (word, rest.trim_start()))
}

/// A macro, as in `RATE = 100 / 1h`: its name, and its text.
pub(super) fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, text.strip_prefix('=').unwrap_or(text).trim()))
}

/// The longest line after its macros were expanded: a macro may name others.
const LONGEST: usize = 1 << 14;

/// A line with the texts of macros in place of their names.
pub(super) fn expanded(line: &str, macros: &BTreeMap<String, String>) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (word, after) = rest.split_at(end);
        let meaning = macros.get(word).filter(|meaning| text.len() + meaning.len() < LONGEST);
        text += meaning.map_or(word, String::as_str);
        rest = after;
    }
    text
}

/// Lines, where a line that ends with a backslash is joined to the next.
pub(super) fn joined(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (line, text) in lines(text, &["#"]) {
        let (text, next) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
        match joined.last_mut().filter(|_| goes_on) {
            Some((_, before)) => *before += text,
            None => joined.push((line, text.to_owned())),
        }
        goes_on = next;
    }
    joined
}

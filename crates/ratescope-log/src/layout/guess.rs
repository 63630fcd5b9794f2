//! Guessing the layout of a line: which column is the time, the address, the request and the status.

use super::known::{known, of_header};
use super::{Layout, Rows};
use crate::clf::{self, Written};
use crate::format::{Guess, LogForm, LogShape, Reason};
use crate::options::Options;
use crate::stamp::{Instant, Stamps, Year};
use ratescope::address;
use ratescope::internal::{digits, visible};
use std::sync::Arc;

/// The most layouts of headers that are tried on a line; each header names two.
const BORN: usize = 16;

/// The layouts that can read a line. `born` collects the layouts that headers of the log name.
pub(crate) fn guess(
    line: &str,
    options: &Options,
    outer: Option<Instant>,
    born: &mut Vec<Arc<Layout>>,
) -> Result<Vec<Guess>, Reason> {
    let reads = |layout: &Arc<Layout>| reads(layout, line, options, outer);
    if let Some(said) = &options.layout {
        return Ok(vec![reads(said)?]);
    }
    let mut is_header = false;
    for layout in ["\t", " "].into_iter().filter_map(|between| of_header(line, between)) {
        is_header = true;
        if born.len() < BORN && !born.contains(&layout) {
            born.push(layout);
        }
    }
    if is_header {
        return Ok(Vec::new());
    }
    let each = known().iter().chain(born.iter());
    let mut found: Vec<Guess> = each.filter_map(|layout| reads(layout).ok()).collect();
    if found.is_empty()
        && let Some(layout) = guessed(line)
    {
        let guess = reads(&Arc::new(layout)).ok();
        found.extend(guess.map(|guess| Guess { points: Guess::GUESSED, ..guess }));
    }
    Ok(found)
}

/// The guess that a line is of this layout, or why the layout cannot read it.
fn reads(
    layout: &Arc<Layout>,
    line: &str,
    options: &Options,
    outer: Option<Instant>,
) -> Result<Guess, Reason> {
    let mut rows = Rows::new(Arc::clone(layout));
    let read = rows.read(line, &mut Stamps::new(Year::Any, options.unit), outer)?;
    let (_, table) = read.ok_or("a remark")?;
    let form = LogForm::Columns(Arc::clone(layout));
    let shape = LogShape::new(form, layout.about.clone(), Some(layout.fields()));
    Ok(Guess::new(shape, table.points()))
}

/// A layout guessed from a line: it must find the time, the address, and the request or both the method and
/// the path.
pub(super) fn guessed(line: &str) -> Option<Layout> {
    // JSON and access logs have formats of their own.
    if line.starts_with('{')
        || clf::read(line, Written::default(), &mut Stamps::default()).is_some()
    {
        return None;
    }
    let Guessed { columns, end, .. } = columns(line);
    let has = |name: &str| columns.iter().any(|(_, n)| n == name);
    let is_known = has("time") && has("ip") && (has("request") || has("method") && has("path"));
    let text = notation(&columns, &end);
    is_known.then(|| {
        let about = format!("columns, guessed: {text}");
        Layout::new(&text, columns, end).called(&about)
    })
}

/// A proposal for the columns of a log that is not recognized, made from its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The notation of its columns, as a [`Layout`] is written.
    pub notation: String,
    /// The name of each column, and its value in the line, without characters that would change the direction of
    /// others.
    pub columns: Vec<(String, String)>,
}

impl Proposal {
    /// The proposal for a log that begins with `head`; `None` if that is no text of several columns.
    pub fn new(head: &[u8]) -> Option<Self> {
        let head = head.get(..head.len().min(LONGEST)).unwrap_or_default();
        let line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        let line = core::str::from_utf8(line).ok()?.trim_end();
        let Guessed { columns, end, values } = columns(line);
        if columns.len() < 2 || line.contains(char::is_control) && !line.contains('\t') {
            return None;
        }
        let notation = notation(&columns, &end);
        let names = columns.into_iter().map(|(_, name)| name);
        let shown = values.iter().map(|value| value.chars().map(visible).collect());
        Some(Proposal { notation, columns: names.zip(shown).collect() })
    }
}

/// The most bytes of a log from which a proposal is made.
const LONGEST: usize = 1 << 13;

/// The columns of a line: the text before each with its name, the text at the end, and the values.
struct Guessed {
    columns: Vec<(String, String)>,
    end: String,
    values: Vec<String>,
}

/// The notation of the columns.
fn notation(columns: &[(String, String)], end: &str) -> String {
    let text: String = columns.iter().map(|(before, name)| format!("{before}${name}")).collect();
    text + end
}

/// Guesses the columns of a line. Those that look like no standard field are named `c1`, `c2` and so on, by
/// their positions.
fn columns(line: &str) -> Guessed {
    let between = ["\t", "|", ";"].into_iter().find(|between| line.matches(between).count() > 2);
    let (tokens, end) = tokens(line, between.unwrap_or(" "));
    let mut columns: Vec<(String, String)> = Vec::new();
    let has = |columns: &[(String, String)], name: &str| columns.iter().any(|(_, n)| n == name);
    for (i, (before, token)) in tokens.iter().enumerate() {
        let after = columns.last().map_or("", |(_, name)| name.as_str());
        let kind = match kind_of(token) {
            Some("status") if !has(&columns, "request") && !has(&columns, "path") => None,
            None if after == "status" && token.parse::<u64>().is_ok() => Some("bytes"),
            // A client can write an address into its request and into quoted columns, so none is taken there.
            Some("ip") if has(&columns, "request") || before.ends_with('"') => None,
            kind => kind,
        };
        let name = kind.filter(|name| !has(&columns, name)).map(str::to_owned);
        columns.push((before.clone(), name.unwrap_or(format!("c{}", i + 1))));
    }
    let values = tokens.into_iter().map(|(_, token)| token).collect();
    Guessed { columns, end, values }
}

/// The most columns of a guessed layout.
const MOST: usize = 64;

/// The columns of a line, each with the text before it, and the text at the end. Quotes and brackets around a
/// column do not belong to it.
fn tokens(line: &str, between: &str) -> (Vec<(String, String)>, String) {
    let (mut found, mut rest, mut before) = (Vec::new(), line, String::new());
    while found.len() < MOST {
        let closing = match rest.bytes().next() {
            Some(b'"') => Some("\""),
            Some(b'[') => Some("]"),
            _ => None,
        };
        if let Some(close) = closing
            && let Some(inside) = rest.get(1..)
            && let Some(end) = inside
                .find(&format!("{close}{between}"))
                .or_else(|| inside.strip_suffix(close).map(str::len))
        {
            before.push_str(rest.get(..1).unwrap_or(""));
            found.push((before, inside.get(..end).unwrap_or("").to_owned()));
            rest = inside.get(end + close.len()..).unwrap_or("");
            before = close.to_owned();
        } else {
            let mut end = rest.find(between).unwrap_or(rest.len());
            // A date and a time with a space between them are one column, `2000-10-10 13:55:36`.
            let longer = rest.get(..end + 9).filter(|text| {
                between == " " && end == 10 && Stamps::default().read(text).is_some()
            });
            end = longer.map_or(end, str::len);
            let (token, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            found.push((before, token.to_owned()));
            (rest, before) = (after, String::new());
        }
        match rest.strip_prefix(between) {
            Some(after) => {
                before.push_str(between);
                rest = after;
            }
            None => break,
        }
    }
    before.push_str(rest);
    (found, before)
}

/// The standard field that a text looks like; `None` if it looks like none.
fn kind_of(token: &str) -> Option<&'static str> {
    // Seconds, milliseconds and microseconds since 1970 have 10, 13 and 16 digits since 2001. Nine digits may
    // as well be another number, unless they have decimals.
    let is_epoch = digits(token).is_some_and(|(whole, part)| {
        let is_long = matches!(whole.len(), 10 | 13 | 16) || whole.len() == 9 && !part.is_empty();
        is_long && !token.ends_with('.')
    });
    let is_method = |word: &str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase());
    let is_request = || {
        let (method, rest) = token.split_once(' ')?;
        (is_method(method) && rest.contains(" HTTP/")).then_some(())
    };
    if is_epoch || Stamps::default().read(token).is_some() {
        Some("time")
    } else if address::is_address(token) {
        Some("ip")
    } else if is_request().is_some() {
        Some("request")
    } else if token.len() == 3 && token.bytes().all(|b| b.is_ascii_digit()) {
        Some("status")
    } else if matches!(token, "GET" | "POST" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "PATCH") {
        Some("method")
    } else if token.starts_with('/') {
        Some("path")
    } else {
        None
    }
}

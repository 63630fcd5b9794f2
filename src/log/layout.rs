//! Lines of columns, in an order that is known, given or guessed.
//!
//! A layout is a sequence of columns with fixed texts between them, as in nginx's
//! `$remote_addr [$time_local]`. A column ends where the next text begins. Clients choose the text of some
//! columns, and servers don't always escape it. So a column before an address or a time ends only where an
//! address or a time follows. If a client chose the text of the column, and an address could follow in
//! several places, the line is not read.

mod guess;
mod known;
mod notation;

pub use guess::Proposal;
pub(super) use guess::guess;

use super::format::Problem;
use super::names::{Standard, classify};
use super::number::{self, Unit};
use super::stamp::{Instant, Stamps};
use super::table::{Best, Excerpt, Names, Places, Table};
use crate::address;
use core::fmt;
use memchr::memmem;
use std::sync::Arc;

/// The columns of lines, and the fixed texts between them. The text form is the notation of nginx's
/// `log_format` or of Apache's `LogFormat`, with or without the directive.
///
/// ```
/// use ratescope::log::{Layout, Log, Options};
///
/// let layout: Layout = r#"%h [%{sec}t] "%r" %>s"#.parse()?;
/// let options = Options { layout: Some(layout.into()), ..Options::default() };
/// let mut log = Log::open(&b"192.0.2.7 [971211336] \"GET / HTTP/1.1\" 200\n"[..], &options)?;
/// log.read(&mut |record| assert_eq!(record.time().as_secs(), 971_211_336.0))?;
/// assert_eq!(log.counts().events, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The notation as it was written.
    text: String,
    about: String,
    parts: Vec<Part>,
    names: Vec<String>,
    places: Places,
    /// Whether the client is the last address of the X-Forwarded-For, since the line has no address of its
    /// own.
    last_of_list: bool,
    /// Whether the last column has no spaces, and a column before an address has none unless a client chose
    /// its text. A line with more columns is then not read.
    is_exact: bool,
    /// Whether lines that begin with `#` are remarks about the log.
    has_remarks: bool,
}

/// A fixed text, and the column after it. The last part has only a text.
#[derive(Clone, Debug)]
struct Part {
    before: String,
    kind: Kind,
    /// Whether the text ends with one space or more, any number of them.
    has_spaces: bool,
}

impl Part {
    /// Two spaces or more at the end of `before` stand for any number of them.
    fn new(mut before: String, kind: Kind) -> Self {
        let has_spaces = before.ends_with("  ");
        if has_spaces {
            before.truncate(before.trim_end().len() + 1);
        }
        Part { before, kind, has_spaces }
    }

    /// The end of the text that begins at `from`, after all of its spaces.
    fn end(&self, line: &str, from: usize) -> usize {
        let end = from + self.before.len();
        match self.has_spaces {
            true => end + line.bytes().skip(end).take_while(|b| *b == b' ').count(),
            false => end,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Time,
    Address,
    /// Texts in braces, with a space after each.
    Braces,
    /// No column: the end of the line.
    End,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        self.text == other.text
    }
}

impl Eq for Layout {}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Layout {
    /// A layout of columns with the text before each, and of the text `end` after the last.
    fn new(text: &str, columns: Vec<(String, String)>, end: String) -> Self {
        let (mut parts, mut names) = (Vec::new(), Vec::new());
        let mut best = Best::default();
        for (i, (before, name)) in columns.into_iter().enumerate().take(usize::from(u16::MAX)) {
            let class = classify(&name, &[]);
            let kind = match class {
                Some((Standard::Time, _)) => Kind::Time,
                Some((Standard::Ip, _)) => Kind::Address,
                _ if name == "captures" => Kind::Braces,
                _ => Kind::Text,
            };
            if let Some(class) = class {
                best.offer(class, i as u16);
            }
            parts.push(Part::new(before, kind));
            names.push(name);
        }
        parts.push(Part::new(end, Kind::End));
        Layout {
            text: text.to_owned(),
            about: "columns".to_owned(),
            parts,
            names,
            places: best.places,
            last_of_list: false,
            is_exact: false,
            has_remarks: false,
        }
    }

    /// Makes the last address of the X-Forwarded-For the client: right for a server that appends its peer to
    /// it.
    fn of_list(mut self) -> Self {
        self.places.set(Standard::Ip, self.names.len() as u16);
        self.names.push("ip".to_owned());
        Layout { last_of_list: true, ..self }
    }

    fn called(self, about: &str) -> Self {
        Layout { about: about.to_owned(), ..self }
    }

    /// Whether the lines have a time of their own.
    pub(super) fn has_time(&self) -> bool {
        self.places.get(Standard::Time).is_some()
    }

    /// The names of the columns, and the standard fields found in them.
    fn fields(&self) -> Vec<String> {
        let mut fields = self.names.clone();
        let mut add = |name: &str| {
            if !fields.iter().any(|field| field == name) {
                fields.push(name.to_owned());
            }
        };
        self.places.found().for_each(|standard| add(standard.name()));
        if self.places.get(Standard::Request).is_some() {
            ["method", "path"].into_iter().for_each(add);
        }
        fields
    }
}

/// Reads lines, and reuses its memory for each of them.
#[derive(Debug)]
pub(super) struct Rows {
    layout: Arc<Layout>,
    values: Vec<Excerpt>,
}

impl Rows {
    pub(super) fn new(layout: Arc<Layout>) -> Self {
        Rows { layout, values: Vec::new() }
    }

    /// The event of a line, with the time `outer` if no column has one; `None` for a remark.
    pub(super) fn read<'a>(
        &'a mut self,
        line: &'a str,
        stamps: &mut Stamps,
        unit: Option<Unit>,
        outer: Option<Instant>,
    ) -> Result<Option<(Instant, Table<'a>)>, Problem> {
        let Rows { layout, values } = self;
        if layout.has_remarks && line.starts_with('#') {
            return Ok(None);
        }
        values.clear();
        let time = Split { layout, line, stamps, unit }.all(values)?;
        if layout.last_of_list {
            let place = layout.places.get(Standard::Forwarded).map(usize::from);
            let list = place.and_then(|place| values.get(place)).copied().unwrap_or(Excerpt::EMPTY);
            let text = list.text(line, "");
            let last = text.rsplit(',').next().unwrap_or(text).trim_start();
            values.push(Excerpt::of_line(list.end() - last.len(), list.end()));
        }
        let names = Names::Header(&layout.names);
        let table = Table { line, made: "", names, values, places: &layout.places };
        match time.or(outer) {
            Some(instant) => Ok(Some((instant, table))),
            None => Err("no column has a time".into()),
        }
    }
}

/// Splits a line into columns.
struct Split<'a, 'b> {
    layout: &'a Layout,
    line: &'a str,
    stamps: &'b mut Stamps,
    unit: Option<Unit>,
}

/// The longest time or address, with its zone or port; and the rest of a line.
const LONGEST: usize = 64;
const LINE: usize = usize::MAX;

impl<'a> Split<'a, '_> {
    /// Finds the columns of the line; returns the time from the first column that has one.
    fn all(&mut self, values: &mut Vec<Excerpt>) -> Result<Option<Instant>, Problem> {
        let (line, parts) = (self.line, &self.layout.parts);
        let first = parts.first().map_or("", |part| part.before.as_str());
        if !line.starts_with(first) {
            return Err(format!("it does not begin with {first}").into());
        }
        let (mut at, mut time) = (first.len(), None);
        for (i, part) in parts.iter().enumerate() {
            let Some(next) = parts.get(i + 1) else { break };
            let (end, after) = match part.kind {
                Kind::Time => {
                    let (instant, end, after) = self.time(i, at).ok_or_else(|| {
                        format!("column {}: no time, but {}", at + 1, self.near(at))
                    })?;
                    time = time.or(Some(instant));
                    (end, after)
                }
                Kind::Braces => self.braces(next, at).ok_or_else(|| self.missing(next, at))?,
                Kind::Address => self.address(i, at, LINE).ok_or_else(|| self.missing(next, at))?,
                _ => self.text(i, at)?.ok_or_else(|| self.missing(next, at))?,
            };
            values.push(Excerpt::of_line(at, end));
            at = after;
        }
        match at == line.len() {
            true => Ok(time),
            false => Err(format!("column {}: more than the columns", at + 1).into()),
        }
    }

    fn missing(&self, next: &Part, at: usize) -> Problem {
        match next.before.as_str() {
            "" => format!("column {}: too long", at + 1).into(),
            text => format!("no {text} after column {}, but {}", at + 1, self.near(at)).into(),
        }
    }

    /// The beginning of the text at `at`, to be quoted in a message.
    fn near(&self, at: usize) -> String {
        match self.line.get(at..) {
            None | Some("") => "the end of the line".to_owned(),
            Some(rest) => super::format::shown(rest, 20),
        }
    }

    /// The places where column `i`, which begins at `at`, may end: for each the end of the column, and the
    /// end of the fixed text after it. A column has at most `most` bytes, and no more of a line is searched.
    fn ends(
        &self,
        i: usize,
        at: usize,
        most: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let Split { layout, line, .. } = *self;
        let next = layout.parts.get(i + 1);
        let text = next.map_or("", |part| part.before.as_str());
        let last = at.saturating_add(most).min(line.len());
        let rest = line.as_bytes().get(at..line.len().min(last + text.len())).unwrap_or_default();
        // A column without a text after it goes on to the end of the line. So does a last column in quotes if
        // the line was cut off before its closing quote.
        let is_cut = || text == "\"" && i + 2 == layout.parts.len() && !rest.contains(&b'"');
        let is_whole = last == line.len() && (text.is_empty() || is_cut());
        let whole = is_whole.then_some((line.len(), line.len()));
        let rest = if is_whole || text.is_empty() { &[] } else { rest };
        let quoted = text.starts_with('"');
        let found = memmem::find_iter(rest, text).map(move |from| at + from);
        let found = found.filter(move |from| !(quoted && is_escaped(line, at, *from)));
        let mut over = 0;
        let found = found.filter_map(move |from| {
            let next = next.filter(|next| from + next.before.len() > over)?;
            over = next.end(line, from);
            Some((from, over))
        });
        whole.into_iter().chain(found)
    }

    /// The end of column `i`, a text, and the beginning of the next column; `None` if it ends nowhere.
    fn text(&mut self, i: usize, at: usize) -> Result<Option<(usize, usize)>, Problem> {
        let kind = |i: usize| self.layout.parts.get(i).map_or(Kind::End, |part| part.kind);
        let last = kind(i + 1) == Kind::End;
        let next = self.layout.parts.get(i + 1).map_or("", |part| part.before.as_str());
        Ok(match kind(i + 1) {
            Kind::Time => {
                self.ends(i, at, LINE).find(|(_, after)| self.time(i + 1, *after).is_some())
            }
            Kind::Address => {
                let is_address = |(_, after): &(usize, usize)| {
                    let end = self.address(i + 1, *after, LONGEST);
                    let text = end.and_then(|(end, _)| self.line.get(*after..end));
                    text.is_some_and(|text| address::parse(text).is_some())
                };
                let is_free = self.layout.names.get(i).is_some_and(|name| is_free(name));
                let space = if is_free || !self.layout.is_exact { None } else { self.space(at) };
                let ends = self.ends(i, at, LINE);
                let ends = ends.take_while(|(end, _)| space.is_none_or(|space| *end <= space));
                let mut all = ends.filter(is_address);
                let first = all.next();
                if is_free && first.is_some() && all.next().is_some() {
                    return Err("two addresses could be that of the client".into());
                }
                first.or_else(|| self.ends(i, at, LINE).next())
            }
            _ => self.ends(i, at, LINE).find(|(end, after)| {
                let text = self.line.get(at..*end).unwrap_or("");
                let is_word = self.layout.is_exact && next.is_empty();
                !last || *after == self.line.len() && !(is_word && text.contains(' '))
            }),
        })
    }

    /// The first space after `at`, apart from leading spaces: they pad a number at the right of its column.
    fn space(&self, at: usize) -> Option<usize> {
        let rest = self.line.get(at..)?;
        let padding = rest.len() - rest.trim_start().len();
        Some(at + padding + rest.get(padding..)?.find(' ')?)
    }

    /// The end of column `i`, an address of at most `most` bytes, and the beginning of the next column. If
    /// that is a port after a colon, the last colon counts, since an address may contain others.
    fn address(&self, i: usize, at: usize, most: usize) -> Option<(usize, usize)> {
        let next = self.layout.parts.get(i + 1)?;
        if next.before != ":" {
            return self.ends(i, at, most).next();
        }
        let (end, _) = self.ends(i + 1, at, LONGEST).next()?;
        let colon = at + self.line.get(at..end)?.rfind(':')?;
        Some((colon, colon + 1))
    }

    /// The time in column `i`, the end of the column, and the beginning of the next one. Of the first four
    /// possible ends the last one that gives a time counts, since a time may contain spaces.
    fn time(&mut self, i: usize, at: usize) -> Option<(Instant, usize, usize)> {
        let near: Vec<_> = self.ends(i, at, LONGEST).take(4).collect();
        near.into_iter().rev().find_map(|(end, after)| {
            let text = self.line.get(at..end)?;
            let instant = self.stamps.read(text).or_else(|| number::read(text, self.unit))?;
            Some((instant, end, after))
        })
    }

    /// The end of the texts in braces, and the beginning of the next column.
    fn braces(&self, next: &Part, at: usize) -> Option<(usize, usize)> {
        let mut end = at;
        while let Some(rest) = self.line.get(end..).filter(|rest| rest.starts_with('{'))
            && let Some(length) = rest.find("} ")
        {
            end += length + 2;
        }
        let is_next = self.line.get(end..)?.starts_with(&next.before);
        is_next.then(|| (end.saturating_sub(1).max(at), next.end(self.line, end)))
    }
}

/// Whether clients choose the text of the column with this name. For a column with a guessed name this is
/// assumed.
fn is_free(name: &str) -> bool {
    use Standard::{Agent, Forwarded, Host, Path, Referer, Request, User};
    let class = classify(name, &[]).map(|(standard, _)| standard);
    let is_guessed = name.strip_prefix('c').is_some_and(|place| place.parse::<u8>().is_ok());
    matches!(class, Some(Agent | Forwarded | Host | Path | Referer | Request | User))
        || ["http_", "cookie_", "arg_"].iter().any(|begin| name.starts_with(begin))
        || is_guessed
}

/// Whether the quote at `quote` is escaped: an odd number of backslashes precedes it.
fn is_escaped(line: &str, at: usize, quote: usize) -> bool {
    let before = line.as_bytes().get(at..quote).unwrap_or(&[]);
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

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
mod split;

pub use guess::Proposal;
pub(super) use guess::guess;
pub(super) use known::last_header;

use super::format::Reason;
use super::names::{Class, Standard, classify};
use super::stamp::{Instant, Stamps};
use super::table::{Best, Excerpt, Named, Places, Table};
use core::fmt;
use split::Split;
use std::sync::Arc;

/// The columns of lines, and the fixed texts between them. The text form is the notation of nginx's
/// `log_format` or of Apache's `LogFormat`, with or without the directive.
///
/// ```
/// use ratescope_log::{Layout, Log, Options};
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
    /// The text between columns that a header `#Fields` names. Lines that begin with `#` are then remarks about
    /// the log, and each header is for the lines up to the next.
    pub(super) between: Option<&'static str>,
}

/// The most columns of a layout.
const COLUMNS: usize = 256;

/// A fixed text, and the column after it. The last part has only a text.
#[derive(Clone, Debug)]
struct Part {
    before: String,
    kind: Kind,
    /// Whether clients choose the text of the column.
    is_free: bool,
    /// Whether the text ends with one space or more, any number of them.
    has_spaces: bool,
}

impl Part {
    /// Two spaces or more at the end of `before` stand for any number of them.
    fn new(mut before: String, kind: Kind, is_free: bool) -> Self {
        let has_spaces = before.ends_with("  ");
        if has_spaces {
            before.truncate(before.trim_end().len() + 1);
        }
        Part { before, kind, is_free, has_spaces }
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
    /// A layout of at most [`COLUMNS`] columns with the text before each, and of the text `end` after the last.
    fn new(text: &str, columns: Vec<(String, String)>, end: String) -> Self {
        let (mut parts, mut names) = (Vec::new(), Vec::new());
        let mut best = Best::default();
        for (i, (before, name)) in columns.into_iter().enumerate() {
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
            parts.push(Part::new(before, kind, is_free(&name, class)));
            names.push(name);
        }
        parts.push(Part::new(end, Kind::End, false));
        Layout {
            text: text.to_owned(),
            about: "columns".to_owned(),
            parts,
            names,
            places: best.places,
            ..Layout::default()
        }
    }

    /// Makes the last address of the X-Forwarded-For the client, since the server appends its peer to that list.
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
        self.places.fields(self.names.clone())
    }
}

/// Whether clients choose the text of the column with this name and class. For a column with a guessed name this
/// is assumed.
fn is_free(name: &str, class: Option<Class>) -> bool {
    use Standard::{Agent, Forwarded, Host, Path, Referer, Request, User};
    let is_guessed = name.strip_prefix('c').is_some_and(|place| place.parse::<u8>().is_ok());
    matches!(class, Some((Agent | Forwarded | Host | Path | Referer | Request | User, _)))
        || ["http_", "cookie_", "arg_"].iter().any(|begin| name.starts_with(begin))
        || is_guessed
}

/// Reads lines, and reuses its memory for each of them.
#[derive(Debug)]
pub(super) struct Rows {
    /// The columns of the next line.
    pub(super) layout: Arc<Layout>,
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
        outer: Option<Instant>,
    ) -> Result<Option<(Instant, Table<'a>)>, Reason> {
        let Rows { layout, values } = self;
        if let Some(between) = layout.between.filter(|_| line.starts_with('#')) {
            if let Some(named) = known::of_header(line, between) {
                *layout = named;
            }
            return Ok(None);
        }
        values.clear();
        let time = Split::new(layout, line, stamps).all(values)?;
        if layout.last_of_list {
            let place = layout.places.get(Standard::Forwarded).map(usize::from);
            let list = place.and_then(|place| values.get(place)).copied().unwrap_or(Excerpt::EMPTY);
            let text = list.text(line, "");
            let last = text.rsplit(',').next().unwrap_or(text).trim_start();
            values.push(Excerpt::of_line(list.end() - last.len(), list.end()));
        }
        let names = Named::Header(&layout.names);
        let table = Table { line, made: "", names, values, places: &layout.places };
        match time.or(outer) {
            Some(instant) => Ok(Some((instant, table))),
            None => Err("no column has a time".into()),
        }
    }
}

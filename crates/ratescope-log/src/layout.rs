//! Lines of columns, in a known, given or guessed order.
//!
//! A layout is a sequence of columns with fixed texts between them, as in nginx's `$remote_addr [$time_local]`. A
//! column ends where the next text begins. Clients choose the text of some columns, and servers don't always escape it.
//! So a column before an address or a time ends only where an address or a time follows. If clients choose the text of
//! the column, and an address could follow in several places, the line is not read.

mod notation;
mod split;

use super::counts::Reason;
use super::forwarded;
use super::instant::Instant;
use super::lines::{LONGEST, bare, text_of};
use super::names::{Class, Standard, classify};
use super::stamp::Stamps;
use super::strftime::Strftime;
use super::table::{Best, Excerpt, Places};
use core::fmt;
use memchr::{memchr, memmem, memrchr};
use ratescope::address::is_address;
use ratescope::internal::shown;
use split::Split;
use std::sync::Arc;

/// The columns of lines, and the fixed texts between them. The text form is the notation of nginx's `log_format` or of
/// Apache's `LogFormat`, with or without the directive. The form of a time may be given as for `strftime`, as in
/// `%{%d.%m.%Y %H:%M:%S}t`, or among nginx's variables as in `$remote_addr [%d.%m.%Y %H:%M:%S]`.
///
/// ```
/// use ratescope_log::{Layout, Log, Options};
///
/// let layout: Layout = r#"%h [%{sec}t] "%r" %>s"#.parse()?;
/// let options = Options { layout: Some(layout.into()), ..Options::default() };
/// let mut log = Log::open(&b"192.0.2.7 [971211336] \"GET / HTTP/1.1\" 200\n"[..], &options)?;
/// log.read(&mut |record| assert_eq!(record.time().as_secs_f64(), 971_211_336.0))?;
/// assert_eq!(log.counts().events, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The notation as it was written.
    text: String,
    pub(super) about: String,
    parts: Vec<Part>,
    pub(super) names: Vec<String>,
    pub(super) places: Places,
    /// The X-Forwarded-For with the client, if it is beside the peer's address or if no column has an address.
    pub(super) behind: Option<Behind>,
    /// The last column has no spaces, nor a column before an address unless clients choose its text. A line
    /// with more columns is then not read.
    pub(super) is_exact: bool,
    /// The text between the columns of a header `#Fields`. Lines that begin with `#` are then remarks, and each header
    /// is for the lines up to the next.
    pub(super) between: Option<&'static str>,
    pub(super) certainty: Certainty,
    /// The columns of other lines of the same log.
    pub(super) other: Option<Arc<Layout>>,
}

/// How certainly a log has a layout that reads its first lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Certainty {
    /// The layout was given, comes from a header, or has words that no other log has.
    #[default]
    Sure,
    /// The layout is a server's.
    Known,
    Guessed,
}

/// The indices of the columns with the client of a proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    list: u16,
    /// `None` if the peer is the last of the list.
    peer: Option<u16>,
}

impl Behind {
    /// The list of a line, and its peer.
    pub(super) fn of<'a>(self, line: &'a str, values: &[Excerpt]) -> (&'a str, Option<&'a str>) {
        let text = |place: u16| values.get(usize::from(place)).map(|value| value.text(line, ""));
        (text(self.list).unwrap_or(""), self.peer.and_then(text))
    }
}

/// The most columns of a layout.
const COLUMNS: usize = 256;

/// A fixed text, and the column after it. The last part has only a text.
#[derive(Clone, Debug)]
struct Part {
    before: String,
    kind: Kind,
    /// Clients choose the text of the column.
    is_free: bool,
    /// The column has no spaces: servers refuse hosts with spaces.
    is_word: bool,
    /// The text ends with spaces, one or any number.
    has_spaces: bool,
    /// The given form of a time.
    form: Option<Strftime>,
}

impl Part {
    /// Two spaces or more at the end of `before` stand for any number of them.
    fn new(mut before: String, kind: Kind, is_free: bool) -> Self {
        let has_spaces = before.ends_with("  ");
        if has_spaces {
            before.truncate(before.trim_end().len() + 1);
        }
        Part { before, kind, is_free, is_word: false, has_spaces, form: None }
    }

    /// The end of the text that begins at `from`, after all of its spaces.
    fn end(&self, line: &str, from: usize) -> usize {
        let end = from + self.before.len();
        if self.has_spaces {
            end + line.bytes().skip(end).take_while(|b| *b == b' ').count()
        } else {
            end
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Time,
    Address,
    /// Addresses, with a comma and perhaps a space between them.
    List,
    /// Texts in braces, each followed by a space.
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
    pub(super) fn new(text: &str, columns: Vec<(String, String)>, end: String) -> Self {
        let mut parts = Vec::new();
        let mut names = Vec::new();
        let mut best = Best::default();
        for (i, (before, name)) in columns.into_iter().enumerate() {
            // The notations write a form of the time after its name.
            let (name, form) = match name.strip_prefix(notation::FORMED) {
                Some(form) => ("time".to_owned(), Strftime::new(form).ok()),
                None => (name, None),
            };
            let class = classify(&name, &[]);
            let kind = match class {
                Some((Standard::Time, _)) => Kind::Time,
                Some((Standard::Ip, _)) => Kind::Address,
                Some((Standard::Forwarded, _)) => Kind::List,
                _ if name == "captures" => Kind::Braces,
                _ => Kind::Text,
            };
            if let Some(class) = class {
                best.offer(class, i as u16);
            }
            let is_word = matches!(class, Some((Standard::Host, _)));
            parts.push(Part { form, is_word, ..Part::new(before, kind, is_free(&name, class)) });
            names.push(name);
        }
        parts.push(Part::new(end, Kind::End, false));
        let mut places = best.places;
        let behind = match (places.get(Standard::Ip), places.get(Standard::Forwarded)) {
            (Some(ip), Some(list)) if ip.abs_diff(list) == 1 => {
                Some(Behind { list, peer: Some(ip) })
            }
            (None, Some(list)) => Some(Behind { list, peer: None }),
            _ => None,
        };
        if behind.is_some() {
            places.set(Standard::Ip, names.len() as u16);
            names.push("ip".to_owned());
        }
        Layout {
            text: text.to_owned(),
            about: "columns".to_owned(),
            parts,
            names,
            places,
            behind,
            ..Layout::default()
        }
    }

    pub(super) fn called(self, about: &str) -> Self {
        Layout { about: about.to_owned(), ..self }
    }

    /// The notation as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has_time(&self) -> bool {
        self.places.get(Standard::Time).is_some()
    }

    /// The names of the columns, and the standard fields found in them.
    pub(super) fn fields(&self) -> Vec<String> {
        self.places.fields(self.names.clone())
    }

    /// Finds the columns of a line and its client, and returns its time.
    pub(super) fn split(
        &self,
        line: &str,
        stamps: &mut Stamps,
        many_peers: bool,
        values: &mut Vec<Excerpt>,
    ) -> Result<Option<Instant>, Reason> {
        values.clear();
        let time = Split::new(self, line, stamps).all(values)?;
        if let Some(behind) = self.behind {
            let (list, peer) = behind.of(line, values);
            let client = if many_peers {
                peer.or(Some(forwarded::last(list).1)).filter(|text| is_address(text))
            } else {
                forwarded::client(list, peer)
            };
            values.push(client.map_or(Excerpt::EMPTY, |client| Excerpt::of_part(line, client)));
        }
        let ip = self.places.get(Standard::Ip).and_then(|place| values.get(usize::from(place)));
        let ip = ip.map_or("", |ip| ip.text(line, ""));
        if ip.is_empty() || forwarded::are_clients(ip) {
            Ok(time)
        } else {
            Err(format!("not a client: {}", shown(ip, 20)).into())
        }
    }
}

/// Tells whether clients choose the text of the column with this name and class, which is assumed for a guessed name.
fn is_free(name: &str, class: Option<Class>) -> bool {
    use Standard::{Agent, Forwarded, Host, Path, Referer, Request, User};
    let is_guessed = name.strip_prefix('c').is_some_and(|place| place.parse::<u8>().is_ok());
    matches!(class, Some((Agent | Forwarded | Host | Path | Referer | Request | User, _)))
        || ["http_", "cookie_", "arg_"].iter().any(|begin| name.starts_with(begin))
        || is_guessed
}

/// The layout of a header `#Fields: date time c-ip ...` (W3C Extended Log File Format, as IIS and CloudFront write it),
/// with the text `between` the columns; `None` for any other line. Only the first [`COLUMNS`] names count.
pub(super) fn of_header(line: &str, between: &'static str) -> Option<Arc<Layout>> {
    let names = line.strip_prefix("#Fields:")?.split_whitespace().take(COLUMNS);
    let mut columns: Vec<(String, String)> = Vec::new();
    for name in names {
        let before = if columns.is_empty() { "" } else { between };
        // The date and the time are one column with a space or a tab in it.
        match columns.last_mut() {
            Some((_, last)) if last == "date" && name == "time" => "time".clone_into(last),
            _ => columns.push((before.to_owned(), name.to_owned())),
        }
    }
    let layout = Layout::new(&format!("{line}{between}"), columns, String::new());
    let layout = layout.called("columns named by #Fields");
    Some(Arc::new(Layout { between: Some(between), is_exact: between == " ", ..layout }))
}

/// The layout of the last header in these whole lines.
pub(super) fn last_header(mut lines: &[u8], between: &'static str) -> Option<Arc<Layout>> {
    let mut shown = String::new();
    while let Some(at) = memmem::rfind(lines, b"#Fields:") {
        let (before, rest) = lines.split_at(at);
        let begin = memrchr(b'\n', before).map_or(0, |end| end + 1);
        let end = memchr(b'\n', rest).map_or(lines.len(), |end| at + end);
        let line = lines.get(begin..end).filter(|line| line.len() <= LONGEST).unwrap_or_default();
        if let Some(layout) = of_header(bare(text_of(line, &mut shown)), between) {
            return Some(layout);
        }
        lines = lines.get(..begin).unwrap_or_default();
    }
    None
}

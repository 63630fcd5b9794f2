//! The formats of logs, and how one is recognized.
//!
//! Each format looks at the first lines, one after the other, and answers yes, no or not yet. The
//! first format that says yes reads the log. So a log may begin in the middle of a line, or with
//! lines of another kind, and its beginning may arrive in any pieces.

use super::csv::Columns;
use super::options::Options;
use super::{clf, csv, exim, json, syslog};
use crate::text::{ParseError, visible};
use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;

/// A format of logs. Its text form is its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Common and Combined Log Format, `combined`.
    Combined,
    /// JSON lines, `json`.
    Json,
    /// Exim's main log, `exim`.
    Exim,
    /// `syslog`.
    Syslog,
    /// Comma-separated values, `csv`.
    Csv,
}

impl Format {
    /// All formats, in the order in which they are tried.
    pub const ALL: [Format; 5] =
        [Format::Json, Format::Combined, Format::Exim, Format::Syslog, Format::Csv];

    fn name(self) -> &'static str {
        match self {
            Format::Combined => "combined",
            Format::Json => "json",
            Format::Exim => "exim",
            Format::Syslog => "syslog",
            Format::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = Format::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            ParseError::whole(text, format!("not a format of logs; they are {names}"))
        })
    }
}

/// Why a line cannot be read.
pub(super) type Problem = Cow<'static, str>;

/// The answer of a format about a line at the beginning of a log.
#[derive(Debug)]
pub(super) enum Guess {
    Yes(Shape),
    /// Not yet, and why.
    Perhaps(Problem),
    /// Never, and why.
    No(Problem),
}

/// A format, and what the first lines of the log say about it.
#[derive(Clone, Debug)]
pub struct Shape {
    format: Format,
    about: String,
    fields: Option<Vec<String>>,
    columns: Columns,
}

impl Shape {
    pub(super) fn new(about: String, fields: Option<Vec<String>>) -> Self {
        Shape { format: Format::Combined, about, fields, columns: Columns::default() }
    }

    pub(super) fn with_columns(self, columns: Columns) -> Self {
        Shape { columns, ..self }
    }

    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether each line can be read on its own. Lines of syslog cannot: their times may have no
    /// year, and take it from the line before.
    pub fn is_divisible(&self) -> bool {
        self.format != Format::Syslog
    }

    /// The fields that its lines may have; `None` if each line may have others, as in JSON.
    pub fn fields(&self) -> Option<&[String]> {
        self.fields.as_deref()
    }
}

/// For a person: `Combined Log Format, after a column with the host`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about)
    }
}

/// The most bytes of a log that are read to recognize it.
pub const HEAD: usize = 1 << 16;

/// Recognizes a log by its beginning. `None` means that more of it is needed: then call again with a
/// longer `head`, until it has [`HEAD`] bytes or is the whole log, which `complete` says.
///
/// # Errors
/// When the log has none of the formats, is empty, or is no text.
pub fn recognize(head: &[u8], complete: bool, options: &Options) -> Result<Option<Shape>, Unknown> {
    let complete = complete && head.len() <= HEAD;
    let head = head.get(..HEAD).unwrap_or(head);
    // The last line may be incomplete.
    let whole = memchr::memrchr(b'\n', head).map_or(0, |at| at + 1);
    let end = if complete { head.len() } else { whole };
    let complete = complete || head.len() == HEAD;
    let text = String::from_utf8_lossy(head.get(..end).unwrap_or(head));
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let formats = Format::ALL.into_iter().filter(|f| options.format.is_none_or(|said| said == *f));
    let mut tried: Vec<(Format, Option<Guess>)> = formats.map(|format| (format, None)).collect();
    let lines = text.split_inclusive('\n').map(|line| line.trim_end_matches(['\r', '\n']));
    for line in lines.filter(|line| !line.trim().is_empty()) {
        for (format, answer) in &mut tried {
            if matches!(answer, Some(Guess::No(_))) {
                continue;
            }
            match guess(*format, line, options) {
                Guess::Yes(shape) => return Ok(Some(Shape { format: *format, ..shape })),
                // The error shows the first line, so the first reason is kept.
                Guess::Perhaps(_) if answer.is_some() => {}
                other => *answer = Some(other),
            }
        }
    }
    if !complete && !tried.iter().all(|(_, answer)| matches!(answer, Some(Guess::No(_)))) {
        return Ok(None);
    }
    Err(Unknown::new(head, tried))
}

fn guess(format: Format, line: &str, options: &Options) -> Guess {
    match format {
        Format::Combined => clf::guess(line),
        Format::Json => json::guess(line, &options.aliases, options.unit),
        Format::Exim => exim::guess(line),
        Format::Syslog => syslog::guess(line),
        Format::Csv => csv::guess(line, &options.aliases),
    }
}

/// The input has none of the known formats: how it begins, and why each format does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    says: String,
    is_empty: bool,
}

/// The first bytes of other kinds of files, and what to do about them.
const OTHERS: [(&[u8], &str); 9] = [
    (b"\x1f\x8b", "it is packed with gzip; unpack it first"),
    (
        b"\x28\xb5\x2f\xfd",
        "it is packed with zstd; unpack it first with zstd -d, as browsers can't, or give it to the \
         command ratescope tune",
    ),
    (b"BZh", "it is packed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "it is packed with xz; unpack it first"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"\xff\xfe", "its text is UTF-16; write it as UTF-8"),
    (b"\xfe\xff", "its text is UTF-16; write it as UTF-8"),
    (b"SQLite format 3", "it is a database"),
    (b"LPKSHHRH", "it is a journal of systemd; write it with journalctl -o short-iso"),
];

impl Unknown {
    /// Whether the input has no line with anything in it.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn new(head: &[u8], tried: Vec<(Format, Option<Guess>)>) -> Self {
        const SHOWN: usize = 60;
        let text = String::from_utf8_lossy(head);
        let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else {
            let says = "the input is empty: there is no line in it".to_owned();
            return Unknown { says, is_empty: true };
        };
        if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Unknown::of(format!("the input is no log: {what}"));
        }
        let shown = shown(line, SHOWN);
        if tried.iter().all(|(_, answer)| answer.is_none()) {
            let most = HEAD >> 10;
            return Unknown::of(format!(
                "a log is recognized by whole lines in its first {most} KiB, and its first line is \
                 longer than that\n  {shown}"
            ));
        }
        if head.contains(&0) {
            return Unknown::of(format!(
                "the input is no log but binary; it begins with\n  {shown}"
            ));
        }
        let mut says = format!("the format of the log is unknown; its first line is\n  {shown}\n");
        says += "What was tried, and why it is not that:";
        for (format, answer) in tried {
            let Some(Guess::No(why) | Guess::Perhaps(why)) = answer else { continue };
            let why = self::shown(&why, 2 * SHOWN);
            says += &format!("\n  {format}: {why}");
        }
        Unknown::of(says)
    }

    fn of(says: String) -> Self {
        Unknown { says, is_empty: false }
    }
}

/// The beginning of a text, for people.
pub(super) fn shown(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(visible).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl core::error::Error for Unknown {}

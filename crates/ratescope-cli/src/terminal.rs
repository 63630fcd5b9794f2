//! Text for people at a terminal: messages, names of inputs, and text from elsewhere made harmless.

use ratescope::{ParseError, Span};
use std::borrow::Cow;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Prints lines to standard error, and ignores a failure: the exit status still tells of an error.
pub(crate) fn say(lines: &str) {
    let _ = writeln!(Visible(io::stderr()), "{}", lines.trim_end());
}

/// Writes text for people. Characters that a terminal would obey become dots, except for line ends.
pub(crate) struct Visible<W>(pub(crate) W);

impl<W: Write> Write for Visible<W> {
    /// Writes all of `text`, since a part may end within a character.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let shown = |c| if c == '\n' { c } else { ratescope::internal::visible(c) };
        let shown: String = String::from_utf8_lossy(text).chars().map(shown).collect();
        self.0.write_all(shown.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text from elsewhere on one line, for people: line ends and characters that a terminal would obey become
/// dots.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(ratescope::internal::visible).collect()
}

/// Tells whether a terminal prints this character, and does not obey it.
pub(crate) fn is_harmless(c: char) -> bool {
    ratescope::internal::visible(c) == c
}

/// The most characters of a wrong argument that a message repeats.
pub(crate) const ECHO: usize = 200;

/// The most for an argument that may name a file: no system opens a longer path.
pub(crate) const LONGEST_PATH: usize = 4096;

/// A message may repeat a plain argument as it is.
pub(crate) fn is_plain(arg: &str) -> bool {
    arg.chars().all(is_harmless) && arg.chars().count() <= ECHO
}

/// A message in which arguments, and values behind a `=`, have at most `most` characters.
pub(crate) fn with_short(mut message: String, args: &[Cow<'_, str>], most: usize) -> String {
    let parts =
        args.iter().flat_map(|arg| [&**arg, arg.split_once('=').map_or("", |(_, value)| value)]);
    for part in parts.filter(|part| part.chars().count() > most) {
        message = message.replace(part, &cut(part, most));
    }
    message
}

/// JSON in which characters that a terminal would obey are escaped, even those that JSON need not escape. They occur
/// only in texts, and all are below U+10000.
pub(crate) fn harmless_json(json: String) -> String {
    let is_kept = |c| c == '\n' || is_harmless(c);
    if json.chars().all(is_kept) {
        return json;
    }
    let escaped = |c| if is_kept(c) { String::from(c) } else { format!("\\u{:04x}", u32::from(c)) };
    json.chars().map(escaped).collect()
}

/// The most characters of a column of limits. A longer text is printed whole, and shifts the rest of its line.
const WIDEST: usize = 60;

/// The width of a column with these texts, in characters.
pub(crate) fn column<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0).min(WIDEST)
}

/// A text for a column of this width: if it is longer, its end is a `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The name of an input, for messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// A message without the system's numbers of errors, as in `(os error 2)`.
pub(crate) fn without_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut kept = parts.next().unwrap_or("").to_owned();
    for part in parts {
        kept.push_str(
            part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(')'),
        );
    }
    kept
}

/// Reads a span longer than zero, for an argument; the error says `problem`.
pub(crate) fn above_zero(text: &str, problem: &str) -> Result<Span, ParseError> {
    match text.parse()? {
        Span::ZERO => Err(ParseError::whole(text, problem)),
        span => Ok(span),
    }
}

/// Reads a whole number of at least 1, for an argument.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("write a whole number from 1 to {}", usize::MAX)),
        Ok(n) => Ok(n),
    }
}

/// Reads an argument of the form NAME=VALUE with a name; the error says `problem`.
pub(crate) fn pair<'a>(text: &'a str, problem: &str) -> Result<(String, &'a str), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value)),
        _ => Err(problem.to_owned()),
    }
}

/// Treats a closed pipe as success: a reader such as `head` closes it early.
pub(crate) fn until_closed(result: io::Result<()>) -> Result<(), Box<dyn Error>> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

//! Numbers and times for people to read, and to write.

use std::io::{self, Write};
use std::num::ParseIntError;
use std::path::Path;

/// Prints lines to standard error. When even that cannot be written, the exit status has to do.
pub(crate) fn say(lines: &str) {
    let _ = writeln!(Visible(io::stderr()), "{}", lines.trim_end());
}

/// Writes text for people. What a terminal would obey becomes dots, except for the ends of lines.
pub(crate) struct Visible<W>(pub(crate) W);

impl<W: Write> Write for Visible<W> {
    /// Takes all of `text`, since a part of it may end within a character.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let shown = |c| if c == '\n' { c } else { ratescope::text::visible(c) };
        let shown: String = String::from_utf8_lossy(text).chars().map(shown).collect();
        self.0.write_all(shown.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text from elsewhere in one line, for people.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(ratescope::text::visible).collect()
}

/// The name of an input, for messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// A message without the numbers that the system gives its errors, as in `(os error 2)`.
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

/// Reads how many of something there may be.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it is 1 at least".to_owned()),
        read => read.map_err(|error: ParseIntError| error.to_string()),
    }
}

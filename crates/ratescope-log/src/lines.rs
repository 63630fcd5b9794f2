//! The lines of an input that comes in chunks. A line is borrowed from its chunk, unless it spans several
//! chunks.

use core::str;
use memchr::{memchr_iter, memrchr};

/// The most bytes of a line. A longer line is skipped, since all of it would have to be kept in memory.
pub const LONGEST: usize = 1 << 20;

/// The most bytes of a log by which it is recognized.
pub const HEAD: usize = 1 << 16;

/// Splits chunks into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The incomplete line at the end of the last chunk; at most [`LONGEST`] bytes.
    begun: Vec<u8>,
    /// The begun line is too long, and is skipped up to its end.
    too_long: bool,
    /// The number of lines that have ended.
    number: u64,
    /// The last line that was not UTF-8, as text.
    shown: String,
}

/// A line, or `None` if it is too long.
pub(super) type Whole<'a> = Option<&'a str>;

impl Lines {
    /// The number of lines that have begun.
    pub(super) fn number(&self) -> u64 {
        self.number + u64::from(self.too_long || !self.begun.is_empty())
    }

    /// Passes `on` every line that ends in `chunk`, with its number from 1, up to the first error.
    pub(super) fn feed<E>(
        &mut self,
        chunk: &[u8],
        on: &mut impl FnMut(u64, Whole<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(last) = memrchr(b'\n', chunk) else {
            self.keep(chunk);
            return Ok(());
        };
        let mut whole = &chunk[..=last];
        let rest = &chunk[last + 1..];
        if self.number() > self.number
            && let Some(end) = memchr::memchr(b'\n', whole)
        {
            self.keep(&whole[..end]);
            self.end(on)?;
            whole = &whole[end + 1..];
        }
        let told = self.split(whole, on);
        self.keep(rest);
        told
    }

    /// Passes `on` the last line if it does not end with a line feed.
    pub(super) fn finish<E>(
        &mut self,
        on: &mut impl FnMut(u64, Whole<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.number() > self.number { self.end(on) } else { Ok(()) }
    }

    /// Passes `on` whole lines. UTF-8 is checked once for all of them, which is faster than for each.
    fn split<E>(
        &mut self,
        whole: &[u8],
        on: &mut impl FnMut(u64, Whole<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let text = str::from_utf8(whole).ok();
        let mut from = 0;
        for end in memchr_iter(b'\n', whole) {
            self.number += 1;
            let line = match text {
                _ if end - from > LONGEST => None,
                Some(text) => text.get(from..end),
                None => Some(text_of(&whole[from..end], &mut self.shown)),
            };
            from = end + 1;
            on(self.number, line.map(bare))?;
        }
        Ok(())
    }

    /// Appends a part to the begun line.
    fn keep(&mut self, part: &[u8]) {
        self.too_long |= self.begun.len() + part.len() > LONGEST;
        if self.too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    /// Passes `on` the begun line, which has ended.
    fn end<E>(&mut self, on: &mut impl FnMut(u64, Whole<'_>) -> Result<(), E>) -> Result<(), E> {
        self.number += 1;
        let line = (!self.too_long).then(|| bare(text_of(&self.begun, &mut self.shown)));
        let told = on(self.number, line);
        self.begun.clear();
        self.too_long = false;
        told
    }
}

/// A line without a byte order mark, a carriage return and leading zero bytes, which a file has if it was truncated
/// while a program was writing to it.
#[inline]
pub(super) fn bare(line: &str) -> &str {
    let line = if line.starts_with('\0') { line.trim_start_matches('\0') } else { line };
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines of a text that are not blank.
pub(super) fn nonblank(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(bare).filter(|line| !line.trim().is_empty())
}

/// The text of lines. Bytes that are not UTF-8 are written like `\xE9`, as servers do, so that different
/// values stay different.
pub(super) fn text_of<'a>(lines: &'a [u8], shown: &'a mut String) -> &'a str {
    if let Ok(text) = str::from_utf8(lines) {
        return text;
    }
    shown.clear();
    for chunk in lines.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    shown
}

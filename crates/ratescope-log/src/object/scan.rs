//! Finds the members of an object in one pass. It also reads dropped members to their end, so that a truncated line is
//! not an event.

use super::escape;
use crate::counts::Reason;
use crate::table::Excerpt;
use memchr::memchr2;

/// The greatest depth of nested objects and lists.
const DEEPEST: usize = 32;

/// The most members that are kept, including those of inner objects.
const MOST: usize = 256;
/// The most bytes of the name of a kept member.
const LONGEST_NAME: usize = 256;

/// Finds the names and the values of the members of the object in `line`. A `null` becomes an empty value.
/// Members of an inner object are named `outer.inner`, and only the first value of a list counts. `made` receives the
/// texts that differ from the line.
pub(super) fn members(
    line: &str,
    names: &mut Vec<Excerpt>,
    values: &mut Vec<Excerpt>,
    made: &mut String,
) -> Result<(), Reason> {
    names.clear();
    values.clear();
    made.clear();
    let mut scan = Scan { line, bytes: line.as_bytes(), at: 0, names, values, made };
    scan.space();
    scan.object(Outer::None, 0)?;
    scan.space();
    if scan.at < line.len() { scan.wrong("something after the object") } else { Ok(()) }
}

struct Scan<'a> {
    line: &'a str,
    bytes: &'a [u8],
    at: usize,
    names: &'a mut Vec<Excerpt>,
    values: &'a mut Vec<Excerpt>,
    made: &'a mut String,
}

/// The place of an object in the line.
#[derive(Clone, Copy)]
enum Outer {
    /// The object is the line itself.
    None,
    /// The object is the value of the member with this name.
    Member(Excerpt),
    /// The object is in a list, or in a dropped member.
    Dropped,
}

impl Scan<'_> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips `byte` and the space around it, if it comes next; returns whether it did.
    #[inline]
    fn skip_byte(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.peek() == Some(byte);
        if there {
            self.at += 1;
            self.space();
        }
        there
    }

    /// An error at the current column, counted in bytes from 1.
    fn wrong<T>(&self, problem: &str) -> Result<T, Reason> {
        if self.at < self.line.len() {
            Err(format!("column {}: {problem}", self.at + 1).into())
        } else {
            Err(format!("the line ends too early: {problem}").into())
        }
    }

    fn object(&mut self, outer: Outer, depth: usize) -> Result<(), Reason> {
        if depth == DEEPEST {
            return self.wrong("more than 32 objects and lists in each other");
        }
        if !self.skip_byte(b'{') {
            return self.wrong("an object in braces is missing");
        }
        if self.skip_byte(b'}') {
            return Ok(());
        }
        loop {
            let kept = self.names.len();
            let made = self.made.len();
            let name = self.text("a name in quotes is missing")?;
            let name = match outer {
                _ if self.names.len() == MOST => None,
                Outer::None => Some(name).filter(|name| name.len() <= LONGEST_NAME),
                Outer::Member(outer) => self.join(outer, name),
                Outer::Dropped => None,
            };
            if !self.skip_byte(b':') {
                return self.wrong("a colon is missing");
            }
            self.value(name, depth + 1)?;
            if self.names.len() == kept {
                // Nothing refers to the texts that were made for this member.
                self.made.truncate(made);
            }
            if self.skip_byte(b'}') {
                return Ok(());
            }
            if !self.skip_byte(b',') {
                return self.wrong("a comma or a brace is missing");
            }
        }
    }

    /// Reads a list. Its first value is kept under `name`, unless it is an object or a list.
    fn list(&mut self, mut name: Option<Excerpt>, depth: usize) -> Result<(), Reason> {
        if depth == DEEPEST {
            return self.wrong("more than 32 objects and lists in each other");
        }
        if !self.skip_byte(b'[') || self.skip_byte(b']') {
            return Ok(());
        }
        loop {
            let name = name.take().filter(|_| !matches!(self.peek(), Some(b'{' | b'[')));
            self.value(name, depth + 1)?;
            if self.skip_byte(b']') {
                return Ok(());
            }
            if !self.skip_byte(b',') {
                return self.wrong("a comma or a bracket is missing");
            }
        }
    }

    /// Reads a value, and keeps it if `name` is given.
    fn value(&mut self, name: Option<Excerpt>, depth: usize) -> Result<(), Reason> {
        let value = match self.peek() {
            Some(b'"') => self.text("")?,
            Some(b'{') => return self.object(name.map_or(Outer::Dropped, Outer::Member), depth),
            Some(b'[') => return self.list(name, depth),
            _ => self.plain()?,
        };
        if let Some(name) = name {
            self.names.push(name);
            self.values.push(value);
        }
        Ok(())
    }

    /// Reads a number, `true`, `false` or `null`. Also reads `-`, which some servers write for a missing
    /// value.
    fn plain(&mut self) -> Result<Excerpt, Reason> {
        let ends = |b: &u8| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'));
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let end = self.at + rest.iter().position(ends).unwrap_or(rest.len());
        match self.bytes.get(self.at..end).unwrap_or(&[]) {
            b"null" => {
                self.at = end;
                Ok(Excerpt::EMPTY)
            }
            b"true" | b"false" | [b'-' | b'0'..=b'9', ..] => {
                let span = Excerpt::of_line(self.at, end);
                self.at = end;
                Ok(span)
            }
            _ => self.wrong("a value is missing"),
        }
    }

    /// Reads a text in quotes; `missing` is the problem if there is none.
    fn text(&mut self, missing: &str) -> Result<Excerpt, Reason> {
        if self.peek() != Some(b'"') {
            return self.wrong(missing);
        }
        let from = self.at + 1;
        let rest = self.bytes.get(from..).unwrap_or(&[]);
        let Some(length) = memchr2(b'"', b'\\', rest) else {
            self.at = self.line.len();
            return self.wrong("a quote is not closed");
        };
        self.at = from + length;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Excerpt::of_line(from, from + length));
        }
        let made = self.made.len();
        self.made.push_str(self.line.get(from..self.at).unwrap_or(""));
        match escape::unescape(&self.line[self.at..], self.made) {
            Some(length) => {
                self.at += length;
                Ok(Excerpt::of_made(made, self.made.len()))
            }
            None => {
                self.at = self.line.len();
                self.wrong("a quote is not closed")
            }
        }
    }

    /// The name of a member of an inner object; `None` if it is too long to be kept.
    fn join(&mut self, outer: Excerpt, name: Excerpt) -> Option<Excerpt> {
        if outer.len() + 1 + name.len() > LONGEST_NAME {
            return None;
        }
        let from = self.made.len();
        for (i, span) in [outer, name].into_iter().enumerate() {
            self.made.push_str(if i == 0 { "" } else { "." });
            match span.of_made_range() {
                Some(range) => self.made.extend_from_within(range),
                None => self.made.push_str(span.text(self.line, "")),
            }
        }
        Some(Excerpt::of_made(from, self.made.len()))
    }
}

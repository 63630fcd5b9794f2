//! Splitting a line into the columns of its layout.

use super::{Kind, Layout, Part};
use crate::counts::Reason;
use crate::instant::Instant;
use crate::stamp::Stamps;
use crate::table::Excerpt;
use memchr::memmem;
use ratescope::address;
use ratescope::internal::shown;

/// Splits a line into columns.
pub(super) struct Split<'a, 'b> {
    layout: &'a Layout,
    line: &'a str,
    stamps: &'b mut Stamps,
    /// How many more ends of columns may be tried as the beginning of an address.
    left: usize,
}

/// The most bytes of a time or an address, with zone or port, and of the quoted rest of a line.
const LONGEST: usize = 64;
const LINE: usize = usize::MAX;

impl<'a, 'b> Split<'a, 'b> {
    pub(super) fn new(layout: &'a Layout, line: &'a str, stamps: &'b mut Stamps) -> Self {
        // A column before an address may end anywhere. Without a bound, each of many such columns would search the
        // whole line.
        Split { layout, line, stamps, left: 4 * line.len() + 64 }
    }

    /// Finds the columns of the line; returns the time from the first column that has one.
    pub(super) fn all(mut self, values: &mut Vec<Excerpt>) -> Result<Option<Instant>, Reason> {
        let line = self.line;
        let parts = &self.layout.parts;
        let first = parts.first().map_or("", |part| part.before.as_str());
        if !line.starts_with(first) {
            return Err(format!("it does not begin with {first}").into());
        }
        let mut at = first.len();
        let mut time = None;
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
        if at == line.len() {
            Ok(time)
        } else {
            Err(format!("column {}: more than the columns", at + 1).into())
        }
    }

    fn missing(&self, next: &Part, at: usize) -> Reason {
        match next.before.as_str() {
            "" => format!("column {}: too long", at + 1).into(),
            text => format!("no {text} after column {}, but {}", at + 1, self.near(at)).into(),
        }
    }

    /// The beginning of the text at `at`, to be quoted in a message.
    fn near(&self, at: usize) -> String {
        match self.line.get(at..) {
            None | Some("") => "the end of the line".to_owned(),
            Some(rest) => shown(rest, 20),
        }
    }

    /// Where column `i`, which begins at `at`, may end: each possible end, and the end of the fixed text after it. At
    /// most `most` bytes of the line are searched.
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
        // A column without a text after it extends to the end of the line. So does a quoted last column if the line was
        // cut before the closing quote.
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
    fn text(&mut self, i: usize, at: usize) -> Result<Option<(usize, usize)>, Reason> {
        let kind = |i: usize| self.layout.parts.get(i).map_or(Kind::End, |part| part.kind);
        let last = kind(i + 1) == Kind::End;
        let is_list = kind(i) == Kind::List;
        let next = self.layout.parts.get(i + 1).map_or("", |part| part.before.as_str());
        Ok(match kind(i + 1) {
            Kind::Time => {
                self.ends(i, at, LINE).find(|(_, after)| self.time(i + 1, *after).is_some())
            }
            Kind::Address => {
                let is_address = |(_, after): &(usize, usize)| {
                    if self.is_space(*after) {
                        return false;
                    }
                    let end = self.address(i + 1, *after, LONGEST);
                    let text = end.and_then(|(end, _)| self.line.get(*after..end));
                    text.is_some_and(address::is_address)
                };
                let part = self.layout.parts.get(i);
                let is_free = part.is_some_and(|part| part.is_free);
                let is_word =
                    part.is_some_and(|part| part.is_word) || self.layout.is_exact && !is_free;
                let space = if is_word { self.space(at) } else { None };
                let ends = self.ends(i, at, LINE);
                let ends = ends.take_while(|(end, _)| space.is_none_or(|space| *end <= space));
                let mut left = self.left;
                let ends = ends.take_while(|_| {
                    left -= 1;
                    left > 0
                });
                let mut all = ends.filter(is_address);
                let first = all.next();
                if is_free && first.is_some() && all.next().is_some() {
                    return Err("two addresses could be the client's".into());
                }
                drop(all);
                if left == 0 {
                    return Err("too many places where an address could begin".into());
                }
                self.left = left;
                first.or_else(|| self.ends(i, at, LINE).next())
            }
            _ => self.ends(i, at, LINE).find(|(end, after)| {
                let text = self.line.get(at..*end).unwrap_or("");
                let is_word = self.layout.is_exact && next.is_empty();
                if is_list && text.ends_with(',') {
                    return false;
                }
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

    /// Finds a space at `at`. Times and addresses do not begin with a space, so of several spaces only the last is
    /// tried.
    fn is_space(&self, at: usize) -> bool {
        self.line.as_bytes().get(at) == Some(&b' ')
    }

    /// The end of column `i`, an address of at most `most` bytes, and the beginning of the next column. If the next
    /// column is a port after a colon, the last colon counts, since an address may contain others.
    fn address(&self, i: usize, at: usize, most: usize) -> Option<(usize, usize)> {
        let next = self.layout.parts.get(i + 1)?;
        if next.before != ":" {
            // A comma is within a list of addresses.
            let is_end = |(end, _): &(usize, usize)| {
                self.line.as_bytes().get(end.wrapping_sub(1)) != Some(&b',')
            };
            return self.ends(i, at, most).find(is_end);
        }
        let (end, _) = self.ends(i + 1, at, LONGEST).next()?;
        let colon = at + self.line.get(at..end)?.rfind(':')?;
        Some((colon, colon + 1))
    }

    /// The time in column `i`, the end of the column, and the beginning of the next. Of the first four possible ends,
    /// the last that gives a time counts, since a time may contain spaces.
    fn time(&mut self, i: usize, at: usize) -> Option<(Instant, usize, usize)> {
        let part = self.layout.parts.get(i)?;
        let next = self.layout.parts.get(i + 1)?;
        if let Some(form) = &part.form {
            let (instant, length) = form.read(self.line.get(at..)?, self.stamps)?;
            let end = at + length;
            let rest = self.line.get(at + length..)?;
            return rest
                .starts_with(&next.before)
                .then(|| (instant, end, next.end(self.line, end)));
        }
        if self.is_space(at) {
            return None;
        }
        let near: Vec<_> = self.ends(i, at, LONGEST).take(4).collect();
        near.into_iter().rev().find_map(|(end, after)| {
            let text = self.line.get(at..end)?;
            Some((self.stamps.read_any(text)?, end, after))
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

/// A quote is escaped if an odd number of backslashes precedes it, from `at` on.
fn is_escaped(line: &str, at: usize, quote: usize) -> bool {
    let before = line.as_bytes().get(at..quote).unwrap_or(&[]);
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

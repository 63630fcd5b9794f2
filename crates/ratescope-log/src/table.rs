//! Lines of named values, as in JSON, CSV and columns.

use super::forwarded;
use super::names::{Class, STANDARDS, Standard, standards};
use super::record::Values;
use core::ops::Range;

/// A part of the line, or of the text made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    from: u32,
    to: u32,
    made: bool,
}

impl Excerpt {
    pub(super) const EMPTY: Excerpt = Excerpt { from: 0, to: 0, made: false };

    // Lines and the texts made from them are far shorter than 4 GiB.
    pub(super) fn of_line(from: usize, to: usize) -> Self {
        Excerpt { from: from as u32, to: to as u32, made: false }
    }

    pub(super) fn of_made(from: usize, to: usize) -> Self {
        Excerpt { from: from as u32, to: to as u32, made: true }
    }

    pub(super) fn of_part(line: &str, part: &str) -> Self {
        let from = part.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
        Excerpt::of_line(from, from + part.len())
    }

    pub(super) fn len(self) -> usize {
        (self.to - self.from) as usize
    }

    /// The range in the made text, or `None` if it is a part of the line.
    pub(super) fn of_made_range(self) -> Option<Range<usize>> {
        self.made.then_some(self.from as usize..self.to as usize)
    }

    #[inline]
    pub(super) fn text<'a>(self, line: &'a str, made: &'a str) -> &'a str {
        let text = if self.made { made } else { line };
        text.get(self.from as usize..self.to as usize).unwrap_or("")
    }
}

/// A number for each standard field, such as the index of its value; `u16::MAX` for none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Places([u16; STANDARDS]);

impl Places {
    #[inline]
    pub(super) fn get(&self, standard: Standard) -> Option<u16> {
        self.0.get(standard as usize).copied().filter(|place| *place != u16::MAX)
    }

    /// These fields of a line and its standard fields, without the time.
    pub(super) fn fields(&self, mut fields: Vec<String>) -> Vec<String> {
        let has_request = self.get(Standard::Request).is_some();
        let is_found = |standard: &Standard| match standard {
            Standard::Time => false,
            Standard::Method | Standard::Path if has_request => true,
            standard => self.get(*standard).is_some(),
        };
        for standard in standards().filter(is_found) {
            if !fields.iter().any(|field| field == standard.name()) {
                fields.push(standard.name().to_owned());
            }
        }
        fields
    }

    #[inline]
    pub(super) fn set(&mut self, standard: Standard, place: u16) {
        if let Some(known) = self.0.get_mut(standard as usize) {
            *known = place;
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Places([u16::MAX; STANDARDS])
    }
}

/// The best field for each standard field, by the ranks of their names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Best {
    pub(super) places: Places,
    ranks: Places,
}

impl Best {
    /// Takes the field at `place` for the standard field of its class, unless an earlier one has a better or equal
    /// rank.
    #[inline]
    pub(super) fn offer(&mut self, (standard, rank): Class, place: u16) {
        if self.ranks.get(standard).is_none_or(|best| u16::from(rank) < best) {
            self.ranks.set(standard, rank.into());
            self.places.set(standard, place);
        }
    }
}

/// The values of a line and their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    pub(super) line: &'a str,
    pub(super) made: &'a str,
    pub(super) names: Named<'a>,
    pub(super) values: &'a [Excerpt],
    /// The indices of the values of the standard fields.
    pub(super) places: &'a Places,
}

/// The names, in the order of the values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named<'a> {
    OfLine(&'a [Excerpt]),
    Header(&'a [String]),
}

impl Values for Table<'_> {
    /// If a name occurs twice, its first value counts.
    fn value(&self, name: &str) -> Option<&str> {
        match Standard::from_name(name) {
            Some(standard) => self.standard(standard),
            None => self.at((0..self.values.len()).find(|at| self.name(*at) == Some(name))?),
        }
    }

    /// The method and the path may also come from the request line.
    fn standard(&self, standard: Standard) -> Option<&str> {
        self.of(standard)
    }

    fn is_placed(&self, name: &str) -> bool {
        Standard::from_name(name).is_some()
    }

    fn named(&self, at: usize) -> Option<(&str, &str)> {
        Some((self.name(at)?, self.at(at)?))
    }
}

impl<'a> Table<'a> {
    /// The value of a standard field. The method and the path may also come from the request line.
    pub(super) fn of(&self, standard: Standard) -> Option<&'a str> {
        if let Some(place) = self.places.get(standard) {
            let text = self.at(place.into()).filter(|text| *text != "-")?;
            return match standard {
                Standard::Ip if forwarded::is_list(text) => forwarded::client(text, None),
                // A line may begin with a space.
                Standard::Ip => Some(text.trim_ascii_start()).filter(|text| !text.is_empty()),
                _ => Some(text),
            };
        }
        let request = self.places.get(Standard::Request).and_then(|place| self.at(place.into()))?;
        match standard {
            Standard::Method => super::request::method(request),
            Standard::Path => super::request::target(request),
            _ => None,
        }
    }

    /// The name in this line of a standard field.
    pub(super) fn name_of(&self, standard: Standard) -> Option<&'a str> {
        self.name(self.places.get(standard)?.into())
    }

    fn name(&self, at: usize) -> Option<&'a str> {
        match self.names {
            Named::OfLine(names) => names.get(at).map(|name| name.text(self.line, self.made)),
            Named::Header(names) => names.get(at).map(String::as_str),
        }
    }

    fn at(&self, at: usize) -> Option<&'a str> {
        self.values.get(at).map(|value| value.text(self.line, self.made))
    }
}

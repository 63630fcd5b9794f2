//! A dictionary of texts: an event keeps the numbers of its path and its agent, its labels, instead of the texts.

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use ratescope::internal::beginning;

/// The numbers of the labels of an event: of its path and of its agent.
pub type Codes = [u16; 2];

/// The number that stands for no text.
const NONE: u16 = 0;

/// The number of all texts for which there is no room.
const OTHERS: u16 = 1;

/// The most kept bytes of a text; the other bytes for each text, for its place in the set and in memory and for the
/// number of its requests; and the most bytes of all texts.
const LONGEST: usize = 200;
const BESIDE: usize = 56;
pub(super) const MOST: usize = 4 << 20;

/// Up to 65,534 texts with their numbers, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Dictionary {
    texts: IndexSet<Box<str>, RandomState>,
    /// The bytes of all texts, and the most that they may have.
    bytes: usize,
    most: usize,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary::new(MOST)
    }
}

impl Dictionary {
    /// No texts yet, with room for `most` bytes of them.
    pub(super) fn new(most: usize) -> Self {
        Dictionary { texts: IndexSet::default(), bytes: 0, most }
    }

    /// The number of a text. A new text is added if there is room; otherwise its number is that of all other texts.
    /// Texts with the same first 200 bytes count as one.
    #[inline]
    pub fn code(&mut self, text: Option<&str>) -> u16 {
        let Some(text) = text else { return NONE };
        let text = beginning(text, LONGEST);
        match self.texts.get_index_of(text) {
            Some(place) => (place + 2) as u16,
            None => self.add(text),
        }
    }

    #[cold]
    fn add(&mut self, text: &str) -> u16 {
        let code = u16::try_from(self.codes()).ok();
        let Some(code) = code.filter(|_| self.bytes() + text.len() + BESIDE <= self.most) else {
            return OTHERS;
        };
        self.bytes += text.len();
        self.texts.insert(text.into());
        code
    }

    fn text(&self, code: u16) -> Option<&str> {
        let place = usize::from(code).checked_sub(2)?;
        self.texts.get_index(place).map(|text| &**text)
    }

    /// The number of the text with the number `code` in `from`. A new text is added, as by [`code`](Self::code).
    pub fn translated(&mut self, from: &Dictionary, code: u16) -> u16 {
        if code == OTHERS { OTHERS } else { self.code(from.text(code)) }
    }

    /// One more than the highest number in use.
    pub fn codes(&self) -> usize {
        self.texts.len() + 2
    }

    /// The bytes of all texts and of their set.
    pub fn bytes(&self) -> usize {
        self.bytes + self.texts.len() * BESIDE
    }

    /// The text with a number, for people.
    pub fn shown(&self, code: u16) -> &str {
        match code {
            NONE => "(none)",
            OTHERS => "others",
            _ => self.text(code).unwrap_or(""),
        }
    }
}

/// All paths, or all agents, and the number of events with each.
#[derive(Clone, Debug, Default)]
pub(in crate::tune) struct Labels {
    pub(in crate::tune) texts: Dictionary,
    pub(in crate::tune) requests: Vec<u64>,
}

impl Labels {
    pub(super) fn count(&mut self, code: u16, n: u64) {
        let place = usize::from(code);
        if place >= self.requests.len() {
            self.requests.resize(place + 1, 0);
        }
        if let Some(requests) = self.requests.get_mut(place) {
            *requests += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_numbers_until_there_is_no_room() {
        let mut all = Dictionary::default();
        let long = "é".repeat(300);
        let codes = [None, Some("/a"), Some(""), Some("/a"), Some(&long), Some(&long[..250])];
        assert_eq!(codes.map(|text| all.code(text)), [0, 2, 3, 2, 4, 4]);
        assert_eq!(
            [0, 1, 2, 4].map(|code| all.shown(code)),
            ["(none)", "others", "/a", &long[..200]]
        );
        for n in 0..70_000 {
            all.code(Some(&n.to_string()));
        }
        assert_eq!((all.codes(), all.code(Some("new")), all.code(Some("9"))), (65_536, 1, 14));
        let mut other = Dictionary::default();
        assert_eq!([0, 1, 2, 14].map(|code| other.translated(&all, code)), [0, 1, 2, 3]);
        assert_eq!((other.shown(3), all.shown(u16::MAX)), ("9", "65530"));
    }

    /// The set of many short texts takes more than the texts.
    #[test]
    fn the_room_is_for_all_of_a_text() {
        let mut all = Dictionary::new(1 << 16);
        let texts = (0..u16::MAX).map(|n| format!("{n:05}"));
        let added = texts.filter(|text| all.code(Some(text)) != OTHERS).count();
        assert_eq!((added, all.bytes()), ((1 << 16) / 61, 1074 * 61));
    }
}

//! A dictionary of texts: an event keeps the numbers of its path and its agent, its labels, instead of the texts.

use core::hash::{BuildHasher, Hasher};
use core::ops::Range;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use ratescope::internal::beginning;

/// The numbers of the labels of an event: of its path and of its agent.
pub type Codes = [u16; 2];

/// The number that stands for no text.
const NONE: u16 = 0;

/// The number of all texts for which there is no room.
const OTHERS: u16 = 1;

/// The most kept bytes of a text; the other bytes for each text, for its end, its place in the table and the number of
/// its requests; and the most bytes of all texts.
const LONGEST: usize = 200;
const BESIDE: usize = 18;
pub(super) const MOST: usize = 4 << 20;

/// Up to 65,534 texts with their numbers, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Dictionary {
    texts: String,
    /// The most bytes of all texts.
    most: usize,
    /// The end of each text.
    ends: Vec<u32>,
    table: HashTable<u16>,
    hasher: RandomState,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary::new(MOST)
    }
}

impl Dictionary {
    /// No texts yet, with room for `most` bytes of them.
    pub(super) fn new(most: usize) -> Self {
        Dictionary {
            texts: String::new(),
            most,
            ends: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::default(),
        }
    }

    /// The number of a text. A new text is added if there is room; otherwise its number is that of all other texts.
    /// Texts with the same first 200 bytes count as one.
    #[inline]
    pub fn code(&mut self, text: Option<&str>) -> u16 {
        let Some(text) = text else { return NONE };
        let text = beginning(text, LONGEST);
        let bytes = self.texts.as_bytes();
        let hash = hash(&self.hasher, text);
        let found = self.table.find(hash, |code| {
            let place = place(&self.ends, *code);
            place.and_then(|place| bytes.get(place)).is_some_and(|one| same(one, text.as_bytes()))
        });
        found.copied().unwrap_or_else(|| self.add(hash, text))
    }

    #[cold]
    fn add(&mut self, hash: u64, text: &str) -> u16 {
        let code = u16::try_from(self.codes()).ok();
        let Some(code) = code.filter(|_| self.bytes() + text.len() + BESIDE <= self.most) else {
            return OTHERS;
        };
        self.texts.push_str(text);
        self.ends.push(self.texts.len() as u32);
        let texts = &self.texts;
        let ends = &self.ends;
        let hasher = &self.hasher;
        let rehash = |code: &u16| self::hash(hasher, text_of(texts, ends, *code).unwrap_or(""));
        self.table.insert_unique(hash, code, rehash);
        code
    }

    /// The number of the text with the number `code` in `from`. A new text is added, as by [`code`](Self::code).
    pub fn translated(&mut self, from: &Dictionary, code: u16) -> u16 {
        if code == OTHERS { OTHERS } else { self.code(text_of(&from.texts, &from.ends, code)) }
    }

    /// One more than the highest number in use.
    pub fn codes(&self) -> usize {
        self.ends.len() + 2
    }

    /// The bytes of all texts and of their tables.
    pub fn bytes(&self) -> usize {
        self.texts.len() + self.ends.len() * BESIDE
    }

    /// The text with a number, for people.
    pub fn shown(&self, code: u16) -> &str {
        match code {
            NONE => "(none)",
            OTHERS => "others",
            _ => text_of(&self.texts, &self.ends, code).unwrap_or(""),
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

/// The hash of the bytes alone. The hash of a slice or a `str` would include its length or an end mark.
#[inline]
fn hash(hasher: &RandomState, text: &str) -> u64 {
    let mut hash = hasher.build_hasher();
    hash.write(text.as_bytes());
    hash.finish()
}

/// Compares two texts eight bytes at a time on wasm32, where `==` would compare byte by byte.
#[inline]
fn same(one: &[u8], other: &[u8]) -> bool {
    if cfg!(not(any(test, target_arch = "wasm32"))) {
        return one == other;
    }
    let (words, rest) = one.as_chunks::<8>();
    let (others, other_rest) = other.as_chunks::<8>();
    one.len() == other.len()
        && words.iter().zip(others).all(|(a, b)| u64::from_ne_bytes(*a) == u64::from_ne_bytes(*b))
        && rest.iter().zip(other_rest).all(|(a, b)| a == b)
}

/// The range of the text with a number; `None` if there is none.
#[inline]
fn place(ends: &[u32], code: u16) -> Option<Range<usize>> {
    let place = usize::from(code).checked_sub(2)?;
    let from = place.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
    Some(from as usize..*ends.get(place)? as usize)
}

/// The text with a number; `None` if there is none.
#[inline]
fn text_of<'a>(texts: &'a str, ends: &[u32], code: u16) -> Option<&'a str> {
    texts.get(place(ends, code)?)
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

    #[test]
    fn texts_are_equal_in_each_of_their_bytes() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            assert!(same(&text, &text.clone()) && !same(&text, &[&text[..], b"a"].concat()));
            for at in 0..length {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!same(&text, &other), "byte {at} of {length}");
            }
        }
    }

    /// The tables of many short texts take more than the texts.
    #[test]
    fn the_room_is_for_all_of_a_text() {
        let mut all = Dictionary::new(1 << 16);
        let texts = (0..u16::MAX).map(|n| format!("{n:05}"));
        let added = texts.filter(|text| all.code(Some(text)) != OTHERS).count();
        assert_eq!((added, all.bytes()), ((1 << 16) / 23, 2849 * 23));
    }
}

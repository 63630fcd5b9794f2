//! Reading a text word by word; each word keeps its position in the text.

use super::ParseError;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

/// The words of a text that have not been read yet.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
}

/// A word and the byte offset at which it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word<'a> {
    /// The word itself.
    pub text: &'a str,
    /// The byte at which it begins.
    pub from: usize,
}

impl Word<'_> {
    /// True if the word equals `word`, in any ASCII case.
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

impl<'a> Words<'a> {
    /// The words of `text`, split at white space.
    pub fn new(text: &'a str) -> Self {
        let mut from = 0;
        let mut words = Vec::new();
        for word in text.split_inclusive(char::is_whitespace) {
            words.push(Word { text: word.trim_end(), from });
            from += word.len();
        }
        words.retain(|word| !word.text.is_empty());
        Words { text, words }
    }

    /// All words that are left.
    pub fn all(self) -> Vec<Word<'a>> {
        self.words
    }

    /// The words that have not been read yet.
    pub fn rest(&self) -> &[Word<'a>] {
        &self.words
    }

    /// Removes the next word and returns it.
    pub fn next_word(&mut self) -> Option<Word<'a>> {
        self.take(0, 1)
    }

    /// Removes the next `count` words, at least one, and returns them as one word.
    pub fn next_few(&mut self, count: usize) -> Option<Word<'a>> {
        self.take(0, count)
    }

    /// Removes `count` words, at least one, from index `at` on, and returns them as one word. `None`, and no
    /// change, if there are fewer.
    fn take(&mut self, at: usize, count: usize) -> Option<Word<'a>> {
        let (first, last) = (*self.words.get(at)?, *self.words.get(at + count.max(1) - 1)?);
        self.words.drain(at..at + count.max(1));
        let text = self.text.get(first.from..last.from + last.text.len())?;
        Some(Word { text, from: first.from })
    }

    /// Removes the first word that is one of `names`, and returns it.
    pub fn flag(&mut self, names: &[&str]) -> Option<Word<'a>> {
        let is_one = |word: &Word<'_>| names.iter().any(|name| word.is(name));
        let at = self.words.iter().position(is_one)?;
        self.take(at, 1)
    }

    /// Removes the word `name` and its value, the next word, and returns the value; `None` if there is no word `name`.
    ///
    /// # Errors
    /// When nothing follows the name.
    pub fn option(&mut self, name: &str) -> Result<Option<Word<'a>>, ParseError> {
        self.option_of(name, |_| 1)
    }

    /// As [`option`](Self::option), for a value of several words: `count` gets the words after the name, and returns
    /// how many of them belong to the value.
    pub fn option_of(
        &mut self,
        name: &str,
        count: impl Fn(&[Word<'a>]) -> usize,
    ) -> Result<Option<Word<'a>>, ParseError> {
        let Some(at) = self.words.iter().position(|word| word.is(name)) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        let count = count(self.words.get(at..).unwrap_or_default());
        match self.take(at, count) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong(
                word,
                format!("a value is missing after {name}; write one, or leave {name} out"),
            )),
        }
    }

    /// Reads `word` as a `T`.
    pub fn read<T: FromStr<Err = ParseError>>(&self, word: Word) -> Result<T, ParseError> {
        word.text.parse().map_err(|e: ParseError| e.inside(self.text, word.from))
    }

    /// An error about `word`.
    pub fn wrong(&self, word: Word, problem: impl Into<String>) -> ParseError {
        ParseError::new(self.text, word.from..word.from + word.text.len(), problem)
    }

    /// An error at the end of the text, where a word is missing.
    pub fn missing(&self, problem: impl Into<String>) -> ParseError {
        let end = self.text.trim_end().len();
        ParseError::new(self.text, end..end, problem)
    }
}

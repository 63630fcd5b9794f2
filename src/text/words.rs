//! Reading a text word by word; every word knows its position.

use super::ParseError;
use core::str::FromStr;

/// The words of a text that have not been read yet.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
}

/// A word and the byte at which it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) from: usize,
}

impl<'a> Words<'a> {
    /// The words of `text`, which is split at white space.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut from = 0;
        let mut words = Vec::new();
        for word in text.split_inclusive(char::is_whitespace) {
            words.push(Word { text: word.trim_end(), from });
            from += word.len();
        }
        words.retain(|word| !word.text.is_empty());
        Words { text, words }
    }

    pub(crate) fn all(self) -> Vec<Word<'a>> {
        self.words
    }

    /// The next word; it is not removed.
    pub(crate) fn peek(&self) -> Option<Word<'a>> {
        self.words.first().copied()
    }

    /// Removes the next word.
    pub(crate) fn next(&mut self) -> Option<Word<'a>> {
        (!self.words.is_empty()).then(|| self.words.remove(0))
    }

    /// Removes the first word that is one of `names`.
    pub(crate) fn flag(&mut self, names: &[&str]) -> Option<Word<'a>> {
        let at = self.words.iter().position(|word| names.contains(&word.text))?;
        Some(self.words.remove(at))
    }

    /// Removes the word `name` and the word after it, and returns the latter.
    ///
    /// # Errors
    /// When nothing follows the name.
    pub(crate) fn option(&mut self, name: &str) -> Result<Option<Word<'a>>, ParseError> {
        let Some(at) = self.words.iter().position(|word| word.text == name) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        if at < self.words.len() {
            Ok(Some(self.words.remove(at)))
        } else {
            Err(self.wrong(word, format!("a value is missing after {name}")))
        }
    }

    /// Reads `word` as a `T`.
    pub(crate) fn read<T: FromStr<Err = ParseError>>(&self, word: Word) -> Result<T, ParseError> {
        word.text.parse().map_err(|e: ParseError| e.inside(self.text, word.from))
    }

    /// An error about `word`.
    pub(crate) fn wrong(&self, word: Word, problem: impl Into<String>) -> ParseError {
        ParseError::new(self.text, word.from..word.from + word.text.len(), problem)
    }

    /// An error at the end of the text, about a word that is missing there.
    pub(crate) fn missing(&self, problem: impl Into<String>) -> ParseError {
        let end = self.text.trim_end().len();
        ParseError::new(self.text, end..end, problem)
    }
}

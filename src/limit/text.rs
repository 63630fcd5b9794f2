//! Reads the text forms of the limiters. Each limiter reads and writes its own words.

use super::any::{self, AnyLimiter, FORMS};
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError, Word, Words, count};
use crate::time::Span;

/// The text form of one limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The first word.
    pub name: &'static str,
    /// The words after it; those in brackets are optional.
    pub words: &'static str,
    /// An example that can be read.
    pub example: &'static str,
    /// When an event passes, and the defaults of the optional words.
    pub about: &'static str,
}

/// Reads a limiter. A limiter without a rate gets the rate `default`, if there is one.
pub(super) fn read(text: &str, default: Option<Rate>) -> Result<AnyLimiter, ParseError> {
    let mut words = Words::new(text);
    let Some(first) = words.peek() else {
        return Err(ParseError::whole(text, format!("a limiter is missing; {}", names())));
    };
    // As in Carlson's lists of limits, a rate without a name is a fixed window, or a sliding one if a
    // precision follows.
    let is_bare = first.text.contains('/');
    let name = match is_bare {
        false => words.next().map_or("", |word| word.text),
        true if text.split_whitespace().any(|word| word == "precision") => "sliding-window",
        true => "fixed-window",
    };
    let Some(form) = FORMS.iter().find(|form| form.name == name) else {
        return Err(words.wrong(first, format!("not a limiter; {}", names())));
    };
    let mut given = Given { words, default, form, is_bare, rate: first, values: Vec::new() };
    let limiter = match any::read(form, &mut given) {
        Ok(limiter) => Ok(limiter),
        Err(Unread::Number(error)) => Err(given.blame(error)),
        Err(Unread::Word(error)) => return Err(error),
    };
    // A word that is left over comes first: it may be why the number is out of range.
    given.finish()?;
    limiter
}

fn names() -> String {
    let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
    format!("write one of {}, or a rate such as 10/1m", names.join(", "))
}

/// The words after the name of a limiter.
pub(super) struct Given<'a> {
    words: Words<'a>,
    /// The rate of a limiter that names none.
    default: Option<Rate>,
    form: &'static Form,
    /// Whether the rate stands alone, without the name of the limiter.
    is_bare: bool,
    /// The word of the rate; the name of the limiter if the rate is the default.
    rate: Word<'a>,
    /// The other words that numbers were read from, and what they are called.
    values: Vec<(&'static str, Word<'a>)>,
}

/// Why a limiter cannot be read.
pub(super) enum Unread {
    /// A word is wrong.
    Word(ParseError),
    /// A number is out of range; [`Given::blame`] finds the word that it was read from.
    Number(BadNumber),
}

impl From<ParseError> for Unread {
    fn from(error: ParseError) -> Self {
        Unread::Word(error)
    }
}

impl From<BadNumber> for Unread {
    fn from(error: BadNumber) -> Self {
        Unread::Number(error)
    }
}

impl<'a> Given<'a> {
    /// The rate right after the name, or the default.
    pub(super) fn rate(&mut self) -> Result<Rate, ParseError> {
        match (self.words.peek().filter(|word| word.text.contains('/')), self.default) {
            (None, Some(default)) => Ok(default),
            _ => {
                let Some(word) = self.words.next() else { return Err(self.missing("a rate")) };
                self.rate = word;
                self.words.read(word)
            }
        }
    }

    /// The next word, which is called `name`.
    pub(super) fn next(&mut self, name: &'static str) -> Result<Word<'a>, ParseError> {
        let Some(word) = self.words.next() else {
            return Err(self.missing(&format!("the {name}")));
        };
        self.values.push((name, word));
        Ok(word)
    }

    /// Removes the first word that is one of `names`.
    pub(super) fn flag(&mut self, names: &[&str]) -> Option<Word<'a>> {
        self.words.flag(names)
    }

    /// The value of an option, if it is there.
    pub(super) fn value(&mut self, name: &'static str) -> Result<Option<Word<'a>>, ParseError> {
        let value = self.words.option(name)?;
        self.values.extend(value.map(|word| (name, word)));
        Ok(value)
    }

    pub(super) fn span(&mut self, name: &'static str) -> Result<Option<Span>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        self.words.read(word).map(Some)
    }

    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<f64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let help = "not a number; write digits such as 20, 0.5 or 300k";
        count(word.text).map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// A number of events as servers write it: a whole number from 1.
    pub(super) fn whole(&mut self, name: &'static str) -> Result<Option<u64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.text.parse().ok().filter(|number| digits && *number > 0);
        let help = "not a whole number from 1; write digits such as 20";
        number.map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// An error at the end, about something that is missing there.
    pub(super) fn missing(&self, what: &str) -> ParseError {
        self.words.missing(format!("{what} is missing; {}", self.help()))
    }

    /// An error about a word.
    pub(super) fn wrong(&self, word: Word<'_>, problem: &str) -> ParseError {
        self.words.wrong(word, problem)
    }

    /// How the limiter is written.
    pub(super) fn help(&self) -> String {
        let Form { name, words, example, .. } = self.form;
        match self.is_bare {
            true => "write a rate and perhaps a precision, such as 240/1h precision 1m".to_owned(),
            false => format!("write {name} {words}, such as {example}"),
        }
    }

    /// The error about a number, at the word that it was read from.
    fn blame(&self, error: BadNumber) -> ParseError {
        let named = self.values.iter().find(|(name, _)| error.what.ends_with(name));
        let word = named.map_or(self.rate, |(_, word)| *word);
        self.words.wrong(word, error.to_string())
    }

    /// Refuses words that are left over.
    fn finish(&mut self) -> Result<(), ParseError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.words.wrong(word, format!("not read; {}", self.help()))),
        }
    }
}

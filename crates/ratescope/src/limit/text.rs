//! Reads the text forms of the limiters. Each limiter reads and writes its own words. Other common spellings than the
//! written form are read, too, such as `GCRA 100 per minute` and `token bucket 5r/s`.

use super::any::{self, AnyLimiter, FORMS};
use crate::rate::{Rate, is_noun};
use crate::text::{BadNumber, ParseError, SHORT, Word, Words, count, number};
use crate::time::{Span, unit};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The text form of one limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
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
    let Some(first) = words.rest().first().copied() else {
        return Err(ParseError::whole(text, format!("a limiter is missing; {HELP}")));
    };
    // As in Carlson's lists of limits, a rate without a name is a fixed window, or a sliding one if a
    // precision follows.
    let is_bare = first.text.contains('/') || rate_words(words.rest()) > 0;
    let form = if is_bare {
        let has_precision = words.rest().iter().any(|word| word.is("precision"));
        let name = if has_precision { "sliding-window" } else { "fixed-window" };
        FORMS.iter().find(|form| form.name == name)
    } else {
        name(words.rest()).map(|(form, count)| {
            words.next_few(count);
            form
        })
    };
    let Some(form) = form else {
        return Err(words.wrong(first, format!("not a limiter; {}", meant(first.text))));
    };
    let mut given = Given { words, default, form, is_bare, rate: first, values: Vec::new() };
    let limiter = match any::read(form, &mut given) {
        Ok(limiter) => Ok(limiter),
        Err(Unreadable::Number(error)) => Err(given.blame(error)),
        Err(Unreadable::Word(error)) => return Err(error),
    };
    // First reports a leftover word: it may be why the number is out of range.
    given.finish()?;
    limiter
}

const HELP: &str = "write a rate such as 10/1m, or a name and a rate such as gcra 10/1m";

/// Help for those who paste a line of Exim's ACL.
const EXIM: &str =
    "write Exim's 100 / 1h / strict / $sender_host_address as exim 100/1h strict per ip";

/// Help for an unknown name: the limiter whose name begins or ends most alike, with at least three letters or,
/// of a short name, two; or else how to write a limit.
fn meant(word: &str) -> String {
    let alike = |form: &&Form| {
        let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
        let begin = letters(form.name).zip(letters(word)).take_while(same).count();
        let end = letters(form.name).rev().zip(letters(word).rev()).take_while(same).count();
        begin.max(end)
    };
    let enough = |form: &&Form| alike(form) >= 3.min(form.name.len() / 2);
    if word.eq_ignore_ascii_case("ratelimit") {
        return EXIM.to_owned();
    }
    match FORMS.iter().rev().max_by_key(alike).filter(enough) {
        Some(form) => format!("did you mean {}?", form.name),
        None => HELP.to_owned(),
    }
}

/// The bytes of a name without hyphens, which are easily left out.
fn letters(name: &str) -> impl DoubleEndedIterator<Item = u8> {
    name.bytes().filter(|byte| *byte != b'-')
}

/// The limiter whose name the first one or two words are, and their number: `gcra`, `GCRA`,
/// `token-bucket`, `token bucket`.
fn name(words: &[Word<'_>]) -> Option<(&'static Form, usize)> {
    (1..=2).rev().find_map(|count| {
        let words: Vec<_> = words.get(..count)?.iter().map(|word| word.text).collect();
        let name = words.join("-").to_ascii_lowercase().replace('_', "-");
        Some((FORMS.iter().find(|form| form.name == name)?, count))
    })
}

/// Returns how many words at the beginning of a limit are its name and its rate. A `per` after these words begins a
/// key; a `per` among them, as in `gcra 100 per minute`, does not.
pub(crate) fn head(words: &[Word<'_>]) -> usize {
    let name = name(words).map_or(0, |(_, count)| count);
    name + rate_words(words.get(name..).unwrap_or_default())
}

/// Returns how many of the first words are a rate; 0 if they are none. A rate is one word as in `10/1m`,
/// or several as in `10 / 1m`, `100/1 minute` and `100 requests per minute`.
fn rate_words(words: &[Word<'_>]) -> usize {
    let text = |i: usize| words.get(i).map_or("", |word| word.text);
    let rest = |i: usize| words.get(i..).unwrap_or_default();
    let is_count = text(0).starts_with(|c: char| c.is_ascii_digit());
    let per = if is_noun(text(1)) { 2 } else { 1 };
    let after = text(per).split_once('/').filter(|(noun, _)| noun.is_empty() || is_noun(noun));
    match (text(0).split_once('/'), after.map(|(_, after)| after)) {
        (Some((_, "")), _) => 1 + span_words(rest(1)),
        (Some((_, after)), _) if number(after).is_some() && unit(text(1)).is_some() => 2,
        (Some(_), _) => 1,
        (None, Some("")) if is_count => per + 1 + span_words(rest(per + 1)),
        (None, Some(after)) if is_count => {
            per + if number(after).is_some() && unit(text(per + 1)).is_some() { 2 } else { 1 }
        }
        _ if is_count && text(per).eq_ignore_ascii_case("per") => match rest(per + 1) {
            [first, ..] if unit(first.text).is_some() || first.text.parse::<Span>().is_ok() => {
                per + 2
            }
            [first, second, ..] if number(first.text).is_some() && unit(second.text).is_some() => {
                per + 3
            }
            _ => 0,
        },
        _ => 0,
    }
}

/// Returns how many of the first words are a span: two in `1 minute`, otherwise one, or 0 without words.
fn span_words(words: &[Word<'_>]) -> usize {
    match words {
        [first, second, ..] if number(first.text).is_some() && unit(second.text).is_some() => 2,
        words => words.len().min(1),
    }
}

/// The words after the name of a limiter.
pub(super) struct Given<'a> {
    words: Words<'a>,
    /// The rate of a limiter that names none.
    default: Option<Rate>,
    form: &'static Form,
    /// True if the text begins with a rate, without the name of a limiter.
    is_bare: bool,
    /// The word of the rate; the name of the limiter if the rate is the default.
    rate: Word<'a>,
    /// The other words that numbers were read from, with the names of the numbers.
    values: Vec<(&'static str, Word<'a>)>,
}

/// Why a limiter cannot be read.
pub(super) enum Unreadable {
    /// A word is wrong.
    Word(ParseError),
    /// A number is out of range; [`Given::blame`] finds the word that it was read from.
    Number(BadNumber),
}

impl From<ParseError> for Unreadable {
    fn from(error: ParseError) -> Self {
        Unreadable::Word(error)
    }
}

impl From<BadNumber> for Unreadable {
    fn from(error: BadNumber) -> Self {
        Unreadable::Number(error)
    }
}

impl<'a> Given<'a> {
    /// The rate right after the name, or the default.
    pub(super) fn rate(&mut self) -> Result<Rate, ParseError> {
        let count = rate_words(self.words.rest());
        match self.default {
            Some(default) if count == 0 => Ok(default),
            _ => {
                let Some(word) = self.words.next_few(count) else {
                    return Err(self.missing("a rate"));
                };
                self.rate = word;
                self.words.read(word)
            }
        }
    }

    /// The next word, which is called `name`.
    pub(super) fn next(&mut self, name: &'static str) -> Result<Word<'a>, ParseError> {
        let Some(word) = self.words.next_word() else {
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
        let Some(word) = self.words.option_of(name, span_words)? else { return Ok(None) };
        self.values.push((name, word));
        self.words.read(word).map(Some)
    }

    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<f64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let help = "not a number; write digits such as 20, 0.5 or 300k";
        count(word.text).map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// The value of an option as a whole number from 1.
    pub(super) fn whole(&mut self, name: &'static str) -> Result<Option<u64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.text.parse().ok().filter(|number| digits && *number > 0);
        let help = "not a whole number from 1; write digits such as 20";
        number.map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// An error at the end, about something that is missing there.
    pub(super) fn missing(&self, what: &str) -> ParseError {
        self.words.missing(self.advised(&format!("{what} is missing")))
    }

    pub(super) fn wrong(&self, word: Word<'_>, problem: &str) -> ParseError {
        self.words.wrong(word, problem)
    }

    /// The problem, and how the limiter is written: its form and an example if both fit into [`SHORT`]
    /// bytes, or else one of them.
    pub(super) fn advised(&self, problem: &str) -> String {
        let Form { name, words, example, .. } = self.form;
        if self.is_bare {
            return format!(
                "{problem}; write a rate as in 240/1h [precision 1s], or a limiter as in gcra 5/1s burst 20"
            );
        }
        let full = format!("{problem}; write {name} {words}, such as {example}");
        let form = format!("{problem}; write {name} {words}");
        let fitting = [full, form].into_iter().find(|text| text.len() <= SHORT);
        fitting.unwrap_or_else(|| format!("{problem}; write it as in {example}"))
    }

    /// The error about a number, at the word that it was read from: the value whose name, without a unit, ends
    /// `error.what`, or else the rate.
    fn blame(&self, error: BadNumber) -> ParseError {
        let what = error.what.strip_suffix(" in seconds").unwrap_or(error.what);
        let named = self.values.iter().find(|(name, _)| what.ends_with(name));
        let word = named.map_or(self.rate, |(_, word)| *word);
        self.words.wrong(word, error.to_string())
    }

    /// Refuses words that are left over.
    fn finish(&mut self) -> Result<(), ParseError> {
        match self.words.next_word() {
            None => Ok(()),
            Some(word) => Err(self.words.wrong(word, self.advised("unexpected word"))),
        }
    }
}

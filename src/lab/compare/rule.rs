//! What is written in a lane: one limit or several, each for a user or for the address.
//!
//! ```text
//! exim strict
//! token-bucket 10/10s burst 20 per user & fixed-window per address
//! ```
//!
//! Each limit is the text form of a limiter; one that leaves its rate out has that of the budget.
//! All events of a run come from one address, which is what is limited unless `per user` is said.

use crate::limit::any::AnyLimiter;
use crate::rate::Rate;
use crate::text::{ParseError, Word, Words};
use core::fmt;
use core::str::FromStr;

/// The most limits in a rule.
pub const LIMITS: usize = 8;

/// The most events that a limiter may keep a log of.
pub const LOG: usize = 100_000;

/// Whom a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Everybody together.
    Address,
    /// Each user alone.
    User,
}

/// A limit with every number in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limiter.
    pub limiter: AnyLimiter,
    /// Whom it is for.
    pub per: Per,
}

/// What is written in a lane, with one space between words. It is only text: whether it can be
/// read may depend on the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(String);

impl Rule {
    /// Reads a rule and the limits that it stands for under `budget`.
    ///
    /// # Errors
    /// When a limit is none that [`AnyLimiter`] reads, or one of more than [`LOG`] entries, or
    /// there are more than [`LIMITS`] of them. The error points at the word.
    pub fn read(text: &str, budget: Rate) -> Result<(Rule, Vec<Limit>), ParseError> {
        let (mut tidy, mut limits, mut from) = (String::new(), Vec::new(), 0);
        for part in text.split(JOINTS) {
            let words = Words::new(part).all();
            let read = limit(part, &words, budget).map_err(|e| e.inside(text, from))?;
            if limits.len() == LIMITS {
                let help = format!("more than {LIMITS} limits in a lane");
                return Err(ParseError::new(text, from..from + part.len(), help));
            }
            limits.push(read);
            tidy.push_str(if from == 0 { "" } else { " & " });
            join(&mut tidy, words.iter().map(|word| word.text));
            from += part.len() + 1;
        }
        Ok((Rule(tidy), limits))
    }

    /// The limits that it stands for under `budget`.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn resolve(&self, budget: Rate) -> Result<Vec<Limit>, ParseError> {
        Self::read(&self.0, budget).map(|(_, limits)| limits)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What joins limits; in a link, whose parts `&` joins, it is `+`.
const JOINTS: [char; 2] = ['&', '+'];

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a rule as it would be under the budget of [`Settings::default`](super::Settings).
impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text, Rate::TEN_IN_TEN_SECONDS).map(|(rule, _)| rule)
    }
}

/// As in `token-bucket 10/10s burst 10 per user`; that it is for the address is not said.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limiter.fmt(f)?;
        if self.per == Per::User { f.write_str(" per user") } else { Ok(()) }
    }
}

/// Reads one limit of `text`, which is made of `words`.
fn limit(text: &str, words: &[Word], budget: Rate) -> Result<Limit, ParseError> {
    let whole = Words::new(text);
    let (per, words) = match words {
        [rest @ .., per, key] if per.text == "per" => match key.text {
            "user" => (Per::User, rest),
            "address" => (Per::Address, rest),
            _ => return Err(whole.wrong(*key, "not a key; write per user or per address")),
        },
        _ => (Per::Address, words),
    };
    // What is read is the text with the budget after the name, and each piece of it knows the word
    // that it came from.
    let mut pieces: Vec<(String, Word)> = Vec::with_capacity(words.len() + 1);
    for (i, word) in words.iter().enumerate() {
        pieces.push((word.text.to_owned(), *word));
        let rated = |word: &Word| word.text.contains('/');
        let bare = rated(word) || word.text == "adaptive" || words.get(1).is_some_and(rated);
        if i == 0 && !bare {
            pieces.push((budget.to_string(), *word));
        }
    }
    let mut full = String::new();
    join(&mut full, pieces.iter().map(|(piece, _)| piece.as_str()));
    let limiter: AnyLimiter = full.parse().map_err(|e: ParseError| {
        let place = |at: usize, end: bool| place(&pieces, at, end).unwrap_or(text.trim_end().len());
        ParseError::new(text, place(e.at().start, false)..place(e.at().end, true), e.problem())
    })?;
    match &limiter {
        AnyLimiter::SlidingLog(log) if log.capacity() > LOG => Err(ParseError::whole(
            text,
            format!("a log of more than {LOG} events is too long here"),
        )),
        _ => Ok(Limit { limiter, per }),
    }
}

/// Where the byte `at` of the joined `pieces` came from. An inserted piece came from all of its
/// word, so that an error begins at the beginning of it and ends at the `end`.
fn place(pieces: &[(String, Word)], at: usize, end: bool) -> Option<usize> {
    let mut from = 0;
    for (piece, word) in pieces {
        let to = from + piece.len();
        if at < to || (end && at == to) {
            return Some(match (piece == word.text, end) {
                (true, _) => word.from + (at - from),
                (false, false) => word.from,
                (false, true) => word.from + word.text.len(),
            });
        }
        from = to + 1;
    }
    None
}

fn join<'a>(text: &mut String, words: impl Iterator<Item = &'a str>) {
    for (i, word) in words.enumerate() {
        text.push_str(if i == 0 { "" } else { " " });
        text.push_str(word);
    }
}

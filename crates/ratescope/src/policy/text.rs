//! The text form of a policy.

use super::{LIMITS, Limit, Per, Policy, list};
use crate::limit::any::AnyLimiter;
use crate::limit::head;
use crate::rate::Rate;
use crate::text::{ParseError, SHORT, Word, Words, parts, write_joined};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// The defaults for the parts that a limit leaves out. They depend on where the limit is written.
///
/// In `simulate`, for example, a limit without `per` is for the column `key`. In the comparison, a
/// limit without a rate has the rate that is set for all lanes.
#[derive(Clone, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct Defaults {
    /// The rate of a limit without one. If this is `None`, every limit must have a rate.
    pub rate: Option<Rate>,
    /// The fields of a limit without `per`.
    pub per: Per,
    /// The fields that events have. If this is `None`, a limit may use any name.
    pub fields: Option<Vec<String>>,
    /// The cost of an event. A limit that never admits this cost is an error, since no event would pass. 0 reads any
    /// limit, as on the page, which shows the effect of each.
    pub cost: f64,
}

/// For a limit alone: it must have a rate, and counts all events together, of cost 1.
const ALONE: Defaults = Defaults { rate: None, per: Per::ALL, fields: None, cost: 1.0 };

/// Remarks on words that were read otherwise than they are written, with their places in the text.
pub(super) type Remarks = Vec<ParseError>;

impl Policy {
    /// Reads a policy; `defaults` fill in the parts that a limit leaves out. A list of numbers is read, too, as it is
    /// passed to the script of Josiah Carlson's "Introduction to rate limiting with Redis":
    /// `[[1, 10], [3600, 240, 60]] per user` is `10/1s per user & 240/1h precision 1m per user`.
    ///
    /// # Errors
    /// When [`AnyLimiter`] cannot read a limit, a limit is for a field that events do not have, a
    /// limit never admits the cost of an event, or there are more than [`LIMITS`]. The error points at
    /// the word.
    pub fn read(text: &str, defaults: &Defaults) -> Result<Self, ParseError> {
        Policy::read_with_remarks(text, defaults).map(|(policy, _)| policy)
    }

    /// As [`read`](Self::read), with remarks on parts that were not read as they were written: a precision longer than
    /// its duration in a list of numbers.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    #[doc(hidden)]
    pub fn read_with_remarks(
        text: &str,
        defaults: &Defaults,
    ) -> Result<(Self, Vec<ParseError>), ParseError> {
        let mut remarks = Remarks::new();
        if list::is_list(text) {
            let limits = list::read(text, defaults, &mut remarks)?;
            return Ok((Policy(limits), remarks));
        }
        let mut limits = Vec::new();
        for (from, part) in parts(text, '&') {
            let limit = Limit::read(part, defaults).map_err(|e| e.inside(text, from))?;
            if limits.len() == LIMITS {
                let help = format!("more than {LIMITS} limits");
                return Err(ParseError::new(text, from..from + part.len(), help));
            }
            limits.push(limit);
        }
        Ok((Policy(limits), remarks))
    }
}

impl Limit {
    /// Reads one limit; `defaults` fill in the parts that it leaves out.
    ///
    /// # Errors
    /// As for [`Policy::read`].
    pub fn read(text: &str, defaults: &Defaults) -> Result<Self, ParseError> {
        let limit = Self::read_any(text, defaults)?;
        match limit.too_small(defaults.cost) {
            None => Ok(limit),
            Some(problem) => {
                let at = text.len() - text.trim_start().len()..text.trim_end().len();
                Err(ParseError::new(text, at, problem))
            }
        }
    }

    /// Reads a limit of any size, with its name.
    fn read_any(text: &str, defaults: &Defaults) -> Result<Self, ParseError> {
        let words = Words::new(text);
        match words.rest() {
            [_, .., mark, name] if mark.is("as") => {
                let limit = text.get(..mark.from).unwrap_or(text);
                let limit = Self::read_nameless(limit, defaults).map_err(|e| e.inside(text, 0))?;
                limit.named(name.text).map_err(|e| e.inside(text, name.from))
            }
            _ => Self::read_nameless(text, defaults),
        }
    }

    fn read_nameless(text: &str, defaults: &Defaults) -> Result<Self, ParseError> {
        let words = Words::new(text);
        let all = words.clone().all();
        let per = all.iter().skip(head(&all)).position(|word| word.is("per"));
        let Some(at) = per.map(|at| at + head(&all)) else {
            let limiter = AnyLimiter::read(text, defaults.rate)?;
            return Ok(Limit { limiter, per: defaults.per.clone(), name: None });
        };
        let limiter = text.get(..all[at].from).unwrap_or(text);
        let limiter = AnyLimiter::read(limiter, defaults.rate).map_err(|e| e.inside(text, 0))?;
        Ok(Limit { limiter, per: key(&words, &all, at, defaults)?, name: None })
    }
}

/// Reads the key after the `per` at an index of all words; no other word follows.
pub(super) fn key(
    words: &Words<'_>,
    all: &[Word<'_>],
    at: usize,
    defaults: &Defaults,
) -> Result<Per, ParseError> {
    let Some(key) = all.get(at + 1) else {
        let help = format!("the key after per is missing; write {}", known(defaults));
        return Err(words.missing(help));
    };
    if let Some(extra) = all.get(at + 2) {
        return Err(words.wrong(
            *extra,
            "unexpected word; after the key comes only a name, as in per user as daily",
        ));
    }
    let per: Per = words.read(*key)?;
    let unknown =
        |name: &&String| defaults.fields.as_ref().is_some_and(|fields| !fields.contains(name));
    match per.fields().iter().find(unknown) {
        None => Ok(per),
        Some(name) => {
            let help = format!("{name} is not a field here; write {}", known(defaults));
            Err(words.wrong(*key, help))
        }
    }
}

/// Help: the keys that a limit may have.
fn known(defaults: &Defaults) -> String {
    match &defaults.fields {
        Some(fields) => {
            let mut list = String::new();
            for field in fields {
                if list.len() + field.len() > SHORT / 2 {
                    list += "..., ";
                    break;
                }
                list += &format!("per {field}, ");
            }
            list + "per all"
        }
        None => "a field, several as in per ip+path, or per all".to_owned(),
    }
}

/// As in `gcra 10/1s burst 20 per ip+path as often`, with every word, including optional ones.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {}", self.limiter, self.per)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " as {name}"))
    }
}

/// The limits, joined by `&`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_joined(f, &self.0, " & ")
    }
}

/// Reads a limit with a rate. Without `per` it is for all. A limit that never admits an event of cost 1
/// is an error.
impl FromStr for Limit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Limit::read(text, &ALONE)
    }
}

/// Reads limits with rates. Those without `per` are for all. A limit that never admits an event of cost
/// 1 is an error.
impl FromStr for Policy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Policy::read(text, &ALONE)
    }
}

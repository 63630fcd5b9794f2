//! Limits as a list of numbers, as Josiah Carlson's "Introduction to rate limiting with Redis" passes them to its script:
//! `[[1, 10], [60, 120], [3600, 240, 60]]`.
//!
//! A limit is a duration in seconds, a count and, for a sliding window, its precision: the length of a block in seconds.
//! A precision longer than the duration is cut to it, as his script does, which makes a fixed window.

use super::text::Remarks;
use super::{Defaults, LIMITS, Limit, Per};
use crate::limit::any::AnyLimiter;
use crate::limit::fixed_window::FixedWindow;
use crate::limit::sliding_window::SlidingWindow;
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError, Words, number};
use crate::time::Span;
use alloc::string::ToString;
use alloc::vec::Vec;

const FORM: &str = "write [duration, count] or [duration, count, precision], in seconds, as in \
                    [[1, 10], [3600, 240, 60]]";

/// True for a text that begins as a list does.
pub(super) fn is_list(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// Reads a list, which may be followed by a key, as in `[[1, 10], [60, 120]] per user`.
pub(super) fn read(
    text: &str,
    defaults: &Defaults,
    remarks: &mut Remarks,
) -> Result<Vec<Limit>, ParseError> {
    let mut list = List { text, at: 0 };
    let mut limits = Vec::new();
    list.expect('[')?;
    while limits.is_empty() || list.takes(',') {
        let from = list.next();
        let limiter = list.limiter(remarks)?;
        let limit = Limit { limiter, per: Per::default(), name: None };
        let problem = limit.too_small(defaults.cost);
        let problem =
            problem.or((limits.len() == LIMITS).then(|| format!("more than {LIMITS} limits")));
        if let Some(problem) = problem {
            return Err(ParseError::new(text, from..list.at, problem));
        }
        limits.push(limit);
    }
    list.expect(']')?;
    let rest = text.get(list.at..).unwrap_or_default();
    let words = Words::new(rest);
    let all = words.clone().all();
    let per = match all.first() {
        None => defaults.per.clone(),
        Some(per) if per.is("per") => super::text::key(&words, &all, 0, defaults)
            .map_err(|error| error.inside(text, list.at))?,
        Some(word) => {
            let error = words.wrong(*word, "after the list comes only a key, as in per user");
            return Err(error.inside(text, list.at));
        }
    };
    limits.iter_mut().for_each(|limit| limit.per = per.clone());
    Ok(limits)
}

/// A list that is being read.
struct List<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
}

impl List<'_> {
    /// Skips white space, and returns where the next character is.
    fn next(&mut self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    fn takes(&mut self, c: char) -> bool {
        let at = self.next();
        let is_next = self.text.get(at..).is_some_and(|rest| rest.starts_with(c));
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, c: char) -> Result<(), ParseError> {
        if self.takes(c) {
            return Ok(());
        }
        let end = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let end = self.at + end.map_or(0, char::len_utf8);
        Err(ParseError::new(self.text, self.at..end, format!("a {c} is missing; {FORM}")))
    }

    fn number(&mut self) -> Result<f64, ParseError> {
        let from = self.next();
        let rest = self.text.get(from..).unwrap_or_default();
        let length = rest.find(|c: char| matches!(c, ',' | '[' | ']') || c.is_whitespace());
        let digits = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        self.at += digits.len();
        number(digits).ok_or_else(|| {
            ParseError::new(self.text, from..self.at, format!("not a number; {FORM}"))
        })
    }

    fn limiter(&mut self, remarks: &mut Remarks) -> Result<AnyLimiter, ParseError> {
        let from = self.next();
        self.expect('[')?;
        let duration = self.number()?;
        self.expect(',')?;
        let count = self.number()?;
        let precision = if self.takes(',') { Some((self.next(), self.number()?)) } else { None };
        let end = self.at;
        self.expect(']')?;
        let wrong = |error: BadNumber| ParseError::new(self.text, from..self.at, error.to_string());
        let rate =
            Rate::new(count, Span::try_from_secs_f64(duration).map_err(wrong)?).map_err(wrong)?;
        let cut = precision.filter(|(_, precision)| *precision > duration);
        if let Some((at, _)) = cut {
            let remark = "the precision is longer than the duration and was cut to it, which makes a fixed window";
            remarks.push(ParseError::new(self.text, at..end, remark));
        }
        match precision.filter(|(_, precision)| *precision < duration) {
            None => FixedWindow::new(rate).map(AnyLimiter::from),
            Some((_, precision)) => Span::try_from_secs_f64(precision)
                .and_then(|precision| SlidingWindow::new(rate, precision))
                .map(AnyLimiter::from),
        }
        .map_err(wrong)
    }
}

//! Throttles: how strictly a rule enforces its limits.
//!
//! Source: the three kinds of throttling in "What is a rate limiter?" (system design notes on rate
//! limiters, 2023). *Hard*: the limit is not exceeded. *Soft*: it may be exceeded by a share; with
//! 100 a second and 10 %, 110 pass. *Elastic*: it may be exceeded while the system has resources
//! left.
//!
//! A rule that is not hard has two limiters: its own, and a *relaxed* one that admits more, with the same periods but
//! larger counts, bursts and queues. Each has its own state. The relaxed limiter counts all events that pass; the
//! rule's own limiter counts those that pass within its limit. So an event passes "softly" exactly if a hard rule would
//! have refused it. And when an elastic rule is no longer relaxed, its senders are at their limit, not in debt. But a
//! later charge counts in both limiters, and may leave a debt.
//!
//! A learned limit (adaptive, with or without hours) can only be hard. Its factor already is the share by which a
//! sender may exceed its habit. A relaxed limiter would learn from the events that it lets pass, so its limit would
//! move away from that of the rule's own limiter by more than any share. The limiter of a server can only be hard, too,
//! since the server has no relaxed form.
//!
//! While a rule is relaxed, only the relaxed limiter decides, so that its bound holds. In total it lets more pass.
//! But an event that passed softly may take the room of a later event that a hard rule would have let pass.

use crate::text::{BadNumber, ParseError, Words, number};
use core::fmt;
use core::str::FromStr;

/// How strictly a rule enforces its limits. The text form is `hard`, `soft 10%` or
/// `elastic up to 2x while load < 70%`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Throttle {
    /// The limits are not exceeded.
    #[default]
    Hard,
    /// The limits may be exceeded by a share, and the decision says so.
    Soft {
        /// The share in percent, above 0 and at most 1000.
        percent: f64,
    },
    /// The limits may be exceeded up to a multiple while the load of the service is low.
    Elastic {
        /// The multiple, above 1 and at most 1000.
        factor: f64,
        /// The load is low below this value.
        below: Load,
    },
}

impl Throttle {
    /// Checks the numbers, as they are checked when a text is read.
    pub(super) fn check(self) -> Result<(), &'static str> {
        match self {
            Throttle::Soft { percent } if !is_share(percent) => Err(SHARE),
            Throttle::Elastic { factor, .. } if !is_multiple(factor) => Err(MULTIPLE),
            Throttle::Elastic { below, .. } if !is_share(below.0) => Err(SHARE),
            _ => Ok(()),
        }
    }

    /// The relaxed limits in percent of the rule's own limits; `None` for a hard rule.
    pub(super) fn percent(self) -> Option<f64> {
        match self {
            Throttle::Hard => None,
            Throttle::Soft { percent } => Some(100.0 + percent),
            Throttle::Elastic { factor, .. } => Some(factor * 100.0),
        }
    }

    /// True if a rule is relaxed at a load. An unknown load is not low.
    pub(super) fn is_relaxed(self, load: Option<Load>) -> bool {
        match self {
            Throttle::Hard => false,
            Throttle::Soft { .. } => true,
            Throttle::Elastic { below, .. } => load.is_some_and(|load| load < below),
        }
    }
}

/// How busy a service is, as a share of its capacity. The text form is `42%`.
///
/// The service chooses what is measured: processors, connections, workers. The load may be above
/// 100 %, such as a load average when there are more runnable tasks than processors.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Load(f64);

impl Load {
    /// A load in percent.
    ///
    /// # Errors
    /// When it is negative, infinite or not a number.
    pub fn from_percent(percent: f64) -> Result<Self, BadNumber> {
        if percent >= 0.0 && percent.is_finite() {
            return Ok(Load(percent + 0.0));
        }
        let want = "finite and not negative";
        Err(BadNumber { what: "a load in percent", given: percent, want })
    }

    /// The load whose [`percent`](Self::percent) is this number; `None` for NaN.
    pub(super) fn known(percent: f64) -> Option<Self> {
        (!percent.is_nan()).then_some(Load(percent))
    }

    /// The load in percent.
    pub fn percent(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl FromStr for Load {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let percent = text.strip_suffix('%').and_then(number);
        let help = "not a load; write it as in 42%";
        percent.map(Load).ok_or_else(|| ParseError::whole(text, help))
    }
}

const FORMS: &str = "write hard, soft 10% or elastic up to 2x while load < 70%";

impl FromStr for Throttle {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut words = Words::new(text);
        let Some(kind) = words.next_word() else {
            return Err(ParseError::whole(text, format!("a throttle is missing; {FORMS}")));
        };
        let throttle = match kind.text {
            "hard" => Throttle::Hard,
            "soft" => Throttle::Soft { percent: percent(&mut words)? },
            "elastic" => {
                literal(&mut words, &["up", "to"])?;
                let word = words.next_word().ok_or_else(|| missing(&words))?;
                let factor = word.text.strip_suffix('x').and_then(number);
                let factor = factor.filter(|factor| is_multiple(*factor));
                let factor = factor.ok_or_else(|| words.wrong(word, MULTIPLE))?;
                literal(&mut words, &["while", "load", "<"])?;
                Throttle::Elastic { factor, below: Load(percent(&mut words)?) }
            }
            _ => return Err(words.wrong(kind, format!("not a throttle; {FORMS}"))),
        };
        match words.next_word() {
            None => Ok(throttle),
            Some(word) => Err(words.wrong(word, format!("unexpected word; {FORMS}"))),
        }
    }
}

fn missing(words: &Words<'_>) -> ParseError {
    words.missing(format!("something is missing; {FORMS}"))
}

fn literal(words: &mut Words<'_>, literals: &[&str]) -> Result<(), ParseError> {
    for literal in literals {
        match words.next_word() {
            Some(word) if word.text == *literal => {}
            Some(word) => return Err(words.wrong(word, format!("not {literal}; {FORMS}"))),
            None => return Err(missing(words)),
        }
    }
    Ok(())
}

const MULTIPLE: &str = "not a multiple above 1x and up to 1000x; write it as in 2x";

fn is_multiple(factor: f64) -> bool {
    factor > 1.0 && factor <= 1000.0
}

const SHARE: &str = "not a share above 0% and up to 1000%; write it as in 10%";

fn is_share(percent: f64) -> bool {
    percent > 0.0 && percent <= 1000.0
}

/// Reads a share such as `10%`.
fn percent(words: &mut Words<'_>) -> Result<f64, ParseError> {
    let word = words.next_word().ok_or_else(|| missing(words))?;
    let percent = word.text.strip_suffix('%').and_then(number);
    percent.filter(|percent| is_share(*percent)).ok_or_else(|| words.wrong(word, SHARE))
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Throttle::Hard => f.write_str("hard"),
            Throttle::Soft { percent } => write!(f, "soft {percent}%"),
            Throttle::Elastic { factor, below } => {
                write!(f, "elastic up to {factor}x while load < {below}")
            }
        }
    }
}

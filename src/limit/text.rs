//! Reading the text forms of the limiters. Writing them is each limiter's own.

use super::adaptive::Adaptive;
use super::all_of::AllOf;
use super::any::AnyLimiter;
use super::exim::{Exim, Mode};
use super::fixed_window::FixedWindow;
use super::gcra::Gcra;
use super::leaky_bucket::LeakyBucket;
use super::recent_average::RecentAverage;
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::sliding_window::SlidingWindow;
use super::token_bucket::TokenBucket;
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError, Word, Words, number, parts};
use crate::time::Span;
use core::str::FromStr;

/// The text form of one limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The word that it begins with.
    pub name: &'static str,
    /// What may follow, with what may be left out in brackets.
    pub words: &'static str,
    /// An example, which can be read.
    pub example: &'static str,
    /// What lets an event pass, and what is taken for a word that is left out.
    pub about: &'static str,
}

/// Every text form. The words after the rate come in any order.
pub const FORMS: &[Form] = &[
    Form {
        name: "exim",
        words: "RATE [leaky|strict|readonly]",
        example: "exim 10/1m strict",
        about: "the decaying rate, with the event, is below the limit; leaky unless said",
    },
    Form {
        name: "earrrl",
        words: "RATE [half-life SPAN]",
        example: "earrrl 1/1s half-life 20s",
        about: "the recent average before the event is within the limit; half-life of a period unless said",
    },
    Form {
        name: "token-bucket",
        words: "RATE [burst N]",
        example: "token-bucket 10/1s burst 20",
        about: "there are tokens left; burst of the count unless said",
    },
    Form {
        name: "gcra",
        words: "RATE [burst N]",
        example: "gcra 10/1s burst 20",
        about: "as the token bucket, kept in one timestamp; burst of the count unless said",
    },
    Form {
        name: "leaky-bucket",
        words: "RATE [queue N]",
        example: "leaky-bucket 10/1s queue 20",
        about: "there is room in the queue, which is let out at the rate; queue of the count unless said",
    },
    Form {
        name: "fixed-window",
        words: "RATE",
        example: "fixed-window 10/1m",
        about: "so many in each window of the clock; the same as a rate alone, 10/1m",
    },
    Form {
        name: "sliding-window",
        words: "RATE [precision SPAN]",
        example: "sliding-window 240/1h precision 1m",
        about: "so many in the last blocks of the clock; blocks of a sixtieth of the period unless said",
    },
    Form {
        name: "sliding-counter",
        words: "RATE",
        example: "sliding-counter 500/1m",
        about: "so many in this window of the clock and the fading share of the last",
    },
    Form {
        name: "sliding-log",
        words: "RATE",
        example: "sliding-log 10/1s",
        about: "so many in any period, exactly",
    },
    Form {
        name: "adaptive",
        words: "xFACTOR decay SPAN [increase SPAN] floor N [leaky|strict|readonly]",
        example: "adaptive x3 decay 1m increase 1h floor 5",
        about: "below a multiple of the sender's own habit; increase of 60 decays and leaky unless said",
    },
];

/// Reads one limiter, or several joined by `&`.
pub(super) fn read(text: &str) -> Result<AnyLimiter, ParseError> {
    if !text.contains('&') {
        return read_one(text);
    }
    let limits =
        parts(text, '&').map(|(from, part)| read_one(part).map_err(|e| e.inside(text, from)));
    Ok(AnyLimiter::AllOf(AllOf::new(limits.collect::<Result<_, _>>()?)))
}

fn read_one(text: &str) -> Result<AnyLimiter, ParseError> {
    let mut words = Words::new(text);
    let Some(name) = words.next() else {
        return Err(ParseError::whole(text, format!("a limiter is missing; {}", names())));
    };
    let mut reader = Reader { words, rate: name, values: Vec::new() };
    let limiter = match name.text {
        "exim" => {
            let limit = reader.rate()?;
            AnyLimiter::Exim(Exim { limit, mode: reader.mode() })
        }
        "earrrl" => {
            let limit = reader.rate()?;
            let half_life = reader.value("half-life")?.unwrap_or(limit.per());
            let limiter = RecentAverage::new(limit, half_life);
            AnyLimiter::RecentAverage(reader.accept(limiter)?)
        }
        "token-bucket" => {
            let (rate, burst) = reader.bucket("burst")?;
            AnyLimiter::TokenBucket(reader.accept(TokenBucket::new(rate, burst))?)
        }
        "gcra" => {
            let (rate, burst) = reader.bucket("burst")?;
            AnyLimiter::Gcra(reader.accept(Gcra::new(rate, burst))?)
        }
        "leaky-bucket" => {
            let (rate, queue) = reader.bucket("queue")?;
            AnyLimiter::LeakyBucket(reader.accept(LeakyBucket::new(rate, queue))?)
        }
        "fixed-window" => {
            let limit = reader.rate()?;
            AnyLimiter::FixedWindow(reader.accept(FixedWindow::new(limit))?)
        }
        "sliding-window" => {
            let limit = reader.rate()?;
            let sixtieth = Span::from_secs(limit.per().secs() / 60.0).unwrap_or(limit.per());
            let precision = reader.value("precision")?.unwrap_or(sixtieth);
            AnyLimiter::SlidingWindow(reader.accept(SlidingWindow::new(limit, precision))?)
        }
        "sliding-counter" => {
            let limit = reader.rate()?;
            AnyLimiter::SlidingCounter(reader.accept(SlidingCounter::new(limit))?)
        }
        "sliding-log" => {
            let limit = reader.rate()?;
            AnyLimiter::SlidingLog(reader.accept(SlidingLog::new(limit))?)
        }
        "adaptive" => AnyLimiter::Adaptive(reader.adaptive(name)?),
        bare if bare.contains('/') => {
            // As in Carlson's lists of limits: without a precision, the window is a fixed one.
            let limit = reader.words.read(name)?;
            match reader.value("precision")? {
                None => AnyLimiter::FixedWindow(reader.accept(FixedWindow::new(limit))?),
                Some(precision) => {
                    let limiter = SlidingWindow::new(limit, precision);
                    AnyLimiter::SlidingWindow(reader.accept(limiter)?)
                }
            }
        }
        _ => return Err(reader.words.wrong(name, format!("not a limiter; {}", names()))),
    };
    reader.finish(name)?;
    Ok(limiter)
}

fn names() -> String {
    let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
    format!("write one of {}, or a rate such as 10/1m", names.join(", "))
}

/// How `name` is written.
fn help(name: &str) -> String {
    match FORMS.iter().find(|form| form.name == name) {
        Some(form) => format!("write {} {}, such as {}", form.name, form.words, form.example),
        None => "write a rate and perhaps a precision, such as 240/1h precision 1m".to_owned(),
    }
}

/// The words of one limiter, and which of them its numbers came from.
struct Reader<'a> {
    words: Words<'a>,
    rate: Word<'a>,
    values: Vec<(&'static str, Word<'a>)>,
}

/// A plain number, as a value of an option.
struct Number(f64);

impl FromStr for Number {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::whole(text, "not a number; write digits such as 20 or 0.5");
        number(text).map(Number).ok_or_else(wrong)
    }
}

impl Reader<'_> {
    /// The rate, which comes right after the name.
    fn rate(&mut self) -> Result<Rate, ParseError> {
        let name = self.rate.text;
        let missing = self.words.missing(format!("a rate is missing; {}", help(name)));
        self.rate = self.words.next().ok_or(missing)?;
        self.words.read(self.rate)
    }

    /// The value of an option, when it is there.
    fn value<T>(&mut self, name: &'static str) -> Result<Option<T>, ParseError>
    where
        T: FromStr<Err = ParseError>,
    {
        let Some(word) = self.words.option(name)? else { return Ok(None) };
        self.values.push((name, word));
        self.words.read(word).map(Some)
    }

    /// The rate and the size of a bucket: what one period brings, unless it is said.
    fn bucket(&mut self, size: &'static str) -> Result<(Rate, f64), ParseError> {
        let rate = self.rate()?;
        let size = self.value(size)?.map_or(rate.count(), |Number(n)| n);
        Ok((rate, size))
    }

    /// Leaky unless it is said, as in Exim.
    fn mode(&mut self) -> Mode {
        match self.words.flag(&["strict", "leaky", "readonly"]).map(|word| word.text) {
            Some("strict") => Mode::Strict,
            Some("readonly") => Mode::Readonly,
            _ => Mode::Leaky,
        }
    }

    fn adaptive(&mut self, name: Word) -> Result<Adaptive, ParseError> {
        let missing = |what| format!("{what} is missing; {}", help(name.text));
        let Some(word) = self.words.next() else {
            return Err(self.words.missing(missing("the factor")));
        };
        self.values.push(("factor", word));
        let Some(factor) = word.text.strip_prefix('x').and_then(number) else {
            return Err(self.words.wrong(word, format!("not a factor; {}", help(name.text))));
        };
        let Some(decay) = self.value::<Span>("decay")? else {
            return Err(self.words.missing(missing("the decay")));
        };
        let sixty = Span::from_secs(decay.secs() * 60.0).unwrap_or(decay);
        let increase = self.value("increase")?.unwrap_or(sixty);
        let Some(Number(floor)) = self.value("floor")? else {
            return Err(self.words.missing(missing("the floor")));
        };
        let mode = self.mode();
        self.accept(Adaptive::new(factor, decay, increase, floor, mode))
    }

    /// The limiter, or what is wrong with one of its numbers, at the word that it came from.
    fn accept<T>(&self, limiter: Result<T, BadNumber>) -> Result<T, ParseError> {
        limiter.map_err(|e| {
            let named = self.values.iter().find(|(name, _)| e.what.ends_with(name));
            let word = named.map_or(self.rate, |(_, word)| *word);
            self.words.wrong(word, e.to_string())
        })
    }

    /// Nothing may be left over.
    fn finish(&mut self, name: Word) -> Result<(), ParseError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.words.wrong(word, format!("not read; {}", help(name.text)))),
        }
    }
}

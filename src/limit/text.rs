//! Reads the text forms of the limiters. Each limiter's `Display` writes its own.

use super::adaptive::Adaptive;
use super::any::AnyLimiter;
use super::by_hour::{ByHour, DAY, Day, signed};
use super::earrrl::Earrrl;
use super::envoy::Envoy;
use super::exim::{Exim, Mode};
use super::fixed_window::FixedWindow;
use super::gcra::Gcra;
use super::haproxy::{Counts, Haproxy};
use super::leaky_bucket::LeakyBucket;
use super::nginx::{Delay, Nginx};
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::sliding_window::SlidingWindow;
use super::token_bucket::TokenBucket;
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError, Word, Words, number};
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

/// Every text form. The words after the rate may come in any order.
pub const FORMS: &[Form] = &[
    Form {
        name: "exim",
        words: "RATE [leaky|strict|readonly]",
        example: "exim 10/1m strict",
        about: "the decaying rate, including the event, is below the limit; leaky by default",
    },
    Form {
        name: "earrrl",
        words: "RATE [half-life SPAN]",
        example: "earrrl 1/1s half-life 20s",
        about: "the recent average before the event is within the limit; the half-life is the period by default",
    },
    Form {
        name: "token-bucket",
        words: "RATE [burst N]",
        example: "token-bucket 10/1s burst 20",
        about: "there are enough tokens; the burst is the count by default",
    },
    Form {
        name: "gcra",
        words: "RATE [burst N]",
        example: "gcra 10/1s burst 20",
        about: "as the token bucket, kept in one timestamp; the burst is the count by default",
    },
    Form {
        name: "leaky-bucket",
        words: "RATE [queue N]",
        example: "leaky-bucket 10/1s queue 20",
        about: "there is room in the queue, which drains at the rate; the queue is the count by default",
    },
    Form {
        name: "fixed-window",
        words: "RATE",
        example: "fixed-window 10/1m",
        about: "at most the count in each window of the clock; the same as a rate alone, 10/1m",
    },
    Form {
        name: "sliding-window",
        words: "RATE [precision SPAN]",
        example: "sliding-window 240/1h precision 1m",
        about: "at most the count in the last blocks of the clock; a block is a sixtieth of the period by default",
    },
    Form {
        name: "sliding-counter",
        words: "RATE",
        example: "sliding-counter 500/1m",
        about: "at most the count in this window of the clock and the fading share of the last one",
    },
    Form {
        name: "sliding-log",
        words: "RATE",
        example: "sliding-log 10/1s",
        about: "at most the count in any period, exactly",
    },
    Form {
        name: "adaptive",
        words: "xFACTOR decay SPAN [increase SPAN] floor N [by hour [offset ±SPAN] [day SPAN]] [leaky|strict|readonly]",
        example: "adaptive x3 decay 1m increase 1h floor 5",
        about: "the rate is below a multiple of the sender's own habit, or of its habit at this hour of the day; by default the increase is 60 decays (by hour 7 days), the offset 0, the day 24h and the mode leaky",
    },
    Form {
        name: "nginx",
        words: "RATE [burst N] [nodelay|delay N]",
        example: "nginx 10/1s burst 20 nodelay",
        about: "as nginx's limit_req: not ahead of the rate by more than the burst; by default there is no burst, and events that are ahead wait",
    },
    Form {
        name: "haproxy",
        words: "RATE [allowed]",
        example: "haproxy 20/10s",
        about: "as HAProxy's http_req_rate: at most the count in the window of the sender and the fading share of the last one; refused events count by default",
    },
    Form {
        name: "envoy",
        words: "RATE [burst N]",
        example: "envoy 5/1s burst 10",
        about: "as Envoy's local rate limit: there are enough tokens; the burst is the count by default",
    },
];

/// Reads a limiter. A limiter without a rate gets the rate `default`, if there is one.
pub(super) fn read(text: &str, default: Option<Rate>) -> Result<AnyLimiter, ParseError> {
    let mut words = Words::new(text);
    let Some(name) = words.next() else {
        return Err(ParseError::whole(text, format!("a limiter is missing; {}", names())));
    };
    let mut reader = Reader { words, default, rate: name, values: Vec::new() };
    let limiter = match name.text {
        "adaptive" => reader.adaptive(name),
        bare if bare.contains('/') => reader.bare(),
        known if FORMS.iter().any(|form| form.name == known) => reader.rated(name),
        _ => return Err(reader.words.wrong(name, format!("not a limiter; {}", names()))),
    }?;
    reader.finish(name)?;
    limiter.map_err(|e| reader.blame(e))
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

/// The words of one limiter, and the words that its numbers were read from.
struct Reader<'a> {
    words: Words<'a>,
    /// The rate of a limiter that names none.
    default: Option<Rate>,
    /// The word of the rate; the name of the limiter if the rate is the default.
    rate: Word<'a>,
    values: Vec<(&'static str, Word<'a>)>,
}

/// The outer error is one of syntax. The inner error is a number out of range; [`Reader::blame`]
/// finds the word that it was read from.
type Read = Result<Result<AnyLimiter, BadNumber>, ParseError>;

impl<'a> Reader<'a> {
    /// A rate without a name. As in Carlson's lists of limits, it is a fixed window, or a sliding one
    /// if a precision follows.
    fn bare(&mut self) -> Read {
        let limit = self.words.read(self.rate)?;
        Ok(match self.span("precision")? {
            None => FixedWindow::new(limit).map(AnyLimiter::FixedWindow),
            Some(precision) => SlidingWindow::new(limit, precision).map(AnyLimiter::SlidingWindow),
        })
    }

    /// The rate right after the name, or the default.
    fn rate(&mut self, name: Word) -> Result<Rate, ParseError> {
        match (self.words.peek().filter(|word| word.text.contains('/')), self.default) {
            (None, Some(default)) => Ok(default),
            _ => {
                let missing = self.words.missing(format!("a rate is missing; {}", help(name.text)));
                self.rate = self.words.next().ok_or(missing)?;
                self.words.read(self.rate)
            }
        }
    }

    /// A limiter with a rate.
    fn rated(&mut self, name: Word) -> Read {
        let rate = self.rate(name)?;
        Ok(match name.text {
            "exim" => Ok(AnyLimiter::Exim(Exim { limit: rate, mode: self.mode() })),
            "earrrl" => {
                let half_life = self.span("half-life")?.unwrap_or(rate.per());
                Earrrl::new(rate, half_life).map(AnyLimiter::Earrrl)
            }
            "token-bucket" => {
                let burst = self.number("burst")?.unwrap_or(rate.count());
                TokenBucket::new(rate, burst).map(AnyLimiter::TokenBucket)
            }
            "gcra" => {
                let burst = self.number("burst")?.unwrap_or(rate.count());
                Gcra::new(rate, burst).map(AnyLimiter::Gcra)
            }
            "leaky-bucket" => {
                let queue = self.number("queue")?.unwrap_or(rate.count());
                LeakyBucket::new(rate, queue).map(AnyLimiter::LeakyBucket)
            }
            "sliding-window" => {
                // In whole microseconds, as blocks are.
                let sixtieth = Span::micros(times(rate.per(), 1.0 / 60.0).micros_up() as u64);
                let precision = self.span("precision")?.unwrap_or(sixtieth);
                SlidingWindow::new(rate, precision).map(AnyLimiter::SlidingWindow)
            }
            "sliding-counter" => SlidingCounter::new(rate).map(AnyLimiter::SlidingCounter),
            "sliding-log" => SlidingLog::new(rate).map(AnyLimiter::SlidingLog),
            "nginx" => {
                let burst = self.whole("burst")?.unwrap_or(0);
                let delay = match self.words.flag(&["nodelay"]) {
                    Some(_) => Delay::Never,
                    None => Delay::Beyond(self.whole("delay")?.unwrap_or(0)),
                };
                Nginx::new(rate, burst, delay).map(AnyLimiter::Nginx)
            }
            "haproxy" => {
                let allowed = self.words.flag(&["allowed"]);
                let counts = if allowed.is_some() { Counts::Allowed } else { Counts::All };
                Haproxy::new(rate, counts).map(AnyLimiter::Haproxy)
            }
            "envoy" => {
                // A count that is not a whole number is refused by `new`.
                let burst = self.whole("burst")?.unwrap_or(rate.count() as u64);
                Envoy::new(rate, burst).map(AnyLimiter::Envoy)
            }
            _ => FixedWindow::new(rate).map(AnyLimiter::FixedWindow),
        })
    }

    fn adaptive(&mut self, name: Word) -> Read {
        let help = help(name.text);
        let missing = |words: &Words, what| words.missing(format!("{what} is missing; {help}"));
        let word = self.words.next().ok_or_else(|| missing(&self.words, "the factor"))?;
        self.values.push(("factor", word));
        let Some(factor) = word.text.strip_prefix('x').and_then(number) else {
            return Err(self.words.wrong(word, format!("not a factor; {help}")));
        };
        let decay = self.span("decay")?.ok_or_else(|| missing(&self.words, "the decay"))?;
        let increase = self.span("increase")?;
        let floor = self.number("floor")?.ok_or_else(|| missing(&self.words, "the floor"))?;
        let (mode, day) = (self.mode(), self.by_hour()?);
        let Some(day) = day else {
            let increase = increase.unwrap_or(times(decay, 60.0));
            return Ok(
                Adaptive::new(factor, decay, increase, floor, mode).map(AnyLimiter::Adaptive)
            );
        };
        Ok(day.and_then(|day| {
            let increase = increase.unwrap_or(times(day.length(), 7.0));
            ByHour::new(factor, decay, increase, floor, mode, day).map(AnyLimiter::ByHour)
        }))
    }

    /// The day after `by hour`, if it is there.
    fn by_hour(&mut self) -> Result<Option<Result<Day, BadNumber>>, ParseError> {
        let Some(what) = self.words.option("by")? else { return Ok(None) };
        if what.text != "hour" {
            return Err(self.words.wrong(what, "not read; write by hour"));
        }
        let ahead = match self.value("offset")? {
            None => 0.0,
            Some(word) => signed(word.text).map_err(|e| self.words.wrong(word, e.problem()))?,
        };
        let length = self.span("day")?.unwrap_or(DAY);
        Ok(Some(Day::new(length, ahead)))
    }

    /// The value of an option, if it is there.
    fn value(&mut self, name: &'static str) -> Result<Option<Word<'a>>, ParseError> {
        let value = self.words.option(name)?;
        self.values.extend(value.map(|word| (name, word)));
        Ok(value)
    }

    fn span(&mut self, name: &'static str) -> Result<Option<Span>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        self.words.read(word).map(Some)
    }

    fn number(&mut self, name: &'static str) -> Result<Option<f64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let help = "not a number; write digits such as 20 or 0.5";
        number(word.text).map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// A number of events as servers write it: a whole number from 1.
    fn whole(&mut self, name: &'static str) -> Result<Option<u64>, ParseError> {
        let Some(word) = self.value(name)? else { return Ok(None) };
        let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.text.parse().ok().filter(|number| digits && *number > 0);
        let help = "not a whole number from 1; write digits such as 20";
        number.map(Some).ok_or_else(|| self.words.wrong(word, help))
    }

    /// The mode, or the default.
    fn mode(&mut self) -> Mode {
        let word = self.words.flag(&["strict", "leaky", "readonly"]);
        word.and_then(|word| word.text.parse().ok()).unwrap_or_default()
    }

    /// The error about a number, at the word that it was read from.
    fn blame(&self, error: BadNumber) -> ParseError {
        let named = self.values.iter().find(|(name, _)| error.what.ends_with(name));
        let word = named.map_or(self.rate, |(_, word)| *word);
        self.words.wrong(word, error.to_string())
    }

    /// Refuses words that are left over.
    fn finish(&mut self, name: Word) -> Result<(), ParseError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.words.wrong(word, format!("not read; {}", help(name.text)))),
        }
    }
}

fn times(span: Span, factor: f64) -> Span {
    Span::from_secs(span.secs() * factor).unwrap_or(span)
}

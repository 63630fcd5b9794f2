//! Two measures that are limiters here only, to show how they fail.
//!
//! | text | measure | what it fails at |
//! |---|---|---|
//! | `exim-2009 10/1m strict` | Exim's rate as the page of 2009 has it | widely spaced events |
//! | `exim-2009 10/1m strict approximated` | the same, by the aside of that page | steady events |
//! | `windowed-average 10/1m` | the average that precedes EARRRL in its author's article | everything within a window |
//!
//! Source of the first two: as for [`estimate::exim`](ratescope::estimate::exim). The formula is the one there, but
//! without the lower bound, `r' = w (1 - e^-x)/x + r e^-x`, and an event after an endless gap reads 0. The aside, that
//! "the first term of this formula can be approximated as 1", makes it `r' = w + r e^-x`. An event passes when r' is
//! below the limit. Without a word the mode is leaky, as in Exim.
//!
//! Exim's source says of the bound: "When events are very widely spaced the computed rate tends towards zero. Although
//! this is accurate it turns out not to be useful for our purposes, especially when the first event after a long silence
//! is the start of a spam run."
//!
//! Source of the third: John Berryman, "Teaching Abusive Users a Lesson with Recent Average Rate Limiters": "For each
//! user, you store 2 values, the number of hits in this window and the 'running average' of their recent windows. [...]
//! At the end of the time window you use a simple formula to incorporate the number of hits into the average of the
//! recent windows, and you also reset the hit count to 0." It is [`windowed_average`]. The article leaves its weight
//! open; here it is a half, so a window is the half-life, as in an `earrrl` of the same rate. Refused events are hits,
//! too, and an event passes while the average is at most the limit.

mod windowed_average;

use ratescope::estimate::decay::{Decay, decay};
use ratescope::estimate::exim::Measured;
use ratescope::internal::Words;
use ratescope::limit::exim::Mode;
use ratescope::outcome::{Outcome, Retry};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use windowed_average::{Counted, WindowedAverage};

/// A measure with its numbers and its state. It has one sender, since it does not tell senders apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Model {
    kind: Kind,
    limit: Rate,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Exim { mode: Mode, approximated: bool },
    Windowed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    New,
    Rate(Measured),
    Windows(Counted),
}

/// Exim's rate in events per `period` with an event of cost `cost`, without the lower bound; the last rate was `last`.
pub(crate) fn of_2009(last: Option<Measured>, now: Time, period: Span, cost: f64) -> f64 {
    let Some(last) = last else { return 0.0 };
    // As in Exim, events at one instant are a nanosecond apart.
    let gap = now.since(last.at).max(1e-9);
    let Decay { left, mean } = decay(gap / period.as_secs_f64());
    cost * mean + last.rate * left
}

impl Model {
    /// Reads the text of a measure, and the limiter whose unit and colour it has; `None` for any other text.
    pub(crate) fn read(text: &str, rate: Rate) -> Result<Option<(Self, String)>, ParseError> {
        let mut words = Words::new(text);
        let (is_exim, help) = match words.next_word() {
            Some(name) if name.is("exim-2009") => (true, "a rate, strict, leaky or approximated"),
            Some(name) if name.is("windowed-average") => (false, "a rate"),
            _ => return Ok(None),
        };
        let mode = if is_exim { words.flag(&["strict", "leaky"]) } else { None };
        let mode = mode.map_or(Ok(Mode::Leaky), |word| words.read(word))?;
        let approximated = is_exim && words.flag(&["approximated"]).is_some();
        let limit = words.next_word().map_or(Ok(rate), |word| words.read(word))?;
        if let Some(word) = words.next_word() {
            return Err(words.wrong(word, format!("unexpected word; write {help}")));
        }
        let (kind, like) = if is_exim {
            (Kind::Exim { mode, approximated }, format!("exim {limit} {mode}"))
        } else {
            (Kind::Windowed, format!("earrrl {limit}"))
        };
        Ok(Some((Model { kind, limit, state: State::New }, like)))
    }

    /// Decides an event, and counts it.
    pub(crate) fn check(&mut self, now: Time, cost: f64) -> Outcome {
        let outcome = self.peek(now, cost);
        match self.kind {
            Kind::Exim { mode, .. } if mode == Mode::Leaky && !outcome.is_allowed() => {}
            Kind::Exim { .. } => {
                self.state = State::Rate(Measured { rate: outcome.level, at: now })
            }
            Kind::Windowed => {
                let counted = self.average().add(self.counted(), now, cost);
                self.state = State::Windows(counted);
            }
        }
        outcome
    }

    /// The decision that an event would get; for cost 0 the level and the limit.
    pub(crate) fn peek(&self, now: Time, cost: f64) -> Outcome {
        let limit = self.limit.count();
        let level = match self.kind {
            Kind::Exim { approximated, .. } => self.rate(now, cost, approximated),
            Kind::Windowed => self.average().estimate(self.counted(), now),
        };
        let passes = match self.kind {
            Kind::Exim { .. } => level < limit,
            Kind::Windowed => level <= limit,
        };
        Outcome::new(passes, level, limit)
    }

    fn rate(&self, now: Time, cost: f64, approximated: bool) -> f64 {
        let last = match self.state {
            State::Rate(last) => Some(last),
            _ => None,
        };
        if !approximated {
            return of_2009(last, now, self.limit.per(), cost);
        }
        let left = |last: Measured| {
            let gap = now.since(last.at).max(0.0);
            last.rate * decay(gap / self.limit.per().as_secs_f64()).left
        };
        cost + last.map_or(0.0, left)
    }

    fn average(&self) -> WindowedAverage {
        WindowedAverage { period: self.limit.per(), weight: 0.5 }
    }

    fn counted(&self) -> Counted {
        match self.state {
            State::Windows(counted) => counted,
            _ => Counted::default(),
        }
    }

    /// How long after `now` an event would pass.
    pub(crate) fn retry_after(&self, now: Time, cost: f64) -> Retry {
        let passes = |micros: i64| {
            let at = Time::from_micros(now.as_micros().saturating_add(micros));
            self.peek(at, cost).is_allowed()
        };
        if passes(0) {
            return Retry::NOW;
        }
        // Both levels only fall from the next window on, so a search by halves finds the first instant.
        let mut high = self.limit.per().micros_up().max(1);
        while !passes(high) {
            high = high.saturating_mul(2);
            if high == i64::MAX {
                return Retry::Never;
            }
        }
        let mut low = 0;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *if passes(middle) { &mut high } else { &mut low } = middle;
        }
        Retry::After(Span::from_micros(high.unsigned_abs()))
    }

    /// True if the events that it admits are bounded, with the bound of Exim's limiter.
    pub(crate) fn is_bounded(&self) -> bool {
        self.kind != Kind::Windowed
    }
}

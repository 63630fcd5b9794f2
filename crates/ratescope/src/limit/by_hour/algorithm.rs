//! The limiter by hour describes itself.

use super::{ByHour, Habits};
use crate::estimate::smoothed::Smoothed;
use crate::limit::adaptive::{Adaptive, FINDS_ITS_LIMIT};
use crate::limit::algorithm::{Algorithm, NotRelaxed, Relax};
use crate::limit::any::AnyLimiter;
use crate::limit::in_f64::{InF64, Lua};
use crate::limit::kept::{Bytes, Content, KeptError, Kind, Shape};
use crate::limit::text::{Form, Given, Unreadable};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::Time;
use core::fmt;

impl Algorithm for ByHour {
    const FORM: Form = Adaptive::FORM;
    const UNIT: &'static str = Adaptive::UNIT;
    const KIND: &'static Kind = &Kind {
        name: "adaptive-by-hour",
        spans: &["decay", "increase", "day"],
        read: |_, bytes| Habits::read(bytes).map(drop),
    };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        Adaptive::read(given)
    }

    fn quota(&self) -> Option<Rate> {
        self.hourly.quota()
    }

    fn relaxed(&self, _by: Relax) -> Result<Self, NotRelaxed> {
        Err(FINDS_ITS_LIMIT)
    }

    /// The offset is not in the shape: when it changes, the habit of nine o'clock stays that of nine.
    fn shape(&self) -> Shape {
        let spans = [self.hourly.smoothing().decay, self.increase, self.day.length()];
        Shape::new(Self::KIND, spans)
    }

    fn keep(&self, state: &Habits, _now: Time, out: &mut Content) {
        state.keep(self.day.hour_of(state.current.at), out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<Habits, KeptError> {
        let (mut state, hour) = Habits::read(bytes)?;
        state.turn(hour, self.day.hour_of(state.current.at));
        Ok(state)
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        let Smoothed { decay, increase } = self.hourly.smoothing();
        let numbers = [
            self.hourly.factor(),
            decay.as_secs_f64(),
            increase.as_secs_f64(),
            self.hourly.floor(),
            self.hourly.mode().number(),
            self.day.hour as f64,
            self.day.ahead as f64,
        ];
        Ok(InF64::new(Lua { name: "by_hour", counts: false }, numbers))
    }
}

/// As in `adaptive x3 decay 10m increase 7d floor 10 by hour offset +1h leaky`.
impl fmt::Display for ByHour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decay = self.hourly.smoothing().decay;
        write!(f, "adaptive x{} decay {decay} ", self.hourly.factor())?;
        write!(f, "increase {} floor {}", self.increase, self.hourly.floor())?;
        write!(f, " by hour{} {}", self.day, self.hourly.mode())
    }
}

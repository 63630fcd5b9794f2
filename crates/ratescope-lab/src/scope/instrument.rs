//! The measuring instrument: a limiter under test, the red and the blue line, and their history.

use super::{Models, Settings};
use crate::lane::history::Grain;
use crate::lane::processes::Processes;
use crate::lane::{Lane, Sender};
use crate::run::{Arrival, Experiment};
use crate::trace::{Trace, TracePoint};
use ratescope::estimate::decay::{Decay, decay};
use ratescope::estimate::exim::{DecayingRate, Measured};
use ratescope::estimate::smoothed::Smoothed;
use ratescope::event::Event;
use ratescope::limit::Limiter;
use ratescope::limit::exim::Exim;
use ratescope::outcome::{Outcome, Retry};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// Exim's rate, the smoothed line, the limiter that decides, and the history of all three.
///
/// Exim's own limiter decides, or the [lane](crate::lane) of another limiter. The lines are here, not in a lane:
/// Compare does not draw them, and its eight lanes would keep their history for nothing.
#[derive(Clone, Debug)]
pub struct Instrument {
    /// Exim's limiter, which only measures if a lane decides.
    limiter: Exim,
    lane: Option<Box<Lane>>,
    increase: Span,
    /// One event per decay interval, in events per second.
    per_second: f64,
    state: Option<Measured>,
    /// The smoothed rate in events per decay interval, and its time: that of `state`, or of a later change of the
    /// intervals.
    smoothed: f64,
    since: Time,
    /// How many events were allowed and refused.
    allowed: u64,
    refused: u64,
    last: Option<LastEvent>,
    trace: Trace,
    models: Option<Box<Models>>,
}

/// The effect of the last event, for the formulas beside the graph. Rates are per decay interval at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastEvent {
    /// When it came.
    pub at: Time,
    /// Exim's limiter, as it was when it measured the event.
    pub limiter: Exim,
    /// Seconds since the rate was last stored; `None` for the first event.
    pub gap: Option<f64>,
    /// The rate that was stored before it.
    pub before: f64,
    /// The rate measured with it.
    pub rate: f64,
    /// The decision: by Exim at that rate, or by the lane.
    pub outcome: Outcome,
}

impl LastEvent {
    /// The weights of the event and of the rate before it; for the first event those of an infinite gap.
    pub fn weights(&self) -> Decay {
        let gap = self.gap.unwrap_or(f64::INFINITY);
        decay(gap.max(1e-9) / self.limiter.limit.per().as_secs_f64())
    }
}

impl Experiment for Instrument {
    type Settings = Settings;

    const PER_FRAME: usize = 400_000;

    fn new(settings: &Settings, begin: Time) -> Result<Self, ParseError> {
        let limiter = settings.measure()?;
        let mut instrument = Instrument {
            limiter,
            lane: None,
            increase: settings.increase,
            per_second: limiter.limit.per().as_secs_f64().recip(),
            state: None,
            smoothed: 0.0,
            since: begin,
            allowed: 0,
            refused: 0,
            last: None,
            trace: Trace::new(),
            models: models(settings, true)?,
        };
        instrument.decide_by(begin, settings)?;
        Ok(instrument)
    }

    #[inline]
    fn event(&mut self, arrival: &Arrival) {
        let Arrival { at, cost, refused, .. } = *arrival;
        let smoothed = self.smoothed_at(at);
        let before = self.state;
        let initial = self.limiter.initial();
        let mut state = before.unwrap_or(initial);
        let measured = match refused {
            None => self.limiter.check(&mut state, at, cost),
            // In leaky mode, an event that was refused elsewhere was not counted there.
            Some(refused) => {
                let measured = self.limiter.peek(&state, at, cost);
                self.limiter.record(&mut state, at, cost, !refused);
                measured
            }
        };
        self.state = (state != initial).then_some(state);
        // A refused event that is not stored changes neither line.
        let counted = self.state != before;
        let rate = if counted {
            self.smoothed = smoothed;
            self.since = at;
            measured.level
        } else {
            self.rate_at(at)
        };
        let mut outcome = match &mut self.lane {
            None => measured,
            Some(lane) => lane.event(
                &Event { time: at, cost, fields: &Sender("") },
                0,
                self.trace.total() + 1,
            ),
        };
        // A service's decision is shown as it was, with the level that was measured here.
        if let Some(refused) = refused {
            outcome.wait = outcome.wait.or(Some(Span::ZERO)).filter(|_| !refused);
        }
        let refused = !outcome.is_allowed();
        self.allowed += u64::from(!refused);
        self.refused += u64::from(refused);
        let gap = before.map(|last| at.since(last.at));
        let before = before.map_or(0.0, |last| last.rate);
        let limiter = self.limiter;
        self.last = Some(LastEvent { at, limiter, gap, before, rate: measured.level, outcome });
        self.record(at, rate, smoothed, u32::from(!refused), u32::from(refused));
        if let Some(models) = &mut self.models {
            models.event(at, counted);
        }
    }

    /// Rates in events per second stay the same. The limit keeps its number of events per decay interval, even if the
    /// interval changes.
    ///
    /// Only a new decay interval changes the stored rate, which is rescaled and stored at the present time. After any
    /// other change, the gap of the next event still counts from the last event.
    fn follow(&mut self, now: Time, settings: &Settings) -> Result<(), ParseError> {
        self.decide_by(now, settings)?;
        let limiter = settings.measure()?;
        let increase = settings.increase;
        let period = limiter.limit.per();
        let rescaled = period != self.period();
        let changed = rescaled || increase != self.increase;
        if changed {
            let smoothed =
                self.smoothed_at(now) * (period.as_secs_f64() / self.period().as_secs_f64());
            self.smoothed = smoothed;
            self.since = now;
        }
        if rescaled {
            let old = self.estimator();
            self.state = self.state.map(|last| {
                let now = now.max(last.at);
                old.rescale(Measured { rate: old.rate_at(last, now), at: now }, period)
            });
        }
        self.limiter = limiter;
        self.increase = increase;
        self.per_second = period.as_secs_f64().recip();
        if changed && self.state.is_some() {
            self.record(now, self.rate_at(now), self.smoothed, 0, 0);
        }
        match &mut self.models {
            Some(models) if settings.shows_models() => models.follow(now, settings)?,
            here => *here = models(settings, self.trace.total() == 0)?,
        }
        Ok(())
    }

    fn column_end(&self) -> Time {
        self.lane.as_ref().map_or(Time::LAST, |lane| lane.history().last())
    }

    fn end_column(&mut self) {
        self.lane.iter_mut().for_each(|lane| lane.close());
    }

    /// For every four limits of its policy, a lane takes about eight times as long as Exim's limiter alone.
    fn weight(&self) -> usize {
        self.lane.as_ref().map_or(1, |lane| 8 * lane.policy().limits().len().div_ceil(4))
    }

    fn with_new_history(&self, now: Time, grain: Grain) -> Self {
        let total = self.trace.total();
        let lane =
            self.lane.as_ref().map(|lane| Box::new(lane.with_new_history(now, total, grain)));
        let mut copy = Instrument { lane, trace: Trace::after(total), models: None, ..*self };
        if self.state.is_some() {
            copy.record(now, self.rate_at(now), self.smoothed_at(now), 0, 0);
        }
        copy
    }
}

/// The models, if one of their lines is drawn; `whole` says that the run had no events so far.
fn models(settings: &Settings, whole: bool) -> Result<Option<Box<Models>>, ParseError> {
    settings.shows_models().then(|| Models::new(settings, whole).map(Box::new)).transpose()
}

impl Instrument {
    /// Exim's limiter.
    pub fn limiter(&self) -> Exim {
        self.limiter
    }

    /// The lane that decides in place of Exim's limiter, if there is one.
    pub fn lane(&self) -> Option<&Lane> {
        self.lane.as_deref()
    }

    /// Makes the lane of the settings, unless it exists, or removes it if the settings have none.
    fn decide_by(&mut self, now: Time, settings: &Settings) -> Result<(), ParseError> {
        let Some((template, policy)) = settings.policy()? else {
            self.lane = None;
            return Ok(());
        };
        let one = (Processes { count: 1, ..Processes::default() }, 0);
        if !self.lane.as_ref().is_some_and(|lane| lane.is(&template, &policy, one)) {
            let rate = Rate::new(settings.limit, settings.decay)?;
            let lane = Lane::new(template, policy, rate, one, now, self.trace.total());
            self.lane = Some(Box::new(lane));
        }
        self.lane.iter_mut().for_each(|lane| lane.ask_about(1.0, settings.decay));
        Ok(())
    }

    /// The decay interval p.
    pub fn period(&self) -> Span {
        self.limiter.limit.per()
    }

    /// The increase interval q.
    pub fn increase(&self) -> Span {
        self.increase
    }

    /// The red line at `now`, in events per decay interval.
    pub fn rate_at(&self, now: Time) -> f64 {
        self.state.map_or(0.0, |last| self.estimator().rate_at(last, now))
    }

    /// The blue line at `now`, in events per decay interval.
    pub fn smoothed_at(&self, now: Time) -> f64 {
        let Some(last) = self.state else { return 0.0 };
        let smoothing = Smoothed { decay: self.period(), increase: self.increase };
        let rate = if self.since > last.at {
            self.estimator().rate_at(last, self.since)
        } else {
            last.rate
        };
        smoothing.after(self.smoothed, rate, now.since(self.since))
    }

    /// How long after `now` an event of cost 1 would be allowed; at once if there is no limit.
    pub fn retry_after(&self, now: Time) -> Retry {
        if let Some(lane) = &self.lane {
            return lane.retry_after(now);
        }
        let state = self.state.unwrap_or(self.limiter.initial());
        self.limiter.retry_after(&state, now, 1.0)
    }

    /// Events allowed so far.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Events refused so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The last event.
    pub fn last(&self) -> Option<LastEvent> {
        self.last
    }

    /// The history.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The models, while one of their lines is drawn.
    pub fn models(&self) -> Option<&Models> {
        self.models.as_deref()
    }

    fn estimator(&self) -> DecayingRate {
        self.limiter.estimator()
    }

    #[inline(always)]
    fn record(&mut self, now: Time, rate: f64, smoothed: f64, allowed: u32, refused: u32) {
        self.trace.push(&TracePoint {
            at: now,
            rate: rate * self.per_second,
            smoothed: smoothed * self.per_second,
            decay: self.period(),
            increase: self.increase,
            judged: self.last.map_or(0.0, |event| event.outcome.level),
            limit: self.limiter.limit.count(),
            stored: self.state.unwrap_or(self.limiter.initial()),
            allowed,
            refused,
        });
    }
}

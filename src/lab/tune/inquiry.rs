//! Choices put to a log's clients, and the whole answer, as far as it is.

use super::{
    Advice, Choices, Curve, Frontier, Marks, Measure, PERIODS, Part, Replay, Study, Summary, advise,
};
use crate::limit::any::AnyLimiter;
use crate::time::Span;

/// What is asked about a log. Ask, then [`advance`](Self::advance) until there is nothing left to
/// do; what is known by then can be looked at all the time.
#[derive(Clone, Debug)]
pub struct Inquiry {
    study: Study,
    choices: Choices,
    frontier: Option<Frontier>,
    shown: Option<(Curve, Advice)>,
    periods: Vec<(Span, Advice)>,
}

impl Inquiry {
    /// Of the clients of a log.
    pub fn new(summary: Summary, choices: Choices) -> Self {
        let study = Study::new(summary);
        Inquiry { study, choices, frontier: None, shown: None, periods: Vec::new() }
    }

    /// Other choices. Those about how a log is read change nothing any more.
    pub fn ask(&mut self, choices: Choices) {
        self.choices = choices;
        self.forget();
    }

    /// Marks clients as legitimate, in place of those marked before.
    pub fn mark(&mut self, marks: &Marks) {
        self.study.mark(marks);
        self.forget();
    }

    fn forget(&mut self) {
        (self.frontier, self.shown) = (None, None);
        self.periods.clear();
    }

    /// Goes on for about `budget` events; whether nothing is left to do.
    pub fn advance(&mut self, budget: u64) -> bool {
        let first = self.plan();
        self.study.advance(budget);
        // What was counted may be what the next question waited for.
        !self.plan() && !first && self.study.is_done()
    }

    /// Asks for whatever can be asked for by now; whether something more was.
    fn plan(&mut self) -> bool {
        let bucket = self.choices.by.is_none() && self.choices.rate.is_none();
        let Some(measure) = self.choices.measure(self.frontier.as_ref()) else {
            return self.survey();
        };
        if self.shown.is_none() {
            match self.study.curve(measure) {
                None => return self.study.measure(&[measure]),
                Some(curve) => {
                    let advice = advise(&curve, &self.choices.aim);
                    self.shown = Some((curve, advice));
                }
            }
        }
        let asked = self.limiter().is_some_and(|limiter| self.study.replay(limiter));
        asked || (!bucket && self.survey()) || self.compare()
    }

    /// The frontier.
    fn survey(&mut self) -> bool {
        if self.frontier.is_some() {
            return false;
        }
        let measures = Frontier::measures();
        let curves: Vec<Curve> = measures.iter().filter_map(|m| self.study.curve(*m)).collect();
        if curves.len() < measures.len() {
            return self.study.measure(&measures);
        }
        let checked = curves.first().is_some_and(|curve| curve.all.clients(Part::Checked) > 0);
        let part = if checked { Part::Learned } else { Part::Whole };
        self.frontier = Some(Frontier::new(&curves, &self.choices.aim, part));
        true
    }

    /// The other periods.
    fn compare(&mut self) -> bool {
        let Some(by) = self.choices.by.filter(|_| self.periods.is_empty()) else { return false };
        let mut periods = PERIODS.to_vec();
        if !periods.contains(&self.choices.period) {
            periods.push(self.choices.period);
        }
        periods.sort_by(|a, b| a.secs().total_cmp(&b.secs()));
        let measures: Vec<Measure> = periods.iter().map(|period| by.measure(*period)).collect();
        let curves: Vec<Curve> = measures.iter().filter_map(|m| self.study.curve(*m)).collect();
        if curves.len() < measures.len() {
            return self.study.measure(&measures);
        }
        let advice = curves.iter().map(|curve| advise(curve, &self.choices.aim));
        self.periods = periods.into_iter().zip(advice).collect();
        true
    }

    /// The choices in force.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// What is studied.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The curve that is shown, and what it recommends.
    pub fn shown(&self) -> Option<&(Curve, Advice)> {
        self.shown.as_ref()
    }

    /// The limit in force: the chosen one, or that which is recommended.
    pub fn limit(&self) -> Option<f64> {
        self.choices.limit.or(self.shown.as_ref()?.1.limit)
    }

    /// The limiter with that limit.
    pub fn limiter(&self) -> Option<AnyLimiter> {
        self.choices.limiter(self.shown.as_ref()?.0.measure, self.limit()?)
    }

    /// What that limiter refuses, as far as it is counted; none of another one.
    pub fn replayed(&self) -> Option<&Replay> {
        let limiter = self.limiter()?;
        self.study.replayed().filter(|replay| *replay.limiter() == limiter)
    }

    /// The buckets that would do.
    pub fn frontier(&self) -> Option<&Frontier> {
        self.frontier.as_ref()
    }

    /// What is recommended for other periods; of buckets, nothing.
    pub fn periods(&self) -> &[(Span, Advice)] {
        &self.periods
    }
}

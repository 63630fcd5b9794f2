//! Choices put to a log's clients, and the whole answer, as far as it is.

use super::{Advice, Choices, Frontier, MarkedKeys, PERIODS, Study, advise, network};
use crate::lab::tune::{Curve, Measure, Part, Replay, Summary, scale};
use crate::limit::any::AnyLimiter;
use crate::time::Span;

/// What is asked about a log. Ask, then [`advance`](Self::advance) until there is nothing left to
/// do; what is known by then can be looked at all the time.
#[derive(Clone, Debug)]
pub struct Analysis {
    study: Study,
    choices: Choices,
    network: Option<String>,
    frontier: Option<Frontier>,
    shown: Option<(Curve, Advice)>,
    periods: Vec<(Span, Advice)>,
    /// Limits whose refusals are counted, and the one on the way, with those after it.
    counted: Vec<[f64; 2]>,
    sounding: Option<(Vec<f64>, Option<Replay>)>,
}

impl Analysis {
    /// Of the clients of a log, which was read as `choices` say.
    pub fn new(summary: Summary, choices: Choices) -> Self {
        let study = Study::new(summary);
        let network = network(study.clients()).map(str::to_owned);
        Analysis {
            study,
            choices,
            network,
            frontier: None,
            shown: None,
            periods: Vec::new(),
            counted: Vec::new(),
            sounding: None,
        }
    }

    /// Other choices. How the log was read stays what it was.
    pub fn ask(&mut self, choices: Choices) {
        let Choices { reading, limit, by_refused, .. } = self.choices.clone();
        let choices = Choices { reading, ..choices };
        // Another limit, or another order of the table, is another place on the same curve.
        let same = Choices { limit, by_refused, ..choices.clone() } == self.choices;
        self.choices = choices;
        if !same {
            self.forget();
        }
    }

    /// MarkedKeys clients as legitimate, in place of those marked before.
    pub fn mark(&mut self, marks: &MarkedKeys) {
        self.study.mark(marks);
        self.forget();
    }

    fn forget(&mut self) {
        (self.frontier, self.shown) = (None, None);
        self.periods.clear();
        self.counted.clear();
        self.sounding = None;
    }

    /// Goes on for about `budget` events; whether nothing is left to do.
    pub fn advance(&mut self, budget: u64) -> bool {
        let first = self.plan();
        if self.study.is_done() {
            return !self.sound(budget) && !first;
        }
        self.study.advance(budget);
        // What was counted may be what the next question waited for.
        self.plan();
        false
    }

    /// Counts what round limits along the curve refuse, where each takes a replay; whether there is
    /// more to count.
    fn sound(&mut self, budget: u64) -> bool {
        let Some((curve, _)) = &self.shown else { return false };
        let measure = curve.measure;
        let (limits, replay) = self.sounding.get_or_insert_with(|| (soundings(curve), None));
        if let Some(running) = replay {
            if running.advance(self.study.clients(), budget)
                && let Some(limit) = limits.pop()
            {
                self.counted.push([limit, running.refused() as f64]);
                *replay = None;
            }
            return true;
        }
        let Some(limit) = limits.last() else { return false };
        match self.choices.limiter(measure, *limit) {
            Some(limiter) => {
                *replay = Some(Replay::new(self.study.clients(), limiter, self.study.clock()));
            }
            None => {
                limits.pop();
            }
        }
        true
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
        let part = curves.first().map_or(Part::Whole, Curve::learned_from);
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
        let measures: Vec<Measure> =
            periods.iter().map(|period| self.choices.over(by, *period)).collect();
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

    /// The configuration of the server with that limiter, or why it can't be written, and what is to be
    /// known about it.
    pub fn configuration(&self) -> Option<Result<(String, Vec<String>), String>> {
        let (limiter, network) = (self.limiter()?, self.network.as_deref());
        Some(self.choices.configure(&limiter, &self.study.summary().per, network))
    }

    /// What that limiter refuses, as far as it is counted; none of another one.
    pub fn replayed(&self) -> Option<&Replay> {
        let limiter = self.limiter()?;
        self.study.replayed().filter(|replay| *replay.limiter() == limiter)
    }

    /// Limits along the curve and how many requests they refuse, where that can't be told for all.
    pub fn counted(&self) -> &[[f64; 2]] {
        &self.counted
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

/// Round limits, 1, 2 or 5 times a power of ten, from where all clients are touched to where none
/// is, the highest first; none where the curve says for all limits what they refuse.
fn soundings(curve: &Curve) -> Vec<f64> {
    let Some([from, to]) = curve.steps().ends() else { return Vec::new() };
    let mut limits: Vec<f64> = scale::nice()
        .filter(|limit| scale::is_round(*limit) && (from / 2.0..=to * 2.0).contains(limit))
        .filter(|limit| *limit >= 1.0 && !curve.measure.counts_all())
        .collect();
    limits.reverse();
    limits
}

//! The answer about a log: the counts so far, and the next ones to make.

use super::plateau::Plateau;
use super::rows::{LimitRow, rows};
use super::{Choices, TableOrder};
use crate::export::Addresses;
use crate::tune::{
    Advice, Clients, Curve, Doubt, Frontier, Imported, LogClock, MarkedKeys, Measure, PERIODS,
    Part, Peak, Replay, advise, scale,
};
use core::ops::Range;
use ratescope::limit::any::AnyLimiter;
use ratescope::time::{Span, Time};

/// A log and the choices put to it. Call [`advance`](Self::advance) until nothing is left to do; the
/// answer so far can be read at any time.
#[derive(Clone, Debug)]
pub struct Analysis {
    log: Imported,
    clock: LogClock,
    /// The places of all clients, the busiest first.
    pub(super) busiest: Vec<usize>,
    addresses: Addresses,
    cut: Option<Time>,
    /// The places of the marked clients, in order.
    pub(super) marked: Vec<usize>,
    /// The places of the clients to be stopped, in order, and of all that are no reason for a limit: these, and those
    /// that the limit should be chosen without.
    pub(super) to_stop: Vec<usize>,
    aside: Vec<usize>,
    /// The marks that match no client.
    pub(super) unknown_marks: Vec<String>,

    choices: Choices,
    /// The periods to compare, if they were given; otherwise the usual ones, and none for a bucket.
    given_periods: Option<Vec<Span>>,

    /// Curves of all clients, without marks; those wanted most recently are at the end.
    curves: Vec<Curve>,
    /// The curves being counted, and the place of the next client.
    job: Option<(Vec<Curve>, usize)>,
    /// The limiter in force, as far as it has been replayed.
    replay: Option<Replay>,
    /// The limiter of the row that is being counted, as far as it has been replayed.
    row_replay: Option<Replay>,
    /// The limiter of today, as far as it has been replayed.
    today: Option<Replay>,
    /// The highest levels of all clients, if the table is sorted by them.
    pub(super) peaks: Vec<Option<Peak>>,

    frontier: Option<Frontier>,
    shown: Option<(Curve, Advice)>,
    /// The place of the client that decides the limit, where one does.
    pub(super) fastest: Option<usize>,
    periods: Vec<(Span, Advice)>,
    rows: Vec<LimitRow>,
    /// The limit without the outliers, if there are any; the outer `None` until that is known.
    plateau: Option<Option<Plateau>>,
}

/// The number of curves kept for later questions. All curves of one question are kept anyway.
const CURVES: usize = 64;

/// The two functions that go through many clients: on one thread, or on several.
#[expect(missing_debug_implementations, reason = "it has functions only")]
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// Adds the clients at some places to curves, as [`Clients::measure`] does.
    pub count: &'a Count<'a>,
    /// Goes on with a replay for at least about so many events, as [`Replay::advance`] does.
    pub replay: &'a dyn Fn(&mut Replay, &Clients, u64) -> bool,
}

type Count<'a> = dyn Fn(&Clients, &mut [Curve], Option<Time>, Range<usize>) + 'a;

impl Analysis {
    /// The analysis of a log, with nothing counted yet.
    pub fn new(log: Imported, choices: Choices) -> Self {
        let clients = &log.summary.clients;
        let mut analysis = Analysis {
            clock: log.summary.clock(),
            busiest: clients.busiest(),
            addresses: log.addresses(),
            cut: clients.usual_cut(),
            marked: Vec::new(),
            to_stop: Vec::new(),
            aside: Vec::new(),
            unknown_marks: Vec::new(),
            choices: choices.clone(),
            given_periods: None,
            curves: Vec::new(),
            job: None,
            replay: None,
            row_replay: None,
            today: None,
            peaks: Vec::new(),
            frontier: None,
            shown: None,
            fastest: None,
            periods: Vec::new(),
            rows: Vec::new(),
            plateau: None,
            log,
        };
        analysis.ask(choices);
        analysis
    }

    /// Takes other choices. The options of reading in them are replaced by those with which the log was read.
    pub fn ask(&mut self, choices: Choices) {
        let choices = Choices { reading: self.log.options.clone(), ..choices };
        // If only the limit, today's limit or the order of the table changes, the curve stays.
        let Choices { limit, order, .. } = self.choices;
        let today = self.choices.today;
        let same = Choices { limit, order, today, ..choices.clone() } == self.choices;
        self.choices = choices;
        if !same {
            self.forget();
        }
    }

    /// Compares these periods instead of the usual ones. All curves are then counted together, so that the
    /// events are read only once.
    pub fn compare(&mut self, periods: Vec<Span>) {
        self.given_periods = Some(periods);
        let wanted = self.measures().into_iter().map(|(_, measure)| measure);
        let wanted = wanted.chain(Frontier::measures()).chain([self.measure_of_outliers()]);
        let wanted: Vec<Measure> = wanted.collect();
        self.want(&wanted);
    }

    /// Marks clients as legitimate, in place of those marked before.
    pub fn mark(&mut self, marks: &MarkedKeys) {
        self.mark_all(marks, &MarkedKeys::default(), &MarkedKeys::default());
    }

    /// Marks clients, in place of those marked before: the legitimate ones, which no limit may touch; those to be stopped;
    /// and those `without` which the limit should be chosen. A legitimate client is neither of the others.
    pub fn mark_all(&mut self, legitimate: &MarkedKeys, stop: &MarkedKeys, without: &MarkedKeys) {
        let clients = &self.log.summary.clients;
        let [(marked, unknown), (stop, none), (without, neither)] =
            [legitimate, stop, without].map(|marks| marks.places(clients));
        let unknown = unknown.into_iter().chain(none).chain(neither);
        self.unknown_marks = unknown.map(str::to_owned).collect();
        let free = |place: &usize| marked.binary_search(place).is_err();
        self.to_stop = stop.into_iter().filter(free).collect();
        self.aside = self.to_stop.iter().copied().chain(without.into_iter().filter(free)).collect();
        self.aside.sort_unstable();
        self.aside.dedup();
        self.marked = marked;
        self.forget();
    }

    fn forget(&mut self) {
        (self.frontier, self.shown, self.row_replay, self.plateau) = (None, None, None, None);
        self.periods.clear();
        self.peaks.clear();
        self.rows.clear();
    }

    /// Goes on for about `budget` events; returns whether nothing is left to do.
    pub fn advance(&mut self, budget: u64) -> bool {
        self.advance_by(budget, Hands { count: &Clients::measure, replay: &Replay::advance })
    }

    /// The same as [`advance`](Self::advance), with these functions for the work on many clients.
    pub fn advance_by(&mut self, budget: u64, hands: Hands<'_>) -> bool {
        let asked = self.plan();
        let clients = &self.log.summary.clients;
        // The replay comes first: a user who moves the limit waits for it.
        if let Some(replay) = self.replay.as_mut().filter(|replay| !replay.is_done()) {
            (hands.replay)(replay, clients, budget);
            return false;
        }
        if let Some(today) = self.today.as_mut().filter(|today| !today.is_done()) {
            (hands.replay)(today, clients, budget);
            return false;
        }
        let plateau = self.plateau.as_mut().and_then(Option::as_mut);
        if let Some(plateau) = plateau.filter(|plateau| !plateau.replay.is_done()) {
            (hands.replay)(&mut plateau.replay, clients, budget);
            return false;
        }
        if self.job.is_some() {
            self.count(budget, hands.count);
            return false;
        }
        !self.count_row(budget, hands) && !asked
    }

    /// Derives what follows from the curves that are known, and asks for the next curves or replays. Returns
    /// whether anything changed or is still missing.
    fn plan(&mut self) -> bool {
        let Some(measure) = self.choices.measure(self.frontier.as_ref()) else {
            return self.plan_frontier();
        };
        if self.shown.is_none() {
            let Some(curve) = self.known(&[measure]).and_then(|mut curves| curves.pop()) else {
                return true;
            };
            let advice = advise(&curve, &self.choices.aim);
            self.rows = rows(&curve, &advice, &self.choices);
            self.fastest = self.deciding(&curve, &advice);
            self.shown = Some((curve, advice));
        }
        let limiter = self.limiter();
        if self.replay.as_ref().map(Replay::limiter) != limiter.as_ref() {
            let replay = |limiter| self.begin_replay(limiter).counting_labels();
            self.replay = limiter.map(replay);
            return true;
        }
        let today = self.choices.limiter_of_today();
        if self.today.as_ref().map(Replay::limiter) != today.as_ref() {
            self.today = today.map(|limiter| self.begin_replay(limiter));
            return true;
        }
        if matches!(self.choices.order, TableOrder::Peak | TableOrder::PeakAt)
            && self.peaks.is_empty()
        {
            let clients = &self.log.summary.clients;
            let peak = |place| measure.peak(clients.moments(place));
            self.peaks = (0..clients.len()).map(peak).collect();
        }
        self.plan_plateau() || self.plan_frontier() || self.plan_periods()
    }

    fn plan_plateau(&mut self) -> bool {
        if self.plateau.is_some() {
            return false;
        }
        match self.find_plateau() {
            Some(found) => self.plateau = Some(found),
            None => return true,
        }
        matches!(self.plateau, Some(Some(_)))
    }

    /// The measure by which clients are outliers. For a bucket it is Exim's rate over the period, since the rate of the
    /// bucket is chosen for the fastest client, which then has no high level.
    fn measure_of_outliers(&self) -> Measure {
        self.choices.over(self.choices.by.unwrap_or_default(), self.choices.period)
    }

    /// The limit without the outliers, if there are any and it is another one than with them; the outer `None` if a curve
    /// is missing.
    fn find_plateau(&mut self) -> Option<Option<Plateau>> {
        let curve = self.known(&[self.measure_of_outliers()])?.pop()?;
        let is_free = |place: usize| {
            [&self.aside, &self.marked].iter().all(|some| some.binary_search(&place).is_err())
        };
        let outliers = curve.outliers(&self.log.summary.clients, self.cut, is_free);
        if outliers.is_empty() {
            return Some(None);
        }
        let mut aside: Vec<usize> = self.aside.iter().chain(&outliers).copied().collect();
        aside.sort_unstable();
        let without = |curves: &mut [Curve], clients: &Clients, cut| {
            curves.iter_mut().for_each(|curve| curve.leave_aside(clients, cut, &aside));
        };
        let mut frontier = None;
        if self.choices.by.is_none() && self.choices.rate.is_none() {
            let mut curves = self.known(&Frontier::measures())?;
            without(&mut curves, &self.log.summary.clients, self.cut);
            let part = curves.first().map_or(Part::Whole, Curve::learned_from);
            frontier = Some(Frontier::new(&curves, &self.choices.aim, part));
        }
        let Some(measure) = self.choices.measure(frontier.as_ref()) else { return Some(None) };
        let mut curves = self.known(&[measure])?;
        without(&mut curves, &self.log.summary.clients, self.cut);
        let limit = curves.first().and_then(|curve| advise(curve, &self.choices.aim).limit);
        let limiter = limit.and_then(|limit| self.choices.limiter(measure, limit));
        let (all, advice) = self.shown.as_ref()?;
        let upper = advice.limit.and_then(|limit| self.choices.limiter(all.measure, limit));
        let upper = upper.filter(|upper| limiter.as_ref() != Some(upper));
        let plateau =
            limiter.zip(upper).zip(advice.limit).map(|((limiter, upper), limit)| Plateau {
                outliers,
                upper,
                upper_touches: all.touched(limit),
                replay: self.begin_replay(limiter),
            });
        Some(plateau)
    }

    /// The limit without the clients far above all others, once it is known and counted; `None` if there is none, or it
    /// refuses them nothing.
    pub fn plateau(&self) -> Option<&Plateau> {
        let plateau = self.plateau.as_ref()?.as_ref()?;
        (plateau.replay.is_done() && plateau.replay.refused() > 0).then_some(plateau)
    }

    /// Returns whether it is known, and counted, if there is such a limit.
    fn has_plateau(&self) -> bool {
        let is_done = |plateau: &Plateau| plateau.replay.is_done();
        self.plateau.as_ref().is_some_and(|plateau| plateau.as_ref().is_none_or(is_done))
    }

    fn begin_replay(&self, limiter: AnyLimiter) -> Replay {
        Replay::new(&self.log.summary.clients, limiter, &self.clock, &self.curves)
    }

    /// The client that decides the limit: the fastest one, if none may be refused.
    fn deciding(&self, curve: &Curve, advice: &Advice) -> Option<usize> {
        let is_one = |doubt: &Doubt| matches!(doubt, Doubt::FewClients(2..));
        let limit = advice.limit.filter(|_| advice.doubts.iter().any(is_one))?;
        let below = scale::nice().take_while(|below| *below < limit).last().unwrap_or(0.0);
        curve.fastest(&self.log.summary.clients, self.cut, below, &self.aside)
    }

    fn plan_frontier(&mut self) -> bool {
        if self.frontier.is_some() {
            return false;
        }
        if let Some(curves) = self.known(&Frontier::measures()) {
            let part = curves.first().map_or(Part::Whole, Curve::learned_from);
            self.frontier = Some(Frontier::new(&curves, &self.choices.aim, part));
        }
        true
    }

    fn plan_periods(&mut self) -> bool {
        if !self.periods.is_empty() {
            return false;
        }
        let (periods, measures): (Vec<Span>, Vec<Measure>) = self.measures().into_iter().unzip();
        if let Some(curves) = self.known(&measures) {
            let advice = curves.iter().map(|curve| advise(curve, &self.choices.aim));
            self.periods = periods.into_iter().zip(advice).collect();
            return !self.periods.is_empty();
        }
        true
    }

    /// The periods to compare and the measure for each, as far as the rate of a bucket is known.
    fn measures(&self) -> Vec<(Span, Measure)> {
        let usual = || {
            let mut periods = PERIODS.to_vec();
            if !periods.contains(&self.choices.period) {
                let shorter = |period: &Span| period.secs() < self.choices.period.secs();
                periods.insert(periods.partition_point(shorter), self.choices.period);
            }
            if self.choices.by.is_some() { periods } else { Vec::new() }
        };
        let measured = |period: Span| {
            let choices = Choices { period, ..self.choices.clone() };
            Some((period, choices.measure(self.frontier.as_ref())?))
        };
        let periods = self.given_periods.clone().unwrap_or_else(usual);
        periods.into_iter().filter_map(measured).collect()
    }

    /// The curves of some measures with the marked clients; `None` if one is missing; it is then asked for.
    fn known(&mut self, measures: &[Measure]) -> Option<Vec<Curve>> {
        if self.want(measures) {
            return None;
        }
        let curve = |measure: &Measure| {
            let mut curve = self.curves.iter().find(|curve| curve.measure == *measure)?.clone();
            curve.mark(&self.log.summary.clients, self.cut, &self.marked);
            curve.leave_aside(&self.log.summary.clients, self.cut, &self.aside);
            Some(curve)
        };
        measures.iter().map(curve).collect()
    }

    /// Asks for the curves of some measures. Returns whether one of them is not known yet.
    fn want(&mut self, measures: &[Measure]) -> bool {
        let has = |curves: &[Curve], measure| curves.iter().any(|curve| curve.measure == measure);
        let mut missing: Vec<Measure> = Vec::new();
        for measure in measures {
            if !has(&self.curves, *measure) && !missing.contains(measure) {
                missing.push(*measure);
            }
        }
        let coming = |measure: &Measure| self.job.as_ref().is_some_and(|job| has(&job.0, *measure));
        if !missing.iter().all(coming) {
            // A job that was begun for another question starts again, together with these curves.
            let begun = self.job.take().map_or(Vec::new(), |(curves, _)| curves);
            let begun = begun.iter().map(|curve| curve.measure);
            let begun: Vec<Measure> = begun.filter(|begun| !missing.contains(begun)).collect();
            missing.extend(begun);
            self.job = Some((missing.iter().copied().map(Curve::new).collect(), 0));
        }
        self.curves.sort_by_key(|curve| measures.contains(&curve.measure));
        !missing.is_empty()
    }

    fn count(&mut self, budget: u64, count: &Count<'_>) {
        let clients = &self.log.summary.clients;
        let Some((curves, from)) = &mut self.job else { return };
        let (mut to, mut work) = (*from, 0u64);
        while to < clients.len() && work < budget {
            work = work.saturating_add((clients.requests_of(to) + 1) * curves.len() as u64);
            to += 1;
        }
        count(clients, curves, self.cut, *from..to);
        *from = to;
        if to < clients.len() {
            return;
        }
        let most = CURVES.max(curves.len());
        self.curves.append(curves);
        self.curves.drain(..self.curves.len().saturating_sub(most));
        self.job = None;
    }

    /// Counts what the limit of a row refuses, the highest limit first. Returns whether there was such a row.
    fn count_row(&mut self, budget: u64, hands: Hands<'_>) -> bool {
        let Some((curve, _)) = &self.shown else { return false };
        let missing = |row: &&mut LimitRow| row.refused.is_none();
        let Some(row) = self.rows.iter_mut().rev().find(missing) else { return false };
        let clients = &self.log.summary.clients;
        let limiter = self.choices.limiter(curve.measure, row.limit);
        let new = || Some(Replay::new(clients, limiter?, &self.clock, &self.curves));
        let Some(mut replay) = self.row_replay.take().or_else(new) else { return false };
        match (hands.replay)(&mut replay, clients, budget) {
            true => row.refused = Some(replay.refused()),
            false => self.row_replay = Some(replay),
        }
        true
    }

    /// Returns whether the limit in force and all its refusals are known, and those of the limit of a
    /// [plateau](Self::plateau).
    pub fn is_decided(&self) -> bool {
        self.replayed().is_some_and(Replay::is_done) && self.has_plateau()
    }

    /// The choices in force.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// The log.
    pub fn imported(&self) -> &Imported {
        &self.log
    }

    /// The clients of the log.
    pub fn clients(&self) -> &Clients {
        &self.log.summary.clients
    }

    /// The clock by which the times of the log are shown.
    pub fn clock(&self) -> &LogClock {
        &self.clock
    }

    /// The share of the clients already counted for the missing curves, from 0 to 1; 1 if none is missing.
    pub fn measured(&self) -> f64 {
        let all = self.clients().len().max(1) as f64;
        self.job.as_ref().map_or(1.0, |(_, to)| *to as f64 / all)
    }

    /// The curve that is shown, and the limit that it recommends.
    pub fn shown(&self) -> Option<&(Curve, Advice)> {
        self.shown.as_ref()
    }

    /// The limit in force: the chosen one, or else the recommended one.
    pub fn limit(&self) -> Option<f64> {
        self.choices.limit.or(self.shown.as_ref()?.1.limit)
    }

    /// The limiter in force.
    pub fn limiter(&self) -> Option<AnyLimiter> {
        self.choices.limiter(self.shown.as_ref()?.0.measure, self.limit()?)
    }

    /// The server's configuration with the limiter in force, and notes on it; or why it can't be written.
    pub fn configuration(&self) -> Option<Result<(String, Vec<String>), String>> {
        let limiter = self.limiter()?;
        let costs = self.choices.check_costs(self.clients().highest_cost());
        let per = &self.log.summary.per;
        Some(costs.and_then(|()| self.choices.configure(&limiter, per, self.addresses)))
    }

    /// The replay of the limiter in force, as far as it has got.
    pub fn replayed(&self) -> Option<&Replay> {
        let limiter = self.limiter()?;
        self.replay.as_ref().filter(|replay| *replay.limiter() == limiter)
    }

    /// The replay of today's limiter, once it is done.
    pub fn replayed_today(&self) -> Option<&Replay> {
        self.today.as_ref().filter(|today| today.is_done())
    }

    /// Some limits of the curve and their effects, the lowest limit first.
    pub fn rows(&self) -> &[LimitRow] {
        &self.rows
    }

    /// The buckets that leave enough clients alone; `None` until they are known.
    pub fn frontier(&self) -> Option<&Frontier> {
        self.frontier.as_ref()
    }

    /// The recommendations for the periods to compare.
    pub fn periods(&self) -> &[(Span, Advice)] {
        &self.periods
    }
}

//! The answer about a log: the answer so far, and its stages.

use super::curves::Curves;
use super::plateau::Plateau;
use super::rows::{LimitRow, rows};
use super::{Choices, TableOrder};
use crate::tune::{
    Advice, Aim, Clients, Curve, Doubt, Frontier, Imported, LogClock, MarkedKeys, Measure, PERIODS,
    Part, Peak, Replay, advise, scale,
};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;
use ratescope::time::{Span, Time};
use ratescope_config::{Addresses, Target};

/// A log, and the choices to answer. Call [`step`](Self::step) until nothing is left to do; the answer so far can be
/// read at any time.
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
    /// The places of the clients to be stopped, in order.
    pub(super) to_stop: Vec<usize>,
    /// The places of the clients without which the user has the limit chosen, in order: those to be stopped, and those
    /// left out.
    aside: Vec<usize>,
    /// The marks that match no client.
    pub(super) unknown_marks: Vec<String>,

    choices: Choices,
    /// The given periods to compare; `None` for the usual periods, or none for a bucket.
    given_periods: Option<Vec<Span>>,

    curves: Curves,
    /// The replay of the limiter in force so far.
    replay: Option<Replay>,
    /// The replay of today's limiter so far.
    today: Option<Replay>,
    stage: Stage,
    pub(super) found: Found,
}

/// The parts of the answer that were found by now.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    shown: Option<(Curve, Advice)>,
    rows: Vec<LimitRow>,
    /// The place of the client that decides the limit, if one does.
    pub(super) fastest: Option<usize>,
    /// The highest levels of all clients, if the table is sorted by them.
    pub(super) peaks: Vec<Option<Peak>>,
    /// The places of all clients without which the limit is chosen, in order: also those far above all others. Empty
    /// until these are known.
    aside: Vec<usize>,
    plateau: Option<Plateau>,
    frontier: Option<Frontier>,
    periods: Vec<(Span, Advice)>,
    /// The replay of the current row's limiter so far.
    row_replay: Option<Replay>,
}

/// The stages, in this order. A stage whose answer is known ends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The clients far above all others.
    Outliers,
    /// The visible curve, the limit that it recommends, and the rows of its table.
    Curve,
    /// The limit with the outliers.
    Plateau,
    /// The refusals of the limit in force: a user who moves the limit waits for them.
    Replay,
    /// The refusals of today's limit.
    Today,
    /// The highest levels, if the table is sorted by them.
    Peaks,
    Frontier,
    Periods,
    /// The refusals of each row.
    Rows,
    Done,
}

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
            curves: Curves::default(),
            replay: None,
            today: None,
            stage: Stage::Outliers,
            found: Found::default(),
            log,
        };
        analysis.ask(choices);
        analysis
    }

    /// Takes other choices, but keeps the options with which the log was read.
    pub fn ask(&mut self, choices: Choices) {
        let choices = Choices { reading: self.log.options.clone(), ..choices };
        // If only the limit, today's limit or the order of the table changes, the curve stays.
        let Choices { limit, today, order, .. } = self.choices.clone();
        let same = Choices { limit, today, order, ..choices.clone() } == self.choices;
        self.choices = choices;
        if !same {
            self.clear();
        } else if self.found.shown.is_some() {
            self.stage = Stage::Replay;
        }
    }

    /// Compares these periods instead of the usual periods. All curves are then counted together, so that the events
    /// are read only once.
    pub fn compare(&mut self, periods: Vec<Span>) {
        self.given_periods = Some(periods);
        let mut wanted: Vec<Measure> =
            self.measures().into_iter().map(|(_, measure)| measure).collect();
        wanted.extend(Frontier::measures());
        wanted.push(self.measure_of_outliers());
        self.curves.want(&wanted);
    }

    /// Marks clients as legitimate, in place of earlier marks.
    pub fn mark(&mut self, marks: &MarkedKeys) {
        self.mark_all(marks, &MarkedKeys::default(), &MarkedKeys::default());
    }

    /// Marks clients, in place of earlier marks: legitimate clients, which no limit may touch; clients to be stopped;
    /// and clients `without` which the limit is chosen. A legitimate client is neither of the others.
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
        self.clear();
    }

    /// Drops the answer. The curves and the replays stay, for questions with the same limiters.
    fn clear(&mut self) {
        self.stage = Stage::Outliers;
        self.found = Found::default();
    }

    /// Goes on with a stage for about `budget` events; `u64::MAX` completes it with all processors. Returns whether
    /// nothing is left to do.
    pub fn step(&mut self, budget: u64) -> bool {
        let (is_found, next) = match self.stage {
            Stage::Outliers => (self.find_outliers(budget), Stage::Curve),
            Stage::Curve => (self.find_curve(budget), Stage::Plateau),
            Stage::Plateau => (self.find_plateau(budget), Stage::Replay),
            Stage::Replay => (self.replay(budget), Stage::Today),
            Stage::Today => (self.replay_today(budget), Stage::Peaks),
            Stage::Peaks => (self.find_peaks(), Stage::Frontier),
            Stage::Frontier => (self.find_frontier(budget), Stage::Periods),
            Stage::Periods => (self.find_periods(budget), Stage::Rows),
            Stage::Rows => (self.count_rows(budget), Stage::Done),
            Stage::Done => return true,
        };
        if is_found {
            self.stage = next;
        }
        self.stage == Stage::Done
    }

    fn find_curve(&mut self, budget: u64) -> bool {
        let Some(measure) = self.choices.measure(self.found.frontier.as_ref()) else {
            // The rate of the bucket follows from the frontier. If the frontier has no bucket, there is nothing to
            // show.
            if self.found.frontier.is_some() {
                self.stage = Stage::Done;
            }
            self.find_frontier(budget);
            return false;
        };
        let Some(curve) = self.curve(measure, budget) else { return false };
        let advice = advise(&curve, &self.aim());
        self.found.rows = rows(&curve, &advice, &self.choices);
        self.found.fastest = self.deciding(&curve, &advice);
        self.found.shown = Some((curve, advice));
        true
    }

    fn replay(&mut self, budget: u64) -> bool {
        let limiter = self.limiter();
        if self.replay.as_ref().map(Replay::limiter) != limiter.as_ref() {
            self.replay = limiter.map(|limiter| self.begin_replay(limiter).counting_labels());
        }
        advance(self.replay.as_mut(), &self.log.summary.clients, budget)
    }

    fn replay_today(&mut self, budget: u64) -> bool {
        let limiter = self.choices.limiter_of_today();
        if self.today.as_ref().map(Replay::limiter) != limiter.as_ref() {
            self.today = limiter.map(|limiter| self.begin_replay(limiter));
        }
        advance(self.today.as_mut(), &self.log.summary.clients, budget)
    }

    fn find_peaks(&mut self) -> bool {
        let is_wanted = matches!(self.choices.order, TableOrder::Peak | TableOrder::PeakAt);
        if let Some((curve, _)) = self.found.shown.as_ref().filter(|_| is_wanted)
            && self.found.peaks.is_empty()
        {
            let clients = &self.log.summary.clients;
            let peak = |place| curve.measure.peak(clients.moments(place));
            self.found.peaks = (0..clients.len()).map(peak).collect();
        }
        true
    }

    /// The measure for outliers, the same for all servers: Exim's rate over the period. The rate of a bucket is chosen for
    /// the fastest client, which then has no high level.
    fn measure_of_outliers(&self) -> Measure {
        Measure::Exim(self.choices.period)
    }

    fn find_outliers(&mut self, budget: u64) -> bool {
        let mut aside = self.aside.clone();
        // Failed logins have no others to be far above of: most of their clients are attackers.
        if self.aim() != Aim::Mistakes {
            let curve = self.marked_curves(&[self.measure_of_outliers()], &aside, budget);
            let Some(curve) = curve.and_then(|mut curves| curves.pop()) else { return false };
            let is_free = |place: usize| {
                [&self.aside, &self.marked].iter().all(|some| some.binary_search(&place).is_err())
            };
            aside.extend(curve.outliers(&self.log.summary.clients, self.cut, is_free));
            aside.sort_unstable();
        }
        self.found.aside = aside;
        true
    }

    /// Finds the limit with the outliers, if the recommended limit refuses them something.
    fn find_plateau(&mut self, budget: u64) -> bool {
        let Some((curve, advice)) = &self.found.shown else { return true };
        let is_refused = |place: &usize| {
            let peak = curve.measure.peak(self.clients().moments(*place));
            let over = curve.measure.over();
            peak.zip(advice.limit).is_some_and(|(peak, limit)| over.is_over(peak.level, limit))
        };
        let is_outlier = |place: &&usize| self.aside.binary_search(place).is_err();
        let outliers = self.found.aside.iter().filter(is_outlier);
        let outliers: Vec<usize> = outliers.copied().filter(is_refused).collect();
        let lower = advice.limit.and_then(|limit| self.choices.limiter(curve.measure, limit));
        if outliers.is_empty() || lower.is_none() {
            return true;
        }
        let aside = self.aside.clone();
        let mut frontier = None;
        if self.choices.by.is_none() && self.choices.rate.is_none() {
            let curves = self.marked_curves(&Frontier::measures(), &aside, budget);
            let Some(curves) = curves else { return false };
            frontier = Some(self.new_frontier(&curves));
        }
        let Some(measure) = self.choices.measure(frontier.as_ref()) else { return true };
        let curve = self.marked_curves(&[measure], &aside, budget);
        let Some(curve) = curve.and_then(|mut curves| curves.pop()) else { return false };
        let limit = advise(&curve, &self.aim()).limit;
        let upper = limit.and_then(|limit| self.choices.limiter(measure, limit));
        let touches = limit.map_or(0, |limit| curve.touched(limit));
        self.found.plateau = (upper != lower)
            .then_some(Plateau { outliers, upper: upper.map(|upper| (upper, touches)) });
        true
    }

    fn find_frontier(&mut self, budget: u64) -> bool {
        if self.found.frontier.is_none() {
            let curves = self.question_curves(&Frontier::measures(), budget);
            self.found.frontier = curves.map(|curves| self.new_frontier(&curves));
        }
        self.found.frontier.is_some()
    }

    fn new_frontier(&self, curves: &[Curve]) -> Frontier {
        let part = curves.first().map_or(Part::Whole, Curve::learned_from);
        Frontier::new(curves, &self.aim(), part)
    }

    fn find_periods(&mut self, budget: u64) -> bool {
        if self.found.periods.is_empty() {
            let (periods, measures): (Vec<Span>, Vec<Measure>) =
                self.measures().into_iter().unzip();
            let Some(curves) = self.question_curves(&measures, budget) else { return false };
            let advice = curves.iter().map(|curve| advise(curve, &self.aim()));
            self.found.periods = periods.into_iter().zip(advice).collect();
        }
        true
    }

    /// Counts the refusals of each row's limit, the highest limit first.
    fn count_rows(&mut self, budget: u64) -> bool {
        let Some((curve, _)) = &self.found.shown else { return true };
        let Some(row) = self.found.rows.iter_mut().rev().find(|row| row.refused.is_none()) else {
            return true;
        };
        let clients = &self.log.summary.clients;
        let limiter = self.choices.limiter(curve.measure, row.limit);
        let begin = || Some(Replay::new(clients, limiter?, &self.clock, self.curves.known()));
        let Some(mut replay) = self.found.row_replay.take().or_else(begin) else { return true };
        if advance(Some(&mut replay), clients, budget) {
            row.refused = Some(replay.refused());
        } else {
            self.found.row_replay = Some(replay);
        }
        false
    }

    /// The periods to compare, with their measures, if the rate of a bucket is known.
    fn measures(&self) -> Vec<(Span, Measure)> {
        let usual = || {
            let mut periods = PERIODS.to_vec();
            if !periods.contains(&self.choices.period) {
                let shorter =
                    |period: &Span| period.as_secs_f64() < self.choices.period.as_secs_f64();
                periods.insert(periods.partition_point(shorter), self.choices.period);
            }
            if self.choices.by.is_some() { periods } else { Vec::new() }
        };
        let measured = |period: Span| {
            let choices = Choices { period, ..self.choices.clone() };
            Some((period, choices.measure(self.found.frontier.as_ref())?))
        };
        let periods = self.given_periods.clone().unwrap_or_else(usual);
        periods.into_iter().filter_map(measured).collect()
    }

    fn curve(&mut self, measure: Measure, budget: u64) -> Option<Curve> {
        self.question_curves(&[measure], budget)?.pop()
    }

    /// As [`marked_curves`](Self::marked_curves), without the clients without which the limit is chosen.
    fn question_curves(&mut self, measures: &[Measure], budget: u64) -> Option<Vec<Curve>> {
        let aside = self.found.aside.clone();
        self.marked_curves(measures, &aside, budget)
    }

    /// The curves of some measures, with the marked clients, and without the clients at the places `aside`. If a curve
    /// is missing, counts about `budget` events for it and returns `None`.
    fn marked_curves(
        &mut self,
        measures: &[Measure],
        aside: &[usize],
        budget: u64,
    ) -> Option<Vec<Curve>> {
        let clients = &self.log.summary.clients;
        if !self.curves.want(measures) {
            self.curves.count(clients, self.cut, budget);
            return None;
        }
        let curve = |measure: &Measure| {
            let mut curve = self.curves.get(*measure)?.clone();
            curve.mark(clients, self.cut, &self.marked);
            curve.leave_aside(clients, self.cut, aside);
            Some(curve)
        };
        measures.iter().map(curve).collect()
    }

    fn begin_replay(&self, limiter: AnyLimiter) -> Replay {
        Replay::new(&self.log.summary.clients, limiter, &self.clock, self.curves.known())
    }

    /// The client that decides the limit: the fastest, if none may be refused.
    fn deciding(&self, curve: &Curve, advice: &Advice) -> Option<usize> {
        let is_one = |doubt: &Doubt| matches!(doubt, Doubt::Fastest { .. });
        let limit = advice.limit.filter(|_| advice.doubts.iter().any(is_one))?;
        let below = scale::nice().take_while(|below| *below < limit).last().unwrap_or(0.0);
        curve.fastest(&self.log.summary.clients, self.cut, below, &self.found.aside)
    }

    /// Tells whether the limit in force is known, with all its refusals.
    pub fn is_decided(&self) -> bool {
        self.stage > Stage::Replay && self.replay.is_some()
    }

    /// The clients far above all others, which the recommended limit stops; `None` without such clients.
    pub fn plateau(&self) -> Option<&Plateau> {
        self.found.plateau.as_ref()
    }

    /// The goal of the limit.
    pub fn aim(&self) -> Aim {
        self.choices.aim(&self.log)
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

    /// The share of the clients already counted for missing curves, from 0 to 1; 1 without missing curves.
    pub fn measured(&self) -> f64 {
        self.curves.measured(self.clients())
    }

    /// The visible curve, and the limit that it recommends.
    pub fn shown(&self) -> Option<&(Curve, Advice)> {
        self.found.shown.as_ref()
    }

    /// The limit in force: the chosen limit, or else the recommended limit.
    pub fn limit(&self) -> Option<f64> {
        self.choices.limit.or(self.found.shown.as_ref()?.1.limit)
    }

    /// The limiter in force.
    pub fn limiter(&self) -> Option<AnyLimiter> {
        self.choices.limiter(self.found.shown.as_ref()?.0.measure, self.limit()?)
    }

    /// The server's configuration with the limiter in force, and notes on it; or why it can't be written.
    pub fn configuration(&self) -> Option<Result<(String, Vec<String>), String>> {
        let limiter = self.limiter()?;
        let costs = self.choices.check_costs(self.clients().highest_cost());
        let mut limit = Limit { limiter, per: self.log.summary.per.clone(), name: None };
        let jails = if self.choices.target == Target::Fail2ban { self.log.jails() } else { vec![] };
        limit.name = jails.first().map(|jail| (*jail).to_owned());
        let configured = costs.and_then(|()| self.choices.configure(&limit, self.addresses));
        let also = jails.get(1..).filter(|also| !also.is_empty()).map(|also| {
            let also = also.join(" and ");
            format!(
                "the log also has failed logins for {also}: they were counted together, and each \
                 jail counts its own; a log of one program is read by --where program=NAME"
            )
        });
        Some(configured.map(|(text, notes)| (text, notes.into_iter().chain(also).collect())))
    }

    /// The replay of the limiter in force so far.
    pub fn replayed(&self) -> Option<&Replay> {
        let limiter = self.limiter()?;
        self.replay.as_ref().filter(|replay| *replay.limiter() == limiter)
    }

    /// The replay of today's limiter, once it is done.
    pub fn replayed_today(&self) -> Option<&Replay> {
        let limiter = self.choices.limiter_of_today()?;
        self.today.as_ref().filter(|today| today.is_done() && *today.limiter() == limiter)
    }

    /// Some limits of the curve and their effects, the lowest limit first.
    pub fn rows(&self) -> &[LimitRow] {
        &self.found.rows
    }

    /// The buckets that leave enough clients alone; `None` until they are known.
    pub fn frontier(&self) -> Option<&Frontier> {
        self.found.frontier.as_ref()
    }

    /// The recommendations for the periods to compare.
    pub fn periods(&self) -> &[(Span, Advice)] {
        &self.found.periods
    }
}

/// Goes on with a replay, if there is one; returns whether none is left to do.
fn advance(replay: Option<&mut Replay>, clients: &Clients, budget: u64) -> bool {
    let Some(replay) = replay else { return true };
    if budget == u64::MAX && cfg!(not(target_arch = "wasm32")) {
        replay.finish(clients);
    } else {
        replay.advance(clients, budget);
    }
    replay.is_done()
}

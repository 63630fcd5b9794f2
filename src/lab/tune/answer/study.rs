//! A log's clients, and what is found out about them piece by piece: so that a page stays quick
//! while it counts, and what was counted for one question serves the next.

use super::{ClientRow, MarkedKeys};
use crate::lab::tune::{Clients, Curve, Cut, LogClock, Measure, Replay, Summary};
use crate::limit::any::AnyLimiter;

/// A summary under study. What is asked for is answered by calls of [`advance`](Self::advance).
#[derive(Clone, Debug)]
pub struct Study {
    summary: Summary,
    clock: LogClock,
    cut: Cut,
    /// The marked clients, by place.
    marked: Vec<usize>,
    /// Curves of all clients, nobody marked.
    curves: Vec<Curve>,
    /// Those that are on the way, and up to which place.
    job: Option<(Vec<Curve>, usize)>,
    replay: Option<Replay>,
    /// The places of all clients, the busiest first.
    busiest: Vec<usize>,
}

impl Study {
    /// The study of a log, of which nothing is known yet.
    pub fn new(summary: Summary) -> Self {
        let cut = Cut::usual(&summary.clients, Vec::new());
        let busiest = summary.clients.busiest();
        let (curves, marked) = (Vec::new(), Vec::new());
        let clock = summary.clock();
        Study { summary, clock, cut, marked, curves, job: None, replay: None, busiest }
    }

    /// What is studied.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The clock by which its times are told.
    pub fn clock(&self) -> &LogClock {
        &self.clock
    }

    /// The clients.
    pub fn clients(&self) -> &Clients {
        &self.summary.clients
    }

    /// MarkedKeys clients as legitimate, in place of those marked before.
    pub fn mark(&mut self, marks: &MarkedKeys) {
        self.cut.marked = marks.places(&self.summary.clients);
        let places = self.cut.marked.iter().enumerate();
        self.marked = places.filter(|(_, marked)| **marked).map(|(place, _)| place).collect();
    }

    /// Asks for curves. One that is known, or on the way, is not begun again. Whether any was begun.
    pub fn measure(&mut self, measures: &[Measure]) -> bool {
        let mut wanted: Vec<Measure> = Vec::new();
        for measure in measures {
            let known = |curves: &[Curve]| curves.iter().any(|curve| curve.measure == *measure);
            let coming = self.job.as_ref().is_some_and(|(curves, _)| known(curves));
            if !known(&self.curves) && !coming && !wanted.contains(measure) {
                wanted.push(*measure);
            }
        }
        if wanted.is_empty() {
            return false;
        }
        // What another question had begun is begun anew, with the others.
        if let Some((curves, _)) = self.job.take() {
            wanted.extend(curves.iter().map(|curve| curve.measure));
        }
        self.job = Some((wanted.into_iter().map(Curve::new).collect(), 0));
        true
    }

    /// Asks what a limiter refuses, in place of the one before; whether that was another.
    pub fn replay(&mut self, limiter: AnyLimiter) -> bool {
        let other = self.replay.as_ref().is_none_or(|replay| *replay.limiter() != limiter);
        if other {
            self.replay = Some(Replay::new(&self.summary.clients, limiter, &self.clock));
        }
        other
    }

    /// Whether all that was asked for is there.
    pub fn is_done(&self) -> bool {
        self.job.is_none() && self.replay.as_ref().is_none_or(Replay::is_done)
    }

    /// Goes on for about `budget` events: with the replay first, which is what somebody waits for
    /// who moves the limit.
    pub fn advance(&mut self, budget: u64) {
        let clients = &self.summary.clients;
        if let Some(replay) = self.replay.as_mut().filter(|replay| !replay.is_done()) {
            replay.advance(clients, budget);
            return;
        }
        let Some((curves, from)) = &mut self.job else { return };
        let (mut to, mut work) = (*from, 0);
        while to < clients.len() && work < budget {
            work += (clients.requests_of(to) + 1) * curves.len() as u64;
            to += 1;
        }
        let cut = Cut { at: self.cut.at, marked: Vec::new() };
        clients.measure(curves, &cut, *from..to);
        *from = to;
        if to >= clients.len() {
            self.curves.append(curves);
            self.job = None;
        }
    }

    /// How much of the curves is there, from 0 to 1.
    pub fn measured(&self) -> f64 {
        let all = self.clients().len().max(1) as f64;
        self.job.as_ref().map_or(1.0, |(_, to)| *to as f64 / all)
    }

    /// A curve, if it is there.
    pub fn curve(&self, measure: Measure) -> Option<Curve> {
        let mut curve = self.curves.iter().find(|curve| curve.measure == measure)?.clone();
        let mut marked = [Curve::new(measure)];
        let cut = Cut { at: self.cut.at, marked: Vec::new() };
        for &place in &self.marked {
            self.clients().measure(&mut marked, &cut, place..place + 1);
        }
        let [marked] = marked;
        curve.marked = marked.all;
        Some(curve)
    }

    /// The replay, as far as it is.
    pub fn replayed(&self) -> Option<&Replay> {
        self.replay.as_ref()
    }

    /// The `most` busiest clients, or those of which the replay refused the most.
    pub fn busiest(
        &self,
        measure: Option<Measure>,
        most: usize,
        by_refused: bool,
    ) -> Vec<ClientRow> {
        let replay = self.replay.as_ref();
        let mut struck: Vec<_> =
            replay.filter(|_| by_refused).map_or(&[][..], Replay::struck).to_vec();
        struck.sort_by_key(|struck| core::cmp::Reverse(struck.refused));
        let mut places: Vec<usize> = struck.iter().take(most).map(|struck| struck.place).collect();
        let others = self.busiest.iter().copied();
        let missing = most - places.len();
        let others: Vec<usize> =
            others.filter(|place| !places.contains(place)).take(missing).collect();
        places.extend(others);
        ClientRow::of(self.clients(), &places, measure, replay, &self.cut.marked)
    }
}

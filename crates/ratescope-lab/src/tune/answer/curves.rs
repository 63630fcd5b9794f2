//! A cache of curves of a log, and the curves that are being counted.

use crate::tune::{Clients, Curve, Measure};
use ratescope::time::Time;

/// The number of curves kept for later questions. All curves of one question are kept anyway.
const KEPT: usize = 64;

/// Curves of all clients, without marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Curves {
    /// The most recently wanted at the end.
    known: Vec<Curve>,
    /// Those being counted.
    counted: Vec<Curve>,
    /// The place of the next client to count.
    next: usize,
}

impl Curves {
    pub(super) fn known(&self) -> &[Curve] {
        &self.known
    }

    pub(super) fn get(&self, measure: Measure) -> Option<&Curve> {
        self.known.iter().find(|curve| curve.measure == measure)
    }

    /// Asks for the curves of some measures. Returns whether all are known.
    pub(super) fn want(&mut self, measures: &[Measure]) -> bool {
        let mut missing: Vec<Measure> = Vec::new();
        for measure in measures {
            if self.get(*measure).is_none() && !missing.contains(measure) {
                missing.push(*measure);
            }
        }
        let is_counted =
            |measure: &Measure| self.counted.iter().any(|curve| curve.measure == *measure);
        if !missing.iter().all(is_counted) {
            // Unfinished curves of another question start again, together with these.
            let begun = self.counted.iter().map(|curve| curve.measure);
            let begun: Vec<Measure> = begun.filter(|begun| !missing.contains(begun)).collect();
            self.counted = missing.iter().chain(&begun).copied().map(Curve::new).collect();
            self.next = 0;
        }
        self.known.sort_by_key(|curve| measures.contains(&curve.measure));
        missing.is_empty()
    }

    /// Counts about `budget` events for the wanted curves.
    pub(super) fn count(&mut self, clients: &Clients, cut: Option<Time>, budget: u64) {
        let from = self.next;
        let mut work = 0u64;
        while self.next < clients.len() && work < budget {
            let events = clients.requests_of(self.next) + 1;
            work = work.saturating_add(events * self.counted.len() as u64);
            self.next += 1;
        }
        Curve::add_clients_on_all(&mut self.counted, clients, cut, from..self.next);
        if self.next == clients.len() {
            let most = KEPT.max(self.counted.len());
            self.known.append(&mut self.counted);
            self.known.drain(..self.known.len().saturating_sub(most));
        }
    }

    /// The share of the clients already counted for missing curves, from 0 to 1; 1 without missing curves.
    pub(super) fn measured(&self, clients: &Clients) -> f64 {
        if self.counted.is_empty() { 1.0 } else { self.next as f64 / clients.len().max(1) as f64 }
    }
}

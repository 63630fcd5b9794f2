//! The drawn form of a curve: the limits at which the effect changes.

use super::curve::{Curve, Part};
use super::histogram::Histogram;
use super::scale::{MARKS, mark};

/// The effect of the limits from one stair to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stair {
    /// The lowest of these limits.
    pub limit: f64,
    /// The touched clients in the whole log, in the part for learning, and in the part for checking.
    pub touched: [u64; 3],
    /// The marked clients among the touched ones of the whole log.
    pub marked: u64,
    /// The refused requests, if these can be counted for all limits at once.
    pub refused: u64,
}

/// A curve from its lowest limit to its highest: a staircase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Staircase {
    /// All clients, by part as in [`Stair::touched`].
    pub clients: [u64; 3],
    /// The marked clients.
    pub marked: u64,
    /// All requests; 0 if refusals can't be counted for all limits at once.
    pub requests: u64,
    /// The stairs, in the order of their limits.
    pub stairs: Vec<Stair>,
}

impl Staircase {
    /// The stair of a limit; for a limit below the first stair, the first.
    pub fn at(&self, limit: f64) -> Stair {
        let after = self.stairs.partition_point(|step| step.limit <= limit);
        let step = self.stairs.get(after.saturating_sub(1)).copied().unwrap_or_default();
        Stair { limit, ..step }
    }

    /// The lowest limit that spares a client, and the lowest limit that touches no client. `None` without clients.
    pub fn ends(&self) -> Option<[f64; 2]> {
        let first = self.stairs.iter().find(|step| step.touched[0] < self.clients[0])?;
        let last = self.stairs.iter().find(|step| step.touched[0] == 0)?;
        Some([first.limit, last.limit])
    }
}

impl Curve {
    /// Every limit at which the effect changes.
    pub fn staircase(&self) -> Staircase {
        const PARTS: [Part; 3] = [Part::Whole, Part::Learned, Part::Checked];
        let mut sweeps = Vec::new();
        sweeps.extend(self.all.clients.iter().map(Sweep::new));
        sweeps.push(Sweep::new(&self.marked.clients[0]));
        let [learned, checked] = &self.all.requests;
        let mut refused = learned.clone();
        refused.add(checked);
        sweeps.push(Sweep::new(&refused));
        let mut steps = Vec::new();
        let mut at = 0;
        while at < MARKS {
            let over: Vec<u64> = sweeps.iter_mut().map(|sweep| sweep.over(at)).collect();
            if let [a, b, c, marked, refused] = over[..] {
                steps.push(Stair { limit: mark(at), touched: [a, b, c], marked, refused });
            }
            at = sweeps.iter().filter_map(Sweep::next).min().unwrap_or(MARKS);
        }
        Staircase {
            clients: PARTS.map(|part| self.all.clients(part)),
            marked: self.marked.clients(Part::Whole),
            requests: self.all.requests(Part::Whole),
            stairs: steps,
        }
    }
}

/// A histogram, read in ascending order.
struct Sweep {
    /// The places with a count still to be read, and their counts, the next one last.
    ahead: Vec<(usize, u64)>,
    over: u64,
}

impl Sweep {
    fn new(histogram: &Histogram) -> Self {
        let mut ahead: Vec<_> = histogram.counted().collect();
        ahead.reverse();
        Sweep { ahead, over: histogram.total() }
    }

    /// The number of levels over the mark at `place`. Places must not descend from call to call.
    fn over(&mut self, place: usize) -> u64 {
        while let Some((_, n)) = self.ahead.pop_if(|(marks, _)| *marks <= place) {
            self.over -= n;
        }
        self.over
    }

    /// The next mark at which this number changes.
    fn next(&self) -> Option<usize> {
        self.ahead.last().map(|(marks, _)| *marks)
    }
}

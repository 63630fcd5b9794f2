//! Counts of levels over each mark of the scale.

use super::scale::MARKS;

/// The number of marks that a level is over.
pub(super) type Rank = usize;

/// Counts of levels by their rank. Only the ranks in use take memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram {
    /// The number of levels of each rank, from the rank `from` on.
    counts: Vec<u64>,
    from: Rank,
    total: u64,
}

impl Histogram {
    /// Counts `n` levels over the first `marks` marks.
    #[inline]
    pub(super) fn add_n(&mut self, marks: Rank, n: u64) {
        self.total += n;
        match marks.checked_sub(self.from).and_then(|at| self.counts.get_mut(at)) {
            Some(count) => *count += n,
            None => self.widen(marks, n),
        }
    }

    #[cold]
    fn widen(&mut self, marks: Rank, n: u64) {
        let marks = marks.min(MARKS);
        if self.counts.is_empty() {
            self.from = marks;
        } else if marks < self.from {
            self.counts.splice(0..0, core::iter::repeat_n(0, self.from - marks));
            self.from = marks;
        }
        if marks - self.from >= self.counts.len() {
            self.counts.resize(marks - self.from + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(marks - self.from) {
            *count += n;
        }
    }

    /// The number of levels over the mark at `place`.
    pub(super) fn over(&self, place: usize) -> u64 {
        self.counts.iter().skip((place + 1).saturating_sub(self.from)).sum()
    }

    /// The number of levels over exactly `marks` marks.
    pub(super) fn with(&self, marks: Rank) -> u64 {
        let at = marks.checked_sub(self.from).and_then(|at| self.counts.get(at));
        at.copied().unwrap_or(0)
    }

    /// The number of levels.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The ranks with a count above zero, in order.
    pub(super) fn counted(&self) -> impl Iterator<Item = (Rank, u64)> + '_ {
        (self.from..).zip(self.counts.iter().copied()).filter(|(_, n)| *n > 0)
    }

    /// Adds the counts of another histogram.
    pub(super) fn add(&mut self, other: &Histogram) {
        for (marks, n) in other.counted() {
            self.add_n(marks, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_from_a_mark_on() {
        let mut all = Histogram::default();
        for (marks, n) in [(7, 2), (3, 1), (7, 1), (12, 5), (0, 4), (MARKS, 1)] {
            all.add_n(marks, n);
        }
        let over: Vec<u64> = [0, 2, 3, 6, 7, 11, 12, MARKS - 1, MARKS].map(|i| all.over(i)).into();
        assert_eq!(over, [10, 10, 9, 9, 6, 6, 1, 1, 0]);
        assert_eq!(all.total(), 14);
        let mut twice = Histogram::default();
        twice.add(&all);
        twice.add(&all);
        assert_eq!((twice.over(3), twice.total()), (18, 28));
    }
}

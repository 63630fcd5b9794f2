//! Live: the reports of a running service about its rules.
//!
//! The service keeps the counts of each rule in seconds, ten seconds and hours, and reports them in rows. Here are the
//! same rows, including those of processes that ended. A picture draws for each instant the shortest known stretch that
//! is wide enough to see.

use ratescope::time::{Span, Time};
use std::collections::VecDeque;

/// The most rules that are drawn, and so have a past.
pub const DRAWN: usize = 24;

/// The lengths of stretches that are drawn, in seconds, and then any number of hours.
const WIDTHS: [i64; 10] = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];

/// The most processes of the service that are remembered.
const PROCESSES: usize = 16;

/// Numbers of events: allowed, refused, and allowed but refused by a shadow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCounts(pub [f64; 3]);

impl EventCounts {
    fn add(&mut self, more: EventCounts) {
        for (sum, more) in self.0.iter_mut().zip(more.0) {
            *sum += more;
        }
    }
}

/// A rule of a service, as the service reports it.
#[derive(Clone, Debug)]
pub struct ReportedRule {
    /// The name.
    pub name: String,
    /// The limits, as text.
    pub limits: String,
    /// The numbers of events since the service started.
    pub sums: EventCounts,
}

/// The decisions of a rule in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub to: Time,
    /// The length of the row, of which the stretch may be a part.
    pub counted: Span,
    /// It is longer than the picture could show, since only coarser counts are known.
    pub is_coarse: bool,
    /// The events a second.
    pub rates: [f64; 3],
}

/// A process of the service: its first and its current second, since 1970.
#[derive(Clone, Copy, Debug)]
struct Process {
    begun: i64,
    until: i64,
}

/// A ring of the rules' counts in stretches of one length.
#[derive(Clone, Debug)]
struct Ring {
    /// The length in seconds, and the most rows.
    width: i64,
    most: usize,
    /// The ring is complete from this second on; `None` before the first row.
    since: Option<i64>,
    /// The ring is complete up to this second.
    until: i64,
    rows: VecDeque<Row>,
}

/// The rules' counts in one stretch.
#[derive(Clone, Debug)]
struct Row {
    begin: i64,
    /// When the process that counted it began: two processes may count in the same stretch.
    process: i64,
    counts: Vec<EventCounts>,
}

/// The reports of a service.
#[derive(Clone, Debug)]
pub struct Live {
    /// The rules, in the order in which the service counts them.
    pub rules: Vec<ReportedRule>,
    /// The length of time that is shown.
    pub window: Span,
    processes: Vec<Process>,
    rings: [Ring; 3],
}

impl Default for Live {
    fn default() -> Self {
        let ring =
            |(width, most)| Ring { width, most, since: None, until: 0, rows: VecDeque::new() };
        Live {
            rules: Vec::new(),
            window: Span::from_mins(15),
            processes: Vec::new(),
            rings: [(1, 900), (10, 2160), (3600, 24)].map(ring),
        }
    }
}

impl Live {
    /// Takes the names and limits of the rules. A rule with a known name keeps its past, even if another process has it
    /// at another index.
    pub fn name<'a>(&mut self, rules: impl Iterator<Item = (&'a str, &'a str)>) {
        let old = core::mem::take(&mut self.rules);
        let place = |name: &str| old.iter().position(|known| known.name == name);
        let mut places = Vec::new();
        for (name, limits) in rules {
            let known = place(name);
            places.push(known);
            let sums = known.and_then(|known| old.get(known)).map(|rule| rule.sums);
            self.rules.push(ReportedRule {
                name: name.to_owned(),
                limits: limits.to_owned(),
                sums: sums.unwrap_or_default(),
            });
        }
        if places.iter().zip(0..).take(old.len()).all(|(place, i)| *place == Some(i)) {
            return;
        }
        places.truncate(DRAWN);
        for row in self.rings.iter_mut().flat_map(|ring| &mut ring.rows) {
            let of = |place: &Option<usize>| place.and_then(|place| row.counts.get(place)).copied();
            row.counts = places.iter().map(|place| of(place).unwrap_or_default()).collect();
        }
    }

    /// Takes the sums of the rules since the start: for each rule the three numbers of [`EventCounts`].
    pub fn add_sums(&mut self, sums: &[f64]) {
        for (rule, sums) in self.rules.iter_mut().zip(sums.as_chunks().0) {
            rule.sums = EventCounts(*sums);
        }
    }

    /// Takes new rows of one of three rings, of seconds, ten seconds and hours. `begun` and `until` are the first and
    /// the current second of the process; its ring is complete from `since` on. With `all`, the earlier rows of the
    /// process are dropped. A row is its first second, and three numbers for each rule.
    pub fn add_past<'a>(
        &mut self,
        ring: usize,
        [begun, until, since]: [i64; 3],
        all: bool,
        rows: impl Iterator<Item = &'a [f64]>,
    ) {
        let [begun, until, since] = [begun, until, since].map(clamped);
        // After the clock was set back, later rows are dropped.
        self.processes.retain(|process| process.begun <= begun.min(until));
        match self.processes.last_mut().filter(|process| process.begun == begun) {
            Some(process) => process.until = until,
            None => self.processes.push(Process { begun, until }),
        }
        if self.processes.len() > PROCESSES {
            self.processes.remove(0);
        }
        if let Some(ring) = self.rings.get_mut(ring) {
            ring.take([begun, until, since], all, rows);
        }
    }

    /// The earliest known instant; `None` before any report.
    pub fn oldest(&self) -> Option<Time> {
        self.rings.iter().filter_map(|ring| ring.since).min().map(seconds)
    }

    /// When each known process began, including the first.
    pub fn starts(&self) -> impl Iterator<Item = Time> {
        self.processes.iter().map(|process| seconds(process.begun))
    }

    /// The counts of a rule from `from` to `to`, in stretches of at least `shortest` seconds if possible, oldest first.
    /// A stretch is missing if it is not complete yet, or if no process counted.
    pub fn stretches(&self, rule: usize, from: Time, to: Time, shortest: f64) -> Vec<Stretch> {
        let Some(Process { until, .. }) = self.processes.last() else { return Vec::new() };
        let second = |at: Time| at.as_micros().div_euclid(1_000_000);
        let wanted = WIDTHS.into_iter().find(|width| *width as f64 >= shortest);
        let hours = (libm::ceil(shortest / 3600.0) as i64).clamp(1, 1_000_000);
        let wanted = wanted.unwrap_or(3600 * hours);
        let mut stretches = Vec::new();
        let mut end = *until;
        // First the coarsest ring with stretches of this length, then coarser rings, each for the time before the last
        // ring's. The newest stretches come first.
        let finest = self.rings.iter().rposition(|ring| wanted % ring.width == 0).unwrap_or(0);
        for ring in self.rings.iter().skip(finest) {
            let Some(since) = ring.since else { continue };
            let width = wanted.max(ring.width);
            let [first, last] = [since.max(second(from)), end.min(second(to).saturating_add(1))];
            let mut place = (last - 1).div_euclid(width) * width;
            while first < last && place + width > first {
                let part = [place.max(since), place + width];
                // Leaves out the current stretch.
                let counted = if part[1] > *until { 0 } else { self.counted(part) };
                if counted > 0 {
                    let sums = ring.sums(rule, place, place + width);
                    stretches.push(Stretch {
                        from: seconds(part[0]),
                        to: seconds(part[1].min(end)),
                        counted: Span::from_micros(width.unsigned_abs().saturating_mul(1_000_000)),
                        is_coarse: width > wanted,
                        rates: sums.0.map(|n| n / counted as f64),
                    });
                }
                place -= width;
            }
            end = end.min(since);
        }
        stretches.reverse();
        stretches
    }

    /// The number of seconds in a range in which a process counted.
    fn counted(&self, [from, to]: [i64; 2]) -> i64 {
        let part = |process: &Process| (to.min(process.until) - from.max(process.begun)).max(0);
        self.processes.iter().map(part).sum()
    }
}

impl Ring {
    fn take<'a>(
        &mut self,
        [begun, until, since]: [i64; 3],
        all: bool,
        rows: impl Iterator<Item = &'a [f64]>,
    ) {
        if all {
            self.rows.retain(|row| row.process < begun && row.begin < until);
        }
        // The time between the last report and the service's oldest row is missing.
        if self.since.is_none_or(|_| since > begun && since > self.until) {
            self.rows.clear();
            self.since = Some(since);
        }
        self.until = until;
        for row in rows {
            let [begin, counts @ ..] = row else { continue };
            let counts = counts.as_chunks().0.iter().take(DRAWN).copied().map(EventCounts);
            self.put(Row {
                begin: clamped(*begin as i64),
                process: begun,
                counts: counts.collect(),
            });
        }
    }

    /// Inserts a row in order, or replaces the same stretch of the same process.
    fn put(&mut self, row: Row) {
        let before = self.rows.partition_point(|known| known.begin < row.begin);
        let same = self.rows.iter().skip(before).take_while(|known| known.begin == row.begin);
        let mut same = same.zip(before..).filter(|(known, _)| known.process == row.process);
        let place = same.next().map(|(_, place)| place);
        if let Some(known) = place.and_then(|place| self.rows.get_mut(place)) {
            *known = row;
            return;
        }
        let after = self.rows.partition_point(|known| known.begin <= row.begin);
        self.rows.insert(after, row);
        if self.rows.len() > self.most
            && let Some(oldest) = self.rows.pop_front()
        {
            self.since = Some(oldest.begin + self.width);
        }
    }

    /// The counts of a rule in the rows that begin from `from` on and before `to`.
    fn sums(&self, rule: usize, from: i64, to: i64) -> EventCounts {
        let first = self.rows.partition_point(|row| row.begin < from);
        let mut sums = EventCounts::default();
        for row in self.rows.range(first..).take_while(|row| row.begin < to) {
            sums.add(row.counts.get(rule).copied().unwrap_or_default());
        }
        sums
    }
}

/// Clamps a reported second to the range of [`Time`].
fn clamped(second: i64) -> i64 {
    let last = i64::MAX / 1_000_000;
    second.clamp(-last, last)
}

fn seconds(second: i64) -> Time {
    Time::from_micros(second.saturating_mul(1_000_000))
}

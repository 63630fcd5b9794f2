//! The events that a running service allowed and refused, by rule, as the service reports them.
//!
//! The service reports the sums since its start a few times a second. If nobody listened for a time, it reports the
//! sums at the beginning of each hour of that time. After a pause in the reports the sums still count the events of the
//! pause. Only the times of these events are unknown, so they are spread evenly over the pause. The
//! [history](crate::lane::history) is of the same type as that of a lane.

use crate::lane::history::{Columns, Folded, Grain, History};
use ratescope::time::{Span, Time};

/// After a silence of this many columns, 38 hours, a history begins anew.
const SILENCE: i64 = 1 << 19;

/// An hour in seconds.
const HOUR: f64 = 3600.0;

/// The most rules that are drawn, and so have a history.
pub const DRAWN: usize = 24;

/// Numbers of events: allowed, refused, and allowed although a shadow rule would have refused them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCounts(pub [f64; 3]);

impl Folded for EventCounts {
    fn merge(&mut self, later: &Self) {
        for (sum, more) in self.0.iter_mut().zip(later.0) {
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
    history: Option<History<EventCounts>>,
    /// Before this instant only the sums at the beginnings of hours are known.
    seen: Option<Time>,
}

impl ReportedRule {
    /// Columns that show `from..to` at about `seconds` each; `None` before the first report. The time before
    /// that report is known by the hour only, so a view of less than an hour begins at the report.
    pub fn columns(&self, from: Time, to: Time, seconds: f64) -> Option<Columns<'_, EventCounts>> {
        let seen = self.seen.filter(|_| to.since(from) < HOUR);
        let from = seen.map_or(from, |seen| from.max(seen));
        self.history.as_ref().map(|history| history.columns(from, to, seconds))
    }

    /// Takes the sums that the service reports at `at`. The history begins anew after a long silence, and
    /// if `at` is before the column that is filling, as after the service's clock was set back.
    fn add_column(&mut self, at: Time, sums: EventCounts) {
        let before = core::mem::replace(&mut self.sums, sums);
        let columns = self.history.as_ref().map_or(SILENCE, |history| history.columns_until(at));
        let Some(history) = self.history.as_mut().filter(|_| (0..SILENCE).contains(&columns))
        else {
            self.history = Some(History::beginning(Grain::QUARTER, at, EventCounts::default()));
            return;
        };
        // Sums are reported at the beginning of a column, so they count the events of the columns before it.
        let share = 1.0 / columns.max(1) as f64;
        let each = EventCounts([0, 1, 2].map(|i| (sums.0[i] - before.0[i]) * share));
        history.current().merge(&each);
        for left in (0..columns).rev() {
            history.turn(if left > 0 { each } else { EventCounts::default() });
        }
    }
}

/// The reports of a service.
#[derive(Clone, Debug)]
pub struct Live {
    /// The rules, in the order in which the service counts them.
    pub rules: Vec<ReportedRule>,
    /// The times of the first and the last report, by the clock of the service; `None` before any.
    pub heard: Option<[Time; 2]>,
    /// The length of time that is shown.
    pub window: Span,
}

impl Default for Live {
    fn default() -> Self {
        Live { rules: Vec::new(), heard: None, window: Span::minutes(1) }
    }
}

impl Live {
    /// Takes the names and limits of the rules. A rule at a known place keeps its history.
    pub fn name<'a>(&mut self, rules: impl Iterator<Item = (&'a str, &'a str)>) {
        for (place, (name, limits)) in rules.enumerate() {
            let name = name.to_owned();
            let limits = limits.to_owned();
            match self.rules.get_mut(place) {
                Some(known) => (known.name, known.limits) = (name, limits),
                None => {
                    let sums = EventCounts::default();
                    self.rules.push(ReportedRule { name, limits, sums, history: None, seen: None });
                }
            }
        }
    }

    /// Takes the sums of the rules at `at`: for each rule three numbers, those of [`EventCounts`].
    pub fn add_column(&mut self, at: Time, sums: &[f64]) {
        for rule in &mut self.rules {
            rule.seen.get_or_insert(at);
        }
        self.add_hour(at, sums);
    }

    /// Takes the sums at the beginning of an hour without other reports. The calls of this and of [`take`](Self::add_column)
    /// are in the order of time.
    pub fn add_hour(&mut self, at: Time, sums: &[f64]) {
        let (sums, _) = sums.as_chunks();
        for ((rule, sums), place) in self.rules.iter_mut().zip(sums).zip(0..) {
            if place < DRAWN {
                rule.add_column(at, EventCounts(*sums))
            } else {
                rule.sums = EventCounts(*sums)
            }
        }
        let first = self.heard.map_or(at, |[first, _]| first.min(at));
        self.heard = Some([first, at]);
    }

    /// Forgets everything but the window, since another process reports from now on.
    pub fn begin(&mut self) {
        *self = Live { window: self.window, ..Live::default() };
    }
}

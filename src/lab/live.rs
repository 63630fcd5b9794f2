//! How many events a running service allowed and refused, rule by rule, as it tells.
//!
//! The service tells sums since its start, a few times a second. So nothing is lost when it is not
//! heard for a while: the events of that time are known, only not when in it they were, and they are
//! drawn as if they were even. The [history](crate::lab::lane::history) is the same as of a lane.

use crate::lab::lane::history::{Columns, Folded, Grain, History};
use crate::time::{Span, Time};

/// After as many columns of silence a history begins anew: four and a half hours.
const SILENCE: i64 = 1 << 16;

/// Numbers of events: allowed, refused, and allowed though a rule that is a shadow would have refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts(pub [f64; 3]);

impl Folded for Counts {
    fn merge(&mut self, later: &Self) {
        for (sum, more) in self.0.iter_mut().zip(later.0) {
            *sum += more;
        }
    }
}

/// A rule of a service.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its limits, as text.
    pub limits: String,
    /// The numbers of events since the service started.
    pub sums: Counts,
    history: Option<History<Counts>>,
}

impl Rule {
    /// Columns that show `from..to` at about `seconds` each.
    pub fn columns(&self, from: Time, to: Time, seconds: f64) -> Option<Columns<'_, Counts>> {
        self.history.as_ref().map(|history| history.columns(from, to, seconds))
    }

    /// Takes the sums as of an instant.
    fn take(&mut self, at: Time, sums: Counts) {
        let before = core::mem::replace(&mut self.sums, sums);
        let columns = self.history.as_ref().map_or(SILENCE, |history| history.columns_until(at));
        let Some(history) = self.history.as_mut().filter(|_| (0..SILENCE).contains(&columns))
        else {
            self.history = Some(History::beginning(Grain::QUARTER, at, Counts::default()));
            return;
        };
        // The sums are told at the beginning of a column, so they are those of the columns before.
        let share = 1.0 / columns.max(1) as f64;
        let each = Counts([0, 1, 2].map(|i| (sums.0[i] - before.0[i]) * share));
        history.current().merge(&each);
        for left in (0..columns).rev() {
            history.turn(if left > 0 { each } else { Counts::default() });
        }
    }
}

/// A service as it was heard.
#[derive(Clone, Debug)]
pub struct Live {
    rules: Vec<Rule>,
    /// When it was heard for the first and the last time, by its own clock.
    heard: Option<[Time; 2]>,
    /// The length of time that is shown.
    pub window: Span,
}

impl Default for Live {
    fn default() -> Self {
        Live { rules: Vec::new(), heard: None, window: Span::minutes(1) }
    }
}

impl Live {
    /// The rules, in the order in which the service counts them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// When it was heard for the first and the last time, by its own clock.
    pub fn heard(&self) -> Option<[Time; 2]> {
        self.heard
    }

    /// Takes the names and limits of the rules. Rules that were known, by their place, go on.
    pub fn name<'a>(&mut self, rules: impl Iterator<Item = (&'a str, &'a str)>) {
        for (place, (name, limits)) in rules.enumerate() {
            let (name, limits) = (name.to_owned(), limits.to_owned());
            match self.rules.get_mut(place) {
                Some(known) => (known.name, known.limits) = (name, limits),
                None => {
                    let sums = Counts::default();
                    self.rules.push(Rule { name, limits, sums, history: None });
                }
            }
        }
    }

    /// Takes the sums of the rules as of an instant, three numbers each.
    pub fn take(&mut self, at: Time, sums: &[f64]) {
        let (sums, _) = sums.as_chunks();
        for (rule, sums) in self.rules.iter_mut().zip(sums) {
            rule.take(at, Counts(*sums));
        }
        let first = self.heard.map_or(at, |[first, _]| first.min(at));
        self.heard = Some([first, at]);
    }

    /// Forgets everything but the window: another process speaks.
    pub fn begin(&mut self) {
        *self = Live { window: self.window, ..Live::default() };
    }
}

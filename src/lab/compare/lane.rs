//! A lane: a rule, what it remembers of each sender, and what it has shown.

pub use super::rule::{LIMITS, LOG, Limit, Per, Rule};

use super::history::{History, Judged, Level, last_of_column};
use crate::lab::run::Arrival as Event;
use crate::limit::Limiter;
use crate::limit::all_of::{ask_all, retry_all};
use crate::limit::any::{AnyLimiter, AnyState};
use crate::outcome::Retry;
use crate::time::{Span, Time};

/// A rule at work. It decides as its limiter alone would, given the same events; several limits
/// decide together, as [`all_of`](crate::limit::all_of) says.
#[derive(Clone, Debug)]
pub struct Lane {
    rule: Rule,
    limits: Vec<Limit>,
    /// One for each user for a limit that is per user, and one in all for one that is not.
    states: Vec<Vec<AnyState>>,
    allowed: u64,
    refused: u64,
    history: History,
    /// The cost and the period that questions are about.
    about: (f64, Span),
}

/// A limiter and the state of one sender.
type Held<'a> = (&'a AnyLimiter, &'a AnyState);

impl Lane {
    /// A lane that begins at `now` and has seen nothing; `sent` were sent before.
    pub(super) fn new(rule: Rule, limits: Vec<Limit>, users: usize, now: Time, sent: u64) -> Self {
        let states = limits.iter().map(|limit| fresh(limit, users)).collect();
        let quiet = Level { level: 0.0, limit: 0.0 };
        let history = History::new(now, quiet, sent);
        let about = (1.0, Span::ZERO);
        let mut lane = Lane { rule, limits, states, allowed: 0, refused: 0, history, about };
        lane.history = History::new(now, lane.sample(now), sent);
        lane
    }

    /// Whether this is the lane of `rule`, which stands for `limits` now.
    pub(super) fn is(&self, rule: &Rule, limits: &[Limit]) -> bool {
        self.rule == *rule && self.limits == limits
    }

    /// From now on, questions are about events of cost `cost` and about any `period`.
    pub(super) fn ask_about(&mut self, cost: f64, period: Span) {
        self.about = (cost, period);
    }

    /// Gives each of the users `after` the state that it had among those `before`.
    pub(super) fn rename(&mut self, before: &[String], after: &[String]) {
        for (limit, states) in self.limits.iter().zip(&mut self.states) {
            if limit.per == Per::User {
                let old = |name| before.iter().position(|known| known == name);
                let state = |name| old(name).and_then(|i| states.get(i)).cloned();
                *states = after
                    .iter()
                    .map(|name| state(name).unwrap_or_else(|| limit.limiter.fresh()))
                    .collect();
            }
        }
    }

    /// Decides about an event, the one that makes `sent` in the run.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, sent: u64) {
        let Event { at, cost, user } = *event;
        let answer = ask_all(self.held(user), at, cost);
        let passes = answer.passes();
        for (limit, states) in self.limits.iter().zip(&mut self.states) {
            if let Some(state) = states.get_mut(place(limit.per, user)) {
                limit.limiter.count(state, at, cost, passes);
            }
        }
        self.allowed += u64::from(passes);
        self.refused += u64::from(!passes);
        let judged = Judged { at, wait: answer.wait, level: answer.level, limit: answer.limit };
        let after = self.sample(at);
        self.history.event(judged, after, sent);
    }

    /// The column of the history that ends with `last` is complete.
    pub(super) fn close(&mut self, last: Time) {
        debug_assert!(last == last_of_column(last));
        for (limit, states) in self.limits.iter().zip(&mut self.states) {
            states.iter_mut().for_each(|state| limit.limiter.forget(state, last));
        }
        let end = self.sample(last);
        self.history.close(end);
    }

    /// How many states it holds: each event is put to all of them, for the level.
    pub(super) fn states(&self) -> usize {
        self.states.iter().map(Vec::len).sum()
    }

    /// What is written in the lane.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The limits that the rule stands for, with every word in it, as in `token-bucket 10/10s
    /// burst 10 per user & fixed-window 10/10s`.
    pub fn limiter_text(&self) -> String {
        let mut text = String::new();
        for limit in &self.limits {
            text.push_str(if text.is_empty() { "" } else { " & " });
            text.push_str(&limit.to_string());
        }
        text
    }

    /// The limits that the rule stands for.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// What the level is.
    pub fn unit(&self) -> &'static str {
        let [Limit { limiter, .. }] = self.limits.as_slice() else { return "of the tightest" };
        match limiter {
            AnyLimiter::Exim(_) | AnyLimiter::Adaptive(_) => "rate",
            AnyLimiter::RecentAverage(_) => "estimate",
            AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_) => "tokens used",
            AnyLimiter::LeakyBucket(_) => "queue",
            AnyLimiter::AllOf(_) => "of the tightest",
            _ => "in window",
        }
    }

    /// Events allowed since the lane began.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Events refused since the lane began.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The level and the limit at `now`, not before the last event; of several limits and several
    /// users those that are the tightest in terms of their limit.
    pub fn level(&self, now: Time) -> (f64, f64) {
        let Level { level, limit } = self.sample(now);
        (level, limit)
    }

    /// When an event of the settings' cost by the first user would be allowed, from `now` on; at
    /// once is zero.
    pub fn again(&self, now: Time) -> Retry {
        retry_all(self.held(0), now, self.about.0)
    }

    /// What the lane has shown.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The most that passes in any period of the budget in events of cost `cost`, for one sender:
    /// [`Limiter::most_in`], the least of any limit. Infinite when nothing is promised.
    pub fn most_in_period(&self, cost: f64) -> f64 {
        let each = self.limits.iter().map(|limit| limit.limiter.most_in(self.about.1, cost));
        each.fold(f64::INFINITY, |least, most| if most < least { most } else { least })
    }

    /// The least time in which a sender can double a limit that is learned from it; `None` when
    /// none is.
    pub fn doubling_time(&self) -> Option<Span> {
        self.limits.iter().find_map(|limit| match &limit.limiter {
            AnyLimiter::Adaptive(adaptive) => Some(adaptive.doubling_time()),
            _ => None,
        })
    }

    /// The limits on a user, each with what it remembers.
    fn held(&self, user: u32) -> impl Iterator<Item = Held<'_>> + Clone {
        self.limits.iter().zip(&self.states).filter_map(move |(limit, states)| {
            Some((&limit.limiter, states.get(place(limit.per, user))?))
        })
    }

    /// The tightest level.
    #[inline]
    fn sample(&self, now: Time) -> Level {
        let each = self.limits.iter().zip(&self.states);
        let held = each.flat_map(|(limit, states)| states.iter().map(|s| (&limit.limiter, s)));
        let answer = ask_all(held, now, 0.0);
        Level { level: answer.level, limit: answer.limit }
    }
}

/// Which of the states of a limit is that of a user.
fn place(per: Per, user: u32) -> usize {
    if per == Per::User { user as usize } else { 0 }
}

fn fresh(limit: &Limit, users: usize) -> Vec<AnyState> {
    let count = if limit.per == Per::User { users } else { 1 };
    (0..count).map(|_| limit.limiter.fresh()).collect()
}

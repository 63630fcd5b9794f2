//! A lane: a policy, the store that decides it, and its history.

pub mod history;
mod template;
mod waits;

pub use template::Template;
pub use waits::Waits;

pub(crate) use template::Sender;

use history::{Column, Grain, History};
use ratescope::event::Event;
use ratescope::outcome::{Outcome, Retry};
use ratescope::policy::Policy;
use ratescope::rules::MemoryStore;
use ratescope::time::{Span, Time};

/// The most keys of a limit in a lane: more than the users of a script.
const KEYS: usize = 64;

/// The policy of a template and the states of its keys.
#[derive(Debug)]
pub struct Lane {
    template: Template,
    policy: Policy,
    store: MemoryStore,
    allowed: u64,
    refused: u64,
    waits: Waits,
    history: History,
    /// The cost for [`retry_after`](Self::retry_after), and the period for [`max_admitted`](Self::max_admitted).
    asked: (f64, Span),
    /// An event or a setting changed something since `retry_after` was last computed.
    changed: bool,
}

/// A clone copies the states.
impl Clone for Lane {
    fn clone(&self) -> Self {
        Lane {
            template: self.template.clone(),
            policy: self.policy.clone(),
            store: self.store.fork(),
            waits: self.waits.clone(),
            history: self.history.clone(),
            ..*self
        }
    }
}

/// The outcome of no limit; a policy has at least one.
const NO_LIMIT: Outcome = Outcome::new(true, 0.0, 0.0);

fn tightest(store: &MemoryStore, now: Time) -> Outcome {
    store.tightest(now).unwrap_or(NO_LIMIT)
}

impl Lane {
    /// A lane that begins at `now` without states, after `sent` events of the run.
    pub(crate) fn new(template: Template, policy: Policy, now: Time, sent: u64) -> Self {
        let store = MemoryStore::new(policy.clone(), KEYS);
        let history = History::new(Grain::default(), now, tightest(&store, now), 0, sent);
        let asked = (1.0, Span::ZERO);
        let allowed = 0;
        let refused = 0;
        let waits = Waits::default();
        Lane { template, policy, store, allowed, refused, waits, history, asked, changed: true }
    }

    /// A copy of the lane, with a new history of another grain that begins at `now`.
    pub(crate) fn with_new_history(&self, now: Time, sent: u64, grain: Grain) -> Self {
        let template = self.template.clone();
        let policy = self.policy.clone();
        let store = self.store.fork();
        let history = History::new(grain, now, tightest(&store, now), self.allowed, sent);
        let allowed = self.allowed;
        let refused = self.refused;
        let asked = self.asked;
        let waits = self.waits.clone();
        Lane { template, policy, store, allowed, refused, waits, history, asked, changed: true }
    }

    /// Tells whether this lane has this template and this policy.
    pub(crate) fn is(&self, template: &Template, policy: &Policy) -> bool {
        self.template == *template && self.policy == *policy
    }

    /// Sets the cost for [`retry_after`](Self::retry_after), and the period for [`max_admitted`](Self::max_admitted).
    pub(crate) fn ask_about(&mut self, cost: f64, period: Span) {
        self.changed |= cost != self.asked.0;
        self.asked = (cost, period);
    }

    /// Decides an event of the sender with the number `sender`, and returns the outcome. `sent` counts the
    /// events of the run, including this one.
    #[inline]
    pub(crate) fn event(&mut self, event: &Event<'_>, sender: usize, sent: u64) -> Outcome {
        let outcome = self.store.check(event).outcome().unwrap_or(NO_LIMIT);
        let passes = outcome.is_allowed();
        self.allowed += u64::from(passes);
        self.refused += u64::from(!passes);
        self.waits.event(sender, event.time, passes);
        self.changed = true;
        self.history.event(event.time, outcome, tightest(&self.store, event.time), sent);
        outcome
    }

    /// Completes the current column of the history.
    pub(crate) fn close(&mut self) {
        let last = self.history.last();
        self.store.forget(last);
        let again = match self.history.again() {
            known if !self.changed => known,
            _ => match self.retry_after(last) {
                Retry::After(wait) => last.after(wait),
                Retry::Never => Time::LAST,
            },
        };
        self.changed = false;
        // Zero stands for "at once"; since when an event would have been allowed does not matter.
        let again = if again <= last { Time::ZERO } else { again };
        self.history.close(tightest(&self.store, last), again);
    }

    /// The text from which the lane was made.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The policy of the template. Its text has every optional word, as in `token-bucket 10/10s burst 10 per user &
    /// fixed-window 10/10s per ip`.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The limiters of the policy, without their keys.
    pub fn limiters(&self) -> String {
        let limits = self.policy().limits().iter().map(|limit| limit.limiter.to_string());
        limits.collect::<Vec<_>>().join(" & ")
    }

    /// The unit of the level, in words: the unit of the only limit, or `of the tightest` of several limits.
    pub fn unit(&self) -> &'static str {
        let [limit] = self.policy().limits() else { return "of the tightest" };
        limit.limiter.unit()
    }

    /// Events allowed since the lane began.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Events refused since the lane began.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// How long senders waited after refusals since the lane began.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The level and the limit at `now`, which is not before the last event. With several limits or users,
    /// these are the level and the limit with the highest ratio.
    pub fn level(&self, now: Time) -> (f64, f64) {
        let Outcome { level, limit, .. } = tightest(&self.store, now);
        (level, limit)
    }

    /// How long after `now` an event of the first user, with the cost of the settings, would be allowed.
    pub fn retry_after(&self, now: Time) -> Retry {
        let fields = &Sender("");
        self.store.retry_after(&Event { time: now, cost: self.asked.0, fields })
    }

    /// As [`retry_after`](Self::retry_after), for an instant `at` of the past, which lies in `column` of the history.
    /// `now` is the present of the run. For a complete column it is the answer at the end of the column.
    pub fn retry_at(&self, column: &Column, at: Time, now: Time) -> Retry {
        match column.again {
            _ if self.history.is_filling(at) => self.retry_after(now),
            Time::LAST => Retry::Never,
            again => Retry::After(at.until(again)),
        }
    }

    /// The history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The most that one sender gets through in any period of the common rate, in events of cost
    /// `cost`; infinite if there is no bound.
    pub fn max_admitted(&self, cost: f64) -> f64 {
        self.policy().max_admitted(self.asked.1, cost)
    }
}

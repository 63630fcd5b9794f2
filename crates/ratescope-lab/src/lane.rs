//! A lane: a policy, the store that decides it, and its history.

pub mod history;
pub(crate) mod model;
mod template;
mod waits;

pub use template::Template;
pub use waits::Waits;

pub(crate) use template::Sender;

use crate::clients::Crowd;
use history::{Column, Grain, History};
use model::Model;
use ratescope::event::Event;
use ratescope::outcome::{Outcome, Retry};
use ratescope::policy::Policy;
use ratescope::rate::Rate;
use ratescope::rules::MemoryStore;
use ratescope::time::{Span, Time};

/// The most keys of a limit in a lane: more than the users of a script.
const KEYS: usize = 128;

/// The policy of a template and the states of its keys.
#[derive(Debug)]
pub struct Lane {
    template: Template,
    policy: Policy,
    store: MemoryStore,
    /// Decides in place of the store.
    model: Option<Model>,
    crowd: Option<Box<Crowd>>,
    curves: Vec<Curve>,
    allowed: u64,
    refused: u64,
    waits: Waits,
    history: History,
    /// The cost for [`retry_after`](Self::retry_after), and the period for [`max_admitted`](Self::max_admitted).
    asked: (f64, Span),
    /// An event or a setting changed something since `retry_after` was last computed.
    changed: bool,
}

/// The most users of a lane with a curve each.
pub const CURVES: usize = 5;

/// The level of one user, in a lane that limits each.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The user.
    pub user: String,
    /// The level of this user's limits.
    pub history: History,
}

/// A clone copies the states.
impl Clone for Lane {
    fn clone(&self) -> Self {
        Lane {
            template: self.template.clone(),
            policy: self.policy.clone(),
            store: self.store.fork(),
            crowd: self.crowd.clone(),
            curves: self.curves.clone(),
            waits: self.waits.clone(),
            history: self.history.clone(),
            ..*self
        }
    }
}

/// The outcome of no limit; a policy has at least one.
const NO_LIMIT: Outcome = Outcome::new(true, 0.0, 0.0);

impl Lane {
    /// A lane that begins at `now` without states, after `sent` events of the run. `rate` is the common rate.
    pub(crate) fn new(
        template: Template,
        policy: Policy,
        rate: Rate,
        now: Time,
        sent: u64,
    ) -> Self {
        let store = MemoryStore::new(policy.clone(), KEYS);
        let model = template.model(rate);
        let rest = store.tightest(now).unwrap_or(NO_LIMIT);
        Lane {
            template,
            policy,
            store,
            model,
            crowd: None,
            curves: Vec::new(),
            allowed: 0,
            refused: 0,
            waits: Waits::default(),
            history: History::new(Grain::default(), now, rest, 0, sent),
            asked: (1.0, Span::ZERO),
            changed: true,
        }
    }

    fn tightest(&self, now: Time) -> Outcome {
        match &self.model {
            Some(model) => model.peek(now, 0.0),
            None => self.store.tightest(now).unwrap_or(NO_LIMIT),
        }
    }

    /// A copy of the lane, with a new history of another grain that begins at `now`.
    pub(crate) fn with_new_history(&self, now: Time, sent: u64, grain: Grain) -> Self {
        let history = History::new(grain, now, self.tightest(now), self.allowed, sent);
        let mut copy = Lane {
            template: self.template.clone(),
            policy: self.policy.clone(),
            store: self.store.fork(),
            crowd: self.crowd.clone(),
            curves: Vec::new(),
            waits: self.waits.clone(),
            history,
            changed: true,
            ..*self
        };
        for Curve { user, .. } in &self.curves {
            let history = History::new(grain, now, copy.of_user(user, now), 0, sent);
            copy.curves.push(Curve { user: user.clone(), history });
        }
        copy
    }

    /// The level and the limit of one user at `now`.
    fn of_user(&self, user: &str, now: Time) -> Outcome {
        let event = Event { time: now, cost: 0.0, fields: &Sender(user) };
        self.store.peek(&event).outcome().unwrap_or(NO_LIMIT)
    }

    /// Keeps a curve of each of the first named users, if there is a limit per user and there are several of them.
    pub(crate) fn watch(&mut self, users: &[String], now: Time, sent: u64) {
        let mut fields = self.policy.limits().iter().flat_map(|limit| limit.per.fields());
        let several = users.len() > 2 && fields.any(|field| field == "user");
        let users = if several { users.get(1..).unwrap_or_default() } else { &[] };
        let mut old = core::mem::take(&mut self.curves);
        for user in users.iter().take(CURVES) {
            let known = old.iter().position(|curve| curve.user == *user);
            let curve = known.map(|place| old.swap_remove(place)).unwrap_or_else(|| {
                let rest = self.of_user(user, now);
                let grain = self.history.grain();
                Curve { user: user.clone(), history: History::new(grain, now, rest, 0, sent) }
            });
            self.curves.push(curve);
        }
    }

    /// Gives the lane its clients, or none.
    pub(crate) fn employ(&mut self, crowd: Option<Crowd>) {
        self.crowd = crowd.map(Box::new);
    }

    /// When its clients send next; [`Time::LAST`] means never.
    pub(crate) fn due(&self) -> Time {
        self.crowd.as_ref().map_or(Time::LAST, |crowd| crowd.due())
    }

    /// Sends the requests of its clients that are due at `at`, and returns how many there were. `sent` counts the events
    /// of the run that all lanes get.
    pub(crate) fn wake(&mut self, at: Time, users: &[String], sent: u64) -> usize {
        let mut count = 0;
        let Some(mut crowd) = self.crowd.take() else { return 0 };
        while let Some(request) = crowd.take(at) {
            let user = users.get(request.user as usize).map_or("", String::as_str);
            let event = Event { time: at, cost: request.cost, fields: &Sender(user) };
            let outcome = self.event(&event, request.user as usize, sent + crowd.sent());
            crowd.answer(&request, at, &outcome, || self.retry_of(&event));
            count += 1;
        }
        self.crowd = Some(crowd);
        count
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
    pub(crate) fn event(&mut self, event: &Event<'_>, sender: usize, sent: u64) -> Outcome {
        let outcome = match &mut self.model {
            Some(model) => model.check(event.time, event.cost),
            None => self.store.check(event).outcome().unwrap_or(NO_LIMIT),
        };
        let passes = outcome.is_allowed();
        self.allowed += u64::from(passes);
        self.refused += u64::from(!passes);
        self.waits.event(sender, event.time, passes);
        self.changed = true;
        self.history.event(event.time, outcome, self.tightest(event.time), sent);
        if !self.curves.is_empty() {
            let user = event.fields.value("user").unwrap_or_default();
            let after = self.of_user(user, event.time);
            let curve = self.curves.iter_mut().find(|curve| curve.user == user);
            curve.into_iter().for_each(|it| it.history.event(event.time, outcome, after, sent));
        }
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
        self.history.close(self.tightest(last), again);
        let ends: Vec<_> =
            self.curves.iter().map(|curve| self.of_user(&curve.user, last)).collect();
        for (curve, end) in self.curves.iter_mut().zip(ends) {
            curve.history.close(end, Time::ZERO);
        }
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

    /// The limiters of the policy, with or without their keys, and how the lane's clients try again, if that is its own.
    pub fn limiters(&self, with_keys: bool) -> String {
        if self.model.is_some() {
            return self.template.to_string();
        }
        let limits = self.policy().limits().iter();
        let mut text = if with_keys {
            self.policy().to_string()
        } else {
            limits.map(|limit| limit.limiter.to_string()).collect::<Vec<_>>().join(" & ")
        };
        if let Some(way) = self.template.way() {
            text.push_str(&format!(" retry {way}"));
        }
        text
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
        let Outcome { level, limit, .. } = self.tightest(now);
        (level, limit)
    }

    /// How long after `now` an event of the first user, with the cost of the settings, would be allowed.
    pub fn retry_after(&self, now: Time) -> Retry {
        let fields = &Sender("");
        self.retry_of(&Event { time: now, cost: self.asked.0, fields })
    }

    fn retry_of(&self, event: &Event<'_>) -> Retry {
        match &self.model {
            Some(model) => model.retry_after(event.time, event.cost),
            None => self.store.retry_after(event),
        }
    }

    /// The clients of this lane, if there are any.
    pub fn crowd(&self) -> Option<&Crowd> {
        self.crowd.as_deref()
    }

    /// The levels of the first few users, in a lane that limits each of several users.
    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// The level and the limit of a user with a curve at `now`, which is not before the last event.
    pub fn level_of(&self, user: &str, now: Time) -> (f64, f64) {
        let Outcome { level, limit, .. } = self.of_user(user, now);
        (level, limit)
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
        if self.model.is_some_and(|model| !model.is_bounded()) {
            return f64::INFINITY;
        }
        self.policy().max_admitted(self.asked.1, cost)
    }
}

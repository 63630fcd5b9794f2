//! A lane: a policy, the limiters that decide by it, and its history.

pub mod history;
pub(crate) mod model;
pub mod processes;
mod template;
mod waits;

pub use template::{Parts, Template, shared_limit, split};
pub use waits::Waits;

pub(crate) use template::Sender;

use crate::clients::Crowd;
use history::{Column, Grain, History};
use model::Model;
use processes::{Asked, Processes, Shared};
use ratescope::event::Event;
use ratescope::outcome::{Outcome, Retry};
use ratescope::policy::Policy;
use ratescope::rate::Rate;
use ratescope::rules::MemoryStore;
use ratescope::time::{Span, Time};

/// The most keys of a limit in a lane: more than the users of a script.
const KEYS: usize = 128;

/// The policy of a template and the states of its keys.
#[derive(Clone, Debug)]
pub struct Lane {
    template: Template,
    policy: Policy,
    decider: Decider,
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

/// The store, the model or the processes that decide the events of a lane.
#[derive(Debug)]
enum Decider {
    Store(MemoryStore),
    /// In place of a limiter.
    Model(Model),
    /// Several processes.
    Shared(Box<Shared>),
}

/// A clone copies the states.
impl Clone for Decider {
    fn clone(&self) -> Self {
        match self {
            Decider::Store(store) => Decider::Store(store.fork()),
            Decider::Model(model) => Decider::Model(*model),
            Decider::Shared(shared) => Decider::Shared(shared.clone()),
        }
    }
}

/// The most users of a lane with a curve each, and the most processes.
pub const CURVES: usize = 5;

/// The level of one user, in a lane that limits each; or a level that is not the true one, in a lane of several processes.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The user; empty in a lane of several processes.
    pub user: String,
    /// The level.
    pub history: History,
}

/// The outcome of no limit; a policy has at least one.
const NO_LIMIT: Outcome = Outcome::new(true, 0.0, 0.0);

impl Lane {
    /// A lane that begins at `now` without states, after `sent` events of the run. `rate` is the common rate; `among` are the
    /// processes, if its template says how they share it, and the seed by which events are spread.
    pub(crate) fn new(
        template: Template,
        policy: Policy,
        rate: Rate,
        among: (Processes, u64),
        now: Time,
        sent: u64,
    ) -> Self {
        let decider = match (template.model(rate), template.sharing(), policy.limits()) {
            (Some(model), ..) => Decider::Model(model),
            (None, Some(sharing), [limit]) => {
                let limiter = limit.limiter.clone();
                Decider::Shared(Box::new(Shared::new(limiter, sharing, among)))
            }
            _ => Decider::Store(MemoryStore::new(policy.clone(), KEYS)),
        };
        let rest = decider.tightest(now);
        Lane {
            template,
            policy,
            decider,
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

    /// A copy of the lane, with a new history of another grain that begins at `now`.
    pub(crate) fn with_new_history(&self, now: Time, sent: u64, grain: Grain) -> Self {
        let mut copy = self.clone();
        copy.history = History::new(grain, now, self.decider.tightest(now), self.allowed, sent);
        copy.changed = true;
        for (curve, number) in copy.curves.iter_mut().zip(0..) {
            let rest = self.decider.of_curve(&curve.user, number, now);
            curve.history = History::new(grain, now, rest, 0, sent);
        }
        copy
    }

    /// True if there is a limit per user.
    fn is_per_user(&self) -> bool {
        let mut fields = self.policy.limits().iter().flat_map(|limit| limit.per.fields());
        fields.any(|field| field == "user")
    }

    /// Keeps a curve of each of the first named users, if there is a limit per user and there are several of them; or of
    /// the levels besides the true one, in a lane of several processes.
    pub(crate) fn watch(&mut self, users: &[String], now: Time, sent: u64) {
        let several = users.len() > 2 && self.is_per_user();
        let beliefs = vec![String::new(); self.shared().map_or(0, Shared::beliefs)];
        let users = match &self.decider {
            Decider::Shared(_) => beliefs.as_slice(),
            _ if several => users.get(1..).unwrap_or_default(),
            _ => &[],
        };
        let mut old = core::mem::take(&mut self.curves);
        for (user, number) in users.iter().take(CURVES).zip(0..) {
            let known = old.iter().position(|curve| curve.user == *user);
            let curve = known.map(|place| old.remove(place)).unwrap_or_else(|| {
                let rest = self.decider.of_curve(user, number, now);
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
            let user = request.user as usize;
            crowd.answer(&request, at, &outcome, || self.retry_of(&event, user));
            count += 1;
        }
        self.crowd = Some(crowd);
        count
    }

    /// Tells whether this lane has this template and this policy, and these processes if it has several.
    pub(crate) fn is(&self, template: &Template, policy: &Policy, among: (Processes, u64)) -> bool {
        let is_so = self.shared().is_none_or(|shared| shared.is(among));
        self.template == *template && self.policy == *policy && is_so
    }

    /// Sets the cost for [`retry_after`](Self::retry_after), and the period for [`max_admitted`](Self::max_admitted).
    pub(crate) fn ask_about(&mut self, cost: f64, period: Span) {
        self.changed |= cost != self.asked.0;
        self.asked = (cost, period);
    }

    /// Decides an event of the sender with the number `sender`, and returns the outcome. `sent` counts the
    /// events of the run, including this one.
    pub(crate) fn event(&mut self, event: &Event<'_>, sender: usize, sent: u64) -> Outcome {
        let key = if self.is_per_user() { sender } else { 0 };
        let outcome = match &mut self.decider {
            Decider::Store(store) => store.check(event).outcome().unwrap_or(NO_LIMIT),
            Decider::Model(model) => model.check(event.time, event.cost),
            Decider::Shared(shared) => {
                let by = [sender as u64, sent];
                shared.check(Asked { at: event.time, cost: event.cost, key, by })
            }
        };
        let passes = outcome.is_allowed();
        self.allowed += u64::from(passes);
        self.refused += u64::from(!passes);
        self.waits.event(sender, event.time, passes);
        self.changed = true;
        self.history.event(event.time, outcome, self.decider.tightest(event.time), sent);
        if !self.curves.is_empty() {
            let user = event.fields.value("user").unwrap_or_default();
            let is_shared = self.shared().is_some();
            for (curve, number) in self.curves.iter_mut().zip(0..) {
                if is_shared || curve.user == user {
                    let after = self.decider.of_curve(&curve.user, number, event.time);
                    curve.history.event(event.time, outcome, after, sent);
                }
            }
        }
        outcome
    }

    /// Completes the current column of the history.
    pub(crate) fn close(&mut self) {
        let last = self.history.last();
        match &mut self.decider {
            Decider::Store(store) => store.forget(last),
            Decider::Model(_) => {}
            Decider::Shared(shared) => shared.close(last),
        }
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
        self.history.close(self.decider.tightest(last), again);
        for (curve, number) in self.curves.iter_mut().zip(0..) {
            let end = self.decider.of_curve(&curve.user, number, last);
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

    /// The limiters of the policy, with or without their keys, how processes share them, and how the lane's
    /// clients try again, if that is its own.
    pub fn limiters(&self, with_keys: bool) -> String {
        if matches!(self.decider, Decider::Model(_)) {
            return self.template.to_string();
        }
        let limits = self.policy().limits().iter();
        let mut text = if with_keys {
            self.policy().to_string()
        } else {
            limits.map(|limit| limit.limiter.to_string()).collect::<Vec<_>>().join(" & ")
        };
        if let Some(sharing) = self.template.sharing() {
            text.push_str(&format!(" share {sharing}"));
        }
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
        let Outcome { level, limit, .. } = self.decider.tightest(now);
        (level, limit)
    }

    /// How long after `now` an event of the first user, with the cost of the settings, would be allowed.
    pub fn retry_after(&self, now: Time) -> Retry {
        let fields = &Sender("");
        self.retry_of(&Event { time: now, cost: self.asked.0, fields }, 0)
    }

    /// The wait for an event of the sender with the number `sender`; with several processes, at the one that decided last.
    fn retry_of(&self, event: &Event<'_>, sender: usize) -> Retry {
        match &self.decider {
            Decider::Store(store) => store.retry_after(event),
            Decider::Model(model) => model.retry_after(event.time, event.cost),
            Decider::Shared(shared) => {
                let key = if self.is_per_user() { sender } else { 0 };
                shared.retry_after(key, event.time, event.cost)
            }
        }
    }

    /// The processes that decide, if there are several.
    pub fn shared(&self) -> Option<&Shared> {
        match &self.decider {
            Decider::Shared(shared) => Some(shared),
            _ => None,
        }
    }

    /// The clients of this lane, if there are any.
    pub fn crowd(&self) -> Option<&Crowd> {
        self.crowd.as_deref()
    }

    /// The levels of the first few users, in a lane that limits each of several users. In a lane of several processes,
    /// the levels by which the first few decide, or the level on Redis with all leases.
    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// The level and the limit of the curve with this number at `now`, which is not before the last event.
    pub fn level_of(&self, number: usize, now: Time) -> (f64, f64) {
        let user = self.curves.get(number).map_or("", |curve| curve.user.as_str());
        let Outcome { level, limit, .. } = self.decider.of_curve(user, number, now);
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
        match &self.decider {
            Decider::Model(model) if !model.is_bounded() => f64::INFINITY,
            Decider::Shared(shared) => shared.max_admitted(self.asked.1, cost),
            _ => self.policy().max_admitted(self.asked.1, cost),
        }
    }
}

impl Decider {
    fn tightest(&self, now: Time) -> Outcome {
        match self {
            Decider::Store(store) => store.tightest(now).unwrap_or(NO_LIMIT),
            Decider::Model(model) => model.peek(now, 0.0),
            Decider::Shared(shared) => shared.truth(now),
        }
    }

    /// The level and the limit of a user, or of the curve with this number in a lane of several processes.
    fn of_curve(&self, user: &str, number: usize, now: Time) -> Outcome {
        match self {
            Decider::Store(store) => {
                let event = Event { time: now, cost: 0.0, fields: &Sender(user) };
                store.peek(&event).outcome().unwrap_or(NO_LIMIT)
            }
            Decider::Model(model) => model.peek(now, 0.0),
            Decider::Shared(shared) => shared.belief(number, now),
        }
    }
}

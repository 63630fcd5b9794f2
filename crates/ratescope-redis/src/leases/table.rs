//! The last known states of keys, and their leases.

use super::super::Few;
use super::super::plan::{Item, Plan};
use super::super::question::Question;
use super::super::reply::State;
use super::Unit;
use super::synced::Local;
use ratescope::limit::Limiter;
use ratescope::outcome::Outcome;
use ratescope::share::{Lease, Unused, counts_refused, intact, lasts, lendable};
use ratescope::time::{Span, Time};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Default)]
pub(super) struct Table {
    pub(super) keys: HashMap<Vec<u8>, Entry>,
    /// Those that are synced, with all costs together.
    pub(super) synced: HashMap<Vec<u8>, Local>,
    pub(super) returns: Vec<Return>,
}

/// The last known states of a key, and its lease.
pub(super) struct Entry {
    /// A question about this key alone.
    pub(super) question: Question,
    pub(super) cost: f64,
    pub(super) length: Span,
    pub(super) lease: Lease,
    /// When a lease was declined: it is asked for again only after the length of one.
    pub(super) declined: Option<Time>,
    /// Until when the lease counts in full, by the clock of Redis.
    pub(super) intact: Time,
    /// When the answer came.
    pub(super) received: Time,
    pub(super) known: Option<Known>,
    /// Open while a call for a lease is under way.
    pub(super) asking: Option<watch::Receiver<()>>,
    /// The cost of the events that were refused here. Redis must be told of it.
    pub(super) refused: f64,
}

/// The states of the limits at a key after a call that was sent at a time of this process.
pub(super) struct Known {
    pub(super) states: Few<State>,
    pub(super) sent: Time,
}

/// An answer of Redis about a key.
pub(super) struct Answer {
    pub(super) sent: Time,
    pub(super) received: Time,
    pub(super) states: Few<State>,
    /// The lease. It has no events left if none was asked for.
    pub(super) lease: Unused,
    /// The number of processes that hold leases of the key.
    pub(super) holders: u32,
}

/// The rest of a lease, to be given back.
pub(super) struct Return {
    pub(super) question: Question,
    pub(super) cost: f64,
    pub(super) unused: Unused,
    /// A time at which all of it counted.
    pub(super) at: Time,
}

/// The outcomes and the states of the limits at a key.
pub(super) struct Told {
    pub(super) outcomes: Few<Outcome>,
    pub(super) states: Few<State>,
}

impl Entry {
    fn limits(&self) -> impl Iterator<Item = &Item> {
        self.question.keys.iter().flat_map(|key| self.question.plan.items(key.group))
    }

    /// True if the states are young enough to decide by them.
    pub(super) fn knows(&self, now: Time) -> bool {
        self.known.as_ref().is_some_and(|known| now < known.sent.after(self.length))
    }

    /// True if the last known states, however old, refuse an event without a lease.
    pub(super) fn refuses(&self, at: Time) -> bool {
        let told = self.told(0, at.max(self.lease.counted), false);
        told.outcomes.iter().any(|one| !one.is_allowed())
    }

    /// The outcomes and the states with so much `left` of the lease, which is not counted.
    pub(super) fn told(&self, left: u64, at: Time, is_spent: bool) -> Told {
        let mut told = Told { outcomes: Few::new(), states: Few::new() };
        let states = self.known.iter().flat_map(|known| &known.states);
        for (item, state) in self.limits().zip(states) {
            let mut state = state.clone();
            if left > 0 {
                item.limiter.undo(&mut state, self.lease.counted, at, left as f64 * self.cost);
            }
            let cost = if is_spent { 0.0 } else { self.cost };
            let outcome = item.limiter.peek(&state, at, cost);
            told.outcomes.push(if is_spent {
                Outcome::new(true, outcome.level, outcome.limit)
            } else {
                outcome
            });
            told.states.push(state);
        }
        told
    }

    /// How many events to take, when the time on Redis is `at`.
    pub(super) fn wanted(&self, now: Time, at: Time) -> u64 {
        let Some(known) = &self.known else { return 1 };
        let mut wanted = self.lease.wanted(now, self.length);
        for (item, state) in self.limits().zip(&known.states) {
            let left = item.limiter.remaining(state, at);
            let limiter = item.limiter.decides();
            wanted = wanted.min(lendable(limiter, left, self.cost, self.lease.holders));
        }
        wanted.max(1)
    }

    /// Takes over the states and the lease of an answer. Returns the rest of another lease, which came meanwhile.
    pub(super) fn take(&mut self, answer: Answer) -> Option<Return> {
        let Answer { sent, received, states, lease, holders } = answer;
        let mut before = None;
        if lease.left > 0 {
            let rest = lease.left as f64 * self.cost;
            let (mut lasting, mut whole) = (self.length, Time::LAST);
            for (item, state) in self.limits().zip(&states) {
                let limiter = item.limiter.decides();
                let reset = item.limiter.reset_after(state, lease.counted);
                lasting = lasts(limiter, lasting, reset);
                whole = whole.min(intact(&item.limiter, limiter, state, lease.counted, rest));
            }
            before = self.lease.cancel().map(|unused| self.returned(unused, received));
            self.lease.take(sent, lasting, lease, holders);
            (self.intact, self.received) = (whole, received);
        }
        self.known = Some(Known { states, sent });
        before
    }

    pub(super) fn counts_refused(&self) -> bool {
        self.limits().any(|item| counts_refused(item.limiter.decides()))
    }

    /// The rest of a lease, which is to be given back.
    pub(super) fn returned(&self, unused: Unused, now: Time) -> Return {
        // By now, at least so much time has passed on Redis.
        let passed = unused.counted.after(self.received.until(now));
        let at = self.intact.min(passed).max(unused.counted);
        Return { question: self.question.clone(), cost: self.cost, unused, at }
    }
}

impl Table {
    /// The entry of a key, unless it was made by other rules.
    pub(super) fn entry(&mut self, unit: &Unit, questions: &[Question]) -> Option<&mut Entry> {
        let plan: &Arc<Plan> = &questions.get(unit.question)?.plan;
        self.keys.get_mut(&unit.id).filter(|entry| Arc::ptr_eq(&entry.question.plan, plan))
    }

    /// Adds a key. Returns the rest of its lease by earlier rules.
    pub(super) fn insert(
        &mut self,
        unit: &Unit,
        questions: &[Question],
        length: Span,
        now: Time,
    ) -> Option<Return> {
        let question = questions.get(unit.question)?;
        let entry = Entry {
            question: question.about([unit.key.clone()]),
            cost: unit.cost,
            length,
            lease: Lease::new(now),
            declined: None,
            intact: now,
            received: now,
            known: None,
            asking: None,
            refused: 0.0,
        };
        let mut earlier = self.keys.insert(unit.id.clone(), entry)?;
        earlier.lease.cancel().map(|unused| earlier.returned(unused, now))
    }
}

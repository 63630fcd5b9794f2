//! Stores: a policy and events in, verdicts out; and what is remembered of each key.

#[cfg(feature = "rules")]
pub(crate) mod together;

use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyState;
use crate::outcome::{Outcome, Retry};
use crate::policy::{Limit, Policy, Verdict, retry_after, strictest};
use crate::time::Time;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A policy, and the states of the keys of each of its limits.
#[derive(Debug)]
pub struct Store {
    policy: Policy,
    capacity: usize,
    states: Mutex<Vec<HashMap<String, AnyState>>>,
}

impl Store {
    /// `policy` for at most `capacity` keys of each of its limits.
    pub fn new(policy: Policy, capacity: usize) -> Self {
        let states = policy.limits().iter().map(|_| HashMap::new()).collect();
        Store { policy, capacity, states: Mutex::new(states) }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Decides about an event, and counts it in all limits or in none.
    pub fn check(&self, event: &Event<'_>) -> Verdict {
        let mut states = self.lock();
        let mut held: Vec<_> = self.held(&mut states, event);
        let verdict =
            strictest(held.iter().map(|(l, s)| l.limiter.peek(s, event.time, event.cost)));
        for (limit, state) in &mut held {
            limit.limiter.record(state, event.time, event.cost, verdict.is_allowed());
        }
        verdict
    }

    /// What [`check`](Self::check) would answer; nothing is counted.
    pub fn peek(&self, event: &Event<'_>) -> Verdict {
        let mut states = self.lock();
        let held = self.held(&mut states, event);
        strictest(held.iter().map(|(l, s)| l.limiter.peek(s, event.time, event.cost)))
    }

    /// How long after its time the event passes if nothing is counted before.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        let mut states = self.lock();
        let held = self.held(&mut states, event);
        retry_after(held.iter().map(|(l, s)| (&l.limiter, &**s)), event.time, event.cost)
    }

    /// The tightest level of all keys at `now`.
    pub fn tightest(&self, now: Time) -> Outcome {
        let states = self.lock();
        let each = self.policy.limits().iter().zip(states.iter());
        let outcomes = each.flat_map(|(limit, states)| {
            let initial = states.is_empty().then(|| limit.limiter.initial());
            let peek = |state: &AnyState| limit.limiter.peek(state, now, 0.0);
            states.values().chain(&initial).map(peek).collect::<Vec<_>>()
        });
        strictest(outcomes).outcome
    }

    /// Frees the memory of what logs and windows no longer count at `now`; decisions stay the same.
    pub fn forget(&self, now: Time) {
        let mut states = self.lock();
        for (limit, states) in self.policy.limits().iter().zip(states.iter_mut()) {
            states.values_mut().for_each(|state| limit.limiter.forget(state, now));
        }
    }

    /// How many keys are remembered, of all limits.
    pub fn len(&self) -> usize {
        self.lock().iter().map(HashMap::len).sum()
    }

    /// Whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most keys that are remembered of each limit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many keys were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        0
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HashMap<String, AnyState>>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held<'a>(
        &'a self,
        states: &'a mut [HashMap<String, AnyState>],
        event: &Event<'_>,
    ) -> Vec<(&'a Limit, &'a mut AnyState)> {
        let each = self.policy.limits().iter().zip(states);
        each.map(|(limit, states)| {
            let initial = || limit.limiter.initial();
            (limit, states.entry(limit.per.key(event)).or_insert_with(initial))
        })
        .collect()
    }
}

impl Clone for Store {
    fn clone(&self) -> Self {
        let states = Mutex::new(self.lock().clone());
        Store { policy: self.policy.clone(), capacity: self.capacity, states }
    }
}

//! Several stores about one event: what each of them holds of it, all at once.

use super::Store;
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::{AnyLimiter, AnyState};
use crate::outcome::Outcome;
use crate::time::Time;
use std::collections::HashMap;
use std::sync::MutexGuard;

/// The key that an event has in a store of one limit, locked.
pub(crate) struct Held<'a> {
    limiter: &'a AnyLimiter,
    states: MutexGuard<'a, Vec<HashMap<String, AnyState>>>,
    key: String,
    initial: AnyState,
}

/// Holds the key of the event in each of `stores`, of which none stands there twice. They are
/// returned in the order in which they are given, and locked in the order of their addresses: that
/// is one order for all threads, whichever rules they follow, so that no two wait for each other.
pub(crate) fn hold<'a>(stores: &[&'a Store], event: &Event<'_>) -> Vec<Held<'a>> {
    let mut order: Vec<usize> = (0..stores.len()).collect();
    order.sort_unstable_by_key(|&i| core::ptr::from_ref(stores[i]).addr());
    let mut held: Vec<Option<Held<'a>>> = stores.iter().map(|_| None).collect();
    for i in order {
        held[i] = Held::new(stores[i], event);
    }
    held.into_iter().flatten().collect()
}

impl<'a> Held<'a> {
    fn new(store: &'a Store, event: &Event<'_>) -> Option<Self> {
        let limit = store.policy.limits().first()?;
        let limiter = &limit.limiter;
        let (key, initial) = (limit.per.key(event), limiter.initial());
        Some(Held { limiter, states: store.lock(), key, initial })
    }

    pub(crate) fn limiter(&self) -> &'a AnyLimiter {
        self.limiter
    }

    pub(crate) fn state(&self) -> &AnyState {
        self.states.first().and_then(|states| states.get(&self.key)).unwrap_or(&self.initial)
    }

    pub(crate) fn peek(&self, now: Time, cost: f64) -> Outcome {
        self.limiter.peek(self.state(), now, cost)
    }

    /// Counts an event that this limiter let pass or not, and that was `allowed` by all or not.
    pub(crate) fn record(&mut self, now: Time, cost: f64, _passed: bool, allowed: bool) {
        self.update(|limiter, state| limiter.record(state, now, cost, allowed));
    }

    pub(crate) fn charge(&mut self, now: Time, cost: f64) {
        self.update(|limiter, state| limiter.charge(state, now, cost));
    }

    fn update(&mut self, change: impl FnOnce(&AnyLimiter, &mut AnyState)) {
        let Some(states) = self.states.first_mut() else { return };
        let key = core::mem::take(&mut self.key);
        let state = states.entry(key.clone()).or_insert_with(|| self.initial.clone());
        change(self.limiter, state);
        self.key = key;
    }
}

//! Decides in this process while Redis can't be asked.
//!
//! The states in the answers of Redis are adopted, so that a decision made here goes on where Redis was, in Redis' time.

use super::RedisStore;
use super::plan::Question;
use super::reply::Reply;
use core::sync::atomic::{AtomicI64, Ordering};
use ratescope::event::Event;
use ratescope::rules::{Decision, Details, Fault, MemoryStore, Part, Reloaded, Rules};
use ratescope::text::BadNumber;
use ratescope::time::Time;

/// The store in this process.
#[derive(Debug)]
pub(super) struct Fallback {
    pub(super) store: MemoryStore,
    /// How often an event counts here: once for each process that shares the states.
    times: f64,
    /// How many microseconds the clock of Redis was ahead of the events' clock in its latest answer.
    ahead: AtomicI64,
}

impl Fallback {
    pub(super) fn new(store: MemoryStore, processes: u32) -> Self {
        Fallback { store, times: processes.into(), ahead: AtomicI64::default() }
    }

    /// Decides about an event.
    pub(super) fn decide(
        &self,
        event: &Event<'_>,
        counts: bool,
        details: Details,
        fault: Fault,
    ) -> Decision {
        let event = self.in_its_time(event);
        let mut decision = self.store.answer_instead(&event, details, counts, self.times);
        decision.fault = Some(fault);
        decision
    }

    /// Decides about several events together, each by its own store.
    pub(super) fn decide_all(
        &self,
        parts: &[Part<'_, RedisStore>],
        details: Details,
        fault: &Fault,
    ) -> Vec<Decision> {
        let events: Vec<Event<'_>> =
            parts.iter().map(|part| part.store.0.fallback.in_its_time(part.event)).collect();
        let local: Vec<Part<'_, MemoryStore>> = parts
            .iter()
            .zip(&events)
            .map(|(part, event)| Part { event, ..part.of_store(&part.store.0.fallback.store) })
            .collect();
        let mut decisions = MemoryStore::answer_all_instead(&local, details, self.times);
        decisions.iter_mut().for_each(|decision| decision.fault = Some(fault.clone()));
        decisions
    }

    pub(super) fn charge(
        &self,
        event: &Event<'_>,
        passed: Option<&Decision>,
    ) -> Result<(), BadNumber> {
        self.store.charge_instead(&self.in_its_time(event), passed, self.times)
    }

    pub(super) fn give_back(&self, event: &Event<'_>, passed: Option<&Decision>) {
        self.store.give_back_times(&self.in_its_time(event), passed, self.times);
    }

    /// Takes over the states of a reply, if it has any, so that this process can go on from there.
    pub(super) fn adopt(&self, event: &Event<'_>, question: &Question, reply: Reply) {
        let Some((now, states)) = reply.states.filter(|(_, states)| !states.is_empty()) else {
            return;
        };
        let ahead = now.as_micros().saturating_sub(event.time.as_micros());
        self.ahead.store(ahead, Ordering::Relaxed);
        let event = &Event { time: now, ..*event };
        let Question { plan, asks, .. } = question;
        self.store.adopt(&plan.rules, event, asks, &reply.outcomes, states);
    }

    pub(super) fn forget(&self, now: Time) {
        self.store.forget(self.as_redis_has_it(now));
    }

    pub(super) fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        self.store.replace(rules, self.as_redis_has_it(now))
    }

    /// The event in Redis' time, which is that of the states.
    fn in_its_time<'a>(&self, event: &Event<'a>) -> Event<'a> {
        Event { time: self.as_redis_has_it(event.time), ..*event }
    }

    fn as_redis_has_it(&self, time: Time) -> Time {
        let ahead = self.ahead.load(Ordering::Relaxed);
        Time::from_micros(time.as_micros().saturating_add(ahead))
    }
}

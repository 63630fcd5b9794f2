//! Decides in this process while Redis can't be asked.
//!
//! The states in the answers of Redis are adopted, so that a decision made here goes on where Redis was, in Redis' time.

use super::options::TimeSource;
use super::plan::Question;
use super::reply::Reply;
use super::{Redis, RedisStore};
use core::sync::atomic::{AtomicI64, Ordering};
use ratescope::event::Event;
use ratescope::rules::{Decision, Details, Fault, MemoryStore, Part, Reloaded, Rules};
use ratescope::text::BadNumber;
use ratescope::time::Time;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// The store in this process.
#[derive(Debug)]
pub(super) struct Fallback {
    pub(super) store: MemoryStore,
    /// How often an event counts here: once for each process that shares the states.
    times: f64,
    clock: Arc<Clock>,
}

/// The clock of Redis, as this process knows it from the latest answer. All stores on a connection share it.
#[derive(Debug)]
pub(super) struct Clock {
    source: TimeSource,
    begun: Instant,
    /// The time of Redis at `begun`, in microseconds; before the first answer, the time of this host.
    at_begin: AtomicI64,
}

impl Clock {
    pub(super) fn new(source: TimeSource) -> Self {
        let host = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at_begin = AtomicI64::new(i64::try_from(host.as_micros()).unwrap_or(i64::MAX));
        Clock { source, begun: Instant::now(), at_begin }
    }

    /// The time at which Redis would decide about an event of this time.
    fn time(&self, event: Time) -> Time {
        match self.source {
            TimeSource::Event { .. } => event,
            TimeSource::Redis => self.now(),
            TimeSource::Host { most_skew } => {
                let now = self.now();
                let skew = now.as_micros().abs_diff(event.as_micros());
                if skew < most_skew.micros_up().unsigned_abs() { event } else { now }
            }
        }
    }

    fn now(&self) -> Time {
        let now = self.at_begin.load(Ordering::Relaxed).saturating_add(self.since_begin());
        Time::from_micros(now)
    }

    /// Sets the clock by the time at which Redis has decided. If that is the time of an event, the two may differ by the
    /// skew.
    fn set(&self, decided: Time) {
        if self.time(decided) != decided || self.source == TimeSource::Redis {
            let at_begin = decided.as_micros().saturating_sub(self.since_begin());
            self.at_begin.store(at_begin, Ordering::Relaxed);
        }
    }

    fn since_begin(&self) -> i64 {
        i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

impl Fallback {
    pub(super) fn new(store: MemoryStore, redis: &Redis) -> Self {
        let clock = Arc::clone(&redis.clock);
        Fallback { store, times: redis.options.processes.into(), clock }
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
        self.clock.set(now);
        let event = &Event { time: now, ..*event };
        let Question { plan, asks, .. } = question;
        self.store.adopt(&plan.rules, event, asks, &reply.outcomes, states);
    }

    pub(super) fn forget(&self, now: Time) {
        self.store.forget(self.clock.time(now));
    }

    pub(super) fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        self.store.replace(rules, self.clock.time(now))
    }

    /// The event in Redis' time, which is that of the states.
    fn in_its_time<'a>(&self, event: &Event<'a>) -> Event<'a> {
        Event { time: self.clock.time(event.time), ..*event }
    }
}

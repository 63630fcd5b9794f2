//! Decides in this process while Redis can't be asked.
//!
//! The states in the answers of Redis are adopted, so that a decision made here goes on where Redis was, in Redis' time.

use super::options::TimeSource;
use super::question::Question;
use super::reply::Reply;
use super::{Few, Redis};
use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;
use ratescope::event::Event;
use ratescope::rules::{
    Decision, Decisions, Details, Fault, Intent, MemoryStore, Part, Reloaded, Rules,
};
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
    /// The time of this host at `begun`, in microseconds.
    host: i64,
    /// The time of Redis at `begun`; before the first answer, that of the host.
    at_begin: AtomicI64,
}

impl Clock {
    pub(super) fn new(source: TimeSource) -> Self {
        let host = Time::from(SystemTime::now()).as_micros();
        Clock { source, begun: Instant::now(), host, at_begin: AtomicI64::new(host) }
    }

    pub(super) fn source(&self) -> TimeSource {
        self.source
    }

    /// The time at which Redis would decide about an event of this time.
    pub(super) fn time(&self, event: Time) -> Time {
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

    pub(super) fn now(&self) -> Time {
        let now = self.at_begin.load(Ordering::Relaxed).saturating_add(self.since_begin());
        Time::from_micros(now)
    }

    /// Sets the clock by the time in the answer to a call that was sent at `sent`. If that is the time of an event, the two
    /// may differ by the skew.
    ///
    /// Redis had this time at some moment since `sent`. So now it has at least this time, and at most as much more as
    /// the call took. A time that is already known stays within these bounds: a slow answer does not set the clock
    /// back, and the clock is never ahead of that of Redis, unless that one is set back.
    pub(super) fn set(&self, reply: &Reply, sent: Instant) {
        let has_states = reply.states.as_ref().is_some_and(|states| !states.is_empty());
        let is_of_event = self.time(reply.time) == reply.time && self.source != TimeSource::Redis;
        if !has_states || is_of_event {
            return;
        }
        let before = |now: i64| reply.time.as_micros().saturating_sub(now);
        let least = before(self.since_begin());
        let most = before(micros(sent.saturating_duration_since(self.begun)));
        let at_begin = match self.at_begin.load(Ordering::Relaxed) {
            host if host == self.host => least,
            known => known.max(least).min(most),
        };
        self.at_begin.store(at_begin, Ordering::Relaxed);
    }

    fn since_begin(&self) -> i64 {
        micros(self.begun.elapsed())
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

impl Fallback {
    pub(super) fn new(store: MemoryStore, redis: &Redis) -> Self {
        let clock = Arc::clone(&redis.clock);
        Fallback { store, times: redis.options.processes.into(), clock }
    }

    /// Decides about events, in Redis' time.
    pub(super) fn decide(&self, parts: &[Part<'_>], details: Details, fault: &Fault) -> Decisions {
        let events: Few<Event<'_>> = parts.iter().map(|part| self.in_its_time(part)).collect();
        let each = parts.iter().zip(&events);
        let parts: Few<Part<'_>> = each
            .map(|(part, event)| {
                let intent = match part.intent {
                    Intent::Settle { now, passed } => {
                        Intent::Settle { now: self.clock.time(now), passed }
                    }
                    other => other,
                };
                Part { event, intent, ..*part }
            })
            .collect();
        let decisions = self.store.decide_instead(&parts, details, self.times).into_iter();
        let failed = |mut decision: Decision| {
            decision.fault = Some(fault.clone());
            decision
        };
        decisions.map(failed).collect()
    }

    /// Takes over the states of a reply, if it has any, so that this process can go on from there.
    pub(super) fn adopt(&self, event: &Event<'_>, question: &Question, reply: Reply) {
        let Some(states) = reply.states.filter(|states| !states.is_empty()) else { return };
        let event = &Event { time: reply.time, ..*event };
        let Question { plan, asks, .. } = question;
        self.store.adopt(&plan.rules, event, asks, &reply.outcomes, states);
    }

    pub(super) fn forget(&self, now: Time) {
        self.store.forget(self.clock.time(now));
    }

    pub(super) fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        self.store.replace(rules, self.clock.time(now))
    }

    /// The event of a part in Redis' time, which is that of the states. A settled event was counted at a time of Redis.
    fn in_its_time<'a>(&self, part: &Part<'a>) -> Event<'a> {
        let Event { time, .. } = *part.event;
        let time = if part.intent.is_settle() { time } else { self.clock.time(time) };
        Event { time, ..*part.event }
    }
}

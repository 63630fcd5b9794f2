//! Leases: a share of what a limit admits, taken in one call and used up here. The chapter derives their
//! [error](super#leases-without-a-call-for-each-event).

use super::owned::Owned;
use super::plan::Deed;
use super::{OpenError, RedisStore};
use crate::event::Event;
use crate::limit::any::AnyLimiter;
use crate::rules::{Answered, AsyncStore, Details, Fault, Rule, Rules, Ruling, Throttle};
use crate::time::{Span, Time};
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How much is taken at once, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// How many events, at least 1.
    pub events: u32,
    /// How old a lease may be.
    pub age: Span,
    /// For how many subjects leases are kept here; others are asked for one by one.
    pub keys: usize,
}

/// A store on Redis, and [leases](super#leases-without-a-call-for-each-event) of it in this process. A clone
/// is the same store.
#[derive(Clone, Debug)]
pub struct Leased(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: RedisStore,
    terms: Terms,
    leases: Mutex<HashMap<Vec<u8>, Lease>>,
    taken: AtomicU64,
    passed: AtomicU64,
    lost: AtomicU64,
}

/// What is left of a share.
#[derive(Clone, Debug)]
struct Lease {
    events: u32,
    /// What each costs.
    cost: f64,
    taken: Time,
    ruling: Ruling,
}

/// What leases have come to, counted from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leases {
    /// How many were taken.
    pub taken: u64,
    /// How many events passed by them, later than they were counted on Redis. No more than those can be
    /// over a limit in any window.
    pub passed: u64,
    /// How many events were counted and not used.
    pub lost: u64,
}

impl Leased {
    /// Leases of a store.
    ///
    /// # Errors
    /// When a rule is not one that can be leased.
    pub fn new(store: RedisStore, terms: Terms) -> Result<Self, OpenError> {
        leasable(&store.rules()).map_err(OpenError::Lease)?;
        let (leases, [taken, passed, lost]) = (Mutex::default(), [0; 3].map(AtomicU64::new));
        Ok(Leased(Arc::new(Inner { store, terms, leases, taken, passed, lost })))
    }

    /// What leases have come to, for metrics.
    pub fn leases(&self) -> Leases {
        let Inner { taken, passed, lost, .. } = &*self.0;
        let [taken, passed, lost] =
            [taken, passed, lost].map(|count| count.load(Ordering::Relaxed));
        Leases { taken, passed, lost }
    }
}

/// Whether all rules count only what they allow, all at once.
fn leasable(rules: &Rules) -> Result<(), String> {
    let plain = |rule: &Rule| {
        rule.cost().is_none() && !rule.is_shadow() && rule.throttle() == Throttle::Hard
    };
    for rule in rules.rules() {
        let all_at_once = |limiter: &AnyLimiter| {
            matches!(
                limiter,
                AnyLimiter::TokenBucket(_)
                    | AnyLimiter::Gcra(_)
                    | AnyLimiter::FixedWindow(_)
                    | AnyLimiter::SlidingWindow(_)
                    | AnyLimiter::SlidingCounter(_)
                    | AnyLimiter::SlidingLog(_)
            )
        };
        if !plain(rule) {
            return Err(format!("{} has a cost, a shadow or a throttle of its own", rule.name()));
        }
        if let Some(limit) = rule.limits().iter().find(|limit| !all_at_once(&limit.limiter)) {
            return Err(format!(
                "{}: {limit} does not count what it allows at once; write a token-bucket, gcra, \
                 fixed-window, sliding-window, sliding-counter or sliding-log",
                rule.name()
            ));
        }
    }
    Ok(())
}

impl Inner {
    /// An event out of a lease, if there is one.
    fn take(&self, subject: &[u8], now: Time, cost: f64) -> Option<Ruling> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = leases.get_mut(subject)?;
        if !self.is_alive(lease, now) {
            self.lost.fetch_add(lease.events.into(), Ordering::Relaxed);
            leases.remove(subject);
            return None;
        }
        if lease.cost != cost {
            return None;
        }
        let ruling = lease.ruling.clone();
        lease.events -= 1;
        if lease.events == 0 {
            leases.remove(subject);
        }
        self.passed.fetch_add(1, Ordering::Relaxed);
        Some(ruling)
    }

    fn is_alive(&self, lease: &Lease, now: Time) -> bool {
        (0.0..=self.terms.age.secs()).contains(&now.since(lease.taken))
    }

    /// Keeps what is left of a share. Where there is one already, it is the younger that stays.
    fn keep(&self, subject: Vec<u8>, lease: Lease) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        if leases.len() >= self.terms.keys {
            let before: u64 = leases.values().map(|lease| u64::from(lease.events)).sum();
            leases.retain(|_, old| self.is_alive(old, lease.taken));
            let after: u64 = leases.values().map(|lease| u64::from(lease.events)).sum();
            self.lost.fetch_add(before.saturating_sub(after), Ordering::Relaxed);
        }
        let events = lease.events;
        let old = match leases.len() < self.terms.keys || leases.contains_key(&subject) {
            true => leases.insert(subject, lease).map(|old| old.events),
            false => Some(events),
        };
        self.lost.fetch_add(old.unwrap_or(0).into(), Ordering::Relaxed);
    }

    /// Whether there may be room for another lease.
    fn has_room(&self, subject: &[u8], now: Time) -> bool {
        let leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.len() < self.terms.keys
            || leases.get(subject).is_some_and(|old| !self.is_alive(old, now))
            || leases.values().any(|old| !self.is_alive(old, now))
    }
}

impl AsyncStore for Leased {
    fn rules(&self) -> Arc<Rules> {
        self.0.store.rules()
    }

    /// Decided here, there is no detail to tell.
    fn check(
        &self,
        event: &Event<'_>,
        details: Details,
    ) -> impl Future<Output = Answered> + Send + use<> {
        let inner = Arc::clone(&self.0);
        let (now, cost, events) = (event.time, event.cost, inner.terms.events);
        let subject = inner.store.subject(event);
        let here = subject.as_ref().and_then(|subject| inner.take(subject, now, cost));
        let share = subject.filter(|subject| {
            here.is_none() && events > 1 && cost > 0.0 && inner.has_room(subject, now)
        });
        let share = share.map(|subject| {
            let all = Event { cost: cost * f64::from(events), ..*event };
            (subject, inner.store.attempt(&all, Deed::Check, details))
        });
        // An event may not be kept while one waits.
        let owned = Owned::new(event, &inner.store.0.plan.load());
        async move {
            if let Some(ruling) = here {
                return Answered { ruling, standings: None, retry: None, fault: None };
            }
            if let Some((subject, attempt)) = share {
                match attempt.await {
                    Ok(answer) if answer.ruling.is_allowed() => {
                        let ruling = answer.ruling.clone();
                        let lease = Lease { events: events - 1, cost, taken: now, ruling };
                        inner.keep(subject, lease);
                        return answer;
                    }
                    Ok(_) => {}
                    Err(fault) => {
                        return inner.store.0.instead(&owned, Deed::Check, details, fault);
                    }
                }
            }
            let alone = inner.store.check(&owned.event(), details);
            alone.await
        }
    }

    fn peek(
        &self,
        event: &Event<'_>,
        details: Details,
    ) -> impl Future<Output = Answered> + Send + use<> {
        self.0.store.peek(event, details)
    }

    fn charge(
        &self,
        event: &Event<'_>,
        passed: Option<&Ruling>,
    ) -> impl Future<Output = Result<(), Fault>> + Send + use<> {
        self.0.store.charge(event, passed)
    }
}

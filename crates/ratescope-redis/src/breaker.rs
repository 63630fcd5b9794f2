//! A circuit breaker, so that a server that keeps failing gets no calls for a while.
//!
//! After a number of failures in a row the circuit opens, and no call is made until it has rested. Then one call is
//! tried. If it succeeds, the circuit closes; if it fails, the circuit rests twice as long as before, up to a bound.
//! The outcome of a call that began before the last change of state is ignored, and so is a call without a report.
//! Source: sony/gobreaker.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The longest rest.
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Breaker {
    failures: u32,
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// The number of changes of state so far.
    generation: u64,
    /// The number of failures since the last success.
    failed: u32,
    /// When the circuit opened, and how long it rests; `None` while it is closed.
    open: Option<(Instant, Duration)>,
    /// True while the one call that is tried after a rest is under way.
    trying: bool,
}

/// Permission for one call. Dropping it without a report gives up the call.
#[derive(Debug)]
pub(super) struct Permit {
    /// `None` for a call whose outcome does not count.
    breaker: Option<Arc<Breaker>>,
    generation: u64,
}

impl Breaker {
    pub(super) fn new(failures: u32, rest: Duration) -> Arc<Self> {
        let state = State { generation: 0, failed: 0, open: None, trying: false };
        Arc::new(Breaker { failures, rest, state: Mutex::new(state) })
    }

    /// A permit for a call at `now`; `None` while the breaker rests.
    pub(super) fn permit(self: &Arc<Self>, now: Instant) -> Option<Permit> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, rest)) = state.open {
            if state.trying || now.saturating_duration_since(since) < rest {
                return None;
            }
            state.trying = true;
        }
        Some(Permit { breaker: Some(Arc::clone(self)), generation: state.generation })
    }

    fn report(&self, generation: u64, outcome: Option<Result<(), Instant>>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.generation != generation {
            return;
        }
        state.trying = false;
        match outcome {
            None => {}
            Some(Ok(())) if state.open.is_some() => {
                let generation = state.generation.wrapping_add(1);
                *state = State { generation, failed: 0, open: None, trying: false };
            }
            Some(Ok(())) => state.failed = 0,
            Some(Err(now)) => {
                state.failed = state.failed.saturating_add(1);
                let rest = match state.open {
                    Some((_, rest)) => Some((rest * 2).min(LONGEST.max(self.rest))),
                    None => (state.failed >= self.failures).then_some(self.rest),
                };
                if let Some(rest) = rest {
                    state.open = Some((now, rest));
                    state.generation = state.generation.wrapping_add(1);
                }
            }
        }
    }
}

impl Permit {
    /// A permit for a call whose outcome does not count.
    pub(super) fn unguarded() -> Self {
        Permit { breaker: None, generation: 0 }
    }

    pub(super) fn succeeded(&self) {
        self.report(Some(Ok(())));
    }

    pub(super) fn failed(&self, now: Instant) {
        self.report(Some(Err(now)));
    }

    fn report(&self, outcome: Option<Result<(), Instant>>) {
        if let Some(breaker) = &self.breaker {
            breaker.report(self.generation, outcome);
        }
    }
}

/// A call that is given up only lets the next one try. After a report this has no effect: either the generation has
/// changed, or no call is being tried.
impl Drop for Permit {
    fn drop(&mut self) {
        self.report(None);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_millis(100);

    #[test]
    fn it_opens_rests_tries_once_and_closes() {
        let (breaker, start) = (Breaker::new(2, REST), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        breaker.permit(at(0)).unwrap().failed(at(0));
        breaker.permit(at(0)).unwrap().succeeded();
        breaker.permit(at(0)).unwrap().failed(at(0));
        assert!(breaker.permit(at(0)).is_some(), "failures count one after the other");
        breaker.permit(at(1)).unwrap().failed(at(1));
        assert!(breaker.permit(at(100)).is_none());
        let trial = breaker.permit(at(101)).unwrap();
        assert!(breaker.permit(at(102)).is_none(), "one at a time");
        trial.failed(at(110));
        assert!(breaker.permit(at(309)).is_none(), "twice as long");
        // A call that is given up lets another one try.
        drop(breaker.permit(at(310)).unwrap());
        breaker.permit(at(311)).unwrap().succeeded();
        assert!(breaker.permit(at(311)).is_some() && breaker.permit(at(311)).is_some());
    }

    #[test]
    fn outcomes_of_earlier_calls_are_ignored() {
        let (breaker, start) = (Breaker::new(1, REST), Instant::now());
        let (early, late) = (breaker.permit(start).unwrap(), breaker.permit(start).unwrap());
        early.failed(start);
        late.succeeded();
        assert!(breaker.permit(start).is_none(), "it stays open");
    }

    #[test]
    fn no_rest_is_longer_than_the_longest() {
        let (breaker, mut now) = (Breaker::new(1, REST), Instant::now());
        breaker.permit(now).unwrap().failed(now);
        for _ in 0..20 {
            now += LONGEST;
            breaker.permit(now).unwrap().failed(now);
        }
        assert!(breaker.permit(now + LONGEST).is_some());
    }
}

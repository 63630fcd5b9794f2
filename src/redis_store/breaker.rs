//! A circuit breaker: what failed again and again is left alone for a while.
//!
//! After so many failures one after the other it opens: nothing is asked until it has rested. Then
//! one call is let through. If that succeeds all are, and if it fails the rest is twice as long, up to
//! a bound. An answer to a call from before the last change says nothing of what is now, and a call
//! that was given up says nothing at all; source: sony/gobreaker.

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
    /// How often it has changed.
    generation: u64,
    /// Failures one after the other.
    failed: u32,
    /// Since when, and for how long, it rests.
    open: Option<(Instant, Duration)>,
    /// Whether the one call after a rest is under way.
    trying: bool,
}

/// Leave to ask once. What is dropped without a word was given up.
#[derive(Debug)]
pub(super) struct Permit {
    breaker: Arc<Breaker>,
    generation: u64,
}

impl Breaker {
    pub(super) fn new(failures: u32, rest: Duration) -> Arc<Self> {
        let state = State { generation: 0, failed: 0, open: None, trying: false };
        Arc::new(Breaker { failures: failures.max(1), rest, state: Mutex::new(state) })
    }

    /// Leave to ask at `now`; `None` while it rests.
    pub(super) fn permit(self: &Arc<Self>, now: Instant) -> Option<Permit> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, rest)) = state.open {
            if state.trying || now.saturating_duration_since(since) < rest {
                return None;
            }
            state.trying = true;
        }
        Some(Permit { breaker: Arc::clone(self), generation: state.generation })
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
    pub(super) fn succeeded(&self) {
        self.breaker.report(self.generation, Some(Ok(())));
    }

    pub(super) fn failed(&self, now: Instant) {
        self.breaker.report(self.generation, Some(Err(now)));
    }
}

/// Without a word nothing changes but that the next may try. After a word it is a repetition of an
/// earlier generation, or says what is so anyway.
impl Drop for Permit {
    fn drop(&mut self) {
        self.breaker.report(self.generation, None);
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
        // One that is given up lets another try.
        drop(breaker.permit(at(310)).unwrap());
        breaker.permit(at(311)).unwrap().succeeded();
        assert!(breaker.permit(at(311)).is_some() && breaker.permit(at(311)).is_some());
    }

    #[test]
    fn answers_from_before_say_nothing() {
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

//! Carries the states of a store over to a limit that has changed.

use super::{Keyed, Store};
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::policy::Limit;
use crate::time::Time;

impl Store {
    /// A new store for `limit` with the states of this one, which has one limit. `None` if the new
    /// limit has other keys or another shape.
    ///
    /// [`kept`](crate::limit::kept) says what becomes of each state; the change happens at `now`.
    pub(crate) fn carried(&self, limit: &Limit, now: Time) -> Option<Store> {
        let (old, keyed) = (self.policy.limits().first()?, self.limits.first()?);
        if old.per != limit.per || old.shape().difference(&limit.shape()).is_some() {
            return None;
        }
        let limits = vec![keyed.carried(&limit.limiter, now)];
        Some(Store { policy: limit.clone().into(), limits })
    }
}

impl Keyed<AnyLimiter> {
    fn carried(&self, limiter: &AnyLimiter, now: Time) -> Self {
        let old = self.limiter();
        self.turned(limiter.clone(), |state| {
            old.forget(state, now);
            let restored = limiter.restore(&old.keep(state, now));
            *state = restored.unwrap_or_else(|_| limiter.initial());
        })
    }
}

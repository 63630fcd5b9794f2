//! Carries the states of a limit over to one that has changed.

use super::together::KeyedLimit;
use crate::limit::Limiter;
use crate::policy::Limit;
use crate::time::Time;

impl KeyedLimit {
    /// The states of this limit for `limit`, or `None` if that has other keys or another shape.
    ///
    /// [`kept`](crate::limit::kept) says what becomes of each state; the change happens at `now`.
    pub(crate) fn carried(&self, limit: &Limit, now: Time) -> Option<Self> {
        let (old, new) = (self.keys.limiter(), &limit.limiter);
        if self.per != limit.per || old.shape().difference(&new.shape()).is_some() {
            return None;
        }
        let keys = self.keys.turned(new.clone(), |state| {
            old.forget(state, now);
            *state = new.restore(&old.keep(state, now)).unwrap_or_else(|_| new.initial());
        });
        Some(KeyedLimit { per: self.per.clone(), keys })
    }
}

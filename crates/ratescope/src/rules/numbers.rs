//! Numbers of an event's own: other limiters for some limits, such as those that a customer pays for.

use super::{Rules, RulesError};
use crate::limit::any::AnyLimiter;
use crate::limit::per_key::PerKey;
use crate::policy::Limit;
use crate::store::Numbered;
use core::fmt;
use std::sync::Arc;

/// Limiters of an event's own for some limits of the rules. They travel with the event, in its [`Part`](super::Part), and
/// decide in place of those of the rules.
///
/// ```
/// use ratescope::limit::any::AnyLimiter;
/// use ratescope::rules::{Details, MemoryStore, Numbers, Part};
/// use ratescope::{Event, Policy, Time};
///
/// let policy: Policy = "gcra 2/1h per user as calls".parse()?;
/// let store = MemoryStore::new(policy, 100_000);
/// let five: AnyLimiter = "gcra 5/1h".parse()?;
/// let large = Numbers::new(&store.rules(), |name| (name == "calls").then(|| five.clone()))?;
///
/// let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
/// let by = |numbers| {
///     let part = Part { numbers, ..Part::count(&event) };
///     store.decide_one(&part, Details::default()).is_allowed()
/// };
/// assert_eq!([0; 3].map(|_| by(None)), [true, true, false]);
/// assert_eq!([0; 4].map(|_| by(Some(&large))), [true, true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The numbers belong to the key: give the same ones with each of its events until they change.
/// [`per_key`](crate::limit::per_key) says what becomes of a state when they do, and what events of one key with numbers
/// in turn can gain. They are made for some rules. After a reload they are looked up again by the names of their limits;
/// a limit without such a name, or of another shape, then decides by its usual numbers.
///
/// A clone is the same numbers.
#[derive(Clone)]
pub struct Numbers(Arc<Inner>);

struct Inner {
    rules: Arc<Rules>,
    /// In the order of the plan.
    limits: Vec<OwnLimit>,
}

/// A limit with other numbers.
#[derive(Clone)]
struct OwnLimit {
    /// The index of the limit in the plan.
    at: usize,
    limit: Limit,
    limiter: Numbered,
}

impl Numbers {
    /// Other limiters for the limits of `rules` for whose [name](Rules::limit_names) `of` has one.
    ///
    /// # Errors
    /// When a limiter has states of another [shape](crate::limit::kept) than the one that it replaces, or the limit is
    /// to be relaxed and the limiter can't be.
    pub fn new(
        rules: &Arc<Rules>,
        of: impl Fn(&str) -> Option<AnyLimiter>,
    ) -> Result<Self, RulesError> {
        let mut limits = Vec::new();
        for (at, planned) in rules.plan().iter().enumerate() {
            let name = &planned.name;
            let Some(mut limiter) = of(name) else { continue };
            let usual = &planned.limit.limiter;
            if let Some(what) = usual.shape().difference(&limiter.shape()) {
                let problem = format!(
                    "{name}: {limiter} can't stand in for {usual}: its {what} differs, so it has other states"
                );
                return Err(rules.wrong(problem));
            }
            let throttle = rules.rules().get(planned.rule).map(|rule| rule.throttle());
            if let Some(percent) = throttle.and_then(|throttle| throttle.percent())
                && planned.is_relaxed
            {
                let wrong = |error| rules.wrong(format!("{name}: {limiter}: {error}"));
                limiter = limiter.relaxed(percent).map_err(wrong)?;
            }
            limits.push(OwnLimit {
                at,
                limit: Limit { limiter: limiter.clone(), ..planned.limit.clone() },
                limiter: PerKey::new(usual.clone()).with(Arc::new(limiter)),
            });
        }
        Ok(Numbers(Arc::new(Inner { rules: Arc::clone(rules), limits })))
    }

    /// The rules for which they were made.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.0.rules
    }

    /// The limit at this index of the plan, if it has other numbers.
    pub fn limit(&self, at: usize) -> Option<&Limit> {
        self.own(at).map(|own| &own.limit)
    }

    /// The limiter at this index of the plan, if it has other numbers.
    #[doc(hidden)]
    pub fn limiter(&self, at: usize) -> Option<&Numbered> {
        self.own(at).map(|own| &own.limiter)
    }

    /// These numbers, and in other limits those of `others`, which are for the same rules.
    pub(super) fn and(&self, others: &Numbers) -> Self {
        let more = others.0.limits.iter().filter(|other| self.own(other.at).is_none());
        let limits = self.0.limits.iter().chain(more).cloned().collect();
        Numbers(Arc::new(Inner { rules: Arc::clone(&self.0.rules), limits }))
    }

    fn own(&self, at: usize) -> Option<&OwnLimit> {
        self.0.limits.iter().find(|own| own.at == at)
    }

    /// These numbers for the rules in force, after a reload.
    pub fn in_force(&self, rules: &Arc<Rules>) -> Self {
        if Arc::ptr_eq(rules, &self.0.rules) {
            return self.clone();
        }
        let known = |name: &str| {
            let named = |own: &&OwnLimit| {
                self.0
                    .rules
                    .plan()
                    .get(own.at)
                    .is_some_and(|old| old.name == name && !old.is_relaxed)
            };
            self.0.limits.iter().find(named).map(|own| own.limit.limiter.clone())
        };
        let fits = |name: &str| {
            let limiter = known(name)?;
            let mut planned = rules.plan().iter().filter(|planned| planned.name == name);
            let fits = planned.all(|planned| planned.limit.limiter.shape() == limiter.shape());
            fits.then_some(limiter)
        };
        let none = || Numbers(Arc::new(Inner { rules: Arc::clone(rules), limits: Vec::new() }));
        Numbers::new(rules, fits).unwrap_or_else(|_| none())
    }
}

/// As in `calls: gcra 5/1h burst 5`.
impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.0.limits.iter();
        f.debug_list().entries(limits.map(|own| format_args!("{}", own.limit).to_string())).finish()
    }
}

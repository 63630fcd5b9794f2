//! Limits of a request's own: other numbers for some limits, such as those that a customer pays for.
//!
//! Each combination of numbers has a [store](Store::with_rules), which shares keys and states with that of the layer,
//! and its headers are prepared as those of the rules are. The combinations that came last are kept.

use super::decide::Shared;
use super::fields::Head;
use super::prepared::Prepared;
use super::report;
use ratescope::clock::Clock;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Rules, RulesError, Store};
use smallvec::SmallVec;
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// The most combinations of numbers that are kept.
const MOST: usize = 256;

/// The most limits of all rules that are kept, each once for each combination.
const MOST_LIMITS: usize = 100_000;

/// Finds the limiter of a request for a limit.
pub(super) type FindLimiter = Arc<dyn Fn(Head<'_>) -> Option<AnyLimiter> + Send + Sync>;

/// The limiters of a request, for each limit that may have one of the request's own.
type Limiters = SmallVec<[Option<AnyLimiter>; 1]>;

/// The store for requests with the same numbers, and their headers.
pub(super) struct Own {
    pub(super) store: Arc<dyn Store>,
    pub(super) prepared: Arc<Prepared>,
}

/// A combination of numbers. It decides nothing if the numbers don't fit the rules.
struct Combination {
    limiters: Limiters,
    own: Option<Arc<Own>>,
}

/// The combinations that came last, under the rules in force.
#[derive(Default)]
pub(super) struct Combinations(RwLock<Recent>);

#[derive(Default)]
struct Recent {
    rules: Weak<Rules>,
    combinations: Vec<Combination>,
    /// The place of the next one, once the list is full.
    next: usize,
}

impl Recent {
    fn find(&self, rules: &Arc<Rules>, limiters: &Limiters) -> Option<Option<Arc<Own>>> {
        if self.rules.as_ptr() != Arc::as_ptr(rules) {
            return None;
        }
        let mut each = self.combinations.iter();
        Some(each.find(|known| known.limiters == *limiters)?.own.clone())
    }

    fn add(&mut self, rules: &Arc<Rules>, combination: Combination) {
        if self.rules.as_ptr() != Arc::as_ptr(rules) {
            *self = Recent { rules: Arc::downgrade(rules), ..Recent::default() };
        }
        let limits = rules.rules().iter().map(|rule| rule.limits().len()).sum::<usize>();
        let most = (MOST_LIMITS / limits.max(1)).clamp(1, MOST);
        match self.combinations.get_mut(self.next) {
            Some(oldest) => *oldest = combination,
            None => self.combinations.push(combination),
        }
        self.next = (self.next + 1) % most;
    }
}

impl<S: Store, A, C: Clock> Shared<S, A, C> {
    /// The store for a request with numbers of its own; `None` if it has none, or if they don't fit the rules.
    #[inline]
    pub(super) fn own(&self, head: &Head<'_>, usual: &Prepared) -> Option<Arc<Own>> {
        if self.settings.limiters.is_empty() { None } else { self.find_own(head, usual) }
    }

    fn find_own(&self, head: &Head<'_>, usual: &Prepared) -> Option<Arc<Own>> {
        let sources = &self.settings.limiters;
        let limiters: Limiters = sources.iter().map(|(_, find)| find(*head)).collect();
        if limiters.iter().all(Option::is_none) {
            return None;
        }
        let Combinations(recent) = &self.combinations;
        let known = recent.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.find(&usual.rules, &limiters) {
            return known;
        }
        drop(known);
        let mut recent = recent.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent.find(&usual.rules, &limiters) {
            return known;
        }
        let made = self.made(&limiters, &usual.rules);
        if let Err(error) = &made
            && let Some(passed_over) = self.bad_values.take(self.clock.now())
        {
            report::bad_limits(error, self.name(), passed_over);
        }
        let own = made.ok();
        recent.add(&usual.rules, Combination { limiters, own: own.clone() });
        own
    }

    fn made(&self, limiters: &Limiters, rules: &Arc<Rules>) -> Result<Arc<Own>, RulesError> {
        let of = |name: &str| {
            let place = self.settings.limiters.iter().position(|(limit, _)| limit == name)?;
            limiters.get(place)?.clone()
        };
        let store = self.store.with_rules(rules.with_limiters(of)?)?;
        let prepared = Arc::new(Prepared::new(&store.rules(), &self.settings));
        Ok(Arc::new(Own { store, prepared }))
    }
}

/// What is wrong with the names for which a layer has limiters.
pub(super) fn unknown_limits(rules: &Rules, limiters: &[(String, FindLimiter)]) -> Vec<String> {
    const SHOWN: usize = 8;
    let names = rules.limit_names();
    let is_known = |name: &String| names.iter().flatten().any(|known| known == name);
    let unknown = limiters.iter().map(|(name, _)| name).filter(|name| !is_known(name));
    let shown: Vec<&str> = names.iter().flatten().take(SHOWN).map(String::as_str).collect();
    let message = |name| format!("no limit is named {name}; the first are {}", shown.join(", "));
    unknown.map(message).collect()
}

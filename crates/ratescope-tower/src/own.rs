//! Limits of a request's own: other numbers for some limits, such as those that a customer pays for.
//!
//! The headers of each combination of numbers are prepared as those of the rules are. The combinations that came last are
//! cached.

use super::decide::Shared;
use super::fields::Head;
use super::prepared::Prepared;
use super::report;
use core::hash::{Hash, Hasher};
use ratescope::clock::Clock;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Numbers, Rules, RulesError, Store};
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

/// The most combinations of numbers that are kept.
const MOST: usize = 256;

/// The most limits of all rules that are kept, each once for each combination.
const MOST_LIMITS: usize = 100_000;

/// Finds the limiter of a request for a limit.
pub(super) type FindLimiter = Arc<dyn Fn(Head<'_>) -> Option<AnyLimiter> + Send + Sync>;

/// A combination of numbers: the limiters of a request, for each limit that may have one of the request's own.
#[derive(Clone, PartialEq)]
struct Limiters(SmallVec<[Option<AnyLimiter>; 1]>);

/// No number of a limiter is NaN.
impl Eq for Limiters {}

/// Limiters with different numbers have the same quota only rarely, as two that differ in their mode.
impl Hash for Limiters {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for limiter in &self.0 {
            limiter.as_ref().and_then(AnyLimiter::quota).hash(hasher);
        }
    }
}

/// The cache entry of a combination, which the first request with these numbers fills. `None` if they don't fit the rules.
type Entry = OnceLock<Option<Arc<Prepared>>>;

/// The combinations that came last, under the rules in force.
///
/// The lock is held for a look-up or an entry, and never while headers are prepared: those who wait for headers that take
/// long, such as those of thousands of rules, are the requests with these numbers.
#[derive(Default)]
pub(super) struct Combinations(RwLock<Recent>);

#[derive(Default)]
struct Recent {
    rules: Weak<Rules>,
    entries: HashMap<Arc<Limiters>, Arc<Entry>>,
    /// The keys of the map, the oldest first.
    order: VecDeque<Arc<Limiters>>,
}

impl Combinations {
    /// The entry of these limiters, which is new and empty if there was none.
    fn get(&self, rules: &Arc<Rules>, limiters: &Limiters) -> Arc<Entry> {
        let recent = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = recent.find(rules, limiters) {
            return entry;
        }
        drop(recent);
        let mut recent = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another request with these limiters may have come first.
        let known = recent.find(rules, limiters);
        known.unwrap_or_else(|| recent.add(rules, limiters))
    }
}

impl Recent {
    fn is_for(&self, rules: &Arc<Rules>) -> bool {
        self.rules.as_ptr() == Arc::as_ptr(rules)
    }

    fn find(&self, rules: &Arc<Rules>, limiters: &Limiters) -> Option<Arc<Entry>> {
        let entry = if self.is_for(rules) { self.entries.get(limiters) } else { None };
        entry.cloned()
    }

    fn add(&mut self, rules: &Arc<Rules>, limiters: &Limiters) -> Arc<Entry> {
        if !self.is_for(rules) {
            *self = Recent { rules: Arc::downgrade(rules), ..Recent::default() };
        }
        let limits = rules.rules().iter().map(|rule| rule.limits().len()).sum::<usize>();
        let most = (MOST_LIMITS / limits.max(1)).clamp(1, MOST);
        if self.order.len() >= most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        let limiters = Arc::new(limiters.clone());
        let entry = Arc::default();
        self.order.push_back(Arc::clone(&limiters));
        self.entries.insert(limiters, Arc::clone(&entry));
        entry
    }
}

impl<S: Store, A, C: Clock> Shared<S, A, C> {
    /// The preparations for a request's own numbers; `None` if it has none, or if they don't fit the rules.
    #[inline]
    pub(super) fn own(&self, head: &Head<'_>, usual: &Prepared) -> Option<Arc<Prepared>> {
        if self.settings().limiters.is_empty() { None } else { self.find_own(head, usual) }
    }

    fn find_own(&self, head: &Head<'_>, usual: &Prepared) -> Option<Arc<Prepared>> {
        let each = self.settings().limiters.iter();
        let limiters = Limiters(each.map(|(_, find)| find(*head)).collect());
        if limiters.0.iter().all(Option::is_none) {
            return None;
        }
        let entry = self.combinations.get(&usual.rules, &limiters);
        entry.get_or_init(|| self.make_own(&limiters, &usual.rules)).clone()
    }

    fn make_own(&self, limiters: &Limiters, rules: &Arc<Rules>) -> Option<Arc<Prepared>> {
        let limiter_of = |name: &str| {
            let place = self.settings().limiters.iter().position(|(limit, _)| limit == name)?;
            limiters.0.get(place)?.clone()
        };
        match Numbers::new(rules, limiter_of) {
            Ok(numbers) => Some(Arc::new(Prepared::new(rules, Some(numbers), self.settings()))),
            Err(error) => {
                self.report_bad_limits(&error);
                None
            }
        }
    }

    fn report_bad_limits(&self, error: &RulesError) {
        if let Some(passed_over) = self.front.bad_values.take(self.clock.now()) {
            report::bad_limits(error, self.name(), passed_over);
        }
    }
}

/// The mistakes in the names for which a layer has limiters.
pub(super) fn unknown_limits(rules: &Rules, limiters: &[(String, FindLimiter)]) -> Vec<String> {
    const SHOWN: usize = 8;
    let names = rules.limit_names();
    let is_known = |name: &String| names.iter().flatten().any(|known| known == name);
    let unknown = limiters.iter().map(|(name, _)| name).filter(|name| !is_known(name));
    let shown: Vec<&str> = names.iter().flatten().take(SHOWN).map(String::as_str).collect();
    let message = |name| format!("no limit is named {name}; the first are {}", shown.join(", "));
    unknown.map(message).collect()
}

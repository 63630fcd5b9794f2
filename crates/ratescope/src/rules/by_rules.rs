//! A cache of values made from rules, for the current rules and those before.

use super::Rules;
use arc_swap::{ArcSwap, Guard};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The values for two rules, the latest first. For a while after a reload, decisions by the old and by the new rules
/// arrive in turn.
#[derive(Debug)]
pub struct ByRules<T> {
    /// Those that came first, which are read without a locked instruction until others come. They stay in memory.
    first: OnceLock<One<T>>,
    has_later: AtomicBool,
    later: ArcSwap<Pair<T>>,
}

/// Rules, and the value for them.
type One<T> = (Arc<Rules>, Arc<T>);

type Pair<T> = [Option<One<T>>; 2];

/// The value for the latest rules.
#[derive(Debug)]
pub enum Latest<'a, T> {
    /// No other rules have come.
    First(Option<&'a One<T>>),
    /// Guarded without a reference count, on which threads would contend.
    Later(Guard<Arc<Pair<T>>>),
}

impl<T> Latest<'_, T> {
    /// `None` before the first rules.
    pub fn value(&self) -> Option<&Arc<T>> {
        let one = match self {
            Latest::First(one) => *one,
            Latest::Later(pair) => pair[0].as_ref(),
        };
        one.map(|(_, value)| value)
    }
}

impl<T> Default for ByRules<T> {
    fn default() -> Self {
        ByRules {
            first: OnceLock::new(),
            has_later: AtomicBool::new(false),
            later: ArcSwap::default(),
        }
    }
}

impl<T> ByRules<T> {
    /// The value for the latest rules.
    #[inline]
    pub fn latest(&self) -> Latest<'_, T> {
        if self.has_later.load(Ordering::Acquire) {
            Latest::Later(self.later.load())
        } else {
            Latest::First(self.first.get())
        }
    }

    /// The value for `rules`, made if it is not in the cache.
    pub fn get(&self, rules: &Arc<Rules>, make: impl FnOnce(&Arc<Rules>) -> T) -> Arc<T> {
        if let Some((_, value)) = self.find(rules) {
            return value;
        }
        let one = (Arc::clone(rules), Arc::new(make(rules)));
        let value = Arc::clone(&one.1);
        if let Err(one) = self.first.set(one) {
            self.put(one);
        }
        value
    }

    /// Puts the value for `rules` first. If two threads asked during a reload, the value for the old rules may have
    /// been made last.
    pub fn promote(&self, rules: &Arc<Rules>) {
        let is_latest = |(of, _): &One<T>| Arc::ptr_eq(of, rules);
        if self.later.load()[0].as_ref().is_some_and(|latest| !is_latest(latest))
            && let Some(one) = self.find(rules)
        {
            self.put(one);
        }
    }

    fn find(&self, rules: &Arc<Rules>) -> Option<One<T>> {
        let later = self.later.load();
        let mut known = self.first.get().into_iter().chain(later.iter().flatten());
        known.find(|(of, _)| Arc::ptr_eq(of, rules)).cloned()
    }

    fn put(&self, one: One<T>) {
        let before = self.later.load()[0].clone();
        self.later.store(Arc::new([Some(one), before]));
        self.has_later.store(true, Ordering::Release);
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    /// Decisions by the rules before and after a reload, in turn.
    #[test]
    fn the_values_for_two_rules_in_turn_are_made_once_each() {
        let rules = |text: &str| Arc::new(Rules::read("rules.yaml", text).expect(text));
        let old = rules("domain: d\nlimit: 1/1s per user\n");
        let new = rules("domain: d\nlimit: 2/1s per user\n");
        let known = ByRules::default();
        let first = [&old, &new].map(|rules| known.get(rules, |_| ()));
        for _ in 0..3 {
            for (rules, first) in [&old, &new].into_iter().zip(&first) {
                assert!(Arc::ptr_eq(&known.get(rules, |_| ()), first));
            }
        }
    }

    /// Two threads ask during a reload, and the slower one by the old rules.
    #[test]
    fn the_latest_value_is_that_of_the_rules_in_force() {
        let rules = |text: &str| Arc::new(Rules::read("rules.yaml", text).expect(text));
        let each = [1, 2, 3].map(|n| rules(&format!("domain: d\nlimit: {n}/1s per user\n")));
        let known = ByRules::default();
        let latest = || known.latest().value().map(|value| **value);
        assert_eq!(latest(), None);
        for (n, rules) in each.iter().enumerate() {
            known.get(rules, |_| n);
            assert_eq!(latest(), Some(n));
            known.promote(rules);
            assert_eq!(latest(), Some(n));
        }
        known.promote(&each[1]);
        assert_eq!(latest(), Some(1));
        // Those that came first are known for ever.
        known.promote(&each[0]);
        assert_eq!(latest(), Some(0));
    }
}

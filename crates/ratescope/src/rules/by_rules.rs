//! A cache of values made from rules, for the current rules and those before.

use super::Rules;
use arc_swap::{ArcSwap, Guard};
use std::sync::Arc;

/// The values for two rules, the latest first. For a while after a reload, decisions by the old and by the new rules
/// arrive in turn.
#[derive(Debug)]
pub struct ByRules<T>(ArcSwap<Pair<T>>);

pub(crate) type Pair<T> = [Option<(Arc<Rules>, Arc<T>)>; 2];

impl<T> Default for ByRules<T> {
    fn default() -> Self {
        ByRules(ArcSwap::default())
    }
}

impl<T> ByRules<T> {
    /// The latest values, without a reference count on which threads would contend.
    pub fn latest(&self) -> Guard<Arc<Pair<T>>> {
        self.0.load()
    }

    /// The value for `rules`, made if it is not in the cache.
    pub fn get(&self, rules: &Arc<Rules>, make: impl FnOnce(&Arc<Rules>) -> T) -> Arc<T> {
        let known = self.0.load();
        let mut each = known.iter().flatten();
        if let Some((_, value)) = each.find(|(of, _)| Arc::ptr_eq(of, rules)) {
            return Arc::clone(value);
        }
        let made = Arc::new(make(rules));
        let latest = Some((Arc::clone(rules), Arc::clone(&made)));
        self.0.store(Arc::new([latest, known[0].clone()]));
        made
    }

    /// Puts the value for `rules` first. If two threads asked during a reload, the value for the old rules may have
    /// been made last.
    pub fn promote(&self, rules: &Arc<Rules>) {
        let known = self.0.load();
        if let [latest, other @ Some((of, _))] = &**known
            && Arc::ptr_eq(of, rules)
        {
            self.0.store(Arc::new([other.clone(), latest.clone()]));
        }
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
}

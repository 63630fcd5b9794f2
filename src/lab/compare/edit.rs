//! Changes to single lanes. Each changes the setting `lanes`, so that a link contains it.

use super::{Replay, Rule, settings};
use crate::text::ParseError;

impl Replay {
    /// Adds a lane at the end.
    ///
    /// # Errors
    /// When there are [`settings::LANES`] already, or the rule cannot be read; the error is about
    /// `rule`.
    pub fn add_lane(&mut self, rule: &str) -> Result<(), ParseError> {
        self.change(rule, |rules, rule| rules.push(rule))
    }

    /// Gives lane `i` another rule. If there is no such lane, nothing happens.
    ///
    /// # Errors
    /// When the rule cannot be read; the error is about `rule`.
    pub fn change_lane(&mut self, i: usize, rule: &str) -> Result<(), ParseError> {
        self.change(rule, |rules, rule| {
            if let Some(old) = rules.get_mut(i) {
                *old = rule;
            }
        })
    }

    /// Removes lane `i`, unless it is the only one.
    pub fn remove_lane(&mut self, i: usize) {
        let mut rules = self.settings().lanes.clone();
        if i < rules.len() && rules.len() > 1 {
            rules.remove(i);
            // All these rules were read before, under this limit, so this cannot fail.
            let _ = self.put(&rules);
        }
    }

    /// Moves lane `from` to the index `to`, or to the end if `to` is beyond it.
    pub fn move_lane(&mut self, from: usize, to: usize) {
        let mut rules = self.settings().lanes.clone();
        if from < rules.len() {
            let rule = rules.remove(from);
            rules.insert(to.min(rules.len()), rule);
            let _ = self.put(&rules);
        }
    }

    fn change(
        &mut self,
        text: &str,
        change: impl FnOnce(&mut Vec<Rule>, Rule),
    ) -> Result<(), ParseError> {
        let (rule, _) = Rule::read(text, self.settings().limit)?;
        let mut rules = self.settings().lanes.clone();
        change(&mut rules, rule);
        if rules.len() > settings::LANES {
            let help = format!("there are {} lanes already", settings::LANES);
            return Err(ParseError::whole(text, help));
        }
        self.put(&rules).map_err(|e| ParseError::whole(text, e.problem()))
    }

    fn put(&mut self, rules: &[Rule]) -> Result<(), ParseError> {
        self.set("lanes", &settings::joined(rules))
    }
}

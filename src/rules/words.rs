//! Rules explained in words.

use super::value::{Step, Value};
use super::{OnStoreFailure, Rule, Rules, Throttle};
use crate::limit::Limiter;
use crate::policy::{Limit, Per};
use crate::time::Span;
use core::fmt;

/// The spans for which the text says how much passes.
const SPANS: [(&str, Span); 5] = [
    ("at once", Span::micros(1)),
    ("in any second", Span::seconds(1)),
    ("in any minute", Span::minutes(1)),
    ("in any hour", Span::hours(1)),
    ("in any day", Span::hours(24)),
];

/// The most descriptors that are listed as chosen before another one.
const SHOWN: usize = 5;

/// Every rule in words, with the line in which it begins.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.rules.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            writeln!(f, "{end}{} (line {})", rule.name, rule.line)?;
            self.write_events(rule, f)?;
            rule.write_words(f)?;
        }
        Ok(())
    }
}

impl Rules {
    /// Writes which events a rule is for.
    fn write_events(&self, rule: &Rule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match rule.path.as_slice() {
            [] => f.write_str("  for all events")?,
            path => {
                for (i, step) in path.iter().enumerate() {
                    f.write_str(if i == 0 { "  for events with " } else { " and " })?;
                    self.write_step(rule, i, step, f)?;
                }
            }
        }
        if self.rules.iter().any(|other| other.is_within(rule)) {
            f.write_str(", unless a rule within it applies")?;
        }
        if let Some(other) = self.rules.iter().find(|other| other.does_replace(rule)) {
            write!(f, ", unless {} applies, which replaces it", other.name)?;
        }
        writeln!(f)
    }

    fn write_step(
        &self,
        rule: &Rule,
        i: usize,
        step: &Step,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let key = &step.key;
        match &step.value {
            Value::Is(text) => return write!(f, "{key} {text:?}"),
            Value::Like(wildcard) => write!(f, "{key} like {:?}", wildcard.as_str())?,
            Value::Any => write!(f, "any {key}")?,
        }
        // The other descriptors of the list that are chosen before it for some values.
        let mut nearer: Vec<&Step> = Vec::new();
        let mut is_behind = false;
        for other in &self.rules {
            let beside = other.path.get(..i) == rule.path.get(..i);
            let Some(other) = other.path.get(i).filter(|_| beside) else { continue };
            is_behind |= other == step;
            if other.key == *key
                && is_nearer(&other.value, &step.value, is_behind)
                && !nearer.contains(&other)
            {
                nearer.push(other);
            }
        }
        for (i, step) in nearer.iter().take(SHOWN).enumerate() {
            write!(f, "{}{step}", if i == 0 { " (but " } else { ", " })?;
        }
        match nearer.len() {
            0 => Ok(()),
            n if n > SHOWN => write!(f, " and {} more)", n - SHOWN),
            _ => f.write_str(")"),
        }
    }
}

/// Whether `a` is chosen before `b` for values that both match; `is_behind` says that `a` comes after
/// `b` in the file. Two wildcards are only compared if one matches everything that the other does.
fn is_nearer(a: &Value, b: &Value, is_behind: bool) -> bool {
    match (a, b) {
        (Value::Is(text), Value::Like(like)) => like.matches(text),
        (Value::Like(a), Value::Like(b)) => !is_behind && b.covers(a),
        (Value::Is(_) | Value::Like(_), Value::Any) => true,
        _ => false,
    }
}

impl Rule {
    /// Writes what it does with its events.
    fn write_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limits().is_empty() {
            writeln!(f, "  not limited")?;
        }
        for limit in self.limits() {
            writeln!(f, "  {limit}: {}", self.most(limit))?;
        }
        match self.throttle() {
            Throttle::Hard => {}
            Throttle::Soft { percent } => {
                writeln!(f, "  softly: {percent} % more pass, and the ruling says so")?;
            }
            Throttle::Elastic { factor, below } => {
                writeln!(
                    f,
                    "  elastic: up to {factor} times as much while the load is below {below}"
                )?;
            }
        }
        for limit in self.stretched() {
            writeln!(f, "    then {limit}: {}", self.most(limit))?;
        }
        if let Some(cost) = self.cost() {
            writeln!(f, "  each event costs {cost} here")?;
        }
        if self.is_shadow() {
            writeln!(f, "  a shadow: it decides and counts, and refuses nothing")?;
        }
        if self.on_store_failure() != OnStoreFailure::default() {
            writeln!(f, "  when its store fails: {}", self.on_store_failure())?;
        }
        for name in self.replaces() {
            writeln!(f, "  it replaces the rule with the name {name:?}")?;
        }
        Ok(())
    }
}

impl Rule {
    fn most<'a>(&self, limit: &'a Limit) -> Most<'a> {
        Most { limit, cost: self.cost().unwrap_or(1.0) }
    }
}

/// For whom a limit is, and how many events pass at most.
struct Most<'a> {
    limit: &'a Limit,
    /// The cost of each event.
    cost: f64,
}

impl fmt::Display for Most<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Most { limit: Limit { limiter, per }, cost } = self;
        write!(f, "{}, ", Whom(per))?;
        let most =
            SPANS.map(|(when, span)| (when, libm::floor(limiter.max_admitted(span, *cost) / cost)));
        if most.iter().any(|(_, most)| !most.is_finite()) {
            return f.write_str("with no bound on what passes");
        }
        if most.iter().all(|(_, most)| *most == 0.0) {
            return f.write_str("nothing passes");
        }
        f.write_str("at most ")?;
        for (i, (when, most)) in most.iter().enumerate() {
            write!(f, "{}{} {when}", if i == 0 { "" } else { ", " }, most)?;
        }
        Ok(())
    }
}

/// As in `for each ip and path`.
struct Whom<'a>(&'a Per);

impl fmt::Display for Whom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.fields() {
            [] => f.write_str("for all together"),
            fields => write!(f, "for each {}", fields.join(" and ")),
        }
    }
}

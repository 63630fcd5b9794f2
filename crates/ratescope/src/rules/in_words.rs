//! Rules explained in words.

use super::nearer::Nearer;
use super::paths::{Paths, replacing};
use super::value::Value;
use super::{OnStoreFailure, Rule, Rules, Throttle};
use crate::limit::Limiter;
use crate::policy::{Limit, Per};
use crate::share::{Share, lends};
use crate::text::write_joined;
use crate::time::Span;
use core::fmt;
use std::collections::HashMap;

/// The spans for which the text says how much passes.
const SPANS: [(&str, Span); 5] = [
    ("at once", Span::from_micros(1)),
    ("in any second", Span::from_secs(1)),
    ("in any minute", Span::from_mins(1)),
    ("in any hour", Span::from_hours(1)),
    ("in any day", Span::from_hours(24)),
];

/// Every rule in words, with the line in which it begins.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = Paths::new(&self.rules);
        let nearer = Nearer::new(&paths);
        let replacing = replacing(&self.rules);
        let around = Around { paths, replacing, nearer };
        for (i, rule) in self.rules.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            writeln!(f, "{end}{} (line {})", rule.name, rule.line)?;
            around.write_events(rule, f)?;
            rule.write_words(f)?;
        }
        Ok(())
    }
}

/// An index of the rules around each rule.
struct Around<'a> {
    paths: Paths<'a>,
    replacing: HashMap<&'a str, &'a Rule>,
    nearer: Nearer<'a>,
}

impl Around<'_> {
    /// Writes which events a rule is for.
    fn write_events(&self, rule: &Rule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if rule.path.is_empty() {
            f.write_str("  for all events")?;
        }
        for (i, step) in rule.path.iter().enumerate() {
            f.write_str(if i == 0 { "  for events with " } else { " and " })?;
            match &step.value {
                Value::Is(text) if step.secret => write!(f, "{} {}", step.key, step.shown(text))?,
                Value::Is(text) => write!(f, "{} {text:?}", step.key)?,
                Value::Like(wildcard) => write!(f, "{} like {:?}", step.key, wildcard.as_str())?,
                Value::Within(networks) => write!(f, "{} in {networks}", step.key)?,
                Value::Any => write!(f, "any {}", step.key)?,
            }
            if let Some(before) = self.nearer.before(rule.path.get(..=i).unwrap_or_default()) {
                write!(f, "{before}")?;
            }
        }
        if self.paths.within(rule).is_some() {
            f.write_str(", unless a rule within it applies")?;
        }
        if let Some(other) = rule.label().and_then(|label| self.replacing.get(label)) {
            write!(f, ", unless {} applies, which replaces it", other.name)?;
        }
        writeln!(f)
    }
}

impl Rule {
    /// Writes the effect of a rule on its events.
    fn write_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limits().is_empty() {
            writeln!(f, "  not limited")?;
        }
        for limit in self.limits() {
            writeln!(f, "  {limit}: {}", self.most(limit))?;
        }
        for limit in self.limits() {
            let shared = Shared { share: self.share().unwrap_or_default(), most: self.most(limit) };
            write!(f, "{shared}")?;
        }
        match self.throttle() {
            Throttle::Hard => {}
            Throttle::Soft { percent } => {
                writeln!(f, "  softly: {percent} % more pass, and the decision says so")?;
            }
            Throttle::Elastic { factor, below } => {
                writeln!(
                    f,
                    "  elastic: up to {factor} times as much while the load is below {below}"
                )?;
            }
        }
        for limit in self.relaxed() {
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

    fn most<'a>(&self, limit: &'a Limit) -> Most<'a> {
        Most { limit, cost: self.cost().unwrap_or(1.0) }
    }
}

/// The key of a limit, and how many events pass at most.
struct Most<'a> {
    limit: &'a Limit,
    cost: f64,
}

impl fmt::Display for Most<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Most { limit: Limit { limiter, per, .. }, cost } = self;
        write!(f, "{}, ", By(per))?;
        let most = AtMost(|span| libm::floor(limiter.max_admitted(span, *cost) / cost));
        most.fmt(f)
    }
}

/// The promise of a limit that is not exact, as a line.
struct Shared<'a> {
    share: Share,
    most: Most<'a>,
}

/// The delay of Redis for which the promise of a sync is said.
const DELAY: Span = Span::from_micros(100_000);

impl fmt::Display for Shared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { share, most: Most { limit: Limit { limiter, .. }, cost } } = self;
        let events = |admitted: f64| libm::floor(admitted / cost);
        match *share {
            Share::Exact => Ok(()),
            Share::Leased(length) if !lends(limiter) => {
                writeln!(
                    f,
                    "  leased for {length}: what is refused is told to Redis once in {length}"
                )
            }
            Share::Leased(length) => {
                let most = AtMost(|span| events(share.max_admitted(limiter, span, *cost)));
                writeln!(f, "  leased for {length}: {most}, over any number of processes")
            }
            Share::Synced(interval) => {
                const N: u32 = 3;
                let most =
                    AtMost(|span| events(share.max_admitted_by(N, DELAY, limiter, span, *cost)));
                writeln!(
                    f,
                    "  synced within {interval}: {most}, over {N} processes that are flooded at the same time, if \
                     Redis answers within {DELAY}"
                )
            }
        }
    }
}

/// How many events pass at most in a span.
struct AtMost<F>(F);

impl<F: Fn(Span) -> f64> fmt::Display for AtMost<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = SPANS.map(|(when, span)| (when, (self.0)(span)));
        if most.iter().any(|(_, most)| !most.is_finite()) {
            return f.write_str("with no bound on what passes");
        }
        if most.iter().all(|(_, most)| *most == 0.0) {
            return f.write_str("nothing passes");
        }
        f.write_str("at most ")?;
        write_joined(f, most.iter().map(|(when, most)| format!("{most} {when}")), ", ")
    }
}

/// As in `for each ip and path`.
struct By<'a>(&'a Per);

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.fields() {
            [] => f.write_str("for all together"),
            fields => write!(f, "for each {}", fields.join(" and ")),
        }
    }
}

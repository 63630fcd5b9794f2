//! The settings of a comparison, by the names that its controls and links use.

use super::script::Script;
use crate::lab::lane::Template;
use crate::lab::run::{Named, RunSettings, Source, decimal, lenient};
use crate::limit::sliding_log::MAX_ENTRIES;
use crate::policy::{Limit, Policy};
use crate::rate::Rate;
use crate::text::{ParseError, parts};
use crate::time::{Span, Time};

/// All settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The common rate, for limits without their own: from 0.001 to 100,000 events in 100 ms to
    /// 1 week.
    pub limit: Rate,
    /// From 1 to [`LANES`] templates; the text has `;` between them. A common rate is refused if one of them
    /// can't be read with it.
    pub lanes: Vec<Template>,
    /// The cost of a click and of a generated event, from 0 to 10^6.
    pub cost: f64,
    /// Scripted events.
    pub script: Script,
    /// The settings of every run.
    pub run: RunSettings,
}

/// The most states in all lanes: one for each limit, and of a limit per user one for each user.
pub const STATES: usize = 256;

/// The most lanes.
pub const LANES: usize = 12;

/// The lanes of a new run, from the simplest limiter to the hardest.
const DEFAULT_LANES: &str = "fixed-window;sliding-window;sliding-counter;sliding-log;\
    token-bucket;leaky-bucket;exim strict;earrrl";

impl Default for Settings {
    fn default() -> Self {
        let limit = Rate::TEN_IN_TEN_SECONDS;
        Settings {
            limit,
            lanes: lanes(DEFAULT_LANES, limit).unwrap_or_default(),
            cost: 1.0,
            script: Script::default(),
            run: RunSettings { auto_rate: 1.3, ..RunSettings::default() },
        }
    }
}

impl Named for Settings {
    const NAMES: &'static [&'static str] = &[
        "limit",
        "lanes",
        "auto",
        "pattern",
        "auto-rate",
        "seed",
        "cost",
        "script",
        "speed",
        "window",
    ];
    const OLD_NAMES: &'static [(&'static str, &'static str)] = &[("budget", "limit")];
    const VIEW: &'static [&'static str] = &["speed", "window"];
    const TRAFFIC: &'static [&'static str] = &["auto", "pattern", "auto-rate", "seed", "script"];
    const FROM_START: &'static [&'static str] = &["limit", "lanes"];
    const MOST_AUTO_RATE: f64 = 1e4;

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        match name {
            "limit" => {
                let limit = rate(value, self.limit.per())?;
                self.resolve(limit).map_err(|e| ParseError::whole(value, e.to_string()))?;
                self.limit = limit;
            }
            "lanes" => {
                let lanes = lanes(value, self.limit)?;
                few(&lanes, self.limit, self.script.users().len())
                    .map_err(|help| ParseError::whole(value, help))?;
                self.lanes = lanes;
            }
            "cost" => self.cost = decimal(value, 0.0..=1e6)?,
            "script" => {
                let script: Script = value.parse()?;
                few(&self.lanes, self.limit, script.users().len())
                    .map_err(|help| ParseError::whole(value, help))?;
                self.script = script;
            }
            _ => self.run.set::<Self>(name, value)?,
        }
        Ok(())
    }

    fn get(&self, name: &str) -> String {
        match name {
            "limit" => self.limit.to_string(),
            "lanes" => joined(&self.lanes),
            "cost" => self.cost.to_string(),
            "script" => self.script.to_string(),
            _ => self.run.get(name),
        }
    }

    fn run(&self) -> &RunSettings {
        &self.run
    }

    fn cost(&self) -> f64 {
        self.cost
    }

    fn is_scripted(&self) -> bool {
        !self.script.phases().is_empty()
    }

    /// Each phase of the script has a seed of its own.
    fn streams(&self, now: Time) -> Vec<Source> {
        let phases = self.script.phases().iter().zip(1..);
        phases.filter_map(|(phase, i)| phase.source(self.run.seed.wrapping_add(i), now)).collect()
    }
}

impl Settings {
    /// The policy of every lane, if the common rate is `rate`.
    pub(super) fn resolve(&self, rate: Rate) -> Result<Vec<Policy>, ParseError> {
        self.lanes.iter().map(|template| template.resolve(rate)).collect()
    }

    /// How many states the lanes hold when all users have sent something.
    pub(super) fn states(&self) -> usize {
        states(&self.lanes, self.limit, self.script.users().len())
    }
}

/// Rules as one text.
pub(super) fn joined(templates: &[Template]) -> String {
    let mut text = String::new();
    for (i, template) in templates.iter().enumerate() {
        text.push_str(if i == 0 { "" } else { ";" });
        text.push_str(template.as_str());
    }
    text
}

fn lanes(text: &str, rate: Rate) -> Result<Vec<Template>, ParseError> {
    let mut templates = Vec::new();
    for (from, lane) in parts(text, ';') {
        if templates.len() == LANES {
            return Err(ParseError::new(
                text,
                from..text.len(),
                format!("more than {LANES} lanes"),
            ));
        }
        let (template, _) = Template::read(lane, rate).map_err(|e| e.inside(text, from))?;
        templates.push(template);
    }
    Ok(templates)
}

/// How many states the lanes of `templates` hold.
fn states(templates: &[Template], rate: Rate, users: usize) -> usize {
    templates
        .iter()
        .flat_map(|template| template.resolve(rate))
        .map(|policy| states_of(&policy, users))
        .sum()
}

/// How many states a policy holds: a limit per user has one for each user.
pub(in crate::lab) fn states_of(policy: &Policy, users: usize) -> usize {
    let per_user = |limit: &&Limit| limit.per.fields().iter().any(|name| name == "user");
    let several = policy.limits().iter().filter(per_user).count();
    policy.limits().len() + several * (users - 1)
}

/// Refuses templates with more than [`STATES`] states: a single instant would take seconds.
fn few(templates: &[Template], rate: Rate, users: usize) -> Result<(), String> {
    match states(templates, rate, users) {
        ..=STATES => Ok(()),
        n => {
            Err(format!("{n} limits in all, one per user counted for each; {STATES} are the most"))
        }
    }
}

/// Reads a rate in the range that every kind of limiter accepts. A number alone is a count in `per`.
fn rate(text: &str, per: Span) -> Result<Rate, ParseError> {
    let rate = lenient::rate(text, per)?;
    let counts = (0.001..=MAX_ENTRIES as f64).contains(&rate.count());
    match counts && (0.1..=604_800.0).contains(&rate.per().secs()) {
        true => Ok(rate),
        false => {
            let help = "out of range; choose from 0.001 to 100000 in 100ms to 1w";
            Err(ParseError::whole(text, help))
        }
    }
}

//! The settings of a comparison, by the names that its controls and links use.

use super::script::Script;
use crate::lane::Template;
use crate::lane::processes::{PROCESSES, Processes};
use crate::run::settings::{auto_rate, decimal, on_off, seed, span, speed, switch, whole, window};
use crate::run::{Named, RunSettings, Setting, Source, lenient, setting};
use ratescope::internal::parts;
use ratescope::limit::sliding_log::MAX_ENTRIES;
use ratescope::policy::{Limit, Policy};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// All settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The common rate, for limits without their own: from 0.001 to 100,000 events in 100 ms to
    /// 1 week.
    pub limit: Rate,
    /// From 1 to [`LANES`] templates; the text has `;` between them. A common rate is refused if a template can't be
    /// read with it.
    pub lanes: Vec<Template>,
    /// The processes of lanes that say how they share their limit.
    pub processes: Processes,
    /// The cost of a click and of a generated event, from 0 to 10^6.
    pub cost: f64,
    /// Scripted events.
    pub script: Script,
    /// The settings of every run.
    pub common: RunSettings,
}

/// The most states in all lanes. A limit has one state, and a limit per user has one for each user.
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
            processes: Processes::default(),
            cost: 1.0,
            script: Script::default(),
            common: RunSettings { auto_rate: 1.3, ..RunSettings::default() },
        }
    }
}

impl Named for Settings {
    const SETTINGS: &'static [Setting<Self>] = &[
        setting!("limit", [FromStart], |s, text| s.limit = s.limit_of(text)?, s.limit),
        setting!("lanes", [FromStart], |s, text| *s = s.comparing(text)?, joined(&s.lanes)),
        setting!("processes", [FromStart], |s| s.processes.count, processes),
        setting!("balance", [FromStart], |s| s.processes.balance, str::parse),
        setting!("call", [FromStart], |s| s.processes.call, call),
        setting!("auto", [Traffic], |s| s.common.auto, switch, on_off),
        setting!("pattern", [Traffic], |s| s.common.pattern, str::parse),
        setting!("auto-rate", [Traffic], |s| s.common.auto_rate, auto_rate::<10_000>),
        setting!("seed", [Traffic], |s| s.common.seed, seed),
        setting!("cost", |s, text| s.cost = decimal(text, 0.0..=1e6)?, s.cost),
        setting!("script", [Traffic], |s, text| *s = s.playing(text)?, s.script),
        setting!("speed", [View], |s| s.common.speed, speed),
        setting!("window", [View], |s| s.common.window, window),
    ];

    fn common(&self) -> &RunSettings {
        &self.common
    }

    fn cost(&self) -> f64 {
        self.cost
    }

    fn is_scripted(&self) -> bool {
        !self.script.phases.is_empty()
    }

    /// Each phase of the script has a seed of its own.
    fn streams(&self, now: Time) -> Vec<Source> {
        let phases = self.script.phases.iter().zip(1..);
        phases
            .filter_map(|(phase, i)| phase.source(self.common.seed.wrapping_add(i), now))
            .collect()
    }
}

impl Settings {
    /// Reads the common rate, and refuses it if a lane can't have it.
    fn limit_of(&self, text: &str) -> Result<Rate, ParseError> {
        let limit = rate(text, self.limit.per())?;
        self.resolve(limit).map_err(|e| ParseError::whole(text, e.to_string()))?;
        Ok(limit)
    }

    /// These settings with the lanes of the text.
    fn comparing(&self, text: &str) -> Result<Self, ParseError> {
        Settings { lanes: lanes(text, self.limit)?, ..self.clone() }.few(text)
    }

    /// These settings with the script of the text.
    fn playing(&self, text: &str) -> Result<Self, ParseError> {
        Settings { script: text.parse()?, ..self.clone() }.few(text)
    }

    /// Refuses more than [`STATES`] states: a single instant would take seconds.
    fn few(self, text: &str) -> Result<Self, ParseError> {
        let help = "limits in all, one per user counted for each";
        match self.states() {
            ..=STATES => Ok(self),
            n => Err(ParseError::whole(text, format!("{n} {help}; {STATES} are the most"))),
        }
    }

    /// The policy of every lane, if the common rate is `rate`.
    pub(super) fn resolve(&self, rate: Rate) -> Result<Vec<Policy>, ParseError> {
        self.lanes.iter().map(|template| template.resolve(rate)).collect()
    }

    /// How many states the lanes hold when all users have sent something.
    pub(super) fn states(&self) -> usize {
        let policies = self.lanes.iter().flat_map(|template| template.resolve(self.limit));
        policies.map(|policy| states_of(&policy, self.script.users.len())).sum()
    }
}

/// Lanes as one text.
pub(super) fn joined(templates: &[Template]) -> String {
    templates.iter().map(Template::as_str).collect::<Vec<_>>().join(";")
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

/// How many states a policy holds: a limit per user has one for each user.
pub(crate) fn states_of(policy: &Policy, users: usize) -> usize {
    let per_user = |limit: &&Limit| limit.per.fields().iter().any(|name| name == "user");
    let several = policy.limits().iter().filter(per_user).count();
    policy.limits().len() + several * (users - 1)
}

fn processes(text: &str) -> Result<u32, ParseError> {
    whole(text, 1..=PROCESSES)
}

fn call(text: &str) -> Result<Span, ParseError> {
    span(text, Span::ZERO..=Span::from_secs(10))
}

/// Reads a rate in the range that every kind of limiter accepts. A number alone is a count in `per`.
fn rate(text: &str, per: Span) -> Result<Rate, ParseError> {
    let rate = lenient::rate(text, per)?;
    let counts = (0.001..=MAX_ENTRIES as f64).contains(&rate.count());
    if counts && (0.1..=604_800.0).contains(&rate.per().as_secs_f64()) {
        Ok(rate)
    } else {
        let help = "out of range; choose from 0.001 to 100000 in 100ms to 1w";
        Err(ParseError::whole(text, help))
    }
}

//! A lane of a simulation: a policy, or the rules of a file, with its counts.

use super::shared::{self, Shared};
use ratescope::live::{Probe, Taps};
use ratescope::policy::Defaults;
use ratescope::rules::{Load, Opinion, Ruled, Rules, Ruling};
use ratescope::{Decision, Event, Outcome, Policy, Retry, Store};
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// A policy or rules at work, and the counts of their decisions so far.
pub(crate) struct Lane {
    /// The limits as they were written, or the name of the rule file.
    pub(crate) text: String,
    decider: Decider,
    /// The counters of Live.
    taps: Option<Taps>,
    /// The number of keys of each limit that the user asked for; there may be room for some more.
    keys: usize,
    allowed: u64,
    refused: u64,
    softly: u64,
    shadowed: u64,
}

enum Decider {
    Policy(Store),
    Rules {
        ruled: Ruled,
        is_rules: bool,
    },
    /// A policy or rules in a store outside of this process.
    Shared {
        store: Shared,
        is_rules: bool,
    },
}

/// A decision about an event.
pub(crate) struct Decided<'a> {
    pub(crate) text: &'a str,
    pub(crate) decision: Decision,
    /// The level and the limit of the limit that decided; `None` if no rule applies.
    pub(crate) outcome: Option<Outcome>,
    /// The limit that decided, and the key that it counted.
    pub(crate) by: Option<(String, String)>,
    /// Whether that limit is one of several, or of rules, so that a reader has to be told which.
    pub(crate) is_chosen: bool,
    /// The time until a refused event would pass.
    pub(crate) retry_after: Retry,
    /// A remark of rules: a soft decision, or shadows that would refuse.
    pub(crate) remark: String,
}

impl Lane {
    /// A policy with room for `keys` keys of each limit.
    ///
    /// # Errors
    /// When a limit is for an unknown field, or the store cannot be opened or has no such limit.
    pub(crate) fn policy(
        text: String,
        defaults: &Defaults,
        keys: usize,
        at: &shared::At,
    ) -> Result<Self, Box<dyn Error>> {
        let policy = Policy::read(&text, defaults)?;
        let decider = match at.open(policy.clone().into())? {
            Some(store) => Decider::Shared { store, is_rules: false },
            None => Decider::Policy(Store::new(policy, keys)),
        };
        Ok(Lane::new(text, decider, keys))
    }

    /// The rules of a file.
    ///
    /// # Errors
    /// When the store cannot be opened or has no such limit.
    pub(crate) fn rules(
        rules: Rules,
        keys: usize,
        at: &shared::At,
    ) -> Result<Self, Box<dyn Error>> {
        let text = rules.file().to_owned();
        let decider = match at.open(rules.clone())? {
            Some(store) => Decider::Shared { store, is_rules: true },
            None => Decider::Rules { ruled: Ruled::new(rules, keys), is_rules: true },
        };
        Ok(Lane::new(text, decider, keys))
    }

    /// A lane whose decisions `probe` sees. `text` is the policy that was made into `rules`, or `None` for
    /// the rules of a file.
    pub(crate) fn seen(
        rules: Rules,
        text: Option<String>,
        keys: usize,
        probe: &Arc<Probe>,
    ) -> Self {
        let (taps, is_rules) = (Some(probe.taps(&rules)), text.is_none());
        let text = text.unwrap_or_else(|| rules.file().to_owned());
        let decider = Decider::Rules { ruled: Ruled::new(rules, keys), is_rules };
        Lane { taps, ..Lane::new(text, decider, keys) }
    }

    fn new(text: String, decider: Decider, keys: usize) -> Self {
        let (taps, allowed, refused, softly, shadowed) = (None, 0, 0, 0, 0);
        Lane { text, decider, taps, keys, allowed, refused, softly, shadowed }
    }

    pub(crate) fn is_rules(&self) -> bool {
        use Decider::{Rules, Shared};
        matches!(self.decider, Rules { is_rules: true, .. } | Shared { is_rules: true, .. })
    }

    /// The fields of events that it reads.
    pub(crate) fn fields(&self) -> Vec<String> {
        match &self.decider {
            Decider::Policy(store) => store.policy().fields().map(str::to_owned).collect(),
            Decider::Rules { ruled, .. } => fields(&ruled.rules()),
            Decider::Shared { store, .. } => fields(&store.rules()),
        }
    }

    /// Decides about an event.
    ///
    /// # Errors
    /// When the lane has rules and the event's field `load` is not a load; or the store can't be asked.
    pub(crate) fn check(&mut self, event: &Event<'_>) -> io::Result<Decided<'_>> {
        let (ruling, retry, is_rules);
        let decided = match &self.decider {
            Decider::Policy(store) => by_policy(&self.text, store, event),
            decider => {
                (ruling, retry, is_rules) = match decider {
                    Decider::Shared { store, is_rules: false } => {
                        let (ruling, retry) = store.check(event, None)?;
                        (ruling, retry, false)
                    }
                    Decider::Shared { store, .. } => {
                        let (ruling, retry) = store.check(event, load(event)?)?;
                        (ruling, retry, true)
                    }
                    Decider::Rules { ruled, is_rules } => {
                        if *is_rules {
                            ruled.set_load(load(event)?);
                        }
                        let ruling = ruled.check(event);
                        let retry = (!ruling.is_allowed()).then(|| ruled.retry_after(event));
                        (ruling, retry, *is_rules)
                    }
                    Decider::Policy(_) => return Err(ErrorKind::Other.into()),
                };
                if let Some(taps) = &self.taps {
                    taps.count(&ruling, event);
                }
                self.softly += u64::from(ruling.is_soft());
                self.shadowed += u64::from(ruling.shadow_refusals().next().is_some());
                by_ruling(&self.text, &ruling, retry.unwrap_or(Retry::NOW), is_rules, event)
            }
        };
        let allowed = matches!(decided.decision, Decision::Allowed { .. });
        *(if allowed { &mut self.allowed } else { &mut self.refused }) += 1;
        Ok(decided)
    }

    /// Prints the counts.
    pub(crate) fn summary(&self, out: &mut impl Write) -> io::Result<()> {
        let Lane { text, keys, allowed, refused, softly, shadowed, .. } = self;
        let all = allowed + refused;
        if all == 0 {
            return writeln!(out, "{text}: no events");
        }
        let share = *allowed as f64 / all as f64 * 100.0;
        write!(out, "{text}: {allowed} of {all} allowed ({share:.1}%), {refused} refused")?;
        if *softly > 0 {
            write!(out, ", {softly} softly")?;
        }
        if *shadowed > 0 {
            write!(out, ", shadows would refuse {shadowed} more")?;
        }
        let (len, forgotten) = match &self.decider {
            Decider::Policy(store) => (store.len(), store.forgotten()),
            Decider::Rules { ruled, .. } => (ruled.len(), ruled.forgotten()),
            Decider::Shared { store, .. } => (store.clear()?, 0),
        };
        write!(out, ", keys: {}", len as u64 + forgotten)?;
        match forgotten {
            0 => writeln!(out),
            n => writeln!(out, " ({n} forgotten: more than --keys {keys})"),
        }
    }
}

/// The fields of rules, and the field `load`, on which they may depend.
fn fields(rules: &Rules) -> Vec<String> {
    rules.fields().into_iter().chain([LOAD]).map(str::to_owned).collect()
}

fn by_ruling<'a>(
    text: &'a str,
    ruling: &Ruling,
    retry_after: Retry,
    is_rules: bool,
    event: &Event<'_>,
) -> Decided<'a> {
    let by = ruling.decided_by();
    let name = |by: &Opinion<'_>| match is_rules {
        true => format!("{}: {}", by.rule.name(), by.limit),
        false => by.limit.to_string(),
    };
    let mut shadows: Vec<&str> =
        ruling.shadow_refusals().map(|shadow| shadow.rule.name()).collect();
    shadows.dedup();
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(ruling.is_soft().then(|| "softly".to_owned()));
    remarks.extend(shadows.iter().map(|name| format!("{name} would refuse")));
    Decided {
        text,
        decision: ruling.decision(),
        outcome: by.map(|by| by.outcome),
        by: by.as_ref().map(|by| (name(by), by.key(event))),
        is_chosen: is_rules || ruling.opinions().nth(1).is_some(),
        retry_after,
        remark: remarks.join(", "),
    }
}

fn by_policy<'a>(text: &'a str, store: &Store, event: &Event<'_>) -> Decided<'a> {
    let verdict = store.check(event);
    let limits = store.policy().limits();
    let by = limits.get(verdict.by).map(|limit| (limit.to_string(), limit.per.key(event)));
    let retry_after = match verdict.is_allowed() {
        true => Retry::NOW,
        false => store.retry_after(event),
    };
    Decided {
        text,
        decision: verdict.outcome.decision,
        outcome: Some(verdict.outcome),
        by,
        is_chosen: limits.len() > 1,
        retry_after,
        remark: String::new(),
    }
}

/// The field with the load of the service.
const LOAD: &str = "load";

/// The load in the field `load` of an event; `None` if that is empty.
fn load(event: &Event<'_>) -> io::Result<Option<Load>> {
    match event.field(LOAD) {
        "" => Ok(None),
        text => {
            let wrong =
                |e| io::Error::new(ErrorKind::InvalidData, format!("at {}: {e}", event.time));
            text.parse().map(Some).map_err(wrong)
        }
    }
}

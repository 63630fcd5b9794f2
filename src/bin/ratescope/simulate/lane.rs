//! What decides in a simulation: a policy, or the rules of a file.

use ratescope::policy::Defaults;
use ratescope::rules::{Load, Ruled, Rules};
use ratescope::{Decision, Event, Outcome, ParseError, Policy, Retry, Store};
use std::io::{self, ErrorKind, Write};

/// A policy or rules at work, and what came of it so far.
pub(crate) struct Lane {
    /// As it was written: the limits, or the name of the file.
    pub(crate) text: String,
    decider: Decider,
    /// How many keys of a limit were to be remembered; there is room for as many and some more.
    keys: usize,
    allowed: u64,
    refused: u64,
    softly: u64,
    shadowed: u64,
}

enum Decider {
    Policy(Store),
    Rules(Ruled),
}

/// What was decided about an event.
pub(crate) struct Decided<'a> {
    pub(crate) text: &'a str,
    pub(crate) decision: Decision,
    /// The numbers of the limit that decided; none where no rule applies.
    pub(crate) outcome: Option<Outcome>,
    /// That limit, and the key that it counted for.
    pub(crate) by: Option<(String, String)>,
    /// Whether it is one of several.
    pub(crate) is_chosen: bool,
    /// When to come back, where it was refused.
    pub(crate) retry_after: Retry,
    /// What else there is to say.
    pub(crate) remark: String,
}

impl Lane {
    /// A policy, for so many keys of each limit.
    ///
    /// # Errors
    /// When a limit is for a field that there is not.
    pub(crate) fn policy(
        text: String,
        defaults: &Defaults,
        keys: usize,
    ) -> Result<Self, ParseError> {
        let store = Store::new(Policy::read(&text, defaults)?, keys);
        Ok(Lane::new(text, Decider::Policy(store), keys))
    }

    /// The rules of a file.
    pub(crate) fn rules(rules: Rules, keys: usize) -> Self {
        Lane::new(rules.file().to_owned(), Decider::Rules(Ruled::new(rules, keys)), keys)
    }

    fn new(text: String, decider: Decider, keys: usize) -> Self {
        Lane { text, decider, keys, allowed: 0, refused: 0, softly: 0, shadowed: 0 }
    }

    pub(crate) fn is_rules(&self) -> bool {
        matches!(self.decider, Decider::Rules(_))
    }

    /// The fields that it looks at.
    pub(crate) fn fields(&self) -> Vec<String> {
        match &self.decider {
            Decider::Policy(store) => store.policy().fields().map(str::to_owned).collect(),
            Decider::Rules(ruled) => {
                let rules = ruled.rules();
                rules.fields().into_iter().chain([LOAD]).map(str::to_owned).collect()
            }
        }
    }

    /// Decides about an event.
    ///
    /// # Errors
    /// When its field `load` is no load, on which rules may depend.
    pub(crate) fn check(&mut self, event: &Event<'_>) -> io::Result<Decided<'_>> {
        let decided = match &self.decider {
            Decider::Policy(store) => by_policy(&self.text, store, event),
            Decider::Rules(ruled) => {
                ruled.set_load(load(event)?);
                let ruling = ruled.check(event);
                self.softly += u64::from(ruling.is_soft());
                self.shadowed += u64::from(ruling.shadow_refusals().next().is_some());
                let retry_after = match ruling.is_allowed() {
                    true => Retry::NOW,
                    false => ruled.retry_after(event),
                };
                let by = ruling.decided_by();
                let name = |by: &ratescope::rules::Opinion<'_>| {
                    format!("{}: {}", by.rule.name(), by.limit)
                };
                let mut shadows: Vec<&str> =
                    ruling.shadow_refusals().map(|shadow| shadow.rule.name()).collect();
                shadows.dedup();
                let mut remarks: Vec<String> = Vec::new();
                remarks.extend(ruling.is_soft().then(|| "softly".to_owned()));
                remarks.extend(shadows.iter().map(|name| format!("{name} would refuse")));
                Decided {
                    text: &self.text,
                    decision: ruling.decision(),
                    outcome: by.map(|by| by.outcome),
                    by: by.as_ref().map(|by| (name(by), by.key(event))),
                    is_chosen: true,
                    retry_after,
                    remark: remarks.join(", "),
                }
            }
        };
        let allowed = matches!(decided.decision, Decision::Allowed { .. });
        *(if allowed { &mut self.allowed } else { &mut self.refused }) += 1;
        Ok(decided)
    }

    /// How it went.
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
            Decider::Rules(ruled) => (ruled.len(), ruled.forgotten()),
        };
        write!(out, ", keys: {}", len as u64 + forgotten)?;
        match forgotten {
            0 => writeln!(out),
            n => writeln!(out, " ({n} forgotten: more than --keys {keys})"),
        }
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

/// The field that is the load of the service.
const LOAD: &str = "load";

/// The load that stands beside an event, if one does.
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

//! A lane of a simulation: a policy, or the rules of a file, with its counts.

use super::several::Several;
use super::shared::Shared;
use ratescope::event::Fields;
use ratescope::rules::{Details, LimitOutcome, Load, MemoryStore, Part, Rules, Value};
use ratescope::{Event, Outcome, Retry, Span};
use ratescope_live::{Probe, Taps};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// A policy or rules at work, and the counts of their decisions so far.
pub(crate) struct Lane {
    /// The limits as they were written, or the name of the rule file.
    pub(crate) text: String,
    /// These are the rules of a file, which may depend on the load.
    pub(crate) is_rules: bool,
    decider: Decider,
    /// The text that Envoy's route gives each request as `generic_key`, if all rules want the same.
    generic_key: Option<String>,
    /// The counters of Live.
    taps: Option<Taps>,
    /// The keys of each limit that the user asked for; there may be room for more.
    keys: usize,
    allowed: u64,
    refused: u64,
    softly: u64,
    shadowed: u64,
}

/// Rules with their states. A policy is one rule.
enum Decider {
    Here(MemoryStore),
    /// The states are outside of this process.
    Shared(Shared),
    /// Several processes, as in the lab.
    Several(Box<Several>),
}

/// A decision about an event.
pub(crate) struct DecisionRow<'a> {
    pub(crate) text: &'a str,
    /// How long an allowed event waits in the queue; `None` if it is refused.
    pub(crate) wait: Option<Span>,
    /// The level and the limit of the limit that decided; `None` if no rule applies.
    pub(crate) outcome: Option<Outcome>,
    /// The limit that decided, and the key that it counted.
    pub(crate) by: Option<(String, String)>,
    /// The limit is one of several, or of rules, so that it has to be named.
    pub(crate) is_chosen: bool,
    /// The time until a refused event would pass.
    pub(crate) retry_after: Retry,
    /// A remark of rules: a soft decision, or shadows that would refuse.
    pub(crate) remark: String,
}

impl Lane {
    /// The rules of a file, or a policy that was written as `text`, with room for `keys` keys of each limit.
    /// They decide by the states in `store`, if there is one.
    pub(crate) fn new(
        rules: Rules,
        text: Option<String>,
        keys: usize,
        store: Option<Shared>,
    ) -> Self {
        let is_rules = text.is_none();
        let text = text.unwrap_or_else(|| rules.file().to_owned());
        let generic_key = generic_key(&rules).filter(|_| is_rules);
        let decider = match store {
            Some(store) => Decider::Shared(store),
            None => Decider::Here(MemoryStore::new(rules, keys)),
        };
        Lane { is_rules, generic_key, ..Lane::by(text, keys, decider) }
    }

    /// A limit that several processes share.
    pub(crate) fn several(several: Several, text: String, keys: usize) -> Self {
        Lane::by(text, keys, Decider::Several(Box::new(several)))
    }

    fn by(text: String, keys: usize, decider: Decider) -> Self {
        Lane {
            text,
            is_rules: false,
            decider,
            generic_key: None,
            taps: None,
            keys,
            allowed: 0,
            refused: 0,
            softly: 0,
            shadowed: 0,
        }
    }

    /// A lane that a probe observes.
    pub(crate) fn seen(
        rules: Rules,
        text: Option<String>,
        keys: usize,
        probe: &Arc<Probe>,
    ) -> Self {
        let taps = Some(probe.taps(&rules));
        Lane { taps, ..Lane::new(rules, text, keys, None) }
    }

    /// The fields that it reads.
    pub(crate) fn fields(&self) -> Vec<String> {
        let rules = match &self.decider {
            Decider::Here(ruled) => ruled.rules(),
            Decider::Shared(store) => store.rules(),
            Decider::Several(several) => return several.limit().per.fields().to_vec(),
        };
        let others = [LOAD, IP].into_iter().filter(|_| self.is_rules);
        rules.fields().into_iter().chain(others).map(str::to_owned).collect()
    }

    /// Decides about an event.
    ///
    /// # Errors
    /// When the lane has rules and the event's field `load` is not a load, or when the store can't be asked.
    pub(crate) fn check(&mut self, event: &Event<'_>) -> io::Result<DecisionRow<'_>> {
        if let Decider::Several(several) = &mut self.decider {
            let (outcome, key, retry_after) = several.check(event, self.keys)?;
            *(if outcome.is_allowed() { &mut self.allowed } else { &mut self.refused }) += 1;
            return Ok(DecisionRow {
                text: &self.text,
                wait: outcome.wait,
                outcome: Some(outcome),
                by: Some((several.limit().to_string(), key)),
                is_chosen: false,
                retry_after,
                remark: String::new(),
            });
        }
        let load = if self.is_rules { load(event)? } else { None };
        let details = Details::default().with_retry();
        let named = Named { fields: event.fields, generic_key: self.generic_key.as_deref() };
        let own = Event { fields: &named, ..*event };
        let event = if self.is_rules { &own } else { event };
        let decision = match &self.decider {
            Decider::Here(ruled) => {
                ruled.set_load(load);
                ruled.decide_one(&Part::count(event), details)
            }
            Decider::Shared(store) => store.check(event, load, details)?,
            Decider::Several(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        if let Some(taps) = &self.taps {
            taps.count(&decision, event);
        }
        let mut shadows: Vec<&str> =
            decision.shadow_refusals().map(|shadow| shadow.rule.name()).collect();
        shadows.dedup();
        let mut remarks: Vec<String> = Vec::new();
        remarks.extend(decision.is_soft().then(|| "softly".to_owned()));
        remarks.extend(shadows.iter().map(|name| format!("{name} would refuse")));
        self.softly += u64::from(decision.is_soft());
        self.shadowed += u64::from(!shadows.is_empty());
        *(if decision.is_allowed() { &mut self.allowed } else { &mut self.refused }) += 1;
        let by = decision.decided_by();
        let name = |by: &LimitOutcome<'_>| {
            if self.is_rules {
                format!("{}: {}", by.rule.name(), by.limit)
            } else {
                by.limit.to_string()
            }
        };
        Ok(DecisionRow {
            text: &self.text,
            wait: decision.wait(),
            outcome: by.map(|by| by.outcome),
            by: by.as_ref().map(|by| (name(by), by.key(event))),
            is_chosen: self.is_rules || decision.outcomes().nth(1).is_some(),
            retry_after: decision.retry_after().unwrap_or(Retry::NOW),
            remark: remarks.join(", "),
        })
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
        if let Decider::Several(several) = &self.decider {
            write!(out, ", {}", several.told())?;
        }
        let (len, evicted) = match &self.decider {
            Decider::Several(several) => (several.keys(), 0),
            Decider::Here(ruled) => (ruled.len(), ruled.evicted()),
            Decider::Shared(store) => (store.clear()?, 0),
        };
        match evicted {
            0 => writeln!(out, ", keys: {len}"),
            // An evicted key that comes back is new, and may be evicted again.
            n => writeln!(out, ", keys: {len} kept, {n} evicted (more than --keys {keys})"),
        }
    }
}

/// The fields of an event, also by the names that Envoy gives them: a log has no column of these names.
struct Named<'a> {
    fields: &'a dyn Fields,
    generic_key: Option<&'a str>,
}

/// The field of a log with the address of a client.
const IP: &str = "ip";

/// The text that Envoy's route gives each request as `generic_key`, by the rules, if they name one only.
fn generic_key(rules: &Rules) -> Option<String> {
    let steps = rules.rules().iter().flat_map(|rule| rule.path());
    let mut texts = steps.filter(|step| step.key == GENERIC).map(|step| &step.value);
    let first = texts.next()?;
    match first {
        Value::Is(text) if texts.all(|other| other == first) => Some(text.clone()),
        _ => None,
    }
}

const GENERIC: &str = "generic_key";

/// Tells whether a field of the rules that a log does not have is one that Envoy makes of others.
pub(crate) fn is_made(name: &str, rules: &Rules, known: &[String]) -> bool {
    match name {
        "remote_address" | "masked_remote_address" => known.iter().any(|field| field == IP),
        GENERIC => generic_key(rules).is_some(),
        _ => false,
    }
}

impl Fields for Named<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let own = self.fields.value(name).filter(|value| !value.is_empty());
        own.or_else(|| match name {
            "remote_address" | "masked_remote_address" => self.fields.value(IP),
            GENERIC => self.generic_key,
            _ => None,
        })
    }
}

/// The field that is the load of the service.
const LOAD: &str = "load";

/// The load in the field `load` of an event; `None` if the field is empty.
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

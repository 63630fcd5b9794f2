//! The rate limit service that Envoy calls: its rule file, as [`Rules`] read it, and the actions of a route that make its
//! descriptors.
//!
//! Source: `envoyproxy/ratelimit`, README, "The rate limit service configuration". Limits are fixed windows of one clock
//! unit, in UTC.

use crate::envoy::{REAL_ADDRESS, actions, entries};
use crate::field::{header, ip};
use crate::only::{VALUES, network, stars};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{bits, has, lines};
use crate::write::{Names, Notes, Written, each};
use crate::{Addresses, Is, Only, Test};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;
use ratescope::rate::Rate;
use ratescope::rules::{Rule, Rules, Step, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: Names = Names {
    name: "descriptors",
    title: "the rate limit service",
    file: "config.yaml of the rate limit service",
};

pub(crate) fn is_known(text: &str) -> bool {
    let top = |name: &str| text.lines().any(|line| line.starts_with(name));
    has(text, &["#"], "requests_per_unit")
        || (top("domain:") && (top("descriptors:") || top("limit:")))
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let rules = Rules::read("", text).map_err(|error| {
        let first = error.mistakes().first();
        let problem = first.map_or(String::new(), |mistake| match mistake.word() {
            "" => mistake.problem().to_owned(),
            word => format!("{:?}: {}", said(word), mistake.problem()),
        });
        Remark::new(first.map_or(0, |mistake| mistake.line()), problem)
    })?;
    for remark in rules.remarks() {
        config.remark(remark.line(), format!("{:?}: {}", said(remark.word()), remark.problem()));
    }
    // The exported file has the actions of Envoy's route in comments.
    let route = |name: &str| {
        let of =
            |line: &str| Some(line.split_once(name)?.1.trim_matches([' ', '}', ':']).to_owned());
        lines(text, &[]).find_map(|(_, line)| of(line))
    };
    let prefix = |name| route(name).and_then(|prefix| bits(prefix.split(',').next()?));
    let addresses = Addresses {
        ipv4_prefix: prefix("v4_prefix_mask_len").filter(|bits| *bits <= 32).unwrap_or(32),
        ipv6_prefix: prefix("v6_prefix_mask_len").unwrap_or(128),
        forwarded: route("xff_num_trusted_hops").is_some(),
    };
    let mut lists: BTreeMap<String, Vec<&Step>> = BTreeMap::new();
    for rule in rules.rules() {
        if let Some((last, around)) = rule.path().split_last() {
            lists.entry(list(last, around)).or_default().push(last);
        }
    }
    for rule in rules.rules() {
        for limit in rule.limits() {
            config.add(rule.line(), found(rule, limit, addresses, &lists));
        }
        if rule.limits().is_empty() {
            let of = scoped(rule.path().iter().map(Step::to_string), ", ");
            let of = of.unwrap_or_else(|| "every request".to_owned());
            config.remark(
                rule.line(),
                format!("{of} is unlimited and never refused; the trial counts it, too"),
            );
        }
        if rule.is_shadow() {
            config.remark(rule.line(), "its rule is in shadow mode and refuses nothing");
        }
    }
    Ok(())
}

/// The list of descriptors of a step, and its key there.
fn list(step: &Step, around: &[Step]) -> String {
    around.iter().map(|step| format!("{step},")).chain([step.key.clone()]).collect()
}

/// The values of a key with rules of their own, if the last step of a rule is for all values.
fn others(rule: &Rule, lists: &BTreeMap<String, Vec<&Step>>) -> Option<(String, Only)> {
    let (last, around) = rule.path().split_last()?;
    let all = lists.get(&list(last, around)).filter(|_| last.value == Value::Any)?;
    let others = || all.iter().filter(|step| step.value != Value::Any);
    let words = scoped(others().map(ToString::to_string), " ")?;
    let words = format!("all but {words}");
    if others().nth(VALUES).is_some() {
        let only = Only::Unknown(format!("more than {VALUES} values have rules of their own"));
        return Some((words, only));
    }
    let mut only = Only::All;
    for step in others() {
        only.and(match self::only(step) {
            Only::Fields(test) => test.not().into(),
            other => other,
        });
    }
    Some((words, only))
}

/// The events that have the value of a step.
fn only(step: &Step) -> Only {
    let field = field(&step.key);
    match &step.value {
        Value::Any => Only::All,
        Value::Is(value) => Test::field(&field, Is::Exactly(value.clone())).into(),
        Value::Like(pattern) => Test::field(&field, Is::Like(stars(pattern.as_str()))).into(),
        Value::Within(networks) => {
            let networks = networks.to_string();
            let test = Test::one_of(&field, networks.split(','), |it| network(it.trim()));
            Only::of(test, &step.to_string())
        }
    }
}

/// The field of a log for a key.
fn field(key: &str) -> String {
    match key {
        "remote_address" | "masked_remote_address" => ip(),
        key => header(key),
    }
}

fn found(
    rule: &Rule,
    read: &Limit,
    addresses: Addresses,
    lists: &BTreeMap<String, Vec<&Step>>,
) -> Result<Found, String> {
    let mut name = String::new();
    let mut scope = Vec::new();
    let mut only = Only::All;
    for step in rule.path() {
        if step.key != "generic_key" {
            only.and(self::only(step));
        }
        match &step.value {
            Value::Any => {}
            Value::Is(value) if step.key == "generic_key" => name = value.clone(),
            _ => scope.push(step.to_string()),
        }
    }
    if let Some((others, left_out)) = others(rule, lists) {
        scope.push(others);
        only.and(left_out);
    }
    let fixed = |key: &str| {
        rule.path().iter().any(|step| step.key == key && matches!(step.value, Value::Is(_)))
    };
    let fields = read.per.fields().iter().filter(|key| !fixed(key));
    let fields: Vec<String> = fields.map(|key| field(key)).collect();
    let scope = scoped(&scope, ", ");
    let limit = limit(&read.limiter.to_string(), &fields)?;
    Ok(Found { name, line: rule.line(), limit, addresses, scope, only })
}

/// The units of a limit, with their lengths in seconds.
const UNITS: [(&str, f64); 4] =
    [("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86_400.0)];

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut rate_limits = String::new();
    let mut names = BTreeSet::new();
    let descriptors = each(limits, |n, limit| {
        let AnyLimiter::FixedWindow(window) = &limit.limiter else {
            let problem = "it has fixed windows only; write a limit such as 10/1m";
            return Err(problem.to_owned());
        };
        if !window.is_plain() {
            let problem = "its windows begin at the multiples of their length, and it has no word for attempts";
            return Err(problem.to_owned());
        }
        let unit = unit(window.limit())?;
        let entries = entries(&limit.per, (limits.len() > 1).then_some(n), addresses, notes)?;
        rate_limits += &actions(&entries, "# ");
        let mut text = String::new();
        for (depth, entry) in entries.iter().enumerate() {
            let indent = "  ".repeat(depth);
            if depth > 0 {
                text += &format!("{indent}descriptors:\n");
            }
            names.insert(entry.key().to_owned());
            text += &format!("{indent}- key: {}\n", entry.key());
            if let Some(value) = entry.value() {
                text += &format!("{indent}  value: {value}\n");
            }
        }
        if entries.iter().filter(|entry| entry.value().is_none()).count() > 1 {
            notes.add(
                "the service joins the values of a key by _ and does not escape it: values with _ \
                 in them may make the same key",
            );
        }
        let indent = "  ".repeat(entries.len());
        let count = window.limit().count();
        Ok(format!("{text}{indent}rate_limit: {{ unit: {unit}, requests_per_unit: {count} }}\n"))
    })?;
    if limits.len() > 1 {
        notes.add("the service counts a request in every limit, also when another refuses it");
    }
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    let client: String = client.lines().map(|line| format!("# {line}\n")).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    Ok(format!(
        "# Each request needs these names: {names}. The actions below make them; where nothing does, the limit \
         applies to none, or to all as one client.\ndomain: ratescope\ndescriptors:\n{descriptors}\
         \n# In the route of Envoy, whose filter has the domain ratescope:\n# rate_limits:\n\
         {rate_limits}{client}"
    ))
}

fn unit(limit: Rate) -> Result<&'static str, String> {
    let count = limit.count();
    let secs = limit.per().as_secs_f64();
    let whole = count == libm::floor(count) && count <= f64::from(u32::MAX);
    let unit = UNITS.iter().find(|(_, length)| *length == secs);
    match unit {
        Some((name, _)) if whole => Ok(name),
        Some(_) => Err("its limits are whole numbers below 2^32".to_owned()),
        None => Err("its windows are 1s, 1m, 1h or 1d".to_owned()),
    }
}

//! The rate limit service that Envoy calls: its rule file, as [`Rules`] read it.

use super::field::{header, ip};
use super::words::{bits, has, lines};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::policy::Limit;
use ratescope::rules::{Rule, Rules, Step, Value};
use std::collections::BTreeMap;

pub(super) fn is_known(text: &str) -> bool {
    let top = |name: &str| text.lines().any(|line| line.starts_with(name));
    has(text, &["#"], "requests_per_unit")
        || (top("domain:") && (top("descriptors:") || top("limit:")))
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let rules = Rules::read("", text).map_err(|error| {
        let first = error.mistakes().first();
        let problem = first.map_or(String::new(), |mistake| match mistake.word() {
            "" => mistake.problem().to_owned(),
            word => format!("{:?}: {}", said(word), mistake.problem()),
        });
        Remark { line: first.map_or(0, |mistake| mistake.line()), text: problem }
    })?;
    // The exported file has the actions of Envoy's route in comments.
    let route = |name: &str| {
        let of =
            |line: &str| Some(line.split_once(name)?.1.trim_matches([' ', '}', ':']).to_owned());
        lines(text, &[]).find_map(|(_, line)| of(line))
    };
    let prefix = route("v6_prefix_mask_len").and_then(|prefix| bits(&prefix));
    let addresses = Addresses {
        ipv6_prefix: prefix.unwrap_or(128),
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
            let of = super::scope(rule.path().iter().map(Step::to_string), ", ");
            let of = of.unwrap_or_else(|| "every request".to_owned());
            config.remark(
                rule.line(),
                format!("{of} is unlimited and never refused; what is tried counts it, too"),
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
fn others(rule: &Rule, lists: &BTreeMap<String, Vec<&Step>>) -> Option<String> {
    let (last, around) = rule.path().split_last()?;
    let all = lists.get(&list(last, around)).filter(|_| last.value == Value::Any)?;
    let others = all.iter().filter(|step| step.value != Value::Any).map(ToString::to_string);
    super::scope(others, " ").map(|others| format!("all but {others}"))
}

fn found(
    rule: &Rule,
    read: &Limit,
    addresses: Addresses,
    lists: &BTreeMap<String, Vec<&Step>>,
) -> Result<Found, String> {
    let mut name = String::new();
    let mut scope = Vec::new();
    for step in rule.path() {
        match &step.value {
            Value::Any => {}
            Value::Is(value) if step.key == "generic_key" => name = value.clone(),
            _ => scope.push(step.to_string()),
        }
    }
    scope.extend(others(rule, lists));
    let fixed = |key: &str| {
        rule.path().iter().any(|step| step.key == key && matches!(step.value, Value::Is(_)))
    };
    let fields = read.per.fields().iter().filter(|key| !fixed(key)).map(|key| match key.as_str() {
        "remote_address" | "masked_remote_address" => ip(),
        key => header(key),
    });
    let fields: Vec<String> = fields.collect();
    let scope = super::scope(&scope, ", ");
    let limit = limit(&read.limiter.to_string(), &fields)?;
    Ok(Found { name, line: rule.line(), limit, addresses, scope })
}

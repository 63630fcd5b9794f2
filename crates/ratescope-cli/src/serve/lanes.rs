//! A rule file as a link to Compare, which shows each rule as a lane.

use ratescope::ParseError;
use ratescope::policy::{Limit, Per};
use ratescope::rules::{Rule, Rules, Value};
use ratescope_lab::compare::{Settings, settings::LANES};
use ratescope_lab::run::{Link, Named};

/// The fields of the events in Compare, each with its names in rules.
const FIELDS: [(&str, &[&str]); 2] =
    [("user", &["user", "sender", "key"]), ("ip", &["ip", "address", "remote_address"])];

/// The lanes of rules, and the reasons why other rules have none.
pub(super) struct Lanes {
    /// The part after `#` in the address of Compare; `None` if no rule has a lane.
    pub(super) link: Option<String>,
    /// The rules that are not shown, each with the reason.
    pub(super) missing: Vec<String>,
}

impl Lanes {
    pub(super) fn new(rules: &Rules) -> Self {
        let mut lanes = Vec::new();
        let mut missing = Vec::new();
        for rule in rules.rules() {
            let shown = match lanes.len() {
                LANES => Err(format!("there are {LANES} lanes already")),
                _ => lane(rule),
            };
            match shown {
                Ok(lane) => lanes.push(lane),
                Err(why) => missing.push(format!("{} (line {}): {why}", rule.name(), rule.line())),
            }
        }
        let link = link(&lanes).unwrap_or_else(|error| {
            missing.push(error.to_string());
            None
        });
        Lanes { link, missing }
    }
}

/// The lane of a rule, as the text of its limits; or the reason why it has none.
fn lane(rule: &Rule) -> Result<String, String> {
    if rule.limits().is_empty() {
        return Err("it has no limit".to_owned());
    }
    let limits = rule
        .limits()
        .iter()
        .map(|limit| Ok(Limit { per: renamed(&limit.per, rule)?, ..limit.clone() }.to_string()));
    let limits: Result<Vec<_>, String> = limits.collect();
    Ok(limits?.join(" & "))
}

/// The key with the names of Compare, or the reason why there is none. A field with one value in all events of the rule
/// is left out, since it distinguishes no senders.
fn renamed(per: &Per, rule: &Rule) -> Result<Per, String> {
    let is_fixed = |field: &&String| {
        rule.path().iter().any(|step| step.key == **field && matches!(step.value, Value::Is(_)))
    };
    let name = |field: &String| {
        let known = FIELDS.iter().find(|(_, names)| names.contains(&field.as_str()));
        known.map(|(name, _)| *name).ok_or_else(|| {
            format!("it is per {field}, and the events in Compare have a user and an ip")
        })
    };
    let fields = per.fields().iter().filter(|field| !is_fixed(field));
    let names = fields.map(name).collect::<Result<Vec<_>, _>>()?;
    Per::new(names).map_err(|error| error.to_string())
}

fn link(lanes: &[String]) -> Result<Option<String>, ParseError> {
    if lanes.is_empty() {
        return Ok(None);
    }
    let mut settings = Settings::default();
    settings.set("lanes", &lanes.join(";"))?;
    // A terminal reads an address without spaces as one link.
    Ok(Some(Link { settings, ..Link::default() }.to_string().replace(' ', "%20")))
}

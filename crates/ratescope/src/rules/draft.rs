//! Rules while they are read from a file or made in code, with the checks that both have in common.

use super::error::{At, MOST, Mistake};
use super::matching::{Descriptors, Level, Matcher};
use super::reader::{TreeReader, meant};
use super::settings::RuleSettings;
use super::value::Step;
use super::{Rule, Rules, RulesError};
use crate::policy::{FIELDS, Per, escaped};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most bytes of the keys and values on the path to a rule, which make its name.
const LONGEST_PATH: usize = 4096;

/// The most bytes of a domain.
const LONGEST_DOMAIN: usize = 256;

const MOST_RULES: usize = 10_000;

/// The rules so far.
#[derive(Default)]
pub(super) struct Draft {
    rules: Vec<Rule>,
    replacing: Vec<Replacing>,
    /// The index of the rule for all events.
    pub(super) always: Option<usize>,
}

/// A rule that replaces others, with the places of the list of their names and of each name.
struct Replacing {
    rule: usize,
    list: At,
    names: Vec<At>,
}

impl Draft {
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Adds a rule, and returns its index. Its name is made later, when all secret fields are known.
    pub(super) fn add(
        &mut self,
        line: usize,
        limits_at: At,
        path: Vec<Step>,
        settings: RuleSettings,
    ) -> usize {
        if path.is_empty() {
            self.always = Some(self.rules.len());
        }
        self.rules.push(Rule { name: String::new(), path, line, limits_at, settings });
        self.rules.len() - 1
    }

    /// Checks that there is room for one more rule.
    pub(super) fn check_room(&self) -> Result<(), String> {
        let has_room = self.rules.len() < MOST_RULES;
        if has_room {
            Ok(())
        } else {
            Err(format!(
                "more than {MOST_RULES} rules; many customers are keys of one rule (per customer), whose own numbers come with their \
                 requests (limit_of of the layer) or as exceptions (ratescope keys except)"
            ))
        }
    }

    /// Says where the list is of the rules that a rule replaces, and each of their names.
    pub(super) fn replaces(&mut self, rule: usize, list: At, names: Vec<At>) {
        self.replacing.push(Replacing { rule, list, names });
    }

    /// The rules, or all mistakes. `name` is the name of the file, and `at` the place of mistakes about all of it.
    pub(super) fn finish(
        self,
        mut reader: TreeReader,
        name: &str,
        domain: &str,
        at: At,
        top: Level,
    ) -> Result<Rules, RulesError> {
        self.check_replaces(&mut reader.mistakes);
        if self.rules.is_empty() && reader.mistakes.is_empty() {
            const NOTHING: &str =
                "neither descriptors nor a limit, so nothing would be limited; write one of them";
            reader.mistakes.push(Mistake::new(at, "", NOTHING));
        }
        let Draft { rules, replacing, always } = self;
        let rules = Rules::of(name.to_owned(), domain.to_owned(), rules);
        let remarks = core::mem::take(&mut reader.remarks);
        let matcher = Descriptors { top, replaces: !replacing.is_empty() };
        let matcher: Option<Arc<dyn Matcher>> = Some(Arc::new(matcher));
        reader.finish(name, Some(Rules { always, matcher, remarks, ..rules }))
    }

    /// Checks that replaced rules exist, and that no rules replace each other.
    fn check_replaces(&self, mistakes: &mut Vec<Mistake>) {
        let labels: Vec<&str> = self.rules.iter().filter_map(Rule::label).collect();
        let known: HashSet<&str> = labels.iter().copied().collect();
        let cycles = cycles(&self.rules);
        for Replacing { rule, list, names } in &self.replacing {
            let Some(rule) = self.rules.get(*rule) else { continue };
            let in_cycle = |name: &str| cycles.contains(name);
            if rule.label().is_some_and(in_cycle) && rule.replaces().iter().any(|n| in_cycle(n)) {
                mistakes.push(Mistake::new(*list, "", "rules replace each other in a cycle"));
            }
            for (name, at) in rule.replaces().iter().zip(names) {
                if mistakes.len() < MOST && !name.is_empty() && !known.contains(name.as_str()) {
                    let help = match labels.as_slice() {
                        [] => "no rule has a name".to_owned(),
                        labels => meant(name, labels),
                    };
                    let problem = format!("no rule of this file has this name; {help}");
                    mistakes.push(Mistake::new(*at, name, problem));
                }
            }
        }
    }
}

pub(super) fn check_domain(domain: &str) -> Result<(), String> {
    match domain.len() {
        0 => Err("the domain is empty".to_owned()),
        1..=LONGEST_DOMAIN => Ok(()),
        _ => Err(format!("more than {LONGEST_DOMAIN} bytes long")),
    }
}

/// Reads the name of a field, and whether it is secret.
pub(super) fn field(text: &str) -> Result<(String, bool), &'static str> {
    // A hash mark counts equal keys within each other.
    if !text.contains('#')
        && text != "all"
        && let Ok(per) = Per::new([text])
        && let [name] = per.fields()
    {
        return Ok((name.clone(), per.is_secret(name)));
    }
    Err(match text {
        "" => "a key is empty",
        "all" => "everybody together is not a field; a limit at the top is for all",
        _ if text.contains('+') => "a key is one field; nest descriptors for several",
        _ => "not the name of a field; write letters, digits and - _ . / : @ ~ $ * !",
    })
}

pub(super) fn check_length<'a>(path: impl Iterator<Item = &'a Step>) -> Result<(), String> {
    if path.map(Step::len).sum::<usize>() > LONGEST_PATH {
        return Err(format!("with the descriptors around it, more than {LONGEST_PATH} bytes long"));
    }
    Ok(())
}

/// The key of a limit that counts each combination of these fields. Of equal keys within each other the second is
/// `key#2`, for the second value in a list of Envoy.
pub(super) fn per(steps: &[&Step]) -> Result<Per, String> {
    if steps.len() > FIELDS {
        return Err(format!("within more than {FIELDS} descriptors that count separately"));
    }
    let field = |(i, step): (usize, &&Step)| {
        let before = steps.iter().take(i).filter(|outer| outer.key == step.key).count();
        let number = if before == 0 { String::new() } else { format!("#{}", before + 1) };
        let name = format!("{}{number}", step.key);
        if step.secret { format!("hash({name})") } else { name }
    };
    // The names were read as fields before.
    Per::new(steps.iter().enumerate().map(field)).map_err(|error| error.problem().to_owned())
}

/// As in `messaging:message_type=marketing,to_number`. The first colon ends the domain, so that rules of two domains
/// never share a name, and so a state on Redis.
pub(super) fn name(domain: &str, path: &[Step]) -> String {
    let domain = escaped(domain).to_string().replace(':', "%3A");
    path.iter()
        .enumerate()
        .fold(domain, |name, (i, step)| format!("{name}{}{step}", if i == 0 { ":" } else { "," }))
}

/// The names of rules that replace each other in a cycle: those left after repeatedly removing names that replace none
/// of the rest, or are replaced by none.
fn cycles(rules: &[Rule]) -> HashSet<&str> {
    /// The edges of a name: which names it replaces, and which replace it.
    type Both<'a> = [Vec<&'a str>; 2];
    let mut edges: HashMap<&str, Both<'_>> = HashMap::new();
    for rule in rules {
        let Some(label) = rule.label() else { continue };
        for name in rule.replaces() {
            edges.entry(label).or_default()[0].push(name);
            edges.entry(name).or_default()[1].push(label);
        }
    }
    let mut left: HashMap<&str, [usize; 2]> =
        edges.iter().map(|(name, both)| (*name, both.each_ref().map(Vec::len))).collect();
    let mut ends: Vec<&str> =
        left.iter().filter(|(_, counts)| counts.contains(&0)).map(|(name, _)| *name).collect();
    while let Some(name) = ends.pop() {
        let (Some(both), Some(_)) = (edges.get(name), left.remove(name)) else { continue };
        for (way, others) in both.iter().enumerate() {
            for other in others {
                let Some(counts) = left.get_mut(other) else { continue };
                counts[1 - way] -= 1;
                if counts[1 - way] == 0 {
                    ends.push(other);
                }
            }
        }
    }
    left.into_keys().collect()
}

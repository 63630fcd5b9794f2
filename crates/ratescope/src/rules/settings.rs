//! The settings of limits, in a descriptor or at the top of a file.

use super::error::{At, Mistake};
use super::reader::{Map, MapKeys, TreeReader, meant};
use super::throttle::Throttle;
use super::yaml::{Kind, Node};
use crate::limit::MAX_COST;
use crate::limit::any::AnyLimiter;
use crate::limit::fixed_window::FixedWindow;
use crate::policy::{Defaults, LIMITS, Limit, Per, Policy};
use crate::rate::Rate;
use crate::share::Share;
use crate::text::{ParseError, number};
use crate::time::Span;

/// How an event is decided when the store can't be asked. A store in memory can always be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// The event passes, and the rule counts nothing.
    Allow,
    /// The event is refused, and the rule counts nothing.
    Refuse,
    /// This process decides by itself, from the states in the latest answers of Redis; its events are not counted on
    /// Redis. The crate `ratescope-redis` says how much more may pass.
    #[default]
    Local,
}

impl OnStoreFailure {
    const ALL: [(&str, OnStoreFailure); 3] = [
        ("allow", OnStoreFailure::Allow),
        ("refuse", OnStoreFailure::Refuse),
        ("local", OnStoreFailure::Local),
    ];
}

/// Reads the words that `Display` writes.
impl core::str::FromStr for OnStoreFailure {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        let wrong = || ParseError::whole(text, "write allow, refuse or local");
        found.map(|(_, each)| *each).ok_or_else(wrong)
    }
}

/// As in a file: `allow`, `refuse` or `local`.
impl core::fmt::Display for OnStoreFailure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = Self::ALL.iter().find(|(_, each)| each == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// The limits of a rule, and how they are enforced. Without limits, its events are not limited.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RuleSettings {
    pub(super) limits: Vec<Limit>,
    /// The limits while the throttle relaxes them; empty for a hard rule.
    pub(super) relaxed: Vec<Limit>,
    pub(super) throttle: Throttle,
    pub(super) shadow: bool,
    pub(super) cost: Option<f64>,
    pub(super) on_store_failure: OnStoreFailure,
    pub(super) share: Option<Share>,
    pub(super) label: Option<String>,
    pub(super) replaces: Vec<String>,
}

/// The setting of a rule that a mistake is about.
#[derive(Clone, Copy)]
pub(super) enum About {
    Name,
    Limits,
    /// The limit at this index.
    Limit(usize),
    Throttle,
    Cost,
    Share,
}

impl RuleSettings {
    /// The keys of [`ENFORCEMENT`] whose values are not the defaults.
    pub(super) fn enforcement(&self) -> impl Iterator<Item = &'static str> {
        let default = RuleSettings::default();
        let keys = [
            (self.throttle != default.throttle, "throttle"),
            (self.shadow, "shadow"),
            (self.cost.is_some(), "cost"),
            (self.on_store_failure != default.on_store_failure, "on_store_failure"),
            (self.share.is_some(), "share"),
        ];
        keys.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key)
    }

    /// Relaxes the limits, and finds what is wrong with settings that were each read.
    pub(super) fn finish(&mut self) -> Vec<(About, String)> {
        let mut wrong = Vec::new();
        if self.label.as_deref() == Some("") || self.replaces.iter().any(String::is_empty) {
            wrong.push((About::Name, "a name is empty".to_owned()));
        }
        if self.limits.len() > LIMITS {
            let problem = format!("more than {LIMITS} limits; spread them over descriptors");
            wrong.push((About::Limits, problem));
            self.limits.truncate(LIMITS);
        }
        for (i, limit) in self.limits.iter().enumerate() {
            if self.limits.iter().take(i).any(|known| known.counts_as(limit)) {
                wrong.push((About::Limit(i), "a limit that is there already".to_owned()));
            }
            if let Some(problem) = limit.too_small(self.cost.map_or(1.0, |_| 0.0)) {
                wrong.push((About::Limit(i), problem));
            }
        }
        if let Err(problem) = self.throttle.check() {
            wrong.push((About::Throttle, problem.to_owned()));
        } else if let Some(percent) = self.throttle.percent() {
            for limit in &self.limits {
                match limit.limiter.relaxed(percent) {
                    Ok(limiter) => self.relaxed.push(Limit { limiter, ..limit.clone() }),
                    Err(error) => {
                        wrong.push((About::Throttle, format!("{}: {error}", limit.limiter)));
                    }
                }
            }
        }
        let problem = self.share.and_then(|share| self.share_problem(share));
        wrong.extend(problem.map(|problem| (About::Share, problem)));
        if let Some(cost) = self.cost {
            wrong.extend(self.wrong_cost(cost).map(|problem| (About::Cost, problem)));
        }
        wrong
    }

    /// Shares the limits in this way, if they don't say how, and can be.
    pub(super) fn share_by_default(&mut self, share: Share) {
        if !self.limits.is_empty() && self.share_problem(share).is_none() {
            self.share.get_or_insert(share);
        }
    }

    /// Why the limits can't be shared in this way, if they can't.
    pub(super) fn share_problem(&self, share: Share) -> Option<String> {
        if share == Share::Exact {
            return None;
        }
        if self.shadow || self.throttle != Throttle::Hard {
            let how = if share.sync().is_some() { "synced" } else { "leased" };
            return Some(format!(
                "only limits that refuse can be {how}, neither a shadow nor a soft or elastic throttle"
            ));
        }
        self.limits.iter().find_map(|limit| share.problem(&limit.limiter))
    }

    fn wrong_cost(&self, cost: f64) -> Option<String> {
        if !(cost > 0.0 && cost <= MAX_COST) {
            return Some(COST.to_owned());
        }
        let wrong = self.limits.iter().find_map(|limit| Some((limit, limit.remedy(cost)?)));
        wrong.map(|(limit, remedy)| format!("more than {} ever admits; {remedy}", limit.limiter))
    }
}

const COST: &str =
    "not a cost; write a number above 0 and up to 1e12, without exponent, as in cost: 5";

/// The problem of a key that says how limits are enforced where there is none.
pub(super) const UNLIMITED: &str = "it is about a limit, and this is unlimited";

/// The keys that say how limits are enforced. They make no sense in a rule without a limit.
pub(super) const ENFORCEMENT: &[&str] =
    &["throttle", "shadow", "shadow_mode", "cost", "on_store_failure", "share"];

/// The keys that name a rule and those that it replaces. They also make sense in an unlimited rule.
pub(super) const NAMES: &[&str] = &["name", "replaces"];

const RATE_LIMIT: MapKeys =
    MapKeys { what: "a rate_limit", keys: &[&["unit", "requests_per_unit", "unlimited"], NAMES] };

const REPLACES: MapKeys = MapKeys { what: "what is replaced", keys: &[&["name"]] };

/// The units of envoyproxy/ratelimit, with their lengths there (`UnitToDivider`).
const UNITS: [(&str, Span); 7] = [
    ("second", Span::from_secs(1)),
    ("minute", Span::from_mins(1)),
    ("hour", Span::from_hours(1)),
    ("day", Span::from_hours(24)),
    ("week", Span::from_hours(24 * 7)),
    ("month", Span::from_hours(24 * 30)),
    ("year", Span::from_hours(24 * 365)),
];

/// The settings of a rule in a file.
#[derive(Default)]
pub(super) struct Read<'a> {
    pub(super) settings: RuleSettings,
    limits: Vec<&'a Node>,
    /// Where each of the names is that it replaces.
    pub(super) replaces: Vec<At>,
}

/// Reads the settings of a map, if it has any. A limit without `per` has the key `per`.
pub(super) fn read<'a>(reader: &mut TreeReader, map: &Map<'a>, per: &Per) -> Option<Read<'a>> {
    let mut read = Read::default();
    let mistakes = reader.mistakes.len();
    let said = |name| map.pair(name).filter(|(_, value)| !value.is_empty());
    let (lyft, ours) = (said("rate_limit"), map.pair("limit"));
    match (lyft, ours) {
        (None, None) => {
            // A generated file may have an empty limit and still say how it is enforced.
            if map.pair("rate_limit").is_some() {
                return None;
            }
            for (key, _) in ENFORCEMENT.iter().chain(NAMES).filter_map(|name| said(name)) {
                reader.wrong(key, "it is about a limit of this very descriptor, which has none");
            }
            return None;
        }
        (Some(_), Some((key, _))) => {
            reader.wrong(
                key,
                "there is a rate_limit beside it; write all of them as a list under limit",
            );
        }
        (Some((_, node)), None) => rate_limit(reader, map, node, per, &mut read),
        (None, Some((_, node))) => {
            // A rule with a cost of its own is checked below.
            let cost = if map.get("cost").is_some() { 0.0 } else { 1.0 };
            let defaults = Defaults { rate: None, per: per.clone(), fields: None, cost };
            limits(reader, node, &defaults, &mut read);
        }
    }
    names(reader, map, &mut read);
    // If a mistake is the reason that there are no limits, the rest is still read.
    if read.limits.is_empty() && reader.mistakes.len() == mistakes {
        for (key, _) in ENFORCEMENT.iter().filter_map(|name| map.pair(name)) {
            reader.wrong(key, UNLIMITED);
        }
        return Some(read);
    }
    let settings = &mut read.settings;
    settings.shadow = shadow(reader, map);
    if let Some(node) = map.get("on_store_failure") {
        let read = reader.one_of(node, "what to do when the store fails", &OnStoreFailure::ALL);
        settings.on_store_failure = read.unwrap_or_default();
    }
    let share = map.get("share");
    settings.share = share.and_then(|node| reader.parse(node, "how it is shared"));
    let throttle = map.get("throttle");
    settings.throttle =
        throttle.and_then(|node| reader.parse(node, "a throttle")).unwrap_or_default();
    let cost = map.get("cost");
    settings.cost = cost.and_then(|node| {
        let cost = number(reader.text(node, "a cost")?);
        if cost.is_none() {
            reader.wrong(node, COST);
        }
        cost
    });
    for (about, problem) in settings.finish() {
        let node = match about {
            About::Limit(i) => read.limits.get(i).copied(),
            About::Throttle => throttle,
            About::Cost => cost,
            About::Share => share,
            About::Limits | About::Name => map.get("limit"),
        };
        if let Some(node) = node {
            reader.wrong(node, problem);
        }
    }
    Some(read)
}

/// Reads a limit of envoyproxy/ratelimit: a count in each window of the clock.
fn rate_limit<'a>(
    reader: &mut TreeReader,
    outer: &Map<'a>,
    node: &'a Node,
    per: &Per,
    read: &mut Read<'a>,
) {
    let Some(map) = reader.map(node, &RATE_LIMIT) else { return };
    for both in NAMES {
        let outside = outer.pair(both).filter(|(_, value)| !value.is_empty());
        if let (Some(_), Some((key, _))) = (map.given(both), outside) {
            reader.wrong(key, "it stands in the rate_limit, too; leave one of the two out");
        }
    }
    names(reader, &map, read);
    let unlimited = match map.given("unlimited") {
        Some(node) => match reader.flag(node) {
            Some(unlimited) => unlimited,
            None => return,
        },
        None => false,
    };
    let (unit, count) = (map.pair("unit"), map.pair("requests_per_unit"));
    if unlimited {
        for (key, _) in [unit, count].into_iter().flatten() {
            reader.wrong(key, "`unlimited` conflicts with it; leave one of the two out");
        }
        return;
    }
    let unit = match unit {
        Some((_, node)) => {
            let text = reader.text(node, "a unit").map(str::to_lowercase);
            text.and_then(|text| known_unit(reader, node, &text))
        }
        None => {
            reader.missing(&map, "the unit is missing; write it as in unit: day");
            None
        }
    };
    let count = match count {
        Some((_, node)) => reader.text(node, "requests_per_unit").and_then(|text| {
            let whole = text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
            if whole.is_none() {
                reader.wrong(node, "not a whole number from 0 to 4294967295");
            }
            whole
        }),
        None => {
            reader
                .missing(&map, "requests_per_unit is missing; write it as in requests_per_unit: 5");
            None
        }
    };
    let (Some(unit), Some(count)) = (unit, count) else { return };
    let window = Rate::new(f64::from(count), unit).and_then(FixedWindow::new);
    match window {
        Ok(window) => {
            let limiter = AnyLimiter::FixedWindow(window);
            read.add(node, Limit { limiter, per: per.clone(), name: None });
        }
        Err(error) => reader.wrong(node, error.to_string()),
    }
}

fn known_unit(reader: &mut TreeReader, node: &Node, text: &str) -> Option<Span> {
    let known = UNITS.iter().find(|(name, _)| *name == text).map(|(_, span)| *span);
    if known.is_none() {
        reader.wrong(node, format!("not a unit; {}", meant(text, &UNITS.map(|(name, _)| name))));
    }
    known
}

/// Reads one or several limits in the text form of a policy, or `unlimited`.
fn limits<'a>(reader: &mut TreeReader, node: &'a Node, defaults: &Defaults, read: &mut Read<'a>) {
    if node.word() == "unlimited" {
        return;
    }
    let items = match &node.kind {
        Kind::List(_) => reader.list(node, "limit").unwrap_or_default(),
        _ => core::slice::from_ref(node),
    };
    for item in items {
        // YAML reads a list of numbers, such as [[1, 10], [3600, 240, 60]], as a list of its own.
        let numbers = (!item.items().is_empty()).then(|| {
            let words: Vec<&str> = item.items().iter().map(Node::word).collect();
            format!("[[{}]]", words.join(", "))
        });
        let text = match &numbers {
            Some(numbers) => numbers.as_str(),
            None => match reader.text(item, "a limit") {
                Some(text) => text,
                None => continue,
            },
        };
        match Policy::read_with_remarks(text, defaults) {
            Ok((policy, remarks)) => {
                policy.limits().iter().for_each(|limit| read.add(item, limit.clone()));
                for remark in remarks {
                    let at =
                        if numbers.is_some() { item.at } else { item.at_byte(remark.at().start) };
                    let word = text.get(remark.at()).unwrap_or_default();
                    reader.remarks.push(Mistake::new(at, word, remark.problem()));
                }
            }
            Err(error) if numbers.is_some() => reader.wrong(item, error.to_string()),
            Err(error) => reader.wrong_within(item, &error),
        }
    }
}

/// Reads the name of a rule, and the names of the rules that it replaces.
fn names(reader: &mut TreeReader, map: &Map<'_>, read: &mut Read<'_>) {
    if let Some(node) = map.given("name") {
        read.settings.label = reader.text(node, "a name").map(str::to_owned);
    }
    let Some(node) = map.given("replaces") else { return };
    for item in reader.list(node, "replaces").unwrap_or_default() {
        let name = match &item.kind {
            Kind::Map(_) => {
                let Some(map) = reader.map(item, &REPLACES) else { continue };
                let Some(node) = map.get("name") else {
                    reader.missing(&map, "the name of what is replaced is missing");
                    continue;
                };
                node
            }
            _ => item,
        };
        if let Some(text) = reader.text(name, "a name") {
            read.settings.replaces.push(text.to_owned());
            read.replaces.push(name.at);
        }
    }
}

fn shadow(reader: &mut TreeReader, map: &Map<'_>) -> bool {
    let (ours, lyft) = (map.pair("shadow"), map.pair("shadow_mode"));
    if let (Some(_), Some((key, _))) = (ours, lyft) {
        reader.wrong(key, "it means the same as shadow, which stands here, too; leave it out");
    }
    ours.or(lyft).filter(|(_, on)| !on.is_empty()).and_then(|(_, node)| reader.flag(node))
        == Some(true)
}

impl<'a> Read<'a> {
    fn add(&mut self, node: &'a Node, limit: Limit) {
        self.limits.push(node);
        self.settings.limits.push(limit);
    }
}

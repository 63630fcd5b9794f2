//! Rules, prepared for Redis: the limits of each rule by the keys that they share.

use super::Few;
use super::algorithm::{self, LuaAlgorithm};
use super::call::Call;
use super::options::{Options, TimeSource};
use super::question::{Does, EventKey, GroupAt, Question};
use super::script::Script;
use core::hash::Hasher;
use ratescope::event::Event;
use ratescope::internal::Ask;
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::in_f64::InF64;
use ratescope::limit::kept::VERSION;
use ratescope::limit::per_key::PerKey;
use ratescope::policy::Per;
use ratescope::rules::{Fault, Intent, Load, Part, Rule, Rules, StoredKey};
use ratescope::share::Share;
use ratescope::time::{Span, Time};
use siphasher::sip::SipHasher13;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Rules, prepared for Redis.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rules: Arc<Rules>,
    /// The beginning of each key, up to its subject.
    pub(super) begin: String,
    /// The limits of each rule, in groups for the same fields, which share a key.
    groups: Vec<Vec<Group>>,
    /// How the limits of each rule are shared.
    shares: Vec<Share>,
    /// The shortest lease or interval of syncs of any rule; `None` if all rules are exact.
    pub(super) shortest: Option<Span>,
}

/// The limits of a rule for the same fields. A limit with states in rings has a group of its own.
#[derive(Debug)]
struct Group {
    per: Per,
    /// The end of the key, after the subject: a name for these limits.
    tag: String,
    items: Vec<Item>,
    is_ring: bool,
}

/// A limit of the plan.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Its index in the plan.
    pub(super) at: usize,
    /// The index among the questions about the rule.
    pub(super) place: usize,
    pub(super) algorithm: &'static LuaAlgorithm,
    pub(super) in_f64: InF64,
    pub(super) limiter: PerKey<AnyLimiter>,
    /// The bound of its level, unless it depends on the state.
    pub(super) bound: f64,
}

impl Plan {
    /// Prepares `rules`, all of which Redis must be able to [compute](Rules::exact_in_f64).
    pub(super) fn new(rules: Arc<Rules>, options: &Options) -> Self {
        let open = if options.one_node { "" } else { "{" };
        let begin = begin(options) + open;
        let each = rules.rules().iter().enumerate();
        let groups = each.map(|(r, rule)| groups(&rules, r, rule)).collect();
        let share = |rule: &Rule| match options.clock {
            TimeSource::Event { .. } => Share::Exact,
            _ => rule.share().unwrap_or_default(),
        };
        let shares: Vec<Share> = rules.rules().iter().map(share).collect();
        let lengths = shares.iter().filter_map(|share| share.lease().or(share.sync()));
        let shortest = lengths.min();
        Plan { groups, begin, rules, shares, shortest }
    }

    /// How the limits at a key are shared.
    pub(super) fn share(&self, key: &EventKey) -> Share {
        self.shares.get(key.group.rule).copied().unwrap_or_default()
    }

    /// The limits of a group.
    pub(super) fn items(&self, at: GroupAt) -> &[Item] {
        let groups = self.groups.get(at.rule).and_then(|groups| groups.get(at.group));
        groups.map_or(&[], |group| &group.items)
    }

    /// The limits at each key of an event that has all limits.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[Item]> {
        self.groups.iter().flatten().map(|group| group.items.as_slice())
    }

    /// The rules by the tags at the ends of their keys.
    pub(super) fn by_tag(&self) -> HashMap<&str, &Rule> {
        let mut by_tag = HashMap::new();
        for (rule, groups) in self.rules.rules().iter().zip(&self.groups) {
            by_tag.extend(groups.iter().map(|group| (group.tag.as_str(), rule)));
        }
        by_tag
    }

    pub(super) fn item(&self, ask: &Ask) -> Option<&Item> {
        let items = self.groups.get(ask.rule)?.iter().flat_map(|group| &group.items);
        items.into_iter().find(|item| item.at == ask.at)
    }

    /// The question about an event.
    ///
    /// # Errors
    /// When Redis can't compute the event's numbers.
    pub(super) fn question(
        self: &Arc<Self>,
        part: &Part<'_>,
        load: Option<Load>,
    ) -> Result<Question, Fault> {
        let numbers = part.numbers.map(|numbers| numbers.in_force(&self.rules));
        let mut fault = None;
        let (asks, does) = match part.intent {
            Intent::Count => (self.rules.ask(part.event, load), Does::Count),
            Intent::Look => (self.rules.ask(part.event, load), Does::Look),
            Intent::Settle { now, passed } => {
                let asks = self.rules.ask_to_settle(part.event, now, load, passed);
                let asks = asks.unwrap_or_else(|error| {
                    fault = Some(Fault::from(error));
                    Few::new()
                });
                self.settled(asks, part.event)
            }
        };
        let mut own = Few::new();
        for ask in &asks {
            let limiter = numbers.as_ref().and_then(|numbers| numbers.limiter(ask.at));
            if let (Some(limiter), Some(item)) = (limiter, self.item(ask)) {
                let cannot = || Fault::failed(format!("Redis can't compute {}", limiter.decides()));
                own.push(Item::new(ask.at, item.place, limiter.clone()).ok_or_else(cannot)?);
            }
        }
        let mut keys = Few::new();
        let mut begin = 0;
        for asked in asks.chunk_by(|one, next| one.rule == next.rule) {
            let rule = asked.first().map_or(0, |ask| ask.rule);
            for (i, group) in self.groups.get(rule).into_iter().flatten().enumerate() {
                let key = self.key(group, part.event);
                keys.push(EventKey {
                    key,
                    group: GroupAt { rule, group: i },
                    begin,
                    counted: None,
                });
            }
            begin += asked.len();
        }
        Ok(Question { plan: Arc::clone(self), asks, does, keys, numbers, fault, own })
    }

    /// The limits in which an event is settled. A charge counts as an event of its size that nothing refuses; if any
    /// limit can't give back, none does.
    fn settled(&self, mut asks: Few<Ask>, event: &Event<'_>) -> (Few<Ask>, Does) {
        let is_back = event.cost < 0.0;
        for ask in &mut asks {
            ask.cost = ask.cost.abs();
        }
        if is_back && !self.rules.can_undo_all(&asks) {
            asks.clear();
        }
        (asks, if is_back { Does::GiveBack(event.time) } else { Does::Charge })
    }

    /// A call for each key of the chosen limits that an event with these fields has. The keys of a rule for the same fields
    /// are removed together, and count as one.
    pub(super) fn resets(&self, event: &Event<'_>, of: impl Fn(&Rule, &Per) -> bool) -> Vec<Call> {
        let script = Arc::new(Script::reset());
        let mut calls = Vec::new();
        for (rule, groups) in self.rules.rules().iter().zip(&self.groups) {
            let pers: BTreeSet<String> = groups.iter().map(|group| group.per.to_string()).collect();
            for per in pers {
                let own = groups.iter().filter(|group| group.per.to_string() == per);
                let own = own.filter(|group| of(rule, &group.per));
                let keys: Few<_> = own.map(|group| self.key(group, event)).collect();
                if !keys.is_empty() {
                    calls.push(Call {
                        script: Arc::clone(&script),
                        keys,
                        args: Few::new(),
                        groups: Few::new(),
                        asked: 0,
                        places: Few::new(),
                        tells: false,
                    });
                }
            }
        }
        calls
    }

    /// A key such as `rs:{user=ann}AbCd01`, or `{rs:}user=ann}AbCd01` if all are on one node.
    fn key(&self, group: &Group, event: &Event<'_>) -> Vec<u8> {
        let subject = StoredKey::subject_of(&group.per, event);
        [&self.begin, &subject, "}", &group.tag].concat().into_bytes()
    }
}

impl Item {
    fn new(at: usize, place: usize, limiter: PerKey<AnyLimiter>) -> Option<Self> {
        let decides = limiter.decides();
        let in_f64 = decides.in_f64().ok()?;
        let algorithm = algorithm::of(in_f64.lua)?;
        let bound = decides.peek(&decides.initial(), Time::ZERO, 0.0).limit;
        Some(Item { at, place, algorithm, in_f64, limiter, bound })
    }
}

/// The limits of a rule in groups for the same fields.
fn groups(rules: &Rules, r: usize, rule: &Rule) -> Vec<Group> {
    let mut groups = Vec::<Group>::new();
    for (place, at) in rules.plan_of(r).enumerate() {
        let Some(planned) = rules.plan().get(at) else { continue };
        let Some(item) = Item::new(at, place, PerKey::new(planned.limit.limiter.clone())) else {
            continue;
        };
        let per = &planned.limit.per;
        let is_ring = item.algorithm.is_ring();
        let shares = |group: &&mut Group| group.per == *per && !group.is_ring && !is_ring;
        match groups.iter_mut().find(shares) {
            Some(group) => group.items.push(item),
            None => groups.push(Group {
                per: per.clone(),
                tag: String::new(),
                items: vec![item],
                is_ring,
            }),
        }
    }
    let mut tags = Vec::<String>::new();
    for group in &mut groups {
        // Two logs may have the same shape.
        let tag = (0..).map(|n| tag(rules, rule, group, n)).find(|tag| !tags.contains(tag));
        group.tag = tag.unwrap_or_default();
        tags.push(group.tag.clone());
    }
    groups
}

/// A name for the limits of a group, made from the rule's name and the shapes of the limits. So states are shared only
/// by limits of one rule and one shape.
fn tag(rules: &Rules, rule: &Rule, group: &Group, n: usize) -> String {
    let mut text = format!("{VERSION} {} {}", rule.name(), group.per);
    if group.is_ring {
        text += &format!(" ring {n}");
    }
    for item in &group.items {
        let relaxed = rules.plan().get(item.at).is_some_and(|planned| planned.is_relaxed);
        let relaxed = if relaxed { "*" } else { "" };
        text += &format!(" {}{relaxed}", item.limiter.decides().shape());
    }
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    base64(hasher.finish())
}

/// The first 36 bits as six characters.
fn base64(hash: u64) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |i: u32| char::from(DIGITS[(hash >> (58 - 6 * i)) as usize & 63]);
    (0..6).map(digit).collect()
}

/// The beginning of all keys. The text between the first braces of a key chooses the node.
pub(super) fn begin(options: &Options) -> String {
    let prefix = &options.prefix;
    if options.one_node { format!("{{{prefix}}}") } else { prefix.clone() }
}

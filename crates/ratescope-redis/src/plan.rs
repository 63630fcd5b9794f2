//! Turns what is asked about events into calls: a script, its keys and its numbers.

use super::algorithm;
use super::options::{Options, TimeSource};
use super::script::{A_FEW, NEXT, Purpose, Script};
use core::hash::Hasher;
use ratescope::event::Event;
use ratescope::internal::{Ask, Few, subject};
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::in_f64::InF64;
use ratescope::limit::kept::VERSION;
use ratescope::policy::Per;
use ratescope::rules::{Intent, Rule, Rules};
use ratescope::time::Time;
use siphasher::sip::SipHasher13;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Rules, prepared for Redis.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rules: Arc<Rules>,
    /// The limits of each rule, in groups that share a key because they are for the same fields.
    groups: Vec<Vec<Group>>,
}

/// The limits of a rule for the same fields. A limit whose states are in a ring is alone.
#[derive(Debug)]
struct Group {
    per: Per,
    /// The end of the key, after the subject: a name for exactly these limits.
    tag: String,
    items: Vec<Item>,
    is_ring: bool,
}

/// A limit as it is written, or stretched.
#[derive(Debug)]
pub(super) struct Item {
    limit: usize,
    is_stretched: bool,
    /// Its place among the questions about the rule.
    place: usize,
    /// The number of its algorithm.
    algorithm: u8,
    pub(super) in_f64: InF64,
    pub(super) limiter: AnyLimiter,
    /// The value that its level is compared with, unless that changes with the state.
    pub(super) bound: f64,
}

/// An operation on the limits of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Check,
    /// Decides about events that can't wait: if any would have to wait, none is counted.
    CheckAtOnce,
    Peek,
    Charge,
    /// The same as a check, where the event is refused elsewhere.
    Refuse,
}

/// What is asked about one event.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) plan: Arc<Plan>,
    pub(super) asks: Few<Ask>,
    pub(super) intent: Intent,
    /// The keys of the event, each with the place of its group, and where the questions about its rule begin.
    pub(super) keys: Few<(Vec<u8>, [usize; 2], usize)>,
}

/// One call of a script.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) script: Arc<Script>,
    pub(super) keys: Few<Vec<u8>>,
    pub(super) args: Few<Vec<u8>>,
    /// The limits at each key, as the number of the question and the places of its group.
    pub(super) groups: Few<(usize, [usize; 2])>,
    /// How many limits are asked, and not only given back to.
    pub(super) asked: usize,
    /// For each limit that is asked about in each question, its place among those of the script.
    pub(super) places: Few<Few<usize>>,
}

impl Plan {
    /// Prepares `rules`, all of which Redis must be able to [compute](Rules::exact_in_f64).
    pub(super) fn new(rules: Arc<Rules>) -> Self {
        Plan { groups: rules.rules().iter().map(groups).collect(), rules }
    }

    /// The limits of a group.
    pub(super) fn items(&self, [rule, group]: [usize; 2]) -> &[Item] {
        let groups = self.groups.get(rule).and_then(|groups| groups.get(group));
        groups.map_or(&[], |group| &group.items)
    }

    /// The rules by the tags with which their keys end.
    pub(super) fn by_tag(&self) -> HashMap<&str, &Rule> {
        let mut by_tag = HashMap::new();
        for (rule, groups) in self.rules.rules().iter().zip(&self.groups) {
            by_tag.extend(groups.iter().map(|group| (group.tag.as_str(), rule)));
        }
        by_tag
    }

    /// The limiter that a question is about.
    pub(super) fn limiter(&self, ask: &Ask) -> Option<&AnyLimiter> {
        self.item(ask).map(|item| &item.limiter)
    }

    pub(super) fn item(&self, ask: &Ask) -> Option<&Item> {
        let items = self.groups.get(ask.rule)?.iter().flat_map(|group| &group.items);
        let is_asked =
            |item: &&Item| item.limit == ask.limit && item.is_stretched == ask.is_stretched;
        items.into_iter().find(is_asked)
    }

    /// The question about an event in these limits.
    pub(super) fn question(
        self: &Arc<Self>,
        event: &Event<'_>,
        asks: Few<Ask>,
        intent: Intent,
        options: &Options,
    ) -> Question {
        let (mut keys, mut begin) = (Few::new(), 0);
        for asked in asks.chunk_by(|one, next| one.rule == next.rule) {
            let rule = asked.first().map_or(0, |ask| ask.rule);
            for (g, group) in self.groups.get(rule).into_iter().flatten().enumerate() {
                keys.push((key(options, &group.per, &group.tag, event), [rule, g], begin));
            }
            begin += asked.len();
        }
        Question { plan: Arc::clone(self), asks, intent, keys }
    }

    /// A call for each key of the chosen limits that an event with these fields has. The keys of a rule for the same fields
    /// are removed together, and count as one.
    pub(super) fn resets(
        &self,
        event: &Event<'_>,
        options: &Options,
        of: impl Fn(&Rule, &Per) -> bool,
    ) -> Vec<Call> {
        let script = Arc::new(Script::reset());
        let mut calls = Vec::new();
        for (rule, groups) in self.rules.rules().iter().zip(&self.groups) {
            let pers: BTreeSet<String> = groups.iter().map(|group| group.per.to_string()).collect();
            for per in pers {
                let own = groups.iter().filter(|group| group.per.to_string() == per);
                let own = own.filter(|group| of(rule, &group.per));
                let keys: Few<_> =
                    own.map(|group| key(options, &group.per, &group.tag, event)).collect();
                if !keys.is_empty() {
                    let script = Arc::clone(&script);
                    let (args, groups, places) = (Few::new(), Few::new(), Few::new());
                    calls.push(Call { script, keys, args, groups, asked: 0, places });
                }
            }
        }
        calls
    }
}

impl Question {
    /// The items of a group with what is asked about them.
    fn of_group(&self, group: [usize; 2], begin: usize) -> impl Iterator<Item = (usize, &Item)> {
        self.plan.items(group).iter().map(move |item| (begin + item.place, item))
    }

    fn is_asked(&self) -> bool {
        self.intent != Intent::GiveBack
    }
}

/// The call about all of these questions; `None` if nothing is asked. Limits that are counted in twice, at the same
/// key, are asked once, for the sum.
pub(super) fn call(
    questions: &mut [Question],
    op: Op,
    with_states: bool,
    clock: TimeSource,
    now: Time,
) -> Option<Call> {
    let (mut keys, mut groups) = (Few::<Vec<u8>>::new(), Few::<(usize, [usize; 2])>::new());
    let mut places: Few<Few<usize>> = questions
        .iter()
        .map(|question| question.asks.iter().map(|_| usize::MAX).collect())
        .collect();
    // The limits in the order of the script: their questions and places there.
    let mut limits: Few<(usize, usize, [usize; 2])> = Few::new();
    let mut repeated = false;
    for q in 0..questions.len() {
        if !questions[q].is_asked() {
            continue;
        }
        for k in 0..questions[q].keys.len() {
            let (key, group, begin) = questions[q].keys[k].clone();
            let before = if q == 0 { None } else { earlier(questions, q, &key, group) };
            let count = questions[q].plan.items(group).len();
            for i in 0..count {
                let place = begin + questions[q].plan.items(group)[i].place;
                match before {
                    None => {
                        *places.get_mut(q)?.get_mut(place)? = limits.len();
                        limits.push((q, place, group));
                    }
                    Some((first, begin)) => {
                        let own = questions[first].plan.items(group)[i].place + begin;
                        let more = questions[q].asks.get(place)?.cost;
                        questions[first].asks.get_mut(own)?.cost += more;
                        places[q][place] = *places.get(first)?.get(own)?;
                        repeated = true;
                    }
                }
            }
            if before.is_none() {
                keys.push(key);
                groups.push((q, group));
            }
        }
    }
    if repeated {
        for q in 0..questions.len() {
            for place in 0..questions[q].asks.len() {
                if let Some((first, own, _)) = limits.get(places[q][place]).copied() {
                    questions[q].asks[place].cost = questions[first].asks[own].cost;
                }
            }
        }
    }
    let asked = limits.len();
    let asked_keys = keys.len();
    for (q, question) in questions.iter().enumerate().filter(|(_, one)| !one.is_asked()) {
        for (key, group, begin) in &question.keys {
            for (place, _) in question.of_group(*group, *begin) {
                *places.get_mut(q)?.get_mut(place)? = limits.len();
                limits.push((q, place, *group));
            }
            keys.push(key.clone());
            groups.push((q, *group));
        }
    }
    if limits.is_empty() {
        return None;
    }
    let arguments = Arguments { questions, groups: &groups, asked_keys, limits: &limits };
    let is_given = clock != TimeSource::Redis;
    let (script, numbers) = arguments.few(op, is_given).or_else(|| arguments.any(op, is_given))?;
    let mode = match (op, with_states) {
        (Op::Check | Op::CheckAtOnce, false) => "check",
        (Op::Check | Op::CheckAtOnce, true) => "check+",
        (Op::Peek, false) => "peek",
        (Op::Peek, true) => "peek+",
        (Op::Charge, _) => "charge",
        (Op::Refuse, false) => "refuse",
        (Op::Refuse, true) => "refuse+",
    };
    let clock = clock_of(clock, now);
    // The usual operation is the default of the scripts, so it is not sent.
    let is_said = mode != "check" || clock.is_some();
    let mode = is_said.then(|| mode.as_bytes().to_vec());
    let args = [Some(numbers), mode, clock].into_iter().flatten().collect();
    Some(Call { script, keys, args, groups, asked, places })
}

/// An earlier question that counts at the same key, and where its questions about the rule begin.
fn earlier(
    questions: &[Question],
    q: usize,
    key: &[u8],
    group: [usize; 2],
) -> Option<(usize, usize)> {
    let own = questions.get(q)?;
    if own.intent == Intent::Look {
        return None;
    }
    let mut before = questions.iter().enumerate().take(q);
    before.find_map(|(first, other)| {
        if other.intent != own.intent || !Arc::ptr_eq(&other.plan, &own.plan) {
            return None;
        }
        let same = other.keys.iter().find(|(known, at, _)| *at == group && known == key);
        same.map(|(_, _, begin)| (first, *begin))
    })
}

/// What a script is told of the limits.
struct Arguments<'a> {
    questions: &'a [Question],
    groups: &'a [(usize, [usize; 2])],
    /// How many of the keys are asked, and not only given back to.
    asked_keys: usize,
    limits: &'a [(usize, usize, [usize; 2])],
}

impl Arguments<'_> {
    fn items(&self, (q, group): (usize, [usize; 2])) -> &[Item] {
        self.questions.get(q).map_or(&[], |question| question.plan.items(group))
    }

    /// The script for a few limits that are all in force, and what is told to it.
    fn few(&self, op: Op, is_given: bool) -> Option<(Arc<Script>, Vec<u8>)> {
        let [question] = self.questions else { return None };
        let at_once = op == Op::CheckAtOnce;
        let is_plain = |ask: &Ask| {
            let delays = || question.plan.limiter(ask).is_none_or(AnyLimiter::delays);
            ask.is_plain() && !(at_once && delays())
        };
        // A single shadow counts what it would count if it could refuse.
        let is_alone = self.limits.len() == 1 && !at_once;
        let is_few = question.intent == Intent::Count
            && self.limits.len() <= A_FEW
            && (is_alone || question.asks.iter().all(is_plain));
        if !is_few {
            return None;
        }
        let mut algorithms = Few::new();
        let mut numbers = Vec::new();
        let mut limits = self.limits.iter();
        for at in self.groups {
            if !algorithms.is_empty() {
                algorithms.push(NEXT);
            }
            for (item, (q, place, _)) in self.items(*at).iter().zip(limits.by_ref()) {
                algorithms.push(item.algorithm);
                item.write(self.questions.get(*q)?.asks.get(*place)?.cost, &mut numbers);
            }
        }
        let mut purpose = Purpose { is_given, gives_back: false, algorithms, is_few: true };
        Some((Script::for_purpose(&mut purpose)?, numbers))
    }

    /// The script for any limits, and what is told to it.
    fn any(&self, op: Op, is_given: bool) -> Option<(Arc<Script>, Vec<u8>)> {
        let items = || self.groups.iter().flat_map(|at| self.items(*at));
        let mut algorithms: Few<u8> = items().map(|item| item.algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let gives_back = self.asked_keys < self.groups.len();
        let mut purpose = Purpose { is_given, gives_back, algorithms, is_few: false };
        let script = Script::for_purpose(&mut purpose)?;
        let mut out = u16::try_from(self.asked_keys).ok()?.to_le_bytes().to_vec();
        let (mut limits, mut rules, mut rule) = (self.limits.iter(), 0u16, None);
        for at in self.groups {
            let items = self.items(*at);
            let is_ring = items.iter().any(Item::is_ring);
            out.push(if is_ring { 0 } else { u8::try_from(items.len()).ok()? });
            let own = (at.0, at.1[0]);
            if rule.replace(own) != Some(own) {
                rules = rules.checked_add(1)?;
            }
            for (item, (q, place, _)) in items.iter().zip(limits.by_ref()) {
                let question = self.questions.get(*q)?;
                let ask = question.asks.get(*place)?;
                let kind = purpose.algorithms.iter().position(|known| *known == item.algorithm)?;
                let kind = u8::try_from(kind + 1).ok()?;
                out.extend([kind, item.flags(ask, question.intent, op)]);
                out.extend(rules.to_le_bytes());
                out.extend(u16::try_from(*q).ok()?.to_le_bytes());
                item.write(ask.cost, &mut out);
            }
        }
        Some((script, out))
    }
}

impl Item {
    fn new(limit: usize, is_stretched: bool, place: usize, limiter: &AnyLimiter) -> Option<Self> {
        let in_f64 = limiter.in_f64()?;
        let algorithm = algorithm::number(in_f64.lua)?;
        let limiter = limiter.clone();
        let bound = limiter.peek(&limiter.initial(), Time::ZERO, 0.0).limit;
        Some(Item { limit, is_stretched, place, algorithm, in_f64, limiter, bound })
    }

    /// Whether its states are in rings.
    fn is_ring(&self) -> bool {
        algorithm::numbered(self.algorithm).is_some_and(|algorithm| algorithm.is_ring())
    }

    /// The settings of a question as the sum of bits that `any.lua` reads.
    fn flags(&self, ask: &Ask, intent: Intent, op: Op) -> u8 {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        // Whether an event that would have to wait for this limit is not counted.
        let refuses_waits = op == Op::CheckAtOnce && ask.is_firm() && self.limiter.delays();
        flag(ask.in_force, 1)
            | flag(ask.is_shadow, 2)
            | flag(ask.is_stretched, 4)
            | flag(refuses_waits, 8)
            | flag(intent == Intent::Look, 16)
    }

    /// Writes the cost and the numbers, as a script reads them.
    fn write(&self, cost: f64, out: &mut Vec<u8>) {
        out.extend(self.in_f64.weight(cost).to_le_bytes());
        let many = algorithm::numbered(self.algorithm).map_or(0, |own| own.numbers.len());
        let given = self.in_f64.numbers.iter().take(many);
        given.for_each(|number| out.extend(number.to_le_bytes()));
    }
}

/// The limits of a rule with their stretched forms, in groups for the same fields.
fn groups(rule: &Rule) -> Vec<Group> {
    let (mut groups, mut places) = (Vec::<Group>::new(), 0..);
    for (i, (limit, stretched)) in rule.limits_and_stretched().enumerate() {
        let all = [(Some(limit), false), (stretched, true)];
        let items = all.into_iter().filter_map(|(limit, is)| {
            let limiter = &limit?.limiter;
            Item::new(i, is, places.next()?, limiter)
        });
        for item in items {
            let (per, tag, is_ring) = (limit.per.clone(), String::new(), item.is_ring());
            let shares = |group: &&mut Group| group.per == per && !group.is_ring && !is_ring;
            match groups.iter_mut().find(shares) {
                Some(group) => group.items.push(item),
                None => groups.push(Group { per, tag, items: vec![item], is_ring }),
            }
        }
    }
    let mut tags = Vec::<String>::new();
    for group in &mut groups {
        // Two logs may have the same shape.
        let tag = (0..).map(|n| tag(rule, group, n)).find(|tag| !tags.contains(tag));
        group.tag = tag.unwrap_or_default();
        tags.push(group.tag.clone());
    }
    groups
}

/// A name for the limits of a group, made from the rule's name and the shapes of the limits. So other
/// rules, and limits of another shape, have states of their own.
fn tag(rule: &Rule, group: &Group, n: usize) -> String {
    let mut text = format!("{VERSION} {} {}", rule.name(), group.per);
    if group.is_ring {
        text += &format!(" ring {n}");
    }
    for item in &group.items {
        let stretched = if item.is_stretched { "*" } else { "" };
        text += &format!(" {}{stretched}", item.limiter.shape());
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

/// The beginning of each key, up to its subject.
pub(super) fn before_subject(options: &Options) -> String {
    let open = if options.one_node { "" } else { "{" };
    begin(options) + open
}

/// A key such as `rs:{user=ann}AbCd01`, or `{rs:}user=ann}AbCd01` if all are on one node.
fn key(options: &Options, per: &Per, tag: &str, event: &Event<'_>) -> Vec<u8> {
    [&before_subject(options), &subject(per, event), "}", tag].concat().into_bytes()
}

/// The time of the host in microseconds, its largest difference from the clock of Redis (below 0, any),
/// and the shortest time that a key is kept, in milliseconds; `None` if Redis takes its own time.
fn clock_of(clock: TimeSource, now: Time) -> Option<Vec<u8>> {
    let micros = now.as_micros() as f64;
    let numbers = match clock {
        TimeSource::Redis => return None,
        TimeSource::Host { most_skew } => [micros, most_skew.secs() * 1e6, 0.0],
        // Redis takes whole numbers only.
        TimeSource::Event { keep } => [micros, -1.0, libm::ceil(keep.secs() * 1e3).min(1e14)],
    };
    Some(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

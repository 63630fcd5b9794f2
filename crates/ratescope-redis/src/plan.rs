//! Turns an event into a call: a script, its keys and its numbers.

use super::algorithm::LuaAlgorithm;
use super::options::{Options, TimeSource};
use super::script::Script;
use core::hash::Hasher;
use ratescope::event::Event;
use ratescope::internal::Ask;
use ratescope::internal::Few;
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::in_f64::{InF64, Lua};
use ratescope::limit::kept::VERSION;
use ratescope::policy::Per;
use ratescope::rules::{Rule, Rules};
use ratescope::time::Time;
use sha1_smol::Sha1;
use siphasher::sip::SipHasher13;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rules, prepared for Redis.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rules: Arc<Rules>,
    /// The limits of each rule, in groups that share a key because they are for the same fields.
    groups: Vec<Vec<Group>>,
    /// The algorithms of the limits. In a script, and in its arguments, the first is number 1.
    algorithms: Vec<LuaAlgorithm>,
    /// Scripts for one limit or a few, by the numbers of their algorithms. Those for a few are made when they
    /// are first needed.
    several: Mutex<HashMap<Few<u8>, Arc<Script>>>,
    all: Arc<Script>,
    undo: Arc<Script>,
    is_given: bool,
}

/// The most limits that get a script of their own, and the most such scripts.
const A_FEW: usize = 4;
const SCRIPTS: usize = 64;

/// The limits of a rule for the same fields.
#[derive(Debug)]
struct Group {
    per: Per,
    /// The end of the key, after the subject: a name for exactly these limits.
    tag: String,
    items: Vec<Item>,
}

/// A limit as it is written, or stretched.
#[derive(Debug)]
pub(super) struct Item {
    limit: usize,
    is_stretched: bool,
    /// Its place among the questions about the rule.
    place: usize,
    pub(super) in_f64: InF64,
    pub(super) limiter: AnyLimiter,
    /// The value that its level is compared with, unless that changes with the state.
    pub(super) held_against: f64,
}

/// An operation on the limits of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Check,
    /// Decides about an event that can't wait: if it would have to wait, it is not counted.
    CheckAtOnce,
    Peek,
    Charge,
    GiveBack,
}

/// One call of a script.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) script: Arc<Script>,
    pub(super) keys: Few<Vec<u8>>,
    pub(super) args: Vec<Vec<u8>>,
    /// For each limit, in the order of the script: its index among the questions, and its place in the
    /// plan.
    pub(super) order: Few<(usize, [usize; 3])>,
    /// The number of limits at each key.
    pub(super) at_key: Few<usize>,
}

impl Plan {
    /// Prepares `rules`, all of which Redis must be able to [compute](Rules::exact_in_f64).
    pub(super) fn new(rules: Arc<Rules>, clock: TimeSource) -> Self {
        let groups: Vec<Vec<Group>> = rules.rules().iter().map(groups).collect();
        let items = || groups.iter().flatten().flat_map(|group| &group.items);
        let mut luas: Vec<Lua> = items().map(|item| item.in_f64.lua).collect();
        luas.sort_unstable_by_key(|lua| lua.name);
        luas.dedup();
        let is_given = clock != TimeSource::Redis;
        let algorithms: Vec<LuaAlgorithm> = luas.into_iter().map(LuaAlgorithm::new).collect();
        let one = |(n, own)| (Few::from_elem(n, 1), Arc::new(Script::several(&[own], is_given)));
        let several = Mutex::new((1..).zip(&algorithms).map(one).collect());
        let each: Vec<&LuaAlgorithm> = algorithms.iter().collect();
        let all = Arc::new(Script::all(&each, is_given));
        let undo = Arc::new(Script::undo(&each, is_given));
        Plan { rules, groups, algorithms, several, all, undo, is_given }
    }

    pub(super) fn item(&self, [rule, group, item]: [usize; 3]) -> Option<&Item> {
        self.groups.get(rule)?.get(group)?.items.get(item)
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
        let items = self.groups.get(ask.rule)?.iter().flat_map(|group| &group.items);
        let is_asked =
            |item: &&Item| item.limit == ask.limit && item.is_stretched == ask.is_stretched;
        items.into_iter().find(is_asked).map(|item| &item.limiter)
    }

    /// The call for the questions `asked` about an event; `None` if there are none.
    pub(super) fn call(
        &self,
        event: &Event<'_>,
        asked: &[Ask],
        deed: Deed,
        with_states: bool,
        options: &Options,
    ) -> Option<Call> {
        let (mut keys, mut order, mut at_key) = (Few::new(), Few::new(), Few::new());
        let (mut begin, mut may_wait) = (0, false);
        for questions in asked.chunk_by(|one, next| one.rule == next.rule) {
            let rule = questions.first()?.rule;
            for (g, group) in self.groups.get(rule)?.iter().enumerate() {
                for (i, item) in group.items.iter().enumerate() {
                    may_wait |= item.refuses_waits(questions.get(item.place)?, deed);
                    order.push((begin + item.place, [rule, g, i]));
                }
                keys.push(key(options, &group.per, &group.tag, event));
                at_key.push(group.items.len());
            }
            begin += questions.len();
        }
        if order.is_empty() {
            return None;
        }
        let mode = match (deed, with_states) {
            (Deed::Check | Deed::CheckAtOnce, false) => "check",
            (Deed::Check | Deed::CheckAtOnce, true) => "check+",
            (Deed::Peek, false) => "peek",
            (Deed::Peek, true) => "peek+",
            (Deed::Charge, _) => "charge",
            (Deed::GiveBack, _) => "undo",
        };
        let is_plain = order.len() == 1 || asked.iter().all(Ask::is_plain);
        let is_few = deed != Deed::GiveBack && !may_wait && at_key.len() == 1 && is_plain;
        let few = is_few.then(|| self.several(&order)).flatten();
        let numbers = self.numbers(asked, &order, deed, few.is_some())?;
        let script = few.unwrap_or_else(|| match deed {
            Deed::GiveBack => Arc::clone(&self.undo),
            _ => Arc::clone(&self.all),
        });
        let clock = clock(options.clock, event.time);
        // The usual operation is the default of the scripts, so it is not sent.
        let is_said = mode != "check" || clock.is_some();
        let mode = is_said.then(|| mode.as_bytes().to_vec());
        let args = [Some(numbers), mode, clock].into_iter().flatten().collect();
        Some(Call { script, keys, args, order, at_key })
    }

    /// A call for each key that an event with these fields has in some rules, to remove it.
    pub(super) fn resets(
        &self,
        event: &Event<'_>,
        options: &Options,
        of: impl Fn(&Rule, &Per) -> bool,
    ) -> Vec<Call> {
        let script = Arc::new(Script::reset());
        let call = |group: &Group| Call {
            script: Arc::clone(&script),
            keys: Few::from_elem(key(options, &group.per, &group.tag, event), 1),
            args: Vec::new(),
            order: Few::new(),
            at_key: Few::new(),
        };
        let rules = self.rules.rules().iter().zip(&self.groups);
        let groups = rules.flat_map(|(rule, groups)| {
            let of = &of;
            groups.iter().filter(move |group| of(rule, &group.per))
        });
        groups.map(call).collect()
    }

    /// The script for one limit or a few at one key; `None` if there are too many.
    fn several(&self, order: &[(usize, [usize; 3])]) -> Option<Arc<Script>> {
        if !(1..=A_FEW).contains(&order.len()) {
            return None;
        }
        let numbers: Option<Few<u8>> =
            order.iter().map(|(_, place)| self.number(self.item(*place)?)).collect();
        let numbers = numbers?;
        let mut known = self.several.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = known.get(&numbers) {
            return Some(Arc::clone(script));
        }
        if known.len() >= SCRIPTS {
            return None;
        }
        let algorithms: Option<Vec<_>> = numbers.iter().map(|n| self.algorithm(*n)).collect();
        let script = Arc::new(Script::several(&algorithms?, self.is_given));
        known.insert(numbers, Arc::clone(&script));
        Some(script)
    }

    /// The number of the algorithm of a limit.
    fn number(&self, item: &Item) -> Option<u8> {
        let at = self.algorithms.iter().position(|known| known.lua == item.in_f64.lua)?;
        u8::try_from(at + 1).ok()
    }

    fn algorithm(&self, number: u8) -> Option<&LuaAlgorithm> {
        self.algorithms.get(usize::from(number).checked_sub(1)?)
    }

    /// The costs and numbers of the limits in `order`. Scripts for any limits read more: for each key how many limits
    /// it has, and for each limit what is asked about it.
    fn numbers(
        &self,
        asked: &[Ask],
        order: &[(usize, [usize; 3])],
        deed: Deed,
        is_short: bool,
    ) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for &(place, at) in order {
            let (ask, item) = (&asked[place], self.item(at)?);
            let number = self.number(item)?;
            if !is_short {
                if let [rule, group, 0] = at {
                    out.push(self.groups.get(rule)?.get(group)?.items.len() as u8);
                }
                out.extend([number, item.flags(ask, deed)]);
                out.extend((ask.rule as u16).to_le_bytes());
            }
            out.extend(item.in_f64.weight(ask.cost).to_le_bytes());
            let given = item.in_f64.numbers.iter().take(self.algorithm(number)?.numbers.len());
            given.for_each(|number| out.extend(number.to_le_bytes()));
        }
        Some(out)
    }
}

impl Item {
    fn new(limit: usize, is_stretched: bool, place: usize, limiter: &AnyLimiter) -> Option<Self> {
        let in_f64 = limiter.in_f64()?;
        let limiter = limiter.clone();
        let held_against = limiter.peek(&limiter.initial(), Time::ZERO, 0.0).limit;
        Some(Item { limit, is_stretched, place, in_f64, limiter, held_against })
    }

    /// Whether an event that would have to wait for this limit is not counted.
    fn refuses_waits(&self, ask: &Ask, deed: Deed) -> bool {
        deed == Deed::CheckAtOnce && ask.is_firm() && self.limiter.delays()
    }

    /// The settings of a question as the sum of bits that `all.lua` reads.
    fn flags(&self, ask: &Ask, deed: Deed) -> u8 {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        flag(ask.in_force, 1)
            | flag(ask.is_shadow, 2)
            | flag(ask.is_stretched, 4)
            | flag(self.refuses_waits(ask, deed), 8)
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
        match groups.iter_mut().find(|group| group.per == limit.per) {
            Some(group) => group.items.extend(items),
            None => groups.push(Group {
                per: limit.per.clone(),
                tag: String::new(),
                items: items.collect(),
            }),
        }
    }
    groups.iter_mut().for_each(|group| group.tag = tag(rule, group));
    groups
}

/// A name for the limits of a group, made from the rule's name and the shapes of the limits. So other
/// rules, and limits of another shape, have states of their own.
fn tag(rule: &Rule, group: &Group) -> String {
    let mut text = format!("{VERSION} {} {}", rule.name(), group.per);
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

/// The longest subject, in bytes, that is written into a key as it is.
const LONGEST_SUBJECT: usize = 160;

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

/// A key such as `rs:{user=ann}AbCd01`, or `{rs:}user=ann}AbCd01` if all are on one node. A subject of
/// more than [`LONGEST_SUBJECT`] bytes is replaced by its SHA-1, so that nobody fills the memory with
/// long names. A client can make up two names with one SHA-1, but then shares a limit only with itself:
/// it can't find a name with the SHA-1 of another client's name.
fn key(options: &Options, per: &Per, tag: &str, event: &Event<'_>) -> Vec<u8> {
    let mut subject = per.key(event);
    if subject.is_empty() {
        subject.push_str("all");
    } else if subject.len() > LONGEST_SUBJECT {
        subject = format!("#{}", Sha1::from(&subject).digest());
    }
    [&before_subject(options), &subject, "}", tag].concat().into_bytes()
}

/// The time of the host in microseconds, its largest difference from the clock of Redis (below 0, any),
/// and the shortest time that a key is kept, in milliseconds; `None` if Redis takes its own time.
fn clock(clock: TimeSource, now: Time) -> Option<Vec<u8>> {
    let micros = now.as_micros() as f64;
    let numbers = match clock {
        TimeSource::Redis => return None,
        TimeSource::Host { most_skew } => [micros, most_skew.secs() * 1e6, 0.0],
        // Redis takes whole numbers only.
        TimeSource::Event { keep } => [micros, -1.0, libm::ceil(keep.secs() * 1e3).min(1e14)],
    };
    Some(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

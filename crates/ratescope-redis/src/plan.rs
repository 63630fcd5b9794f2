//! Turns questions about events into calls: a script, its keys and its arguments.

use super::Few;
use super::algorithm::{self, LuaAlgorithm};
use super::options::{Options, TimeSource};
use super::script::{A_FEW, Leases, Limits, Purpose, Script};
use core::hash::Hasher;
use ratescope::event::Event;
use ratescope::internal::{Ask, Mode, sum_of_costs};
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::in_f64::InF64;
use ratescope::limit::kept::VERSION;
use ratescope::limit::per_key::PerKey;
use ratescope::policy::Per;
use ratescope::rules::{Details, Fault, Intent, Load, Numbers, Part, Rule, Rules, StoredKey};
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

/// The part of a call about leases: more keys, and a last argument, which the script takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Leasing {
    pub(super) leases: Leases,
    pub(super) keys: Few<Vec<u8>>,
    pub(super) argument: Vec<u8>,
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
    at: usize,
    /// The index among the questions about the rule.
    pub(super) place: usize,
    pub(super) algorithm: &'static LuaAlgorithm,
    pub(super) in_f64: InF64,
    pub(super) limiter: PerKey<AnyLimiter>,
    /// The bound of its level, unless it depends on the state.
    pub(super) bound: f64,
}

/// An operation on the limits of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Check,
    Peek,
    /// A check of an event that another slot has refused.
    Refuse,
}

/// What happens to an event: its [`Intent`], without borrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Count,
    Look,
    /// Counts more, whatever the limits say.
    Charge,
    /// Gives back of what was counted at this time.
    GiveBack(Time),
}

/// A question about one event.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) plan: Arc<Plan>,
    pub(super) asks: Few<Ask>,
    pub(super) does: Does,
    pub(super) keys: Few<EventKey>,
    pub(super) numbers: Option<Numbers>,
    /// Why the event can't be settled; then it has no limits.
    pub(super) fault: Option<Fault>,
    /// The limits with numbers of the event's own, by their indices in the plan.
    own: Few<Item>,
}

/// The limits of a rule that share a key, by their indices in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupAt {
    rule: usize,
    group: usize,
}

/// A key of an event.
#[derive(Clone, Debug)]
pub(super) struct EventKey {
    pub(super) key: Vec<u8>,
    pub(super) group: GroupAt,
    /// The index of the first question about its rule.
    begin: usize,
    /// When Redis counted the event here, if not at the time to give back.
    pub(super) counted: Option<Time>,
}

impl EventKey {
    /// The key of its leases.
    pub(super) fn of_leases(&self) -> Vec<u8> {
        [&self.key, LEASES.as_bytes()].concat()
    }
}

/// What follows the key of states in the key of their leases.
pub(super) const LEASES: &str = "/L";

/// The limits at a key of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallGroup {
    pub(super) question: usize,
    pub(super) group: GroupAt,
    /// As of its [`EventKey`].
    counted: Option<Time>,
}

/// A limit that a script decides about, by its index in a question.
#[derive(Clone, Copy, Debug)]
struct CallLimit {
    question: usize,
    place: usize,
}

/// The place of a limit that is asked in another slot of the cluster, in place of its index among those of a call.
pub(super) const ELSEWHERE: usize = usize::MAX;

/// One call of a script.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) script: Arc<Script>,
    pub(super) keys: Few<Vec<u8>>,
    pub(super) args: Few<Vec<u8>>,
    /// The limits at each key.
    pub(super) groups: Few<CallGroup>,
    /// The number of limits to ask, before the limits that only take back a cost.
    pub(super) asked: usize,
    /// For each limit in each question, its index among the limits of the script.
    pub(super) places: Few<Few<usize>>,
    /// True if the answer has the states, too.
    pub(super) tells: bool,
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

    fn item(&self, ask: &Ask) -> Option<&Item> {
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

impl Call {
    /// Removes the leases of the keys, too, which are not counted among those removed.
    pub(super) fn remove_leases(&mut self) {
        self.script = Arc::new(Script::reset_with_leases());
        self.args.push(self.keys.len().to_string().into_bytes());
        let leases: Few<_> =
            self.keys.iter().map(|key| [key, LEASES.as_bytes()].concat()).collect();
        self.keys.extend(leases);
    }
}

impl Question {
    /// The question about some of its keys.
    pub(super) fn about(&self, keys: impl IntoIterator<Item = EventKey>) -> Self {
        Question { keys: keys.into_iter().collect(), ..self.clone() }
    }

    fn is_asked(&self) -> bool {
        !matches!(self.does, Does::GiveBack(_))
    }

    /// The limits at a key of the question, by their indices among its own.
    pub(super) fn places(&self, key: &EventKey) -> impl Iterator<Item = usize> {
        let begin = key.begin;
        self.plan.items(key.group).iter().map(move |item| begin + item.place)
    }

    /// The limit of a question, with the numbers of the event.
    pub(super) fn item(&self, ask: &Ask) -> Option<&Item> {
        self.own.iter().find(|item| item.at == ask.at).or_else(|| self.plan.item(ask))
    }
}

/// The call for all of these questions, some of which have keys; `None` if it is too large to be written. A limit that two
/// questions count at the same key is asked once, for the sum.
pub(super) fn call(
    questions: &mut [Question],
    op: Op,
    details: Details,
    clock: TimeSource,
    now: Time,
    leasing: Leasing,
) -> Option<Call> {
    let order = Order::of(questions)?;
    let leases = leasing.leases;
    let arguments = Arguments { questions, order: &order, leases };
    let is_given = clock != TimeSource::Redis;
    let longest = details.longest;
    let (script, numbers) =
        arguments.few(op, longest, is_given).or_else(|| arguments.any(longest, is_given))?;
    let charges = questions.iter().all(|question| question.does == Does::Charge);
    let mut operation = match op {
        Op::Check if charges => "charge",
        Op::Check => "check",
        Op::Peek => "peek",
        Op::Refuse => "refuse",
    }
    .to_owned();
    let tells = details.quotas || details.retry;
    if tells {
        operation.push('+');
    }
    let clock = clock_of(clock, now);
    // A check is the default of the scripts, so it is not sent.
    let is_said = operation != "check" || clock.is_some() || leases != Leases::None;
    let operation = is_said.then(|| operation.into_bytes());
    let argument = (leases != Leases::None).then_some(leasing.argument);
    let args = [Some(numbers), operation, clock, argument].into_iter().flatten().collect();
    let Order { mut keys, groups, asked, places, .. } = order;
    keys.extend(leasing.keys);
    Some(Call { script, keys, args, groups, asked, places, tells })
}

/// The keys and limits of all questions, in the order of the script: first those to ask, then those that only take back
/// a cost.
struct Order {
    keys: Few<Vec<u8>>,
    /// The limits at each key.
    groups: Few<CallGroup>,
    limits: Few<CallLimit>,
    /// The number of limits to ask.
    asked: usize,
    /// The number of keys to ask.
    asked_keys: usize,
    /// For each limit in each question, its index among the limits.
    places: Few<Few<usize>>,
}

impl Order {
    /// The order for these questions. Questions that count at the same key get the sum of the costs.
    fn of(questions: &mut [Question]) -> Option<Self> {
        let mut order = Order::new(questions);
        let mut repeated = false;
        for q in 0..questions.len() {
            if !questions[q].is_asked() {
                continue;
            }
            for k in 0..questions[q].keys.len() {
                let own = questions[q].keys[k].clone();
                let Some(first) = earlier(questions, q, &own.key) else {
                    order.add(q, &questions[q], own)?;
                    continue;
                };
                let EventKey { group, begin, .. } = own;
                let plan = Arc::clone(&questions[q].plan);
                let own = plan.items(group).iter().map(|item| begin + item.place);
                for (place, first_place) in own.zip(first.places) {
                    let more = questions[q].asks.get(place)?.cost;
                    let ask = questions[first.question].asks.get_mut(first_place)?;
                    ask.cost = sum_of_costs(ask.cost, more);
                    order.places[q][place] = *order.places.get(first.question)?.get(first_place)?;
                }
                repeated = true;
            }
        }
        if repeated {
            order.share_costs(questions);
        }
        order.asked = order.limits.len();
        order.asked_keys = order.keys.len();
        for (q, question) in questions.iter().enumerate().filter(|(_, one)| !one.is_asked()) {
            for key in &question.keys {
                order.add(q, question, key.clone())?;
            }
        }
        Some(order)
    }

    fn new(questions: &[Question]) -> Self {
        let unknown = |question: &Question| question.asks.iter().map(|_| ELSEWHERE).collect();
        Order {
            keys: Few::new(),
            groups: Few::new(),
            limits: Few::new(),
            asked: 0,
            asked_keys: 0,
            places: questions.iter().map(unknown).collect(),
        }
    }

    /// Adds a key of the question `q`, and the limits there.
    fn add(&mut self, q: usize, question: &Question, key: EventKey) -> Option<()> {
        let EventKey { key, group, begin, counted } = key;
        for item in question.plan.items(group) {
            let place = begin + item.place;
            *self.places.get_mut(q)?.get_mut(place)? = self.limits.len();
            self.limits.push(CallLimit { question: q, place });
        }
        self.keys.push(key);
        self.groups.push(CallGroup { question: q, group, counted });
        Some(())
    }

    /// Gives each question the cost of its limit's first question, which has the sum.
    fn share_costs(&self, questions: &mut [Question]) {
        for q in 0..questions.len() {
            for place in 0..questions[q].asks.len() {
                if let Some(limit) = self.limits.get(self.places[q][place]) {
                    questions[q].asks[place].cost =
                        questions[limit.question].asks[limit.place].cost;
                }
            }
        }
    }
}

/// An earlier question that counts at the same key, and the places of the limits there.
struct Earlier {
    question: usize,
    places: Few<usize>,
}

/// An earlier question than `q` that counts at this key. Its plan may be another one, since stores with other numbers
/// for a limit share its keys.
fn earlier(questions: &[Question], q: usize, key: &[u8]) -> Option<Earlier> {
    let does = questions.get(q)?.does;
    if does != Does::Count {
        return None;
    }
    let before = questions.iter().enumerate().take(q).filter(|(_, other)| other.does == does);
    for (question, other) in before {
        if let Some(same) = other.keys.iter().find(|known| known.key == key) {
            let items = other.plan.items(same.group).iter();
            return Some(Earlier {
                question,
                places: items.map(|item| same.begin + item.place).collect(),
            });
        }
    }
    None
}

/// The arguments of a script.
struct Arguments<'a> {
    questions: &'a [Question],
    order: &'a Order,
    leases: Leases,
}

impl Arguments<'_> {
    fn items(&self, at: CallGroup) -> &[Item] {
        self.questions.get(at.question).map_or(&[], |question| question.plan.items(at.group))
    }

    /// The script for a few limits that can all refuse, and its arguments.
    fn few(&self, op: Op, longest: Option<Span>, is_given: bool) -> Option<(Arc<Script>, Vec<u8>)> {
        let [question] = self.questions else { return None };
        let is_bounded = longest.is_some();
        let may_refuse = |ask: &Ask| {
            let delays = || question.item(ask).is_none_or(|item| item.limiter.decides().delays());
            let is_relaxed = self.is_relaxed(question, ask);
            ask.is_firm() && !is_relaxed && !(is_bounded && delays())
        };
        // A shadow that is alone counts as if it could refuse.
        let is_alone = self.order.limits.len() == 1 && !is_bounded;
        let is_one = match question.does {
            Does::Count | Does::Charge => true,
            Does::Look => op == Op::Peek,
            Does::GiveBack(_) => false,
        };
        let is_few = is_one
            && self.order.limits.len() <= A_FEW
            && (is_alone || question.asks.iter().all(may_refuse));
        if !is_few {
            return None;
        }
        let mut keys = Few::new();
        let mut numbers = Vec::new();
        let mut limits = self.order.limits.iter();
        for at in &self.order.groups {
            let items = self.items(*at);
            keys.push(items.iter().map(|item| item.algorithm).collect());
            for limit in limits.by_ref().take(items.len()) {
                let ask = question.asks.get(limit.place)?;
                question.item(ask)?.write(ask.cost, None, &mut numbers);
            }
        }
        let limits = Limits::Few(keys);
        let script = Script::for_purpose(&Purpose { is_given, leases: self.leases, limits })?;
        Some((script, numbers))
    }

    /// The script for any limits, and its arguments.
    fn any(&self, longest: Option<Span>, is_given: bool) -> Option<(Arc<Script>, Vec<u8>)> {
        let items = self.order.groups.iter().flat_map(|at| self.items(*at));
        let mut algorithms: Few<&'static LuaAlgorithm> = items.map(|item| item.algorithm).collect();
        algorithms.sort_unstable_by_key(|algorithm| algorithm.name);
        algorithms.dedup();
        let script = self.any_by(&algorithms, is_given).or_else(|| {
            algorithms = algorithm::all().iter().collect();
            self.any_by(&algorithms, is_given)
        })?;
        let mut out = u16::try_from(self.order.asked_keys).ok()?.to_le_bytes().to_vec();
        let most = longest.map_or(f64::INFINITY, |longest| longest.as_secs_f64() * 1e6);
        out.extend(most.to_le_bytes());
        let mut limits = self.order.limits.iter();
        let mut rules = 0u16;
        let mut rule = None;
        for at in &self.order.groups {
            let items = self.items(*at);
            let is_ring = items.iter().any(|item| item.algorithm.is_ring());
            out.push(if is_ring { 0 } else { u8::try_from(items.len()).ok()? });
            let own = (at.question, at.group.rule);
            if rule.replace(own) != Some(own) {
                rules = rules.checked_add(1)?;
            }
            for limit in limits.by_ref().take(items.len()) {
                let question = self.questions.get(limit.question)?;
                let ask = question.asks.get(limit.place)?;
                let item = question.item(ask)?;
                let kind = algorithms.iter().position(|known| *known == item.algorithm)?;
                let kind = u8::try_from(kind + 1).ok()?;
                out.extend([kind, item.flags(ask, question.does, longest)]);
                out.extend(rules.to_le_bytes());
                out.extend(u16::try_from(limit.question).ok()?.to_le_bytes());
                let when = match question.does {
                    Does::GiveBack(when) => Some(at.counted.unwrap_or(when)),
                    _ => None,
                };
                item.write(ask.cost, when, &mut out);
            }
        }
        Some((script, out))
    }

    /// True for a relaxed form, and for a limit that marks beside one.
    fn is_relaxed(&self, question: &Question, ask: &Ask) -> bool {
        let planned = question.plan.rules.plan().get(ask.at);
        planned.is_none_or(|planned| planned.is_relaxed) || ask.mode == Mode::Mark
    }

    /// The script for any limits by these algorithms, unless there are too many scripts.
    fn any_by(
        &self,
        algorithms: &Few<&'static LuaAlgorithm>,
        is_given: bool,
    ) -> Option<Arc<Script>> {
        let gives_back = self.order.asked_keys < self.order.groups.len();
        let limits = Limits::Any { algorithms: algorithms.clone(), gives_back };
        Script::for_purpose(&Purpose { is_given, leases: self.leases, limits })
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

    /// The settings of a question as the sum of bits that `any.lua` reads.
    fn flags(&self, ask: &Ask, does: Does, longest: Option<Span>) -> u8 {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        // An event that would have to wait for this limit for too long is refused.
        let refuses_waits = longest.is_some() && ask.is_firm() && self.limiter.decides().delays();
        flag(ask.in_force(), 1)
            | flag(ask.is_shadow, 2)
            | flag(ask.mode == Mode::Mark, 4)
            | flag(refuses_waits, 8)
            | flag(does == Does::Look, 16)
    }

    /// Writes the cost and the numbers, as a script reads them, and for a cost to give back the time at which it was
    /// counted.
    fn write(&self, cost: f64, when: Option<Time>, out: &mut Vec<u8>) {
        if let Some(when) = when {
            out.extend((when.as_micros() as f64).to_le_bytes());
        }
        out.extend(self.in_f64.weight(cost).to_le_bytes());
        for number in self.in_f64.numbers.iter().take(self.algorithm.numbers.len()) {
            out.extend(number.to_le_bytes());
        }
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

/// The host's time in microseconds, its largest skew from the clock of Redis (below 0, any), and the shortest time
/// until a key expires, in milliseconds; `None` for the clock of Redis.
fn clock_of(clock: TimeSource, now: Time) -> Option<Vec<u8>> {
    let micros = now.as_micros() as f64;
    let numbers = match clock {
        TimeSource::Redis => return None,
        TimeSource::Host { most_skew } => [micros, most_skew.as_secs_f64() * 1e6, 0.0],
        // Redis takes whole numbers only.
        TimeSource::Event { keep } => {
            [micros, -1.0, libm::ceil(keep.as_secs_f64() * 1e3).min(1e14)]
        }
    };
    Some(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

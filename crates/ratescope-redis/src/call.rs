//! Turns questions into one call: a script, its keys and its arguments.

use super::Few;
use super::algorithm::{self, LuaAlgorithm};
use super::options::TimeSource;
use super::plan::Item;
use super::question::{Does, EventKey, GroupAt, LEASES, Question};
use super::script::{A_FEW, Leases, Limits, Purpose, Script};
use ratescope::internal::{Ask, Mode, sum_of_costs};
use ratescope::rules::Details;
use ratescope::time::{Span, Time};
use std::sync::Arc;

/// An operation on the limits of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Check,
    Peek,
    /// A check of an event that another slot has refused.
    Refuse,
}

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

/// The part of a call about leases: more keys, and a last argument, which the script takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Leasing {
    pub(super) leases: Leases,
    pub(super) keys: Few<Vec<u8>>,
    pub(super) argument: Vec<u8>,
}

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

impl Call {
    /// The call for all of these questions, some of which have keys; `None` if it is too large to be written. A limit that two
    /// questions count at the same key is asked once, for the sum.
    pub(super) fn about(
        questions: &mut [Question],
        op: Op,
        details: Details,
        clock: TimeSource,
        now: Time,
        leasing: Leasing,
    ) -> Option<Self> {
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

    /// Removes the leases of the keys, too, which are not counted among those removed.
    pub(super) fn remove_leases(&mut self) {
        self.script = Arc::new(Script::reset_with_leases());
        self.args.push(self.keys.len().to_string().into_bytes());
        let leases: Few<_> =
            self.keys.iter().map(|key| [key, LEASES.as_bytes()].concat()).collect();
        self.keys.extend(leases);
    }
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
                let own: Few<usize> = questions[q].places(&own).collect();
                for (place, first_place) in own.into_iter().zip(first.places) {
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
        for place in question.places(&key) {
            *self.places.get_mut(q)?.get_mut(place)? = self.limits.len();
            self.limits.push(CallLimit { question: q, place });
        }
        let EventKey { key, group, counted, .. } = key;
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
            return Some(Earlier { question, places: other.places(same).collect() });
        }
    }
    None
}

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

//! Reads the answers of scripts.

use super::Few;
use super::call::{Call, ELSEWHERE};
use super::plan::Item;
use super::question::Question;
use ratescope::internal::Ask;
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::limit::per_key;
use ratescope::outcome::Outcome;
use ratescope::time::{Span, Time};
use std::sync::Arc;

/// The state of a key, with the limiter that counted it.
pub(super) type State = per_key::State<AnyLimiter>;

/// The answer to one question, in the order of its limits.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) outcomes: Few<Outcome>,
    /// The time at which Redis decided.
    pub(super) time: Time,
    /// The states after the event, if they were asked for.
    pub(super) states: Option<Few<State>>,
}

impl Reply {
    /// The reply to a question without limits.
    pub(super) fn nothing(time: Time) -> Self {
        Reply { outcomes: Few::new(), time, states: Some(Few::new()) }
    }
}

/// Reads the bytes that a script returned, as a reply to each question; `None` if they are malformed.
pub(super) fn read(questions: &[Question], call: &Call, mut bytes: &[u8]) -> Option<Vec<Reply>> {
    let bytes = &mut bytes;
    let mut answers: Few<(bool, f64, f64)> = Few::new();
    for _ in 0..call.asked {
        let [passes] = take(bytes)?;
        answers.push((passes == 1, double(bytes)?, double(bytes)?));
    }
    let time = Time::from_micros(double(bytes)? as i64);
    let states = if call.tells { Some(states(questions, call, bytes)?) } else { None };
    // A longer answer belongs to another call.
    if !bytes.is_empty() {
        return None;
    }
    // A limit that several questions count in was asked by the numbers of the first.
    let first = |place: usize| {
        let mut ends = call.groups.iter().scan(0, |end, at| {
            *end += questions.get(at.question)?.plan.items(at.group).len();
            Some((*end, at.question))
        });
        let (_, question) = ends.find(|(end, _)| place < *end)?;
        questions.get(question)
    };
    let reply = |(question, places): (&Question, &Few<usize>)| {
        // A limit that is asked in another slot passes here, and has a new state.
        let own = |all: &Few<State>| -> Option<Few<State>> {
            let each = question.asks.iter().zip(places);
            each.map(|(ask, place)| match *place {
                ELSEWHERE => Some(question.item(ask)?.limiter.initial()),
                place => all.get(place).cloned(),
            })
            .collect()
        };
        let states: Option<Few<State>> = match &states {
            Some(states) => Some(own(states)?),
            None => None,
        };
        let outcome = |(i, (ask, place)): (usize, (&Ask, &usize))| {
            if let Some((passes, level, extra)) = answers.get(*place) {
                return Some(first(*place)?.item(ask)?.outcome(ask, *passes, *level, *extra));
            }
            let item = question.item(ask)?;
            // A question that gives back has no outcome, nor has a limit that was left out.
            let initial = item.limiter.initial();
            let state = states.as_ref().and_then(|states| states.get(i)).unwrap_or(&initial);
            Some(item.limiter.peek(state, time, 0.0))
        };
        let outcomes = question.asks.iter().zip(places).enumerate().map(outcome);
        Some(Reply { outcomes: outcomes.collect::<Option<_>>()?, time, states })
    };
    // Its size is given: otherwise the list begins with room for four replies, which is more than a kilobyte.
    let mut replies = Vec::with_capacity(questions.len());
    for each in questions.iter().zip(&call.places) {
        replies.push(reply(each)?);
    }
    Some(replies)
}

/// The states of all limits in the order of the script.
fn states(questions: &[Question], call: &Call, bytes: &mut &[u8]) -> Option<Few<State>> {
    let mut states = Few::new();
    for at in &call.groups {
        let mut value = match take(bytes)? {
            [0] => None,
            _ => {
                let length = u32::from_le_bytes(take(bytes)?);
                let (value, rest) = bytes.split_at_checked(length as usize)?;
                *bytes = rest;
                Some(value)
            }
        };
        for Item { limiter, .. } in questions.get(at.question)?.plan.items(at.group) {
            let state = match &mut value {
                Some(value) => restore(limiter.decides(), value)?,
                None => limiter.initial(),
            };
            states.push(state);
        }
    }
    Some(states)
}

/// Reads a state from the beginning of a value, and advances past it. `usual` is the limiter of the rules; the state may
/// have been counted by other numbers.
pub(super) fn restore(usual: &AnyLimiter, bytes: &mut &[u8]) -> Option<State> {
    let (kept, rate) = match usual.in_f64().ok()?.lua.name {
        "bucket" => bucket(bytes)?,
        "blocks" => (blocks(usual, bytes)?, Few::new()),
        "nginx" => {
            let kept = Kept::read_content(usual.shape(), bytes).ok()?;
            (kept, Few::from_iter([whole(bytes)? as f64]))
        }
        _ => (Kept::read_content(usual.shape(), bytes).ok()?, Few::new()),
    };
    let numbers = usual.in_f64().ok()?.numbers;
    let is_usual = rate.iter().zip(numbers).all(|(one, usual)| *one == usual || *one == 0.0);
    let own = if is_usual { None } else { Some(Arc::new(usual.draining_at(&rate)?)) };
    let state = own.as_deref().unwrap_or(usual).restore(&kept).ok()?;
    Some(State::new(own, state))
}

/// Reads a state as `blocks.lua` returns it: the numbers and the contents of some blocks.
fn blocks(limiter: &AnyLimiter, bytes: &mut &[u8]) -> Option<Kept> {
    let mut blocks = Vec::new();
    while blocks.is_empty() || !bytes.is_empty() {
        blocks.push((double(bytes)? as i64, double(bytes)? as u64));
    }
    Some(Kept::blocks(limiter.shape(), blocks))
}

/// Reads a state as `bucket.lua` writes it, and the rate at which it drains.
fn bucket(bytes: &mut &[u8]) -> Option<(Kept, Few<f64>)> {
    let [at, content, a, b] = [double(bytes)?, double(bytes)?, double(bytes)?, double(bytes)?];
    let (content, part) =
        if content < 0.0 { (-1.0 - content, double(bytes)?) } else { (content, 0.0) };
    let at = Time::from_micros(at as i64);
    let kept = Kept::filled(at, content as u64, part as u64, (b as u64).max(1))?;
    Some((kept, Few::from_iter([a, b])))
}

/// Reads a whole number as `numbers.lua` writes it.
fn whole(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let [byte] = take(bytes)?;
        number |= u64::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            return Some(number);
        }
        shift += 7;
    }
}

impl Item {
    fn outcome(&self, ask: &Ask, passes: bool, level: f64, extra: f64) -> Outcome {
        let limit = if self.algorithm.finds_its_limit() { extra } else { self.bound };
        if self.in_f64.weight(ask.cost).is_nan() {
            // A cost that can't be counted is refused. The level is then that cost, but for EARRRL the level before the
            // event.
            let level = if self.algorithm.name == "earrrl" { level } else { ask.cost };
            return Outcome::new(false, level, limit);
        }
        if passes && self.limiter.decides().delays() {
            let mut outcome = Outcome::new(true, level, limit);
            outcome.wait = Some(Span::from_micros(extra as u64));
            return outcome;
        }
        Outcome::new(passes, level, limit)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn double(bytes: &mut &[u8]) -> Option<f64> {
    take(bytes).map(f64::from_le_bytes)
}

//! Reads the answers of scripts.

use super::Few;
use super::plan::{Call, Item, Question};
use ratescope::internal::Ask;
use ratescope::limit::Limiter;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::outcome::Outcome;
use ratescope::time::{Span, Time};

/// The answer to one question, in the order of its limits.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) outcomes: Few<Outcome>,
    /// The time of the event and the states after it, if they were asked for.
    pub(super) states: Option<(Time, Few<AnyState>)>,
}

impl Reply {
    /// The reply to a question without limits.
    pub(super) fn nothing() -> Self {
        Reply { outcomes: Few::new(), states: Some((Time::ZERO, Few::new())) }
    }
}

/// Reads the bytes that a script returned, as a reply to each question; `None` if they are malformed.
pub(super) fn read(
    questions: &[Question],
    call: &Call,
    with_states: bool,
    mut bytes: &[u8],
) -> Option<Vec<Reply>> {
    let bytes = &mut bytes;
    let mut answers: Few<(bool, f64, f64)> = Few::new();
    for _ in 0..call.asked {
        let [passes] = take(bytes)?;
        answers.push((passes == 1, double(bytes)?, double(bytes)?));
    }
    let states = if with_states { Some(states(questions, call, bytes)?) } else { None };
    // A longer answer belongs to another call.
    if !bytes.is_empty() {
        return None;
    }
    let reply = |(question, places): (&Question, &Few<usize>)| {
        let own = |(now, all): &(Time, Few<(&AnyLimiter, AnyState)>)| {
            let state = |(ask, place): (&Ask, &usize)| {
                let limiter = question.plan.limiter(ask)?;
                match all.get(*place)? {
                    (by, state) if *by == limiter => Some(state.clone()),
                    // A store with other numbers for the limit asked about the same key.
                    (by, state) => limiter.restore(&by.keep(state, *now)).ok(),
                }
            };
            let states = question.asks.iter().zip(places).map(state);
            Some((*now, states.collect::<Option<Few<AnyState>>>()?))
        };
        let states = match &states {
            Some(states) => Some(own(states)?),
            None => None,
        };
        let outcome = |(i, (ask, place)): (usize, (&Ask, &usize))| {
            let item = question.plan.item(ask)?;
            if let Some((passes, level, extra)) = answers.get(*place) {
                return Some(item.outcome(ask, *passes, *level, *extra));
            }
            // A question that gives back has no outcome.
            let state = states.as_ref().and_then(|(now, states)| Some((*now, states.get(i)?)));
            let now = || item.limiter.peek(&item.limiter.initial(), Time::ZERO, 0.0);
            Some(state.map_or_else(now, |(now, state)| item.limiter.peek(state, now, 0.0)))
        };
        let outcomes = question.asks.iter().zip(places).enumerate().map(outcome);
        Some(Reply { outcomes: outcomes.collect::<Option<_>>()?, states })
    };
    // Its size is given: otherwise the list begins with room for four replies, which is more than a kilobyte.
    let mut replies = Vec::with_capacity(questions.len());
    for each in questions.iter().zip(&call.places) {
        replies.push(reply(each)?);
    }
    Some(replies)
}

/// The time, and the states of all limits in the order of the script.
fn states<'a>(
    questions: &'a [Question],
    call: &Call,
    bytes: &mut &[u8],
) -> Option<(Time, Few<(&'a AnyLimiter, AnyState)>)> {
    let now = Time::from_micros(double(bytes)? as i64);
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
                Some(value) => restore(limiter, value)?,
                None => limiter.initial(),
            };
            states.push((limiter, state));
        }
    }
    Some((now, states))
}

/// Reads a state from the beginning of a value, and advances past it.
fn restore(limiter: &AnyLimiter, bytes: &mut &[u8]) -> Option<AnyState> {
    let kept = match limiter.in_f64().ok()??.lua.name {
        "bucket" => bucket(bytes)?,
        "blocks" => blocks(limiter, bytes)?,
        _ => Kept::read_content(limiter.shape(), bytes).ok()?,
    };
    limiter.restore(&kept).ok()
}

/// Reads a state as `blocks.lua` returns it: the numbers and the contents of one block or two.
fn blocks(limiter: &AnyLimiter, bytes: &mut &[u8]) -> Option<Kept> {
    let block = |bytes: &mut &[u8]| Some((double(bytes)? as i64, double(bytes)? as u64));
    let first = block(bytes)?;
    let last = if bytes.is_empty() { None } else { Some(block(bytes)?) };
    Some(Kept::blocks(limiter.shape(), [first].into_iter().chain(last)))
}

/// Reads a state as `bucket.lua` writes it.
fn bucket(bytes: &mut &[u8]) -> Option<Kept> {
    const LARGE: f64 = (1u64 << 52) as f64;
    let at = double(bytes)?;
    let content = double(bytes)?;
    let kept = |at: f64, content: f64, part, of| {
        Kept::filled(Time::from_micros(at as i64), content as u64, part, of)
    };
    if content >= 0.0 {
        return kept(at, content, 0, 1);
    }
    let content = -1.0 - content;
    if at < 0.0 {
        let [part, of] = [double(bytes)?, double(bytes)?];
        kept(-1.0 - at, content, part as u64, of as u64)
    } else if content < LARGE {
        let [part, of] = [take(bytes)?, take(bytes)?].map(u16::from_le_bytes);
        kept(at, content, part.into(), of.into())
    } else {
        let [part, of] = [take(bytes)?, take(bytes)?].map(u32::from_le_bytes);
        kept(at, content - LARGE, part.into(), of.into())
    }
}

impl Item {
    fn outcome(&self, ask: &Ask, passes: bool, level: f64, extra: f64) -> Outcome {
        let algorithm = self.in_f64.lua.name;
        let limit = if algorithm == "adaptive" { extra } else { self.bound };
        if self.in_f64.weight(ask.cost).is_nan() {
            // A cost that can't be counted is refused. The level is then that cost, but for EARRRL the level before the
            // event.
            let level = if algorithm == "earrrl" { level } else { ask.cost };
            return Outcome::new(false, level, limit);
        }
        if passes && self.limiter.delays() {
            let mut outcome = Outcome::new(true, level, limit);
            outcome.wait = Some(Span::micros(extra as u64));
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

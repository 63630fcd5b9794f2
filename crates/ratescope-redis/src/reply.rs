//! Reads the answers of scripts.

use super::plan::{Call, Item, Plan};
use ratescope::internal::Ask;
use ratescope::internal::Few;
use ratescope::limit::Limiter;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::outcome::{Decision, Outcome};
use ratescope::time::{Span, Time};

/// The answer of a script, in the order of the questions.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) outcomes: Few<Outcome>,
    /// The time of the event and the states after it, if they were asked for.
    pub(super) states: Option<(Time, Few<AnyState>)>,
}

/// Reads the bytes that a script returned; `None` if no script of ours returns such bytes.
pub(super) fn read(
    plan: &Plan,
    call: &Call,
    asked: &[Ask],
    with_states: bool,
    mut bytes: &[u8],
) -> Option<Reply> {
    let bytes = &mut bytes;
    let nothing = Outcome::new(false, 0.0, 0.0);
    let mut outcomes: Few<Outcome> = asked.iter().map(|_| nothing).collect();
    for (place, at) in &call.order {
        let [passes] = take(bytes)?;
        let (level, extra) = (double(bytes)?, double(bytes)?);
        let item = plan.item(*at)?;
        *outcomes.get_mut(*place)? = item.outcome(asked.get(*place)?, passes == 1, level, extra);
    }
    let states = if with_states { Some(states(plan, call, asked, bytes)?) } else { None };
    // More than was asked for is the answer to something else.
    bytes.is_empty().then_some(Reply { outcomes, states })
}

fn states(
    plan: &Plan,
    call: &Call,
    asked: &[Ask],
    bytes: &mut &[u8],
) -> Option<(Time, Few<AnyState>)> {
    let now = Time::from_micros(double(bytes)? as i64);
    let mut states: Few<Option<AnyState>> = asked.iter().map(|_| None).collect();
    let mut order = call.order.iter();
    for count in &call.at_key {
        let mut value = match take(bytes)? {
            [0] => None,
            _ => {
                let length = u32::from_le_bytes(take(bytes)?);
                let (value, rest) = bytes.split_at_checked(length as usize)?;
                *bytes = rest;
                Some(value)
            }
        };
        for (place, at) in order.by_ref().take(*count) {
            let limiter = &plan.item(*at)?.limiter;
            let state = match &mut value {
                Some(value) => restore(limiter, value)?,
                None => limiter.initial(),
            };
            *states.get_mut(*place)? = Some(state);
        }
    }
    Some((now, states.into_iter().collect::<Option<_>>()?))
}

/// Reads a state from the beginning of a value, and advances past it.
fn restore(limiter: &AnyLimiter, bytes: &mut &[u8]) -> Option<AnyState> {
    let kept = match limiter.in_f64()?.lua.name {
        "bucket" => bucket(bytes)?,
        _ => Kept::read_content(limiter.shape(), bytes).ok()?,
    };
    limiter.restore(&kept).ok()
}

/// Reads a state as `bucket.lua` writes it.
fn bucket(bytes: &mut &[u8]) -> Option<Kept> {
    const LARGE: f64 = (1u64 << 52) as f64;
    let (at, content) = (double(bytes)?, double(bytes)?);
    let kept = |at: f64, content: f64, part, of| {
        Kept::filled(Time::from_micros(at as i64), content as u64, part, of)
    };
    if content >= 0.0 {
        return kept(at, content, 0, 1);
    }
    let content = -1.0 - content;
    if at < 0.0 {
        let (part, of) = (double(bytes)? as u64, double(bytes)? as u64);
        kept(-1.0 - at, content, part, of)
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
        let limit = if algorithm == "adaptive" { extra } else { self.held_against };
        if self.in_f64.weight(ask.cost).is_nan() {
            // A cost that can't be counted is refused. The level is that cost, except for EARRRL, whose
            // level is the one before the event.
            let level = if algorithm == "earrrl" { level } else { ask.cost };
            return Outcome::new(false, level, limit);
        }
        if passes && self.limiter.delays() {
            let wait = Span::micros(extra as u64);
            let mut outcome = Outcome::new(true, level, limit);
            outcome.decision = Decision::Allowed { wait };
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

//! The decision about an event. Its keys stay locked until the answer is complete, so that no other event changes a part of
//! it.

use super::asked::{Ask, AskedOutcomes};
use super::ruled::Generation;
use super::ruling::{Answers, Basis, Holder, LimitAnswer, Ruling};
use super::{Answered, Details, Left, Rule};
use crate::event::Event;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy;
use crate::store::{self, Few, Held};
use crate::time::Time;
use arc_swap::Guard;
use std::sync::Arc;

/// The answer of limits that are all [plain](Ask::is_plain), in the order in which they were made. They decide and
/// count in one step, and need no lists.
#[inline(always)]
pub(super) fn in_one_step<const N: usize>(
    generation: Guard<Arc<Generation>>,
    asked: &[Ask; N],
    event: &Event<'_>,
    details: Details,
) -> Answered {
    let now = event.time;
    let mut held = store::hold_each(asked.each_ref().map(|ask| generation.limit(ask)), event);
    let mut outcomes = [Outcome::new(true, 0.0, 0.0); N];
    store::check_each(&mut held, now, |i| asked[i].cost, |i, outcome| outcomes[i] = outcome);
    let answers: [_; N] = core::array::from_fn(|i| {
        LimitAnswer::of(&asked[i], outcomes[i], left(&held[i], details, now))
    });
    let retry = details.retry && !outcomes.iter().all(|outcome| outcome.is_allowed());
    let retry = retry.then(|| retry_after(asked, &held, now));
    drop(held);
    let ruling = Ruling::of(Holder::Guarded(generation), Answers::from_slice(&answers));
    Answered { ruling, retry, fault: None }
}

/// The answer of any limits: all of them are asked, and then the event is counted where the verdict says so. Nothing is
/// counted without `count`, and with it as many `times`. `basis` tells where the states of a rule are.
pub(super) fn in_two_steps(
    generation: Guard<Arc<Generation>>,
    asked: &[Ask],
    event: &Event<'_>,
    details: Details,
    count: bool,
    times: f64,
    basis: impl Fn(&Rule) -> Basis,
) -> Answered {
    let now = event.time;
    let basis = |ask: &Ask| generation.basis(ask, &basis);
    let is_known = |ask: &Ask| basis(ask) != Basis::Nowhere;
    let mut held = generation.hold(asked, event);
    let each = held.iter().zip(asked);
    let outcomes = each.map(|(held, ask)| match is_known(ask) {
        true => held.peek(now, ask.cost),
        false => generation.assumed(ask, held.limiter(), now),
    });
    let outcomes: Few<Outcome> = outcomes.collect();
    let judged = AskedOutcomes { asked, outcomes: &outcomes };
    let passes = judged.passes(|ask| !ask.is_shadow);
    if count && !(details.at_once && passes && judged.waits()) {
        for (i, held) in held.iter_mut().enumerate() {
            let (ask, passed) = (&asked[i], outcomes[i].is_allowed());
            if is_known(ask) {
                held.record_times(now, ask.cost, times, passed, judged.counts(i, passes));
            }
        }
    }
    let answers = judged.answers(basis, |i| left(held.get(i)?, details, now));
    // A rule without states refuses at level 0, so another refusal is tighter and decides.
    let refuses = |answer: &LimitAnswer| !answer.is_shadow && !answer.outcome.is_allowed();
    let is_by = |answer: &LimitAnswer| refuses(answer) && answer.basis != Basis::Nowhere;
    let retry = details.retry && answers.iter().any(is_by);
    let retry = retry.then(|| retry_after(asked, &held, now));
    drop(held);
    let ruling = Ruling::of(Holder::Guarded(generation), answers);
    Answered { ruling, retry, fault: None }
}

/// The sender's standing with a limit, if that is asked for.
fn left(held: &Held<'_, AnyLimiter>, details: Details, now: Time) -> Option<Left> {
    details.standings.then(|| Left::of(held.limiter(), held.state(), now))
}

/// How long after `now` the event passes all limits that can refuse it.
pub(super) fn retry_after(asked: &[Ask], held: &[Held<'_, AnyLimiter>], now: Time) -> Retry {
    policy::retry_after(now, |at| {
        let firm = held.iter().zip(asked).filter(|(_, ask)| ask.is_firm());
        firm.map(move |(held, ask)| held.retry_after(at, ask.cost))
    })
}

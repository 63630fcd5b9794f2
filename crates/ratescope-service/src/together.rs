//! The events of one request, decided together: all or none.
//!
//! Usually one store decides about all of them. A descriptor that brings its own limit along has a store of its own.
//! Then all are asked first, and if all pass, they are counted one after the other. If one is refused after all, since
//! another request came between, the events that the others have just counted are given back, as far as their limits
//! can give back.

use super::Domain;
use ratescope::event::Event;
use ratescope::rules::{Decision, Details, Intent, Part, Store};
use smallvec::SmallVec;
use std::sync::Arc;

/// An event, and the domain that decides about it.
type Asked<'a> = (&'a Arc<Domain>, Part<'a>);

/// The decisions about events, in their order.
pub(super) async fn decide(asked: &[Asked<'_>], details: Details) -> Vec<Decision> {
    let parts: SmallVec<[Part<'_>; 2]> = asked.iter().map(|(_, part)| *part).collect();
    let Some((first, _)) = asked.first() else { return Vec::new() };
    if asked.iter().all(|(domain, _)| Arc::ptr_eq(domain, first)) {
        return first.store.decide(&parts, details).await.into_iter().collect();
    }
    let mut decisions = Vec::with_capacity(asked.len());
    for (domain, part) in asked {
        decisions.push(one(domain, Part { intent: Intent::Look, ..*part }, details).await);
    }
    let mut all_pass =
        asked.iter().zip(&decisions).all(|((_, part), decision)| part.passes(decision, details));
    let decided = Part::decided(&parts, &decisions, details);
    for i in (0..asked.len()).filter(|i| decided[*i]) {
        let (domain, part) = asked[i];
        let decision = one(domain, part, details).await;
        let passes = part.passes(&decision, details);
        if !all_pass && passes {
            // It has room again by now. The request stays refused.
            give_back(&asked[i..=i], &[decision]).await;
            continue;
        }
        decisions[i] = decision;
        if all_pass && !passes {
            give_back(&asked[..i], &decisions).await;
            all_pass = false;
            break;
        }
    }
    for (i, (domain, part)) in asked.iter().enumerate() {
        if all_pass && part.intent.is_settle() {
            decisions[i] = one(domain, *part, details).await;
        }
    }
    decisions
}

async fn one(domain: &Domain, part: Part<'_>, details: Details) -> Decision {
    let decided = domain.store.decide(&[part], details).await.into_only();
    decided.unwrap_or_else(|| Decision::new(domain.store.rules(), part.now()))
}

/// Gives back the events that these decisions have just counted.
async fn give_back(asked: &[Asked<'_>], decisions: &[Decision]) {
    for ((domain, part), decision) in asked.iter().zip(decisions) {
        if part.intent.is_count() {
            let event = Event { time: decision.time, cost: -part.event.cost, ..*part.event };
            // If it can't be given back, it stays counted.
            let _ = domain.store.settle_async(&event, part.event.time, None).await;
        }
    }
}

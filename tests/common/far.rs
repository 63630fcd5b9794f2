//! A store that takes its time, and may have a fault.

#![allow(dead_code)] // Each test file uses its part.

use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;
use ratescope::rules::{
    BoxFuture, Decision, Decisions, Details, Fault, MemoryStore, Part, Rules, Store,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Waits for so many polls, and asks for each.
pub(crate) async fn pending(mut polls: usize) {
    poll_fn(move |context| match polls {
        0 => Poll::Ready(()),
        _ => {
            polls -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// A store elsewhere: answers as the one within, after so many polls.
#[derive(Clone)]
pub(crate) struct Far {
    pub(crate) ruled: MemoryStore,
    pub(crate) polls: usize,
    pub(crate) fault: Option<Fault>,
    /// Sleeps while it is charged or gives back, and so panics outside of a runtime; but it decides at once.
    pub(crate) sleeps: bool,
    /// How often it was asked to decide, and by the end of how many it has.
    pub(crate) asked: Arc<AtomicUsize>,
}

impl Far {
    pub(crate) fn new(rules: &str, polls: usize) -> Self {
        let ruled = ruled(rules);
        Far { ruled, polls, fault: None, sleeps: false, asked: Arc::default() }
    }
}

impl Store for Far {
    fn rules(&self) -> Arc<Rules> {
        self.ruled.rules()
    }

    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        let settles = parts.iter().any(|part| part.intent.is_settle());
        if self.sleeps && !settles { self.ruled.decide_now(parts, details) } else { None }
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        Box::pin(async move {
            let counts = parts.iter().any(|part| part.intent.is_count());
            let settles = parts.iter().any(|part| part.intent.is_settle());
            if settles && self.sleeps {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            if counts {
                self.asked.fetch_add(1, Ordering::SeqCst);
            }
            let decisions = self.ruled.decide(parts, details).await;
            pending(self.polls).await;
            let with_fault = |mut decision: Decision| {
                if let Some(fault) = &self.fault {
                    decision.fault = Some(fault.clone());
                    if !counts {
                        return decision.with_retry_after(None);
                    }
                }
                decision
            };
            decisions.into_iter().map(with_fault).collect()
        })
    }
}

#[track_caller]
pub(crate) fn ruled(rules: &str) -> MemoryStore {
    let rules = Rules::read("rules.yaml", rules).unwrap_or_else(|error| panic!("{error}"));
    MemoryStore::new(rules, 1000)
}

//! A store that takes its time, and may have a fault.

#![allow(dead_code)] // Each test file uses its part.

use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;
use ratescope::Event;
use ratescope::rules::{
    BoxFuture, Decision, Details, Fault, MemoryStore, Rules, RulesError, Store,
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

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        if self.sleeps { self.ruled.check_now(event, details) } else { None }
    }

    fn check_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        details: Details,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let mut answer = Store::check_async(&self.ruled, event, details).await;
            pending(self.polls).await;
            answer.fault.clone_from(&self.fault);
            answer
        })
    }

    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let mut answer = Store::peek_async(&self.ruled, event, details).await;
            pending(self.polls).await;
            if self.fault.is_some() {
                (answer.retry_after, answer.fault) = (None, self.fault.clone());
            }
            answer
        })
    }

    fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        Ok(Arc::new(Far { ruled: self.ruled.with_limits(rules)?, ..self.clone() }))
    }

    fn charge_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            if self.sleeps {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let charged = Store::charge_async(&self.ruled, event, passed).await;
            pending(self.polls).await;
            charged?;
            self.fault.clone().map_or(Ok(()), Err)
        })
    }

    fn give_back_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(async move {
            if self.sleeps {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let given_back = self.ruled.give_back(event, passed);
            pending(self.polls).await;
            self.fault.clone().map_or(Ok(given_back), Err)
        })
    }
}

#[track_caller]
pub(crate) fn ruled(rules: &str) -> MemoryStore {
    let rules = Rules::read("rules.yaml", rules).unwrap_or_else(|error| panic!("{error}"));
    MemoryStore::new(rules, 1000)
}

//! Waiting for a store, which may be elsewhere.

use super::{Blocked, NotAllowed, Waiting, until, until_in_line};
use crate::clock::{Clock, duration};
use crate::event::{Event, Fields};
use crate::outcome::Retry;
use crate::rules::{Decision, Details, MemoryStore, Store};
use crate::time::Span;
use core::future::{Future, ready};

impl Decision {
    /// This decision if the event may pass, or the reason why it may not, as an error. The error has the time when the
    /// event would pass, if the store was asked for it:
    ///
    /// ```
    /// use ratescope::rules::{Details, MemoryStore, Store};
    /// use ratescope::waiting::NotAllowed;
    /// use ratescope::{Event, Policy, Time};
    /// use std::time::Duration;
    ///
    /// async fn mail(store: &dyn Store, user: &str) -> Result<(), NotAllowed> {
    ///     let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", user)] };
    ///     store.check_async(&event, Details::default().with_retry()).await.allowed()?;
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new("gcra 1/1m per user".parse::<Policy>()?, 1000);
    /// assert_eq!(mail(&store, "ann").await, Ok(()));
    /// let refused = mail(&store, "ann").await.unwrap_err();
    /// assert_eq!(refused.retry_after(), Some(Duration::from_secs(60)));
    /// assert_eq!(refused.to_string(), "the event would have to wait for 1m");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the event is refused.
    pub fn allowed(self) -> Result<Self, NotAllowed> {
        match (self.retry_after(), &self.fault) {
            _ if self.is_allowed() => Ok(self),
            (Some(Retry::After(wait)), _) => Err(NotAllowed::Refused { after: duration(wait) }),
            (Some(Retry::Never), _) => Err(NotAllowed::Never),
            (None, Some(fault)) => Err(NotAllowed::Fault(fault.clone())),
            (None, None) => Err(NotAllowed::Unknown),
        }
    }
}

impl MemoryStore {
    /// Waits until all limits allow an event with these fields, and counts it then: see
    /// [waiting](crate::waiting). Those who wait for an event with the same fields pass in the order in which they came.
    ///
    /// # Errors
    /// When the event would have to wait for too long, or for ever. Nothing is counted then.
    #[doc(alias = "until_key_ready")]
    pub async fn until_allowed(
        &self,
        fields: &dyn Fields,
        clock: &impl Clock,
        waiting: Waiting,
    ) -> Result<Decision, NotAllowed> {
        let count = |most| attempt(self, fields, clock, waiting.cost, most);
        self.until_passed(fields, clock, waiting, count).await
    }

    /// Waits in the line for these fields until an attempt succeeds. `look` says when one would.
    #[doc(hidden)]
    pub async fn until_passed<T: Send, F: Future<Output = Result<(T, Option<Span>), Blocked>>>(
        &self,
        fields: &dyn Fields,
        clock: &impl Clock,
        waiting: Waiting,
        attempt: impl Fn(Span) -> F,
    ) -> Result<T, NotAllowed> {
        let look = || self.retry_after(&Event { time: clock.now(), cost: waiting.cost, fields });
        let line = (self.lines(), self.line_of(fields));
        until_in_line(line, clock, waiting, || ready(look()), attempt).await
    }

    /// True if others wait for an event with these fields.
    #[doc(hidden)]
    pub fn is_waited_for(&self, fields: &dyn Fields) -> bool {
        !self.lines().is_empty(self.line_of(fields))
    }

    fn line_of(&self, fields: &dyn Fields) -> u64 {
        let rules = self.rules();
        let names = rules.plan().iter().flat_map(|planned| planned.limit.per.fields());
        self.lines().key(names.map(|name| fields.value(name).unwrap_or_default()))
    }
}

/// Waits until a store allows an event with these fields, and counts it then: see [the module](super).
///
/// # Errors
/// When the event would have to wait for too long, or for ever, or when the store can't be asked and its
/// rules refuse the event then.
pub async fn until_allowed(
    store: &dyn Store,
    fields: &dyn Fields,
    clock: &impl Clock,
    waiting: Waiting,
) -> Result<Decision, NotAllowed> {
    until(clock, waiting, |most| attempt(store, fields, clock, waiting.cost, most)).await
}

/// Counts an event that passes within `most`, or says when to ask again.
#[doc(hidden)]
pub async fn attempt(
    store: &dyn Store,
    fields: &dyn Fields,
    clock: &impl Clock,
    cost: f64,
    most: Span,
) -> Result<(Decision, Option<Span>), Blocked> {
    let details = Details { retry: true, ..Details::default() };
    let event = Event { time: clock.now(), cost, fields };
    // Limits that can give back do not count refused events, so they are asked in one step.
    let is_counted = store.rules().can_undo(&event);
    let mut decision = if is_counted {
        store.check_async(&event, details.within(most)).await
    } else {
        look(store, &event, details).await
    };
    match decision.wait() {
        Some(wait) if wait > most => {
            follow(store, &event).await;
            return Err(Blocked::Until(wait));
        }
        Some(_) if is_counted => {}
        Some(_) => decision = store.check_async(&event, details).await,
        None => {}
    }
    match (decision.wait(), decision.retry_after(), &decision.fault) {
        (None, Some(retry), _) => Err(retry.into()),
        (None, None, Some(fault)) => Err(Blocked::For(NotAllowed::Fault(fault.clone()))),
        (None, None, None) => Err(Blocked::For(NotAllowed::Never)),
        (wait, ..) => Ok((decision, wait)),
    }
}

/// Peeks at an event, and again if it would not pass, since the clock may have been set back.
async fn look(store: &dyn Store, event: &Event<'_>, details: Details) -> Decision {
    let decision = store.peek_async(event, details).await;
    if decision.is_allowed() || decision.fault.is_some() {
        return decision;
    }
    follow(store, event).await;
    store.peek_async(event, details).await
}

/// Charges a cost of 0, so that the limits follow a clock that was set back.
async fn follow(store: &dyn Store, event: &Event<'_>) {
    // An error is ignored here, since the next attempt meets it again and returns it.
    let _ = store.settle_async(&Event { cost: 0.0, ..*event }, event.time, None).await;
}

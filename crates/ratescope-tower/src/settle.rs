//! Costs that are known only after a request has passed: of the head of its response, of the bytes of its body, and of
//! reservations. All of them are settled here.

use super::decide::Shared;
use super::layer::ResponseHead;
use super::{meters, report};
use core::fmt;
use ratescope::clock::Clock;
use ratescope::event::{Event, Fields};
use ratescope::limit::MAX_COST;
use ratescope::rules::{Decision, Details, Fault, Part, Store};
use ratescope::time::Time;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::runtime::Handle;

/// An event that was counted, with the decision by which it passed. It belongs to no store: after a reload, the rules
/// that are then in force count the rest of its cost. It has the fields that rules are about, and outlives its
/// request.
pub(super) struct CountedEvent {
    pub(super) cost: f64,
    fields: Vec<KeptField>,
    pub(super) decision: Decision,
}

struct KeptField {
    name: String,
    text: String,
    is_secret: bool,
}

impl CountedEvent {
    /// Keeps the fields of these names.
    pub(super) fn new(names: &[String], event: &Event<'_>, decision: &Decision) -> Self {
        let field = |name: &String| {
            Some(KeptField {
                name: name.clone(),
                text: event.fields.value(name)?.to_owned(),
                is_secret: event.fields.is_secret(name),
            })
        };
        let fields = names.iter().filter_map(field).collect();
        CountedEvent { cost: event.cost, fields, decision: decision.clone() }
    }

    fn field(&self, name: &str) -> Option<&KeptField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The event, at the time at which it was counted, with so much more or less cost.
    fn with_cost(&self, cost: f64) -> Event<'_> {
        Event { time: self.decision.time, cost, fields: self }
    }

    fn part<'a>(&'a self, event: &'a Event<'a>, now: Time) -> Part<'a> {
        let numbers = self.decision.numbers();
        Part { numbers, ..Part::settle(event, now, Some(&self.decision)) }
    }
}

impl Fields for CountedEvent {
    fn value(&self, name: &str) -> Option<&str> {
        self.field(name).map(|field| field.text.as_str())
    }

    fn is_secret(&self, name: &str) -> bool {
        self.field(name).is_some_and(|field| field.is_secret)
    }
}

/// A sum of costs or of bytes, which is settled when it is dropped.
pub struct Debt {
    pub(super) sum: f64,
    /// `None` once it is settled.
    settle: Option<Box<dyn FnOnce(f64) + Send>>,
}

impl Debt {
    pub(super) fn new(settle: impl FnOnce(f64) + Send + 'static) -> Self {
        Debt { sum: 0.0, settle: Some(Box::new(settle)) }
    }

    /// Moves the debt out, so that dropping this settles nothing.
    pub(super) fn take(&mut self) -> Debt {
        Debt { sum: self.sum, settle: self.settle.take() }
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        let Some(settle) = self.settle.take() else { return };
        let sum = self.sum;
        // It may be dropped because of a panic. A second panic, as in a store or in the service's own cost function, would
        // abort the process.
        let _ = catch_unwind(AssertUnwindSafe(move || settle(sum)));
    }
}

impl fmt::Debug for Debt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debt").field("sum", &self.sum).finish_non_exhaustive()
    }
}

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Charges the cost that the head of the response gives.
    pub(super) async fn charge_head(&self, counted: &CountedEvent, response: ResponseHead<'_>) {
        let Some(cost) = &self.settings().charge else { return };
        let now = self.clock.now();
        if let Some(cost) = self.payable(cost(response), now) {
            self.settle_later(counted, cost, now).await;
        }
    }

    /// The debt of a body. Dropping it charges the cost of the bytes that were sent: at once, or in a task if the store
    /// has to be waited for.
    pub(super) fn debt(self: Arc<Self>, counted: Arc<CountedEvent>) -> Option<Debt> {
        self.settings().charge_sent.as_ref()?;
        // The sum of the bytes is exact below 8 PiB.
        Some(Debt::new(move |bytes| self.charge_sent(counted, bytes as u64)))
    }

    fn charge_sent(self: Arc<Self>, counted: Arc<CountedEvent>, bytes: u64) {
        let Some(cost) = &self.settings().charge_sent else { return };
        let now = self.clock.now();
        // Before the service's own function, which may panic.
        let unpaid = self.unpaid();
        let cost = cost(bytes);
        match self.payable(cost, now) {
            Some(cost) => self.settle_by(counted, cost, now, unpaid),
            None => unpaid.settled(),
        }
    }

    fn unpaid(&self) -> Unpaid {
        Unpaid { layer: self.settings().name.clone(), reason: Some("dropped") }
    }

    /// Settles a request whose cost was reserved: charges the rest, or gives back the excess, as far as it certainly still
    /// counts.
    pub(super) fn settle(self: Arc<Self>, counted: Arc<CountedEvent>, actual: f64) {
        let now = self.clock.now();
        let Some(actual) = self.payable(actual, now) else { return };
        let missing = actual - counted.cost;
        // Nothing is given back for a decision that was made without the store, since the store has not counted it.
        if missing > 0.0 || missing < 0.0 && counted.decision.fault.is_none() {
            let unpaid = self.unpaid();
            self.settle_by(counted, missing, now, unpaid);
        }
    }

    /// Settles at once, or in a task if the store has to be waited for. A cost that can't be given back stays counted.
    fn settle_by(
        self: Arc<Self>,
        counted: Arc<CountedEvent>,
        cost: f64,
        now: Time,
        mut unpaid: Unpaid,
    ) {
        let event = counted.with_cost(cost);
        if self.store.decide_now(&[counted.part(&event, now)], Details::default()).is_some() {
            return unpaid.settled();
        }
        let Ok(runtime) = Handle::try_current() else {
            unpaid.reason = (cost >= 0.0).then_some("runtime");
            return;
        };
        runtime.spawn(async move {
            self.settle_later(&counted, cost, now).await;
            unpaid.settled();
        });
    }

    async fn settle_later(&self, counted: &CountedEvent, cost: f64, now: Time) {
        let event = counted.with_cost(cost);
        let settled = self.store.decide(&[counted.part(&event, now)], Details::default()).await;
        if let Some(fault) = settled.into_only().and_then(|decision| decision.fault) {
            self.count_fault(&fault, now);
        }
    }

    /// A cost that can be counted. Others are logged and lost.
    fn payable(&self, cost: f64, now: Time) -> Option<f64> {
        if cost >= 0.0 {
            return Some(cost.min(MAX_COST));
        }
        meters::count_lost("cost", self.name());
        if let Some(passed_over) = self.front.bad_values.take(now) {
            report::bad_cost(cost, self.name(), passed_over);
        }
        None
    }

    fn count_fault(&self, fault: &Fault, now: Time) {
        meters::count_fault(fault, self.name());
        self.settings().outages.failed(fault, self.name(), now);
    }
}

/// A charge that is under way. If it is dropped before it is settled, it is counted as lost, for this `reason`.
struct Unpaid {
    layer: Option<Arc<str>>,
    reason: Option<&'static str>,
}

impl Unpaid {
    /// Notes that the charge was counted, or that its failure was logged.
    fn settled(mut self) {
        self.reason = None;
    }
}

impl Drop for Unpaid {
    fn drop(&mut self) {
        if let Some(reason) = self.reason {
            meters::count_lost(reason, self.layer.as_deref());
        }
    }
}

//! A request from its decision to its end: what it takes to settle it when its cost is known.

use super::bodies::Debt;
use super::decide::Shared;
use super::layer::ResponseHead;
use super::{meters, report};
use ratescope::clock::Clock;
use ratescope::event::{Event, Fields};
use ratescope::limit::MAX_COST;
use ratescope::rules::{Decision, Details, Fault, Part, Store};
use ratescope::time::Time;
use std::sync::Arc;
use tokio::runtime::Handle;

/// The event of a request that passed, and the decision by which it did, with the time and the numbers. It belongs to no
/// store: after a reload, the rules that are then in force count what it owes.
pub(super) struct Ticket {
    /// The cost that was counted.
    pub(super) cost: f64,
    fields: KeptFields,
    pub(super) decision: Decision,
}

/// Fields that outlive their request.
struct KeptFields(Vec<KeptField>);

struct KeptField {
    name: String,
    text: String,
    is_secret: bool,
}

impl KeptFields {
    fn find(&self, name: &str) -> Option<&KeptField> {
        self.0.iter().find(|field| field.name == name)
    }
}

impl Fields for KeptFields {
    fn value(&self, name: &str) -> Option<&str> {
        self.find(name).map(|field| field.text.as_str())
    }

    fn is_secret(&self, name: &str) -> bool {
        self.find(name).is_some_and(|field| field.is_secret)
    }
}

impl Ticket {
    /// The ticket of an event, which keeps its fields of these names.
    pub(super) fn new(names: &[String], event: &Event<'_>, decision: &Decision) -> Self {
        let field = |name: &String| {
            Some(KeptField {
                name: name.clone(),
                text: event.fields.value(name)?.to_owned(),
                is_secret: event.fields.is_secret(name),
            })
        };
        let fields = KeptFields(names.iter().filter_map(field).collect());
        Ticket { cost: event.cost, fields, decision: decision.clone() }
    }

    /// The event, at the time at which it was counted, with so much more or less cost.
    fn event(&self, cost: f64) -> Event<'_> {
        Event { time: self.decision.time, cost, fields: &self.fields }
    }

    fn part<'a>(&'a self, event: &'a Event<'a>, now: Time) -> Part<'a> {
        let numbers = self.decision.numbers();
        Part { numbers, ..Part::settle(event, now, Some(&self.decision)) }
    }
}

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Charges the cost that the head of the response gives.
    pub(super) async fn charge_head(&self, ticket: &Ticket, response: ResponseHead<'_>) {
        let Some(cost) = &self.settings().charge else { return };
        let now = self.clock.now();
        if let Some(cost) = self.payable(cost(response), now) {
            self.settle_later(ticket, cost, now).await;
        }
    }

    /// The debt of a body. Dropping it charges the cost of the bytes that were sent: at once, or in a task if the store
    /// has to be waited for.
    pub(super) fn debt(self: Arc<Self>, ticket: Arc<Ticket>) -> Option<Debt> {
        self.settings().charge_sent.as_ref()?;
        Some(Debt::new(move |bytes| self.charge_sent(ticket, bytes)))
    }

    fn charge_sent(self: Arc<Self>, ticket: Arc<Ticket>, bytes: u64) {
        let Some(cost) = &self.settings().charge_sent else { return };
        let now = self.clock.now();
        // Before the service's own function, which may panic.
        let unpaid = self.unpaid();
        let cost = cost(bytes);
        match self.payable(cost, now) {
            Some(cost) => self.settle_by(ticket, cost, now, unpaid),
            None => unpaid.settled(),
        }
    }

    fn unpaid(&self) -> Unpaid {
        Unpaid { layer: self.settings().name.clone(), reason: Some("dropped") }
    }

    /// Settles a request whose cost was reserved: charges the rest, or gives back the excess, as far as it certainly still
    /// counts.
    pub(super) fn settle(self: Arc<Self>, ticket: Arc<Ticket>, actual: f64) {
        let now = self.clock.now();
        let Some(actual) = self.payable(actual, now) else { return };
        let missing = actual - ticket.cost;
        // What other stores decided in an outage is not theirs to give back.
        if missing > 0.0 || missing < 0.0 && ticket.decision.fault.is_none() {
            let unpaid = self.unpaid();
            self.settle_by(ticket, missing, now, unpaid);
        }
    }

    /// Settles at once, or in a task if the store has to be waited for. What can't be given back stays counted.
    fn settle_by(self: Arc<Self>, ticket: Arc<Ticket>, cost: f64, now: Time, mut unpaid: Unpaid) {
        let event = ticket.event(cost);
        if self.store.decide_now(&[ticket.part(&event, now)], Details::default()).is_some() {
            return unpaid.settled();
        }
        let Ok(runtime) = Handle::try_current() else {
            unpaid.reason = (cost >= 0.0).then_some("runtime");
            return;
        };
        runtime.spawn(async move {
            self.settle_later(&ticket, cost, now).await;
            unpaid.settled();
        });
    }

    async fn settle_later(&self, ticket: &Ticket, cost: f64, now: Time) {
        let event = ticket.event(cost);
        let settled = self.store.decide(&[ticket.part(&event, now)], Details::default()).await;
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

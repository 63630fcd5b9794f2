//! Costs that are known only after a request passed.

use super::bodies::Debt;
use super::decide::{Debtor, Shared};
use super::layer::ResponseHead;
use super::{meters, report};
use ratescope::clock::Clock;
use ratescope::event::Event;
use ratescope::limit::MAX_COST;
use ratescope::rules::{Fault, Store};
use ratescope::time::Time;
use std::sync::Arc;
use tokio::runtime::Handle;

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Charges the cost that the head of the response gives.
    pub(super) async fn charge_head(&self, debtor: &Debtor, response: ResponseHead<'_>) {
        let Some(cost) = &self.settings.charge else { return };
        let time = self.clock.now();
        if let Some(cost) = self.payable(cost(response), time) {
            self.charge(debtor, time, cost).await;
        }
    }

    /// The debt of a body. Dropping it charges the cost of the bytes that were sent: at once, or in a task if the store
    /// has to be waited for.
    pub(super) fn debt(self: Arc<Self>, debtor: Debtor) -> Option<Debt> {
        self.settings.charge_sent.as_ref()?;
        Some(Debt::new(move |bytes| self.charge_sent(debtor, bytes)))
    }

    fn charge_sent(self: Arc<Self>, debtor: Debtor, bytes: u64) {
        let Some(cost) = &self.settings.charge_sent else { return };
        let time = self.clock.now();
        // Before the service's own function, which may panic.
        let unpaid = self.unpaid();
        let cost = cost(bytes);
        match self.payable(cost, time) {
            Some(cost) => self.charge_at_once(debtor, time, cost, unpaid),
            None => unpaid.settle(),
        }
    }

    fn unpaid(&self) -> Unpaid {
        Unpaid { layer: self.settings.name.clone(), reason: Some("dropped") }
    }

    /// Charges a cost at once, or in a task if the store has to be waited for.
    fn charge_at_once(self: Arc<Self>, debtor: Debtor, time: Time, cost: f64, mut unpaid: Unpaid) {
        let Debtor { fields, decision, own, .. } = &debtor;
        let event = Event { time, cost, fields };
        if self.store_of(own.as_ref()).charge_now(&event, Some(decision)) {
            return unpaid.settle();
        }
        let Ok(runtime) = Handle::try_current() else {
            unpaid.reason = Some("runtime");
            return;
        };
        runtime.spawn(async move {
            self.charge(&debtor, time, cost).await;
            unpaid.settle();
        });
    }

    /// Settles a request whose cost was reserved: charges the rest, or gives back the excess.
    pub(super) fn settle(self: Arc<Self>, debtor: Debtor, actual: f64) {
        let time = self.clock.now();
        let Some(actual) = self.payable(actual, time) else { return };
        let missing = actual - debtor.cost;
        if missing > 0.0 {
            let unpaid = self.unpaid();
            self.charge_at_once(debtor, time, missing, unpaid);
        } else if missing < 0.0 && debtor.decision.fault.is_none() {
            self.give_back_at_once(debtor, time, -missing);
        }
    }

    /// Gives back a part of a cost at once, or in a task if the store has to be waited for. What can't be given back
    /// stays counted.
    fn give_back_at_once(self: Arc<Self>, debtor: Debtor, time: Time, cost: f64) {
        let Debtor { fields, decision, own, .. } = &debtor;
        let event = Event { time, cost, fields };
        if self.store_of(own.as_ref()).give_back_now(&event, Some(decision)) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let Debtor { fields, decision, own, .. } = &debtor;
            let event = Event { time, cost, fields };
            let store = self.store_of(own.as_ref());
            if let Err(fault) = store.give_back_async(&event, Some(decision)).await {
                self.count_fault(&fault, time);
            }
        });
    }

    /// A cost that can be counted. Others are logged and lost.
    fn payable(&self, cost: f64, now: Time) -> Option<f64> {
        if cost >= 0.0 {
            return Some(cost.min(MAX_COST));
        }
        meters::count_lost("cost", self.name());
        if let Some(passed_over) = self.bad_values.take(now) {
            report::bad_cost(cost, self.name(), passed_over);
        }
        None
    }

    async fn charge(&self, debtor: &Debtor, time: Time, cost: f64) {
        let Debtor { fields, decision, own, .. } = debtor;
        let event = Event { time, cost, fields };
        let charged = self.store_of(own.as_ref()).charge_async(&event, Some(decision)).await;
        if let Err(fault) = charged {
            self.count_fault(&fault, time);
        }
    }

    fn count_fault(&self, fault: &Fault, now: Time) {
        meters::count_fault(fault, self.name());
        self.settings.outages.failed(fault, self.name(), now);
    }
}

/// A charge that is under way. If it is dropped before it is settled, it is counted as lost, for this `reason`.
struct Unpaid {
    layer: Option<Arc<str>>,
    reason: Option<&'static str>,
}

impl Unpaid {
    /// Notes that the charge was counted, or that its failure was logged.
    fn settle(mut self) {
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

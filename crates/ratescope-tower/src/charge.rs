//! Costs that are known only after a request passed.

use super::bodies::Debt;
use super::decide::{Debtor, Shared};
use super::layer::ResponseHead;
use super::{meters, report};
use ratescope::clock::Clock;
use ratescope::event::Event;
use ratescope::limit::MAX_COST;
use ratescope::rules::Store;
use ratescope::time::Time;
use std::sync::Arc;
use tokio::runtime::Handle;

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Counts the cost that the head of the response tells.
    pub(super) async fn charge_head(&self, debtor: &Debtor, response: ResponseHead<'_>) {
        let Some(cost) = &self.settings.charge else { return };
        let time = self.clock.now();
        if let Some(cost) = self.payable(cost(response), time) {
            self.charge(debtor, time, cost).await;
        }
    }

    /// The debt of a body, which counts the cost of the bytes that were sent when it is dropped: at
    /// once, or in a task where the store has to be waited for.
    pub(super) fn debt(self: Arc<Self>, debtor: Debtor) -> Option<Debt> {
        self.settings.charge_sent.as_ref()?;
        Some(Debt::new(move |bytes| self.charge_sent(debtor, bytes)))
    }

    fn charge_sent(self: Arc<Self>, debtor: Debtor, bytes: u64) {
        let Some(cost) = &self.settings.charge_sent else { return };
        let time = self.clock.now();
        let mut unpaid = Unpaid { layer: self.settings.name.clone(), reason: Some("dropped") };
        let cost = cost(bytes);
        let Debtor { fields, decision } = &debtor;
        match (self.payable(cost, time), Handle::try_current()) {
            (None, _) => unpaid.settle(),
            (Some(cost), _)
                if self.store.charge_now(&Event { time, cost, fields }, Some(decision)) =>
            {
                unpaid.settle();
            }
            (Some(_), Err(_)) => unpaid.reason = Some("runtime"),
            (Some(cost), Ok(runtime)) => {
                let shared = Arc::clone(&self);
                runtime.spawn(async move {
                    shared.charge(&debtor, time, cost).await;
                    unpaid.settle();
                });
            }
        }
    }

    /// A cost that can be counted. Others are logged and lost.
    fn payable(&self, cost: f64, now: Time) -> Option<f64> {
        if cost >= 0.0 {
            return Some(cost.min(MAX_COST));
        }
        meters::count_lost("cost", self.name());
        if let Some(passed_over) = self.bad_costs.take(now) {
            report::bad_cost(cost, self.name(), passed_over);
        }
        None
    }

    async fn charge(&self, debtor: &Debtor, time: Time, cost: f64) {
        let Debtor { fields, decision } = debtor;
        let event = Event { time, cost, fields };
        if let Err(fault) = self.store.charge_async(&event, Some(decision)).await {
            meters::count_fault(&fault, self.name());
            self.settings.outages.failed(&fault, self.name(), time);
        }
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

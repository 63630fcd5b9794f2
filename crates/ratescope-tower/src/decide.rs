//! The decision about a request, and the state that all clones of a layer share.

use super::fields::{Head, RequestFields};
use super::front_end::FrontEnd;
use super::layer::LayerSettings;
use super::meters::RequestOutcome;
use super::own::Combinations;
use super::prepared::Prepared;
use super::queue::{Queue, QueueSlot};
use super::refusal::{Answer, Refused};
use super::report;
use super::settle::CountedEvent;
use super::ticket::Ticket;
use super::unidentified::Unidentified;
use http::Response;
use ratescope::clock::Clock;
use ratescope::event::Event;
use ratescope::rules::{Decision, Details, Part, Rules, Store};
use ratescope::time::Span;
use std::sync::{Arc, OnceLock, Weak};

/// The state that all clones of a layer share.
pub(super) struct Shared<S, A, C> {
    pub(super) store: Arc<S>,
    pub(super) answer: Arc<A>,
    pub(super) clock: Arc<C>,
    pub(super) front: FrontEnd,
    pub(super) combinations: Combinations,
    queue: Arc<Queue>,
    /// The rules whose mismatches with the sources were logged before the first request.
    reported: OnceLock<Weak<Rules>>,
}

/// The result of a decision: the request passes, perhaps after a wait, or it is answered by a refusal.
pub(super) type Decided<B> = Result<Ticket, Box<Response<B>>>;

/// A request that the store is asked about.
struct Asked<'a> {
    head: &'a Head<'a>,
    event: Event<'a>,
    /// The preparations for the rules in force.
    usual: &'a Arc<Prepared>,
    /// Those for the numbers of the request's own.
    own: Option<Arc<Prepared>>,
    /// The slot, if the request may have to wait. `None` while the queue is full, or while the client has its share of the
    /// slots.
    slot: Option<Box<QueueSlot>>,
}

impl Asked<'_> {
    fn part(&self) -> Part<'_> {
        Part { numbers: self.prepared().numbers.as_ref(), ..Part::count(&self.event) }
    }

    /// The preparations for its own numbers, or else the usual ones.
    fn prepared(&self) -> &Arc<Prepared> {
        self.own.as_ref().unwrap_or(self.usual)
    }
}

impl<S, A, C> Shared<S, A, C> {
    pub(super) fn new(
        store: Arc<S>,
        answer: Arc<A>,
        clock: Arc<C>,
        settings: LayerSettings,
    ) -> Self {
        let of_one_key = settings.queue_per_key.unwrap_or(settings.queue.div_ceil(2));
        Shared {
            combinations: Combinations::default(),
            queue: Arc::new(Queue::new(settings.queue, of_one_key)),
            reported: OnceLock::new(),
            front: FrontEnd::new(settings),
            store,
            answer,
            clock,
        }
    }

    /// The number of requests in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.front.name()
    }

    pub(super) fn settings(&self) -> &LayerSettings {
        &self.front.settings
    }

    fn details(&self, asked: &Asked<'_>) -> Details {
        let LayerSettings { headers, inserts_decision, .. } = self.settings();
        let quotas = headers.want_quotas() || *inserts_decision;
        let mut details = Details::default().with_retry();
        details.quotas = quotas;
        details.longest = asked.slot.is_none().then_some(Span::ZERO);
        details
    }

    fn cost(&self, head: &Head<'_>) -> f64 {
        self.settings().cost.as_ref().map_or(1.0, |cost| cost(*head))
    }
}

impl<S: Store, A, C> Shared<S, A, C> {
    /// Logs once which rules do not fit the sources, and returns the rules that were looked at.
    pub(super) fn report(&self) -> &Weak<Rules> {
        self.reported.get_or_init(|| {
            let rules = self.store.rules();
            report::unfit(&rules, self.settings());
            Arc::downgrade(&rules)
        })
    }
}

impl<S: Store, A, C: Clock> Shared<S, A, C> {
    /// Decides about a request if the store answers at once; otherwise counts nothing.
    pub(super) fn decide_now<B>(&self, head: &Head<'_>) -> Option<Decided<B>>
    where
        A: Answer<B>,
    {
        if self.settings().skip.as_ref().is_some_and(|skip| skip(*head)) {
            return Some(Ok(Ticket::default()));
        }
        let made;
        let latest = self.front.preparations.latest();
        let latest = match latest.value() {
            // A reload that came after `latest` was made may demand a key, or have other limits.
            Some(latest) if !self.settings().needs_latest() => latest,
            _ => {
                made = self.prepared(&self.store.rules());
                &made
            }
        };
        let mut fields = RequestFields::new(&self.settings().sources, head, latest.by_ip);
        let fields = fields.read();
        if let Some(why) = latest.unidentified(fields) {
            return Some(Err(self.refuse_unidentified(head, latest, why)));
        }
        let mut asked = self.ask(head, fields, latest);
        let details = self.details(&asked);
        // A decision is large: it is looked at where the store has put it.
        let decisions = self.store.decide_now(&[asked.part()], details);
        Some(self.judge(&mut asked, decisions.as_ref()?.first()?))
    }

    pub(super) async fn decide<B>(&self, head: &Head<'_>) -> Decided<B>
    where
        A: Answer<B>,
    {
        let latest = &self.prepared(&self.store.rules());
        let mut fields = RequestFields::new(&self.settings().sources, head, latest.by_ip);
        let fields = fields.read();
        if let Some(why) = latest.unidentified(fields) {
            return Err(self.refuse_unidentified(head, latest, why));
        }
        let mut asked = self.ask(head, fields, latest);
        let decisions = self.store.decide(&[asked.part()], self.details(&asked)).await;
        self.front.meters().took(asked.event.time.until(self.clock.now()));
        let none = || Decision::new(self.store.rules(), asked.event.time);
        let decision = decisions.into_only().unwrap_or_else(none);
        self.judge(&mut asked, &decision)
    }

    /// Makes a request ready for the store: its event, the numbers of its own, and its slot.
    #[inline(always)]
    fn ask<'a>(
        &self,
        head: &'a Head<'a>,
        fields: &'a RequestFields<'_>,
        usual: &'a Arc<Prepared>,
    ) -> Asked<'a> {
        let event = Event { time: self.clock.now(), cost: self.cost(head), fields };
        let mut asked = Asked { head, event, usual, own: self.own(head, usual), slot: None };
        if let Some(keys) = asked.prepared().delaying(&asked.event, &self.queue) {
            asked.slot = self.queue.reserve(keys);
        }
        asked
    }

    fn prepared(&self, rules: &Arc<Rules>) -> Arc<Prepared> {
        self.front.preparations.get(rules, |rules| {
            if self.report().as_ptr() != Arc::as_ptr(rules) {
                report::unfit(rules, self.settings());
            }
            Prepared::new(rules, None, self.settings())
        })
    }

    /// Decides about a request by the answer of the store, and counts and logs the decision.
    #[inline(always)]
    fn judge<B>(&self, asked: &mut Asked<'_>, decision: &Decision) -> Decided<B>
    where
        A: Answer<B>,
    {
        let meters = self.front.meters();
        let slot = asked.slot.take();
        let asked = &*asked;
        let made;
        let prepared = if asked.prepared().is_for(decision.rules()) {
            asked.prepared()
        } else {
            // The rules were reloaded meanwhile.
            made = self.prepared(decision.rules());
            if made.is_for(&self.store.rules()) {
                self.front.preparations.promote(decision.rules());
            }
            &match decision.numbers() {
                None => made,
                own => Arc::new(Prepared::new(decision.rules(), own.cloned(), self.settings())),
            }
        };
        self.front.count(prepared, &asked.event, decision, asked.event.time);
        meters.count_keys(asked.event.time, || self.store.memory());
        let slot = match (decision.wait(), slot) {
            (Some(Span::ZERO), _) => {
                meters.count(RequestOutcome::Allowed);
                None
            }
            (Some(wait), Some(mut slot)) => {
                slot.wait(wait, meters.waiting());
                meters.count(RequestOutcome::Delayed);
                Some(slot)
            }
            _ => return Err(self.refuse(asked.head, &asked.event, prepared, decision)),
        };
        self.front.log_shadow(&asked.event, decision, || self.clock.now());
        let LayerSettings { headers, .. } = self.settings();
        let has_headers = headers.always && headers.want_quotas();
        let values = || headers.values(prepared, decision, None, false);
        let counted = || Arc::new(CountedEvent::new(&prepared.fields, &asked.event, decision));
        Ok(Ticket {
            headers: if has_headers { values() } else { None },
            slot,
            counted: self.settings().needs_ticket().then(counted),
        })
    }

    /// The response to a request that is refused, or that can't wait.
    fn refuse<B>(
        &self,
        head: &Head<'_>,
        event: &Event<'_>,
        prepared: &Prepared,
        decision: &Decision,
    ) -> Box<Response<B>>
    where
        A: Answer<B>,
    {
        let refused = Refused::new(*head, decision, prepared);
        self.front.meters().count(if refused.is_unavailable() {
            RequestOutcome::Unavailable
        } else {
            RequestOutcome::Refused
        });
        self.front.log_refusal(event, decision, refused.retry_after(), self.clock.now());
        Box::new(refused.respond(&*self.answer, &self.settings().headers))
    }

    /// The response to a request that lacks `field`. The store is not asked about the request.
    #[cold]
    fn refuse_unidentified<B>(
        &self,
        head: &Head<'_>,
        prepared: &Prepared,
        (field, why): (&str, &Unidentified),
    ) -> Box<Response<B>>
    where
        A: Answer<B>,
    {
        self.front.meters().count(RequestOutcome::Unidentified);
        if let Some(passed_over) = self.front.refusals.take(self.clock.now()) {
            report::unidentified(field, why, self.name(), passed_over);
        }
        let decision = &Decision::new(Arc::clone(&prepared.rules), self.clock.now());
        let refused = Refused::unidentified(*head, decision, why, prepared);
        Box::new(refused.respond(&*self.answer, &self.settings().headers))
    }
}

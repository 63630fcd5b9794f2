//! The decision about a request, and the state that all clones of a layer share.

use super::clock::Clock;
use super::headers::Told;
use super::keys::{Head, Keys, RequestFields};
use super::known::Known;
use super::layer::{RateLimit, ResponseHead, Settings};
use super::meters::{Fate, Meters, count_fault};
use super::refused::{Answer, Refused};
use super::report::{self, Sample};
use super::waiting::{Room, Seat};
use crate::event::Event;
use crate::outcome::{Decision, Retry};
use crate::rules::{Answered, AsyncStore, Details, Fault, Ruling};
use crate::time::{Span, Time};
use http::Response;
use std::sync::{Arc, OnceLock};

/// The state that all clones of a layer share.
pub(super) struct Shared<S, A, C> {
    store: S,
    answer: A,
    pub(super) clock: C,
    pub(super) settings: Settings,
    known: Known,
    room: Arc<Room>,
    /// Made at the first request, so that the recorder can be installed after the layer was made.
    meters: OnceLock<Meters>,
    refusals: Sample,
    faults: Sample,
}

/// The decision about a request.
pub(super) enum Judged<B> {
    Passes(Passed),
    /// It passes later, and holds a place in the queue until then.
    Waits {
        wait: Span,
        seat: Seat,
        passed: Passed,
    },
    Refused(Response<B>),
}

/// What is kept of a request that passed.
pub(super) struct Passed {
    /// The headers of its response.
    pub(super) told: Told,
    /// Who is charged afterwards, if anything is.
    pub(super) debtor: Option<Debtor>,
}

/// A request that is charged after it passed: its fields, and the ruling by which it did.
pub(super) struct Debtor {
    fields: Vec<(String, String)>,
    ruling: Ruling,
}

impl Debtor {
    fn new(event: &Event<'_>, ruling: &Ruling) -> Self {
        let field = |name: &str| Some((name.to_owned(), event.fields.value(name)?.to_owned()));
        let fields = ruling.rules().fields().into_iter().filter_map(field).collect();
        Debtor { fields, ruling: ruling.clone() }
    }
}

impl<S, A, C> Shared<S, A, C> {
    pub(super) fn new(limit: RateLimit<S, A, C>) -> Self {
        let RateLimit { store, answer, clock, settings } = limit;
        let sample = || Sample::new(settings.told);
        Shared {
            known: Known::default(),
            room: Arc::new(Room::new(settings.queue)),
            meters: OnceLock::new(),
            refusals: sample(),
            faults: sample(),
            store,
            answer,
            clock,
            settings,
        }
    }

    /// The number of requests in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.room.taken()
    }

    fn meters(&self) -> &Meters {
        self.meters.get_or_init(Meters::new)
    }

    fn details(&self) -> Details {
        Details { standings: self.settings.headers.want_standings(), retry: true }
    }

    fn cost(&self, head: Head<'_>) -> f64 {
        self.settings.cost.as_ref().map_or(1.0, |cost| cost(head))
    }
}

impl<S: AsyncStore, A, C: Clock> Shared<S, A, C> {
    /// Decides about a request if that needs no waiting; otherwise nothing is counted.
    pub(super) fn decide_now<B>(&self, head: Head<'_>) -> Option<Judged<B>>
    where
        A: Answer<B>,
    {
        if self.room.is_full() {
            return None;
        }
        let fields = &RequestFields::new(&self.settings.keys, head);
        let event = Event { time: self.clock.now(), cost: self.cost(head), fields };
        let answered = self.store.check_now(&event, self.details())?;
        Some(self.judge(head, &event, &answered))
    }

    /// Decides about a request.
    pub(super) async fn decide<B>(&self, head: Head<'_>) -> Judged<B>
    where
        A: Answer<B>,
    {
        let (time, cost, details) = (self.clock.now(), self.cost(head), self.details());
        let ask = Asking { keys: &self.settings.keys, head, time, cost };
        if self.room.is_full() {
            // A request that cannot wait must not be counted.
            let looking = ask.with(|event| self.store.peek(event, details));
            let looked = looking.await;
            if wait(&looked) > Span::ZERO {
                return ask.with(|event| self.judge(head, event, &looked));
            }
        }
        let answered = match ask.with(|event| self.store.check_now(event, details)) {
            Some(answered) => answered,
            None => {
                let asking = ask.with(|event| self.store.check(event, details));
                let answered = asking.await;
                self.meters().took(time.until(self.clock.now()));
                answered
            }
        };
        ask.with(|event| self.judge(head, event, &answered))
    }

    /// Decides about a request by the answer of the store, and counts and logs the decision.
    fn judge<B>(&self, head: Head<'_>, event: &Event<'_>, answered: &Answered) -> Judged<B>
    where
        A: Answer<B>,
    {
        let Answered { ruling, standings, retry, fault } = answered;
        let (headers, meters) = (&self.settings.headers, self.meters());
        let known = self.known.of(ruling.rules(), &self.settings);
        for opinion in ruling.opinions() {
            known.count(&opinion);
        }
        meters.count_keys(event.time, || self.store.memory());
        if let Some(fault) = fault {
            self.fault(fault, event.time);
        }
        let told = |known, refused| headers.told(known, standings.as_ref(), refused);
        let passed = |known| {
            let is_charged = self.settings.is_charged_later();
            let debtor = is_charged.then(|| Debtor::new(event, ruling));
            Passed { told: told(known, None), debtor }
        };
        let retry = match ruling.decision() {
            Decision::Allowed { wait } if wait == Span::ZERO => {
                meters.count(Fate::Allowed);
                return Judged::Passes(passed(known));
            }
            Decision::Allowed { wait } => {
                if let Some(seat) = self.room.enter(meters.waiting()) {
                    meters.count(Fate::Delayed);
                    return Judged::Waits { wait, seat, passed: passed(known) };
                }
                Some(Retry::After(wait))
            }
            Decision::Refused => *retry,
        };
        let refused = Refused { head, ruling, retry, fault: fault.as_ref(), known: &known };
        let unavailable = refused.is_unavailable();
        meters.count(if unavailable { Fate::Unavailable } else { Fate::Refused });
        if let Some(passed_over) = self.refusals.take(event.time) {
            report::refused(event, &refused, passed_over);
        }
        let mut response = self.answer.answer(&refused);
        let retry = refused.retry_after();
        told(known, Some(retry)).put(response.headers_mut());
        Judged::Refused(response)
    }

    /// Counts the cost that the head of the response tells.
    pub(super) async fn charge_head(&self, debtor: &Debtor, response: ResponseHead<'_>) {
        let Some(cost) = &self.settings.charge else { return };
        self.charge(debtor, cost(response)).await;
    }

    /// Counts the cost of a body of which so many bytes were sent.
    pub(super) async fn charge_sent(&self, debtor: &Debtor, bytes: u64) {
        let Some(cost) = &self.settings.charge_sent else { return };
        self.charge(debtor, cost(bytes)).await;
    }

    async fn charge(&self, debtor: &Debtor, cost: f64) {
        let time = self.clock.now();
        let Debtor { fields, ruling } = debtor;
        let charging = self.store.charge(&Event { time, cost, fields }, Some(ruling));
        if let Err(fault) = charging.await {
            self.fault(&fault, time);
        }
    }

    fn fault(&self, fault: &Fault, now: Time) {
        count_fault(fault);
        if let Some(passed_over) = self.faults.take(now) {
            report::fault(fault, passed_over);
        }
    }
}

/// A request about which a store is asked.
#[derive(Clone, Copy)]
struct Asking<'a> {
    keys: &'a Keys,
    head: Head<'a>,
    time: Time,
    cost: f64,
}

impl Asking<'_> {
    /// Calls `ask` with the event of the request. Its fields cannot be kept while a store is waited
    /// for, so they are found again.
    fn with<T>(&self, ask: impl FnOnce(&Event<'_>) -> T) -> T {
        let Asking { keys, head, time, cost } = *self;
        let fields = &RequestFields::new(keys, head);
        ask(&Event { time, cost, fields })
    }
}

/// The wait of an allowed request.
fn wait(answered: &Answered) -> Span {
    match answered.ruling.decision() {
        Decision::Allowed { wait } => wait,
        Decision::Refused => Span::ZERO,
    }
}

//! The task that gives back the rest of leases that have ended, and tells Redis of refused events that count. It begins
//! the calls about keys that are synced, too.

use super::super::call::{Call, Leasing, Op};
use super::super::link::within_a_runtime;
use super::super::question::{Does, EventKey, Question};
use super::super::script::Leases as LeaseScript;
use super::Leases;
use super::table::Return;
use core::sync::atomic::Ordering;
use core::time::Duration;
use ratescope::limit::MAX_COST;
use ratescope::rules::Details;
use ratescope::share::Unused;
use ratescope::time::Time;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// How many calls the task makes at a time.
const AT_A_TIME: usize = 32;

impl Leases {
    /// Starts the task that gives back and tells, unless it runs, if there is a runtime. It looks once in each `pause`, and
    /// ends with the store.
    pub(in super::super) fn sweep(self: &Arc<Self>, pause: Duration) {
        let pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        let is_swept = self.is_swept.load(Ordering::Relaxed);
        if is_swept && self.pause.load(Ordering::Relaxed) <= pause || within_a_runtime().is_err() {
            return;
        }
        if self.pause.swap(pause, Ordering::Relaxed) > pause {
            self.hurry.notify_one();
        }
        if self.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        // Also if its runtime ends, so that another can start it.
        let ends = Ends(Arc::downgrade(self));
        tokio::spawn(async move {
            while let Some(leases) = ends.0.upgrade() {
                leases.tell_due();
                leases.sweep_once().await;
                let pause = Duration::from_micros(leases.pause.load(Ordering::Relaxed));
                let hurry = leases.hurry.notified();
                let _ = timeout(pause, hurry).await;
            }
        });
    }

    pub(super) async fn sweep_once(self: &Arc<Self>) {
        let _alone = self.returning.lock().await;
        let (tells, returns) = self.ended();
        let host = Time::from(std::time::SystemTime::now());
        let mut calls = JoinSet::new();
        for (question, cost) in tells {
            let leases = Arc::clone(self);
            calls.spawn(async move {
                leases.tell_refused(question, cost, host, leases.link.until()).await;
            });
            if calls.len() >= AT_A_TIME {
                calls.join_next().await;
            }
        }
        for one in returns {
            let leases = Arc::clone(self);
            calls.spawn(async move { leases.return_one(one, host).await });
            if calls.len() >= AT_A_TIME {
                calls.join_next().await;
            }
        }
        while calls.join_next().await.is_some() {}
    }

    /// Takes the sums of refused events, each with its key, and the leases to give back, where their time has ended.
    fn ended(&self) -> (Vec<(Question, f64)>, Vec<Return>) {
        let now = self.now();
        let mut table = self.table();
        let mut tells = Vec::new();
        let mut returns = core::mem::take(&mut table.returns);
        table.keys.retain(|_, entry| {
            if let Some(unused) = entry.lease.unused(now) {
                returns.push(entry.returned(unused, now));
            }
            if entry.refused > 0.0 && !entry.knows(now) {
                tells.push((entry.question.clone(), core::mem::take(&mut entry.refused)));
            }
            !entry.lease.is_over(now, entry.length)
        });
        (tells, returns)
    }

    async fn return_one(&self, one: Return, now: Time) {
        let Return { mut question, cost, unused, at } = one;
        let Unused { serial, left, .. } = unused;
        question.does = Does::GiveBack(at);
        question.asks.iter_mut().for_each(|ask| ask.cost = left as f64 * cost);
        let words = [self.process_of(cost), serial];
        let leasing = Leasing {
            leases: LeaseScript::TakeBack,
            keys: question.keys.iter().map(EventKey::of_leases).collect(),
            argument: words.iter().flat_map(|word| word.to_be_bytes()).collect(),
        };
        let mut questions = [question];
        let clock = self.clock.source();
        let call = Call::about(&mut questions, Op::Check, Details::default(), clock, now, leasing);
        let Some(call) = call else { return };
        let known = self.link.run(&call, self.link.until(), |bytes| Some(!bytes.is_empty())).await;
        let tally = if known == Ok(true) { &self.tally.given_back } else { &self.tally.lost };
        tally.fetch_add(left, Ordering::Relaxed);
    }

    /// Tells Redis of refused events of one key. If it can't be asked, they are not counted.
    pub(super) async fn tell_refused(
        &self,
        mut question: Question,
        cost: f64,
        now: Time,
        until: Instant,
    ) {
        let cost = ratescope::internal::smaller(cost, MAX_COST);
        question.asks.iter_mut().for_each(|ask| ask.cost = cost);
        let (details, leasing) = (Details::default(), Leasing::default());
        let source = self.clock.source();
        if let Some(call) = Call::about(&mut [question], Op::Refuse, details, source, now, leasing)
        {
            let _ = self.link.run(&call, until, |_| Some(())).await;
        }
    }
}

/// Marks that the task has ended.
struct Ends(std::sync::Weak<Leases>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(leases) = self.0.upgrade() {
            leases.is_swept.store(false, Ordering::Relaxed);
        }
    }
}

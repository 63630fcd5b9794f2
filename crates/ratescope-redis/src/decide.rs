//! One decision about all events of a request, on one node or several.
//!
//! On one node it is one call of a script. In a cluster the keys, even those of one event, may be in several slots, and a
//! script may use only one. Then all slots are first asked at the same time, without counting. If all pass, the events
//! are counted in one slot after the other, beginning with the slot that has the least left. If a slot refuses after all,
//! since another decision came between, the earlier slots give back the events that they counted.

use super::call::{Call, Leasing, Op};
use super::link::{Link, within_a_runtime};
use super::options::TimeSource;
use super::question::{Does, Question};
use super::reply::{self, Reply};
use super::slots::slot;
use ratescope::internal::Asked;
use ratescope::limit::Limiter;
use ratescope::rules::{Details, Fault};
use ratescope::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// The questions to decide, and everything needed to ask Redis.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) link: Arc<Link>,
    pub(super) questions: Vec<Question>,
    pub(super) op: Op,
    pub(super) details: Details,
    pub(super) clock: TimeSource,
    pub(super) now: Time,
}

/// A slot of a cluster that was asked without counting.
struct Looked<'a> {
    /// The indices of its questions in the request.
    which: &'a [usize],
    least_left: f64,
    passes: bool,
}

/// The questions that were asked, and their replies. Both lists are on the heap: the futures that hold them are moved, and
/// room for several in place would make each of them some kilobytes larger.
pub(super) type Decided = (Vec<Question>, Vec<Reply>);

impl Request {
    /// Decides within the deadline.
    pub(super) async fn decide(mut self, until: Instant) -> Result<Decided, Fault> {
        let Some(split) = self.split() else {
            return match self.slots() {
                slots if slots.len() > 1 => {
                    let events: Vec<usize> = (0..self.questions.len()).collect();
                    self.apart(&slots, &events, until).await
                }
                _ => self.together(until).await,
            };
        };
        let (events, questions): (Vec<usize>, Vec<Question>) = split.into_iter().unzip();
        let whole = core::mem::replace(&mut self.questions, questions);
        let slots = self.slots();
        let decided = self.apart(&slots, &events, until).await?;
        Ok(joined(whole, &events, decided))
    }

    /// If the keys of an event are in several slots: a question for each event and slot, with the index of the event.
    fn split(&self) -> Option<Vec<(usize, Question)>> {
        if !self.link.is_cluster() {
            return None;
        }
        let slots_of = |question: &Question| {
            let mut slots: Vec<u16> = question.keys.iter().map(|key| slot(&key.key)).collect();
            slots.sort_unstable();
            slots.dedup();
            slots
        };
        let each: Vec<Vec<u16>> = self.questions.iter().map(slots_of).collect();
        if each.iter().all(|slots| slots.len() < 2) {
            return None;
        }
        let mut split = Vec::new();
        for (event, (question, slots)) in self.questions.iter().zip(each).enumerate() {
            if slots.len() < 2 {
                split.push((event, question.clone()));
                continue;
            }
            for own in slots {
                let mut part = question.clone();
                part.keys.retain(|key| slot(&key.key) == own);
                split.push((event, part));
            }
        }
        Some(split)
    }

    /// In one call.
    pub(super) async fn together(mut self, until: Instant) -> Result<Decided, Fault> {
        let Request { link, questions, op, details, clock, now } = &mut self;
        if questions.iter().all(|question| question.keys.is_empty()) {
            let replies = questions.iter().map(|_| Reply::nothing(*now)).collect();
            return Ok((self.questions, replies));
        }
        let too_large = || Fault::failed("the decision has more limits than a call can hold");
        let leasing = Leasing::default();
        let call = Call::about(questions, *op, *details, *clock, *now, leasing);
        let call = call.ok_or_else(too_large)?;
        let read = |bytes: &[u8]| reply::read(questions, &call, bytes);
        let replies = link.run(&call, until, read).await?;
        Ok((self.questions, replies))
    }

    /// The indices of the questions, by slot of the cluster. All keys of a question are in one slot.
    fn slots(&self) -> Vec<Vec<usize>> {
        let mut slots = Vec::<(u16, Vec<usize>)>::new();
        if !self.link.is_cluster() || self.questions.len() < 2 {
            return Vec::new();
        }
        for (q, question) in self.questions.iter().enumerate() {
            let Some(first) = question.keys.first() else { continue };
            let own = slot(&first.key);
            match slots.iter_mut().find(|(known, _)| *known == own) {
                Some((_, questions)) => questions.push(q),
                None => slots.push((own, vec![q])),
            }
        }
        slots.into_iter().map(|(_, questions)| questions).collect()
    }

    /// A request with the questions `which` for whose intent `of` is true; `None` without such questions.
    fn part(&self, which: &[usize], of: impl Fn(Does) -> bool, op: Op) -> Option<Request> {
        let chosen = which.iter().filter_map(|q| self.questions.get(*q));
        let questions: Vec<Question> =
            chosen.filter(|question| of(question.does)).cloned().collect();
        let link = Arc::clone(&self.link);
        let Request { mut details, clock, now, .. } = *self;
        // The least left says which slot counts first.
        details.retry |= op == Op::Peek;
        let part = Request { link, questions, op, details, clock, now };
        (!part.questions.is_empty()).then_some(part)
    }

    /// In several calls. `events` has the index of the event of each question.
    async fn apart(
        self,
        slots: &[Vec<usize>],
        events: &[usize],
        until: Instant,
    ) -> Result<Decided, Fault> {
        within_a_runtime()?;
        let nothing = self.questions.iter().map(|_| Reply::nothing(self.now)).collect();
        let mut decided: Decided = (self.questions.clone(), nothing);
        let is_asked = |does| matches!(does, Does::Count | Does::Look);
        let mut looks = JoinSet::new();
        for (i, which) in slots.iter().enumerate() {
            if let Some(part) = self.part(which, is_asked, Op::Peek) {
                looks.spawn(async move { (i, part.together(until).await) });
            }
        }
        let mut parts = Vec::new();
        while let Some(looked) = looks.join_next().await {
            let (i, looked) = looked.map_err(Fault::failed)?;
            let looked = looked?;
            parts.push(Looked {
                which: &slots[i],
                least_left: least_left(&looked),
                passes: self.passes(&looked),
            });
            self.take(&slots[i], looked, is_asked, &mut decided);
        }
        if self.op == Op::Peek {
            return Ok(decided);
        }
        let is_counted = |does| does == Does::Count;
        if !parts.iter().all(|part| part.passes) {
            // Counts the refused events in all slots of those limiters that count such events.
            let (questions, replies) = &decided;
            let each = questions.iter().zip(replies).zip(events);
            let refused: BTreeSet<usize> = each
                .filter(|((question, reply), _)| !self.lets_pass(question, reply))
                .map(|(_, event)| *event)
                .collect();
            for which in slots {
                let is_refused = |q: &usize| events.get(*q).is_some_and(|it| refused.contains(it));
                let which: Vec<usize> = which.iter().copied().filter(is_refused).collect();
                let Some(part) = self.part(&which, is_counted, Op::Refuse) else { continue };
                // The request stays refused, even if a limit has room again by now or its node is gone.
                if let Ok(part) = part.together(until).await
                    && !self.passes(&part)
                {
                    self.take(&which, part, is_counted, &mut decided);
                }
            }
            return Ok(decided);
        }
        parts.sort_by(|a, b| a.least_left.total_cmp(&b.least_left));
        let mut counted: Vec<(&[usize], Vec<Reply>)> = Vec::new();
        for Looked { which, .. } in parts {
            let Some(part) = self.part(which, is_counted, self.op) else { continue };
            let part = match part.together(until).await {
                Ok(part) => part,
                Err(fault) => {
                    self.take_back(counted, until).await;
                    return Err(fault);
                }
            };
            let passes = self.passes(&part);
            let replies = part.1.clone();
            self.take(which, part, is_counted, &mut decided);
            if !passes {
                self.take_back(counted, until).await;
                return Ok(decided);
            }
            counted.push((which, replies));
        }
        let is_settled = |does| matches!(does, Does::Charge | Does::GiveBack(_));
        for which in slots {
            let Some(part) = self.part(which, is_settled, self.op) else { continue };
            match part.together(until).await {
                Ok(part) => self.take(which, part, is_settled, &mut decided),
                Err(fault) => {
                    self.take_back(counted, until).await;
                    return Err(fault);
                }
            }
        }
        Ok(decided)
    }

    /// Takes over the decisions about the questions `which` for whose intent `of` is true.
    fn take(
        &self,
        which: &[usize],
        (questions, replies): Decided,
        of: impl Fn(Does) -> bool,
        (into_questions, into_replies): &mut Decided,
    ) {
        let is_meant = |q: &&usize| self.questions.get(**q).is_some_and(|own| of(own.does));
        let answers = questions.into_iter().zip(replies);
        for (q, (question, reply)) in which.iter().filter(is_meant).zip(answers) {
            // The question as it was asked: with the sum of the costs of equal limits.
            into_questions[*q] = question;
            into_replies[*q] = reply;
        }
    }

    fn passes(&self, decided: &Decided) -> bool {
        passes(decided, self.details)
    }

    fn lets_pass(&self, question: &Question, reply: &Reply) -> bool {
        lets_pass(question, reply, self.details)
    }

    /// Gives back the events that these replies counted, in those limits that can. This has a deadline of its own, for
    /// which nobody waits.
    async fn take_back(&self, counted: Vec<(&[usize], Vec<Reply>)>, until: Instant) {
        let Request { clock, now, .. } = *self;
        let mut tasks = JoinSet::new();
        for (which, replies) in counted {
            // As they were asked at first: each with its own cost, not with the sum at its key.
            let own = which.iter().filter_map(|q| self.questions.get(*q));
            let own = own.filter(|question| question.does == Does::Count);
            let mut questions: Vec<Question> = own.cloned().collect();
            for (question, reply) in questions.iter_mut().zip(&replies) {
                question.does = Does::GiveBack(reply.time);
                let asks = question.asks.clone();
                let asked = Asked { asks: &asks, outcomes: &reply.outcomes };
                for (i, ask) in question.asks.iter_mut().enumerate() {
                    if !asked.counts(i, true) {
                        ask.cost = 0.0;
                    }
                }
            }
            let back = Request {
                link: Arc::clone(&self.link),
                questions,
                op: Op::Check,
                details: Details::default(),
                clock,
                now,
            };
            let own = back.link.until();
            tasks.spawn(back.together(own));
        }
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout_at(until, all).await.is_err() {
            tasks.detach_all();
        }
    }
}

/// True if all limits that can refuse let it pass.
pub(super) fn passes((questions, replies): &Decided, details: Details) -> bool {
    questions.iter().zip(replies).all(|(question, reply)| lets_pass(question, reply, details))
}

fn lets_pass(question: &Question, reply: &Reply, details: Details) -> bool {
    let mut each = question.asks.iter().zip(&reply.outcomes);
    each.all(|(ask, outcome)| !ask.is_firm() || details.lets_pass(outcome.wait))
}

/// The answers to whole questions, from those of their parts. Each limit was asked in one slot.
fn joined(whole: Vec<Question>, events: &[usize], (parts, answers): Decided) -> Decided {
    let mut replies: Vec<Option<Reply>> = whole.iter().map(|_| None).collect();
    let mut whole = whole;
    for ((part, answer), event) in parts.into_iter().zip(answers).zip(events) {
        let (Some(question), Some(reply)) = (whole.get_mut(*event), replies.get_mut(*event)) else {
            continue;
        };
        let Some(reply) = reply else {
            question.asks = part.asks;
            *reply = Some(answer);
            continue;
        };
        reply.time = reply.time.max(answer.time);
        let places = part.keys.iter().flat_map(|key| part.places(key));
        for place in places {
            if let (Some(to), Some(from)) = (question.asks.get_mut(place), part.asks.get(place)) {
                *to = *from;
            }
            if let (Some(to), Some(from)) =
                (reply.outcomes.get_mut(place), answer.outcomes.get(place))
            {
                *to = *from;
            }
            let states = reply.states.as_mut().zip(answer.states.as_ref());
            if let Some((to, from)) =
                states.and_then(|(to, from)| Some((to.get_mut(place)?, from.get(place)?)))
            {
                *to = from.clone();
            }
        }
    }
    let time = replies.iter().flatten().map(|reply| reply.time).max().unwrap_or(Time::ZERO);
    let replies = replies.into_iter().map(|reply| reply.unwrap_or_else(|| Reply::nothing(time)));
    (whole, replies.collect())
}

/// The smallest share that is left of any of the limits.
fn least_left((questions, replies): &Decided) -> f64 {
    let mut least = f64::INFINITY;
    for (question, reply) in questions.iter().zip(replies) {
        let Some(states) = &reply.states else { continue };
        for (ask, state) in question.asks.iter().zip(states).filter(|(ask, _)| ask.is_firm()) {
            let Some(limiter) = question.item(ask).map(|item| &item.limiter) else { continue };
            let size = limiter.remaining(&limiter.initial(), reply.time);
            least = least.min(limiter.remaining(state, reply.time) / size);
        }
    }
    least
}

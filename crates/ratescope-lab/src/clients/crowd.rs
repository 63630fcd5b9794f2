//! The clients of one lane at work.

use super::{Job, Way};
use crate::compare::script::{Script, When};
use crate::traffic::Random;
use ratescope::outcome::{Outcome, Retry};
use ratescope::time::{Span, Time};

/// All clients of a lane, and the requests that they have got through so far.
///
/// Its size is fixed at the start: at most [`CLIENTS`](super::CLIENTS), each with at most ten requests under way.
#[derive(Clone, Debug)]
pub struct Crowd {
    clients: Vec<Client>,
    slots: Vec<Slot>,
    /// When the first of the slots sends next.
    due: Time,
    begun: Option<Time>,
    last: Time,
    sent: u64,
    retries: u64,
    passed: u64,
    given_up: u64,
    left: u64,
    longest: Span,
    /// The second of the last request, the requests in it, and the most in any second.
    second: (i64, u32, u32),
}

#[derive(Clone, Debug)]
struct Client {
    user: u32,
    cost: f64,
    job: Job,
    random: Random,
    /// Requests that no slot has taken yet.
    unsent: u32,
    /// Requests that have neither passed nor been given up.
    open: u32,
    /// The time of its latest answer, so far or in the end.
    answered: Time,
}

/// A place for one request under way.
#[derive(Clone, Debug)]
struct Slot {
    client: u32,
    /// When it sends next; [`Time::LAST`] if it has nothing left to send.
    next: Time,
    /// When the request was sent first; `None` between requests.
    first: Option<Time>,
    /// The last wait, in seconds, with and without its jitter.
    wait: Option<[f64; 2]>,
    flight: Option<Flight>,
}

/// A refused request on its way back to its client, and waiting there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// The number of the client in the crowd, from 0.
    pub client: u32,
    /// When it was refused.
    pub refused: Time,
    /// When the client knows.
    pub back: Time,
    /// When the client sends it again.
    pub again: Time,
}

pub(crate) struct Request {
    slot: u32,
    pub(crate) user: u32,
    pub(crate) cost: f64,
}

impl Crowd {
    /// The clients of the script that begin now or later; `None` if it has no clients. Those who would have begun
    /// earlier begin at `now`. `way` replaces their own ways to try again.
    pub(crate) fn new(script: &Script, seed: u64, way: Option<Way>, now: Time) -> Option<Self> {
        let mut crowd = Crowd {
            clients: Vec::new(),
            slots: Vec::new(),
            due: Time::LAST,
            begun: None,
            last: now,
            sent: 0,
            retries: 0,
            passed: 0,
            given_up: 0,
            left: 0,
            longest: Span::ZERO,
            second: (i64::MIN, 0, 0),
        };
        for (phase, n) in script.phases.iter().zip(1..) {
            let When::Clients(job) = &phase.when else { continue };
            let job = Job { way: way.unwrap_or(job.way), ..job.clone() };
            let begin = Time::ZERO.after(job.at).max(now);
            // As for streams, a phase has a seed of its own; so has each client.
            let seed = seed.wrapping_add(n);
            for (user, number) in job.users.iter().zip(1_u64..) {
                let client = crowd.clients.len() as u32;
                let together = job.together.min(job.requests);
                for _ in 0..together {
                    crowd.slots.push(Slot {
                        client,
                        next: begin,
                        first: None,
                        wait: None,
                        flight: None,
                    });
                }
                crowd.due = crowd.due.min(begin);
                crowd.left += u64::from(job.requests);
                crowd.clients.push(Client {
                    user: *user,
                    cost: phase.cost,
                    random: Random::new(seed ^ (number << 32)),
                    unsent: job.requests - together,
                    open: job.requests,
                    answered: begin,
                    job: job.clone(),
                });
            }
        }
        (!crowd.clients.is_empty()).then_some(crowd)
    }

    /// When the next request comes; [`Time::LAST`] means never.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Takes the next request at `at`, if there is one.
    pub(crate) fn take(&mut self, at: Time) -> Option<Request> {
        if self.due != at {
            return None;
        }
        let Some(i) = self.slots.iter().position(|slot| slot.next == at) else {
            // All of them at this instant are under way.
            self.due = self.slots.iter().map(|slot| slot.next).min().unwrap_or(Time::LAST);
            return None;
        };
        let slot = self.slots.get_mut(i)?;
        let client = self.clients.get_mut(slot.client as usize)?;
        slot.next = Time::LAST;
        if slot.first.is_none() {
            slot.first = Some(at);
        } else {
            self.retries += 1;
        }
        slot.flight = None;
        self.begun = self.begun.or(Some(at));
        self.last = at;
        self.sent += 1;
        let second = at.as_micros().div_euclid(1_000_000);
        let (last, count, most) = self.second;
        let count = if second == last { count + 1 } else { 1 };
        self.second = (second, count, most.max(count));
        Some(Request { slot: i as u32, user: client.user, cost: client.cost })
    }

    /// Gives a client the decision about its request. `told` is asked when the limiter would let it pass.
    pub(crate) fn answer(
        &mut self,
        request: &Request,
        at: Time,
        outcome: &Outcome,
        told: impl FnOnce() -> Retry,
    ) {
        let Some(slot) = self.slots.get_mut(request.slot as usize) else { return };
        let Some(client) = self.clients.get_mut(slot.client as usize) else { return };
        let back = at.after(client.job.answer);
        let told = || match told() {
            Retry::After(wait) => Some(wait.as_secs_f64()),
            Retry::Never => None,
        };
        let wait = match outcome.wait {
            Some(_) => None,
            None => client.job.way.wait(slot.wait, told, &mut client.random),
        };
        if let Some([seconds, _]) = wait {
            slot.wait = wait;
            slot.next = back.after(span(seconds));
            slot.flight = Some(Flight { client: slot.client, refused: at, back, again: slot.next });
            return;
        }
        // It passed, at once or from a queue, or it is given up.
        let queued = outcome.wait.unwrap_or_default();
        let back = back.after(queued);
        if outcome.is_allowed() {
            self.passed += 1;
            let first = slot.first.unwrap_or(at);
            self.longest = self.longest.max(first.until(at.after(queued)));
        } else {
            self.given_up += 1;
        }
        self.left -= 1;
        client.open -= 1;
        client.answered = client.answered.max(back);
        (slot.first, slot.wait) = (None, None);
        if client.unsent > 0 {
            client.unsent -= 1;
            slot.next = back.after(client.job.pause);
        }
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Requests sent so far, with those that were sent again.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The requests among the [sent](Self::sent) ones that had been refused before.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Requests that passed.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Requests that were given up after a refusal.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Requests of all jobs that have neither passed nor been given up.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The same of each client, in the order of the script.
    pub fn clients_left(&self) -> Vec<u32> {
        self.clients.iter().map(|client| client.open).collect()
    }

    /// The longest time from the first try of a request until it passed.
    pub fn longest(&self) -> Span {
        self.longest
    }

    /// The most requests in a second of the clock.
    pub fn busiest(&self) -> u32 {
        self.second.2
    }

    /// How long after the first request the first client had its last answer, and the last client; `None` for clients
    /// that are still at work.
    pub fn done(&self) -> [Option<Span>; 2] {
        let begun = self.begun.unwrap_or(Time::ZERO);
        let done = |client: &Client| (client.open == 0).then(|| begun.until(client.answered));
        let first = self.clients.iter().filter_map(done).min();
        let last =
            self.clients.iter().map(done).try_fold(Span::ZERO, |last, one| Some(last.max(one?)));
        [first, last]
    }

    /// The requests a second that the service saw, from the first to the last of them, but at least over `period`.
    pub fn rate(&self, period: Span) -> f64 {
        let begun = self.begun.unwrap_or(self.last);
        self.sent as f64 / self.last.since(begun).max(period.as_secs_f64())
    }

    /// The requests that were refused and will be sent again, by client.
    pub fn flights(&self) -> impl Iterator<Item = Flight> {
        self.slots.iter().filter_map(|slot| slot.flight)
    }

    /// The most requests a second.
    pub(crate) fn fastest(&self) -> f64 {
        let each = self
            .clients
            .iter()
            .map(|client| f64::from(client.job.together) / client.job.answer.as_secs_f64());
        each.sum()
    }
}

/// A wait of a way to try again, which is in the range of a span.
fn span(seconds: f64) -> Span {
    Span::try_from_secs_f64(seconds).unwrap_or_default()
}

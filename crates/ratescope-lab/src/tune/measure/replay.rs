//! The replay of a limiter over the kept events: its refusals, by client and by hour.

use super::{Curve, Hours, Measure, Share};
use crate::tune::threads::{lock, on_each};
use crate::tune::{Clients, LogClock, Summary};
use core::cmp::Reverse;
use core::mem;
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;
use ratescope::time::Time;
use std::sync::Mutex;

/// A client with refused requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedClient {
    /// The place among the clients.
    pub place: usize,
    /// The number of its requests.
    pub requests: u64,
    /// The number of its refused requests.
    pub refused: u64,
    /// The time of the first refusal.
    pub first: Time,
}

impl RefusedClient {
    /// The `most` clients with the most refusals; of equals, the busiest come first.
    pub(super) fn most(refused: impl Iterator<Item = Self>, most: usize) -> Vec<Self> {
        let mut refused: Vec<Self> = refused.collect();
        refused.sort_by_key(|one| (Reverse(one.refused), Reverse(one.requests), one.place));
        refused.truncate(most);
        refused.shrink_to_fit();
        refused
    }
}

/// A limiter that runs over the events of the clients, the busiest client first. It can pause after any client, so a
/// page stays responsive. The refusals found so far are a lower bound, and mostly nearly all.
#[derive(Clone, Debug)]
pub struct Replay {
    limiter: AnyLimiter,
    /// The places still to be visited, the next one last.
    ahead: Vec<usize>,
    refused_clients: Vec<RefusedClient>,
    touched: u64,
    refused: u64,
    hours: Hours,
    clock: LogClock,
    /// The refusals by path and by agent, if these are counted.
    refused_by: Option<[Vec<u64>; 2]>,
}

/// The parts among which the processors divide the work: enough that none waits long for another.
const PARTS: usize = 64;

impl Replay {
    /// Begins a replay. `clock` gives days and hours.
    ///
    /// Leaves out clients whose requests would pass even all at once, and clients whose levels stay within the limit,
    /// if one of `curves` has measured them. The curves must be of these clients.
    pub fn new(clients: &Clients, limiter: AnyLimiter, clock: &LogClock, curves: &[Curve]) -> Self {
        let measured = Measure::from_limiter(&limiter);
        let most = clients.highest_cost();
        let low = measured.and_then(|(measure, limit)| {
            let curve = curves.iter().find(|curve| curve.measure == measure)?;
            Some(curve.within(limit))
        });
        let within = |place: &usize| {
            let requests = clients.requests_of(*place);
            low.as_ref().is_some_and(|low| low(*place))
                || measured.is_some_and(|measured| is_within(measured, requests, most))
        };
        let mut ahead = clients.busiest_of(|place| !within(place));
        ahead.reverse();
        Replay::begin(limiter, ahead, clock.clone())
    }

    fn begin(limiter: AnyLimiter, ahead: Vec<usize>, clock: LogClock) -> Self {
        Replay {
            limiter,
            ahead,
            refused_clients: Vec::new(),
            touched: 0,
            refused: 0,
            hours: Hours::default(),
            clock,
            refused_by: None,
        }
    }

    /// Also counts the refusals by label: by path and by agent.
    pub fn counting_labels(self) -> Self {
        Replay { refused_by: Some(Default::default()), ..self }
    }

    /// Continues for about `budget` events and at least one client; returns whether the replay is done.
    pub fn advance(&mut self, clients: &Clients, budget: u64) -> bool {
        let mut events = 0;
        while events < budget.max(1) {
            let Some(place) = self.ahead.pop() else { break };
            self.client(clients, place);
            events += clients.requests_of(place);
        }
        self.ahead.is_empty()
    }

    /// Finishes the replay on all processors.
    pub fn finish(&mut self, clients: &Clients) {
        let ahead = mem::take(&mut self.ahead);
        // All parts have about as many clients, and equally busy ones.
        let part = |first| {
            let ahead = ahead.iter().skip(first).step_by(PARTS).copied().collect();
            let part = Replay::begin(self.limiter.clone(), ahead, self.clock.clone());
            if self.refused_by.is_some() { part.counting_labels() } else { part }
        };
        let parts = Mutex::new((0..PARTS).map(part).collect::<Vec<Replay>>());
        let some = || {
            let mut done = Vec::new();
            loop {
                let next = lock(&parts).pop();
                let Some(mut part) = next else { return done };
                part.advance(clients, u64::MAX);
                done.push(part);
            }
        };
        on_each(some).into_iter().flatten().for_each(|part| self.add(part));
        self.refused_clients
            .sort_unstable_by_key(|client| (Reverse(client.requests), client.place));
    }

    fn add(&mut self, part: Replay) {
        self.touched += part.touched;
        self.refused += part.refused;
        self.hours.add_all(&part.hours);
        self.refused_clients.extend(part.refused_clients);
        let by = self.refused_by.iter_mut().flatten();
        for (mine, its) in by.zip(part.refused_by.into_iter().flatten()) {
            mine.resize(mine.len().max(its.len()), 0);
            mine.iter_mut().zip(its).for_each(|(mine, its)| *mine += its);
        }
    }

    /// Runs a whole replay on this thread.
    pub fn run(clients: &Clients, limiter: AnyLimiter, clock: &LogClock) -> Self {
        let mut replay = Replay::new(clients, limiter, clock, &[]);
        replay.advance(clients, u64::MAX);
        replay
    }

    fn client(&mut self, clients: &Clients, place: usize) {
        let weight = clients.weight(place);
        let requests = clients.requests_of(place);
        let mut client: Option<RefusedClient> = None;
        let mut nth = 0;
        let mut refused = Vec::new();
        let counts_labels = self.refused_by.is_some();
        let moments = clients.moments(place).map(|moment| (moment.time, moment.cost));
        self.limiter.outcomes(moments, |time, outcome| {
            nth += 1;
            if outcome.is_allowed() {
                return;
            }
            if counts_labels {
                refused.push(nth - 1);
            }
            self.hours.add(self.clock.local(time), weight);
            let first = RefusedClient { place, requests, refused: 0, first: time };
            client.get_or_insert(first).refused += 1;
        });
        if let Some(client) = client {
            self.touched += weight;
            self.refused += client.refused * weight;
            self.refused_clients.push(client);
        }
        self.count_by(clients, place, &refused);
    }

    /// Counts the labels of a client's refused events: those at the places `refused` among its events.
    fn count_by(&mut self, clients: &Clients, place: usize, refused: &[usize]) {
        let Some(by) = &mut self.refused_by else { return };
        let mut from = 0;
        let mut moments = clients.labelled_moments(place);
        for at in refused {
            let Some((_, codes)) = moments.nth(at - from) else { return };
            from = at + 1;
            for (counts, code) in by.iter_mut().zip(codes) {
                let code = usize::from(code);
                counts.resize(counts.len().max(code + 1), 0);
                if let Some(count) = counts.get_mut(code) {
                    *count += clients.weight(place);
                }
            }
        }
    }

    /// The limiter.
    pub fn limiter(&self) -> &AnyLimiter {
        &self.limiter
    }

    /// Tells whether all clients were visited.
    pub fn is_done(&self) -> bool {
        self.ahead.is_empty()
    }

    /// The number of clients with refused requests, and of all clients.
    pub fn touched(&self, clients: &Clients) -> Share {
        Share { touched: self.touched, clients: clients.clients() }
    }

    /// The number of refused requests.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The clients with refused requests, the busiest first.
    pub fn refused_clients(&self) -> &[RefusedClient] {
        &self.refused_clients
    }

    /// The `most` clients with the most refusals.
    pub fn most_refused(&self, most: usize) -> Vec<RefusedClient> {
        RefusedClient::most(self.refused_clients.iter().copied(), most)
    }

    /// The refusals by the number of the path, and by the number of the agent.
    pub(in crate::tune) fn refused_by(&self) -> &[Vec<u64>] {
        self.refused_by.as_ref().map_or(&[], |by| by)
    }

    /// The hours of the refusals.
    pub fn hours(&self) -> &Hours {
        &self.hours
    }

    /// The result in words, as in "would have refused 92 of 10,000 requests, all from 2 of 1,753 clients; 74 of these
    /// requests came from 192.0.2.9, first on 18 May at 08:05". `noun` is the word for the events.
    pub fn describe(&self, summary: &Summary, noun: &str) -> String {
        let clients = &summary.clients;
        let Share { touched, clients: all } = self.touched(clients);
        let of_all = grouped(all);
        let s = plural(all);
        // Of equal clients, the busiest: `max_by_key` takes the last.
        let from_behind = self.refused_clients.iter().rev();
        let Some(most) = from_behind.max_by_key(|client| client.refused) else {
            return format!("would have refused no {noun} of {of_all} client{s}");
        };
        let requests = clients.requests() - clients.left_out();
        let about = if clients.left_out() > 0 { "about " } else { "" };
        let refused = format!(
            "would have refused {about}{} of {} {noun}{}, all from {} of {of_all} client{s}",
            grouped(self.refused),
            grouped(requests),
            plural(requests),
            grouped(touched),
        );
        let key = summary.name(most.place);
        let first = self.clock.in_words(most.first);
        let n = grouped(most.refused);
        let whole = self.refused;
        match most.refused {
            _ if touched == 1 => format!("{refused}: {key}, first on {first}"),
            many if 2 * many > whole => {
                format!("{refused}; {n} of these {noun}s came from {key}, first on {first}")
            }
            _ => format!("{refused}; {n} of them from {key}, first on {first}"),
        }
    }
}

/// Tells whether a limiter certainly lets this number of requests of a cost up to `most` pass, at whatever times they
/// come. No level is above the sum of all costs, with two exceptions: the estimate of EARRRL is the sum times ln 2
/// times the period in half-lives, and some servers round costs up. The margin covers roundings.
fn is_within((measure, limit): (Measure, f64), requests: u64, most: f64) -> bool {
    let each = match measure {
        Measure::Earrrl(per, half_life) => {
            most * core::f64::consts::LN_2 * per.as_secs_f64() / half_life.as_secs_f64()
        }
        Measure::Nginx(_) | Measure::Haproxy(..) | Measure::Fail2ban(..) => libm::ceil(most),
        _ => most,
    };
    requests as f64 * each * 1.000_001 < limit
}

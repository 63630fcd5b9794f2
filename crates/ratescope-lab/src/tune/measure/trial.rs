//! The trial of a policy on every event, in the order of the log.

use super::RefusedClient;
use crate::tune::Clients;
use core::hash::BuildHasher;
use ratescope::event::{Event, Fields};
use ratescope::policy::{Limit, Per, Policy};
use ratescope::rules::MemoryStore;
use ratescope::time::Time;
use ratescope_config::Filter;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::RandomState;

/// A policy at work, and the clients that it touched. Unlike a [`Replay`](crate::tune::Replay), a
/// trial takes policies of several limits with different keys, but has to see the events while they are read.
#[derive(Debug)]
pub struct Trial {
    policy: Policy,
    store: MemoryStore,
    /// The number of refused events of each touched client, and the time of the first, by the hash of the client's key:
    /// keys may be long.
    touched: HashMap<u64, (u64, Time)>,
    hasher: RandomState,
    keys: usize,
    /// The prefix lengths by which the policy groups IPv4 and IPv6 addresses; `None` for those of the clients.
    pub prefixes: Option<(u8, u8)>,
    only: Option<Filter>,
    /// The number of events that it was tried on.
    pub events: u64,
    /// The fields of the limits, and of the test of their events, that no event had.
    unseen: Vec<String>,
    /// More clients had refused events than the trial remembers.
    pub has_more: bool,
    /// The number of refused events.
    pub refused: u64,
    /// The number of events without any field of a limit: the limit counts them as one client.
    pub keyless: u64,
}

/// The field that a log of one host lacks.
const HOST: &str = "host";

impl Trial {
    /// A trial that remembers at most `keys` keys of each limit and at most `keys` touched clients.
    pub fn new(policy: Policy, keys: usize) -> Self {
        Trial {
            unseen: policy.fields().map(str::to_owned).collect(),
            store: MemoryStore::new(policy.clone(), keys),
            policy,
            touched: HashMap::new(),
            hasher: RandomState::new(),
            keys,
            prefixes: None,
            only: None,
            events: 0,
            has_more: false,
            refused: 0,
            keyless: 0,
        }
    }

    /// Tries it only on the events that pass.
    pub fn only(mut self, only: Filter) -> Self {
        self.unseen.extend(only.fields().filter(|field| *field != HOST).map(str::to_owned));
        self.only = Some(only);
        self
    }

    /// The fields that events must have for it to be tried.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.policy().fields().chain(self.only.iter().flat_map(Filter::fields))
    }

    /// Decides an event. `per` makes the key of its client.
    pub fn check(&mut self, event: &Event<'_>, per: &Per) {
        self.check_client(event, event.fields, per);
    }

    /// Decides an event. `per` makes the key of its client from the fields `client`.
    pub(in crate::tune) fn check_client(
        &mut self,
        event: &Event<'_>,
        client: &dyn Fields,
        per: &Per,
    ) {
        let lacks = |limit: &Limit| {
            let fields = limit.per.fields();
            !fields.is_empty() && fields.iter().all(|field| event.field(field).is_empty())
        };
        self.unseen.retain(|field| event.field(field).is_empty());
        if self.only.as_ref().is_some_and(|only| !only.passes(event.fields)) {
            return;
        }
        self.events += 1;
        self.keyless += u64::from(self.policy().limits().iter().any(lacks));
        if self.store.check(event).is_allowed() {
            return;
        }
        self.refused += 1;
        let key = self.hasher.hash_one(crate::tune::key(client, per));
        let has_room = self.touched.len() < self.keys;
        match self.touched.entry(key) {
            Entry::Occupied(mut known) => known.get_mut().0 += 1,
            Entry::Vacant(new) if has_room => _ = new.insert((1, event.time)),
            Entry::Vacant(_) => self.has_more = true,
        }
    }

    /// The fields of the limits, and of the test of their events, that no event had.
    pub fn unseen(&self) -> &[String] {
        &self.unseen
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The number of clients with refused events; if the trial [`has_more`](Self::has_more), the number that it
    /// remembers.
    pub fn touched(&self) -> u64 {
        self.touched.len() as u64
    }

    /// Of the clients in `clients`, the `most` with the most remembered refusals.
    pub fn most_refused(&self, clients: &Clients, most: usize) -> Vec<RefusedClient> {
        let refused = |place| {
            let hash = self.hasher.hash_one(clients.key(place));
            let (refused, first) = *self.touched.get(&hash)?;
            Some(RefusedClient { place, requests: clients.requests_of(place), refused, first })
        };
        RefusedClient::most((0..clients.len()).filter_map(refused), most)
    }

    /// The number of keys evicted for lack of room. Above 0, the other numbers are not exact.
    pub fn evicted(&self) -> u64 {
        self.store.evicted()
    }
}

//! The trial of a policy on every event as it comes.

use crate::event::Event;
use crate::policy::{Limit, Per, Policy};
use crate::store::Store;
use core::hash::BuildHasher;
use std::collections::HashSet;
use std::hash::RandomState;

/// A policy decided by a [`Store`], and the clients that it touched. Unlike a
/// [`Replay`](crate::lab::tune::Replay) it serves policies of several limits with keys of their own, and must
/// be there when events are read.
#[derive(Debug)]
pub struct Trial {
    store: Store,
    /// The hashes of the touched clients' keys, which may be long.
    touched: HashSet<u64>,
    hasher: RandomState,
    keys: usize,
    /// Whether more clients were refused something than it remembers.
    pub has_more: bool,
    /// The number of refused events.
    pub refused: u64,
    /// The number of events that have none of the fields of a limit, which counts them as one client.
    pub keyless: u64,
}

impl Trial {
    /// A trial that remembers at most `keys` keys of each limit, and as many touched clients.
    pub fn new(policy: Policy, keys: usize) -> Self {
        let (touched, hasher, has_more, refused, keyless) = Default::default();
        Trial { store: Store::new(policy, keys), touched, hasher, keys, has_more, refused, keyless }
    }

    /// Decides about an event. `per` makes the key of its client.
    pub fn see(&mut self, event: &Event<'_>, per: &Per) {
        let lacks = |limit: &Limit| {
            let fields = limit.per.fields();
            !fields.is_empty() && fields.iter().all(|field| event.field(field).is_empty())
        };
        self.keyless += u64::from(self.policy().limits().iter().any(lacks));
        if self.store.check(event).is_allowed() {
            return;
        }
        self.refused += 1;
        let key = self.hasher.hash_one(crate::lab::tune::key(event.fields, per));
        match self.touched.len() < self.keys {
            true => _ = self.touched.insert(key),
            false => self.has_more |= !self.touched.contains(&key),
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        self.store.policy()
    }

    /// The number of clients that were refused something; if it [`has_more`](Self::has_more), the number of
    /// those that it remembers.
    pub fn touched(&self) -> u64 {
        self.touched.len() as u64
    }

    /// The number of keys forgotten for want of room. If there are any, the other numbers are not
    /// exact.
    pub fn forgotten(&self) -> u64 {
        self.store.forgotten()
    }
}

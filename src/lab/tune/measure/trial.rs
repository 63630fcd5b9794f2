//! The trial of a policy on every event as it comes.

use crate::event::Event;
use crate::policy::{Per, Policy};
use crate::store::Store;
use std::collections::HashSet;

/// A policy decided by a [`Store`], and the clients that it touched. Unlike a
/// [`Replay`](crate::lab::tune::Replay) it serves policies of several limits with keys of their own, and must
/// be there when events are read.
#[derive(Debug)]
pub struct Trial {
    store: Store,
    touched: HashSet<String>,
    refused: u64,
}

impl Trial {
    /// `policy` for at most `keys` keys of each limit.
    pub fn new(policy: Policy, keys: usize) -> Self {
        Trial { store: Store::new(policy, keys), touched: HashSet::new(), refused: 0 }
    }

    /// Decides about an event of the client that `per` makes of it.
    pub fn see(&mut self, event: &Event<'_>, per: &Per) {
        if self.store.check(event).is_allowed() {
            return;
        }
        self.refused += 1;
        let key = crate::lab::tune::key(event.fields, per);
        if !self.touched.contains(&*key) {
            self.touched.insert(key.into_owned());
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        self.store.policy()
    }

    /// The number of clients that were refused something.
    pub fn touched(&self) -> u64 {
        self.touched.len() as u64
    }

    /// The number of refused events.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The number of keys forgotten for want of room. If there are any, the other numbers are not
    /// exact.
    pub fn forgotten(&self) -> u64 {
        self.store.forgotten()
    }
}

//! Sampling: without room for all clients, some are kept, chosen so that counts stay right on average.
//!
//! The clients with a certain bit in the hash of their keys are dropped, about half of all, and each remaining client
//! then represents two. Later events of dropped clients, and new clients whose hash has the bit, are left out. So every
//! client, early or late, quiet or busy, is kept with a known probability, and any weighted count of clients is right
//! on average. (Source: C. A. Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015, which
//! samples the addresses of a cache in this way.)
//!
//! The busiest clients matter most and are few. So the busiest eighth, at least one client, stays with any hash, as far
//! as its events take at most half of the room, and represents no more clients than before. A single client takes
//! little more than a quarter of the room, and all labels an eighth. So halving always leaves clients.
//!
//! A dropped client that later becomes the busiest is missing.

use super::Clients;
use super::clients::{Moved, NOBODY};

/// The most halvings. A client then represents 2^32 clients, and the weighted counts of 2^32 events still fit in 64
/// bits.
pub(super) const MOST_HALVINGS: u8 = 32;

impl Clients {
    /// The share of the requests that is kept. Below 1, numbers of clients are estimates, since quiet clients were
    /// sampled.
    pub fn share_kept(&self) -> f64 {
        let offered = self.requests() - self.unusable();
        if offered == 0 { 1.0 } else { 1.0 - self.left_out() as f64 / offered as f64 }
    }

    /// How many clients each newly sampled client represents.
    pub fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// Returns whether a new client is part of the sample.
    pub(super) fn stays(&self, key: &str) -> bool {
        self.halvings == 0 || hash(key) & (self.one_in() - 1) == 0
    }

    pub(super) fn is_over(&self) -> bool {
        self.list.len() > self.room.clients || self.bytes() > self.room.bytes
    }

    /// Makes room: halves the clients until the rest fits.
    #[cold]
    pub(super) fn make_room(&mut self) {
        self.halve_while(|clients| {
            clients.is_over() && clients.halvings < MOST_HALVINGS && clients.len() > 1
        });
    }

    /// Halves the clients as long as `is_due` is true. For tickets, all these halvings are one step.
    pub(super) fn halve_while(&mut self, is_due: impl Fn(&Self) -> bool) {
        let halvings = self.halvings;
        let mut moved: Vec<u32> = (0..self.list.len() as u32).collect();
        while is_due(self) {
            let next = self.halve();
            for place in &mut moved {
                *place = next.get(*place as usize).copied().unwrap_or(NOBODY);
            }
        }
        self.moved = Moved { halvings, places: moved };
    }

    /// Drops about half of the clients. Returns the new place of each client by its old place.
    fn halve(&mut self) -> Vec<u32> {
        let exempt = self.exempt();
        let bit = 1 << self.halvings;
        self.halvings += 1;
        let mut stays = exempt;
        for place in 0..self.list.len() {
            let in_half = hash(self.key(place)) & bit == 0;
            if let (Some(stays), Some(client)) = (stays.get_mut(place), self.client_mut(place))
                && !*stays
            {
                *stays = in_half;
                client.halvings += 1;
            }
        }
        self.retain(&stays)
    }

    /// For each client, by place, whether it is one of the busiest, which stay.
    pub(super) fn exempt(&self) -> Vec<bool> {
        let mut exempt = vec![false; self.list.len()];
        let mut bytes = 0;
        let count = (self.room.clients.min(self.len()) / 8).max(1);
        for place in self.busiest().into_iter().take(count) {
            bytes += self.client(place).map_or(0, |client| client.outside());
            if bytes > self.room.bytes / 2 {
                break;
            }
            if let Some(exempt) = exempt.get_mut(place) {
                *exempt = true;
            }
        }
        exempt
    }

    /// Keeps the clients for which `stays` has `true` at their places. Returns the new place of each client, by its old
    /// one; [`NOBODY`] for those that are gone.
    fn retain(&mut self, stays: &[bool]) -> Vec<u32> {
        let mut moved = vec![NOBODY; self.list.len()];
        let mut places = stays.iter().zip(&mut moved);
        let mut kept = 0;
        let Clients { list, counts, key_bytes, outside, .. } = self;
        list.retain(|key, client| match places.next() {
            Some((true, moved)) => {
                *moved = kept;
                kept += 1;
                true
            }
            _ => {
                counts.left_out += u64::from(client.requests);
                *key_bytes -= key.len();
                *outside -= client.outside();
                false
            }
        });
        moved
    }
}

/// FNV-1a, then mixed so that every bit of the result depends on all bits. Without a seed, so that all readings of a
/// fleet's logs choose the same clients.
fn hash(key: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

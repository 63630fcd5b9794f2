//! What is done when there is no room for more: fewer clients are kept, chosen by a rule that does
//! not favour any answer.
//!
//! Half of the clients go, by a bit of a hash of their keys, and each that stays then stands for
//! two. Later events of the others are left out, those of new clients whose hash has the bit too.
//! So every client, early or late, quiet or busy, is kept with a chance that is known, and a count
//! of the clients of which something holds, each with its weight, is right on the average.
//! (Source: C. A. Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015,
//! which samples the addresses of a cache in this way.)
//!
//! The busiest matter most and are few: up to an eighth of the clients and half of the room, they
//! stay whatever their hash, and stand for themselves.

use super::Clients;

impl Clients {
    /// Of the requests, the share that is kept. Below 1, numbers of clients are estimates: of those
    /// that were quiet when the room was full, one in some was kept, and stands for so many.
    pub fn share_kept(&self) -> f64 {
        let offered = self.requests() - self.unusable();
        if offered == 0 { 1.0 } else { 1.0 - self.left_out() as f64 / offered as f64 }
    }

    /// For how many a client stands that is met now for the first time.
    pub fn one_in(&self) -> u64 {
        1 << self.sieve.min(62)
    }

    /// Whether a client that was not seen before is one of those that are kept.
    pub(super) fn stays(&self, key: &str) -> bool {
        self.sieve == 0 || hash(key) & (self.one_in() - 1) == 0
    }

    /// Halves the clients; the new place of each.
    pub(super) fn halve(&mut self) -> Vec<u32> {
        let exempt = self.exempt();
        let bit = 1 << self.sieve;
        self.sieve += 1;
        let mut stays = exempt;
        for place in 0..self.list.len() {
            let in_half = hash(self.key(place)) & bit == 0;
            if let (Some(stays), Some(client)) = (stays.get_mut(place), self.list.get_mut(place))
                && !*stays
            {
                *stays = in_half;
                client.doubled += 1;
            }
        }
        self.retain(|place| stays.get(place) == Some(&true))
    }

    /// By place, whether a client is among the busiest, which stay.
    fn exempt(&self) -> Vec<bool> {
        let mut exempt = vec![false; self.list.len()];
        let mut bytes = 0;
        for place in self.busiest().into_iter().take(self.room.clients.min(self.len()) / 8) {
            bytes += self.list.get(place).map_or(0, |client| client.outside());
            if bytes > self.room.bytes / 2 {
                break;
            }
            if let Some(exempt) = exempt.get_mut(place) {
                *exempt = true;
            }
        }
        exempt
    }
}

/// FNV-1a, and then mixed so that every bit depends on all: the same everywhere, so that all
/// readings of a fleet's logs choose the same clients.
fn hash(key: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

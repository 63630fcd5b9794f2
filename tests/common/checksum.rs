//! One number for many, in which each bit counts.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use ratescope::{Outcome, Retry, Time};

/// FNV-1a, eight bytes at a time.
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(0xcbf2_9ce4_8422_2325)
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Checksum {
    pub fn add(&mut self, bits: u64) {
        self.0 = (self.0 ^ bits).wrapping_mul(0x100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    pub fn number(&mut self, number: f64) {
        // NaN has many forms, and which one comes out is not said.
        self.add(if number.is_nan() { f64::NAN } else { number }.to_bits());
    }

    pub fn time(&mut self, time: Time) {
        self.add(time.as_micros() as u64);
    }

    pub fn outcome(&mut self, outcome: Outcome, retry_after: impl Fn() -> Retry) {
        self.add(u64::from(outcome.is_allowed()));
        self.add(outcome.level.to_bits());
        self.add(outcome.limit.to_bits());
        let wait = outcome.wait.or_else(|| retry_after().wait());
        self.add(wait.map_or(u64::MAX, |wait| wait.as_secs_f64().to_bits()));
    }
}

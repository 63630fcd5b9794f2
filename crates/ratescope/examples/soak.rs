//! A day of mixed traffic through a store of each limiter, in virtual time: `./scripts/soak`.
//!
//! Most senders are steady, some come in bursts, some are met once and never again, and one keeps to
//! half of its limit. Each hour the clock steps forward or back, by seconds to a day. In the
//! second half of the day, memory must stay as it was in the first; and the sender that keeps to its
//! limit must never be locked out for longer than a few periods by any step of the clock.

use allocation_counter::measure;
use ratescope::event::Event;
use ratescope::{MemoryStore, Policy, Time};
use std::time::Instant;

/// Each counts in periods of a minute.
const LIMITERS: [&str; 16] = [
    "exim 60/1m strict",
    "exim 60/1m leaky",
    "earrrl 60/1m half-life 1m",
    "token-bucket 60/1m",
    "gcra 60/1m",
    "leaky-bucket 60/1m",
    "fixed-window 60/1m",
    "sliding-window 60/1m precision 5s",
    "sliding-counter 60/1m",
    "sliding-log 60/1m",
    "adaptive x3 decay 1m increase 1h floor 60",
    "haproxy 60/1m allowed",
    "nginx 60/1m burst 60",
    "envoy 60/1m",
    "fail2ban 60/1m ban 1m",
    "adaptive x3 decay 1m by hour floor 60",
];

const HOURS: usize = 24;

/// The hours whose memory the later ones may exceed by a tenth only. The content of a log differs with the steps of the
/// clock.
const FILLING: usize = 12;

/// The seconds for which a sender within its limit may be refused after a step: a few periods.
const LONGEST: u64 = 4 * 60;

/// The senders of a second that have come before.
const SENDERS: u64 = 20;

/// The events of a burst, more than any limit admits.
const BURST: u64 = 100;

fn main() {
    let begun = Instant::now();
    println!("{:45}{:>12}{:>9}{:>10}{:>10}", "limiter", "events", "passed", "MB after", "MB, most");
    for limiter in LIMITERS {
        soak(limiter);
    }
    println!("{HOURS} hours of each in {:.0} s", begun.elapsed().as_secs_f64());
}

/// Numbers by chance, the same each time: splitmix64 by Steele, Lea and Flood.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % n
    }
}

fn soak(limiter: &str) {
    let store = MemoryStore::new(format!("{limiter} per user").parse::<Policy>().unwrap(), 20_000);
    let mut chance = Chance(1);
    // A clock that stands at a billion seconds, and steps.
    let mut skew = 1_000_000_000;
    let (mut events, mut passed, mut refused_since) = (0u64, 0u64, None);
    let (mut bytes, mut filled, mut most) = (0, 0, 0);
    for hour in 0..HOURS {
        bytes += measure(|| {
            for second in 0..3600 {
                let now = skew + (hour * 3600 + second) as i64;
                let mut send = |user: &str, cost: f64| {
                    let micros = now * 1_000_000 + chance.below(1_000_000) as i64;
                    let event =
                        Event { time: Time::from_micros(micros), cost, fields: &[("user", user)] };
                    let allowed = store.check(&event).is_allowed();
                    (events, passed) = (events + 1, passed + u64::from(allowed));
                    allowed
                };
                // The one that keeps to half of its limit.
                if second % 2 == 0 {
                    let second = (hour * 3600 + second) as u64;
                    if send("polite", 1.0) {
                        refused_since = None;
                    } else {
                        let since = *refused_since.get_or_insert(second);
                        assert!(second - since <= LONGEST, "{limiter}: locked out at {second}");
                    }
                }
                for i in 0..SENDERS {
                    // Of a thousand senders, the low numbers come in bursts.
                    let sender = (second as u64 * 7 + i * 50) % 1000;
                    for _ in 0..if sender < 20 { BURST } else { 1 } {
                        send(&format!("user{sender}"), 1.0);
                    }
                }
                for i in 0..5 {
                    send(&format!("once{hour}-{second}-{i}"), 1.0);
                }
            }
        })
        .bytes_current;
        match hour {
            ..FILLING => filled = filled.max(bytes),
            _ => assert!(bytes * 10 <= filled * 11, "{limiter}: {filled}, then {bytes} bytes"),
        }
        most = most.max(bytes);
        let step = [1, 10, 60, 600, 3600, 86_400][chance.below(6) as usize];
        skew += if chance.below(2) == 0 { step } else { -step };
    }
    assert!(passed < events, "{limiter}: no burst was refused");
    let share = 100.0 * passed as f64 / events as f64;
    let [bytes, most] = [bytes, most].map(|bytes| bytes as f64 / 1e6);
    println!("{limiter:45}{events:>12}{share:>8.1}%{bytes:>10.2}{most:>10.2}");
}

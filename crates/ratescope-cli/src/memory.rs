//! How much memory a limit takes for many keys, in this process and on Redis.
//!
//! In memory, a key takes its state, 16 bytes for its hash and its use, and a byte of tag, in a table that is 68 to 100 %
//! full; a log or a window also takes 16 bytes for each event or block that counts. On Redis 7.0, a key of n bytes with a
//! value of m bytes and a time of expiry took n + m + 121 bytes, as `used_memory` says (100,000 keys each, values of 8 to
//! 8000 bytes, jemalloc).

use ratescope::Limiter;
use ratescope::internal::grouped;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::by_hour::ByHour;
use ratescope::limit::per_key;
use ratescope::limit::sliding_log::SlidingLog;
use ratescope::limit::sliding_window::SlidingWindow;
use ratescope::policy::Limit;
use ratescope::rules::Rules;
use std::fmt::Write;

/// The bytes of a place besides the state: the hash of its key, its use, and a tag.
const PLACE: u64 = 17;

/// The bytes that Redis takes for a key besides its name and its value.
const OVERHEAD: u64 = 121;

/// The bytes of a name: the prefix, the braces, a name for the limits, and a value of so many bytes for each field.
const FIELD: usize = 12;

/// An entry of a log or a window, in memory and on Redis.
const ENTRY: u64 = 16;

/// A line for each limit.
pub(crate) fn of(rules: &Rules, keys: u64) -> String {
    let mut text = format!(
        "memory of {} keys of each limit (a state in use; names of {FIELD} bytes):\n",
        grouped(keys)
    );
    for planned in rules.plan() {
        let Limit { limiter, per, .. } = &planned.limit;
        let relaxed = if planned.is_relaxed { ", relaxed" } else { "" };
        let keys = if per.fields().is_empty() { 1 } else { keys };
        let most = size_of::<per_key::State<AnyLimiter>>() as u64 + PLACE;
        // A table is at least 68 % full.
        let most = (most as f64 / 0.68).ceil() as u64 + heap(limiter);
        _ = write!(
            text,
            "  {}{relaxed}: {limiter}\n    in memory up to {}",
            planned.name,
            of_keys(most, keys)
        );
        match limiter.in_f64() {
            Ok(_) => {
                let names: usize = per.fields().iter().map(|name| name.len() + FIELD + 2).sum();
                let on_redis = OVERHEAD + names as u64 + 11 + value(limiter);
                _ = writeln!(text, ", on Redis about {}", of_keys(on_redis, keys));
            }
            Err(_) => text.push_str("; Redis can't compute it\n"),
        }
    }
    text
}

fn of_keys(bytes: u64, keys: u64) -> String {
    let all = bytes.saturating_mul(keys) as f64;
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.iter().find(|(_, size)| all >= *size);
    let all = match unit {
        Some((unit, size)) => format!("{:.1} {unit}", all / size),
        None => format!("{all} bytes"),
    };
    format!("{} bytes a key, {all} in all", grouped(bytes))
}

/// The bytes of a full state beside its place.
fn heap(limiter: &AnyLimiter) -> u64 {
    let boxed = match limiter {
        AnyLimiter::SlidingLog(_) => size_of::<<SlidingLog as Limiter>::State>(),
        AnyLimiter::SlidingWindow(_) => size_of::<<SlidingWindow as Limiter>::State>(),
        AnyLimiter::ByHour(_) => size_of::<<ByHour as Limiter>::State>(),
        _ => 0,
    };
    boxed as u64 + entries(limiter) * ENTRY
}

/// How many events of cost 1, or blocks, count at once at most.
fn entries(limiter: &AnyLimiter) -> u64 {
    match limiter {
        AnyLimiter::SlidingLog(log) => log.limit().count().ceil() as u64,
        AnyLimiter::SlidingWindow(window) => {
            let (period, block) = (window.limit().per(), window.precision());
            // The block that has begun, and those of the period before; none for more than the count.
            let blocks = (period.as_secs_f64() / block.as_secs_f64()).ceil() as u64 + 1;
            blocks.min(window.limit().count().ceil() as u64)
        }
        _ => 0,
    }
}

/// The most bytes of a value on Redis, as the scripts write it.
fn value(limiter: &AnyLimiter) -> u64 {
    match limiter {
        AnyLimiter::SlidingLog(_) | AnyLimiter::SlidingWindow(_) => 76 + entries(limiter) * ENTRY,
        AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_) | AnyLimiter::LeakyBucket(_) => 32,
        AnyLimiter::ByHour(_) => 121,
        AnyLimiter::Adaptive(_) | AnyLimiter::Fail2ban(_) => 24,
        _ => 16,
    }
}

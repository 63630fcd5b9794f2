//! Prints the costs of decisions, as the tables of BENCHMARKS.md: `./scripts/bench limiters`.
//!
//! # How it is measured
//! * A machine that does other things too is now fast and now slow, and memory now near and now
//!   far. So in each table everything is measured in turn, many times, each turn is compared with
//!   the first row of its own round, and medians are printed. The ratios stand; the
//!   nanoseconds are of this machine and hour.
//! * All rows of a table decide the same: the same events, and as many of them allowed. This is asserted, except for
//!   keys lost for lack of room, whose number is printed.
//! * Time is an argument of ours. Others read it from a variable, which costs them nothing.
//! * Bytes are those that were asked of the allocator, by a store with a million keys.
//!
//! # Whose side it is on
//! The one who wrote it wrote two of the rows. The floor is as low as it could be made: a formula
//! with its numbers in registers, and ten lines over the fastest map, which trust the senders not
//! to choose keys that collide, never forget a key, and are for one thread. Governor is bounded
//! neither, keeps one number a key, and decides by GCRA alone.
//!
//! Of the tables `one-key`, `many-keys` and `threads` those that are named are printed, or all; `scale` if it is
//! named.
//! Without `--bench`, as `cargo test --benches` calls it, everything is done once, with few keys.

mod contestants;
mod events;
mod formulas;
mod many_keys;
mod one_key;
mod turns;

use std::env;

fn main() {
    let full = env::args().any(|arg| arg == "--bench");
    let parts: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_asked = |part: &str| parts.is_empty() || parts.iter().any(|asked| asked == part);
    if is_asked("one-key") {
        one_key::print(if full { 301 } else { 1 });
    }
    let (keys, rounds) = if full { (1_000_000, 31) } else { (10_000, 1) };
    if is_asked("many-keys") {
        many_keys::print(keys, rounds);
    }
    if is_asked("threads") {
        many_keys::print_threads(keys, rounds);
    }
    // Takes some GB of memory, so it is only done when it is named.
    if parts.iter().any(|part| part == "scale") {
        let all = [1_000, 100_000, 1_000_000, 10_000_000];
        many_keys::print_scale(if full { &all } else { &all[..1] }, rounds);
    }
}

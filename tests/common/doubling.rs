//! How much more work twice the input takes.
#![allow(dead_code)] // Each test file uses its part.

#[path = "worked.rs"]
mod worked;

use std::hint::black_box;
use std::time::Duration;
use worked::worked;

/// How often both inputs are taken at least, and at most until the ratio of their times is right.
pub(crate) const ROUNDS: [usize; 2] = [3, 30];

/// The same for work that takes long enough to be measured in one go.
pub(crate) const FEW_ROUNDS: [usize; 2] = [1, 4];

/// Allocations, and bytes of them, that need not grow in proportion.
const FEW: [u64; 2] = [100, 1 << 16];

/// Whether work is measured as the time of the processor, which a busy machine can spoil: `./scripts/test clock`.
/// Otherwise it is counted in allocations and their bytes, the same on every machine.
pub(crate) fn is_timed() -> bool {
    std::env::var_os("RATESCOPE_CLOCK").is_some()
}

/// Whether `run` takes less than three times as much work with the second input, which is twice the first; if not, the
/// work with both. Linear work is twice as much, and quadratic work four times.
pub(crate) fn is_linear<T>(
    inputs: &[T; 2],
    rounds: [usize; 2],
    run: impl FnMut(&T),
) -> Result<(), String> {
    if is_timed() { is_timed_linear(inputs, rounds, run) } else { is_counted_linear(inputs, run) }
}

fn is_counted_linear<T>(inputs: &[T; 2], mut run: impl FnMut(&T)) -> Result<(), String> {
    let [once, twice] = inputs.each_ref().map(|input| {
        let counted = allocation_counter::measure(|| run(black_box(input)));
        [counted.count_total, counted.bytes_total]
    });
    for ((once, twice), few) in once.into_iter().zip(twice).zip(FEW) {
        if twice >= few && twice >= 3 * once {
            return Err(format!("{once} and {twice} allocations, or bytes of them"));
        }
    }
    Ok(())
}

/// The times are the shortest of several runs: choose inputs that take a millisecond or two.
fn is_timed_linear<T>(
    inputs: &[T; 2],
    rounds: [usize; 2],
    mut run: impl FnMut(&T),
) -> Result<(), String> {
    let mut shortest = [Duration::MAX; 2];
    for round in 1..=rounds[1] {
        for (shortest, input) in shortest.iter_mut().zip(inputs) {
            *shortest = time(|| run(black_box(input))).min(*shortest);
        }
        if round >= rounds[0] && shortest[1] < 3 * shortest[0] {
            return Ok(());
        }
    }
    Err(format!("{shortest:?}"))
}

/// The time of the processor that `run` takes.
pub(crate) fn time(run: impl FnOnce()) -> Duration {
    let begun = worked();
    run();
    worked().saturating_sub(begun)
}

/// A size and twice it: a quarter of `n` where work is counted, since that shows with less.
pub(crate) fn sizes(n: usize) -> [usize; 2] {
    let once = if is_timed() { n } else { n / 4 };
    [once, 2 * once]
}

/// Fails unless `run` takes less than three times as much work with the second input, which is twice the first.
#[track_caller]
pub(crate) fn assert_linear<T>(inputs: &[T; 2], run: impl FnMut(&T)) {
    if let Err(took) = is_linear(inputs, ROUNDS, run) {
        panic!("an input and twice as much take {took}");
    }
}

/// The same for work that takes long enough to be measured in one go.
#[track_caller]
pub(crate) fn assert_linear_once<T>(inputs: &[T; 2], run: impl FnMut(&T)) {
    if let Err(took) = is_linear(inputs, FEW_ROUNDS, run) {
        panic!("an input and twice as much take {took}");
    }
}

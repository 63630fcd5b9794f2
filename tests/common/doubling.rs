//! How much longer twice the input takes.
#![allow(dead_code)] // Each test file uses its part.

#[path = "worked.rs"]
mod worked;

use std::hint::black_box;
use std::time::Duration;
use worked::worked;

/// How often both inputs are taken at least, and at most until the ratio is right.
pub(crate) const ROUNDS: [usize; 2] = [3, 30];

/// The same for what takes long enough to be measured in one go.
pub(crate) const FEW_ROUNDS: [usize; 2] = [1, 4];

/// Whether `run` takes less than three times as long with the second input, which is twice the first;
/// if not, both times. What is linear takes twice as long, and what is quadratic four times. The times
/// are the shortest of several runs, of the processor: choose inputs that take a millisecond or two.
pub(crate) fn is_linear<T>(
    inputs: &[T; 2],
    rounds: [usize; 2],
    mut run: impl FnMut(&T),
) -> Result<(), [Duration; 2]> {
    let mut shortest = [Duration::MAX; 2];
    for round in 1..=rounds[1] {
        for (shortest, input) in shortest.iter_mut().zip(inputs) {
            *shortest = time(|| run(black_box(input))).min(*shortest);
        }
        if round >= rounds[0] && shortest[1] < 3 * shortest[0] {
            return Ok(());
        }
    }
    Err(shortest)
}

/// The time of the processor that `run` takes.
pub(crate) fn time(run: impl FnOnce()) -> Duration {
    let begun = worked();
    run();
    worked().saturating_sub(begun)
}

/// Fails unless `run` takes less than three times as long with `2 * n` as with `n`.
#[track_caller]
pub(crate) fn assert_linear(n: usize, mut run: impl FnMut(usize)) {
    if let Err(took) = is_linear(&[n, 2 * n], ROUNDS, |n| run(*n)) {
        panic!("{n} and twice as many take {took:?}");
    }
}

/// The same for what takes long enough to be measured in one go.
#[track_caller]
pub(crate) fn assert_linear_once(n: usize, mut run: impl FnMut(usize)) {
    if let Err(took) = is_linear(&[n, 2 * n], FEW_ROUNDS, |n| run(*n)) {
        panic!("{n} and twice as many take {took:?}");
    }
}

//! How much longer twice the input takes.

#[path = "worked.rs"]
mod worked;

use std::time::Duration;
use worked::worked;

/// Fails unless `run` takes less than three times as long with `2 * n` as with `n`. What is linear
/// takes twice as long, and what is quadratic four times. The times are the shortest of several runs,
/// of the processor: choose `n` for a millisecond or two.
#[track_caller]
pub(crate) fn assert_linear(n: usize, mut run: impl FnMut(usize)) {
    let mut shortest = [Duration::MAX; 2];
    for round in 0..30 {
        for (shortest, n) in shortest.iter_mut().zip([n, 2 * n]) {
            let begun = worked();
            run(n);
            *shortest = (worked() - begun).min(*shortest);
        }
        if round >= 2 && shortest[1] < 3 * shortest[0] {
            return;
        }
    }
    panic!("{n} take {:?}, and twice as many {:?}", shortest[0], shortest[1]);
}

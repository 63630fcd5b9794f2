//! How much longer twice the input takes.

use std::time::{Duration, Instant};

/// Fails unless `run` takes less than three times as long with `2 * n` as with `n`. What is linear
/// takes twice as long, and what is quadratic four times. Compared are the shortest of several
/// runs, so other work on the machine does not matter as long as a run is shorter than the time for which
/// a busy machine lets a thread run: choose `n` for a millisecond or two.
#[track_caller]
pub(crate) fn assert_linear(n: usize, mut run: impl FnMut(usize)) {
    let mut shortest = [Duration::MAX; 2];
    for round in 0..30 {
        for (shortest, n) in shortest.iter_mut().zip([n, 2 * n]) {
            let begun = Instant::now();
            run(n);
            *shortest = begun.elapsed().min(*shortest);
        }
        if round >= 2 && shortest[1] < 3 * shortest[0] {
            return;
        }
    }
    panic!("{n} take {:?}, and twice as many {:?}", shortest[0], shortest[1]);
}

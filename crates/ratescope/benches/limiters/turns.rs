//! Measuring in turn.

use std::time::Instant;

/// Times each of `calls` once a round, for as many rounds as there are. A call is given the number
/// of the round and says how many decisions it took. Nanoseconds a decision, for each call.
pub(crate) fn in_turn(
    rounds: usize,
    calls: &mut [Box<dyn FnMut(usize) -> usize + '_>],
) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::new(); calls.len()];
    for round in 0..rounds {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let decisions = call(round);
            times.push(start.elapsed().as_nanos() as f64 / decisions as f64);
        }
    }
    times
}

/// The median of the ratios of each round.
pub(crate) fn ratio(times: &[f64], base: &[f64]) -> f64 {
    median(times.iter().zip(base).map(|(time, base)| time / base))
}

pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

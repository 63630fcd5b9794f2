//! The time and memory of a decision about one of many keys, and the share of keys that is lost.

use crate::contestants::{self, Contestant, Decide};
use crate::events::{Event, Events};
use crate::turns::{in_turn, median, ratio};
use std::cell::Cell;
use std::thread;

/// How many decisions are timed at once: enough that each contestant soon has its own caches.
const CALLS: usize = 200_000;

const EXIM: &str = "exim 10/1s strict per user";
const GCRA: &str = "gcra 10/1s per user";
const BOTH: &str = "gcra 10/1s per user & gcra 10000/1s per ip";

/// The contestants, of which the others are compared with the first.
struct Field {
    events: Events,
    keys: usize,
    contestants: Vec<Contestant>,
    /// The bytes that each takes for a key.
    bytes: Vec<f64>,
}

impl Field {
    /// Nobody yet, for `turns` turns.
    fn new(keys: usize, turns: usize) -> Self {
        let events = Events::new(keys, CALLS * turns);
        Field { events, keys, contestants: Vec::new(), bytes: Vec::new() }
    }

    /// With one more, who has seen every key.
    fn with(mut self, make: impl FnOnce() -> Contestant) -> Self {
        let used = allocation_counter::measure(|| {
            let mut made = make();
            made.decide.call(&self.events.first);
            self.contestants.push(made);
        });
        self.bytes.push(used.bytes_current as f64 / self.keys as f64);
        self
    }

    /// The times of each by one thread, in turn, and how many events it let pass.
    fn alone(&mut self, rounds: usize) -> (Vec<Vec<f64>>, Vec<usize>) {
        let passed: Vec<Cell<usize>> = self.contestants.iter().map(|_| Cell::new(0)).collect();
        let mut calls: Vec<Box<dyn FnMut(usize) -> usize + '_>> = Vec::new();
        for (contestant, passed) in self.contestants.iter_mut().zip(&passed) {
            let events = &self.events.then;
            calls.push(Box::new(move |round| {
                let more = contestant.decide.call(&events[round * CALLS..][..CALLS]);
                passed.set(passed.get() + more);
                CALLS
            }));
        }
        let times = in_turn(rounds, &mut calls);
        drop(calls);
        (times, passed.into_iter().map(Cell::into_inner).collect())
    }
}

impl Decide {
    fn call(&mut self, events: &[Event]) -> usize {
        match self {
            Decide::Alone(decide) => decide(events),
            Decide::Shared(decide) => decide(events),
        }
    }
}

/// Prints a row for each that decides about `keys` keys, by one thread.
pub(crate) fn print(keys: usize, rounds: usize) {
    let mut field = Field::new(keys, rounds)
        .with(contestants::ten_lines)
        .with(contestants::ten_lines_std)
        .with(|| contestants::keyed_exim(keys))
        .with(|| contestants::trusting_exim(keys))
        .with(|| contestants::store(EXIM, keys))
        .with(contestants::governor_hashmap)
        .with(contestants::governor_dashmap)
        .with(|| contestants::rate_limiter(keys))
        .with(|| contestants::keyed_gcra(keys))
        .with(|| contestants::trusting_gcra(keys))
        .with(|| contestants::texts(keys))
        .with(|| contestants::store(GCRA, keys))
        .with(|| contestants::two_texts(keys))
        .with(|| contestants::store(BOTH, keys))
        .with(|| contestants::own_limits(keys));
    let (times, passed) = field.alone(rounds);
    println!("| {keys} keys | a decision | of the first | a key | of the first | keys lost |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut most_lost = 0;
    for (i, contestant) in field.contestants.iter().enumerate() {
        let lost = contestant.forgotten.as_ref().map(|evicted| evicted());
        most_lost = most_lost.max(lost.unwrap_or(0));
        println!(
            "| {} | {:.0} ns | {:.2} | {:.1} bytes | {:.2} | {} |",
            contestant.name,
            median(times[i].iter().copied()),
            ratio(&times[i], &times[0]),
            field.bytes[i],
            field.bytes[i] / field.bytes[0],
            lost.map_or("none".into(), |lost| format!("{:.3} %", lost as f64 / keys as f64 * 1e2)),
        );
    }
    // Those of one algorithm passed the same, but for some events of forgotten keys.
    for (i, algorithm) in [0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5, 5].into_iter().enumerate() {
        let more = passed[i].abs_diff(passed[algorithm]) as u64;
        assert!(more <= 10 * most_lost, "{} passed {more} others", field.contestants[i].name);
    }
}

/// Prints a row for each that decides about `keys` keys, by two threads.
pub(crate) fn print_threads(keys: usize, rounds: usize) {
    let field = Field::new(keys, 2 * rounds)
        .with(contestants::ten_lines_shared)
        .with(|| contestants::keyed_exim(keys))
        .with(|| contestants::trusting_exim(keys))
        .with(contestants::governor_dashmap)
        .with(|| contestants::keyed_gcra(keys))
        .with(|| contestants::trusting_gcra(keys))
        .with(|| contestants::two_texts(keys))
        .with(|| contestants::store(BOTH, keys));
    let mut calls: Vec<Box<dyn FnMut(usize) -> usize + '_>> = Vec::new();
    for contestant in &field.contestants {
        let Decide::Shared(decide) = &contestant.decide else { continue };
        let events = &field.events.then;
        calls.push(Box::new(move |round| {
            thread::scope(|scope| {
                for part in events[round * 2 * CALLS..][..2 * CALLS].chunks(CALLS) {
                    scope.spawn(move || decide(part));
                }
            });
            CALLS
        }));
    }
    let times = in_turn(rounds, &mut calls);
    println!("| {keys} keys, two threads | a decision of each | of the first |");
    println!("|---|--:|--:|");
    for (contestant, of) in field.contestants.iter().zip(&times) {
        let time = median(of.iter().copied());
        println!("| {} | {time:.0} ns | {:.2} |", contestant.name, ratio(of, &times[0]));
    }
}

/// Prints a row for each number of keys, with a decision by one thread and the bytes of a key.
pub(crate) fn print_scale(all: &[usize], rounds: usize) {
    for (i, &keys) in all.iter().enumerate() {
        let mut field = Field::new(keys, rounds)
            .with(contestants::ten_lines)
            .with(|| contestants::keyed_exim(keys))
            .with(|| contestants::keyed_gcra(keys))
            .with(contestants::governor_dashmap);
        let (times, _) = field.alone(rounds);
        if i == 0 {
            let names =
                field.contestants.iter().map(|one| format!(" {} | of the first |", one.name));
            println!("| keys |{} bytes a key, `Keyed` |", names.collect::<String>());
            println!("|--:|{}--:|", "--:|--:|".repeat(field.contestants.len()));
        }
        let cell = |of: &Vec<f64>| {
            format!(" {:.0} ns | {:.2} |", median(of.iter().copied()), ratio(of, &times[0]))
        };
        let cells: String = times.iter().map(cell).collect();
        println!("| {keys} |{cells} {:.1} |", field.bytes[1]);
    }
}

//! A history of two days, filled without a run: a run would take a minute to get there.
#![cfg(not(target_arch = "wasm32"))]

use super::*;

fn at(seconds: f64) -> Time {
    Time::from_micros((seconds * 1e6) as i64)
}

/// A history is below three megabytes, however long it is. After two days even the coarsest columns
/// are dropped; the totals still count them.
#[test]
fn the_past_is_dropped_and_still_counted() {
    const { assert!(History::BYTES == 13 * 2048 * 104) };
    let level = Outcome::new(true, 1.0, 10.0);
    let mut history = History::new(Grain::default(), Time::ZERO, level, 0, 0);
    let [mut sent, mut allowed] = [0; 2];
    // An event each ten seconds; every third is refused.
    let mut grown = |seconds| {
        let until = || {
            while !history.is_filling(at(seconds)) {
                if history.slot % 610 == 0 {
                    sent += 1;
                    let outcome = Outcome::new(sent % 3 > 0, 1.0, 10.0);
                    allowed += u64::from(outcome.is_allowed());
                    history.event(Time::ZERO, outcome, level, sent);
                }
                history.close(level, Time::ZERO);
            }
        };
        allocation_counter::measure(until).bytes_current as usize
    };
    let [full, later] = [grown(138_000.0), grown(142_000.0)];
    assert!((History::BYTES - 80_000..History::BYTES + 20_000).contains(&full), "{full}");
    assert_eq!(later, 0);
    let columns = history.columns(Time::ZERO, at(142_000.0), 0.0);
    assert_eq!(columns.first, history.oldest());
    assert_eq!(columns.len(), COLUMNS + 1);
    let width = columns.width.as_secs_f64();
    assert!((67.1..67.2).contains(&width));
    assert!(
        (142_000.0 - (COLUMNS + 1) as f64 * width..4600.0).contains(&columns.first.as_secs_f64())
    );
    let all: Vec<_> = columns.iter().collect();
    let inside: u64 = all.iter().map(|c| u64::from(c.allowed + c.refused)).sum();
    let before = all[0].sent - u64::from(all[0].allowed + all[0].refused);
    assert!(before > 400, "{before}");
    assert_eq!(before + inside, sent);
    assert_eq!((all[COLUMNS].passed, all[COLUMNS].sent), (allowed, sent));
    assert_eq!(history.column_at(at(100.0)), None);
}

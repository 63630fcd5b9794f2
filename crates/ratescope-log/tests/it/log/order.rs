//! Sorting events, and spreading them over their seconds.

use proptest::prelude::*;
use ratescope::{Span, Time};
use ratescope_log::{Corrections, Log, Names, Options, Order, Row, Spread, StepsBack, When};

/// The result of ordering events.
struct Ordered {
    /// The time in microseconds and the number of each event, in the order in which they came out.
    out: Vec<(i64, usize)>,
    late: u64,
    steps_back: StepsBack,
    dropped: u64,
    most_held: usize,
}

fn order(events: &[(i64, bool)], slack: u64, most: usize, spread: Spread) -> Ordered {
    let mut order = Order::new(Span::from_secs(slack), most, spread);
    let (mut out, mut most_held) = (Vec::new(), 0);
    let mut take = |time: Time, i: &usize| out.push((time.as_micros(), *i));
    for (i, &(micros, coarse)) in events.iter().enumerate() {
        let when = When { time: Time::from_micros(micros), coarse, times: 1 };
        order.push(when, 1, i, &mut take);
        most_held = most_held.max(order.held());
    }
    order.finish(&mut take);
    assert_eq!(order.held(), 0);
    let Corrections { late, steps_back, dropped, .. } = order.corrections();
    Ordered { out, late, steps_back, dropped, most_held }
}

const SECOND: i64 = 1_000_000;

fn seconds(list: &[i64]) -> Vec<(i64, bool)> {
    list.iter().map(|second| (second * SECOND, true)).collect()
}

#[test]
fn events_of_a_second_are_spread_over_it() {
    let times = |events: &[(i64, bool)], spread| -> Vec<i64> {
        order(events, 5, 100, spread).out.iter().map(|(micros, _)| *micros).collect()
    };
    let events = seconds(&[-1, -1, 3, 4, 4, 4]);
    assert_eq!(
        times(&events, Spread::Coarse),
        [-SECOND, -SECOND / 2, 3_000_000, 4_000_000, 4_333_333, 4_666_666]
    );
    let as_they_are = [-SECOND, -SECOND, 3_000_000, 4_000_000, 4_000_000, 4_000_000];
    assert_eq!(times(&events, Spread::Never), as_they_are);
    // One finer time shows that this second is not in whole seconds.
    let mixed = [(0, true), (500_000, false), (0, true), (SECOND, true), (SECOND, true)];
    assert_eq!(times(&mixed, Spread::Coarse), [0, 0, 500_000, SECOND, 1_500_000]);
    assert_eq!(times(&mixed, Spread::Always), [0, 333_333, 666_666, SECOND, 1_500_000]);
}

/// Files of a day each, in the wrong order.
#[test]
fn the_oldest_file_comes_first() {
    let day = |day: i64| (0..100).map(move |i| day * 86_400 + i);
    let wrong: Vec<i64> = day(3).chain(day(2)).chain(day(0)).collect();
    let Ordered { steps_back, .. } = order(&seconds(&wrong), 10, 1000, Spread::Never);
    assert_eq!(
        steps_back.to_string(),
        "The log goes back 2 times, by up to 48 hours, so its times are wrong from there on. If there are several \
             files, give the oldest first."
    );
}

#[test]
fn the_clock_may_be_set_back() {
    // At the end of summer time, an hour comes twice.
    let hour = 3600;
    let twice: Vec<i64> = (0..hour).chain(0..2 * hour).collect();
    let Ordered { out, late, steps_back, .. } = order(&seconds(&twice), 10, 1000, Spread::Never);
    assert_eq!((late, steps_back.to_string().as_str()), (0, "The clock was set back 1 time."));
    // The log continues without a gap and without a burst.
    let times: Vec<i64> = out.iter().map(|(micros, _)| micros / SECOND).collect();
    assert_eq!(times.len(), twice.len());
    let steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| (0..2).contains(step)), "{steps:?}");
}

/// A log whose first line is the newest is reported as such; one that is only out of order is not.
#[test]
fn newest_first_is_told() {
    let is_newest_first = |seconds: &[i64]| {
        let mut order = Order::new(Span::from_secs(60), 1 << 20, Spread::Coarse);
        for second in seconds {
            let when = When { time: Time::from_micros(second * SECOND), coarse: true, times: 1 };
            order.push(when, 1, (), &mut |_, ()| {});
        }
        order.finish(&mut |_, ()| {});
        order.is_newest_first()
    };
    let forward: Vec<i64> = (0..1000).map(|i| i * 10).collect();
    let backward: Vec<i64> = forward.iter().rev().copied().collect();
    let rotated = [&forward[500..], &forward[..500]].concat();
    let shuffled: Vec<i64> = (0..1000).map(|i| i * 10 + i % 7 * 30).collect();
    assert!(is_newest_first(&backward));
    assert!(is_newest_first(&backward[..20]));
    for log in [&forward[..], &rotated, &shuffled, &[]] {
        assert!(!is_newest_first(log));
    }
    // A log within the slack is sorted.
    assert!(!is_newest_first(&[50, 40, 30, 20, 10, 0]));
}

/// Single lines from the future, at the beginning, in the middle or at the end, change nothing else, whether
/// the later ones of them are earlier or later, and days or hours apart.
#[test]
fn a_line_far_ahead_is_dropped() {
    const DAYS: i64 = 1_000_000;
    const HOURS: i64 = 10_000;
    for (places, apart) in [
        (&[0usize][..], &[DAYS][..]),
        (&[1], &[DAYS]),
        (&[500], &[DAYS]),
        (&[998], &[DAYS]),
        (&[300, 310], &[-DAYS, DAYS, -HOURS, HOURS]),
        (&[0, 300, 301, 302, 600], &[-DAYS, DAYS]),
        (&[0, 400, 997], &[-DAYS, DAYS, -HOURS, HOURS]),
    ] {
        for apart in apart {
            let mut future: Vec<i64> = (0..1000).collect();
            for (i, place) in places.iter().enumerate() {
                future[*place] = 4_000_000_000 + apart * i as i64;
            }
            let seen = order(&seconds(&future), 10, 1000, Spread::Never);
            let Ordered { out, late, steps_back, dropped, .. } = seen;
            let counts = (late, steps_back.count, dropped);
            assert_eq!(counts, (0, 0, places.len() as u64), "{places:?} {apart}");
            let wanted = (0..1000usize).filter(|i| !places.contains(i));
            assert!(out.into_iter().eq(wanted.map(|i| (i as i64 * SECOND, i))), "{places:?}");
        }
    }
}

/// A step ahead is no mistake if the log continues from there, however far it is; nor if all lines are far
/// from each other.
#[test]
fn the_log_may_go_ahead() {
    for far in [200, 3600, 86_400 * 365] {
        for lines in [
            vec![0, 1, 2, far, far + 1],
            vec![0, far],
            vec![0, far, 2 * far, 3 * far],
            vec![0, far, 1, far + 1],
            vec![0, 1, far],
            // A step ahead at each of a hundred lines.
            (0..100).map(|i| i * far).collect(),
        ] {
            let Ordered { out, late, dropped, .. } =
                order(&seconds(&lines), 10, 1000, Spread::Never);
            let mut wanted: Vec<_> =
                lines.iter().enumerate().map(|(i, second)| (second * SECOND, i)).collect();
            wanted.sort_unstable();
            assert_eq!((out, late, dropped), (wanted, 0, 0), "{lines:?}");
        }
    }
    // A late line in between.
    let Ordered { out, dropped, .. } =
        order(&seconds(&[0, 3600, 20, 7200, 10_800]), 10, 1000, Spread::Never);
    assert_eq!((out.len(), dropped), (5, 0));
    // Backwards in steps of ten minutes: the first 65 lines are sorted, and later ones are late.
    let backwards: Vec<i64> = (0..300).map(|i| (300 - i) * 600).collect();
    let Ordered { out, dropped, .. } = order(&seconds(&backwards), 10, 1000, Spread::Never);
    assert_eq!((out.len(), dropped), (300, 0));
}

/// A line that stands for several events has all of them in its second, spread with the events of other
/// lines.
#[test]
fn a_line_may_be_several_events() {
    let mut order = Order::new(Span::from_secs(5), 100, Spread::Coarse);
    let mut seen = Vec::new();
    for (i, (second, times)) in [(7, 3), (8, 0), (7, 1)].into_iter().enumerate() {
        let when = When { time: Time::from_micros(second * SECOND), coarse: true, times };
        order.push(when, 1, i, &mut |at, i| seen.push((at.as_micros(), *i)));
        assert!(order.held() <= 3);
    }
    order.finish(&mut |at, i| seen.push((at.as_micros(), *i)));
    assert_eq!(seen, [(7_000_000, 0), (7_250_000, 0), (7_500_000, 0), (7_750_000, 2)]);
    assert_eq!(order.corrections().spread_out, 3);
}

/// Lines that take more bytes than there is room for come out early.
#[test]
fn what_is_held_has_a_budget_in_bytes() {
    let mut order = Order::new(Span::from_secs(60), 1000, Spread::Never);
    let mut seen = Vec::new();
    for i in 0..100 {
        let when = When { time: Time::from_micros(i * SECOND), coarse: true, times: 1 };
        order.push(when, 300, i, &mut |_, i| seen.push(*i));
        assert!(order.held() <= 1000, "{}", order.held());
    }
    assert_eq!(seen, (0..97).collect::<Vec<_>>());
    order.finish(&mut |_, i| seen.push(*i));
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}

/// Rows with long texts, as `simulate` holds them, take this room, and the reader as much again.
#[test]
fn long_rows_have_this_budget_too() {
    let (room, path) = (1 << 20, "a".repeat(100_000));
    let line =
        format!("192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] \"GET /{path} HTTP/1.1\" 200 1\n");
    // A log is recognized by its first lines, which have to be short.
    let log = line.replace(&path, "") + &line.repeat(100);
    let names: Names = ["path", "ip"].into_iter().collect();
    let mut out = 0;
    let used = allocation_counter::measure(|| {
        let mut order = Order::new(Span::from_secs(60), room, Spread::Never);
        let mut log = Log::open(log.as_bytes(), &Options::default()).unwrap();
        while log
            .read(&mut |record| {
                let row = Row::new(record, &names);
                order.push(record.when(), row.bytes(), row, &mut |_, _| out += 1);
            })
            .unwrap()
        {}
        order.finish(&mut |_, _| out += 1);
    });
    assert_eq!(out, 101);
    assert!(used.bytes_max < 3 * room as u64, "{} bytes", used.bytes_max);
}

/// The memory of a busy second is freed when the seconds after it are quiet.
#[test]
fn a_busy_second_leaves_no_memory_behind() {
    let mut order = Order::new(Span::from_secs(1), 1 << 20, Spread::Never);
    let mut add = |second: i64, lines: usize| {
        let when = When { time: Time::from_micros(second * SECOND), coarse: true, times: 1 };
        let measured = allocation_counter::measure(|| {
            for i in 0..lines {
                order.push(when, 1, i, &mut |_, _| ());
            }
        });
        measured.bytes_current
    };
    let busy = add(0, 100_000);
    let quiet: i64 = (1..10).map(|second| add(second, 1)).sum();
    assert!(busy > 1_000_000 && -quiet > busy * 9 / 10, "{busy} {quiet}");
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    let events = [i64::MIN, i64::MAX, 0, i64::MIN + 1].map(|micros| (micros, true));
    let Ordered { out, dropped, .. } = order(&events, 3600, 10, Spread::Coarse);
    assert_eq!((out.len(), dropped), (2, 2));
    let many: Vec<(i64, bool)> =
        (0..500).map(|i| (if i % 200 < 100 { i64::MAX } else { i64::MIN }, false)).collect();
    assert_eq!(order(&many, 0, 3, Spread::Coarse).out.len(), 500);
}

proptest! {
    /// Each event comes out once, in the order of the times that are handed out, however few can be held. If
    /// no event is late and all can be held, that is the order of the times in the log; events of equal time
    /// keep the order of their lines.
    #[test]
    fn everything_comes_out_in_order(
        steps in prop::collection::vec((0i64..3_000_000, -4_000_000i64..1, any::<bool>()), 0..60),
        slack in 0u64..8,
        most in 1usize..80,
        spread in prop::sample::select(&[Spread::Coarse, Spread::Always, Spread::Never]),
        coarse in any::<bool>(),
    ) {
        let mut now = -20_000_000;
        let events: Vec<(i64, bool)> = steps.into_iter().map(|(step, back, is_late)| {
            now += step / 3;
            let micros = if is_late { now + back } else { now };
            (if coarse { micros.div_euclid(SECOND) * SECOND } else { micros }, coarse)
        }).collect();
        let Ordered { out, late, most_held, .. } = order(&events, slack, most, spread);
        let mut seen: Vec<usize> = out.iter().map(|(_, i)| *i).collect();
        prop_assert!(out.is_sorted_by_key(|(micros, _)| *micros), "{:?}", out);
        prop_assert!(most_held <= most);
        let in_order = seen.clone();
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(0..events.len()));
        if late == 0 {
            // Each event stays in its second, and keeps its time if nothing is spread.
            for (micros, i) in &out {
                prop_assert_eq!(micros.div_euclid(SECOND), events[*i].0.div_euclid(SECOND));
                prop_assert!(*micros == events[*i].0 || spread != Spread::Never || most < events.len());
            }
            if most >= events.len() {
                let mut want: Vec<usize> = (0..events.len()).collect();
                want.sort_by_key(|i| events[*i].0);
                prop_assert_eq!(in_order, want);
            }
        }
        if slack >= 5 && most >= events.len() {
            prop_assert_eq!(late, 0);
        }
    }

    /// More events in a second than can be held are still spread over it, in order.
    #[test]
    fn a_full_second_is_spread_as_far_as_it_can_be(count in 1usize..2000, most in 1usize..50) {
        let out = order(&vec![(7 * SECOND, true); count], 3, most, Spread::Coarse).out;
        prop_assert_eq!(out.len(), count);
        for (i, (micros, seen)) in out.iter().enumerate() {
            prop_assert_eq!((*seen, micros.div_euclid(SECOND)), (i, 7));
        }
    }
}

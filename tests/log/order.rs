//! Putting events in order, and spreading them over their seconds.

use proptest::prelude::*;
use ratescope::log::{Order, Spread};
use ratescope::{Span, Time};

/// What comes out: the time in microseconds and the number of the event.
struct Ordered {
    out: Vec<(i64, usize)>,
    late: u64,
    steps_back: u64,
    most_held: usize,
}

fn order(events: &[(i64, bool)], slack: u32, most: usize, spread: Spread) -> Ordered {
    let mut order = Order::new(Span::seconds(slack), most, spread);
    let (mut out, mut most_held) = (Vec::new(), 0);
    let mut take = |time: Time, i| out.push((time.as_micros(), i));
    for (i, (micros, coarse)) in events.iter().enumerate() {
        order.push(Time::from_micros(*micros), *coarse, i, &mut take);
        most_held = most_held.max(order.held());
    }
    order.finish(&mut take);
    assert_eq!(order.held(), 0);
    Ordered { out, late: order.late(), steps_back: order.steps_back(), most_held }
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
    // One that is finer says that the log has no whole seconds there.
    let mixed = [(0, true), (500_000, false), (0, true), (SECOND, true), (SECOND, true)];
    assert_eq!(times(&mixed, Spread::Coarse), [0, 0, 500_000, SECOND, 1_500_000]);
    assert_eq!(times(&mixed, Spread::Always), [0, 333_333, 666_666, SECOND, 1_500_000]);
}

#[test]
fn the_clock_may_be_set_back() {
    // From summer to winter: an hour is there twice.
    let hour = 3600;
    let twice: Vec<i64> = (0..hour).chain(0..2 * hour).collect();
    let Ordered { out, late, steps_back, .. } = order(&seconds(&twice), 10, 1000, Spread::Never);
    assert_eq!((late, steps_back), (64, 1));
    assert_eq!(out.len(), twice.len());
    let last = out.last().unwrap().0 / SECOND;
    assert!((3 * hour - 70..3 * hour).contains(&last), "{last}");
    // A line from the future does no more harm.
    let mut future: Vec<i64> = (0..1000).collect();
    future[500] = 4_000_000_000;
    let Ordered { out, late, steps_back, .. } = order(&seconds(&future), 10, 1000, Spread::Never);
    assert_eq!((late, steps_back, out.len()), (64, 1, 1000));
    assert_eq!(out[999].0 - out[600].0, 399 * SECOND);
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    let events = [i64::MIN, i64::MAX, 0, i64::MIN + 1].map(|micros| (micros, true));
    assert_eq!(order(&events, 3600, 10, Spread::Coarse).out.len(), 4);
    let many: Vec<(i64, bool)> =
        (0..500).map(|i| (if i % 200 < 100 { i64::MAX } else { i64::MIN }, false)).collect();
    assert_eq!(order(&many, 0, 3, Spread::Coarse).out.len(), 500);
}

proptest! {
    /// Each event comes out once, in the order of the times that come out, however few are held; and
    /// where none is late and all can be held, in the order of the times of the log, those of equal
    /// times in that of its lines.
    #[test]
    fn everything_comes_out_in_order(
        steps in prop::collection::vec((0i64..3_000_000, -4_000_000i64..1, any::<bool>()), 0..60),
        slack in 0u32..8,
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
            // Each stays in its second, and where nothing is spread, at its time.
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

    /// Many more events in a second than can be held are still spread over it, in order.
    #[test]
    fn a_full_second_is_spread_as_far_as_it_can_be(count in 1usize..2000, most in 1usize..50) {
        let out = order(&vec![(7 * SECOND, true); count], 3, most, Spread::Coarse).out;
        prop_assert_eq!(out.len(), count);
        for (i, (micros, seen)) in out.iter().enumerate() {
            prop_assert_eq!((*seen, micros.div_euclid(SECOND)), (i, 7));
        }
    }
}

//! The past of the rules, which the probe keeps whether somebody looks or not, and which viewers are told.

use super::viewers::{Scene, at, rows, told};
use proptest::prelude::*;
use ratescope::rules::{MemoryStore, Rules};
use ratescope::{Event, Time};
use ratescope_live::{HOURS, PAST_RULES, Probe, SECONDS, TENS, Wanted};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};

const RULES: &str = "domain: web\nlimit: gcra 1000/1h per user\n";

fn send(scene: &Scene, secs: f64, times: usize) {
    for _ in 0..times {
        scene.event(secs, 1.0, &[("user", "ann")]);
    }
}

/// A scene in which so many events were sent at these times, in seconds.
fn sent(events: &[(f64, usize)]) -> Scene {
    let scene = Scene::new(RULES, Probe::default());
    for (secs, times) in events {
        send(&scene, *secs, *times);
    }
    scene
}

/// The rows of a ring that a viewer of a scene is told until there are no more, the later ones in place of the earlier.
fn all(scene: &Scene, secs: f64, ring: usize) -> Vec<Vec<i64>> {
    let mut viewer = scene.look(&Wanted::default(), secs);
    let mut known = BTreeMap::new();
    for turn in 0..100 {
        let text = viewer.next(at(secs + f64::from(turn) / 1e3));
        assert!(text.len() < 150 << 10, "{} bytes at once", text.len());
        let (said, last) = told(&text);
        if said.contains_key("past") {
            for row in rows(&said, ring) {
                let row: Vec<i64> =
                    row.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
                known.insert(row[0], row[1..].to_vec());
            }
        }
        if last.is_some() {
            break;
        }
    }
    known.into_iter().map(|(begin, counts)| [vec![begin], counts].concat()).collect()
}

fn since(said: &HashMap<String, Value>) -> [i64; 3] {
    [0, 1, 2].map(|ring: usize| said["past"]["rings"][ring]["since"].as_i64().unwrap())
}

#[test]
fn each_second_is_told_to_whoever_comes_later() {
    // The second that is not over is not told.
    let last = (7302.0, 9);
    let scene = sent(&[(3605.25, 3), (3605.75, 1), (3609.0, 4), (3610.0, 1), (7300.5, 2), last]);
    let told = |ring| all(&scene, 7302.5, ring);
    assert_eq!(told(0), [[3605, 4, 0, 0], [3609, 4, 0, 0], [3610, 1, 0, 0], [7300, 2, 0, 0]]);
    assert_eq!(told(1), [[3600, 8, 0, 0], [3610, 1, 0, 0], [7300, 2, 0, 0]]);
    assert_eq!(told(2), [[3600, 9, 0, 0], [7200, 2, 0, 0]]);
}

#[test]
fn rings_are_of_fixed_size_and_say_since_when_all_is_known() {
    let scene = Scene::new(RULES, Probe::default());
    let last = 30 * 3600;
    for second in 0..last {
        scene.event(f64::from(second), 1.0, &[("user", "ann")]);
    }
    let now = f64::from(last);
    let (said, _) = told(&scene.look(&Wanted::default(), now).next(at(now)));
    assert_eq!(said["past"]["seconds"], json!([0, last]));
    assert_eq!(since(&said), [i64::from(last) - 900, i64::from(last) - 6 * 3600, 6 * 3600]);
    for (ring, most) in [SECONDS, TENS, HOURS].into_iter().enumerate() {
        let rows = all(&scene, now, ring);
        let width = [1, 10, 3600][ring];
        let sums: Vec<_> = rows.iter().map(|row| row[1] + row[2]).collect();
        assert_eq!(sums, vec![width; most]);
    }
}

#[test]
fn a_viewer_who_was_cut_off_is_told_what_is_missing() {
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 100.5, 1);
    let (said, last) = told(&scene.look(&Wanted::default(), 101.0).next(at(101.0)));
    assert_eq!(rows(&said, 0), [json!([100, 1, 0, 0])]);
    let back = Wanted::read("", last.as_deref());
    send(&scene, 103.5, 2);
    // The notes for viewers are forgotten, and the past is not.
    for secs in [200.0, 300.0] {
        scene.probe.forget(at(secs));
    }
    let (said, _) = told(&scene.look(&back, 300.0).next(at(300.0)));
    assert_eq!(rows(&said, 0), [json!([103, 2, 0, 0])]);
    // The stretches that were not over are told again, whole.
    assert_eq!(rows(&said, 1), [json!([100, 3, 0, 0])]);
    assert_eq!(rows(&said, 2), [json!([0, 3, 0, 0])]);
}

/// Nothing is told twice, and a turn in which no second ends tells nothing of the past.
#[test]
fn a_viewer_is_told_each_second_once() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Wanted::default(), 0.0);
    viewer.next(at(0.0));
    let mut seen = Vec::new();
    for quarter in 1..200_u32 {
        let secs = f64::from(quarter) / 4.0;
        send(&scene, secs, 1);
        let (said, _) = told(&viewer.next(at(secs)));
        assert_eq!(said.contains_key("past"), quarter % 4 == 0);
        if quarter % 4 == 0 {
            seen.extend(rows(&said, 0).iter().cloned());
        }
    }
    let first = json!([0, 3, 0, 0]);
    let rest = (1..49).map(|second| json!([second, 4, 0, 0]));
    assert_eq!(seen, [first].into_iter().chain(rest).collect::<Vec<_>>());
}

#[test]
fn a_clock_that_jumps() {
    // An event that comes late counts in the second that is counted, and does not set the past back.
    let late = (1001.0, 1);
    let scene = sent(&[(1000.5, 1), (1010.5, 1), late, (1020.0, 1)]);
    let told = |ring, secs| all(&scene, secs, ring);
    assert_eq!(told(0, 1021.0), [[1000, 1, 0, 0], [1010, 2, 0, 0], [1020, 1, 0, 0]]);
    // Set back by more: later seconds have no place, and the sums go on.
    send(&scene, 1005.0, 5);
    send(&scene, 1006.0, 1);
    assert_eq!(told(0, 1007.0), [[1000, 1, 0, 0], [1005, 5, 0, 0], [1006, 1, 0, 0]]);
    // Far ahead and back again, often.
    for _ in 0..50 {
        send(&scene, 1e9, 1);
        send(&scene, 1007.0, 1);
        send(&scene, 0.0, 1);
        send(&scene, 1008.0, 1);
    }
    let (said, _) = super::viewers::told(&scene.look(&Wanted::default(), 1009.0).next(at(1009.0)));
    assert_eq!(said["sums"], json!([1_009_000_000, 210, 0, 0]));
    assert!(rows(&said, 0).iter().all(|row| row[0].as_i64().unwrap() < 1009));
    // A viewer is told all of it again, since it knows seconds that have no place any more.
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 100.0, 1);
    let mut viewer = scene.look(&Wanted::default(), 200.0);
    viewer.next(at(200.0));
    send(&scene, 150.0, 2);
    let (said, _) = super::viewers::told(&viewer.next(at(151.0)));
    assert_eq!((&said["past"]["all"], &said["past"]["seconds"]), (&json!(1), &json!([100, 151])));
    assert_eq!(rows(&said, 0), [json!([100, 1, 0, 0]), json!([150, 2, 0, 0])]);
    send(&scene, 151.0, 1);
    let (said, _) = super::viewers::told(&viewer.next(at(152.0)));
    assert_eq!((&said["past"]["all"], rows(&said, 0).len()), (&json!(0), 1));
}

/// A rule that a reload adds begins to count then; one that it removes keeps its place.
#[test]
fn other_rules_are_put_in_force() {
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 0.5, 2);
    let other =
        Rules::read("rules.yaml", "domain: web\ndescriptors:\n- {key: ip, limit: gcra 1/1h}\n");
    let other = other.unwrap();
    let taps = scene.probe.taps(&other);
    let store = MemoryStore::new(other, 10);
    for _ in 0..3 {
        let event = Event { time: at(1.5), cost: 1.0, fields: &[("ip", "192.0.2.1")] };
        taps.count(&store.check(&event), &event);
    }
    let rows = all(&scene, 2.0, 0);
    assert_eq!(rows, [[0, 2, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 2, 0]]);
    let rows = all(&scene, 2.0, 1);
    assert_eq!(rows, [[0, 2, 0, 0, 1, 2, 0]]);
}

/// With ten thousand rules the sums of the first thousand are told, and the past of as many as the page draws.
#[test]
fn many_rules() {
    let rule = |i: usize| format!("- {{key: k{i}, limit: gcra 1/1h}}\n");
    let text: String = (0..10_000).map(rule).collect();
    let scene = Scene::new(&format!("domain: web\ndescriptors:\n{text}"), Probe::default());
    for second in 0..1000 {
        scene.event(f64::from(second), 1.0, &[("k0", "a")]);
        scene.event(f64::from(second), 1.0, &[("k23", "a")]);
        scene.event(f64::from(second), 1.0, &[("k24", "a")]);
    }
    let rows = all(&scene, 1000.0, 0);
    assert_eq!((rows.len(), rows[0].len()), (SECONDS, 1 + 3 * PAST_RULES));
    let (said, _) = told(&scene.look(&Wanted::default(), 1000.0).next(at(1000.0)));
    assert_eq!(said["sums"].as_array().unwrap().len(), 1 + 3 * ratescope_live::MOST_RULES);
    assert_eq!(said["sums"][1 + 3 * 24 + 1], json!(999));
}

/// Threads that count at the same time lose no event.
#[test]
fn threads_count_into_one_past() {
    let scene = Scene::new(RULES, Probe::default());
    let clock = AtomicU32::new(0);
    let tick = || f64::from(clock.fetch_add(1, Ordering::Relaxed)) / 1000.0;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..2000).for_each(|_| send(&scene, tick(), 1)));
        }
    });
    let sum = all(&scene, 100.0, 0).into_iter().map(|row| row[1] + row[2]);
    assert_eq!(sum.sum::<i64>(), 8000);
}

proptest! {
    /// At any times, each ring has every event once, in the stretch in which it came.
    #[test]
    fn the_rings_have_each_event_once(
        events in prop::collection::vec((0_u64..8_000_000, 1_u32..4), 1..200),
        begin in -10_000_i64..1_000_000,
    ) {
        let scene = Scene::new(RULES, Probe::default());
        let mut micros = begin * 1_000_000;
        let mut expected = [1, 10, 3600].map(|_| BTreeMap::<i64, i64>::new());
        let mut sum = 0;
        for (gap, hits) in events {
            micros += gap as i64;
            let event =
                Event { time: Time::from_micros(micros), cost: f64::from(hits), fields: &[("user", "ann")] };
            scene.taps.count(&scene.store.check(&event), &event);
            sum += i64::from(hits);
            for (counts, width) in expected.iter_mut().zip([1, 10, 3600]) {
                *counts.entry(micros.div_euclid(width * 1_000_000) * width).or_default() += i64::from(hits);
            }
        }
        let end = micros as f64 / 1e6 + 5.0;
        for (ring, expected) in expected.into_iter().enumerate() {
            let rows = all(&scene, end, ring);
            let counted: BTreeMap<i64, i64> = rows.iter().map(|row| (row[0], row[1] + row[2])).collect();
            prop_assert_eq!(counted.values().sum::<i64>(), sum);
            prop_assert_eq!(counted, expected);
        }
    }
}

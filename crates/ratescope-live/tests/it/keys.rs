//! The keys that Live shows: the heaviest ones, from a sketch of bounded size, and those that are watched.

use super::viewers::{RULES, Scene, at, rows, told};
use proptest::prelude::*;
use ratescope::internal::Sketch;
use ratescope_live::{self, Probe, Wanted};
use serde_json::json;
use std::collections::HashMap;

proptest! {
    /// Metwally's bounds hold for any events: for keys with a place in the sketch, and for keys without one.
    #[test]
    fn the_sketch_keeps_its_bound(
        most in 1..20_usize,
        events in prop::collection::vec((0..40_u64, 0..5_u64), 0..400),
    ) {
        let (mut sketch, mut exact) = (Sketch::new(most), HashMap::<u64, u64>::new());
        for &(key, n) in &events {
            if let Some(placed) = sketch.add(key, n) {
                *placed.what = key;
            }
            *exact.entry(key).or_default() += n;
        }
        let exact: HashMap<u64, u64> = exact.into_iter().filter(|(_, n)| *n > 0).collect();
        let (top, all) = (sketch.top(usize::MAX), exact.values().sum::<u64>());
        prop_assert_eq!(top.len(), exact.len().min(most));
        prop_assert_eq!(top.iter().map(|key| key.count).sum::<u64>(), all);
        prop_assert!(sketch.least() <= all / most as u64);
        for key in &top {
            let count = exact[key.what];
            prop_assert!(key.count - key.error <= count && count <= key.count, "{:?}", key);
            prop_assert!(exact.len() > most || key.error == 0);
        }
        for (key, count) in exact.iter().filter(|(key, _)| sketch.get(**key).is_none()) {
            prop_assert!(*count <= sketch.least(), "{} was there {} times", key, count);
        }
        prop_assert!(top.is_sorted_by(|a, b| a.count >= b.count));
    }
}

/// With many more keys than places, the heavy key is found, and its count is exact.
#[test]
fn keys_beyond_the_places_of_the_sketch() {
    for keys in [1000, 2000, 4000] {
        let mut sketch = Sketch::new(64);
        for key in 0..keys {
            *sketch.add(key, 1).unwrap().what = key;
            *sketch.add(u64::MAX, 1).unwrap().what = u64::MAX;
        }
        let top = sketch.top(1);
        assert_eq!((*top[0].what, top[0].count), (u64::MAX, keys));
        assert_eq!(sketch.top(usize::MAX).len(), 64);
        assert!(sketch.least() <= 2 * keys / 64);
    }
}

#[test]
fn a_key_is_watched_from_its_first_event_on() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Wanted::default(), 0.0);
    scene.event(1.0, 1.0, &[("user", "ann")]);
    scene.event(1.0, 1.0, &[("user", "bob")]);
    let (said, last) = told(&viewer.next(at(1.0)));
    let hash =
        said["keys"]["busiest"].as_array().unwrap().iter().find(|key| key["key"] == "user=ann");
    let query = format!("watch={}", hash.unwrap()["hash"].as_str().unwrap());
    drop(viewer);

    // The page then asks for the events of a key, and for the past from where it was.
    let last = last.unwrap();
    let mut viewer =
        scene.look(&Wanted::read(&query, last.rsplit_once('.').map(|(id, _)| id)), 1.1);
    for secs in [2.0, 3.5, 4.0] {
        scene.event(secs, 1.0, &[("user", "ann")]);
        scene.event(secs, 1.0, &[("user", "bob")]);
    }
    let (said, last) = told(&viewer.next(at(5.0)));
    assert_eq!(said["events"]["key"]["limiters"], "gcra 2/1h burst 2");
    let events = json!([[2_000_000, 1.0, 0], [3_500_000, 1.0, 1], [4_000_000, 1.0, 1]]);
    assert_eq!(said["events"]["events"], events);
    assert_eq!(rows(&said, 0).len(), 4, "the seconds go on");
    drop(viewer);

    // After a lost connection, nothing is missing and nothing comes twice.
    scene.event(5.5, 1.0, &[("user", "ann")]);
    let asked = Wanted::read(&query, last.as_deref());
    let (said, _) = told(&scene.look(&asked, 6.0).next(at(6.0)));
    assert_eq!(said["events"]["events"], json!([[5_500_000, 1.0, 1]]));
    assert_eq!(said["sums"], json!([6_000_000, 4, 5, 0, 0, 0, 0]));
    assert_eq!(rows(&said, 0), [json!([5, 0, 1, 0, 0, 0, 0])]);
    // Another process knows neither the seconds nor the events of this one.
    let (said, _) = told(&Scene::new(RULES, Probe::default()).look(&asked, 6.0).next(at(6.0)));
    assert_eq!(said["past"]["seconds"], json!([6, 6]));
    assert!(!said.contains_key("lost"));
}

#[test]
fn an_event_that_another_limit_refused_did_not_count_for_the_key() {
    let text = "domain: web\nlimit: gcra 9/1h per user & gcra 1/1h per ip\n";
    let scene = Scene::new(text, Probe::default());
    let look = |asked: &Wanted| told(&scene.look(asked, 0.0).next(at(0.0))).0;
    let _stays = scene.look(&Wanted::default(), 0.0);
    let send = || scene.event(0.0, 1.0, &[("user", "ann"), ("ip", "192.0.2.1")]);
    send();
    let keys = look(&Wanted::default());
    let of = |key: &str| {
        let keys = keys["keys"]["busiest"].as_array().unwrap();
        let found = keys.iter().find(|known| known["key"] == key).unwrap();
        Wanted::read(&format!("watch={}", found["hash"].as_str().unwrap()), None)
    };
    let mut viewers = ["user=ann", "ip=192.0.2.1"].map(|key| scene.look(&of(key), 0.0));
    send();
    let [user, ip] = viewers.each_mut().map(|viewer| told(&viewer.next(at(0.0))).0);
    assert_eq!((&user["events"]["events"], &user["events"]["elsewhere"]), (&json!([]), &json!(1)));
    assert_eq!(ip["events"]["events"], json!([[0, 1.0, 1]]));
}

/// Of thousands of keys that come once only some get their text, but each key that comes again does.
#[test]
fn a_busy_key_is_shown_among_many_that_come_once() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Wanted::default(), 0.0);
    for i in 0..4000 {
        scene.event(0.0, 1.0, &[("user", &i.to_string())]);
        if i >= 2000 && i % 50 == 0 {
            scene.event(0.0, 1.0, &[("user", "ann")]);
        }
    }
    let (said, _) = told(&viewer.next(at(0.0)));
    let busiest = said["keys"]["busiest"].as_array().unwrap();
    assert_eq!((busiest.len(), &busiest[0]["key"]), (12, &json!("user=ann")));
    let [count, error] = ["count", "error"].map(|what| busiest[0][what].as_u64().unwrap());
    assert!(count - error <= 40 && 40 <= count, "{count}, of which {error} are uncertain");
    // No key but this one was refused.
    assert_eq!(said["keys"]["refused"][0]["count"], 38);
}

#[test]
fn keys_can_be_hidden_and_are_cut() {
    let long = "x".repeat(1000);
    let shown = |probe: Probe| {
        let scene = Scene::new(RULES, probe);
        let mut viewer = scene.look(&Wanted::default(), 0.0);
        scene.event(0.0, 1.0, &[("user", &long)]);
        let (said, _) = told(&viewer.next(at(0.0)));
        said["keys"]["busiest"][0]["key"].as_str().unwrap().to_owned()
    };
    let cut = shown(Probe::default());
    assert!(cut.starts_with("user=xxx") && cut.ends_with("x…"), "{cut}");
    assert_eq!(cut.chars().count(), ratescope_live::LONGEST_KEY + 1);
    let hidden = shown(Probe::default().hiding_keys());
    assert!(hidden.starts_with('#') && hidden.len() == 9, "{hidden}");
    // Each probe hashes with its own secret, so nobody can choose keys that collide.
    assert_ne!(hidden, shown(Probe::default().hiding_keys()));
}

//! The probe, and its news for the viewers of Live.

use ratescope::Time;
use ratescope::event::Event;
use ratescope::rules::{MemoryStore, Rules};
use ratescope_live::{self, Probe, Taps, Viewer, Wanted};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1h}
- {key: path, shadow: true, limit: gcra 1/1h}
";

/// Rules with a probe that counts their decisions.
pub(crate) struct Scene {
    pub(crate) store: MemoryStore,
    pub(crate) probe: Arc<Probe>,
    pub(crate) taps: Taps,
}

impl Scene {
    pub(crate) fn new(text: &str, probe: Probe) -> Self {
        let rules = Rules::read("rules.yaml", text).unwrap();
        let probe = Arc::new(probe);
        let taps = probe.taps(&rules);
        Scene { store: MemoryStore::new(rules, 1000), probe, taps }
    }

    pub(crate) fn event(&self, secs: f64, cost: f64, fields: &[(&str, &str)]) {
        let event = Event { time: at(secs), cost, fields: &fields };
        self.taps.count(&self.store.check(&event), &event);
    }

    pub(crate) fn look(&self, asked: &Wanted, secs: f64) -> Viewer {
        self.probe.look(asked, at(secs)).unwrap()
    }
}

pub(crate) fn at(secs: f64) -> Time {
    Time::try_from_secs_f64(secs).unwrap()
}

/// The messages of an event stream by their names, and the last id.
pub(crate) fn told(text: &str) -> (HashMap<String, Value>, Option<String>) {
    let (mut all, mut last) = (HashMap::new(), None);
    for message in text.split("\n\n").filter(|message| !message.is_empty()) {
        let mut fields: HashMap<&str, &str> =
            message.lines().map(|line| line.split_once(": ").unwrap()).collect();
        last = fields.remove("id").map(str::to_owned).or(last);
        all.insert(fields["event"].to_owned(), serde_json::from_str(fields["data"]).unwrap());
    }
    (all, last)
}

/// The rows of a ring of the past that were told.
pub(crate) fn rows(said: &HashMap<String, Value>, ring: usize) -> &[Value] {
    said["past"]["rings"][ring]["rows"].as_array().unwrap()
}

#[test]
fn sums_are_exact_whether_somebody_looks_or_not() {
    let scene = Scene::new(RULES, Probe::default());
    let events = |n: usize| {
        for _ in 0..n {
            scene.event(0.0, 1.0, &[("user", "ann")]);
            scene.event(0.0, 1.5, &[("path", "/")]);
        }
    };
    events(3);
    let mut viewer = scene.look(&Wanted::default(), 1.0);
    events(1);
    let (said, _) = told(&viewer.next(at(2.0)));
    let rules = json!([
        ["web:user", "gcra 2/1h burst 2 per user", false],
        ["web:path", "gcra 1/1h burst 1 per path", true]
    ]);
    assert_eq!(said["rules"]["rules"], rules);
    // A cost of 1.5 is two hits, as in the counters. It is above the limit of the shadow, which would refuse
    // it.
    assert_eq!(said["sums"], json!([2_000_000, 2, 2, 0, 0, 0, 8]));
    // All of them came in one second, of which three events were before the viewer.
    assert_eq!(said["past"]["seconds"], json!([0, 2]));
    assert_eq!(rows(&said, 0), [json!([0, 2, 1, 0, 0, 0, 6]), json!([1, 0, 1, 0, 0, 0, 2])]);
    // Keys are counted only since the first viewer came.
    assert_eq!(said["keys"]["since"], 1_000_000);
    let busiest = said["keys"]["busiest"].as_array().unwrap();
    let counts: Vec<_> =
        busiest.iter().map(|key| [&key["key"], &key["count"], &key["error"]]).collect();
    assert_eq!(
        counts,
        [[&json!("path=/"), &json!(2), &json!(0)], [&json!("user=ann"), &json!(1), &json!(0)]]
    );
    assert_eq!(said["keys"]["refused"].as_array().unwrap().len(), 2);

    // After a reload a rule goes on with its sums, even for decisions by the old rules.
    let other = Rules::read("rules.yaml", &RULES.replace("gcra 2/1h", "gcra 9/1h")).unwrap();
    let taps = scene.probe.taps(&other);
    events(1);
    let event = Event { time: at(0.0), cost: 1.0, fields: &[("user", "bob")] };
    taps.count(&MemoryStore::new(other, 10).check(&event), &event);
    let (said, _) = told(&viewer.next(at(3.0)));
    assert_eq!(said["rules"]["rules"][0][1], "gcra 9/1h burst 9 per user");
    assert_eq!(said["sums"], json!([3_000_000, 3, 3, 0, 0, 0, 10]));
}

#[test]
fn a_slow_viewer_is_told_how_much_it_lost() {
    let scene = Scene::new(RULES, Probe::default());
    let mut quick = scene.look(&Wanted::default(), 0.0);
    scene.event(0.0, 1.0, &[("user", "ann")]);
    let (said, _) = told(&quick.next(at(0.0)));
    let hash = said["keys"]["busiest"][0]["hash"].as_str().unwrap().to_owned();
    let mut slow = scene.look(&Wanted::read(&format!("watch={hash}"), None), 0.0);
    told(&slow.next(at(0.0)));
    for i in 0..4200_u32 {
        scene.event(f64::from(i), 1.0, &[("user", "ann")]);
        quick.next(at(f64::from(i)));
    }
    // The slow viewer gets all that is remembered, and then no more until there is something new.
    let (mut events, mut seconds, mut lost) = (0, 0, Vec::new());
    for _ in 0..100 {
        let text = slow.next(at(4200.0));
        assert!(text.len() < 200 << 10, "{} bytes at once", text.len());
        let (said, _) = told(&text);
        events += said["events"]["events"].as_array().unwrap().len();
        seconds += said.get("past").map_or(0, |_| rows(&said, 0).len());
        lost.extend(said.get("lost").cloned());
    }
    assert_eq!((events, seconds), (ratescope_live::EVENTS, ratescope_live::SECONDS));
    assert_eq!(lost, [json!({"events": 4200 - ratescope_live::EVENTS})]);
}

/// A viewer who comes after an incident learns who was refused.
#[test]
fn refused_keys_are_known_though_nobody_looked() {
    let scene = Scene::new(RULES, Probe::default());
    for user in ["ann", "bob", "bob", "bob", "bob"] {
        scene.event(0.0, 1.0, &[("user", user)]);
    }
    let refused = |secs: f64| {
        let (said, _) = told(&scene.look(&Wanted::default(), secs).next(at(secs)));
        let of = |list: &Value| -> Vec<(String, i64)> {
            let keys = list.as_array().unwrap().iter();
            keys.map(|key| (key["key"].as_str().unwrap().into(), key["count"].as_i64().unwrap()))
                .collect()
        };
        [of(&said["keys"]["busiest"]), of(&said["keys"]["refused"])]
    };
    assert_eq!(refused(10.0), [vec![], vec![("user=bob".to_owned(), 2)]]);
    // The last viewer has left long ago.
    scene.probe.forget(at(11.0));
    scene.probe.forget(at(80.0));
    scene.event(80.0, 1.0, &[("user", "bob")]);
    assert_eq!(refused(90.0), [vec![], vec![("user=bob".to_owned(), 3)]]);
}

#[test]
fn what_viewers_need_is_bounded_and_not_kept_while_nobody_looks() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewers: Vec<_> = (0..ratescope_live::VIEWERS)
        .map(|i| scene.look(&Wanted::read(&format!("watch={i:x}"), None), 0.0))
        .collect();
    assert!(scene.probe.look(&Wanted::default(), at(0.0)).is_none());
    viewers.pop();
    for i in 0..1000 {
        scene.event(0.0, 1.0, &[("user", &i.to_string())]);
        // Keys that nobody watches any more make room for new ones.
        scene.look(&Wanted::read(&format!("watch={:x}", 100 + i), None), 0.0).next(at(0.0));
    }
    viewers.clear();
    let since = |secs: f64| {
        let (said, _) = told(&scene.look(&Wanted::default(), secs).next(at(secs)));
        let busiest = said["keys"]["busiest"].as_array().unwrap().len();
        (said["keys"]["since"].as_i64().unwrap(), busiest)
    };
    // Everything is kept for a minute, so that a viewer who lost the connection can go on.
    scene.probe.forget(at(1.0));
    scene.probe.forget(at(60.0));
    assert_eq!(since(60.0), (0, 12));
    scene.probe.forget(at(61.0));
    scene.probe.forget(at(121.0));
    scene.event(0.0, 1.0, &[("user", "nobody looks")]);
    assert_eq!(since(130.0), (130_000_000, 0));
    let (said, _) = told(&scene.look(&Wanted::default(), 130.0).next(at(130.0)));
    assert_eq!(said["sums"], json!([130_000_000, 1001, 0, 0, 0, 0, 0]), "sums are kept always");
}

/// Viewers of a replay are told its speed and its end. Nothing is forgotten, since a minute of the replay may
/// be short.
#[test]
fn a_replay_is_told_and_forgets_nothing() {
    for speed in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(Probe::default().replaying(speed).is_err());
    }
    let scene = Scene::new(RULES, Probe::default().replaying(60.0).unwrap());
    let look = |viewer: &mut Viewer, secs: f64| told(&viewer.next(at(secs))).0;
    let mut viewer = scene.look(&Wanted::default(), 0.0);
    scene.event(1.0, 1.0, &[("user", "ann")]);
    let said = look(&mut viewer, 15.0);
    assert_eq!((&said["speed"], &said["keys"]["since"]), (&json!(60.0), &json!(0)));
    // The tables of keys come with every fourth message, which would be once a second in a service.
    let keys: Vec<bool> = (2..10)
        .map(|turn| look(&mut viewer, 15.0 * f64::from(turn)))
        .inspect(|said| assert!(!said.contains_key("speed")))
        .map(|said| said.contains_key("keys"))
        .collect();
    assert_eq!(keys.iter().filter(|told| **told).count(), 2, "{keys:?}");
    drop(viewer);
    scene.probe.forget(at(200.0));
    scene.probe.forget(at(1e6));
    let mut viewer = scene.look(&Wanted::default(), 1e6);
    assert_eq!(look(&mut viewer, 1e6)["keys"]["since"], 0);
    scene.event(1e6, 1.0, &[("user", "bob")]);
    scene.probe.end_replay();
    let said = look(&mut viewer, 1e6 + 1.0);
    assert_eq!(said["speed"], 0.0);
    assert_eq!(said["keys"]["busiest"].as_array().unwrap().len(), 2);
    assert_eq!(viewer.next(at(1e6 + 1.0)), "");
}

#[test]
fn unreadable_requests_of_viewers_are_ignored() {
    for (query, id) in [("watch=", "x"), ("watch=zz&watch=1", "1.2"), ("", "."), ("&&=", "1.x.2")] {
        let asked = Wanted::read(query, Some(id));
        let scene = Scene::new(RULES, Probe::default());
        let (said, _) = told(&scene.look(&asked, 0.0).next(at(0.0)));
        assert_eq!(said["past"]["seconds"], json!([0, 0]), "{query} {id}");
    }
    // A viewer that claims to have been told of the first or the last of all seconds.
    let scene = Scene::new(RULES, Probe::default());
    scene.event(0.0, 1.0, &[("user", "ann")]);
    let (said, _) = told(&scene.look(&Wanted::default(), 1.0).next(at(1.0)));
    for (second, known) in [(i64::MIN, 1), (i64::MAX, 0)] {
        let id = format!("{}.{second}.0", said["rules"]["probe"].as_str().unwrap());
        let (said, _) = told(&scene.look(&Wanted::read("", Some(&id)), 1.0).next(at(1.0)));
        assert_eq!(rows(&said, 0).len(), known);
    }
}

/// Beside the limits of a rule stands how processes share them, by the rule or by the store.
#[test]
fn viewers_see_how_limits_are_shared() {
    let text = format!("{RULES}- {{key: ip, share: synced 200ms, limit: gcra 10/1s burst 10}}\n");
    let rules = Rules::read("rules.yaml", &text).unwrap().with_share("leased".parse().unwrap());
    let probe = Arc::new(Probe::default());
    let _taps = probe.taps(&rules);
    let mut viewer = probe.look(&Wanted::default(), at(0.0)).unwrap();
    let (said, _) = told(&viewer.next(at(0.0)));
    let limits = |i: usize| said["rules"]["rules"][i][1].as_str().unwrap().to_owned();
    assert_eq!(limits(0), "gcra 2/1h burst 2 per user, leased 100ms");
    // A shadow can't be leased.
    assert_eq!(limits(1), "gcra 1/1h burst 1 per path");
    assert_eq!(limits(2), "gcra 10/1s burst 10 per ip, synced 200ms");
}

//! The events of a watched key, decided again; and a service with the crate inside, seen by a probe.

use super::viewers::{Scene, at, told};
use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{HeaderName, Request};
use ratescope::Time;
use ratescope::clock::{Clock, SystemClock};
use ratescope::event::Event;
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{MemoryStore, Reloaded, Rules};
use ratescope_live::{Probe, Wanted};
use ratescope_tower::RateLimitLayer;
use std::sync::Arc;
use tower_service::Service;

/// If the events that viewers are told of a key are put to its limiter again, the answers are those of the service: the
/// same levels, bit for bit, and the same verdicts. So the page shows the events of a key as they happened.
#[test]
fn a_key_that_is_watched_is_the_replay_of_its_events() {
    for limiter in [
        "exim 5/1m strict",
        "exim 5/1m leaky",
        "earrrl 5/1m half-life 1m",
        "gcra 5/1m burst 3",
        "sliding-window 5/1m precision 1s",
        "adaptive x3 decay 1m increase 1h floor 5",
    ] {
        let scene =
            Scene::new(&format!("domain: web\nlimit: {limiter} per user\n"), Probe::default());
        // A key can only be watched once its hash is known. So a first event goes to one store, and the
        // watched events go to another, where they are the first.
        let mut table = scene.look(&Wanted::default(), 0.0);
        scene.event(0.0, 1.0, &[("user", "ann")]);
        let (said, _) = told(&table.next(at(0.0)));
        let hash = said["keys"]["busiest"][0]["hash"].as_str().unwrap();
        let mut viewer = scene.look(&Wanted::read(&format!("watch={hash}"), None), 0.0);
        let store = MemoryStore::new((*scene.store.rules()).clone(), 1000);
        let (mut time, mut levels, mut text) = (0.0, Vec::new(), String::new());
        for i in 0..500_u32 {
            // Times and costs without a short decimal form.
            time += f64::from(i * 7919 % 97) / 7.3;
            let cost = 0.1 + f64::from(i * 104_729 % 31) / 23.0;
            let event = Event { time: at(time), cost, fields: &[("user", "ann")] };
            let decision = store.check(&event);
            levels.push((
                decision.decided_by().unwrap().outcome.level.to_bits(),
                decision.is_allowed(),
            ));
            scene.taps.count(&decision, &event);
            text += &viewer.next(at(time));
        }
        let limiter: AnyLimiter = limiter.parse().unwrap();
        let mut state = limiter.initial();
        let lists = text.split("\"events\":[").skip(1).map(|rest| rest.split("]]").next().unwrap());
        let events: Vec<&str> = lists.flat_map(|list| list.split("],[")).collect();
        let mut replayed = Vec::new();
        for event in events.iter().filter(|event| event.contains(',') && !event.starts_with(']')) {
            // Read the numbers as a browser does.
            let mut numbers = event.trim_matches(['[', ']']).split(',');
            let micros = numbers.next().unwrap().parse().unwrap();
            let cost: f64 = numbers.next().unwrap().parse().unwrap();
            let outcome = limiter.check(&mut state, Time::from_micros(micros), cost);
            replayed.push((outcome.level.to_bits(), outcome.is_allowed()));
            assert_eq!(numbers.next(), Some(if outcome.is_allowed() { "0" } else { "1" }));
        }
        assert!(replayed == levels, "{limiter}: {} of {}", replayed.len(), levels.len());
        assert!(
            levels.iter().any(|(_, passed)| *passed) && levels.iter().any(|(_, passed)| !passed)
        );
    }
}

/// The decisions of a layer over a store with a probe are in the sums, even after a reload.
#[tokio::test]
async fn a_layer_is_seen() {
    let text = "domain: web\nlimit: gcra 2/1h per user\n";
    let probe = Arc::new(Probe::default());
    let rules = Rules::read("rules.yaml", text).unwrap();
    let store = probe.observe(MemoryStore::new(rules, 100));
    let limit =
        RateLimitLayer::new(store.clone()).header("user", HeaderName::from_static("x-user"));
    let mut service = Router::new().route("/", get(|| async {})).layer(limit);
    let mut viewer = probe.look(&Wanted::default(), at(0.0)).unwrap();
    for (user, status) in [("ann", 200), ("ann", 200), ("ann", 429), ("bob", 200)] {
        let request = Request::builder().header("x-user", user).body(Body::empty()).unwrap();
        assert_eq!(service.call(request).await.unwrap().status(), status);
    }
    let (said, _) = told(&viewer.next(at(1.0)));
    assert_eq!(said["sums"], serde_json::json!([1_000_000, 3, 1, 0]));
    let other = Rules::read("rules.yaml", &text.replace("2/1h", "1/1h")).unwrap();
    assert!(matches!(store.store().replace(other, SystemClock.now()), Reloaded::Applied(_)));
    let request = Request::builder().header("x-user", "eve").body(Body::empty()).unwrap();
    assert_eq!(service.call(request).await.unwrap().status(), 200);
    let (said, _) = told(&viewer.next(at(2.0)));
    assert_eq!(said["sums"], serde_json::json!([2_000_000, 4, 1, 0]));
    assert_eq!(said["rules"]["rules"][0][1], "gcra 1/1h burst 1 per user");
}

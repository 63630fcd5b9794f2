//! The meters, as a recorder has them.

use crate::middleware::parts::{Far, Hand, Inner, get, limit, ruled, send};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use ratescope::rules::{Fault, Reloaded};
use ratescope_tower::{self, watch::FileNews};
use tower_layer::Layer;

/// The counters after `done`, without empty lines and comments.
pub(crate) fn counted(done: impl FnOnce(&PrometheusRecorder)) -> Vec<String> {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || done(&recorder));
    let text = recorder.handle().render();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut lines: Vec<String> =
        lines.filter(|line| !line.ends_with(" 0")).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn decisions_by_rule_and_outcome() {
    let rules = "\
domain: web
limit: gcra 4/1m per ip
descriptors:
  - {key: method, limit: gcra 2/1m, throttle: soft 50%}
  - {key: path, limit: gcra 1/1m, shadow: true}
";
    let lines = counted(|_| {
        let clock = Hand::default();
        let mut service = limit(ruled(rules), &clock).layer(Inner::default());
        let statuses = [0; 4].map(|_| send(&mut service, get("/", "192.0.2.7")).status().as_u16());
        assert_eq!(statuses, [200, 200, 200, 429]);
        // Keys are counted once a second.
        clock.set(1.0);
        send(&mut service, get("/", "192.0.2.8"));
    });
    let expected = [
        "ratescope_decisions_total{rule=\"web\",outcome=\"allowed\"} 5",
        "ratescope_decisions_total{rule=\"web:method\",outcome=\"allowed\"} 2",
        "ratescope_decisions_total{rule=\"web:method\",outcome=\"refused\"} 2",
        "ratescope_decisions_total{rule=\"web:method\",outcome=\"soft\"} 1",
        "ratescope_decisions_total{rule=\"web:path\",outcome=\"allowed\"} 1",
        "ratescope_decisions_total{rule=\"web:path\",outcome=\"shadow_refused\"} 4",
        // One of each limit, and of the relaxed one of the soft rule.
        "ratescope_keys 4",
        "ratescope_requests_total{outcome=\"allowed\"} 3",
        "ratescope_requests_total{outcome=\"refused\"} 2",
    ];
    assert_eq!(lines, expected);
}

/// An event whose time is earlier than that of another, as after a wait for the store, is no clock that was set back.
#[test]
fn keys_are_counted_once_a_second_whatever_the_order_of_events() {
    let clock = Hand::default();
    counted(|recorder| {
        let limit = limit(ruled("domain: web\nlimit: 1/1h per ip\n"), &clock);
        let mut service = limit.layer(Inner::default());
        let mut keys = |seconds: f64, ip: &str| {
            clock.set(seconds);
            send(&mut service, get("/", ip));
            let text = recorder.handle().render();
            let keys = text.lines().find_map(|line| line.strip_prefix("ratescope_keys "));
            keys.unwrap().to_owned()
        };
        let asked = [(300.0, "192.0.2.1"), (299.9, "192.0.2.2"), (300.9, "192.0.2.3")];
        assert_eq!(asked.map(|(seconds, ip)| keys(seconds, ip)), ["1"; 3]);
        assert_eq!(keys(301.0, "192.0.2.4"), "4");
        // A clock that was set back.
        assert_eq!(keys(0.0, "192.0.2.5"), "5");
        assert_eq!(keys(0.9, "192.0.2.6"), "5");
    });
}

#[test]
fn the_queue_and_what_was_delayed() {
    let lines = counted(|recorder| {
        let clock = Hand::default();
        let rules = "domain: web\nlimit: leaky-bucket 1/1s queue 2 per ip\n";
        let mut service = limit(ruled(rules), &clock).layer(Inner::default());
        send(&mut service, get("/", "192.0.2.7"));
        let waits = crate::middleware::parts::call(&mut service, get("/", "192.0.2.7"));
        assert!(recorder.handle().render().contains("\nratescope_waiting 1\n"));
        drop(waits);
        assert!(recorder.handle().render().contains("\nratescope_waiting 0\n"));
    });
    assert!(lines.contains(&"ratescope_requests_total{outcome=\"delayed\"} 1".to_owned()));
}

#[test]
fn faults_and_the_time_of_a_store() {
    let mut seconds = String::new();
    let lines = counted(|_| {
        let clock = Hand::default();
        let rules = "domain: web\nlimit: gcra 1/1m per ip\non_store_failure: refuse\n";
        let mut store = Far::new(rules, 1);
        store.fault = Some(Fault::Late);
        let mut service = limit(store, &clock).charge(|_| 0.0).layer(Inner::default());
        let statuses = [0; 2].map(|_| send(&mut service, get("/", "192.0.2.7")).status().as_u16());
        assert_eq!(statuses, [200, 503]);
    });
    for line in &lines {
        seconds.push_str(if line.starts_with("ratescope_store_seconds_count") { line } else { "" });
    }
    assert_eq!(seconds, "ratescope_store_seconds_count 2");
    let errors = "ratescope_store_errors_total{fault=\"late\"} 3";
    assert!(lines.contains(&errors.to_owned()), "{lines:?}");
    assert!(lines.contains(&"ratescope_requests_total{outcome=\"unavailable\"} 1".to_owned()));
}

/// New rules have counters of their own; old ones go on.
#[test]
fn rules_that_are_read_anew() {
    let lines = counted(|_| {
        let ruled = ruled("domain: old\nlimit: 9/1m per ip\n");
        let clock = Hand::default();
        let mut service = limit(ruled.clone(), &clock).layer(Inner::default());
        send(&mut service, get("/", "192.0.2.7"));
        let reloaded = ruled.reload("r", "domain: new\nlimit: 8/1m per ip\n", Default::default());
        assert_eq!(reloaded.name(), "applied");
        let read = |reloaded| FileNews::Read { file: "r".to_owned(), reloaded };
        ratescope_tower::log_reload(read(reloaded));
        let response = send(&mut service, get("/", "192.0.2.7"));
        assert_eq!(response.headers()["ratelimit-policy"], "\"new\";q=8;w=60");
        ratescope_tower::log_reload(read(Reloaded::Unchanged));
        ratescope_tower::log_reload(FileNews::Unreadable("gone".to_owned()));
    });
    for line in [
        "ratescope_decisions_total{rule=\"old\",outcome=\"allowed\"} 1",
        "ratescope_decisions_total{rule=\"new\",outcome=\"allowed\"} 1",
        "ratescope_reloads_total{outcome=\"applied\"} 1",
        "ratescope_reloads_total{outcome=\"unchanged\"} 1",
        "ratescope_reloads_total{outcome=\"unreadable\"} 1",
    ] {
        assert!(lines.contains(&line.to_owned()), "{line} is missing from {lines:?}");
    }
}

/// Two layers of one service, such as one for requests and one for bytes.
#[test]
fn layers_are_told_apart_by_their_names() {
    let lines = counted(|_| {
        let clock = Hand::default();
        let two = |domain: &str| ruled(&format!("domain: {domain}\nlimit: 1/1m per ip\n"));
        let outer = limit(two("outer"), &clock).name("outer");
        let inner = limit(two("inner"), &clock).name("inner");
        let mut service = outer.layer(inner.layer(Inner::default()));
        for seconds in [0.0, 1.0] {
            clock.set(seconds);
            send(&mut service, get("/", "192.0.2.7"));
        }
    });
    let expected = [
        "ratescope_decisions_total{rule=\"inner\",outcome=\"allowed\",layer=\"inner\"} 1",
        "ratescope_decisions_total{rule=\"outer\",outcome=\"allowed\",layer=\"outer\"} 1",
        "ratescope_decisions_total{rule=\"outer\",outcome=\"refused\",layer=\"outer\"} 1",
        "ratescope_keys{layer=\"inner\"} 1",
        "ratescope_keys{layer=\"outer\"} 1",
        "ratescope_requests_total{outcome=\"allowed\",layer=\"inner\"} 1",
        "ratescope_requests_total{outcome=\"allowed\",layer=\"outer\"} 1",
        "ratescope_requests_total{outcome=\"refused\",layer=\"outer\"} 1",
    ];
    assert_eq!(lines, expected);
}

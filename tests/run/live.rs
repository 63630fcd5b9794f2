//! The probe, and Live on the admin port.

use super::files::Folder;
use super::program::{Program, get};
use proptest::prelude::*;
use ratescope::event::Event;
use ratescope::live::{self, Asked, Probe, Sketch, Taps, Viewer};
use ratescope::rules::{Ruled, Rules};
use ratescope::{Span, Time};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1h}
- {key: path, shadow: true, limit: gcra 1/1h}
";

/// Rules with a probe that counts what they decide.
pub(crate) struct Scene {
    pub(crate) store: Ruled,
    pub(crate) probe: Arc<Probe>,
    pub(crate) taps: Taps,
}

impl Scene {
    pub(crate) fn new(text: &str, probe: Probe) -> Self {
        let rules = Rules::read("rules.yaml", text).unwrap();
        let probe = Arc::new(probe);
        let taps = probe.taps(&rules);
        Scene { store: Ruled::new(rules, 1000), probe, taps }
    }

    pub(crate) fn event(&self, secs: f64, cost: f64, fields: &[(&str, &str)]) {
        let event = Event { time: at(secs), cost, fields: &fields };
        self.taps.count(&self.store.check(&event), &event);
    }

    pub(crate) fn look(&self, asked: &Asked, secs: f64) -> Viewer {
        self.probe.look(asked, at(secs)).unwrap()
    }
}

pub(crate) fn at(secs: f64) -> Time {
    Time::from_secs(secs).unwrap()
}

/// The messages of an event stream, by their names, and the last id.
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

fn rates(said: &HashMap<String, Value>) -> &[Value] {
    said["columns"].as_array().unwrap()
}

proptest! {
    /// Metwally's bound, whatever comes: of keys that are counted, and of those that are not.
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

/// Many more keys than places: the heavy one is found, and it stays as large as it is.
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
fn sums_are_exact_whether_somebody_looks_or_not() {
    let scene = Scene::new(RULES, Probe::default());
    let events = |n: usize| {
        for _ in 0..n {
            scene.event(0.0, 1.0, &[("user", "ann")]);
            scene.event(0.0, 1.5, &[("path", "/")]);
        }
    };
    events(3);
    let mut viewer = scene.look(&Asked::default(), 1.0);
    events(1);
    let (said, _) = told(&viewer.next(at(2.0)));
    let rules = json!([
        ["web:user", "gcra 2/1h burst 2 per user"],
        ["web:path", "gcra 1/1h burst 1 per path, a shadow"]
    ]);
    assert_eq!(said["rules"]["rules"], rules);
    // 1.5 is two hits, as in the counters. More than the limit of the shadow, so it would be refused.
    assert_eq!(
        rates(&said),
        [json!([1_000_000, 2, 1, 0, 0, 0, 6]), json!([2_000_000, 2, 2, 0, 0, 0, 8])]
    );
    // Keys are counted since somebody looks.
    assert_eq!(said["keys"]["since"], 1_000_000);
    let busiest = said["keys"]["busiest"].as_array().unwrap();
    let counts: Vec<_> =
        busiest.iter().map(|key| [&key["key"], &key["count"], &key["error"]]).collect();
    assert_eq!(
        counts,
        [[&json!("path=/"), &json!(2), &json!(0)], [&json!("user=ann"), &json!(1), &json!(0)]]
    );
    assert_eq!(said["keys"]["refused"].as_array().unwrap().len(), 2);

    // After a reload the rule goes on with its sums, also for answers by the rules before.
    let other = Rules::read("rules.yaml", &RULES.replace("gcra 2/1h", "gcra 9/1h")).unwrap();
    let taps = scene.probe.taps(&other);
    events(1);
    let event = Event { time: at(0.0), cost: 1.0, fields: &[("user", "bob")] };
    taps.count(&Ruled::new(other, 10).check(&event), &event);
    let (said, _) = told(&viewer.next(at(3.0)));
    assert_eq!(said["rules"]["rules"][0][1], "gcra 9/1h burst 9 per user");
    assert_eq!(rates(&said), [json!([3_000_000, 3, 3, 0, 0, 0, 10])]);
}

#[test]
fn a_key_is_watched_from_its_first_event_on() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Asked::default(), 0.0);
    scene.event(1.0, 1.0, &[("user", "ann")]);
    scene.event(1.0, 1.0, &[("user", "bob")]);
    let (said, last) = told(&viewer.next(at(1.0)));
    let hash =
        said["keys"]["busiest"].as_array().unwrap().iter().find(|key| key["key"] == "user=ann");
    let query = format!("watch={}", hash.unwrap()["hash"].as_str().unwrap());
    drop(viewer);

    // As the page asks: from the same column on, for the events of a key.
    let last = last.unwrap();
    let mut viewer = scene.look(&Asked::read(&query, last.rsplit_once('.').map(|(id, _)| id)), 1.1);
    for secs in [2.0, 3.5, 4.0] {
        scene.event(secs, 1.0, &[("user", "ann")]);
        scene.event(secs, 1.0, &[("user", "bob")]);
    }
    let (said, last) = told(&viewer.next(at(5.0)));
    assert_eq!(said["events"]["key"]["limiters"], "gcra 2/1h burst 2");
    let events = json!([[2_000_000, 1.0, 0], [3_500_000, 1.0, 1], [4_000_000, 1.0, 1]]);
    assert_eq!(said["events"]["events"], events);
    assert_eq!(rates(&said).len(), 2, "the columns go on");
    drop(viewer);

    // Cut off and back: nothing is missing, and nothing comes twice.
    scene.event(5.5, 1.0, &[("user", "ann")]);
    let asked = Asked::read(&query, last.as_deref());
    let (said, _) = told(&scene.look(&asked, 6.0).next(at(6.0)));
    assert_eq!(said["events"]["events"], json!([[5_500_000, 1.0, 1]]));
    assert_eq!(rates(&said), [json!([6_000_000, 4, 5, 0, 0, 0, 0])]);
    // Another process knows neither its columns nor its events.
    let (said, _) = told(&Scene::new(RULES, Probe::default()).look(&asked, 6.0).next(at(6.0)));
    assert_eq!(rates(&said).len(), 1);
    assert!(!said.contains_key("lost"));
}

#[test]
fn an_event_that_another_limit_refused_did_not_count_for_the_key() {
    let text = "domain: web\nlimit: gcra 9/1h per user & gcra 1/1h per ip\n";
    let scene = Scene::new(text, Probe::default());
    let look = |asked: &Asked| told(&scene.look(asked, 0.0).next(at(0.0))).0;
    let _stays = scene.look(&Asked::default(), 0.0);
    let send = || scene.event(0.0, 1.0, &[("user", "ann"), ("ip", "192.0.2.1")]);
    send();
    let keys = look(&Asked::default());
    let of = |key: &str| {
        let keys = keys["keys"]["busiest"].as_array().unwrap();
        let found = keys.iter().find(|known| known["key"] == key).unwrap();
        Asked::read(&format!("watch={}", found["hash"].as_str().unwrap()), None)
    };
    let mut viewers = ["user=ann", "ip=192.0.2.1"].map(|key| scene.look(&of(key), 0.0));
    send();
    let [user, ip] = viewers.each_mut().map(|viewer| told(&viewer.next(at(0.0))).0);
    assert_eq!((&user["events"]["events"], &user["events"]["elsewhere"]), (&json!([]), &json!(1)));
    assert_eq!(ip["events"]["events"], json!([[0, 1.0, 1]]));
}

#[test]
fn a_slow_viewer_is_told_how_much_it_lost() {
    let scene = Scene::new(RULES, Probe::default());
    let mut quick = scene.look(&Asked::default(), 0.0);
    scene.event(0.0, 1.0, &[("user", "ann")]);
    let (said, _) = told(&quick.next(at(0.0)));
    let hash = said["keys"]["busiest"][0]["hash"].as_str().unwrap().to_owned();
    let mut slow = scene.look(&Asked::read(&format!("watch={hash}"), None), 0.0);
    told(&slow.next(at(0.0)));
    for i in 0..4200_u32 {
        scene.event(f64::from(i), 1.0, &[("user", "ann")]);
        quick.next(at(f64::from(i)));
    }
    // All that is remembered, and no more: then it waits again.
    let (mut events, mut columns, mut lost) = (0, 0, Vec::new());
    for _ in 0..100 {
        let text = slow.next(at(4200.0));
        assert!(text.len() < 200 << 10, "{} bytes at once", text.len());
        let (said, _) = told(&text);
        events += said["events"]["events"].as_array().unwrap().len();
        columns += said.get("columns").map_or(0, |columns| columns.as_array().unwrap().len());
        lost.extend(said.get("lost").cloned());
    }
    assert_eq!((events, columns), (live::EVENTS, live::COLUMNS));
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0]["events"], 4200 - live::EVENTS);
    assert!(lost[0]["columns"].as_u64().unwrap() > 10_000, "{lost:?}");
}

#[test]
fn what_viewers_need_is_bounded_and_not_kept_while_nobody_looks() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewers: Vec<_> = (0..live::VIEWERS)
        .map(|i| scene.look(&Asked::read(&format!("watch={i:x}"), None), 0.0))
        .collect();
    assert!(scene.probe.look(&Asked::default(), at(0.0)).is_none());
    viewers.pop();
    for i in 0..1000 {
        scene.event(0.0, 1.0, &[("user", &i.to_string())]);
        // Keys that nobody watches any more make room.
        scene.look(&Asked::read(&format!("watch={:x}", 100 + i), None), 0.0).next(at(0.0));
    }
    viewers.clear();
    let since = |secs: f64| {
        let (said, _) = told(&scene.look(&Asked::default(), secs).next(at(secs)));
        let busiest = said["keys"]["busiest"].as_array().unwrap().len();
        (said["keys"]["since"].as_i64().unwrap(), busiest)
    };
    // For a minute all is kept, so that whoever was cut off goes on.
    scene.probe.forget(at(1.0));
    scene.probe.forget(at(60.0));
    assert_eq!(since(60.0), (0, 12));
    scene.probe.forget(at(61.0));
    scene.probe.forget(at(121.0));
    scene.event(0.0, 1.0, &[("user", "nobody looks")]);
    assert_eq!(since(130.0), (130_000_000, 0));
    let (said, _) = told(&scene.look(&Asked::default(), 130.0).next(at(130.0)));
    assert_eq!(rates(&said), [json!([130_000_000, 1001, 0, 0, 0, 0, 0])], "sums are kept always");
}

/// Whoever looks at a replay is told how fast it is, and that it has ended; its minutes may be short.
#[test]
fn a_replay_is_told_and_forgets_nothing() {
    for speed in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(Probe::default().replaying(speed).is_err());
    }
    let scene = Scene::new(RULES, Probe::default().replaying(60.0).unwrap());
    let look = |viewer: &mut Viewer, secs: f64| told(&viewer.next(at(secs))).0;
    let mut viewer = scene.look(&Asked::default(), 0.0);
    scene.event(1.0, 1.0, &[("user", "ann")]);
    let said = look(&mut viewer, 15.0);
    assert_eq!((&said["speed"], &said["keys"]["since"]), (&json!(60.0), &json!(0)));
    // The keys come with every fourth message, as in a second of a service.
    let keys: Vec<bool> = (2..10)
        .map(|turn| look(&mut viewer, 15.0 * f64::from(turn)))
        .inspect(|said| assert!(!said.contains_key("speed")))
        .map(|said| said.contains_key("keys"))
        .collect();
    assert_eq!(keys.iter().filter(|told| **told).count(), 2, "{keys:?}");
    drop(viewer);
    scene.probe.forget(at(200.0));
    scene.probe.forget(at(1e6));
    let mut viewer = scene.look(&Asked::default(), 1e6);
    assert_eq!(look(&mut viewer, 1e6)["keys"]["since"], 0);
    scene.event(1e6, 1.0, &[("user", "bob")]);
    scene.probe.end_replay();
    let said = look(&mut viewer, 1e6 + 1.0);
    assert_eq!(said["speed"], 0.0);
    assert_eq!(said["keys"]["busiest"].as_array().unwrap().len(), 2);
    assert_eq!(viewer.next(at(1e6 + 1.0)), "");
}

/// Of thousands of keys that come once only some are put into words, but each that comes again.
#[test]
fn a_busy_key_is_shown_among_many_that_come_once() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Asked::default(), 0.0);
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
    // No other key was refused.
    assert_eq!(said["keys"]["refused"][0]["count"], 38);
}

/// A clock that is set back: the columns begin anew, and the sums go on.
#[test]
fn the_clock_is_set_back() {
    let scene = Scene::new(RULES, Probe::default());
    let mut viewer = scene.look(&Asked::default(), 1000.0);
    viewer.next(at(1001.0));
    scene.event(10.0, 1.0, &[("user", "ann")]);
    for secs in [10.0, 11.0] {
        let (said, _) = told(&viewer.next(at(secs)));
        assert_eq!(rates(&said), [json!([(secs * 1e6) as i64, 1, 0, 0, 0, 0, 0])]);
    }
}

#[test]
fn keys_can_be_hidden_and_are_cut() {
    let long = "x".repeat(1000);
    let shown = |probe: Probe| {
        let scene = Scene::new(RULES, probe);
        let mut viewer = scene.look(&Asked::default(), 0.0);
        scene.event(0.0, 1.0, &[("user", &long)]);
        let (said, _) = told(&viewer.next(at(0.0)));
        said["keys"]["busiest"][0]["key"].as_str().unwrap().to_owned()
    };
    let cut = shown(Probe::default());
    assert!(cut.starts_with("user=xxx") && cut.ends_with("x…"), "{cut}");
    assert_eq!(cut.chars().count(), live::LONGEST_KEY + 1);
    let hidden = shown(Probe::default().hiding_keys());
    assert!(hidden.starts_with('#') && hidden.len() == 9, "{hidden}");
    // Each probe hashes with a secret of its own, so nobody can aim at a key.
    assert_ne!(hidden, shown(Probe::default().hiding_keys()));
}

#[test]
fn nonsense_from_a_viewer_is_as_nothing() {
    for (query, id) in [("watch=", "x"), ("watch=zz&watch=1", "1.2"), ("", "."), ("&&=", "1.x.2")] {
        let asked = Asked::read(query, Some(id));
        let scene = Scene::new(RULES, Probe::default());
        let (said, _) = told(&scene.look(&asked, 0.0).next(at(0.0)));
        assert_eq!(rates(&said).len(), 1, "{query} {id}");
    }
}

/// What the page makes of the sums: each event once, also those of a time when it did not listen.
#[test]
fn the_page_draws_each_event_once() {
    let mut page = ratescope::lab::live::Live::default();
    page.name([("web:user", "gcra 2/1h")].into_iter());
    let second = |n: i64| Time::from_micros(n << 20);
    // Events from before it listened are in the sums, and not in the picture.
    page.take(second(100), &[50.0, 5.0, 0.0]);
    page.take(second(101), &[60.0, 5.0, 0.0]);
    // Ten seconds of silence: the events of that time are drawn as if they were even.
    page.take(second(111), &[160.0, 25.0, 1.0]);
    page.take(second(112), &[160.0, 25.0, 1.0]);
    let rule = &page.rules()[0];
    assert_eq!(rule.sums.0, [160.0, 25.0, 1.0]);
    let columns = rule.columns(second(100), second(113), 1.1).unwrap();
    assert_eq!((columns.first, columns.width), (second(100), Span::micros(1 << 20)));
    let counts: Vec<[f64; 3]> = columns.iter().map(|column| column.0).collect();
    let silent = (1..11).map(|_| [10.0, 2.0, 0.1]);
    let all: Vec<_> = [[10.0, 0.0, 0.0]].into_iter().chain(silent).chain([[0.0; 3]; 2]).collect();
    assert_eq!(counts.len(), all.len());
    for (counts, all) in counts.iter().zip(&all) {
        for (count, exact) in counts.iter().zip(all) {
            assert!((count - exact).abs() < 1e-9, "{counts:?} {all:?}");
        }
    }
}

/// Reads an event stream until a text is in it.
fn listen(stream: &mut TcpStream, request: &str, until: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    while !text.contains(until) {
        let mut bytes = [0; 4096];
        let n = stream.read(&mut bytes).unwrap();
        assert!(n > 0, "it ended: {text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    text
}

#[cfg(unix)]
#[test]
fn live_is_on_the_admin_port() {
    let folder = Folder::new("live");
    let rules = folder.write("rules.yaml", RULES);
    let mut program = Program::start(&rules, &["--drain", "1h"]);
    for _ in 0..3 {
        get(program.http, "/check?domain=web&user=ann", "");
    }
    let mut stream = TcpStream::connect(program.admin).unwrap();
    let request =
        format!("GET /live/events HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", program.admin.port());
    let said = listen(&mut stream, &request, "\nid: ");
    assert!(said.contains("content-type: text/event-stream"), "{said}");
    // In the first column is what was before.
    let sums =
        said.split("event: columns\ndata: [[").nth(1).and_then(|rest| rest.split(']').next());
    assert!(sums.is_some_and(|sums| sums.ends_with(",2,1,0,0,0,0")), "{said}");
    // A foreign name that leads here gets nothing.
    assert_eq!(get(program.admin, "/live/events", "").0, 421);
    assert!(get(program.admin, "/elsewhere", "").1.contains("/live.html"));
    // Who looks does not keep the program from its end.
    program.signal("TERM");
    assert!(program.child.wait().unwrap().success());
}

#[test]
fn live_asks_for_the_token_and_the_page_does_not() {
    let folder = Folder::new("live-token");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let program = Program::start(&rules, &["--admin-token-file", token.to_str().unwrap()]);
    assert_eq!(get(program.admin, "/live/events", "").0, 401);
    assert_eq!(get(program.admin, "/live.html", "").0, 200);
    let mut stream = TcpStream::connect(program.admin).unwrap();
    let request = "GET /live/events HTTP/1.1\r\nhost: limits.example\r\n\
                   authorization: Bearer 0123456789abcdef\r\n\r\n";
    listen(&mut stream, request, "event: columns");
}

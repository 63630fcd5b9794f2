//! Several events that are decided as one: all are counted, or none, even if callers give up, in any order.

use super::nodes::Cluster;
use super::server::{Server, until};
use super::{open, patient, rules};
use core::pin::Pin;
use core::task::{Context, Poll};
use ratescope::rules::{Decision, Details, MemoryStore, Numbers, Part, Rules, StateSource, Store};
use ratescope::{Event, Span, Time};
use ratescope_redis::{Options, RedisStore};
use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};

/// A limit that all share, and one of ann's own. On a cluster their keys are on two nodes.
const BOTH: &str = "
domain: d
descriptors:
- {key: user, value: all, limit: gcra 1000/1h}
- {key: user, value: ann, limit: gcra 5/1h}
";

const ALL: [(&str, &str); 1] = [("user", "all")];
const ANN: [(&str, &str); 1] = [("user", "ann")];

fn event(cost: f64) -> Event<'static> {
    Event { time: Time::from_micros(1), cost, fields: &ANN }
}

/// An event of all, and one of ann, or the other way round.
fn events(cost: f64, is_turned: bool) -> [Event<'static>; 2] {
    let all = Event { fields: &ALL, ..event(cost) };
    if is_turned { [event(cost), all] } else { [all, event(cost)] }
}

fn file(text: &str) -> Rules {
    Rules::read("rules.yaml", text).unwrap()
}

/// Gives up when the future has had to wait so many times.
struct GivesUp<F> {
    inner: Pin<Box<F>>,
    left: usize,
}

impl<F: Future> Future for GivesUp<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(done) = self.inner.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        self.left -= 1;
        if self.left == 0 { Poll::Ready(None) } else { Poll::Pending }
    }
}

fn parts<'a>(events: &'a [Event<'a>; 2]) -> [Part<'a>; 2] {
    events.each_ref().map(Part::count)
}

/// Waits until nothing goes on any more.
async fn settled(alone: usize) {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    until("tasks go on", async || tasks() <= alone).await;
}

/// The levels of all and of ann.
async fn levels(store: &impl Store) -> [f64; 2] {
    let mut levels = [0.0; 2];
    for (level, fields) in levels.iter_mut().zip([&ALL, &ANN]) {
        let answer = store.peek_async(&Event { fields, ..event(0.0) }, Details::ALL).await;
        assert_eq!(answer.fault, None);
        *level = answer.decided_by().unwrap().outcome.level;
    }
    levels
}

/// Callers give up at each point at which they wait. An event that is counted is counted in both.
async fn assert_whole(store: &RedisStore) {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    // The connections are tasks, too.
    levels(store).await;
    for is_turned in [false, true] {
        let of = events(0.25, is_turned);
        let alone = tasks();
        for left in 1.. {
            let parts = parts(&of);
            let asked = store.decide(&parts, Details::ALL.at_once());
            let done = GivesUp { inner: Box::pin(asked), left }.await;
            settled(alone).await;
            let [all, ann] = levels(store).await;
            assert_eq!(all, ann, "given up at the {left}. wait");
            if done.is_some() {
                assert!(left > 1, "it has to wait");
                break;
            }
        }
    }
    // A refused one is counted nowhere, whenever it is given up.
    let before = levels(store).await;
    for is_turned in [false, true] {
        let of = events(6.0, is_turned);
        let alone = tasks();
        for left in 1.. {
            let parts = parts(&of);
            let asked = store.decide(&parts, Details::ALL.at_once());
            let done = GivesUp { inner: Box::pin(asked), left }.await;
            settled(alone).await;
            assert_eq!(levels(store).await, before);
            if done.is_some() {
                break;
            }
        }
    }
}

/// So many at once: how many are allowed.
async fn allowed<S: Store + Clone>(store: &S, many: usize) -> usize {
    let tasks = LocalSet::new();
    let run = async {
        let mut tasks = JoinSet::new();
        for i in 0..many {
            let store = store.clone();
            tasks.spawn_local(async move {
                let of = events(1.0, i % 2 == 1);
                let parts = parts(&of);
                let answers = store.decide(&parts, Details::ALL.at_once()).await;
                assert!(answers.iter().all(|answer| answer.fault.is_none()));
                answers.iter().all(|answer| answer.is_allowed())
            });
        }
        tasks.join_all().await
    };
    tasks.run_until(run).await.into_iter().filter(|is| *is).count()
}

#[tokio::test]
async fn whoever_gives_up_leaves_a_whole_request_or_none() {
    let Some(server) = Server::start(&[]) else { return };
    assert_whole(&open(&server.url(), file(BOTH), patient("w:"))).await;
}

#[tokio::test]
async fn many_at_once_count_what_is_allowed() {
    let memory = MemoryStore::new(file(BOTH), 10);
    assert_eq!((allowed(&memory, 40).await, levels(&memory).await), (5, [5.0; 2]));
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), file(BOTH), patient("w:"));
    assert_eq!((allowed(&store, 40).await, levels(&store).await), (5, [5.0; 2]));
}

/// Where the keys are on two nodes, a refused request holds the other limit only while it is decided; one that
/// can't give back keeps at most one event of each request that was decided at the same time.
#[tokio::test]
async fn on_a_cluster_little_is_left_of_what_is_refused() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let store = open(&cluster.url(), file(BOTH), patient("o:").one_node(true));
    assert_eq!((allowed(&store, 40).await, levels(&store).await), (5, [5.0; 2]));
    assert_whole(&open(&cluster.url(), file(BOTH), patient("o:"))).await;
    let store = open(&cluster.url(), file(BOTH), patient("a:"));
    let passed = allowed(&store, 40).await;
    assert!((1..=5).contains(&passed), "{passed}");
    assert_eq!(levels(&store).await, [passed as f64; 2]);
    let cannot = BOTH.replace("gcra 1000/1h", "exim 1000/1h leaky");
    let store = open(&cluster.url(), file(&cannot), patient("c:"));
    let passed = allowed(&store, 40).await;
    let [kept, _] = levels(&store).await;
    assert!((passed as f64 - 0.1..=40.0).contains(&kept), "{passed} of {kept}");
}

/// The node with the limit that all share, another node, and a user whose limit is there.
fn two_nodes(cluster: &Cluster) -> ([&Server; 2], &'static str) {
    let node = |key: &str| &cluster.nodes[cluster.master(&cluster.slot(key))];
    let all = node("{user=all}");
    let names = ["ann", "bob", "eve", "joe", "sue", "tim", "zoe"];
    let is_elsewhere = |name: &&str| node(&format!("{{user={name}}}")).port != all.port;
    let name = names.into_iter().find(is_elsewhere).unwrap();
    ([all, node(&format!("{{user={name}}}"))], name)
}

/// Waits until a node has answered a first call of a script since its counts were reset.
async fn is_looked_at(node: &Server) {
    let is_looked_at = || node.info("commandstats").contains("cmdstat_evalsha:calls=1,");
    until("it is not looked at", async || is_looked_at()).await;
}

/// Two parts of a request count at one key. Both are given back, each at its own cost, when another node refuses after all.
#[tokio::test]
async fn on_a_cluster_what_counts_twice_is_given_back_twice() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let ([all, user], name) = two_nodes(&cluster);
    // All have less room left than the user, so theirs are counted first.
    let text = "domain: d\ndescriptors:\n- {key: user, value: all, limit: gcra 10/1h}\n- {key: user, value: NAME, limit: gcra 100/1h}\n";
    let store = open(&cluster.url(), file(&text.replace("NAME", name)), patient("g:"));
    let own = [("user", name)];
    let fill = async |fields: &[(&str, &str)], cost| {
        let answer = super::check(&store, Time::from_micros(1), cost, fields, Details::ALL).await;
        assert!(answer.is_allowed() && answer.fault.is_none());
    };
    let level =
        async |fields: &[(&str, &str)]| super::level(&super::looked(&store, fields).await).unwrap();
    fill(&ALL, 7.0).await;
    fill(&own, 1.0).await;
    all.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
    user.command(&["CONFIG", "RESETSTAT"]);
    let asked = tokio::spawn({
        let store = store.clone();
        async move {
            let fields = [("user", name)];
            let of_all = Event { fields: &ALL, ..event(1.0) };
            let of_user = Event { fields: &fields, ..event(1.0) };
            let parts = [&of_all, &of_all, &of_user].map(Part::count);
            store.decide(&parts, Details::ALL.at_once()).await
        }
    });
    is_looked_at(user).await;
    fill(&own, 99.0).await;
    all.command(&["CLIENT", "UNPAUSE"]);
    let answers = asked.await.unwrap();
    assert!(!answers.iter().all(|answer| answer.is_allowed()));
    until("it is given back", async || (level(&ALL).await - 7.0).abs() <= 0.1).await;
}

/// A shadow of two limits, one of which refused, has counted in neither, and gets nothing back.
#[tokio::test]
async fn on_a_cluster_a_shadow_that_refused_gets_nothing_back() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let ([all, user], name) = two_nodes(&cluster);
    let text = format!(
        "
domain: d
descriptors:
- {{key: user, value: all, limit: gcra 10/1h}}
- {{key: user, value: {name}, limit: gcra 100/1h}}
- {{key: zone, limit: [gcra 1/1h per user, sliding-log 100/1h per user], shadow: true}}
"
    );
    let store = open(&cluster.url(), file(&text), patient("s:"));
    let own = [("user", name)];
    let zone = [("user", "all"), ("zone", "x")];
    let fill = async |fields: &[(&str, &str)], cost| {
        let answer = super::check(&store, Time::from_micros(1), cost, fields, Details::ALL).await;
        assert!(answer.is_allowed() && answer.fault.is_none());
    };
    let levels = async || {
        let looked = super::looked(&store, &zone).await;
        looked.outcomes().map(|one| one.outcome.level).collect::<Vec<_>>()
    };
    fill(&ALL, 6.0).await;
    fill(&zone, 1.0).await;
    fill(&own, 1.0).await;
    assert_eq!(levels().await, [7.0, 1.0, 1.0]);
    all.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
    user.command(&["CONFIG", "RESETSTAT"]);
    let asked = tokio::spawn({
        let store = store.clone();
        async move {
            let (own, zone) = ([("user", name)], [("user", "all"), ("zone", "x")]);
            let of = [Event { fields: &zone, ..event(2.0) }, Event { fields: &own, ..event(1.0) }];
            store.decide(&parts(&of), Details::ALL.at_once()).await
        }
    });
    is_looked_at(user).await;
    fill(&own, 99.0).await;
    all.command(&["CLIENT", "UNPAUSE"]);
    let answers = asked.await.unwrap();
    assert!(!answers.iter().all(|answer| answer.is_allowed()));
    until("it is given back", async || levels().await[0] <= 7.0).await;
    assert_eq!(levels().await, [7.0, 1.0, 1.0]);
}

/// A limit that refused when all were looked at may have room again when it is told of the refusal. That is no decision.
#[tokio::test]
async fn what_was_refused_at_first_sight_stays_refused() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let ([all, user], name) = two_nodes(&cluster);
    let text = BOTH.replace("ann, limit: gcra 5/1h", &format!("{name}, limit: gcra 1/1h"));
    let store = open(&cluster.url(), file(&text), patient("l:"));
    let own = [("user", name)];
    let level = async |fields: &[(&str, &str)]| {
        let answer = super::looked(&store, fields).await;
        super::level(&answer).unwrap()
    };
    let answer = super::check(&store, Time::from_micros(1), 1.0, &own, Details::ALL).await;
    assert!(answer.is_allowed() && answer.fault.is_none());
    assert_eq!(level(&ALL).await, 0.0);

    all.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
    user.command(&["CONFIG", "RESETSTAT"]);
    let asked = tokio::spawn({
        let store = store.clone();
        async move {
            let fields = [("user", name)];
            let [all, _] = events(1.0, false);
            let of = [all, Event { fields: &fields, ..all }];
            store.decide(&parts(&of), Details::ALL.at_once()).await
        }
    });
    is_looked_at(user).await;
    user.command(&["FLUSHALL"]);
    all.command(&["CLIENT", "UNPAUSE"]);
    let answers = asked.await.unwrap();
    let said: Vec<_> = answers.iter().map(|answer| answer.to_string()).collect();
    let refused = format!("refused by d:user={name}: level 2, limit 1");
    assert_eq!(said, ["allowed by d:user=all: level 1, limit 1000", &refused]);
    assert_eq!([level(&ALL).await, level(&own).await], [0.0, 0.0], "nothing is counted");
}

async fn level(store: &impl Store) -> f64 {
    store.peek_async(&event(0.0), Details::ALL).await.decided_by().unwrap().outcome.level
}

#[tokio::test]
async fn what_is_asked_twice_passes_as_a_whole_or_not_at_all() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "fixed-window 3/1h per user";
    let redis = open(&server.url(), rules(text), patient("t:"));
    let memory = MemoryStore::new(rules(text), 10);
    async fn assert_sum(store: &impl Store) {
        let of = event(1.0);
        let ask = async || {
            let answers = store.decide(&[Part::count(&of), Part::count(&of)], Details::ALL).await;
            answers.iter().map(|answer| answer.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ask().await, ["allowed by policy: level 2, limit 3"; 2]);
        assert_eq!(ask().await, ["refused by policy: level 4, limit 3"; 2]);
        assert_eq!(level(store).await, 2.0, "what is refused is not counted");
        // One that is only looked at sees the state before.
        let look = Part::look(&of);
        let answers = store.decide(&[Part::count(&of), look], Details::ALL).await;
        let said: Vec<_> = answers.iter().map(|answer| answer.to_string()).collect();
        assert_eq!(said, ["allowed by policy: level 3, limit 3"; 2]);
        let answers = store.decide(&[Part::count(&of), look], Details::ALL).await;
        assert!(answers.iter().all(|answer| !answer.is_allowed()));
        let less = event(-1.0);
        let back = Part::settle(&less, of.time, None);
        let nothing = event(0.0);
        let answers = store.decide(&[back, Part::count(&nothing)], Details::ALL).await;
        assert_eq!(answers[0].to_string(), "allowed by policy: level 2, limit 3");
        assert_eq!(level(store).await, 2.0);
        // If something is refused, nothing is given back, and nothing is charged.
        let much = event(2.0);
        for settled in [back, Part::settle(&of, of.time, None)] {
            let answers = store.decide(&[settled, Part::count(&much)], Details::ALL).await;
            assert!(!answers[1].is_allowed());
            assert_eq!(level(store).await, 2.0);
        }
        // The event counts if it passes, and the settled cost beside it counts whatever the limit says.
        let five = event(5.0);
        let parts = [Part::settle(&five, of.time, None), Part::count(&of)];
        let answers = store.decide(&parts, Details::ALL).await;
        assert!(answers[1].is_allowed());
        assert_eq!(level(store).await, 8.0);
    }
    assert_sum(&memory).await;
    assert_sum(&redis).await;
}

/// A cost that can't be settled is an error of its part. Redis decides about the others.
#[tokio::test]
async fn what_cannot_be_settled_is_an_error_of_its_own() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "fixed-window 9/1h per user";
    let redis = open(&server.url(), rules(text), patient("e:"));
    async fn assert_alone(store: &impl Store) {
        let (of, wrong) = (event(1.0), event(f64::NAN));
        let parts = [Part::settle(&wrong, of.time, None), Part::count(&of)];
        let answers = store.decide(&parts, Details::ALL).await;
        assert!(answers[0].fault.as_ref().unwrap().to_string().contains("cost"));
        assert_eq!(answers[1].fault, None);
        assert_eq!(answers[1].decided_by().unwrap().source, StateSource::Store);
        assert_eq!(level(store).await, 1.0);
    }
    assert_alone(&MemoryStore::new(rules(text), 10)).await;
    assert_alone(&redis).await;
}

/// Of two events at one key with different numbers, the first decides. Each gets the remaining quota by its own.
#[tokio::test]
async fn each_part_has_a_quota_of_its_own() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "fixed-window 5/1h per user";
    let redis = open(&server.url(), rules(text), patient("q:"));
    async fn assert_own(store: &impl Store) {
        let more = Numbers::new(&store.rules(), |_| "fixed-window 9/1h".parse().ok()).unwrap();
        let of = event(2.0);
        let [usual, large] =
            [None, Some(&more)].map(|numbers| Part { numbers, ..Part::count(&of) });
        let said = async |parts: [Part<'_>; 2]| {
            let answers = store.decide(&parts, Details::ALL).await;
            [0, 1].map(|i: usize| {
                let quota = answers[i].quota().unwrap();
                let retry = answers[i].retry_after().and_then(|retry| retry.wait());
                (
                    answers[i].to_string(),
                    quota.limit.map(|limit| limit.count()),
                    quota.remaining,
                    retry,
                )
            })
        };
        let answers = said([large, usual]).await;
        let by_first = "allowed by policy: level 4, limit 9".to_owned();
        assert_eq!(answers[0], (by_first.clone(), Some(9.0), 5.0, None));
        assert_eq!(answers[1], (by_first, Some(5.0), 1.0, None));
        let answers = said([usual, large]).await;
        let by_first = "refused by policy: level 8, limit 5".to_owned();
        let hour = Span::from_micros(3_600_000_000 - 1);
        assert_eq!(answers[0], (by_first.clone(), Some(5.0), 1.0, Some(hour)));
        assert_eq!(answers[1], (by_first, Some(9.0), 5.0, Some(Span::ZERO)));
    }
    assert_own(&MemoryStore::new(rules(text), 10)).await;
    assert_own(&redis).await;
}

/// The rest is told as of the end, also by a part at whose key another one gives back.
#[tokio::test]
async fn the_quota_beside_what_is_given_back_has_it() {
    let Some(server) = Server::start(&[]) else { return };
    for text in ["fixed-window 9/1h per user", "sliding-log 9/1h per user", "gcra 9/1h per user"] {
        let redis = open(&server.url(), rules(text), patient(&format!("{text}:")));
        async fn left(store: &impl Store) -> [f64; 3] {
            let [taken, given, more] = [event(5.0), event(-2.0), event(-1.0)];
            let back = |of| Part::settle(of, taken.time, None);
            let parts = [Part::count(&taken), back(&given), back(&more)];
            let answers = store.decide(&parts, Details::ALL).await;
            [0, 1, 2].map(|i| answers[i].quota().unwrap().remaining)
        }
        assert_eq!(left(&redis).await, [7.0; 3], "{text}");
        assert_eq!(left(&MemoryStore::new(rules(text), 10)).await, [7.0; 3], "{text}");
    }
}

/// Only a cost that certainly still counts is given back, by the time at which it was counted.
#[tokio::test]
async fn what_was_counted_long_ago_is_not_given_back() {
    let Some(server) = Server::start(&[]) else { return };
    for (i, (text, left)) in [
        ("token-bucket 20/20s per user", 13.0),
        ("gcra 20/20s per user", 13.0),
        ("leaky-bucket 20/20s queue 20 per user", 13.0),
        ("fixed-window 20/20s per user", 16.0),
        ("sliding-log 20/20s per user", 16.0),
        ("sliding-window 20/20s precision 1s per user", 16.0),
        ("sliding-counter 20/20s per user", 16.0),
    ]
    .into_iter()
    .enumerate()
    {
        let redis = open(&server.url(), rules(text), patient(&format!("ago{i}:")));
        async fn left_of(store: &impl Store) -> [f64; 2] {
            let at = |seconds: i64| Time::from_micros(1_000_000_000_000_000 + seconds * 1_000_000);
            let count = async |seconds: i64, cost: f64| {
                let event = Event { time: at(seconds), ..event(cost) };
                assert!(store.check_async(&event, Details::ALL).await.is_allowed());
            };
            let back = async |counted: i64, now: i64, cost: f64| {
                let event = Event { time: at(counted), ..event(-cost) };
                assert_eq!(store.settle_async(&event, at(now), None).await, Ok(()));
            };
            let remaining = async |seconds: i64| {
                let event = Event { time: at(seconds), ..event(0.0) };
                let answer = store.peek_async(&event, Details::ALL).await;
                answer.quota().unwrap().remaining
            };
            // Of ten that were counted at 0 s, three have drained by 3 s. Others follow.
            count(0, 10.0).await;
            count(3, 4.0).await;
            back(0, 3, 10.0).await;
            let soon = remaining(3).await;
            // A window later nothing of it counts, whatever came since.
            count(41, 15.0).await;
            back(3, 41, 4.0).await;
            [soon, remaining(41).await]
        }
        let ours = left_of(&MemoryStore::new(rules(text), 10)).await;
        assert_eq!(ours, [left + if left < 16.0 { 3.0 } else { 0.0 }, 5.0], "{text}");
        assert_eq!(left_of(&redis).await, ours, "{text}");
    }
}

/// Whatever the number of events and limits, one call is made.
#[tokio::test]
async fn a_request_is_one_call() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "gcra 9/1h per user & sliding-log 9/1h per user & exim 9/1h per all & 9/1h per all";
    let store = open(&server.url(), rules(text), patient("1:"));
    let of = [event(1.0), event(2.0), event(0.5)];
    let parts = [&of[0], &of[1], &of[2]].map(Part::count);
    // The first time with the text of the script.
    let answers = store.decide(&parts, Details::ALL).await;
    assert!(answers.iter().all(|answer| answer.is_allowed() && answer.fault.is_none()));
    server.command(&["CONFIG", "RESETSTAT"]);
    let _ = store.decide(&parts, Details::ALL).await;
    let stats = server.info("commandstats");
    assert!(stats.contains("cmdstat_evalsha:calls=1,"), "{stats}");
}

/// However many events there are, a server that says nothing is waited for once.
#[test]
fn the_answer_comes_within_one_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        _ = stream.read_to_end(&mut heard);
        heard
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = Options::default().deadline(Duration::from_millis(50));
        let store = open(&url, file(BOTH), options);
        let of = events(1.0, false);
        let answers = store.decide(&parts(&of), Details::ALL).await;
        assert!(answers.iter().all(|answer: &Decision| answer.fault.is_some()));
        assert!(answers.iter().all(|answer| answer.is_allowed()), "this process decides");
    });
    // With the runtime the connection ends.
    drop(runtime);
    let heard = heard.join().unwrap();
    let asked = heard.windows(7).filter(|some| *some == b"EVALSHA").count();
    assert!(asked <= 1, "{asked} calls");
}

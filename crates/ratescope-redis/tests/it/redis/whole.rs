//! Several events that are decided as one: all are counted, or none, whoever gives up, in any order.

use super::nodes::Cluster;
use super::server::{PATIENCE, Server};
use super::{open, patient, rules};
use core::pin::Pin;
use core::task::{Context, Poll};
use ratescope::rules::{Decision, Details, Intent, MemoryStore, Part, Store};
use ratescope::{Event, Time};
use ratescope_redis::{Options, RedisStore};
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet};

const SHARED: &str = "gcra 1000/1h per tenant";
const OWN: &str = "gcra 5/1h per user";
const FIELDS: [(&str, &str); 2] = [("tenant", "t"), ("user", "ann")];

fn event(cost: f64) -> Event<'static> {
    Event { time: Time::from_micros(1), cost, fields: &FIELDS }
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

fn parts<'a, S: Store>(stores: [&'a S; 2], of: &'a Event<'a>) -> [Part<'a>; 2] {
    stores.map(|store| Part::count(store, of))
}

/// Waits until nothing goes on any more.
async fn settled(alone: usize) {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let begun = Instant::now();
    while tasks() > alone {
        assert!(begun.elapsed() < PATIENCE, "{} tasks go on", tasks() - alone);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn level<S: Store>(store: &S) -> f64 {
    let answer = store.peek_async(&event(0.0), Details::ALL).await;
    assert_eq!(answer.fault, None);
    answer.decided_by().unwrap().outcome.level
}

/// Callers give up at each point at which they wait. What is counted is counted in both.
async fn assert_whole(shared: &RedisStore, own: &RedisStore) {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    // The connections are tasks, too.
    for store in [shared, own] {
        level(store).await;
    }
    let of = event(0.25);
    for stores in [[shared, own], [own, shared]] {
        let alone = tasks();
        for left in 1.. {
            let parts = parts(stores, &of);
            let asked = shared.check_all(&parts, Details::ALL.at_once());
            let done = GivesUp { inner: Box::pin(asked), left }.await;
            settled(alone).await;
            let levels = [level(shared).await, level(own).await];
            assert_eq!(levels[0], levels[1], "given up at the {left}. wait");
            if done.is_some() {
                assert!(left > 1, "it has to wait");
                break;
            }
        }
    }
    // A refused one is counted nowhere, whenever it is given up.
    let of = event(6.0);
    let before = [level(shared).await, level(own).await];
    for stores in [[shared, own], [own, shared]] {
        let alone = tasks();
        for left in 1.. {
            let parts = parts(stores, &of);
            let asked = shared.check_all(&parts, Details::ALL.at_once());
            let done = GivesUp { inner: Box::pin(asked), left }.await;
            settled(alone).await;
            assert_eq!([level(shared).await, level(own).await], before);
            if done.is_some() {
                break;
            }
        }
    }
}

/// So many at once: how many are allowed.
async fn allowed<S: Store + Clone>(shared: &S, own: &S, many: usize) -> usize {
    let tasks = LocalSet::new();
    let run = async {
        let mut tasks = JoinSet::new();
        for i in 0..many {
            let stores = if i % 2 == 0 { [shared, own] } else { [own, shared] };
            let stores = stores.map(S::clone);
            tasks.spawn_local(async move {
                let of = event(1.0);
                let parts = parts(stores.each_ref(), &of);
                let answers = stores[0].check_all(&parts, Details::ALL.at_once()).await;
                assert!(answers.iter().all(|answer| answer.fault.is_none()));
                answers.iter().all(|answer| answer.is_allowed())
            });
        }
        tasks.join_all().await
    };
    tasks.run_until(run).await.into_iter().filter(|is| *is).count()
}

fn pair(url: &str, options: &Options) -> [RedisStore; 2] {
    let shared = open(url, rules(SHARED), options.clone());
    let own = shared.redis().store(rules(OWN)).unwrap();
    [shared, own]
}

#[tokio::test]
async fn whoever_gives_up_leaves_a_whole_request_or_none() {
    let Some(server) = Server::start(&[]) else { return };
    let [shared, own] = pair(&server.url(), &patient("w:"));
    assert_whole(&shared, &own).await;
}

#[tokio::test]
async fn many_at_once_count_what_is_allowed() {
    let memory = [SHARED, OWN].map(|text| MemoryStore::new(rules(text), 10));
    assert_eq!(allowed(&memory[0], &memory[1], 40).await, 5);
    assert_eq!((level(&memory[0]).await, level(&memory[1]).await), (5.0, 5.0));
    let Some(server) = Server::start(&[]) else { return };
    let [shared, own] = pair(&server.url(), &patient("w:"));
    assert_eq!(allowed(&shared, &own, 40).await, 5);
    assert_eq!((level(&shared).await, level(&own).await), (5.0, 5.0));
}

/// Where the keys are on two nodes, a refused request holds the other limit only while it is decided; one that
/// can't give back keeps at most one event of each request that was decided at the same time.
#[tokio::test]
async fn on_a_cluster_little_is_left_of_what_is_refused() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let one_node = patient("o:").one_node(true);
    let [shared, own] = pair(&cluster.url(), &one_node);
    assert_eq!(allowed(&shared, &own, 40).await, 5);
    assert_eq!((level(&shared).await, level(&own).await), (5.0, 5.0));
    let [shared, own] = pair(&cluster.url(), &patient("o:"));
    assert_whole(&shared, &own).await;
    let [shared, own] = pair(&cluster.url(), &patient("a:"));
    let passed = allowed(&shared, &own, 40).await;
    assert!((1..=5).contains(&passed), "{passed}");
    assert_eq!((level(&shared).await, level(&own).await), (passed as f64, passed as f64));
    let shared = shared.redis().store(rules("exim 1000/1h leaky per tenant")).unwrap();
    let own = shared.redis().store(rules("gcra 5/1h per user+tenant")).unwrap();
    let passed = allowed(&shared, &own, 40).await;
    let kept = level(&shared).await;
    assert!((passed as f64 - 0.1..=40.0).contains(&kept), "{passed} of {kept}");
}

/// A limit that refused when all were looked at may have room again when it is told of the refusal. That is no decision.
#[tokio::test]
async fn what_was_refused_at_first_sight_stays_refused() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let node = |key: &str| &cluster.nodes[cluster.master(&cluster.slot(key))];
    let tenant = node("{tenant=t}");
    let names = ["ann", "bob", "eve", "joe", "sue", "tim", "zoe"];
    let is_elsewhere = |name: &&str| node(&format!("{{user={name}}}")).port != tenant.port;
    let name = names.into_iter().find(is_elsewhere).unwrap();
    let user = node(&format!("{{user={name}}}"));
    let [shared, _] = pair(&cluster.url(), &patient("l:"));
    let own = shared.redis().store(rules("gcra 1/1h per user")).unwrap();
    let of = move || [("tenant", "t"), ("user", name)];
    let level = async |store: &RedisStore| {
        let answer = super::looked(store, &of()).await;
        super::level(&answer).unwrap()
    };
    let answer = super::check(&own, Time::from_micros(1), 1.0, &of(), Details::ALL).await;
    assert!(answer.is_allowed() && answer.fault.is_none());
    assert_eq!(level(&shared).await, 0.0);

    tenant.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
    user.command(&["CONFIG", "RESETSTAT"]);
    let asked = tokio::spawn({
        let (shared, own) = (shared.clone(), own.clone());
        async move {
            let event = Event { time: Time::from_micros(1), cost: 1.0, fields: &of() };
            shared.check_all(&parts([&shared, &own], &event), Details::ALL.at_once()).await
        }
    });
    let begun = Instant::now();
    while !user.info("commandstats").contains("cmdstat_evalsha:calls=1,") {
        assert!(begun.elapsed() < PATIENCE, "it is looked at");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    user.command(&["FLUSHALL"]);
    tenant.command(&["CLIENT", "UNPAUSE"]);
    let answers = asked.await.unwrap();
    let said: Vec<_> = answers.iter().map(|answer| answer.to_string()).collect();
    let refused = "refused by policy: level 2, limit 1";
    assert_eq!(said, ["allowed by policy: level 1, limit 1000", refused]);
    assert_eq!([level(&shared).await, level(&own).await], [0.0, 0.0], "nothing is counted");
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
            let parts = [Part::count(store, &of), Part::count(store, &of)];
            let answers = store.check_all(&parts, Details::ALL).await;
            answers.iter().map(|answer| answer.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ask().await, ["allowed by policy: level 2, limit 3"; 2]);
        assert_eq!(ask().await, ["refused by policy: level 4, limit 3"; 2]);
        assert_eq!(level(store).await, 2.0, "what is refused is not counted");
        // One that is only looked at sees what was there before.
        let look = Part { intent: Intent::Look, ..Part::count(store, &of) };
        let answers = store.check_all(&[Part::count(store, &of), look], Details::ALL).await;
        let said: Vec<_> = answers.iter().map(|answer| answer.to_string()).collect();
        assert_eq!(said, ["allowed by policy: level 3, limit 3"; 2]);
        let answers = store.check_all(&[Part::count(store, &of), look], Details::ALL).await;
        assert!(answers.iter().all(|answer| !answer.is_allowed()));
        let back = Part { intent: Intent::GiveBack, ..Part::count(store, &of) };
        let nothing = event(0.0);
        let parts = [back, Part::count(store, &nothing)];
        let answers = store.check_all(&parts, Details::ALL).await;
        assert_eq!(answers[0].to_string(), "allowed by policy: level 2, limit 3");
        assert_eq!(level(store).await, 2.0);
        // If something is refused, nothing is given back.
        let much = Event { cost: 2.0, ..of };
        let parts = [back, Part::count(store, &much)];
        let answers = store.check_all(&parts, Details::ALL).await;
        assert!(!answers[1].is_allowed());
        assert_eq!(level(store).await, 2.0);
    }
    assert_sum(&memory).await;
    assert_sum(&redis).await;
}

/// What is left is told as of the end, also by a part at whose key another one gives back.
#[tokio::test]
async fn the_quota_beside_what_is_given_back_has_it() {
    let Some(server) = Server::start(&[]) else { return };
    for text in ["fixed-window 9/1h per user", "sliding-log 9/1h per user", "gcra 9/1h per user"] {
        let redis = open(&server.url(), rules(text), patient(&format!("{text}:")));
        async fn left(store: &impl Store) -> [f64; 3] {
            let [taken, given, more] = [event(5.0), event(2.0), event(1.0)];
            let back = |of| Part { intent: Intent::GiveBack, ..Part::count(store, of) };
            let parts = [Part::count(store, &taken), back(&given), back(&more)];
            let answers = store.check_all(&parts, Details::ALL).await;
            [0, 1, 2].map(|i| answers[i].quota().unwrap().remaining)
        }
        assert_eq!(left(&redis).await, [7.0; 3], "{text}");
        assert_eq!(left(&MemoryStore::new(rules(text), 10)).await, [7.0; 3], "{text}");
    }
}

/// Whatever the number of events and limits, one call is made.
#[tokio::test]
async fn a_request_is_one_call() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("gcra 9/1h per user"), patient("1:"));
    let text = "sliding-log 9/1h per user & exim 9/1h per tenant & 9/1h per tenant";
    let other = store.redis().store(rules(text)).unwrap();
    let of = [event(1.0), event(2.0), event(0.5)];
    let parts = [&of[0], &of[1], &of[2]].map(|of| Part::count(&other, of));
    let parts = [Part::count(&store, &of[0]), parts[0], parts[1], parts[2]];
    // The first time with the text of the script.
    let answers = store.check_all(&parts, Details::ALL).await;
    assert!(answers.iter().all(|answer| answer.is_allowed() && answer.fault.is_none()));
    server.command(&["CONFIG", "RESETSTAT"]);
    let _ = store.check_all(&parts, Details::ALL).await;
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
        let [shared, own] = pair(&url, &options);
        let of = event(1.0);
        let answers = shared.check_all(&parts([&shared, &own], &of), Details::ALL).await;
        assert!(answers.iter().all(|answer: &Decision| answer.fault.is_some()));
        assert!(answers.iter().all(|answer| answer.is_allowed()), "this process decides");
    });
    // With the runtime the connection ends.
    drop(runtime);
    let heard = heard.join().unwrap();
    let asked = heard.windows(7).filter(|some| *some == b"EVALSHA").count();
    assert!(asked <= 1, "{asked} calls");
}

//! Eight tasks decide through everything that can happen to a connection, a server and a cluster. At
//! the end Redis has counted each decision that it answered, and none twice. A cluster may forget what
//! it answered just before a replica took over, since it replicates later; it counts none twice.

use super::nodes::Cluster;
use super::proxy::{Proxy, Trick};
use super::server::{self, PATIENCE, Server};
use super::{check, level, open, rules, until_looked};
use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::Poll;
use ratescope::rules::{Decision, Details, Fault};
use ratescope::{Span, Time};
use ratescope_redis::{Options, RedisStore, TimeSource};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How many decisions are made. `./scripts/test hostile` sets it to a million.
fn decisions() -> usize {
    let said = std::env::var("RATESCOPE_HOSTILE").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(3_000)
}

const USERS: [&str; 4] = ["ann", "bob", "eve", "joe"];

/// The answers that the tasks got about a user's events.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Redis answered that they pass.
    passed: usize,
    /// They may have been counted.
    uncertain: usize,
}

const DEADLINE: Duration = Duration::from_millis(250);

fn options() -> Options {
    Options::default()
        .deadline(DEADLINE)
        .rest(Duration::from_millis(5))
        .clock(TimeSource::Event { keep: Span::from_hours(1) })
}

/// A limit that some users reach and others do not.
fn limit() -> usize {
    decisions() / 4
}

async fn counted(store: &RedisStore, user: &str) -> usize {
    level(&until_looked(store, &[("user", user)]).await).unwrap() as usize
}

/// Numbers without a pattern, the same each time: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound as u64) as usize
    }
}

/// Decides in eight tasks, while `happen` is called on a thread of its own after every few decisions.
/// `relent` is called where a server rests, and at the end. A cluster that `forgets` may have counted less
/// than it answered, and never more.
async fn decide(
    store: &RedisStore,
    mut happen: impl FnMut() + Send + 'static,
    relent: impl Fn() + Send + Sync + 'static,
    forgets: bool,
) {
    let every = (decisions() / 60).clamp(16, 500);
    let (next, asked) = mpsc::sync_channel(1);
    let happening = std::thread::spawn(move || asked.iter().for_each(|()| happen()));
    let (done, relent) = (Arc::new(AtomicUsize::new(0)), Arc::new(relent));
    let task = |task: usize| {
        let (store, next) = (store.clone(), next.clone());
        let (done, relent) = (Arc::clone(&done), Arc::clone(&relent));
        async move {
            let mut counts = [Count::default(); USERS.len()];
            let mut i = task;
            while done.load(Ordering::SeqCst) < decisions() {
                i += 1;
                // The last users come more often.
                let user = (i % 10).min(i % 7).min(USERS.len() - 1);
                let (time, fields) = (Time::from_micros(1), [("user", USERS[user])]);
                let answer = check(&store, time, 1.0, &fields, Details::default()).await;
                let count = &mut counts[user];
                match &answer.fault {
                    None => count.passed += usize::from(answer.is_allowed()),
                    Some(Fault::Resting | Fault::Unreachable(_)) => {
                        relent();
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        continue;
                    }
                    Some(Fault::Failed(words)) if is_refusal(words) => {}
                    Some(_) => count.uncertain += 1,
                }
                if done.fetch_add(1, Ordering::SeqCst) % every == every - 1 {
                    // While one thing still happens, no other does.
                    let _ = next.try_send(());
                }
            }
            counts
        }
    };
    let tasks: Vec<_> = (0..8).map(|number| tokio::spawn(task(number))).collect();
    let mut counts = [Count::default(); USERS.len()];
    for task in tasks {
        for (all, own) in counts.iter_mut().zip(task.await.unwrap()) {
            all.passed += own.passed;
            all.uncertain += own.uncertain;
        }
    }
    drop(next);
    happening.join().unwrap();
    relent();
    assert!(counts.iter().all(|count| count.passed > 0), "Redis decides, too");
    for (user, Count { passed, uncertain }) in USERS.into_iter().zip(counts) {
        let level = counted(store, user).await;
        let least = if forgets { 1 } else { passed };
        let most = limit().min(passed + uncertain);
        assert!(
            (least..=most).contains(&level),
            "{user}: {passed} passed, {uncertain} may have, {level} are counted"
        );
    }
}

/// Whether a server says that it counted nothing.
fn is_refusal(words: &str) -> bool {
    let words = words.to_lowercase();
    let known = ["read", "memory", "moved", "ask", "tryagain", "slot", "cluster"];
    known.iter().any(|word| words.contains(word))
}

/// A Redis, a proxy before it, and a store that has a connection by then.
async fn connected() -> Option<(Server, Proxy, RedisStore)> {
    let server = Server::start(&[])?;
    let proxy = Proxy::before(&server);
    let store = open(&proxy.url(), rules("fixed-window 1000/1h per user"), options());
    counted(&store, "ann").await;
    Some((server, proxy, store))
}

/// The answer about an event of ann.
async fn event(store: &RedisStore) -> Decision {
    let (time, fields) = (Time::from_micros(1), [("user", "ann")]);
    check(store, time, 1.0, &fields, Details::default()).await
}

/// However an answer is lost, its event was counted, and is not counted again. The next call makes a new
/// connection.
#[tokio::test]
async fn an_event_whose_answer_is_lost_counts_once() {
    let Some((_server, proxy, store)) = connected().await else { return };
    let longer = concat!("$18\r\n", "\0\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0", "\r\n");
    let answers = ["+OK\r\n", ":7\r\n", "$3\r\nabc\r\n", "*-7\r\n", longer];
    let replaced = GARBAGE.into_iter().chain(answers).map(Trick::Replace);
    let cut = [0, 1, 3, 10, 20].map(Trick::Cut);
    for (i, trick) in replaced.chain(cut).chain([Trick::Silence]).enumerate() {
        // Now there is a connection, and the next answer is that to the event.
        assert_eq!(counted(&store, "ann").await, i, "before {trick:?}");
        let before = proxy.connections();
        proxy.play([trick]);
        let fault = event(&store).await.fault.expect("no answer that can be read");
        assert!(matches!(fault, Fault::Late | Fault::Lost | Fault::Failed(_)), "{fault:?}");
        assert_eq!(counted(&store, "ann").await, i + 1, "{trick:?}: {fault:?}");
        assert!(proxy.connections() > before, "{trick:?}: {fault:?}");
    }
}

/// The words of a server are repeated in the log and in answers, on one line, and not at any length.
#[tokio::test]
async fn the_words_of_a_server_are_cut() {
    let Some((_server, proxy, store)) = connected().await else { return };
    let said = format!("-ERR two\nlines \u{202e}{}\r\n", "x".repeat(10_000));
    proxy.play([Trick::Replace(Box::leak(said.into()))]);
    let fault = event(&store).await.fault;
    let Some(Fault::Failed(words)) = fault else { panic!("{fault:?}") };
    assert!(words.contains("two·lines ·xxx") && words.chars().count() == 201, "{words}");
}

/// A silent connection is replaced although all callers give up before the deadline. Their calls go on to their
/// deadlines, and no longer.
#[tokio::test]
async fn a_silent_connection_is_replaced_though_nobody_waits_for_it() {
    let Some((_server, proxy, store)) = connected().await else { return };
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (before, alone) = (proxy.connections(), tasks());
    proxy.silence();
    for _ in 0..200 {
        let mut asked = pin!(given_up(&store, PATIENCE));
        let once = poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_pending()));
        assert!(once.await);
    }
    assert!(tasks() <= alone + 200, "{} tasks, and {alone} before", tasks());
    server::until("tasks go on", async || tasks() <= alone).await;
    until(&store, None).await;
    // A call of which nobody learned is as a failure to the breaker.
    let deadline = Duration::from_secs(1);
    let options = options().deadline(deadline).failures(1).rest(PATIENCE);
    let store = open(&proxy.url(), rules("fixed-window 1000/1h per user"), options);
    counted(&store, "ann").await;
    proxy.silence();
    until(&store, Some(Fault::Resting)).await;
    let made = proxy.connections() - before;
    assert!((2..10).contains(&made), "{made} connections");
}

/// The fault of a call, if that ends before its caller gives up.
async fn given_up(store: &RedisStore, after: Duration) -> Option<Option<Fault>> {
    Some(tokio::time::timeout(after, event(store)).await.ok()?.fault)
}

/// Asks and gives up before the deadline, a little later each time, until a call ends with this fault. On a busy machine an
/// answer may never come as early as the first calls give up.
pub(super) async fn until(store: &RedisStore, fault: Option<Fault>) {
    let begun = Instant::now();
    let mut after = DEADLINE / 10;
    while given_up(store, after).await != Some(fault.clone()) {
        assert!(begun.elapsed() < PATIENCE, "it goes on as before: {fault:?}");
        after = (after + DEADLINE / 100).min(DEADLINE * 9 / 10);
    }
}

/// Answers that nobody can read.
const GARBAGE: [&str; 4] = ["garbage\r\n", ":seven\r\n", "$99999999999\r\n", "\0\0\0\0"];

#[tokio::test]
async fn what_a_hostile_peer_answers_is_counted_once() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let url = proxy.url();
    let world = Arc::new((server, proxy, AtomicBool::new(false)));
    let relent = {
        let world = Arc::clone(&world);
        move || {
            let (server, _, is_refusing) = &*world;
            if is_refusing.swap(false, Ordering::SeqCst) {
                server.command(&["CONFIG", "SET", "maxmemory", "0"]);
                server.command(&["REPLICAOF", "NO", "ONE"]);
            }
        }
    };
    let mut random = Random(16);
    let happen = {
        let relent = relent.clone();
        move || {
            relent();
            let (server, proxy, is_refusing) = &*world;
            match random.below(8) {
                0 => proxy.silence(),
                1 => proxy.play([Trick::Silence]),
                2 => proxy.play([Trick::Cut(random.below(40))]),
                3 => proxy.play([Trick::Replace(GARBAGE[random.below(GARBAGE.len())])]),
                4 => {
                    let times = [0; 3].map(|_| Duration::from_millis(random.below(400) as u64));
                    proxy.play(times.map(Trick::Delay));
                }
                5 => _ = server.command(&["SCRIPT", "FLUSH"]),
                refused => {
                    is_refusing.store(true, Ordering::SeqCst);
                    _ = server.command(match refused {
                        6 => &["CONFIG", "SET", "maxmemory", "1"],
                        _ => &["REPLICAOF", "127.0.0.1", "1"],
                    });
                }
            }
        }
    };
    let text = format!("fixed-window {}/1h per user", limit());
    let store = open(&url, rules(&text), options());
    decide(&store, happen, relent, false).await;
}

#[tokio::test]
async fn what_a_cluster_in_motion_answers_is_not_counted_twice() {
    let Some(cluster) = Cluster::steady() else { return };
    let cluster = Arc::new(cluster);
    let url = cluster.url();
    let mut random = Random(17);
    let moving = Arc::clone(&cluster);
    let happen = move || {
        let cluster = &moving;
        let slot = cluster.slot(&format!("{{user={}}}", USERS[random.below(USERS.len())]));
        match random.below(3) {
            0 => cluster.move_slot(&slot),
            1 => cluster.fail_over(&slot),
            _ => cluster.nodes.iter().for_each(|node| _ = node.command(&["SCRIPT", "FLUSH"])),
        }
    };
    let text = format!("fixed-window {}/1h per user", limit());
    let store = RedisStore::open(&url, rules(&text), options()).unwrap();
    decide(&store, happen, || (), true).await;
}

//! Three processes on one Redis, each behind a connection of its own, which is slow, breaks or leads nowhere. The clock
//! of one of them is an hour ahead. Clients note the decisions with their times, and the whole history is held against
//! the bounds of `ratescope::share`.
//!
//! An event passes between the time at which it is sent and that at which its answer is there. So the events that are
//! found in a window of these times have passed in it, however slow the machine is.

use super::nodes::Cluster;
use super::program::{Channel, Program, get};
use super::requests::{descriptor, request};
use super::server::{PATIENCE, Server, until};
use super::shell::{Folder, Port};
use crate::proxy::{Proxy, Trick};
use ratescope::Span;
use ratescope::limit::any::AnyLimiter;
use ratescope::share::Share;
use ratescope_service::{Code, RateLimitDescriptor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The rest of a log is known exactly, and a bucket limits its pace.
const RULES: &str = "
domain: web
descriptors:
- {key: log, on_store_failure: refuse, share: leased 50ms, limit: sliding-log 600/1h}
- {key: bucket, on_store_failure: refuse, share: leased 50ms, limit: gcra 150/1s burst 100}
- {key: sum, share: synced 200ms, limit: sliding-log 100000/1h}
- {key: known, share: synced 200ms, limit: gcra 150/1s burst 100}
";
const KEYS: [&str; 4] = ["log", "bucket", "sum", "known"];
const LOG: usize = 600;
/// A tenth of it, which is the most that is lent.
const LENT: usize = 60;
const SUM: u32 = 100_000;
const BUCKET: &str = "gcra 150/1s burst 100";
const LEASE: Share = Share::Leased(Span::from_micros(50_000));
const SYNC: Span = Span::from_micros(200_000);

/// The connections of the processes.
const DELAYS: [Duration; 3] =
    [Duration::from_micros(200), Duration::from_millis(5), Duration::from_millis(80)];

/// The clients of each process.
const CLIENTS: usize = 4;

/// The fault of a round, at one process.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// Redis loses all that it knows.
    Flushed,
    /// The process ends by SIGKILL and begins again.
    Killed,
    /// The connection breaks in place of an answer, three times.
    Cut,
    /// The connection leads nowhere for a while, and then new ones work again.
    Parted,
}

/// One event: who was asked, when, and the answer.
#[derive(Clone, Copy, Debug)]
struct Seen {
    process: usize,
    sent: Instant,
    told: Instant,
    /// `None` if there was no decision: the process had ended, or the store had not answered.
    passed: Option<bool>,
}

struct Fleet {
    redis: Server,
    proxies: Vec<Proxy>,
    programs: Vec<Program>,
    ports: Vec<Port>,
    rules: PathBuf,
    /// A library that sets the clock of a process an hour ahead.
    ahead: PathBuf,
    _folder: Folder,
}

/// The process whose clock is an hour ahead, where a library can be put before that of C.
const AHEAD: usize = 1;

const CLOCK: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME) time->tv_sec += 3600;
    return failed;
}
";

/// Makes that library with the compiler that links Rust.
fn ahead(folder: &Folder) -> PathBuf {
    let (source, library) = (folder.write("ahead.c", CLOCK), folder.path("ahead.so"));
    let mut made = Command::new("cc");
    made.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(!cfg!(target_os = "linux") || made.status().unwrap().success());
    library
}

impl Fleet {
    fn start() -> Option<Self> {
        let redis = Server::start(&[])?;
        let folder = Folder::new("processes");
        let rules = folder.write("rules.yaml", RULES);
        let proxies: Vec<_> = DELAYS.iter().map(|_| Proxy::before(&redis)).collect();
        for (proxy, delay) in proxies.iter().zip(DELAYS) {
            proxy.delay(delay);
        }
        let ports = DELAYS.map(|_| Port::hold()).into();
        let (ahead, programs) = (ahead(&folder), Vec::new());
        let mut fleet = Fleet { redis, proxies, programs, ports, rules, ahead, _folder: folder };
        fleet.programs = (0..DELAYS.len()).map(|process| fleet.program(process)).collect();
        if cfg!(target_os = "linux") {
            let hours = [0, AHEAD].map(|process| hour(&fleet.programs[process]));
            assert_ne!(hours[0], hours[1]);
        }
        Some(fleet)
    }

    fn program(&self, process: usize) -> Program {
        let store = self.proxies[process].url();
        let grpc = self.ports[process].to_string();
        let args = ["--store", &store, "--deadline", "1s", "--grpc", &grpc];
        let ahead = [("LD_PRELOAD", self.ahead.to_str().unwrap())];
        let variables = if process == AHEAD { &ahead[..] } else { &[] };
        Program::start_in(&self.rules, &args, variables)
    }

    /// A number in the metrics of each process.
    fn metric(&self, name: &str) -> Vec<f64> {
        self.programs.iter().map(|program| metric(program, name)).collect()
    }

    fn sum(&self, name: &str) -> f64 {
        self.metric(name).iter().sum()
    }

    /// Waits until the metrics, which are set once a second, have all that was so far.
    async fn metrics_are_new(&self) {
        let here = || self.metric("ratescope_leased_here_total");
        let before = here();
        until("the metrics stay", async || {
            for process in 0..DELAYS.len() {
                self.ask(process, descriptor(&[("sum", "tick")])).await;
            }
            here().iter().zip(&before).all(|(now, before)| now > before)
        })
        .await;
    }

    /// Asks a process until there is an answer.
    async fn ask(&self, process: usize, asked: RateLimitDescriptor) -> Seen {
        let mut client = Client::new(process, self.ports[process].number);
        let begun = Instant::now();
        loop {
            let (seen, _) = client.ask(asked.clone()).await;
            if seen.passed.is_some() {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "process {process} does not answer");
        }
    }

    /// The remaining quota of the sum, by a look through a process.
    async fn left(&self, process: usize, round: &str) -> u32 {
        let mut client = Client::new(process, self.ports[process].number);
        let look = RateLimitDescriptor { hits_addend: Some(0), ..descriptor(&[("sum", round)]) };
        client.ask(look).await.1.unwrap_or(SUM)
    }
}

/// The hour on the clock of a process, as in `13`.
fn hour(program: &Program) -> String {
    let answer = get(program.admin, "/readyz", "").1.to_lowercase();
    let date = answer.split("\r\ndate: ").nth(1).unwrap();
    date.split([' ', ':']).nth(4).unwrap().to_owned()
}

/// A client of one process, which connects again when that has ended.
struct Client {
    process: usize,
    port: u16,
    channel: Option<Channel>,
}

impl Client {
    fn new(process: usize, port: u16) -> Self {
        Client { process, port, channel: None }
    }

    /// Asks once. Also returns the rest of the limit.
    async fn ask(&mut self, asked: RateLimitDescriptor) -> (Seen, Option<u32>) {
        let sent = Instant::now();
        let answer = self.answer(asked).await;
        let (passed, left) =
            answer.map_or((None, None), |(passed, left)| (Some(passed), Some(left)));
        (Seen { process: self.process, sent, told: Instant::now(), passed }, left)
    }

    async fn answer(&mut self, asked: RateLimitDescriptor) -> Option<(bool, u32)> {
        if self.channel.is_none() {
            let at = ([127, 0, 0, 1], self.port).into();
            let stream = tokio::net::TcpStream::connect(at).await.ok()?;
            self.channel = Channel::try_over(stream, at).await.ok();
        }
        match self.channel.as_mut()?.try_should_rate_limit(&request(vec![asked])).await {
            Ok(answer) => {
                let answer = answer.ok()?;
                let left = answer.statuses[0].limit_remaining;
                Some((answer.overall_code() == Code::Ok, left))
            }
            Err(_) => {
                self.channel = None;
                None
            }
        }
    }
}

/// A number in the metrics of a process; 0 where it is missing.
fn metric(program: &Program, name: &str) -> f64 {
    let metrics = get(program.admin, "/metrics", "").1;
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

/// The events of each rule.
type History = BTreeMap<&'static str, Vec<Seen>>;

/// Clients of all processes that ask for everything until this is dropped.
struct Clients {
    history: Arc<Mutex<History>>,
    over: Arc<AtomicBool>,
}

impl Clients {
    fn start(fleet: &Fleet, round: &str) -> Self {
        let clients = Clients { history: Arc::default(), over: Arc::default() };
        for process in (0..DELAYS.len()).flat_map(|process| [process; CLIENTS]) {
            let (history, over) = (Arc::clone(&clients.history), Arc::clone(&clients.over));
            let (round, port) = (round.to_owned(), fleet.ports[process].number);
            tokio::spawn(async move {
                let mut client = Client::new(process, port);
                while !over.load(Ordering::Relaxed) {
                    for key in KEYS {
                        // The bucket is one for all rounds.
                        let value = if key == "bucket" { "all" } else { &round };
                        let (seen, _) = client.ask(descriptor(&[(key, value)])).await;
                        history.lock().unwrap().entry(key).or_default().push(seen);
                        if seen.passed.is_none() {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    }
                }
            });
        }
        clients
    }

    async fn until_seen(&self, n: usize, key: &str, is: fn(&Seen) -> bool) {
        until("nothing is decided", async || {
            let history = self.history.lock().unwrap();
            history.get(key).is_some_and(|all| all.iter().filter(|one| is(one)).count() >= n)
        })
        .await;
    }

    async fn end(self) -> History {
        self.over.store(true, Ordering::Relaxed);
        until("a client goes on", async || Arc::strong_count(&self.over) == 1).await;
        std::mem::take(&mut *self.history.lock().unwrap())
    }
}

fn passed(seen: &[Seen]) -> usize {
    seen.iter().filter(|one| one.passed == Some(true)).count()
}

fn unknown(seen: &[Seen]) -> usize {
    seen.iter().filter(|one| one.passed.is_none()).count()
}

/// Holds a bound against the events that passed in any window.
fn hold(what: &str, seen: &[Seen], most: impl Fn(Span) -> f64) {
    let mut passed: Vec<_> = seen.iter().filter(|one| one.passed == Some(true)).collect();
    passed.sort_by_key(|one| one.sent);
    for (at, from) in passed.iter().enumerate().step_by(passed.len() / 100 + 1) {
        let mut ends: Vec<_> = passed[at..].iter().map(|one| one.told).collect();
        ends.sort_unstable();
        for (end, n) in ends.into_iter().zip(1u32..) {
            let (window, n) = (Span::from(end - from.sent), f64::from(n));
            let most = most(window);
            assert!(n <= most, "{what}: {n} passed in {window}, at most {most}");
        }
    }
}

/// Everything is asked for, something goes wrong on the way, and then all is held against the bounds. `buckets` is what was
/// seen of the bucket since Redis was flushed.
async fn round(fleet: &mut Fleet, number: usize, fault: Fault, buckets: &mut Vec<Seen>) {
    let (name, victim) = (number.to_string(), number % DELAYS.len());
    let what = format!("round {number}, {fault:?} at {victim}");
    let lost = |fleet: &Fleet| {
        ["ratescope_leased_lost_total", "ratescope_synced_lost_total"].map(|name| fleet.sum(name))
    };
    let before = lost(fleet);
    let clients = Clients::start(fleet, &name);
    clients.until_seen(LOG / 3, "log", |one| one.passed == Some(true)).await;
    let begun = Instant::now();
    match fault {
        Fault::Nothing => {}
        Fault::Flushed => _ = fleet.redis.command(&["FLUSHALL"]),
        Fault::Killed => {
            fleet.programs[victim].running.0.kill().unwrap();
            fleet.programs[victim] = fleet.program(victim);
        }
        Fault::Cut => fleet.proxies[victim].play([Trick::Cut(0); 3]),
        Fault::Parted => fleet.proxies[victim].part(),
    }
    let ended = Instant::now();
    let decided = clients.history.lock().unwrap()["bucket"].len();
    clients.until_seen(decided + 300, "bucket", |_| true).await;
    if fault == Fault::Parted {
        fleet.proxies[victim].heal();
    }
    for process in 0..DELAYS.len() {
        let seen = fleet.ask(process, descriptor(&[("log", &name)])).await;
        clients.history.lock().unwrap().get_mut("log").unwrap().push(seen);
    }
    let mut history = clients.end().await;
    fleet.metrics_are_new().await;

    // The history before Redis was flushed, and that from then on.
    let mut parts = |key: &str| {
        let seen = history.remove(key).unwrap();
        if fault != Fault::Flushed {
            return [Vec::new(), seen];
        }
        let is_before = |one: &&Seen| one.told <= begun;
        let is_after = |one: &&Seen| one.sent >= ended;
        [
            seen.iter().filter(is_before).copied().collect(),
            seen.iter().filter(is_after).copied().collect(),
        ]
    };

    // Leases.
    let limiter: AnyLimiter = BUCKET.parse().unwrap();
    let [first, then] = parts("bucket");
    let leased = |window| LEASE.max_admitted(&limiter, window, 1.0);
    if fault == Fault::Flushed {
        buckets.extend(first);
        hold(&what, buckets, leased);
        buckets.clear();
    }
    buckets.extend(then);
    hold(&what, buckets, leased);

    let [first, mut log] = parts("log");
    assert!(passed(&first) <= LOG, "{what}: {} passed before", passed(&first));
    let most = if fault == Fault::Flushed { LOG + LENT } else { LOG };
    // An event without an answer may be counted, and a lease is lost with a process and with an answer.
    let is_whole = unknown(&log) == 0 && fault != Fault::Killed;
    let unanswered = if is_whole { 0 } else { 2 * LENT + unknown(&log) };
    // Redis has forgotten the events that passed before.
    let least = if fault == Fault::Flushed { 0 } else { LOG - unanswered.min(LOG) };
    until(&format!("{what}: some of the log is lost"), async || {
        log.push(fleet.ask(0, descriptor(&[("log", &name)])).await);
        assert!(passed(&log) <= most, "{what}: {} passed", passed(&log));
        passed(&log) as f64 + lost(fleet)[0] - before[0] >= least as f64
    })
    .await;

    // Syncs.
    let lost = (lost(fleet)[1] - before[1]).max(0.0);
    let slowest = fleet.metric("ratescope_synced_slowest_seconds").into_iter().fold(0.0, f64::max);
    let delay = Span::try_from_secs_f64((slowest - SYNC.as_secs_f64()).max(0.0)).unwrap();
    // A process that begins again is one more.
    let processes = DELAYS.len() as u32 + u32::from(fault == Fault::Killed);
    let synced = Share::Synced(SYNC);
    for part in parts("known") {
        hold(&what, &part, |window| {
            synced.max_admitted_by(processes, delay, &limiter, window, 1.0) + lost
        });
    }
    let [_, sum] = parts("sum");
    let died = |one: &&Seen| fault == Fault::Killed && one.process == victim && one.sent < ended;
    let least = passed(&sum) as f64 - sum.iter().filter(died).count() as f64 - lost;
    until(&format!("{what}: not all is told"), async || {
        let mut levels = Vec::new();
        for process in 0..DELAYS.len() {
            levels.push(SUM - fleet.left(process, &name).await);
        }
        let [level, ..] = levels[..] else { return false };
        // Events that were counted while Redis was flushed are on neither side.
        if fault != Fault::Flushed {
            let most = passed(&sum) + unknown(&sum);
            assert!(level as usize <= most, "{what}: {level} were counted of {most}");
        }
        f64::from(level) >= least && levels.iter().all(|other| *other == level)
    })
    .await;
}

/// With RATESCOPE_ROUNDS it goes on for so many rounds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_keep_their_bounds_whatever_breaks() {
    let Some(mut fleet) = Fleet::start() else { return };
    let faults = [Fault::Nothing, Fault::Flushed, Fault::Killed, Fault::Cut, Fault::Parted];
    let rounds = std::env::var("RATESCOPE_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap());
    let mut buckets = Vec::new();
    for number in 0..rounds {
        round(&mut fleet, number, faults[number % faults.len()], &mut buckets).await;
    }
    for name in ["ratescope_leased_events_total", "ratescope_synced_calls_total"] {
        assert!(fleet.sum(name) > 0.0, "{name}");
    }
}

/// The slot of a busy key moves from node to node while two processes hold leases of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_moves_while_leases_are_out() {
    let Some(cluster) = Cluster::of_masters(2) else { return };
    let folder = Folder::new("slots");
    let (rules, url) = (folder.write("rules.yaml", RULES), cluster.url());
    let args = ["--store", &url, "--deadline", "1s"];
    let programs = [(); 2].map(|()| Program::start(&rules, &args));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let over = Arc::new(AtomicBool::new(false));
    for process in [0, 1, 0, 1] {
        let (seen, over) = (Arc::clone(&seen), Arc::clone(&over));
        let port = programs[process].grpc.port();
        tokio::spawn(async move {
            let mut client = Client::new(process, port);
            while !over.load(Ordering::Relaxed) {
                let (one, _) = client.ask(descriptor(&[("bucket", "all")])).await;
                let refused = one.passed == Some(false);
                seen.lock().unwrap().push(one);
                // Of an empty bucket nothing is lent, so a refused client lets it fill a little.
                if refused {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                }
            }
        });
    }
    let lent = || -> f64 {
        programs.iter().map(|program| metric(program, "ratescope_leased_events_total")).sum()
    };
    let until_lent = async || {
        let before = lent();
        until("no lease is lent", async || lent() > before).await;
    };
    until_lent().await;
    let keys: String = cluster.nodes.iter().map(|node| node.command(&["KEYS", "*"])).collect();
    let slot = cluster.slot(keys.lines().find(|line| line.contains("bucket")).unwrap());
    for _ in 0..3 {
        cluster.move_slot(&slot);
        until_lent().await;
    }
    over.store(true, Ordering::Relaxed);
    until("a client goes on", async || Arc::strong_count(&over) == 1).await;
    let limiter: AnyLimiter = BUCKET.parse().unwrap();
    hold("slots", &seen.lock().unwrap(), |window| LEASE.max_admitted(&limiter, window, 1.0));
}

//! The processor's time of a decision on clusters of one node and of many: it must not grow with them.
//!
//! All clusters run at the same time, and each is asked in turn, through `RedisStore`, by 64 callers at once for each
//! node, about senders drawn at random. Beside the time that all nodes took for a decision stands that of the caller,
//! and how many decisions a node finds each time that it reads: a read costs as much as a decision or two, so a node
//! that shares its processor with more nodes has smaller batches and dearer decisions.

use crate::cluster::Cluster;
use crate::turns::{median, ratio};
use crate::worked::worked;
use crate::{SENDERS, figure, processor};
use ratescope::rules::{Details, Rules, Store};
use ratescope::{Event, Policy, Time};
use ratescope_redis::{Options, RedisStore};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

const CALLERS: usize = 64;
const SLICE: Duration = Duration::from_secs(1);

struct Asked {
    cluster: Cluster,
    store: RedisStore,
    /// Microseconds a decision in each round: of all nodes, and of this program.
    costs: [Vec<f64>; 2],
    /// The decisions for which a node reads once, in each round.
    at_once: Vec<f64>,
}

impl Asked {
    fn start(nodes: usize, runtime: &Runtime) -> Option<Asked> {
        let cluster = Cluster::of_masters(nodes)?;
        let rules = Rules::from("gcra 10/1m burst 20 per user".parse::<Policy>().unwrap());
        let options = Options::default().deadline(Duration::from_secs(10));
        let _entered = runtime.enter();
        let store = RedisStore::open(&cluster.url(), rules, options).unwrap();
        Some(Asked { cluster, store, costs: Default::default(), at_once: Vec::new() })
    }

    fn round(&mut self, runtime: &Runtime) {
        let nodes = &self.cluster.nodes;
        let used = || nodes.iter().map(processor).sum::<f64>();
        let reads = || -> f64 {
            nodes.iter().map(|node| figure(node, "stats", "total_reads_processed:")).sum()
        };
        let (before, own, read) = (used(), worked(), reads());
        let decisions = runtime.block_on(decide(&self.store, CALLERS * nodes.len())) as f64;
        self.costs[0].push((used() - before) / decisions);
        self.costs[1].push((worked() - own).as_secs_f64() * 1e6 / decisions);
        self.at_once.push(decisions / (reads() - read));
    }
}

/// How many decisions so many callers make within the slice.
async fn decide(store: &RedisStore, callers: usize) -> usize {
    let end = Instant::now() + SLICE;
    let decisions = Cell::new(0);
    let caller = |caller: usize| {
        let decisions = &decisions;
        async move {
            let mut random = caller as u64;
            while Instant::now() < end {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let user = format!("{:06}", (random >> 33) as usize % SENDERS);
                let fields = [("user", user.as_str())];
                let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
                assert_eq!(store.check_async(&event, Details::default()).await.fault, None);
                decisions.set(decisions.get() + 1);
            }
        }
    };
    futures_util::future::join_all((0..callers).map(caller)).await;
    decisions.get()
}

pub(crate) fn print(rounds: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let all = [1, 2, 3, 6].map(|nodes| Asked::start(nodes, &runtime));
    let Some(mut all) = all.into_iter().collect::<Option<Vec<_>>>() else { return };
    for _ in 0..=rounds {
        all.iter_mut().for_each(|asked| asked.round(&runtime));
    }
    // The first time connections are made, and scripts are loaded.
    for of in all.iter_mut().flat_map(|asked| &mut asked.costs) {
        of.remove(0);
    }
    println!(
        "| nodes | Redis, a decision | of one node | the caller | of one node | decisions a read |"
    );
    println!("|--:|--:|--:|--:|--:|--:|");
    for asked in &all {
        let [nodes, caller] = [0, 1].map(|i| {
            let of = &asked.costs[i];
            (median(of.iter().copied()), ratio(of, &all[0].costs[i]))
        });
        println!(
            "| {} | {:.1} µs | {:.2} | {:.1} µs | {:.2} | {:.1} |",
            asked.cluster.nodes.len(),
            nodes.0,
            nodes.1,
            caller.0,
            caller.1,
            median(asked.at_once.iter().copied())
        );
    }
}

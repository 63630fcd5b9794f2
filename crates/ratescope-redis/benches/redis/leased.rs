//! Leases and syncs beside asking for each event: decisions a second of one process with 64 tasks, and calls to Redis in
//! 100 events, for one key, for a million keys by Zipf's law, and for a key that is refused.

use crate::server::Server;
use crate::turns::median;
use ratescope::rules::{Details, Rules, Store};
use ratescope::share::Share;
use ratescope::{Event, Policy, Time};
use ratescope_redis::{Options, RedisStore};
use std::time::{Duration, Instant};

const TASKS: u64 = 64;

/// How long each is measured, after as long without.
const LONG: Duration = Duration::from_millis(700);

struct Row {
    name: String,
    store: RedisStore,
    keys: u64,
    rates: Vec<f64>,
    calls: Vec<f64>,
}

pub(crate) fn print(rounds: usize) {
    let Some(server) = Server::start(&[]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let mut rows = Vec::new();
    for (what, limit, keys) in [
        ("one key", "gcra 10000000/1s burst 20000000", 1),
        ("a million keys by Zipf", "gcra 10000/1s burst 20000", 1_000_000),
        ("one key, refused", "sliding-log 5/1h", 1),
    ] {
        for share in ["exact", "leased", "synced"] {
            let prefix = format!("{}:", rows.len());
            let share: Share = share.parse().unwrap();
            let options = Options::default().prefix(prefix).share(share);
            let rules = Rules::from(format!("{limit} per user").parse::<Policy>().unwrap());
            let store = RedisStore::open(&server.url(), rules, options).unwrap();
            let name = format!("{what}, {share}");
            rows.push(Row { name, store, keys, rates: Vec::new(), calls: Vec::new() });
        }
    }
    for _ in 0..rounds {
        for row in &mut rows {
            runtime.block_on(run(row));
            let before = calls(&server);
            let (events, seconds) = runtime.block_on(run(row));
            row.rates.push(events / seconds);
            row.calls.push((calls(&server) - before) / events * 100.0);
        }
    }
    println!("{:<34} {:>18} {:>20}", "", "decisions a second", "calls in 100 events");
    for Row { name, rates, calls, .. } in rows {
        println!("{name:<34} {:>17.0}k {:>20.2}", median(rates) / 1e3, median(calls));
    }
}

/// Lets all tasks ask, and returns the number of events and the seconds.
async fn run(row: &Row) -> (f64, f64) {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, keys) = (row.store.clone(), row.keys);
            tokio::spawn(async move {
                let (mut events, mut random) = (0u64, task * 2 + 1);
                while begun.elapsed() < LONG {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    // By Zipf's law with the exponent 1, a key below n has the probability ln n / ln N.
                    let key =
                        (keys as f64).powf((random >> 11) as f64 / (1u64 << 53) as f64) as u64;
                    let fields = [("user", key.to_string())];
                    let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
                    let parts = [ratescope::rules::Part::count(&event)];
                    if store.decide_now(&parts, Details::ALL).is_none() {
                        let _ = store.decide(&parts, Details::ALL).await;
                    }
                    events += 1;
                    if events.is_multiple_of(64) {
                        tokio::task::yield_now().await;
                    }
                }
                events
            })
        })
        .collect();
    let mut events = 0;
    for task in tasks {
        events += task.await.unwrap();
    }
    (events as f64, begun.elapsed().as_secs_f64())
}

fn calls(server: &Server) -> f64 {
    let stats = server.info("commandstats");
    let each = stats.lines().filter_map(|line| {
        line.strip_prefix("cmdstat_eval")?
            .split_once("calls=")?
            .1
            .split(',')
            .next()?
            .parse::<f64>()
            .ok()
    });
    each.sum()
}

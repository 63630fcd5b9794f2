//! The store on Redis, held against the one in memory by a real server, which each test starts for
//! itself on a free port and ends by its process.

mod alone;
mod cluster;
mod edges;
mod equal;
mod exceptions;
mod faults;
mod hostile;
mod late;
mod leased;
mod lent;
mod listed;
mod many;
mod nodes;
mod proxy;
mod published;
mod refusals;
mod replaced;
mod sentinels;
mod server;
mod shared;
#[cfg(target_os = "linux")]
mod sockets;
mod synced;
#[cfg(feature = "tls")]
mod tls;
mod together;
mod vectors;
mod watched;
mod whole;
mod with_limits;

use crate::common;
use crate::decided;
use crate::doubling;
use crate::random;
use crate::set_back;
use ratescope::policy::Defaults;
use ratescope::rules::{Decision, Details, Rules, Store};
use ratescope::{Event, Policy, Span, Time};
use ratescope_redis::{Options, RedisStore, TimeSource};
use std::time::{Duration, Instant};

/// Rules that must be right: a file, or a single policy, even one that nothing passes.
#[track_caller]
fn rules(text: &str) -> Rules {
    if text.contains('\n') {
        Rules::read("rules.yaml", text).unwrap_or_else(|error| panic!("{error}"))
    } else {
        let policy = Policy::read(text, &Defaults::default());
        Rules::from(policy.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// Events in their own time, with all the patience that a busy machine needs.
fn patient(prefix: &str) -> Options {
    Options::default()
        .prefix(prefix)
        .deadline(server::PATIENCE)
        .clock(TimeSource::Event { keep: Span::from_hours(1) })
}

fn open(url: &str, rules: Rules, options: Options) -> RedisStore {
    RedisStore::open(url, rules, options).unwrap_or_else(|error| panic!("{error}"))
}

async fn check(
    store: &impl Store,
    time: Time,
    cost: f64,
    fields: &[(&str, &str)],
    details: Details,
) -> Decision {
    store.check_async(&Event { time, cost, fields: &fields.to_vec() }, details).await
}

/// The answer about these fields, without counting.
async fn looked(store: &RedisStore, fields: &[(&str, &str)]) -> Decision {
    let event = Event { time: Time::from_micros(1), cost: 0.0, fields: &fields.to_vec() };
    store.peek_async(&event, Details::ALL).await
}

/// The same, asked until Redis answers.
async fn until_looked(store: &RedisStore, fields: &[(&str, &str)]) -> Decision {
    let begun = Instant::now();
    loop {
        let answer = looked(store, fields).await;
        let Some(fault) = &answer.fault else { return answer };
        assert!(begun.elapsed() < server::PATIENCE, "it does not come back: {fault}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The level that Redis counted, if it was asked.
fn level(answer: &Decision) -> Option<f64> {
    answer.fault.is_none().then(|| answer.decided_by().unwrap().outcome.level)
}

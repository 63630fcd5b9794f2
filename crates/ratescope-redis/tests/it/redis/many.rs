//! Many rules that apply to one event.

use super::doubling::{assert_linear_once, sizes};
use super::server::Server;
use super::{open, patient, rules};
use ratescope::rules::{Details, Store};
use ratescope::{Event, Time};
use ratescope_redis::RedisStore;
use std::collections::HashMap;
use std::fmt::Write;

/// A store by so many rules on a server, and the fields of an event for all of them.
fn given(server: &Server, n: usize) -> (RedisStore, HashMap<String, &'static str>) {
    let mut text = "domain: d\ndescriptors:\n".to_owned();
    (0..n).for_each(|i| writeln!(text, "  - {{key: k{i}, limit: 5/1h}}").unwrap());
    let store = open(&server.url(), rules(&text), patient(&format!("{n}:")));
    (store, (0..n).map(|i| (format!("k{i}"), "v")).collect())
}

/// Twice as many take this process twice as long, beside the time of Redis.
#[test]
fn many_rules_of_one_event_are_asked_and_listed_in_one_pass() {
    let Some(server) = Server::start(&[]) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let given = sizes(4000).map(|n| (n, given(&server, n)));
    assert_linear_once(&given, |(n, (store, fields))| {
        let event = Event { time: Time::ZERO, cost: 1e-3, fields };
        let decision = runtime.block_on(store.check_async(&event, Details::ALL));
        assert_eq!(decision.fault, None);
        assert_eq!(decision.outcomes().count(), *n);
    });
    assert_linear_once(&given, |(n, (store, _))| {
        let keys = runtime.block_on(store.keys(*n)).unwrap();
        assert_eq!(keys.iter().filter(|key| key.rule.is_some()).count(), *n);
    });
}

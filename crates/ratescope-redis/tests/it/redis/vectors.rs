//! The measures and decisions of real servers, through Redis: `tests/vectors/README.md` says where each
//! file is from. In memory they are replayed in `tests/vectors.rs` and `tests/servers.rs`.

use super::common::{EXIM, earrrl, exim};
use super::server::Server;
use super::{check, decided, open, patient, rules};
use ratescope::rules::{Decision, Details};
use ratescope::{Policy, Time};
use ratescope_redis::RedisStore;
use std::collections::BTreeMap;

/// Stores on one server, one for each text, with keys of their own.
struct Stores {
    url: String,
    opened: BTreeMap<String, RedisStore>,
}

impl Stores {
    fn at(server: &Server) -> Self {
        Stores { url: server.url(), opened: BTreeMap::new() }
    }

    async fn check(&mut self, text: &str, key: &str, time: Time, cost: f64) -> Decision {
        let (number, url) = (self.opened.len(), &self.url);
        let prefix = format!("{number}:");
        let new = || open(url, rules(&format!("{text} per key")), patient(&prefix));
        let store = self.opened.entry(text.to_owned()).or_insert_with(new);
        let answer = check(store, time, cost, &[("key", key)], Details::ALL).await;
        assert_eq!(answer.fault, None, "{text}");
        answer
    }
}

#[tokio::test]
async fn what_exim_decided() {
    let Some(server) = Server::start(&[]) else { return };
    for (file, json) in EXIM {
        let mut stores = Stores::at(&server);
        for (i, attempt) in exim(json).iter().enumerate() {
            let Some(theirs) = &attempt.answer else { continue };
            let limiter = attempt.limiter();
            let key = format!("{file}-{}", attempt.key);
            let text = limiter.to_string();
            let ours = stores.check(&text, &key, attempt.at, attempt.cost).await;
            let ours = ours.decided_by().unwrap().outcome;
            let what = format!("{file}, event {i}");
            assert_eq!(ours.level >= ours.limit, theirs.over, "{what}");
            assert_eq!(format!("{:.1}", ours.level), theirs.printed, "{what}");
            assert_eq!(ours.is_allowed(), !theirs.over || limiter.measures_only(), "{what}");
        }
    }
}

#[tokio::test]
async fn what_the_repaired_script_of_the_article_decided() {
    let Some(server) = Server::start(&[]) else { return };
    let mut stores = Stores::at(&server);
    for (i, request) in earrrl().iter().enumerate() {
        let text = "earrrl 1/1s half-life 20s";
        let ours = stores.check(text, "naughty", request.at, 1.0).await;
        let outcome = ours.decided_by().unwrap().outcome;
        assert_eq!(outcome.is_allowed(), !request.limited, "request {i}");
        let off = (outcome.level - request.estimate_before).abs();
        assert!(off <= 8.3e-9 * request.estimate_before, "request {i}: {outcome}");
    }
}

#[tokio::test]
async fn what_servers_decided() {
    let Some(server) = Server::start(&[]) else { return };
    for (file, text) in decided::FILES {
        let mut stores = Stores::at(&server);
        for (i, said) in decided::read(file).iter().enumerate() {
            let now = Time::from_micros(1_704_067_200_000_000 + said.micros);
            let key = format!("{text} {}", said.key);
            let ours = stores.check(text, &key, now, said.cost).await;
            let outcome = ours.decided_by().unwrap().outcome;
            let remaining = || ours.quota().unwrap().remaining;
            said.assert(outcome, remaining, &format!("{text}, event {i}"));
        }
    }
}

/// The same 2,000 events that `limiters.txt` and the page are held to, through every limiter that
/// Redis has, and the policy.
#[tokio::test]
async fn what_every_limiter_decides_about_the_same_events() {
    let Some(server) = Server::start(&[]) else { return };
    let server = &server;
    let events = &super::common::limiters::events();
    // All at once, since the way to the server takes the time.
    let decided = include_str!("../../../../../tests/vectors/limiters.txt")
        .lines()
        .map(|line| line.split_once(": ").unwrap().0)
        .enumerate()
        .map(async |(number, text)| {
            let _: Policy = text.parse().unwrap();
            let store = open(&server.url(), rules(text), patient(&format!("{number}:")));
            super::equal::both(text, &store, events).await;
        });
    futures_util::future::join_all(decided).await;
}

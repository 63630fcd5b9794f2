//! Exceptions, which all processes on a Redis share.

use super::server::Server;
use super::{check, open, patient, rules};
use ratescope::rules::{Details, Exception, Exceptions, Store};
use ratescope::{Span, Time};
use ratescope_redis::RedisStore;

const RULES: &str = "domain: my shop\ndescriptors:\n- {key: user, limit: gcra 2/1h}\n";

/// A time near that of Redis, by which the value expires.
fn now() -> Time {
    Time::from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap())
}

fn exception(store: &impl Store, user: &str, text: &str, until: Time) -> Exception {
    let name = store.rules().limit_names().concat().remove(0);
    Exception::new(&store.rules(), &name, &format!("user={user}"), text, until).unwrap().by("ops")
}

async fn passed(store: &Exceptions<RedisStore>, user: &str, time: Time) -> usize {
    let mut passed = 0;
    for _ in 0..9 {
        let decided = check(store, time, 1.0, &[("user", user)], Details::default()).await;
        assert_eq!(decided.fault, None);
        passed += usize::from(decided.is_allowed());
    }
    passed
}

#[tokio::test]
async fn processes_share_them() {
    let Some(server) = Server::start(&[]) else { return };
    for one_node in [false, true] {
        let options = || patient(if one_node { "one:" } else { "rs:" }).one_node(one_node);
        let start = || Exceptions::new(open(&server.url(), rules(RULES), options()));
        let (one, other) = (start(), start());
        let (now, until) = (now(), now().after(Span::from_hours(1)));
        one.set(exception(&one, "ann", "5/1h", until), now).await.unwrap();
        one.set(exception(&one, "eve, x", "1/1h", until), now).await.unwrap();
        one.set(exception(&one, "eve", "1/1h", until), now).await.unwrap();
        assert_eq!(other.list(now), []);
        assert_eq!(other.refresh(now).await.unwrap(), []);
        assert_eq!(other.list(now), one.list(now));
        assert_eq!(other.list(now).len(), 3);
        assert_eq!(passed(&other, "ann", now).await, 5);
        assert_eq!(passed(&one, "ann", now).await, 0);
        assert_eq!(passed(&other, "eve", now).await, 1);
        assert_eq!(passed(&other, "bob", now).await, 2);
        // It is replaced, and ended.
        other.set(exception(&other, "ann", "6/1h", until), now).await.unwrap();
        one.refresh(now).await.unwrap();
        assert_eq!(passed(&one, "ann", now).await, 1);
        other.set(exception(&other, "ann", "6/1h", now), now).await.unwrap();
        assert_eq!(one.refresh(now).await.unwrap(), []);
        assert_eq!(one.list(now).len(), 2);
        assert_eq!(passed(&one, "ann", now).await, 0);
        // The keys of clients are listed without the value of the exceptions.
        let keys = one.store().keys(100).await.unwrap();
        assert!(keys.iter().all(|key| key.subject.starts_with("user=")), "{keys:?}");
    }
}

#[tokio::test]
async fn they_are_bounded_and_expire() {
    let Some(server) = Server::start(&[]) else { return };
    let store = Exceptions::new(open(&server.url(), rules(RULES), patient("rs:")));
    let (now, until) = (now(), now().after(Span::from_hours(1)));
    for i in 0..1000 {
        store.set(exception(&store, &format!("u{i}"), "5/1h", until), now).await.unwrap();
    }
    let full = store.set(exception(&store, "more", "5/1h", until), now).await.unwrap_err();
    assert!(full.to_string().contains("1000 exceptions"), "{full}");
    store.set(exception(&store, "u7", "6/1h", until), now).await.unwrap();
    let left = server.command(&["PTTL", "rs:exceptions:my%20shop"]);
    let left: f64 = left.trim_start_matches(':').trim().parse().unwrap();
    assert!((3_000_000.0..=3_601_000.0).contains(&left), "{left}");
    // Those that are over make room, and the last takes the value along.
    store
        .set(exception(&store, "more", "5/1h", until.after(Span::from_hours(1))), until)
        .await
        .unwrap();
    assert_eq!(store.list(until).len(), 1);
    store.set(exception(&store, "more", "5/1h", until), until).await.unwrap();
    assert_eq!(server.command(&["EXISTS", "rs:exceptions:my%20shop"]).trim(), ":0");
    // Something else at the key is a fault, and the known exceptions stay.
    store.set(exception(&store, "ann", "5/1h", until), now).await.unwrap();
    server.command(&["DEL", "rs:exceptions:my%20shop"]);
    server.command(&["SADD", "rs:exceptions:my%20shop", "x"]);
    assert!(store.refresh(now).await.is_err());
    assert_eq!(store.list(now).len(), 1);
    server.command(&["DEL", "rs:exceptions:my%20shop"]);
    server.command(&["SET", "rs:exceptions:my%20shop", "nonsense\n12 x"]);
    assert_eq!(store.refresh(now).await.unwrap(), []);
    assert_eq!(store.list(now), []);
}

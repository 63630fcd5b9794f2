//! Who is remembered on Redis, as the store lists them.

use super::server::Server;
use super::{check, open, patient, rules};
use ratescope::Time;
use ratescope::policy::KeySecret;
use ratescope::rules::{Details, Store};
use ratescope_redis::RedisStore;

const RULES: &str = "
domain: web
limit: 1000/1h
descriptors:
  - {key: user, limit: [gcra 9/1h, 99/1d]}
  - {key: path, limit: gcra 9/1h per user+path}
";

async fn ask(store: &RedisStore, user: &str, path: &str) {
    let fields = [("user", user), ("path", path)];
    let answer = check(store, Time::ZERO, 1.0, &fields, Details::default()).await;
    assert_eq!(answer.fault, None);
}

/// Each as its subject and its rule.
async fn listed(store: &RedisStore, most: usize) -> Vec<String> {
    let keys = store.keys(most).await.unwrap();
    keys.iter().map(|key| format!("{} {:?}", key.subject, key.rule.as_deref())).collect()
}

#[tokio::test]
async fn keys_are_listed_with_their_rules() {
    let Some(server) = Server::start(&[]) else { return };
    let apart = patient("l:");
    let options = [apart.clone().one_node(true), apart];
    for options in options {
        let store = open(&server.url(), rules(RULES), options.clone());
        assert_eq!(listed(&store, 100).await, [""; 0]);
        ask(&store, "ann", "/a b").await;
        ask(&store, "bob", "").await;
        let expected = [
            "all Some(\"web\")",
            "user=ann Some(\"web:user\")",
            "user=ann,path=/a%20b Some(\"web:path\")",
            "user=bob Some(\"web:user\")",
        ];
        assert_eq!(listed(&store, 100).await, expected);
        // No more than are asked for, and none that begin alike.
        assert_eq!((listed(&store, 3).await.len(), listed(&store, 0).await.len()), (3, 0));
        let longer = options.clone().prefix("l:l");
        let beside = open(&server.url(), rules(RULES), longer);
        ask(&beside, "eve", "").await;
        assert_eq!(listed(&store, 100).await, expected);
        // After a reload, the old keys are those of no rule until they expire.
        let text = "domain: web\ndescriptors:\n  - {key: user, limit: gcra 9/1h}\n";
        assert_eq!(store.reload("rules.yaml", text, Time::ZERO).name(), "applied");
        ask(&store, "ann", "").await;
        let left = [
            "all None",
            "user=ann None",
            "user=ann Some(\"web:user\")",
            "user=ann,path=/a%20b None",
            "user=bob None",
        ];
        assert_eq!(listed(&store, 100).await, left);
        assert_eq!(beside.redis().clear().await, Ok(2));
        store.redis().clear().await.unwrap();
    }
}

/// Of a secret field Redis has the hash, by which several processes with one secret know a sender.
#[tokio::test]
async fn secrets_are_hashed() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "domain: web\ndescriptors:\n- {key: x-api-key, limit: gcra 2/1h}\n";
    let opened = |secret: &[u8]| {
        let rules = rules(text).with_key_secret(KeySecret::new(secret));
        open(&server.url(), rules, patient("h:"))
    };
    let [one, other, apart] = [b"s", b"s", b"t"].map(|secret| opened(secret));
    let passes = async |store: &RedisStore| {
        let fields = [("x-api-key", "5ecret")];
        check(store, Time::ZERO, 1.0, &fields, Details::default()).await.is_allowed()
    };
    assert!(passes(&one).await && passes(&other).await && !passes(&one).await);
    let expected = "x-api-key=#7181c6bc3f43901d838dbb972bda9128 Some(\"web:x-api-key\")";
    assert_eq!(listed(&other, 100).await, [expected]);
    assert!(passes(&apart).await);
    assert_eq!(listed(&other, 100).await.len(), 2);
    // A reload keeps the secret.
    let _ = one.reload("rules.yaml", &text.replace("2/1h", "3/1h"), Time::ZERO);
    assert!(passes(&one).await && !passes(&one).await);
    assert_eq!(listed(&other, 100).await.len(), 2);
}

#[tokio::test]
async fn long_and_strange_subjects() {
    let Some(server) = Server::start(&[]) else { return };
    let text = rules("9/1h per user");
    let store = open(&server.url(), text, patient("*[?]^\\:"));
    for user in ["{a}", "ß", &"x".repeat(200)] {
        ask(&store, user, "").await;
    }
    // `printf 'user=xxx…' | sha1sum`.
    let expected = [
        "#89c9708ce95b46a18b99950a59950bbf2555b084 Some(\"policy\")",
        "user=%7Ba%7D Some(\"policy\")",
        "user=%C3%9F Some(\"policy\")",
    ];
    assert_eq!(listed(&store, 100).await, expected);
    // More keys than Redis tells at once; and one that is none of a store.
    for user in 0..3000 {
        ask(&store, &user.to_string(), "").await;
    }
    server.command(&["SET", "*[?]^\\:{strange", "1"]);
    assert_eq!(listed(&store, 10_000).await.len(), 3003);
    assert_eq!(listed(&store, 2_000).await.len(), 2_000);
    assert_eq!(store.redis().clear().await, Ok(3004));
}

#[tokio::test]
async fn who_cant_be_asked_lists_nothing() {
    let store = open("redis://127.0.0.1:1", rules("1/1s per user"), patient("l:"));
    assert_eq!(store.keys(9).await.unwrap_err().name(), "unreachable");
}

//! The keys of clients, as operators see and reset them.

use super::requests::{ask, descriptor, request, service};
use futures_util::FutureExt;
use ratescope::Span;
use ratescope::clock::FakeClock;
use ratescope_service::{Code, KeyOf, KeyOrder, KeyState, NoKey, ResetKey, Service, States};

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1m}
- key: path
  value: /login
  descriptors: [{key: ip, limit: fixed-window 3/1h}]
- {key: ip, limit: gcra 100/1h}
- {key: seen, shadow: true, limit: gcra 1/1h}
- {key: hash(mail), limit: gcra 1/1h}
";

fn send(service: &Service<FakeClock>, entries: &[(&str, &str)], times: usize) -> Code {
    let request = request(vec![descriptor(entries)]);
    let codes = (0..times).map(|_| ask(service, &request).unwrap().overall_code());
    codes.last().unwrap()
}

fn listed(service: &Service<FakeClock>, order: KeyOrder) -> Vec<(String, u64)> {
    let keys = service.keys(order, 10).into_iter();
    keys.map(|key| (key.key.subject, key.events)).collect()
}

fn key<'a>(rule: Option<&'a str>, fields: &[(&'a str, &'a str)]) -> KeyOf<'a> {
    let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    KeyOf { domain: None, rule, fields }
}

fn reset(service: &Service<FakeClock>, key: &KeyOf<'_>) -> Result<Vec<ResetKey>, NoKey> {
    service.reset_key(key).now_or_never().unwrap()
}

#[test]
fn the_busiest_the_most_refused_and_the_fullest() {
    let (service, _) = service(RULES);
    assert_eq!(send(&service, &[("user", "ann")], 5), Code::OverLimit);
    assert_eq!(send(&service, &[("user", "bob")], 3), Code::OverLimit);
    assert_eq!(send(&service, &[("ip", "192.0.2.7")], 9), Code::Ok);
    assert_eq!(send(&service, &[("seen", "x")], 99), Code::Ok);
    assert_eq!(send(&service, &[("mail", "ann@example.org")], 1), Code::Ok);
    let of = |keys: &[(&str, u64)]| -> Vec<(String, u64)> {
        keys.iter().map(|(key, events)| ((*key).to_owned(), *events)).collect()
    };
    let mut busiest = listed(&service, KeyOrder::Busiest);
    let (mail, _) = busiest.pop().unwrap();
    assert!(mail.starts_with("mail=#") && !mail.contains("example"), "{mail}");
    assert_eq!(busiest, of(&[("ip=192.0.2.7", 9), ("user=ann", 5), ("user=bob", 3)]));
    assert_eq!(listed(&service, KeyOrder::Refused), of(&[("user=ann", 3), ("user=bob", 1)]));
    let fullest = service.keys(KeyOrder::Fullest, 2);
    assert!(fullest.iter().all(|key| key.outcome.level >= key.outcome.limit), "{fullest:?}");
    assert_eq!(service.keys(KeyOrder::Busiest, 1).len(), 1);
}

#[test]
fn one_key_with_its_level_and_when_it_is_free() {
    let (service, clock) = service(RULES);
    send(&service, &[("user", "ann")], 2);
    let look = |key: KeyOf<'_>| service.look_at_key(&key).now_or_never().unwrap();
    for _ in 0..2 {
        let KeyState { now, next } = look(key(None, &[("user", "ann")])).unwrap();
        let one = now.outcomes().next().unwrap();
        assert_eq!((one.outcome.level, one.outcome.limit, next.is_allowed()), (2.0, 2.0, false));
        assert_eq!(one.quota().unwrap().reset, Span::minutes(1));
    }
    clock.advance(Span::seconds(30));
    assert!(look(key(None, &[("user", "ann")])).unwrap().next.is_allowed());
    // With the name of its rule, a key needs no field that the rule fixes; paths are read as those of requests.
    send(&service, &[("path", "/login"), ("ip", "192.0.2.7")], 3);
    let login = Some("web:path=/login,ip");
    assert!(!look(key(login, &[("ip", "192.0.2.7")])).unwrap().next.is_allowed());
    let by_path = [("path", "//login?x"), ("ip", "::ffff:192.0.2.7")];
    assert!(!look(key(None, &by_path)).unwrap().next.is_allowed());
    assert_eq!(look(key(None, &[("nothing", "x")])).unwrap_err(), NoKey::Rule);
    assert_eq!(look(key(Some("web:none"), &[("user", "ann")])).unwrap_err(), NoKey::Rule);
    let elsewhere = KeyOf { domain: Some("elsewhere"), ..key(None, &[("user", "ann")]) };
    assert_eq!(look(elsewhere).unwrap_err(), NoKey::Domain);
    let none = Service::new(States::in_memory(9), FakeClock::default());
    let nothing = none.look_at_key(&key(None, &[("user", "ann")])).now_or_never().unwrap();
    assert_eq!(nothing.unwrap_err(), NoKey::Domain);
}

#[test]
fn a_key_that_is_reset_begins_anew() {
    let (service, _) = service(RULES);
    for user in ["ann", "bob"] {
        assert_eq!(send(&service, &[("user", user)], 3), Code::OverLimit);
    }
    let of = |rule: &str, key: &str| ResetKey { rule: rule.to_owned(), key: key.to_owned() };
    let ann = key(None, &[("user", "ann")]);
    assert_eq!(reset(&service, &ann).unwrap(), [of("web:user", "user=ann")]);
    assert_eq!(send(&service, &[("user", "ann")], 2), Code::Ok);
    assert_eq!(send(&service, &[("user", "ann")], 1), Code::OverLimit);
    assert_eq!(send(&service, &[("user", "bob")], 1), Code::OverLimit);
    // In all rules that count by these fields, or in the one that is named.
    let login = [("path", "/login"), ("ip", "192.0.2.7")];
    assert_eq!(send(&service, &login, 4), Code::OverLimit);
    send(&service, &[("ip", "192.0.2.7")], 1);
    let ip = [("ip", "::ffff:192.0.2.7")];
    let named = reset(&service, &key(Some("web:path=/login,ip"), &ip)).unwrap();
    assert_eq!(named.len(), 1, "{named:?}");
    assert_eq!(send(&service, &login, 3), Code::Ok);
    assert_eq!(reset(&service, &key(None, &ip)).unwrap(), [of("web:ip", "ip=192.0.2.7")]);
    // Keys that are not remembered, and secrets, which are shown as hashes.
    assert_eq!(reset(&service, &key(None, &[("user", "new")])).unwrap().len(), 1);
    let mail = reset(&service, &key(None, &[("mail", "ann@example.org")])).unwrap();
    assert!(mail[0].key.starts_with("mail=#"), "{mail:?}");
    for nothing in [&[][..], &[("nothing", "x")]] {
        assert_eq!(reset(&service, &key(None, nothing)).unwrap_err(), NoKey::Rule);
    }
}

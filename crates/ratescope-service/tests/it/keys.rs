//! The keys of clients, as operators see and reset them.

use super::requests::{ask, descriptor, request, service};
use bytes::Bytes;
use futures_util::FutureExt;
use http::Request;
use http::header::HeaderName;
use http_body_util::Full;
use ratescope::clock::{Clock, FakeClock};
use ratescope::{Span, Time};
use ratescope_service::{
    Code, Forms, Http, HttpSettings, KeyOf, KeyOrder, KeyState, NoKey, ResetKey, Service, States,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

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
        assert_eq!(one.quota().unwrap().reset, Span::from_mins(1));
    }
    clock.advance(Span::from_secs(30));
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

fn except(service: &Service<FakeClock>, key: &KeyOf<'_>, text: &str) -> Result<String, NoKey> {
    let until = service.clock().now().after(Span::from_hours(1));
    let made = service.except_key(key, text, until, "the support").now_or_never().unwrap();
    made.map(|one| format!("{} {} {}", one.limit, one.subject, one.limiter))
}

/// A key is raised or lowered until the exception ends, by itself or by hand; others are as before.
#[test]
fn a_key_has_another_limit_for_a_while() {
    let (service, clock) = service(RULES);
    let ann = key(None, &[("user", "ann")]);
    assert_eq!(except(&service, &ann, "5/1m").unwrap(), "web:user user=ann gcra 5/1m burst 5");
    assert_eq!(send(&service, &[("user", "ann")], 5), Code::Ok);
    assert_eq!(send(&service, &[("user", "ann")], 1), Code::OverLimit);
    assert_eq!(send(&service, &[("user", "bob")], 3), Code::OverLimit);
    let state = service.look_at_key(&ann).now_or_never().unwrap().unwrap();
    assert_eq!(state.now.outcomes().next().unwrap().outcome.limit, 5.0);
    let listed = |service: &Service<FakeClock>| {
        let all = service.exceptions().into_iter();
        all.map(|(domain, one)| format!("{domain} {one}")).collect::<Vec<_>>()
    };
    assert_eq!(
        listed(&service),
        ["web 1000003600000000 web:user user%3Dann by=the%20support gcra 5/1m burst 5"]
    );
    // A blocked one.
    let login = [("path", "/login"), ("ip", "192.0.2.7")];
    let rule = Some("web:path=/login,ip");
    let blocked = except(&service, &key(rule, &[("ip", "::ffff:192.0.2.7")]), "0/1h");
    assert_eq!(blocked.unwrap(), "web:path=/login,ip path=/login,ip=192.0.2.7 fixed-window 0/1h");
    assert_eq!(send(&service, &login, 1), Code::OverLimit);
    let ip = key(rule, &[("ip", "192.0.2.7")]);
    let ended = service.end_exceptions(&ip);
    assert_eq!(ended.now_or_never().unwrap().unwrap().len(), 1);
    assert_eq!(send(&service, &login, 1), Code::Ok);
    clock.advance(Span::from_hours(1));
    assert_eq!(listed(&service), [""; 0]);
    assert_eq!(send(&service, &[("user", "ann")], 3), Code::OverLimit);
    let over = service.refresh_exceptions().now_or_never().unwrap();
    assert_eq!(over.iter().map(|(_, one)| one.subject.as_str()).collect::<Vec<_>>(), ["user=ann"]);
    for (fields, text, expected) in [
        (&[("nothing", "x")][..], "5/1m", NoKey::Rule),
        (&[("user", "ann")], "nonsense", NoKey::Limiter(String::new())),
        (&[("user", "ann")], "sliding-log 5/1m", NoKey::Limiter(String::new())),
    ] {
        let error = except(&service, &key(None, fields), text).unwrap_err();
        assert_eq!(core::mem::discriminant(&error), core::mem::discriminant(&expected), "{error}");
    }
}

/// Where several limits count by the fields, one is named: by its rule, or by its own name.
#[test]
fn an_exception_names_one_limit() {
    let (service, _) = service(
        "domain: web\ndescriptors:\n- {key: user, limit: [gcra 2/1m, fixed-window 3/1h]}\n",
    );
    let several = except(&service, &key(None, &[("user", "ann")]), "9/1m").unwrap_err();
    assert_eq!(several, NoKey::Several(vec!["web:user".to_owned(), "web:user#2".to_owned()]));
    let daily = key(Some("web:user#2"), &[("user", "ann")]);
    assert_eq!(except(&service, &daily, "9/1h").unwrap(), "web:user#2 user=ann fixed-window 9/1h");
}

/// A field that is secret has one key, however a request comes, and it is a hash.
#[test]
fn a_secret_field_has_one_key() {
    let clock = FakeClock::default();
    clock.set(Time::from_micros(1_000_000_000_000_000));
    let secret = ["token".to_owned()].into();
    let service = Service::new(States::in_memory(100), clock);
    let service = service.reading(Forms { secret, ..Forms::default() });
    service
        .add("rules.yaml", "domain: web\ndescriptors:\n- {key: token, limit: gcra 2/1h}\n")
        .unwrap();
    let service = Arc::new(service);
    let header = (String::from("token"), HeaderName::from_static("x-api-key"));
    let settings = HttpSettings { fields: vec![header], ..HttpSettings::default() };
    let http = Http::new(Arc::clone(&service), settings);
    let get = |path: &str| {
        let request = Request::get(path).header("x-api-key", "abc").body(Full::<Bytes>::default());
        let here = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        http.answer(request.unwrap(), here).now_or_never().unwrap().status().as_u16()
    };
    assert_eq!([get("/auth"), get("/check?token=abc")], [200, 200]);
    assert_eq!(send(&service, &[("token", "abc")], 1), Code::OverLimit);
    let keys = listed(&service, KeyOrder::Busiest);
    assert!(keys.len() == 1 && keys[0].0.starts_with("token=#") && keys[0].1 == 3, "{keys:?}");
    assert_eq!(reset(&service, &key(None, &[("token", "abc")])).unwrap()[0].key, keys[0].0);
    assert_eq!(get("/auth"), 200);
}

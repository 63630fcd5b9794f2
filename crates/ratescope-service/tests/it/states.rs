//! States that outlive the service.

use super::requests::{ask, descriptor, request};
use futures_util::FutureExt;
use ratescope::clock::{Clock, FakeClock};
use ratescope::{Span, Time};
use ratescope_service::{Code, KeyOf, RateLimitRequest, Service, States};

const RULES: &str = "domain: DOMAIN\ndescriptors:\n- {key: user, limit: gcra 2/1h}\n";

fn service(states: States) -> Service<FakeClock> {
    let clock = FakeClock::default();
    clock.set(Time::from_micros(1_000_000_000_000_000));
    let service = Service::new(states, clock);
    for domain in ["my shop", "web"] {
        service.add(domain, &RULES.replace("DOMAIN", domain)).unwrap();
    }
    service
}

fn code(service: &Service<FakeClock>, domain: &str, user: &str) -> Code {
    let asked = request(vec![descriptor(&[("user", user)])]);
    ask(service, &RateLimitRequest { domain: domain.into(), ..asked }).unwrap().overall_code()
}

#[test]
fn states_go_on_in_each_domain() {
    let before = service(States::in_memory(100));
    for (domain, user) in [("web", "ann"), ("web", "ann"), ("my shop", "bob"), ("my shop", "bob")] {
        assert_eq!(code(&before, domain, user), Code::Ok);
    }
    let mut saved = Vec::new();
    before.save(&mut saved).unwrap();
    let after = service(States::saved(100, &saved).unwrap());
    for (domain, user, expected) in [
        ("web", "ann", Code::OverLimit),
        ("web", "bob", Code::Ok),
        ("my shop", "bob", Code::OverLimit),
        ("my shop", "ann", Code::Ok),
    ] {
        assert_eq!(code(&after, domain, user), expected, "{domain} {user}");
    }
}

/// Exceptions outlive a restart, with their ends.
#[test]
fn exceptions_go_on() {
    let before = service(States::in_memory(100));
    let key =
        KeyOf { domain: Some("my shop"), rule: None, fields: vec![("user".into(), "ann".into())] };
    let until = before.clock().now().after(Span::from_hours(1));
    before.except_key(&key, "4/1h", until, "").now_or_never().unwrap().unwrap();
    let mut saved = Vec::new();
    before.save(&mut saved).unwrap();
    let after = service(States::saved(100, &saved).unwrap());
    let codes = [(); 5].map(|()| code(&after, "my shop", "ann"));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::Ok, Code::Ok, Code::OverLimit]);
    after.clock().advance(Span::from_hours(1));
    let codes = [(); 3].map(|()| code(&after, "my shop", "ann"));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::OverLimit]);
}

/// Bytes that were cut or changed are refused, or the domain starts over: nothing panics, and no other domain is
/// harmed.
#[test]
fn bytes_that_were_cut_or_changed() {
    let before = service(States::in_memory(100));
    code(&before, "web", "ann");
    let mut saved = Vec::new();
    before.save(&mut saved).unwrap();
    for end in 0..saved.len() {
        if let Ok(states) = States::saved(100, &saved[..end]) {
            assert_eq!(code(&service(states), "web", "ann"), Code::Ok, "{end}");
        }
        let mut changed = saved.clone();
        changed[end] ^= 0x41;
        if let Ok(states) = States::saved(100, &changed) {
            assert_eq!(code(&service(states), "web", "ann"), Code::Ok, "{end}");
        }
    }
    for nonsense in [
        &b""[..],
        b"nonsense",
        b"ratescope states 2\n",
        b"ratescope states 1\nweb 99999999999999999999\n",
    ] {
        assert!(States::saved(100, nonsense).is_err(), "{nonsense:?}");
    }
}

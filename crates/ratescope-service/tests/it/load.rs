//! The load, on which elastic rules depend.

use super::requests::{ask, descriptor, request};
use ratescope::Span;
use ratescope::clock::FakeClock;
use ratescope::rules::Load;
use ratescope_service::{Code, Service, States};

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1h, throttle: elastic up to 2x while load < 70%}
";

fn service(field: Option<&str>) -> Service<FakeClock> {
    let service = Service::new(States::in_memory(100), FakeClock::default()).with_load(field);
    service.add("rules.yaml", RULES).unwrap();
    service
}

fn passed(service: &Service<FakeClock>, user: &str, load: Option<&str>) -> usize {
    let mut descriptors = vec![descriptor(&[("user", user)])];
    descriptors.extend(load.map(|load| descriptor(&[("load", load)])));
    let request = request(descriptors);
    let codes = (0..9).map(|_| ask(service, &request).unwrap().overall_code());
    codes.filter(|code| *code == Code::Ok).count()
}

#[test]
fn rules_without_a_load_are_refused() {
    let service = Service::new(States::in_memory(100), FakeClock::default());
    let error = service.add("rules.yaml", RULES).unwrap_err().to_string();
    assert!(
        error.contains("line 4: elastic up to 2x while load < 70% depends on the load"),
        "{error}"
    );
    assert!(error.contains("--load"), "{error}");
}

#[test]
fn a_load_is_believed_for_thirty_seconds() {
    let service = service(None);
    let load = |percent| Some(Load::from_percent(percent).unwrap());
    assert_eq!(passed(&service, "unknown", None), 2);
    service.set_load(load(69.0));
    assert_eq!(passed(&service, "low", None), 4);
    service.set_load(load(70.0));
    assert_eq!(passed(&service, "high", None), 2);
    service.set_load(load(1.0));
    service.clock().advance(Span::from_secs(30));
    service.forget_load();
    assert_eq!(service.load(), load(1.0));
    service.clock().advance(Span::from_secs(1));
    service.forget_load();
    assert_eq!(service.load(), None);
    assert_eq!(passed(&service, "forgotten", None), 2);
}

#[test]
fn requests_tell_the_load() {
    let service = service(Some("load"));
    assert_eq!(passed(&service, "ann", Some("42%")), 4);
    assert_eq!(passed(&service, "bob", Some("71")), 2);
    // It holds for those that do not tell it.
    assert_eq!(passed(&service, "eve", Some("0")), 4);
    assert_eq!(passed(&service, "joe", None), 4);
    for nonsense in ["-1", "NaN", "inf", "x", "%"] {
        service.set_load(Some(Load::from_percent(0.0).unwrap()));
        passed(&service, "sue", Some(nonsense));
        assert_eq!(service.load(), None, "{nonsense}");
    }
}

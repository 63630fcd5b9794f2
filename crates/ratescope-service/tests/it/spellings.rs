//! One request in many spellings is one request, whichever way it comes.

use super::requests::{ask, descriptor, get, request, service};
use super::spelled::{DOUBTFUL, HOSTS, LOGIN, ROOT, RULES, each};
use ratescope::clock::FakeClock;
use ratescope_service::{Code, Form, Forms, Http, HttpSettings, Service, States};
use std::sync::Arc;

fn http(service: Service<FakeClock>) -> Http<FakeClock> {
    Http::new(Arc::new(service), HttpSettings::default())
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn in_envoys_protocol_and_in_check() {
    for (field, spellings) in each() {
        let (service, _) = service(RULES);
        let http = http(super::requests::service(RULES).0);
        for (i, spelling) in spellings.iter().enumerate() {
            let asked = request(vec![descriptor(&[(field, spelling)])]);
            let code = ask(&service, &asked).unwrap().overall_code();
            assert_eq!(code == Code::Ok, i == 0, "{field} {spelling}");
            let (status, answer) =
                get(&http, &format!("/check?{field}={}", escaped(spelling)), &[]);
            assert_eq!(status, if i == 0 { 200 } else { 429 }, "{field} {spelling}: {answer}");
        }
    }
    let (service, _) = service(RULES);
    let http = http(super::requests::service(RULES).0);
    for doubtful in DOUBTFUL {
        let asked = request(vec![descriptor(&[("path", doubtful)])]);
        let answer = ask(&service, &asked).unwrap();
        assert_eq!(
            (answer.overall_code(), answer.statuses.len()),
            (Code::OverLimit, 1),
            "{doubtful}"
        );
        let said = format!("{:?}", answer.dynamic_metadata);
        assert!(said.contains("unread") && said.contains("path has a"), "{said}");
        let (status, why) = get(&http, &format!("/check?path={}", escaped(doubtful)), &[]);
        assert!(
            status == 400 && why.contains("servers read in different ways"),
            "{doubtful}: {why}"
        );
    }
    // None of these was counted. Where no rule is about the path, nobody is refused for it.
    let login = request(vec![descriptor(&[("path", "/login")])]);
    assert_eq!(ask(&service, &login).unwrap().overall_code(), Code::Ok);
    let (other, _) =
        super::requests::service("domain: web\ndescriptors:\n- {key: user, limit: gcra 1/1d}\n");
    let asked = request(vec![descriptor(&[("path", "/a%2fb")])]);
    assert_eq!(ask(&other, &asked).unwrap().overall_code(), Code::Ok);
}

#[test]
fn in_auth() {
    let http = http(service(RULES).0);
    let auth = |path: &str, headers: &[(&str, &str)]| get(&http, path, headers).0;
    let first = |i: usize| if i == 0 { 200 } else { 429 };
    for (i, path) in LOGIN.iter().enumerate() {
        assert_eq!(auth("/auth", &[("x-forwarded-uri", path)]), first(i), "{path}");
    }
    for (i, path) in ROOT.iter().filter(|path| !path.is_empty()).enumerate() {
        assert_eq!(auth("/auth", &[("x-original-uri", path)]), first(i), "{path}");
    }
    for (i, host) in HOSTS.iter().enumerate() {
        let headers = [("x-forwarded-uri", "/x"), ("x-forwarded-host", host)];
        assert_eq!(auth("/auth", &headers), first(i), "{host}");
    }
    for (i, method) in ["post", "POST", "Post"].iter().enumerate() {
        let headers = [("x-forwarded-uri", "/x"), ("x-forwarded-method", method)];
        assert_eq!(auth("/auth", &headers), first(i), "{method}");
    }
    for path in DOUBTFUL {
        let headers = [("x-forwarded-uri", *path)];
        let (status, why) = get(&http, "/auth", &headers);
        assert!(status == 400 && why.contains("servers read in different ways"), "{path}: {why}");
        // nginx knows no 400 here.
        assert_eq!(auth("/auth?refused=403", &headers), 403, "{path}");
    }
}

/// A value that is no path is not read as one.
#[test]
fn a_value_that_is_any_text_is_not_refused() {
    let forms = Forms { each: [("url".to_owned(), Form::Path)].into(), ..Forms::default() };
    let clock = FakeClock::default();
    let service = Service::new(States::in_memory(9), clock).reading(forms);
    let rules = "domain: web\ndescriptors:\n- {key: path, value: /a?b, limit: gcra 1/1d}\n";
    service.add("rules.yaml", rules).unwrap();
}

/// A rule that no request could match would limit nobody, silently.
#[test]
fn a_value_that_no_request_has_is_refused() {
    let service = Service::new(States::in_memory(9), FakeClock::default());
    for (field, value, normal) in [
        ("path", "/export?", "/export"),
        ("path", "//login", "/login"),
        ("path", "/api/%7euser/*", "/api/~user/*"),
        ("path", "/x/../login", "/login"),
        ("host", "API.example.com", "api.example.com"),
        ("host", "'*.example.com:80'", "*.example.com"),
        ("method", "post", "POST"),
        ("remote_address", "'2001:db8::1'", "2001:db8::/64"),
    ] {
        let text =
            format!("domain: web\ndescriptors:\n- {{key: {field}, value: {value}, limit: 1/1s}}\n");
        let error = service.add("rules.yaml", &text).unwrap_err().to_string();
        let said =
            format!("it is read as {normal}; write {normal}, or run with --form {field}=text");
        assert!(error.contains("line 3: ") && error.contains(&said), "{error}");
    }
    let rules = "domain: web\ndescriptors:\n- {key: path, value: '*/login', limit: 1/1s}\n\
                 - {key: host, value: '*.example.com', limit: 1/1s}\n\
                 - {key: path, value: '/api/*', limit: 1/1s}\n- {key: user, value: //x, limit: 1/1s}\n";
    service.add("rules.yaml", rules).unwrap();
}

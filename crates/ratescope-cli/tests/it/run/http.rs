//! The service over HTTP.

use super::program::{Program, get, http};
use super::requests::{RULES, service};
use hyper::header::HeaderName;
use ratescope::clock::FakeClock;
use ratescope_service::{Http, HttpSettings, Service, States};
use std::sync::Arc;

const BY_IP: &str = "domain: web\ndescriptors:\n- {key: ip, limit: gcra 1/1h}\n";

const ALL: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1h}
- {key: ip, limit: gcra 1/1h}
- key: path
  value: /login
  limit: gcra 1/1h per agent
";

fn post(program: &Program, path: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    let answer = http(program.http, &(head + body));
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// A list may have a key twice, and then its second value counts apart.
#[test]
fn a_key_within_itself() {
    let rules = "
domain: web
descriptors:
- key: path
  value: /a
  descriptors:
  - {key: path, rate_limit: {unit: year, requests_per_unit: 1}}
";
    let program = Program::of(rules, &[]);
    let ask = |values: [&str; 2]| {
        let entry = |value| format!(r#"{{"key":"path","value":"{value}"}}"#);
        let entries = values.map(entry).join(",");
        post(
            &program,
            "/json",
            &format!(r#"{{"domain":"web","descriptors":[{{"entries":[{entries}]}}]}}"#),
        )
        .0
    };
    assert_eq!(
        [ask(["/a", "/b"]), ask(["/a", "/b"]), ask(["/a", "/c"]), ask(["/b", "/b"])],
        [200, 429, 200, 200]
    );
}

#[test]
fn the_messages_as_json() {
    let rules = format!("{RULES}- {{key: rate, limit: exim 5/1h strict}}\n");
    let program = Program::of(&rules, &[]);
    let ask = |body: &str| post(&program, "/json", body);
    let ann = r#"{"domain":"web","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}"#;
    let (status, answer) = ask(ann);
    assert_eq!(status, 200);
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let first = &body["statuses"][0];
    assert_eq!((body["overallCode"].as_str(), first["code"].as_str()), (Some("OK"), Some("OK")));
    let counted_at = body["dynamicMetadata"]["counted_at"].as_str().unwrap();
    let limit = serde_json::json!({"name": "web:user", "requestsPerUnit": 2, "unit": "MINUTE"});
    assert_eq!((&first["currentLimit"], first["limitRemaining"].as_u64()), (&limit, Some(1)));
    assert!(first["durationUntilReset"].as_str().unwrap().ends_with('s'), "{first}");
    // Field names in both spellings, numbers as texts, 0 hits as a look, and enums by name.
    let looks = r#"{"domain":"web","hits_addend":7,"descriptors":[
        {"entries":[{"key":"user","value":"ann"}],"hitsAddend":"0"}]}"#;
    assert_eq!([ask(looks).0, ask(looks).0, ask(ann).0, ask(looks).0], [200, 200, 200, 429]);
    let own = r#"{"domain":"web","descriptors":[{"entries":[{"key":"a","value":"b"}],
        "limit":{"requestsPerUnit":1,"unit":"YEAR"}}]}"#;
    assert_eq!([ask(own).0, ask(own).0], [200, 429]);
    let (status, refused) = ask(ann);
    assert_eq!(status, 429);
    let back = ann.replace(
        "}]}]}",
        &format!(r#"}},{{"key":"counted_at","value":"{counted_at}"}}],"isNegativeHits":true}}]}}"#),
    );
    assert_eq!([ask(&back).0, ask(ann).0, ask(ann).0], [200, 200, 429], "{back}");
    assert!(refused.contains(r#""dynamicMetadata":{"refused_by":["web:user"]}"#), "{refused}");
    for (wrong, status, why) in [
        ("{", 400, "line 1"),
        (r#"{"domain":"web"}"#, 400, "no descriptors"),
        (
            r#"{"domain":"web","descriptors":[{"entries":[{"key":"a"}],"limit":{"requestsPerUnit":1}}]}"#,
            400,
            "limit: it has no unit; write SECOND",
        ),
        (r#"{"domian":"web"}"#, 400, "domian"),
        (r#"{"domain":"web","hitsAddend":-1}"#, 400, "-1"),
        (
            r#"{"domain":"web","descriptors":[{"entries":[{"key":"rate"},{"key":"counted_at","value":"1"}],
                "isNegativeHits":true}]}"#,
            501,
            "is_negative_hits",
        ),
        (
            r#"{"domain":"web","descriptors":[{"entries":[{"key":"user"}],"isNegativeHits":true}]}"#,
            400,
            "counted_at",
        ),
    ] {
        let (decision, text) = ask(wrong);
        assert!(decision == status && text.contains(why), "{wrong}: {text}");
    }
    let long = format!("{{\"domain\":\"{}\"}}", "x".repeat(70_000));
    assert_eq!(ask(&long).0, 413);
    let deep = "[".repeat(60_000);
    assert_eq!(ask(&deep).0, 400);
}

#[test]
fn anything_by_its_fields() {
    let program = Program::of(ALL, &[]);
    let check = |query: &str| get(program.http, &format!("/check?{query}"), "");
    assert_eq!([check("user=ann&hits=0").0, check("user=ann").0, check("user=ann").0], [200; 3]);
    let (status, refused) = check("user=ann");
    assert_eq!(status, 429);
    for part in ["retry-after: 1800", "\"web:user\";r=0", "application/problem+json", "too many"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    assert_eq!([check("user=a%20b&hits=2").0, check("user=a+b").0], [200, 429]);
    assert_eq!(check("domain=none&user=ann").0, 200);
    let body = r#"{"domain": "web", "fields": {"user": "eve"}, "hits": 2}"#;
    assert_eq!([post(&program, "/check", body).0, post(&program, "/check", body).0], [200, 429]);
    // All rules that the fields match decide together: if one refuses, the others don't count.
    assert_eq!(check("user=bob&ip=a").0, 200);
    assert_eq!(check("user=bob&ip=a").0, 429);
    assert_eq!([check("user=bob").0, check("user=bob").0], [200, 429]);
    for wrong in ["hits=-1", "hits=x", "hits=NaN", "hits=1e13"] {
        assert_eq!(check(wrong).0, 400, "{wrong}");
    }
    // Of fields with the same name the last one counts, and the number of fields is bounded.
    assert_eq!(
        [check("user=x&user=y&hits=2").0, check("user=x").0, check("user=y").0],
        [200, 200, 429]
    );
    let (status, answer) = post(&program, "/check", "null");
    assert!(status == 400 && answer.contains("an object with domain, fields or hits"), "{answer}");
    let many = |n: usize| (0..n).map(|i| format!("&f{i}=x")).collect::<String>();
    assert_eq!([check(&many(64)).0, check(&many(65)).0], [200, 400]);
    let field = |i: usize| format!("\"f{i}\":\"x\"");
    let many = |n: usize| (0..n).map(field).collect::<Vec<_>>().join(",");
    let check_many =
        |n: usize| post(&program, "/check", &format!("{{\"fields\":{{{}}}}}", many(n)));
    assert_eq!([64, 65, 4000].map(|n| check_many(n).0), [200, 400, 400]);
    let refused = check_many(65).1;
    assert!(refused.ends_with("there are more than 64 fields\n"), "{refused}");
    let allowed = get(program.http, "/check?user=%22quoted%22", "").1;
    assert!(
        allowed.ends_with(
            "\r\n{\"allowed\":true,\"decision\":\"allowed by web:user: level 1, limit 2\"}\n"
        ),
        "{allowed}"
    );
    let misspelled = check("domain=wb%22e%0a").1;
    let why =
        "\r\n{\"allowed\":true,\"decision\":\"allowed: there is no domain called wb\\\"e·\"}\n";
    assert!(misspelled.ends_with(why), "{misspelled}");
    for path in ["/", "/authenticate", "/auth.html"] {
        assert_eq!(get(program.http, path, "").0, 404, "{path}");
    }
    let (status, answer) = get(program.http, "/json", "");
    assert!(status == 405 && answer.contains("\r\nallow: POST\r\n"), "{answer}");
}

#[test]
fn what_a_proxy_asks() {
    let program = Program::of(ALL, &["--field", "user=x-user", "--field", "agent=user-agent"]);
    let auth = |path: &str, headers: &str| get(program.http, path, headers).0;
    let from = |ip: &str| format!("x-forwarded-for: {ip}\r\n");
    assert_eq!([auth("/auth", &from("a")), auth("/auth/web", &from("192.0.2.1"))], [200, 200]);
    assert_eq!(auth("/auth", &from("192.0.2.1")), 429);
    assert_eq!(auth("/auth?refused=403", &from("192.0.2.1")), 403);
    // The client is the last address that is not a trusted proxy, whatever precedes it.
    assert_eq!(auth("/auth", &from("192.0.2.9, 192.0.2.1")), 429);
    // The path that the client asked the proxy for, without its query, in both headers.
    let login = |ip: &str| format!("{}x-forwarded-uri: /login?a=b\r\nuser-agent: x\r\n", from(ip));
    assert_eq!(
        [auth("/auth", &login("192.0.2.2")), auth("/auth", &login("192.0.2.3"))],
        [200, 429]
    );
    let login = format!("{}x-original-uri: /login\r\nuser-agent: y\r\n", from("192.0.2.4"));
    assert_eq!(auth("/auth", &login), 200);
    // A proxy that writes the one header passes on the other one, with which a client could name another path.
    for (posing, status) in [
        ("x-forwarded-uri: /login\r\n", 429),
        ("x-forwarded-uri: /elsewhere\r\n", 400),
        ("x-original-method: GET\r\nx-forwarded-method: POST\r\n", 400),
    ] {
        assert_eq!(auth("/auth", &format!("{login}{posing}")), status, "{posing}");
    }
    let user = |ip: &str| format!("{}x-user: ann\r\n", from(ip));
    let codes = ["198.51.100.1", "198.51.100.2", "198.51.100.3"].map(|ip| auth("/auth", &user(ip)));
    assert_eq!(codes, [200, 200, 429]);
    assert_eq!((auth("/auth?refused=500", ""), auth("/auth/nowhere", "")), (400, 200));
    // All ways of asking use the same counters.
    let metrics = get(program.admin, "/metrics", "").1;
    let line = "ratescope_hits_total{domain=\"web\",rule=\"web:user\",key1=\"user\",outcome=\"refused\"} 1\n";
    assert!(metrics.contains(line), "{metrics}");
}

/// A client that is not a trusted proxy can't name another address as its own.
#[test]
fn a_stranger_can_not_pose() {
    let program = Program::of(BY_IP, &["--trusted-proxies", "192.0.2.0/24"]);
    let auth = |ip: &str| get(program.http, "/auth", &format!("x-forwarded-for: {ip}\r\n")).0;
    assert_eq!([auth("198.51.100.1"), auth("198.51.100.2")], [200, 429]);
}

/// Behind two proxies the client is the second address from the right, and the addresses that it wrote itself do not
/// count.
#[test]
fn proxies_are_counted() {
    let of = |program: &Program, header: &str, list: &str| {
        get(program.http, "/auth", &format!("{header}: {list}\r\n")).0
    };
    let program = Program::of(BY_IP, &["--client-hops", "2"]);
    let auth =
        |first: &str| of(&program, "x-forwarded-for", &format!("{first}, 203.0.113.7, 8.8.8.8"));
    assert_eq!([auth("198.51.100.1"), auth("198.51.100.2")], [200, 429]);

    let program = Program::of(BY_IP, &["--client-header", "cf-connecting-ip", "--client-alone"]);
    let auth = |list: &str| of(&program, "cf-connecting-ip", list);
    assert_eq!([auth("198.51.100.1"), auth("198.51.100.2")], [200, 200]);
    assert_eq!([auth("1.1.1.1, 198.51.100.1"), auth("2.2.2.2, 198.51.100.2")], [200, 429]);
}

/// The names that Envoy gives to fields, as in rules for its descriptors.
#[test]
fn a_proxy_asks_by_the_names_of_envoy() {
    for name in ["remote_address", "masked_remote_address"] {
        let program = Program::of(&BY_IP.replace("key: ip", &format!("key: {name}")), &[]);
        let auth = |ip: &str| get(program.http, "/auth", &format!("x-forwarded-for: {ip}\r\n")).0;
        let codes = ["198.51.100.1", "198.51.100.2", "198.51.100.1", "2001:db8::1", "2001:db8::2"]
            .map(auth);
        assert_eq!(codes, [200, 200, 429, 200, 429], "{name}");
    }
}

/// A rule for a field that no header gives would count all clients together.
#[test]
fn a_field_without_a_source_is_refused() {
    let program = Program::of(ALL, &["--field", "user=x-user"]);
    let (status, why) = get(program.http, "/auth", "x-forwarded-uri: /login\r\n");
    assert_eq!(status, 500);
    assert!(why.contains("no source for the field agent"), "{why}");
    assert_eq!(get(program.http, "/auth", "x-forwarded-uri: /\r\n").0, 200);
    #[cfg(unix)]
    {
        let log = program.ended();
        assert!(log.contains("no source for the field agent, which a rule counts by."), "{log}");
    }
}

/// Without a name it is the only domain. Where there is none, everything passes, as by an unknown name.
#[tokio::test]
async fn the_domain_is_named_where_there_are_several() {
    async fn asked(service: Service<FakeClock>) -> [u16; 4] {
        let fields =
            ["user", "agent"].map(|name| (name.to_owned(), HeaderName::from_static("x-user")));
        let settings = HttpSettings { fields: fields.into(), ..HttpSettings::default() };
        let http = Http::new(Arc::new(service), settings);
        let mut statuses = [0; 4];
        for (status, path) in
            statuses.iter_mut().zip(["/check?user=x", "/check?user=x&hits=2", "/auth", "/auth/web"])
        {
            let request = http::Request::get(path).body(String::new()).unwrap();
            let peer = core::net::IpAddr::from([192, 0, 2, 7]);
            *status = http.answer(request, Some(peer)).await.status().as_u16();
        }
        statuses
    }
    let none = Service::new(States::in_memory(100), FakeClock::default());
    assert_eq!(asked(none).await, [200; 4]);
    assert_eq!(asked(service(ALL).0).await, [200, 429, 200, 429]);
    let (several, _) = service(ALL);
    several.add("mail.yaml", "domain: mail\nlimit: gcra 1/1h\n").unwrap();
    assert_eq!(asked(several).await, [400, 400, 400, 200]);
}

/// Any name of a domain can stand in a path: escaped, and with slashes around it. A proxy whose variable is
/// empty asks for the only domain.
#[test]
fn the_domain_in_the_path_is_decoded() {
    for (domain, paths) in [
        ("my shop", ["/auth/my%20shop", "/auth/my%20shop/"]),
        ("straße", ["/auth/stra%C3%9Fe", "/auth/stra%c3%9fe?refused=429"]),
        ("a/b", ["/auth/a/b", "/auth/a%2Fb"]),
        ("web", ["/auth//web//", "/auth//"]),
    ] {
        let program = Program::of(&format!("domain: {domain}\nlimit: gcra 1/1h per ip\n"), &[]);
        let codes = paths.map(|path| get(program.http, path, "").0);
        assert_eq!(codes, [200, 429], "{domain}");
        let (status, why) = get(program.http, "/auth/%FF", "");
        assert!(status == 400 && why.contains("the domain is not UTF-8"), "{why}");
    }
}

/// A page of another site can't spend the limits of others, or give hits back, unless its origin may.
#[test]
fn what_a_browser_sends_for_another_site() {
    let program =
        Program::of(ALL, &["--allow-origin", "https://ops.example.org", "--field", "user=x-user"]);
    let own = program.http.to_string();
    let ask = |host: &str, head: &str, headers: &str| {
        let answer = http(
            program.http,
            &format!("{head} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n"),
        );
        (answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap(), answer)
    };
    let get = "GET /check?user=ann&hits=0";
    for (i, refused) in [
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "sec-fetch-site: \r\n",
        "origin: https://evil.example\r\n",
        "origin: null\r\n",
        "origin: https://evil.example\r\nsec-fetch-site: cross-site\r\n",
        "origin: https://ops.example.org.evil.example\r\n",
    ]
    .into_iter()
    .enumerate()
    {
        for head in [get, "POST /check", "POST /json", "OPTIONS /json"] {
            let (status, why) = ask(&own, head, &format!("content-length: 0\r\n{refused}"));
            assert!(status == 403 && why.contains("--allow-origin"), "{head} {refused}: {why}");
        }
        // There they are headers of the client of a proxy.
        let client = format!("x-forwarded-for: 192.0.2.{i}\r\n{refused}");
        assert_eq!(ask(&own, "GET /auth", &client).0, 200);
    }
    // By another name of this machine, a page is of the same site.
    let (status, why) = ask("evil.example", get, "sec-fetch-site: same-origin\r\n");
    assert!(status == 403 && why.contains("must name this machine"), "{why}");
    for (host, allowed) in [
        (own.as_str(), ""),
        ("ratescope.internal", ""),
        (&own, "sec-fetch-site: none\r\n"),
        (&own, "sec-fetch-site: same-origin\r\n"),
        ("localhost:8080", "origin: http://localhost:8080\r\n"),
    ] {
        let (status, answer) = ask(host, get, allowed);
        assert_eq!(status, 200, "{host} {allowed}");
        assert!(!answer.contains("access-control"), "{answer}");
    }
    let page = "origin: https://ops.example.org\r\nsec-fetch-site: cross-site\r\n";
    let (status, answer) = ask("ratescope.internal", get, page);
    let allows = "\r\naccess-control-allow-origin: https://ops.example.org\r\n";
    assert!(status == 200 && answer.contains(allows), "{answer}");
    let (status, answer) = ask("ratescope.internal", "OPTIONS /json", page);
    assert!(
        status == 204 && answer.contains(allows) && answer.contains("content-type"),
        "{answer}"
    );
}

/// A proxy can't wait, so the room of the queue is not told as remaining.
#[test]
fn a_queue_of_which_nothing_passes_at_once() {
    let rules = "domain: web\nlimit: leaky-bucket 5/1h per user\n";
    let program = Program::of(rules, &[]);
    let check = || get(program.http, "/check?user=ann", "").1;
    let first = check();
    assert!(
        first.starts_with("HTTP/1.1 200") && first.contains("\r\nx-ratelimit-remaining: 0\r\n"),
        "{first}"
    );
    let refused = check();
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    for header in [
        "x-ratelimit-remaining: 0",
        "x-ratelimit-limit: 5",
        "retry-after: 7",
        "ratelimit: \"web\";r=0;t=",
    ] {
        assert!(refused.contains(&format!("\r\n{header}")), "{header} in {refused}");
    }
    assert!(
        get(program.http, "/check?user=bob&hits=0", "")
            .1
            .contains("\r\nx-ratelimit-remaining: 1\r\n")
    );
}

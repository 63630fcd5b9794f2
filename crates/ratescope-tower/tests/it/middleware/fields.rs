//! The fields that a limit may be for.

use crate::middleware::parts::{Far, Hand, Inner, get, head, limit, ruled, send};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use ratescope::rules::MemoryStore;
use ratescope::{Event, Time};
use ratescope_tower::{Problem, Proxies, RateLimitLayer, Unidentified};
use std::borrow::Cow;
use std::net::SocketAddr;
use tower_layer::Layer;

type Limit = RateLimitLayer<MemoryStore, Problem, Hand>;

/// Which of the requests pass a limit of one for each value of `field`.
#[track_caller]
fn passing(
    field: &str,
    set_up: impl FnOnce(Limit) -> Limit,
    requests: impl IntoIterator<Item = Request<String>>,
) -> Vec<bool> {
    let rules = format!("domain: web\ndescriptors:\n  - {{key: {field}, limit: 1/1h}}\n");
    let limit = set_up(limit(ruled(&rules), &Hand::default()));
    let mut service = limit.layer(Inner::default());
    let each = requests.into_iter().map(|request| send(&mut service, request));
    each.map(|response| response.status().is_success()).collect()
}

#[test]
fn addresses_in_their_one_form() {
    let from = |ip| get("/", ip);
    let each = ["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8"].map(from);
    assert_eq!(passing("ip", |limit| limit, each), [true, false, true]);
    // As a translator between IPv4 and IPv6 reports clients. An internal address is not one of theirs.
    let nat64 = ["64:ff9b::c000:207", "64:ff9b::192.0.2.8", "192.0.2.7", "64:ff9b::10.0.0.1"];
    let each = nat64.map(from);
    assert_eq!(passing("ip", |limit| limit, each), [true, true, false, true]);
    // Anybody can send from such an address, whoever has the IPv4 address in it.
    let six_to_four = ["192.0.2.7", "2002:c000:207::1", "2001:0:c000:207::1"].map(from);
    assert_eq!(passing("ip", |limit| limit, six_to_four), [true, true, true]);
    let sixes = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"];
    assert_eq!(passing("ip", |limit| limit, sixes.map(from)), [true, false, true]);
    let each = |limit: Limit| limit.ipv6_prefix(128);
    assert_eq!(passing("ip", each, sixes.map(from)), [true, true, true]);
    let wide = |limit: Limit| limit.ipv6_prefix(48);
    assert_eq!(passing("ip", wide, sixes.map(from)), [true, false, false]);
}

/// A request with the header `x-key`.
fn with_key(key: &str, ip: &str) -> Request<String> {
    let mut request = get("/", ip);
    request.headers_mut().insert("x-key", key.parse().unwrap());
    request
}

fn key_or_ip(limit: Limit) -> Limit {
    limit.field_or_ip("client", |head| Some(head.headers.get("x-key")?.to_str().ok()?.into()))
}

#[test]
fn clients_without_a_key_are_known_by_their_address() {
    let requests = [
        with_key("ann", "192.0.2.7"),
        with_key("ann", "192.0.2.8"),
        with_key("bob", "192.0.2.7"),
        // The groups of addresses are those of `ip`.
        get("/", "2001:db8:0:1::1"),
        get("/", "2001:db8:0:1:ffff::2"),
        get("/", "2001:db8:0:2::1"),
        // An empty key is none.
        get("/", "192.0.2.7"),
        with_key("", "192.0.2.7"),
    ];
    let passed = [true, false, true, true, false, true, true, false];
    assert_eq!(passing("client", key_or_ip, requests), passed);
    // Rules may be for networks of those who have no key.
    let rules =
        "domain: web\ndescriptors:\n  - {key: client, network: 192.0.2.0/24, limit: 1/1h}\n";
    let limit = key_or_ip(limit(ruled(rules), &Hand::default()));
    let mut service = limit.layer(Inner::default());
    let requests = ["192.0.2.7", "192.0.2.7", "203.0.113.7", "203.0.113.7"].map(|ip| get("/", ip));
    let passed = requests.map(|request| send(&mut service, request).status().is_success());
    assert_eq!(passed, [true, false, true, true]);
}

/// A client that can choose a name can't use up the limit of an address.
#[test]
fn a_key_that_is_written_like_an_address_is_none() {
    for (key, ip) in
        [("192.0.2.7", "192.0.2.7"), ("2001:db8:0:1::/64", "2001:db8:0:1::1"), ("::/64", "::1")]
    {
        let requests = [with_key(key, "192.0.2.9"), get("/", ip), with_key(key, ip), get("/", ip)];
        assert_eq!(passing("client", key_or_ip, requests), [true, true, false, false], "{key}");
    }
    // Where the server does not say who is connected, they share one key, which nobody can name either.
    let nowhere = || Request::new(String::new());
    let requests = [with_key("unknown", "192.0.2.9"), nowhere(), nowhere()];
    assert_eq!(passing("client", key_or_ip, requests), [true, true, false]);
}

#[test]
fn a_field_that_may_be_the_address_needs_the_peer() {
    let rules = "domain: web\ndescriptors:\n  - {key: client, limit: 1/1h}\n";
    let limit = || key_or_ip(limit(ruled(rules), &Hand::default()));
    let missing = limit().check_sources().err().unwrap();
    assert_eq!(missing.fields, ["ip"]);
    assert!(limit().peer(|address: &std::net::IpAddr| *address).check_sources().is_ok());
}

#[test]
fn what_is_skipped_is_not_limited() {
    let skip = |limit: Limit| limit.skip(|head| head.uri.path() == "/health");
    let rules = "domain: web\nlimit: 1/1h per ip\n";
    let store = ruled(rules);
    let mut service = skip(limit(store.clone(), &Hand::default())).layer(Inner::default());
    for _ in 0..3 {
        let response = send(&mut service, get("/health", "192.0.2.7"));
        assert_eq!((response.body().as_str(), head(&response)), ("/health", Vec::new()));
    }
    assert_eq!(store.len(), 0, "nothing is counted");
    let mut status = |path| send(&mut service, get(path, "192.0.2.7")).status().as_u16();
    assert_eq!(["/", "/health", "/", "/health"].map(&mut status), [200, 200, 429, 200]);
}

/// The store is not asked, and a key that is missing is not demanded.
#[test]
fn what_is_skipped_needs_no_store_and_no_key() {
    let store = Far::new("domain: web\nlimit: 1/1h per user\n", 1);
    let limit = limit(store, &Hand::default())
        .key("user", |_| Err(Unidentified::new(StatusCode::UNAUTHORIZED, "Who are you?")))
        .skip(|head| head.uri.path() == "/health");
    let mut service = limit.layer(Inner::default());
    let mut status = |path| send(&mut service, get(path, "192.0.2.7")).status().as_u16();
    assert_eq!(["/health", "/"].map(&mut status), [200, 401]);
}

/// A client that the layer counted is the same to a service that asks the store itself, with a text.
#[test]
fn the_address_of_the_layer_is_the_text_of_the_address() {
    let last = (0..=255).map(|i| format!("192.0.2.{i}"));
    let first = (0..=255).map(|i| format!("{i}.10.0.100"));
    let addresses = last.chain(first).map(|text| (text.clone(), text));
    let sixes = [("2001:db8:0:1::1", "2001:db8:0:1::/64"), ("::1", "::/64")];
    let sixes = sixes.map(|(from, text)| (from.to_owned(), text.to_owned()));
    let ruled = ruled("domain: web\nlimit: 3/1h per ip\ncost: 2\n");
    let mut service = limit(ruled.clone(), &Hand::default()).layer(Inner::default());
    for (from, text) in addresses.chain(sixes) {
        assert!(send(&mut service, get("/", &from)).status().is_success(), "{from}");
        let fields = &[("ip", &text)];
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        assert_eq!(ruled.peek(&event).quota().unwrap().remaining, 1.0, "{text}");
        assert!(!ruled.check(&event).is_allowed(), "{text}");
    }
}

#[test]
fn the_peer_is_where_the_server_says() {
    #[derive(Clone)]
    struct Connection(SocketAddr);
    let connected = |address: &str| {
        let mut request = Request::new(String::new());
        request.extensions_mut().insert(Connection(address.parse().unwrap()));
        request
    };
    let peer = |limit: Limit| limit.peer(|connection: &Connection| connection.0.ip());
    let requests = ["192.0.2.7:1", "192.0.2.7:2", "[2001:db8::1]:3"].map(connected);
    assert_eq!(passing("ip", peer, requests), [true, false, true]);
    // A bare address of a socket is found without being told.
    let mut bare = [Request::new(String::new()), Request::new(String::new())];
    for request in &mut bare {
        let address: SocketAddr = "192.0.2.7:1".parse().unwrap();
        request.extensions_mut().insert(address);
    }
    assert_eq!(passing("ip", |limit| limit, bare), [true, false]);
    // There may be none, as on a Unix socket.
    let unknown = |limit: Limit| limit.peer(|_: &Connection| None);
    let requests = ["192.0.2.7:1", "192.0.2.7:2"].map(connected);
    assert_eq!(passing("ip", unknown, requests), [true, true], "no such field, no such rule");
}

#[test]
fn clients_behind_proxies() {
    let said = |peer: &str, list: &'static str| {
        let mut request = get("/", peer);
        request.headers_mut().insert("x-forwarded-for", list.parse().unwrap());
        request
    };
    let behind = |limit: Limit| {
        limit.behind(Proxies::x_forwarded_for("10.0.0.0/8".parse().unwrap()).unwrap())
    };
    let requests = [
        said("10.0.0.1", "198.51.100.1"),
        said("10.0.0.2", "9.9.9.9, 198.51.100.1:4711"),
        said("10.0.0.1", "198.51.100.2"),
        // Who comes directly is who they are, whatever they say.
        said("203.0.113.5", "198.51.100.3"),
        said("203.0.113.5", "198.51.100.4"),
    ];
    assert_eq!(passing("ip", behind, requests), [true, false, true, true, false]);
}

#[test]
fn methods_and_paths() {
    let request = |method: Method, path: &str| {
        let mut request = get(path, "192.0.2.7");
        *request.method_mut() = method;
        request
    };
    let requests = || {
        [
            request(Method::GET, "/a?b=1"),
            request(Method::GET, "/a?b=2"),
            request(Method::POST, "/a"),
            request(Method::POST, "/c"),
        ]
    };
    assert_eq!(passing("method", |limit| limit, requests()), [true, false, true, false]);
    assert_eq!(passing("path", |limit| limit, requests()), [true, false, false, true]);
}

/// A path, a host or a method is one, however it is spelled.
#[test]
fn normal_forms() {
    let paths = ["/login", "/%6cogin?a", "//login", "/x/../login", "/login/", "/LOGIN"];
    let each = || paths.map(|path| get(path, "192.0.2.7"));
    assert_eq!(passing("path", |limit| limit, each()), [true, false, false, false, true, true]);
    let kept = passing("path", |limit| limit.keep_slashes(), each());
    assert_eq!(kept, [true, false, true, false, true, true]);
    let mut hosts = ["API.example.com", "api.example.com:80", "api.example.com.", "example.com"]
        .map(|host| {
            let mut request = get("/", "192.0.2.7");
            request.headers_mut().insert("host", host.parse().unwrap());
            request
        });
    assert_eq!(passing("host", |limit| limit, hosts.clone()), [true, false, false, true]);
    // The target of a request says it before the header does.
    for request in &mut hosts {
        *request.uri_mut() = "http://Example.org:80/".parse().unwrap();
    }
    assert_eq!(passing("host", |limit| limit, hosts), [true, false, false, false]);
    let methods = ["post", "POST", "PUT"].map(|method| {
        let mut request = get("/", "192.0.2.7");
        *request.method_mut() = method.parse().unwrap();
        request
    });
    assert_eq!(passing("method", |limit| limit, methods), [true, false, true]);
}

#[test]
fn doubtful_paths_are_refused_where_that_is_asked() {
    let status = |rules: &str, set_up: fn(Limit) -> Limit, path: &str| {
        let limit = set_up(limit(ruled(rules), &Hand::default()));
        send(&mut limit.layer(Inner::default()), get(path, "192.0.2.7")).status().as_u16()
    };
    let by_path = "domain: web\ndescriptors:\n- {key: path, value: /login, limit: 1/1h}\n- {key: path, limit: 9/1h}\n";
    let refuse = |limit: Limit| limit.refuse_doubtful_paths();
    assert_eq!(status(by_path, refuse, "/x/..%2flogin"), 400);
    assert_eq!(status(by_path, refuse, "/x//../login"), 400);
    assert_eq!(status(by_path, refuse, "/x/../login"), 200);
    // Slashes are kept in either order.
    let both: [fn(Limit) -> Limit; 2] = [
        |limit| limit.keep_slashes().refuse_doubtful_paths(),
        |limit| limit.refuse_doubtful_paths().keep_slashes(),
    ];
    let two = "domain: web\ndescriptors:\n- {key: path, value: //login, limit: 0/1h}\n";
    for both in both {
        assert_eq!(status(by_path, both, "/x//../login"), 200);
        assert_eq!([status(two, both, "//login"), status(two, both, "/login")], [429, 200]);
    }
    assert_eq!(status(by_path, |limit| limit, "/x/..%2flogin"), 200);
    let by_ip = "domain: web\ndescriptors:\n- {key: ip, limit: 1/1h}\n";
    assert_eq!(status(by_ip, refuse, "/x/..%2flogin"), 200);
}

#[test]
fn patterns_of_paths() {
    let patterns = ["/users/{id}", "/users/me", "/files/{*rest}"];
    let routes = |limit: Limit| limit.routes(patterns).unwrap();
    let paths =
        ["/users/1", "/users/2", "/users/me", "/files/a", "/files/a/b", "/elsewhere", "/elsewhere"];
    let each = paths.map(|path| get(path, "192.0.2.7"));
    let expected = [true, false, true, true, false, true, true];
    assert_eq!(passing("route", routes, each), expected);
    let limit = limit(ruled("domain: d\nlimit: 1/1s\n"), &Hand::default());
    let Err(error) = limit.routes(["/users/{id}", "/users/{name}"]) else { panic!("taken") };
    assert!(error.to_string().starts_with("\"/users/{name}\": "), "{error}");
    assert!(error.problem().contains("conflict with previously registered route"), "{error}");
}

#[test]
fn users_headers_and_whatever_is_found() {
    #[derive(Clone)]
    struct User(&'static str);
    let mut requests = [(); 4].map(|()| get("/", "192.0.2.7"));
    for (request, name) in requests.iter_mut().zip(["ann", "ann", "bob"]) {
        request.extensions_mut().insert(User(name));
        request.headers_mut().insert("x-api-key", name.parse().unwrap());
    }
    let expected = [true, false, true, true];
    let user = |limit: Limit| limit.user(|user: &User| user.0);
    assert_eq!(passing("user", user, requests.clone()), expected);
    let key = |limit: Limit| limit.header("key", HeaderName::from_static("x-api-key"));
    assert_eq!(passing("key", key, requests.clone()), expected);
    let first = |limit: Limit| {
        limit.field("first", |head| {
            let key = head.headers.get("x-api-key")?.to_str().ok()?;
            Some(Cow::Owned(key[..1].to_uppercase()))
        })
    };
    assert_eq!(passing("first", first, requests.clone()), expected);
    // One that has the name of another takes its place.
    let path = |limit: Limit| limit.user(|user: &User| user.0).field("user", |_| None);
    assert_eq!(passing("user", path, requests), [true; 4]);
}

/// Bytes that are not UTF-8 differ as keys, too, also from text that spells how they are written.
#[test]
fn headers_that_are_no_text() {
    let key = |limit: Limit| limit.header("key", HeaderName::from_static("x-api-key"));
    let sent = [
        &b"\xff"[..],
        b"\xfe",
        b"\xff",
        "\u{fffd}".as_bytes(),
        b"\xff%",
        b"\xff%25",
        b"%FF",
        b"%FE",
    ];
    let requests = sent.map(|bytes| {
        let mut request = get("/", "192.0.2.7");
        request.headers_mut().insert("x-api-key", HeaderValue::from_bytes(bytes).unwrap());
        request
    });
    assert_eq!(passing("key", key, requests), [true, true, false, true, true, true, true, true]);
}

/// A field that no source gives limits all clients together, and not nobody.
#[test]
fn a_missing_source_does_not_let_everybody_pass() {
    let no_source = ["192.0.2.7", "192.0.2.8"].map(|ip| get("/", ip));
    assert_eq!(passing("user", |limit| limit, no_source), [true, false]);
    // The same where a server does not say who is connected.
    let no_peer = [(); 2].map(|()| Request::new(String::new()));
    assert_eq!(passing("ip", |limit| limit, no_peer.clone()), [true, false]);
    let peer = |limit: Limit| limit.peer(|address: &SocketAddr| address.ip());
    assert_eq!(passing("ip", peer, no_peer), [true, false]);
    // A request without a user is another thing.
    let nobody = [(); 2].map(|()| get("/", "192.0.2.7"));
    let user = |limit: Limit| limit.user(|user: &&'static str| user);
    assert_eq!(passing("user", user, nobody), [true, true]);
}

/// In place of counting all clients together.
#[test]
fn requests_that_lack_a_source_can_be_refused() {
    let rules = "\
domain: web
descriptors:
  - {key: path, value: /a, limit: 1/1h per tenant}
  - {key: tier, value: gold, limit: 1/1h}
  - {key: ip, limit: 2/1h}
  - {key: user, shadow: true, limit: 1/1h}
";
    let limit = limit(ruled(rules), &Hand::default()).refuse_missing_sources();
    let mut service = limit.layer(Inner::default());
    let mut status = |path| send(&mut service, get(path, "192.0.2.7")).status().as_u16();
    // A rule for one value never applies, and a shadow refuses nobody.
    assert_eq!(
        [status("/b"), status("/a"), status("/a"), status("/b"), status("/b")],
        [200, 500, 500, 200, 429]
    );
    let body = send(&mut service, get("/a", "192.0.2.7")).into_body();
    assert!(body.contains("no source for the field tenant"), "{body}");
}

#[test]
fn a_layer_can_be_refused_for_its_missing_sources() {
    let rules = "\
domain: web
descriptors:
  - {key: user, limit: 1/1h per user+ip}
  - {key: path, limit: 1/1h per tenant}
";
    let limit = || limit(ruled(rules), &Hand::default());
    let Err(missing) = limit().check_sources() else { panic!("nothing is missing") };
    assert_eq!(missing.fields, ["ip", "user", "tenant"]);
    let message = "the layer has no source for ip, user, tenant, which rules are about; \
                   RateLimitLayer::peer gives ip, RateLimitLayer::user gives user, and RateLimitLayer::field gives \
                   any other field";
    assert_eq!(missing.to_string(), message);
    let whole = limit()
        .peer(|address: &SocketAddr| address.ip())
        .user(|user: &String| user)
        .field("tenant", |_| None);
    assert!(whole.check_sources().is_ok());
}

/// As the design notes recommend: the address against guessed passwords, the user against others
/// behind the same address.
#[test]
fn both_the_address_and_the_user() {
    let rules = "\
domain: web
descriptors:
  - {key: user, limit: gcra 2/1m}
  - key: path
    value: /login
    descriptors:
      - {key: ip, limit: gcra 3/1m}
";
    #[derive(Clone)]
    struct User(String);
    let limit = limit(ruled(rules), &Hand::default()).user(|user: &User| user.0.as_str());
    let mut service = limit.layer(Inner::default());
    let mut ask = |path, user: &str| {
        let mut request = get(path, "192.0.2.7");
        if !user.is_empty() {
            request.extensions_mut().insert(User(user.to_owned()));
        }
        send(&mut service, request).status().as_u16()
    };
    assert_eq!([ask("/", "ann"), ask("/", "ann"), ask("/", "ann")], [200, 200, 429]);
    // Another one behind the same address is not held back for it.
    assert_eq!(ask("/", "bob"), 200);
    // Nobody is logged in yet.
    let guesses = [0; 4].map(|_| ask("/login", ""));
    assert_eq!(guesses, [200, 200, 200, 429]);
    assert_eq!(ask("/", ""), 200);
}

//! The events that the layer logs.

use crate::middleware::parts::{Far, Hand, Inner, call, get, limit, ruled, send};
use http::HeaderName;
use ratescope::internal::PlacedOutcome;
use ratescope::limit::gcra::Gcra;
use ratescope::rules::{
    BoxFuture, Decision, Decisions, Details, Fault, MemoryStore, NewRule, Observed, Part, Rules,
    StateSource, Store, TopKeys,
};
use ratescope::{Event, Policy, Time};
use ratescope_tower::internal::FrontEnd;
use ratescope_tower::{Head, Problem, RateLimitLayer};
use std::borrow::Cow;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};
use tower_layer::Layer;
use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

/// With a single subscriber, `tracing` asks that of the thread that comes first to a place that logs, for all threads. A
/// test without one would silence the others.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// The lines that are told while something is done.
pub(crate) fn told(done: impl FnOnce()) -> Vec<String> {
    LazyLock::force(&SECOND);
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .without_time()
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, done);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_refusal_says_why_in_numbers() {
    let lines = told(|| {
        let rules = "domain: web\nlimit: gcra 1/1m per ip+path\n";
        let mut service = limit(ruled(rules), &Hand::default()).layer(Inner::default());
        for _ in 0..2 {
            // A path that a client makes up can't be mistaken for a line of the log.
            send(&mut service, get("/a=1,b%0A\"c\"", "192.0.2.7"));
        }
    });
    let expected = "INFO ratescope: refused by web: level 2, limit 1 rule=\"web\" \
                    limit=gcra 1/1m burst 1 per ip+path \
                    key=\"ip=192.0.2.7,path=/a%3D1%2Cb%250A%2522c%2522\" \
                    level=2.0 bound=1.0 retry_after=60.0 passed_over=0";
    assert_eq!(lines, [expected]);
}

/// As often as refusals, and beside them. A request that is refused anyway is no news of the shadow.
#[test]
fn what_a_shadow_would_refuse_is_logged() {
    const RULES: &str = "
domain: web
descriptors:
  - {key: path, limit: gcra 1/1m, shadow: true}
  - {key: method, limit: gcra 6/1m}
";
    let clock = Hand::default();
    let lines = told(|| {
        let limit = limit(ruled(RULES), &clock).log_per_second(2);
        let mut service = limit.layer(Inner::default());
        let mut statuses = |n| {
            let each = (0..n).map(|_| send(&mut service, get("/", "192.0.2.7")).status().as_u16());
            each.collect::<Vec<_>>()
        };
        assert_eq!(statuses(7), [200, 200, 200, 200, 200, 200, 429]);
        clock.set(10.0);
        assert_eq!(statuses(1), [200]);
    });
    let told = |level: &str, passed_over: u8| {
        let text = if level.contains('.') { level.to_owned() } else { format!("{level}.0") };
        format!(
            "INFO ratescope: let through, as web:path is a shadow that would refuse: level {level}, \
             limit 1 rule=\"web:path\" limit=gcra 1/1m burst 1 per path key=\"path=/\" level={text} \
             bound=1.0 passed_over={passed_over}"
        )
    };
    let refused = "INFO ratescope: refused by web:method: level 7, limit 6 rule=\"web:method\" \
                   limit=gcra 6/1m burst 6 per method key=\"method=GET\" level=7.0 bound=6.0 \
                   retry_after=10.0 passed_over=0";
    let [before, later] = [told("2", 0), told("1.8333333333333333", 3)];
    assert_eq!(lines, [&*before, &*before, refused, &*later]);
}

#[test]
fn an_attack_does_not_fill_the_log() {
    let clock = Hand::default();
    let lines = told(|| {
        let limit = limit(ruled("domain: web\nlimit: 1/1h\n"), &clock).log_per_second(3);
        let mut service = limit.layer(Inner::default());
        for second in 0..3 {
            clock.set(f64::from(second) + 0.5);
            for _ in 0..100 {
                send(&mut service, get("/", "192.0.2.7"));
            }
        }
    });
    let passed_over: Vec<&str> =
        lines.iter().map(|line| line.rsplit('=').next().unwrap()).collect();
    // 99 refusals in the first second; 96 of them were not logged.
    assert_eq!(passed_over, ["0", "0", "0", "96", "0", "0", "97", "0", "0"]);
}

/// A key is as long as its client likes.
#[test]
fn a_long_key_is_cut() {
    for (sent, logged) in [
        ("/".repeat(48), "/".repeat(48)),
        ("/".repeat(49), "/".repeat(48) + "..."),
        ("%".repeat(60_000), "%25".repeat(48) + "..."),
        // Not within a character: each has three bytes here.
        (format!("aé{}", "€".repeat(20_000)), format!("a%C3%A9{}...", "%E2%82%AC".repeat(15))),
    ] {
        let lines = told(|| {
            let rules = "domain: web\ndescriptors:\n  - {key: name, limit: 1/1m}\n";
            let limit = limit(ruled(rules), &Hand::default());
            let limit = limit.field("name", move |_| Some(sent.clone().into())).shown("name");
            let mut service = limit.layer(Inner::default());
            for _ in 0..2 {
                send(&mut service, get("/", "192.0.2.7"));
            }
        });
        let key = format!("key=\"name={logged}\"");
        assert!(lines.len() == 1 && lines[0].contains(&key), "{key} is not in {lines:?}");
    }
}

/// A secret is never in the log, whatever its field is called, and is hashed whole.
#[test]
fn a_secret_is_hashed() {
    let long = format!("5ecret{}", "x".repeat(100));
    for (field, header) in
        [("x-api-key", "x-api-key"), ("key", "x-api-key"), ("hash(mail)", "x-mail")]
    {
        let name = field.trim_start_matches("hash(").trim_end_matches(')');
        let rules = &format!("domain: web\ndescriptors:\n- {{key: {field}, limit: 1/1m}}\n");
        let lines = told(|| {
            let limit = limit(ruled(rules), &Hand::default());
            let limit = limit.header(name, HeaderName::from_static(header));
            let mut service = limit.layer(Inner::default());
            for _ in 0..2 {
                let mut request = get("/", "192.0.2.7");
                request.headers_mut().insert(header, long.parse().unwrap());
                send(&mut service, request);
            }
        });
        let key = format!("key=\"{name}=#7d7892a392f3cd454ecf73216989985f\"");
        assert!(lines.len() == 1 && lines[0].contains(&key), "{key} is not in {lines:?}");
        assert!(!lines[0].contains("5ecret"), "{lines:?}");
    }
}

/// At the first such request, and once, in whatever form the limits are.
#[test]
fn requests_that_share_a_key_are_told() {
    let policy = "9/1h per user & 9/1h per ip".parse::<Policy>().unwrap();
    let nested = Rules::read("rules.yaml", "domain: web\nlimit: 9/1h per user\n").unwrap();
    let each = Rules::new("web", [NewRule::new().each("user").limit(Gcra::per_hour(9))]).unwrap();
    let of = |store: MemoryStore| {
        told(|| {
            let limit = limit(store, &Hand::default()).user(|user: &String| user.as_str());
            let mut service = limit.layer(Inner::default());
            for user in ["ann", "", "", "bob"] {
                let mut request = get("/", "192.0.2.7");
                if !user.is_empty() {
                    request.extensions_mut().insert(user.to_owned());
                }
                tracing::info!("{user:?}");
                send(&mut service, request);
            }
        })
    };
    for store in [MemoryStore::new(policy, 100), MemoryStore::new(nested, 100)] {
        let lines = of(store);
        assert_eq!(lines.len(), 5, "{lines:?}");
        let line = &lines[2];
        assert!(line.contains("all requests without this field share one count"), "{line}");
        assert!(line.contains("field=\"user\""), "{line}");
    }
    assert_eq!(of(MemoryStore::new(each, 100)).len(), 4);
}

/// Neither in the log nor in the texts of keys, wherever in the request the layer takes it from.
#[test]
fn what_comes_from_a_header_is_hashed_unless_it_is_shown() {
    type Limit = RateLimitLayer<Observed<MemoryStore>, Problem, Hand>;
    type SetUp<'a> = &'a dyn Fn(Limit) -> Limit;
    let header = HeaderName::from_static("x-customer");
    fn by_closure(head: Head<'_>) -> Option<Cow<'_, str>> {
        Some(head.headers.get("x-customer")?.to_str().ok()?.into())
    }
    let key = |set_up: SetUp<'_>| {
        let rules = "domain: web\ndescriptors:\n- {key: client, limit: 1/1h}\n";
        let top = Arc::new(TopKeys::new(10));
        let store = Observed::new(ruled(rules)).with(Arc::clone(&top) as _);
        let lines = told(|| {
            let mut service = set_up(limit(store, &Hand::default())).layer(Inner::default());
            for _ in 0..2 {
                let mut request = get("/", "192.0.2.7");
                request.headers_mut().insert(&header, "5ecret".parse().unwrap());
                send(&mut service, request);
            }
        });
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let (_, key) = line.split_once("key=\"client=").unwrap();
        let key = key.split_once('"').unwrap().0.to_owned();
        let tops = top.busiest(10);
        assert_eq!(tops.len(), 1);
        assert_eq!(tops[0].key.subject, format!("client={key}"));
        key
    };
    let hash = "#4d3b643505e6cbfc6506241becf6e513";
    let hashed: [SetUp<'_>; 4] = [
        &|limit| limit.header("client", HeaderName::from_static("x-customer")),
        &|limit| limit.field("client", by_closure),
        &|limit| limit.field_or_ip("client", by_closure),
        &|limit| limit.key("client", |head| Ok(by_closure(head))),
    ];
    for set_up in hashed {
        assert_eq!(key(set_up), hash);
        assert_eq!(key(&|limit| set_up(limit).shown("client")), "5ecret");
        assert_eq!(key(&|limit| set_up(limit.shown("client"))), "5ecret");
    }
    // The address in place of a key that is missing.
    assert_eq!(key(&|limit| limit.field_or_ip("client", |_| None)), "192.0.2.7");
}

/// Before the first request, and once; and again after a reload.
#[test]
fn rules_for_nobody_and_tiers_without_rules_are_told_at_the_start() {
    let text = "domain: web\ndescriptors:\n- {key: route, value: /logn, limit: 9/1m}\n\
                - {key: route, value: /users/*, limit: 9/1m}\n- {key: tier, value: free, limit: 9/1m}\n";
    let (store, lines) = (ruled(text), Arc::new(Mutex::new(Vec::new())));
    let all = told(|| {
        let limit =
            limit(store.clone(), &Hand::default()).routes(["/login", "/users/{id}"]).unwrap();
        let limit = limit.header("tier", HeaderName::from_static("x-tier"));
        let limit = limit.limited_values("tier", ["free", "gold"]);
        let mut service = limit.layer(Inner::default());
        tracing::info!("requests");
        send(&mut service, get("/login", "192.0.2.7"));
        send(&mut service, get("/login", "192.0.2.7"));
        let right = text.replace("logn", "login").replace("value: free, ", "");
        lines.lock().unwrap().push(store.reload("rules.yaml", &right, Time::ZERO).name());
        send(&mut service, get("/login", "192.0.2.7"));
        lines.lock().unwrap().push(store.reload("rules.yaml", text, Time::ZERO).name());
        send(&mut service, get("/login", "192.0.2.7"));
    });
    let route = "WARN ratescope: the rule web:route=/logn never applies, as route=/logn is none of the routes";
    let tier = "WARN ratescope: no rule is for the tier gold";
    let requests = all.iter().position(|line| line.ends_with("requests")).unwrap();
    assert_eq!(all[..requests], [route, tier]);
    assert_eq!(all[requests + 1..], [route, tier]);
    assert_eq!(*lines.lock().unwrap(), ["applied"; 2]);
}

/// At the start, too, and in the form that the layer's settings give to requests.
#[test]
fn values_that_are_not_normal_are_told_at_the_start() {
    type Limit = RateLimitLayer<MemoryStore, Problem, Hand>;
    let text = "domain: web\ndescriptors:\n- {key: path, value: //login, limit: 9/1m}\n\
                - {key: host, value: API.example.org, limit: 9/1m}\n- {key: method, value: post, limit: 9/1m}\n\
                - {key: ip, value: \"2001:db8::7\", limit: 9/1m}\n\
                - {key: path, value: /login, limit: 9/1m}\n- {key: ip, value: 192.0.2.7, limit: 9/1m}\n";
    let warned = |set_up: fn(Limit) -> Limit| {
        let store = ruled(text);
        let mut at_the_start = 0;
        let lines = told(|| {
            let limit = set_up(limit(store.clone(), &Hand::default()));
            let layers = told(|| drop(limit.layer(Inner::default())));
            at_the_start = layers.len();
            layers.iter().for_each(|line| tracing::info!("{line}"));
            let mut service = limit.layer(Inner::default());
            send(&mut service, get("/", "192.0.2.7"));
        });
        let field = |line: &String| {
            assert!(line.contains("no request has this value"), "{line}");
            let (_, field) = line.split_once("field=").unwrap();
            field.replace(['"', '\\'], "")
        };
        assert_eq!(lines.len(), at_the_start);
        let checked = set_up(limit(store, &Hand::default())).peer(|_: &IpAddr| None);
        let refused = checked.check_sources().err().map_or(Vec::new(), |error| error.values);
        let told: Vec<String> = lines.iter().map(field).collect();
        assert_eq!(refused.len(), told.len());
        for (refused, told) in refused.iter().zip(&told) {
            let (_, right) = told.split_once("normal=").unwrap();
            assert!(
                refused.starts_with("the rule web:")
                    && refused.ends_with(&format!("; write {right}")),
                "{refused}"
            );
        }
        told
    };
    let path = "path value=//login normal=/login";
    let others = [
        "host value=API.example.org normal=api.example.org",
        "method value=post normal=POST",
        "ip value=2001:db8::7 normal=2001:db8::/64",
    ];
    let all = [path, others[0], others[1], others[2]];
    assert_eq!(warned(|limit| limit), all);
    assert_eq!(warned(RateLimitLayer::refuse_doubtful_paths), all);
    assert_eq!(warned(RateLimitLayer::keep_slashes), others);
    assert_eq!(warned(|limit| limit.refuse_doubtful_paths().keep_slashes()), others);
    // The values of the service's own source are not normalized.
    assert_eq!(warned(|limit| limit.field("path", |_| Some("//login".into()))), others);
}

/// Of several layers, the one that it happened to is named.
#[test]
fn a_fault_says_at_which_layer() {
    let lines = told(|| {
        let mut store = Far::new("domain: web\nlimit: 9/1h\n", 0);
        store.fault = Some(Fault::unreachable("gone"));
        let limit = limit(store, &Hand::default()).charge(|_| f64::NAN).name("outer");
        send(&mut limit.log_per_second(9).layer(Inner::default()), get("/", "192.0.2.7"));
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, message) in lines.iter().zip(["the store can't be reached", "a charge is negative"])
    {
        assert!(line.contains(message) && line.contains(" layer=\"outer\" "), "{line}");
    }
}

/// A store that fails while it is told to.
struct Sometimes(MemoryStore, Arc<AtomicBool>);

impl Store for Sometimes {
    fn rules(&self) -> Arc<Rules> {
        self.0.rules()
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        Box::pin(async move {
            let decisions = self.0.decide(parts, details).await.into_iter();
            let fault = self.1.load(Ordering::SeqCst).then_some(Fault::Late);
            let with_fault = |mut decision: Decision| {
                decision.fault.clone_from(&fault);
                decision
            };
            decisions.map(with_fault).collect()
        })
    }
}

/// A store that fails now and then is given up once in a second, at most.
#[test]
fn an_outage_has_a_line_at_its_beginning_and_one_at_its_end() {
    let (clock, fails) = (Hand::default(), Arc::new(AtomicBool::new(false)));
    let lines = told(|| {
        let store = Sometimes(ruled("domain: web\nlimit: 9999/1h\n"), Arc::clone(&fails));
        let mut service = limit(store, &clock).layer(Inner::default());
        // For 3 s, each third of 1000 requests fails; then, after a second, two more do. Between these comes the answer
        // to a request that had to wait for it.
        for millis in (0..3000).step_by(3).chain([3997, 3998, 1500, 3999, 5000]) {
            fails.store(millis % 9 == 0 || [3998, 3999].contains(&millis), Ordering::SeqCst);
            clock.set(f64::from(millis) / 1000.0);
            send(&mut service, get("/", "192.0.2.7"));
        }
    });
    let begun = "WARN ratescope: the store did not answer in time; until it answers again, each rule decides as its \
                 on_store_failure says fault=\"late\"";
    let ended =
        "INFO ratescope: the store answers again; 334 decisions were made without it decisions=334";
    let again =
        "INFO ratescope: the store answers again; 2 decisions were made without it decisions=2";
    assert_eq!(lines, [begun, ended, begun, again]);
}

/// What a process decides by a lease or a sync while its store is away does not end the outage.
#[test]
fn a_store_that_is_not_asked_has_not_answered() {
    let fails = Arc::new(AtomicBool::new(true));
    let lines = told(|| {
        let store = Sometimes(ruled("domain: web\nlimit: 9999/1h\n"), Arc::clone(&fails));
        let front = FrontEnd::of_service("web", Arc::default());
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("ip", "192.0.2.7")] };
        let decided = |is_late| {
            fails.store(is_late, Ordering::SeqCst);
            assert_ready!(spawn(store.check_async(&event, Details::default())).poll())
        };
        let here = |one: &PlacedOutcome| PlacedOutcome { source: StateSource::Here, ..*one };
        let outcomes = decided(false).placed_outcomes().iter().map(here).collect();
        for (second, decision) in [
            (0, decided(true)),
            (2, Decision::with_outcomes(store.rules(), outcomes, None, Time::ZERO)),
            (4, Decision::new(store.rules(), Time::ZERO)),
        ] {
            front.record(&event, &decision, Time::from_secs(second));
            assert_eq!(front.outages().fault(), Some(Fault::Late), "{second}");
        }
        front.record(&event, &decided(false), Time::from_secs(6));
        assert_eq!(front.outages().fault(), None);
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    let again = "the store answers again; 1 decision was made without it";
    assert!(lines[1].contains(again), "{lines:?}");
}

/// Each layer says it once, and at its first request, before anybody asks why all are refused.
#[test]
fn rules_for_what_the_layer_does_not_know() {
    let lines = told(|| {
        let rules = "domain: web\ndescriptors:\n  - {key: user, limit: 9/1h per user+ip}\n";
        for name in ["first", "second"] {
            let limit = limit(ruled(rules), &Hand::default()).name(name);
            let mut service = limit.layer(Inner::default());
            for _ in 0..3 {
                send(&mut service, http::Request::new(String::new()));
            }
        }
    });
    let expected = |layer| {
        [
            format!(
                "WARN ratescope: rules are about a field that the layer has no source for: all \
                 clients share one key, and rules for a certain value never apply \
                 layer=\"{layer}\" field=\"user\""
            ),
            "WARN ratescope: rules are about the field ip, but the server does not say where \
             connections come from: all such requests share one key; see RateLimitLayer::peer"
                .to_owned(),
        ]
    };
    assert_eq!(lines, [expected("first"), expected("second")].concat());
}

/// Requests that came before the turn of a second, and waited for the store, are logged with those of the next second.
#[test]
fn a_slow_store_does_not_fill_the_log() {
    for (rule, message) in [("", "refused by web"), (", shadow: true", "let through, as web:path")]
    {
        let clock = Hand::default();
        let rules = format!("domain: web\ndescriptors:\n- {{key: path, limit: 1/1h{rule}}}\n");
        let lines = told(|| {
            let limit = limit(Far::new(&rules, 1), &clock).log_per_second(2);
            let mut service = limit.layer(Inner::default());
            send(&mut service, get("/", "192.0.2.7"));
            let [before, after] = [0.9, 1.1].map(|seconds| {
                clock.set(seconds);
                let mut asked = [(); 9].map(|()| spawn(call(&mut service, get("/", "192.0.2.7"))));
                for request in &mut asked {
                    assert_pending!(request.poll());
                }
                asked
            });
            for (mut early, mut late) in before.into_iter().zip(after) {
                assert_ready!(early.poll()).unwrap();
                assert_ready!(late.poll()).unwrap();
            }
        });
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines.iter().all(|line| line.contains(message)), "{lines:#?}");
    }
}

//! How the crate meets a program: its clocks, its maps, its threads, its configuration.

use proptest::prelude::*;
use ratescope::address::Networks;
use ratescope::clock::{FakeClock, SystemClock};
use ratescope::event::Fields;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::exim::Mode;
use ratescope::limit::{gcra::Gcra, leaky_bucket::LeakyBucket, token_bucket::TokenBucket};
use ratescope::limit::{kept::Kept, per_key::PerKey};
use ratescope::policy::{FIELDS, KeySecret, Limit, Per};
use ratescope::rules::{
    Decisions, Exception, Fault, LimitOutcome, Load, Memory, NewRule, Numbers, Observed,
    OnStoreFailure, Part, Reloaded, Rules, RulesError, StoredKey, Throttle, TopKey, TopKeys, Why,
    Wildcard,
};
use ratescope::share::Share;
use ratescope::store::{Keyed, Secret};
use ratescope::{
    BadNumber, Checked, Decision, DirectRateLimiter, Event, MemoryStore, Outcome, ParseError,
    Policy, Quota, Rate, RateLimiter, Retry, Span, Store, Time,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A caller may have its fields in any of these.
#[test]
fn fields_are_in_lists_and_maps() {
    let pairs = [("user", "ann"), ("ip", "::1")];
    let slice: &[(&str, &str)] = &pairs;
    let owned: Vec<(String, String)> =
        pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let sorted: BTreeMap<&str, &str> = pairs.into();
    let hashed: HashMap<String, String> = owned.iter().cloned().collect();
    let all: [&dyn Fields; 5] = [&pairs, &slice, &owned, &sorted, &hashed];
    for fields in all {
        let event = Event { time: Time::ZERO, cost: 1.0, fields };
        assert_eq!(
            (event.field("user"), event.field("ip"), event.field("path")),
            ("ann", "::1", "")
        );
    }
}

#[test]
fn time_from_the_clocks_of_a_program() {
    let second = Duration::from_micros(1_500_000);
    assert_eq!(Time::from(second).to_string(), "1.5");
    assert_eq!(Time::from(Duration::from_nanos(1999)).as_micros(), 1);
    assert_eq!(Time::from(Duration::MAX), Time::LAST);
    assert_eq!(Time::from_millis(-1500).to_string(), "-1.5");
    assert_eq!(Time::from_millis(i64::MAX), Time::LAST);
    assert_eq!(Time::from(SystemTime::UNIX_EPOCH + second).to_string(), "1.5");
    assert_eq!(Time::from(SystemTime::UNIX_EPOCH - second).to_string(), "-1.5");
}

#[test]
fn spans_and_durations() {
    let span = |text: &str| text.parse::<Span>().unwrap();
    assert_eq!(Span::from(Duration::from_millis(1500)), span("1.5s"));
    assert_eq!(Duration::try_from(span("1h30m")).unwrap(), Duration::from_secs(5400));
    assert_eq!(Duration::try_from(span("250ms")).unwrap(), Duration::from_millis(250));
    // A third of a nanosecond is waited as a whole one.
    let short = Span::try_from_secs_f64(0.3e-9).unwrap();
    assert_eq!(Duration::try_from(short).unwrap(), Duration::from_nanos(1));
    let error = Duration::try_from(Span::try_from_secs_f64(1e30).unwrap()).unwrap_err();
    assert!(error.to_string().ends_with("it must be less than 584 billion years"), "{error}");
    assert_eq!(error.given, 1e30);
}

proptest! {
    #[test]
    fn waiting_for_a_span_is_never_too_short(seconds in 0.0..1e9) {
        let wait = Duration::try_from(Span::try_from_secs_f64(seconds).unwrap()).unwrap();
        prop_assert!(wait.as_secs_f64() >= seconds);
        prop_assert!(wait.as_secs_f64() - seconds <= 2e-9 + seconds * f64::EPSILON);
    }

    #[test]
    fn spans_are_in_the_order_of_their_seconds(a in 0.0..1e9, b in 0.0..1e9) {
        let [x, y] = [a, b].map(|seconds| Span::try_from_secs_f64(seconds).unwrap());
        prop_assert_eq!(Some(x.cmp(&y)), a.partial_cmp(&b));
    }
}

proptest! {
    /// Limits of whole numbers are constants, and the same as others.
    #[test]
    fn limits_of_whole_numbers(count in 1..=u32::MAX, small in 1..100_000u32, burst in 1..=u32::MAX) {
        for count in [count, small] {
            macro_rules! same {
                ($limiter:ident, $with:ident) => {
                    let same = |made: $limiter, rate| {
                        prop_assert_eq!(made, $limiter::new(rate, f64::from(count)).unwrap());
                        let other = $limiter::new(rate, f64::from(burst)).unwrap();
                        prop_assert_eq!(made.$with(burst), other);
                        Ok(())
                    };
                    same($limiter::per_second(count), Rate::per_second(count))?;
                    same($limiter::per_minute(count), Rate::per_minute(count))?;
                    same($limiter::per_hour(count), Rate::per_hour(count))?;
                    same($limiter::per_day(count), Rate::per_day(count))?;
                };
            }
            same!(Gcra, with_burst);
            same!(TokenBucket, with_burst);
            same!(LeakyBucket, with_queue);
        }
    }
}

/// Limits made in code are those of the text.
#[test]
fn limits_in_code() {
    let rates = [
        (Rate::per_second(10), "10/1s"),
        (Rate::per_minute(0), "0/1m"),
        (Rate::per_hour(u32::MAX), "4294967295/1h"),
        (Rate::per_day(5000), "5000/1d"),
    ];
    for (rate, text) in rates {
        assert_eq!((rate, rate.to_string()), (text.parse().unwrap(), text.to_owned()));
    }
    assert_eq!(Per::new(["ip", "path"]).unwrap(), "ip+path".parse().unwrap());
    assert_eq!(Per::new([""; 0]).unwrap(), Per::ALL);
    let problem = |fields: &[&str]| Per::new(fields).unwrap_err().problem().to_owned();
    let help = "write the name of a field, several as in ip+path, or all";
    assert_eq!(problem(&["ip+path"]), format!("not the name of a field; {help}"));
    assert_eq!(problem(&["ip", "ip"]), format!("a field that is there already; {help}"));
    assert_eq!(problem(&["ip", "all"]), format!("everybody together is not a field; {help}"));
    assert_eq!(problem(&["ip", ""]), format!("a field is missing; {help}"));
    let many: Vec<String> = (0..=FIELDS).map(|i| format!("f{i}")).collect();
    assert_eq!(Per::new(&many[1..]).unwrap().fields(), &many[1..]);
    assert_eq!(
        Per::new(&many).unwrap_err().problem(),
        format!("more than {FIELDS} fields; {help}")
    );

    let all = Limit::from(const { Gcra::per_second(1) });
    assert_eq!(all, "gcra 1/1s per all".parse().unwrap());
    let by = all.by("ip").unwrap().by("path").unwrap();
    assert_eq!(by, "gcra 1/1s per ip+path".parse().unwrap());
    assert_eq!(by.by("ip").unwrap_err().problem(), problem(&["ip", "ip"]));
}

#[test]
fn rates_and_spans_are_keys() {
    let rates = ["10/1m", "10/60s", "600/1h"].map(|text| text.parse::<Rate>().unwrap());
    assert_eq!(HashSet::from(rates).len(), 2);
    let spans = ["1m", "60s", "0s", "0ms"].map(|text| text.parse::<Span>().unwrap());
    assert_eq!(BTreeSet::from(spans).len(), 2);
    assert_eq!(spans.into_iter().max().unwrap().to_string(), "1m");
}

#[test]
fn what_has_a_text_form_is_that_text_in_json() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Config {
        window: Span,
        rate: Rate,
        since: Time,
        mode: Mode,
        limiter: AnyLimiter,
        logins: Gcra,
        policy: Policy,
        trusted: Networks,
        share: Share,
        throttle: Throttle,
        load: Load,
        on_store_failure: OnStoreFailure,
    }
    let text = concat!(
        r#"{"window":"1m30s","rate":"10/1m","since":"12.5","mode":"strict","#,
        r#""limiter":"gcra 10/1s burst 20","logins":"gcra 5/1m burst 5","#,
        r#""policy":"exim 10/1h strict per user+ip","trusted":"10.0.0.0/8, 192.0.2.7","#,
        r#""share":"leased 100ms","throttle":"soft 10%","load":"42%","on_store_failure":"refuse"}"#,
    );
    let config: Config = serde_json::from_str(text).unwrap();
    assert_eq!(config.rate, "10/1m".parse().unwrap());
    assert_eq!(serde_json::to_string(&config).unwrap(), text);

    let wrong = text.replace("burst 20", "brust 20");
    let error = serde_json::from_str::<Config>(&wrong).unwrap_err().to_string();
    assert!(error.starts_with(r#""brust" in "gcra 10/1s brust 20": unexpected word"#), "{error}");
    let wrong = text.replace("gcra 5/1m burst 5", "exim 5/1m");
    let error = serde_json::from_str::<Config>(&wrong).unwrap_err().to_string();
    assert!(error.contains("another limiter; this one is gcra RATE [burst N]"), "{error}");
    let wrong = serde_json::from_str::<Span>("90").unwrap_err().to_string();
    assert!(wrong.contains("expected a span, such as \"1h30m\""), "{wrong}");
}

/// A limiter's own type reads its own text form, and no other's.
#[test]
fn a_limiter_reads_its_own_text_form() {
    let text = "gcra 10/1s burst 20";
    assert_eq!(text.parse::<Gcra>().unwrap().to_string(), text);
    let error = text.parse::<TokenBucket>().unwrap_err().to_string();
    assert!(error.ends_with("another limiter; this one is token-bucket RATE [burst N]"), "{error}");
    for name in ["allow", "refuse", "local"] {
        assert_eq!(name.parse::<OnStoreFailure>().unwrap().to_string(), name);
    }
    assert!("deny".parse::<OnStoreFailure>().is_err());
}

#[test]
fn what_a_dashboard_shows_is_serialized_by_field() {
    let outcome = Outcome::new(true, 3.0, 10.0);
    let json = serde_json::to_string(&outcome).unwrap();
    assert_eq!(json, r#"{"wait":"0s","level":3.0,"limit":10.0}"#);
    let quota = Quota::new(Some(Rate::per_minute(10)), 7.0, Span::from_secs(18));
    let json = serde_json::to_string(&quota).unwrap();
    assert_eq!(json, r#"{"limit":"10/1m","remaining":7.0,"reset":"18s"}"#);
    let memory = serde_json::to_string(&Memory::new(2, 1)).unwrap();
    assert_eq!(memory, r#"{"keys":2,"evicted":1}"#);
    let exception: Exception = "60000000 calls user=ann by=eve gcra 5/1h".parse().unwrap();
    let json = serde_json::to_string(&exception).unwrap();
    let limiter = r#""limiter":"gcra 5/1h burst 5","until":"60","by":"eve""#;
    assert_eq!(json, format!(r#"{{"limit":"calls","subject":"user=ann",{limiter}}}"#));
}

/// Threads share them, and tasks move between threads with them.
#[test]
fn public_types_are_send_and_sync() {
    fn are<T: Send + Sync>() {}
    are::<(RateLimiter<str, Gcra>, DirectRateLimiter<Gcra>, PerKey<Gcra>, Keyed<Gcra>, MemoryStore)>(
    );
    are::<(Checked<'static, Gcra>, AnyLimiter, AnyState, Kept, Outcome, Retry, Quota)>();
    are::<(Decisions, Numbers, Keyed<AnyLimiter>)>();
    are::<(Policy, Limit, Per, KeySecret, Event<'static>, Rate, Span, Time, ParseError, BadNumber)>(
    );
    are::<(Rules, NewRule, RulesError, MemoryStore, Observed<MemoryStore>, TopKeys, TopKey)>();
    are::<(
        Arc<dyn Store>,
        Decision,
        LimitOutcome<'static>,
        Fault,
        Reloaded,
        Part<'static>,
        Why<'static>,
    )>();
    are::<(SystemClock, FakeClock, Networks, Secret, StoredKey, Load, Throttle, Wildcard)>();
}

//! The choices, and the link that holds them.

use ratescope::limit::haproxy::Counts;
use ratescope::policy::{Limit, Policy};
use ratescope_config::Addresses;
use ratescope_lab::compare::{Comparison, Link};
use ratescope_lab::tune::{Burst, Choices, Frontier, Measure};

#[test]
fn a_link_says_what_is_chosen_and_no_more() {
    assert_eq!(Choices::default().to_string(), "");
    for link in [
        "for=exim&by=exim",
        "key=ip+path&spread=never&period=10s",
        "log=json&rate=30/1m&limit=12",
        "log=csv&path=/api,/login&method=POST&status=4xx,500-503&cost=bytes",
        "log=syslog&message=Invalid user, again&year=2024",
        "key=ip+path&ipv6-prefix=56&path-depth=2&field=time=when,ip=client.address&time-unit=ms",
        "for=caddy&by=sliding-log&untouched=99.5&limit=0.5&order=requests",
    ] {
        let choices: Choices = link.parse().unwrap();
        let written = choices.to_string();
        assert_eq!(written.parse::<Choices>().unwrap(), choices, "{link}");
        assert_eq!(written.replace("%2B", "+"), link);
    }
    // A number is written as anywhere else.
    for (limit, means) in [("300k", "300000"), ("1e6", "1000000"), ("1M", "1000000")] {
        let choices: Choices = format!("limit={limit}").parse().unwrap();
        assert_eq!(choices.get("limit"), means);
    }
    // The order in which they stand does not matter, and a server has its own way to limit.
    let choices: Choices = "limit=7&period=10s&for=haproxy".parse().unwrap();
    assert_eq!(
        (choices.get("by").as_str(), choices.get("limit").as_str()),
        ("sliding-counter", "7")
    );
}

#[test]
fn what_is_wrong_with_a_choice_is_said() {
    for (link, problem) in [
        ("colour=red", "not a choice; there are log, log-format, key"),
        ("colour", "not a choice"),
        ("for=apache", "not a target"),
        ("by=feeling", "or bucket"),
        ("period=0s", "choose from 100ms"),
        ("untouched=101", "a percentage, from 0 to 100"),
        ("period=0", "choose from 100ms"),
        ("limit=-1", "choose from 0.001"),
        ("limit=NaN", "not a number; choose from 0.001"),
        ("spread=thin", "coarse, always or never"),
        ("order=size", "not a column; write one of requests, refused"),
        ("log=xml", "not a format of logs"),
        ("rate=fast", ""),
        ("status=4xx,9", "\"9\" in \"4xx,9\": not a status"),
        ("ipv6-prefix=129", "a number of bits from 0 to 128"),
        ("path-depth=0", "write auto, or a number from 1 to 255"),
        ("field=when", "as in time=when"),
        ("field=time=when, place=x", "\"place=x\" in"),
        ("time-unit=h", "write s, ms, us or ns"),
        ("year=26000", "write one from 1 to 9999"),
    ] {
        let error = link.parse::<Choices>().unwrap_err().to_string();
        assert!(error.contains(problem), "{link}: {error}");
    }
}

#[test]
fn another_meaning_of_the_limit_takes_the_recommended_one() {
    let mut choices: Choices = "for=exim&limit=30".parse().unwrap();
    choices.set("untouched", "99").unwrap();
    assert_eq!(choices.limit, None);
    for (name, same, other) in
        [("period", "1m", "1h"), ("by", "exim", "sliding-log"), ("for", "exim", "caddy")]
    {
        let mut choices: Choices = "for=exim&limit=30".parse().unwrap();
        choices.set(name, same).unwrap();
        assert_eq!(choices.limit, Some(30.0), "{name}");
        choices.set(name, other).unwrap();
        assert_eq!(choices.limit, None, "{name}");
    }
}

fn limit(text: &str) -> Limit {
    text.parse::<Policy>().unwrap().limits()[0].clone()
}

/// A server counts the requests that come to it, and by its own rules.
#[test]
fn what_was_read_and_the_server_does_not_count_is_noted() {
    let notes = |link: &str| {
        let choices: Choices = link.parse().unwrap();
        let addresses = Addresses::default();
        choices.configure(&limit("haproxy 12/1m per path"), addresses).unwrap().1
    };
    let plain = notes("for=haproxy");
    let added = |link: &str| notes(link).strip_prefix(&plain[..]).unwrap().join("; ");
    assert_eq!(
        added("for=haproxy&path=/api,/login&method=POST&path-depth=2"),
        "this limit was chosen for requests with path /api or /login and method POST only; put it \
         where haproxy counts no others; \
         above, the first 2 segments of a path count; for haproxy, all of them"
    );
    assert_eq!(
        added("for=haproxy&status=404"),
        "this limit was chosen for requests with status 404 only, but haproxy counts a request \
         before its answer is known: it counts all requests, and refuses more than is said here"
    );
    let others = |link: &str, limiter: &str| {
        let choices: Choices = link.parse().unwrap();
        let addresses = Addresses::default();
        choices.configure(&limit(&format!("{limiter} per ip")), addresses).unwrap().1.join("; ")
    };
    assert!(others("for=nftables&path=/login", "gcra 6/1h burst 5").ends_with(
        "; this limit was chosen for those with path /login only, but nftables counts every new connection"
    ));
    // How to try it first, where the server has a way.
    for (server, limiter, way) in [
        ("nginx", "gcra 6/1m burst 5", "add limit_req_dry_run on, and nginx only logs"),
        ("envoy", "gcra 6/1m burst 5", "give filter_enforced the numerator 0, and"),
        ("descriptors", "fixed-window 6/1m", "add shadow_mode: true to each descriptor, and"),
        ("cloudflare", "sliding-counter 6/1m", "let the action be log"),
        ("haproxy", "haproxy 6/1m", "write set-header x-over-limit 1 in place of deny"),
        ("exim", "exim 6/1m strict", "write warn in place of deny and log_message in"),
        ("nftables", "gcra 6/1h burst 5", "write counter in place of drop, and"),
        ("fail2ban", "fail2ban 5/10m", "add banaction = dummy, and"),
    ] {
        let said = others(&format!("for={server}"), limiter);
        let way = format!("to try it first without refusing anything, {way}");
        assert!(said.contains(&way), "{said}");
    }
}

/// The numbers that are shown with a configuration are those of the limiter that it is of.
#[test]
fn a_server_has_its_own_limiter() {
    let bucket = Measure::Bucket("30/1m".parse().unwrap());
    let minute = "1m".parse().unwrap();
    for (server, measure, limiter, words) in [
        (
            "nginx",
            Measure::Nginx("30/1m".parse().unwrap()),
            "nginx 30/1m burst 11 nodelay",
            "burst=11 nodelay",
        ),
        ("envoy", bucket, "envoy 30/1m burst 12", "max_tokens: 12"),
        ("haproxy", Measure::Haproxy(minute, Counts::All), "haproxy 12/1m", "gt 12"),
        ("exim", Measure::Exim(minute), "exim 12/1m strict", "12 / 1m"),
        ("caddy", Measure::SlidingLog(minute), "sliding-log 12/1m", "events 12"),
        (
            "descriptors",
            Measure::FixedWindow(minute),
            "fixed-window 12/1m",
            "requests_per_unit: 12",
        ),
        (
            "cloudflare",
            Measure::SlidingCounter(minute),
            "sliding-counter 12/1m",
            "\"requests_per_period\": 12",
        ),
        ("rust", bucket, "gcra 30/1m burst 12", "gcra 30/1m burst 12"),
    ] {
        let mut choices = Choices::default();
        choices.set("for", server).unwrap();
        let own = choices.limiter(measure, 12.0).unwrap();
        assert_eq!(own.to_string(), limiter);
        let own = limit(&format!("{own} per ip"));
        let (text, _) = choices.configure(&own, Addresses::default()).unwrap();
        assert!(text.contains(words), "{server}: {text}");
    }
    // No configuration is written that the server can't express.
    let choices: Choices = "for=nginx&by=exim".parse().unwrap();
    let exim = choices.limiter(Measure::Exim(minute), 12.0).unwrap();
    let exim = limit(&format!("{exim} per ip"));
    let error = choices.configure(&exim, Addresses::default()).unwrap_err();
    assert!(error.starts_with("nginx cannot say"));
}

/// Beside the limiter stand others at its rate, which are lanes as they are.
#[test]
fn lanes_are_at_the_rate_of_the_limiter() {
    let lanes = |link: &str, measure: Measure| {
        let choices: Choices = link.parse().unwrap();
        let (limit, lanes) = choices.lanes(measure, 20.0).unwrap();
        let link: Link = format!("limit={limit}&lanes={lanes}").parse().unwrap();
        let replay = Comparison::open(&link).unwrap();
        replay
            .lanes()
            .iter()
            .map(|lane| lane.policy().limits()[0].limiter.to_string())
            .collect::<Vec<_>>()
    };
    let rate = "30/1m".parse().unwrap();
    assert_eq!(
        lanes("", Measure::Nginx(rate)),
        [
            "nginx 30/1m burst 19 nodelay",
            "exim 30/1m strict",
            "token-bucket 30/1m burst 30",
            "fixed-window 30/1m",
            "sliding-log 30/1m",
        ]
    );
    assert_eq!(
        lanes("for=haproxy&period=10s", Measure::Haproxy("10s".parse().unwrap(), Counts::All))[..2],
        ["haproxy 20/10s", "exim 20/10s strict",]
    );
}

/// nginx counts by the second or the minute, so the tightest bucket of an hour is none for it.
#[test]
fn the_rate_is_one_that_the_server_can_say() {
    let at = |rate: &str, burst| Burst { burst, rate: rate.parse().unwrap(), touched: 0 };
    let frontier = Frontier { bursts: vec![at("6/1h", 10.0), at("10/1m", 30.0), at("1/1s", 20.0)] };
    let measure =
        |link: &str| link.parse::<Choices>().unwrap().measure(Some(&frontier)).unwrap().to_string();
    assert_eq!(measure("for=nginx"), "nginx 10/1m burst N-1 nodelay");
    assert_eq!(measure("for=envoy"), "gcra 6/1h burst N");
    assert_eq!(measure("for=nginx&rate=6/1h"), "gcra 6/1h burst N");
    assert_eq!(measure("for=haproxy"), "haproxy N/1m");
    // Of a sender that is silent for two seconds Traefik forgets everything.
    let said = Frontier { bursts: [&frontier.bursts[..], &[at("10/1s", 20.0)]].concat() };
    let traefik: Choices = "for=traefik".parse().unwrap();
    assert_eq!(traefik.measure(Some(&said)).unwrap().to_string(), "gcra 10/1s burst N");
    assert_eq!(measure("for=traefik"), "gcra 6/1h burst N");
    assert_eq!("".parse::<Choices>().unwrap().measure(None), None);
}

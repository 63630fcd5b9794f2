//! `ratescope tune --config`: the limits in force, and the effect of the recommended one in their place.

use super::{assert_wrong, file, log, run, text, tune};
use ratescope::internal::grouped;
use serde_json::Value;

const NGINX: &str = "http {
    limit_req_zone $binary_remote_addr zone=all:10m rate=20r/m;
    limit_req_zone $binary_remote_addr zone=login:10m rate=1r/m;
    limit_req_zone $geo zone=geo:10m rate=1r/m;
    server {
        limit_req zone=all burst=5 nodelay;
        location /1 { limit_req zone=login; }
        limit_req zone=geo;
    }
}
";

#[test]
fn the_limits_in_force_are_tried_beside_the_recommended_one() {
    let config = file("today-nginx.conf", NGINX);
    // Each on its own requests: a location with a limit of its own has no other.
    let alone = [
        ["nginx 20/1m burst 5 nodelay per ip", "--not", "path=/1"],
        ["nginx 1/1m per ip", "--path", "/1"],
    ]
    .map(|[limit, option, test]| tune(&["--limit", limit, option, test], log().as_bytes()));
    let whole = tune(&["--for", "nginx"], log().as_bytes());
    let args = ["--config", &config, "--limit", "9/1m per ip"];
    let answer = tune(&args, log().as_bytes());
    let today = &answer["today"];
    assert_eq!(today["server"], "nginx");
    for (n, alone) in alone.iter().enumerate() {
        let (limit, tried) = (&today["limits"][n], &alone["limits"][0]);
        for field in ["limit", "clients_touched", "requests_refused"] {
            assert_eq!(limit[field], tried[field]);
        }
        assert_eq!(limit["requests"], alone["requests"]);
        assert_eq!(answer["limits"][n]["requests_refused"], tried["requests_refused"]);
        assert_eq!(today["recommended"]["limit"], whole["for"][0]["recommended"]["limit"]);
    }
    assert_eq!(answer["limits"][2]["limit"], "9/1m per ip");
    assert_eq!(today["limits"][1]["scope"], "location /1");
    assert_eq!(today["limits"].as_array().unwrap().len(), 2);
    assert_eq!(answer["for"][0]["server"], "nginx");

    let output = run(&[&["tune"], &args[..]].concat(), log().as_bytes());
    let (report, notes) = (text(&output.stdout), text(&output.stderr));
    let number = |n: usize, name: &str| today["limits"][n][name].as_u64().unwrap();
    let first = format!(
        "Today, nginx 20/1m burst 5 nodelay per ip (all, {config}, line 6) refuses {} of {} requests (",
        number(0, "requests_refused"),
        grouped(number(0, "requests")),
    );
    assert!(report.contains(&first), "{report}");
    let own = grouped(number(1, "requests"));
    assert!(
        report.contains(&format!(" It is for location /1: {own} of 3,000 requests.")),
        "{report}"
    );
    assert_eq!(number(0, "requests") + number(1, "requests"), 3000);
    let limit = today["recommended"]["limit"].as_str().unwrap();
    assert!(report.contains(&format!("The recommended {limit} per ip would refuse ")), "{report}");
    assert!(report.contains(&format!("\nrecommended: {limit} per ip ")), "{report}");
    let note = today["notes"][0].as_str().unwrap();
    assert!(note.starts_with("line 4: it counts by $geo"), "{note}");
    assert!(notes.contains(&format!("note: {config}: {note}")), "{notes}");
}

#[test]
fn one_limit_is_asked_for_by_its_name() {
    let config = file("today-zone.conf", NGINX);
    let answer = tune(&["--config", &config, "--zone", "login"], log().as_bytes());
    assert_eq!(answer["today"]["limits"].as_array().unwrap().len(), 1);
    assert_eq!(answer["today"]["limits"][0]["name"], "login");
    let unknown = format!("{config}: no limit is called \"logn\"; there are all, login");
    assert_wrong(&["--config", &config, "--zone", "logn"], log().as_bytes(), &unknown);
}

#[test]
fn a_configuration_that_is_not_understood_is_said() {
    let config = file(
        "today-broken.conf",
        "http {\n  limit_req_zone $geo zone=a:1m rate=1r/s;\n  limit_req zone=a;\n}\n",
    );
    let says = format!("{config}: line 2: it counts by $geo");
    assert_wrong(&["--config", &config], log().as_bytes(), &says);
    let config = file("today-none.conf", "server { listen 80; }\n");
    let says = format!("{config}: no limit of a known server");
    assert_wrong(&["--config", &config], log().as_bytes(), &says);
}

/// A limit whose field the log lacks is not tried, and the others are.
#[test]
fn a_limit_that_does_not_fit_the_log_is_said() {
    let zones = "limit_req_zone $http_x_a$uri zone=a:1m rate=1r/s;
limit_req_zone $binary_remote_addr zone=b:1m rate=1r/m;
limit_req zone=a;
limit_req zone=b;
";
    let config = file("today-header.conf", zones);
    let problem = |events: &str| format!("none of the {events} that were read has x-a");
    let json_log: String = (0..9)
        .map(|n| format!("{{\"time\":{n},\"ip\":\"192.0.2.1\",\"path\":\"/{n}\"}}\n"))
        .collect();
    for (log, events) in [(log(), "requests"), (json_log, "events")] {
        let problem = problem(events);
        let answer = tune(&["--config", &config], log.as_bytes());
        let limits = &answer["today"]["limits"];
        assert_eq!(limits[0]["not_tried"], problem);
        assert!(limits[0]["requests_refused"].is_null() && limits[1]["not_tried"].is_null());
        assert!(limits[1]["requests_refused"].as_u64().unwrap() > 0);
        assert_eq!(answer["limits"][0]["not_tried"], problem);
    }
    let output = run(&["tune", "--config", &config], log().as_bytes());
    let says = format!(
        "Today's nginx 1/1s per x-a+path (a, {config}, line 3) can't be tried on this log: {}.",
        problem("requests")
    );
    let report = text(&output.stdout);
    assert!(report.contains(&says), "{report}");
    // A limit that was typed has to fit.
    assert_wrong(&["--limit", "1/1s per x-a"], log().as_bytes(), "x-a is not a field here");
    // Of a summary only the counts of its key are left.
    let summary = file("today.tune", "");
    let args = ["tune", "--summary", &summary, "--key", "path"];
    assert!(run(&args, log().as_bytes()).status.success());
    let answer = tune(&["--config", &config, "--merge", &summary], b"");
    let problem = "only the counts per path are kept of the log";
    assert_eq!(answer["today"]["limits"][1]["not_tried"], problem);
}

/// Each limit is tried with the groups of addresses that it counts by.
#[test]
fn two_limits_that_count_addresses_in_two_ways() {
    let config = file(
        "today-groups.cfg",
        "frontend web
 stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)
 http-request track-sc0 src
 http-request track-sc1 src,ipmask(32,64) table nets
 http-request deny if { sc_http_req_rate(0) gt 3 }
 http-request deny if { sc_http_req_rate(1) gt 3 }
backend nets
 stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)
",
    );
    // Two clients of one network, three requests each, and one client of IPv4 that is in no network.
    let log: String = (0..9)
        .map(|n| match n % 3 {
            2 => format!("{{\"time\":{n},\"ip\":\"::ffff:192.0.2.7\"}}\n"),
            host => format!("{{\"time\":{n},\"ip\":\"2001:db8::{host}\"}}\n"),
        })
        .collect();
    let refused = |args: &[&str]| {
        let answer = tune(&[&["--config", &config][..], args].concat(), log.as_bytes());
        let limit = |n: usize| {
            let limit = &answer["today"]["limits"][n];
            [&limit["requests_refused"], &limit["clients_touched"]].map(|n| n.as_u64().unwrap())
        };
        let says = answer["today"]["says"][1].as_str().unwrap().to_owned();
        ([limit(0), limit(1)], answer["clients"].as_u64().unwrap(), says)
    };
    let (limits, clients, says) = refused(&[]);
    assert_eq!((limits, clients), ([[0, 0], [3, 2]], 3));
    let says_how = " HAProxy counts IPv6 addresses by their first 64 bits, and so it was tried; the clients above are \
                    counted by 128 bits.";
    assert!(says.ends_with(says_how), "{says}");
    // Where an option says how, it is for all.
    let (limits, clients, _) = refused(&["--ipv6-prefix", "64"]);
    assert_eq!((limits, clients), ([[3, 1], [3, 1]], 2));
    let (limits, clients, _) = refused(&["--ipv6-prefix", "128"]);
    assert_eq!((limits, clients), ([[0, 0], [0, 0]], 3));
    // A filter and the key of clients see the groups of the clients.
    let (limits, clients, _) = refused(&["--not", "ip=2001:db8::1"]);
    assert_eq!((limits, clients), ([[0, 0], [0, 0]], 2));
}

/// IPv6 addresses are counted as the server counts them, unless an option says otherwise.
#[test]
fn addresses_are_counted_as_the_server_does() {
    let config = file(
        "today-ipv6.conf",
        "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m;\nlimit_req zone=a burst=1 nodelay;\n",
    );
    // Two clients of one network, two requests each.
    let log: String =
        (0..4).map(|n| format!("{{\"time\":{n},\"ip\":\"2001:db8::{}\"}}\n", n % 2)).collect();
    let answer = tune(&["--config", &config], log.as_bytes());
    assert_eq!(answer["clients"], 2);
    assert_eq!(answer["today"]["limits"][0]["requests_refused"], 0);
    let says = |answer: &Value| answer["today"]["says"][0].as_str().unwrap().to_owned();
    assert!(!says(&answer).contains("IPv6"));
    let args = ["--config", &config, "--ipv6-prefix", "64"];
    let answer = tune(&args, log.as_bytes());
    assert_eq!(answer["clients"], 1);
    assert_eq!(answer["today"]["limits"][0]["requests_refused"], 2);
    let differs =
        " nginx counts IPv6 addresses by their first 128 bits, and here 64 bits were taken.";
    assert!(says(&answer).ends_with(differs), "{}", says(&answer));
}

/// A limit is tried on the requests that it is for, or not at all; then there is no table of whom it refuses.
#[test]
fn a_limit_for_some_requests_is_tried_on_these() {
    let config = |scope: &str| {
        let zone = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m;";
        file("today-some.conf", format!("{zone}\nserver {{ {scope} {{ limit_req zone=a; }} }}\n"))
    };
    let log: String = (0..90)
        .map(|n| {
            let path = if n % 30 == 0 { "/login" } else { "/" };
            format!(
                "192.0.2.{} - - [10/Oct/2000:13:55:{:02} +0000] \"GET {path} HTTP/1.1\" 200 1\n",
                n % 3,
                n / 3
            )
        })
        .collect();
    let limit = |scope: &str| {
        let answer = tune(&["--config", &config(scope)], log.as_bytes());
        answer["today"]["limits"][0].clone()
    };
    // Three requests of one client, and the others of three.
    for (scope, requests, refused) in [
        ("location /login", 3, 2),
        ("location = /login", 3, 2),
        ("location ~ ^/log", 3, 2),
        ("location /", 90, 87),
        ("location /nowhere", 0, 0),
    ] {
        let limit = limit(scope);
        let numbers = (limit["requests"].as_u64(), limit["requests_refused"].as_u64());
        assert_eq!(numbers, (Some(requests), Some(refused)), "{scope}: {limit}");
    }
    let named = limit("location @slow");
    assert_eq!(named["not_tried"], "it is for @slow, to which others lead");
    assert!(named["requests_refused"].is_null(), "{named}");
    let output = run(&["tune", "--config", &config("location @slow")], log.as_bytes());
    let report = text(&output.stdout);
    assert!(report.contains("  not tried: it is for @slow, to which others lead\n"), "{report}");
    assert!(!report.contains("The clients that nginx 1/1m per ip refuses most"), "{report}");
    let cut = tune(&["--config", &config("location /login"), "--path-depth", "1"], log.as_bytes());
    let why = "it is for some paths, which --path-depth cuts";
    assert_eq!(cut["today"]["limits"][0]["not_tried"], why);
    // A log without paths.
    let json: String = (0..9).map(|n| format!("{{\"time\":{n},\"ip\":\"192.0.2.1\"}}\n")).collect();
    let answer = tune(&["--config", &config("location /login")], json.as_bytes());
    let why = "none of the events that were read has path";
    assert_eq!(answer["today"]["limits"][0]["not_tried"], why);
    assert_eq!(answer["limits"][0]["not_tried"], why);
}

/// A log without the field of a limit has no table either.
#[test]
fn a_limit_that_is_not_tried_has_no_table() {
    let config = file(
        "today-untried.conf",
        "limit_req_zone $http_x_a zone=a:1m rate=1r/m;\nlimit_req zone=a;\n",
    );
    let output = run(&["tune", "--config", &config], log().as_bytes());
    let report = text(&output.stdout);
    assert!(report.contains("not tried: none of the requests that were read has x-a"), "{report}");
    assert!(!report.contains("The clients that nginx"), "{report}");
}

/// Networks of IPv4 that are one client.
#[test]
fn a_limit_that_groups_addresses_of_ipv4() {
    let config = file(
        "today-ipv4.caddyfile",
        "a.example {\n\trate_limit {\n\t\tzone z {\n\t\t\tkey {remote_host}\n\t\t\tevents 2\n\t\t\twindow 1m\n\t\t\tipv4_prefix 24\n\t\t}\n\t}\n}\n",
    );
    let log: String =
        (0..6).map(|n| format!("{{\"time\":{n},\"ip\":\"192.0.2.{n}\"}}\n")).collect();
    let args = ["tune", "--config", &config];
    let answer = tune(&args[1..], log.as_bytes());
    assert_eq!(answer["today"]["limits"][0]["requests_refused"], 4);
    let report = text(&run(&args, log.as_bytes()).stdout).to_owned();
    let says = "Caddy counts IPv4 addresses by their first 24 bits, and so it was tried.";
    assert!(report.contains(says), "{report}");
}

//! The reader refuses each configuration that its server refuses. Servers that are installed are asked.

use super::error;
use crate::files::Folder;
use crate::servers::{envoy, program};
use std::path::Path;
use std::process::Command;

/// The error of the server about a configuration, if it refuses it.
fn said(program: &Path, text: &str, arguments: &[&str]) -> Option<String> {
    let folder = Folder::new("refused");
    let file = folder.write("config.yaml", text);
    let output = Command::new(program).args(arguments).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then_some(said)
}

#[test]
fn nginx() {
    let nginx = program("NGINX", "nginx");
    let zone = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;";
    let of_zone =
        |rest: &str| format!("limit_req_zone $binary_remote_addr {rest}; limit_req zone=a;");
    for (text, why) in [
        (of_zone("zone=a rate=1r/s"), "the zone \"a\" has the size \"\""),
        (of_zone("zone=a:10k rate=1r/s"), "the zone \"a\" has the size \"10k\""),
        (of_zone("zone=a:1g rate=1r/s"), "the zone \"a\" has the size \"1g\""),
        (of_zone("zone=a:1m"), "limit_req_zone has no rate"),
        (of_zone("zone=a:1m rate=1r/s burst=5"), "\"burst=5\" of limit_req_zone is unknown"),
        (of_zone("zone=a:1m rate=0r/s"), "the count of a rate cannot be 0"),
        (format!("{zone} limit_req zone=a burst=0;"), "its burst is 0"),
        (format!("{zone} limit_req zone=a burst=5 delay=0;"), "its delay is 0"),
        (format!("{zone} limit_req zone=a burst=-1;"), "its burst is \"-1\""),
        (format!("{zone} limit_req zone=a bust=1;"), "\"bust=1\" of limit_req is not understood"),
        (
            format!("{zone} limit_req zone=a;\nlimit_req zone=a burst=4;"),
            "it counts in the zone \"a\" again",
        ),
        (format!("{zone} limit_req burst=4;"), "the zone of limit_req is missing"),
        (format!("{zone} limit_req zone=b;"), "the zone \"b\" is not defined here"),
        (
            format!("{zone} server {{ location / {{ if ($host) {{ limit_req zone=a; }} }} }}"),
            "limit_req is within if",
        ),
        (format!("server {{ {zone} limit_req zone=a; }}"), "limit_req_zone is within server"),
        (
            format!("{zone} limit_req zone=a; limit_req_dry_run yes;"),
            "limit_req_dry_run is on or off",
        ),
        (
            format!("{zone} limit_req zone=a; limit_req_status 200;"),
            "limit_req_status is not from 400 to 599",
        ),
        (format!("{zone} {zone} limit_req zone=a;"), "the zone \"a\" is defined again"),
    ] {
        let read = error(&text);
        assert!(read.contains(why), "{read}\n{text}");
        if let Some(nginx) = &nginx {
            let whole = format!("events {{}}\nhttp {{\n{text}\n}}\n");
            assert!(said(nginx, &whole, &["-t", "-e", "stderr", "-c"]).is_some(), "{text}");
        }
    }
}

#[test]
fn haproxy() {
    let haproxy = program("HAPROXY", "haproxy");
    let table = "stick-table type ip size 1m store http_req_rate(10s)";
    let deny = "http-request deny if { sc_http_req_rate(0) gt 5 }";
    let of = |table: &str, rule: &str| format!("{table}\n http-request track-sc0 src\n {rule}");
    for (text, why) in [
        (of("stick-table type ip store http_req_rate(10s)", deny), "the table has no size"),
        (of("stick-table size 1m store http_req_rate(10s)", deny), "the table has no type"),
        (of(&format!("{table} bogus"), deny), "the table has the option \"bogus\""),
        (
            of(table, "http-request deny if fast { sc_http_req_rate(0) gt 5 }"),
            "no ACL here is called \"fast\"",
        ),
        (
            of(table, "http-request deny if { sc_http_req_rate(0) gt 5"),
            "a brace of the condition is not closed",
        ),
        (
            of(table, "http-request deny if { sc_http_req_rate(0) gt abc }"),
            "its threshold is \"abc\"",
        ),
    ] {
        let text = format!("frontend f\n {text}\n");
        let read = error(&text);
        assert!(read.contains(why), "{read}\n{text}");
        if let Some(haproxy) = &haproxy {
            let whole = format!(
                "defaults\n mode http\n timeout client 1m\n timeout connect 1m\n timeout server 1m\n{}",
                text.replacen('\n', "\n bind 127.0.0.1:1\n", 1)
            );
            assert!(said(haproxy, &whole, &["-c", "-f"]).is_some(), "{text}");
        }
    }
}

/// The last of these is what Envoy refused as long as one timer filled all buckets, and what its documentation says.
#[test]
fn envoys() {
    let program = program("ENVOY", "envoy");
    let filter = |own: &str, descriptor: &str| {
        format!(
            "# In http_filters\n- name: envoy.filters.http.local_ratelimit\n  typed_config:\n    \"@type\": \
             type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit\n    \
             stat_prefix: local\n    token_bucket: {{max_tokens: 1, tokens_per_fill: 1, fill_interval: {own}}}\n    \
             descriptors:\n    - entries: [{{key: path, value: /svc/path1}}]\n      \
             token_bucket: {{max_tokens: 100, tokens_per_fill: 100, fill_interval: 2s}}\n    {descriptor}\n"
        )
    };
    let other = |interval: &str| {
        format!(
            "- entries: [{{key: client, value: foo}}]\n      token_bucket: {{max_tokens: 10, fill_interval: {interval}}}"
        )
    };
    let again = other("2s").replace("client", "path").replace("foo", "/svc/path1");
    for (text, why, is_asked) in [
        (filter("0.01s", ""), "its fill_interval is below 0.05s", true),
        (filter("0.5s", &other("0.04s")), "its fill_interval is below 0.05s", true),
        (filter("1s", &again), "the descriptor is there twice", true),
        (
            filter("1s", &other("1.5s")),
            "its fill_interval of 1.5s is no multiple of the 1s of the filter's own bucket",
            false,
        ),
    ] {
        let read = error(&text);
        assert!(read.contains(why) && read.contains("which Envoy refuses"), "{read}\n{text}");
        if let Some(program) = program.as_ref().filter(|_| is_asked) {
            let arguments = ["--mode", "validate", "-l", "error", "-c"];
            assert!(said(program, &envoy(&text, 1), &arguments).is_some(), "{text}");
        }
    }
    // Each bucket is the wrong one of these, and no other limit is read.
    assert_eq!(error(&filter("1s", &other("1.5s"))).matches("line").count(), 1);
    let minutes = filter("1s", &other("1m"));
    assert!(super::lines(&minutes).iter().any(|line| line.contains("fill_interval is \"1m\"")));
}

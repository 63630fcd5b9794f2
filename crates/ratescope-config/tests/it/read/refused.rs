//! Configurations that can't be read: the line, and the part that is not understood.

use super::error;
use crate::doubling::{assert_linear_once, sizes};
use ratescope_config::{LONGEST, read, read_named};

#[test]
fn what_is_not_understood_is_said_with_its_line() {
    let zone = |key: &str, rate: &str, rest: &str| {
        format!("# a\nlimit_req_zone {key} zone=a:1m rate={rate};\nlimit_req zone=a{rest};")
    };
    for (text, problem) in [
        (zone("$limit", "1r/s", ""), "line 2: it counts by $limit, no field"),
        (zone("$host", "1r/h", ""), "line 2: its rate is \"1r/h\"; nginx has 10r/s and 10r/m"),
        (zone("$host", "0.5r/s", ""), "line 2: its rate is \"0.5\", which is no whole number"),
        (zone("$host", "1r/s", " burst=$b"), "line 3: its burst is \"$b\", which is no whole number"),
        (zone("$host", "1r/s", " bust=3"), "line 3: \"bust=3\" of limit_req is not understood"),
        // A template, in whose braces the key and the name are.
        (
            "limit_req_zone {{ $z.Key }} zone={{ $z.Name }}:{{ $z.Size }} rate={{ $z.Rate }};\n\
             server { limit_req zone={{ $rl.ZoneName }}{{ if $rl.Burst }} burst={{ $rl.Burst }}{{ end }}; }"
                .to_owned(),
            "line 2: the zone of limit_req is missing",
        ),
        (
            "limit_req_zone zone=a:1m rate=1r/s;\nlimit_req zone=a;".to_owned(),
            "line 1: the key that the zone counts by is missing",
        ),
        ("limit_req_zone $host".to_owned(), "line 1: a semicolon is missing"),
        ("http {\nlimit_req_zone a;\n".to_owned(), "line 1: its block is not closed"),
        ("limit_req_zone a;\n}".to_owned(), "line 2: a brace closes no block"),
        ("limit_req_zone \"a;\n".to_owned(), "line 1: a quoted text is not closed"),
        (
            "frontend f\n stick-table type ip size 1 store http_req_rate(10s)\n \
             http-request deny if { sc_http_req_rate(0) gt 20 }\n http-request track-sc0 src\n"
                .to_owned(),
            "line 3: no rule before it tracks the request, so the rate is without it",
        ),
        (
            "frontend f\n http-request track-sc0 src table t\n \
             http-request deny if { sc_http_req_rate(0) gt 20 }\n"
                .to_owned(),
            "line 3: no stick-table of \"t\" here stores http_req_rate(...)",
        ),
        (
            "frontend f\n stick-table type ip size 1 store http_req_rate(10s)\n http-request \
             track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt 20 } or { path /a }\n"
                .to_owned(),
            "line 4: its condition joins several tests in a way that is not understood",
        ),
        (
            "domain: x\ndescriptors:\n- key: a\n  rate_limit: {unit: fortnight, requests_per_unit: 3}"
                .to_owned(),
            "line 4: \"fortnight\": ",
        ),
        ("deny ratelimit = 10 / $period / strict".to_owned(), "line 1: its period is \"$period\""),
        (
            "[sshd]\nenabled = true\n\nmaxretry = %(known/maxretry)s".to_owned(),
            "line 4: maxretry is \"%(known/maxretry)s\", which is no whole number",
        ),
        ("[sshd]\nmaxretry = 3".to_owned(), "line 1: the jail sshd is not enabled here"),
        (
            "table ip t {\n chain c {\n  limit rate over 3/fortnight drop\n }\n}".to_owned(),
            "line 3: it limits by \"fortnight\", which is not understood",
        ),
        (
            "rate_limit {\n zone a {\n  key {$KEY}\n  events 3\n  window 1m\n }\n}".to_owned(),
            "line 2: it counts by {$KEY}, no field",
        ),
        (
            "http:\n  middlewares:\n    a:\n      rateLimit:\n        average: '{{ n }}'".to_owned(),
            "line 5: average is \"{{ n }}\", which is no whole number",
        ),
        ("- token_bucket: {max_tokens: 1\n".to_owned(), "it can't be read as YAML"),
    ] {
        let error = error(&text);
        assert!(error.contains(problem), "{error}\n{text}");
    }
}

#[test]
fn several_servers_are_not_one() {
    let text = "limit_req_zone $host zone=a:1m rate=1r/s;\nhttp-request track-sc0 src";
    assert_eq!(error(text), "limits of several servers: nginx, HAProxy; give those of one");
}

/// Long texts, deep nesting and endless lists take little time and memory.
#[test]
fn texts_have_bounds() {
    assert_eq!(error(&"a".repeat(LONGEST + 1)), "more than 1 MiB long");
    let deep = "limit_req_zone a;".to_owned() + &"a {".repeat(100_000);
    assert_eq!(error(&deep), "line 1: more than 64 blocks within each other");
    let deep = "limit rate 1/second".to_owned() + &" {a".repeat(100_000);
    assert!(error(&deep).contains("more than 64 braces within each other"));
    let deep = "token_bucket: max_tokens\n".to_owned() + &"[".repeat(100_000);
    assert!(error(&deep).contains("it can't be read as YAML"));
    let many = "limit_req_zone a zone=a:1m rate=1r/s;\n".to_owned()
        + &(1..20_001)
            .map(|n| format!("server {{ limit_req zone=a burst={n}; }}\n"))
            .collect::<String>();
    let config = read(&many).unwrap();
    assert_eq!(config.found.len(), 1000);
    assert_eq!(config.policy().unwrap_err().to_string(), "1000 limits; a policy has 8 at most");
    // A name is found among all of them.
    let last = many + "limit_req_zone $host zone=last:1m rate=1r/s;\nlimit_req zone=last;\n";
    let config = read_named(&last, &["last".to_owned()]).unwrap();
    assert_eq!((config.found.len(), config.found[0].line), (1, 20_003));
}

/// Many zones, rules and jails, each of which is looked up.
#[test]
fn work_grows_with_the_text() {
    let haproxy = "frontend f\n stick-table type ipv6 size 1 expire 1m store http_req_rate(10s)\n";
    for (before, unit) in [
        ("", "limit_req_zone $host zone=z#:1m rate=1r/s;\nlimit_req zone=z#;\n"),
        ("", "server { server_name s#; limit_req zone=z#; location /a { limit_req zone=z#; } }\n"),
        ("limit_req_zone $host zone=z:1m rate=1r/s;\n", "map $a $m# { default $host; }\n"),
        (haproxy, "acl a# sc_http_req_rate(0) gt 9\nhttp-request deny if a# b#\n"),
        (
            haproxy,
            "http-request track-sc# src if a\nhttp-request deny if { sc#_http_req_rate gt 9 }\n",
        ),
        (
            haproxy,
            "backend b#\nhttp-request deny if { sc_http_req_rate(0) gt 9 }\nfrontend g#\ndefault_backend b#\n",
        ),
        (
            "backend b\nstick-table store gpc0",
            ",http_req_rate(#s)\nhttp-request deny if { sc_http_req_rate(0) gt # }\nstick-table store gpc0",
        ),
        (
            "",
            "- request_headers: {header_name: h#, descriptor_key: k}\n- {entries: [{key: k}], token_bucket: {max_tokens: #}}\n",
        ),
        (
            "domain: a\ndescriptors:\n- {key: u, limit: 1/1s}\n",
            "- {key: u, value: v#, rate_limit: {unlimited: true}}\n",
        ),
        ("a:\n", " accept hosts = h#\n deny ratelimit = 9# / 1h\n"),
        ("chain c {\n", "tcp dport # accept\nlimit rate over #/second drop\n"),
        ("[DEFAULT]\nmaxretry = 3\n", "[j#]\nenabled = true\nfindtime = 1m\nbantime = 1h\n"),
        ("[DEFAULT]\nmaxretry = 3\n", "a# = 1\n"),
        ("http:\n middlewares:\n", "  m#: {rateLimit: {average: 1}}\n"),
        ("", "- descriptors: [{entries: [{key: k#}], token_bucket: {max_tokens: 1}}]\n"),
        ("chain c {\n", "limit l# { rate 1/second }\nlimit name l# drop\n"),
        ("deny ratelimit = 1 / 1h\n", " hosts = h#\n ratelimit = 1 / 1h / $sender_address\n"),
        ("rate_limit {\n", "zone z# {\nevents 1\nwindow 1s\n}\n"),
    ] {
        let text = |n: usize| {
            let lines: String = (0..n).map(|i| unit.replace('#', &i.to_string())).collect();
            let text = before.to_owned() + &lines;
            let open = text.matches('{').count() - text.matches('}').count();
            text + &"\n}".repeat(open)
        };
        println!("{unit}");
        let inputs = sizes(400).map(text);
        assert_linear_once(&inputs, |text| _ = read(text));
    }
}

/// Many rules that all have the same long text to do with.
#[test]
fn a_long_text_is_read_once() {
    let haproxy =
        "frontend f\n stick-table type string size 1 expire 1m store http_req_rate(10s)\n";
    for (begin, long, unit) in [
        ("limit_req_zone ", "$host", " zone=a:1m rate=1r/s;\nlimit_req zone=a;\n"),
        ("[DEFAULT]\nenabled = 1\nignoreip = ::1", " 127.0.0.1", "\n[j#]\n"),
        ("[DEFAULT]\nenabled = 1\nmaxretry = 3\nfindtime = 1s", " 1s", "\n[j#]\n"),
    ] {
        let text = |n: usize| {
            let many = |text: &str| -> String {
                (0..n).map(|i| text.replace('#', &i.to_string())).collect()
            };
            let zone = unit.split_once("limit_req zone");
            let (once, unit) = zone.map_or(("", unit), |(once, _)| (once, "limit_req zone=a;\n"));
            [begin, &many(long), once, &many(unit)].concat()
        };
        println!("{begin}");
        assert_linear_once(&sizes(400).map(text), |text| _ = read(text));
    }
    let format = format!(
        "{haproxy} http-request set-var-fmt(txn.k) \"{}\"\n http-request track-sc0 var(txn.k)\n \
         http-request deny if {{ sc0_http_req_rate gt 9 }}\n",
        "%[src]".repeat(400)
    );
    assert_eq!(error(&format), "line 5: it counts by var(txn.k), no field");
    let words = format!("{haproxy} http-request track-sc0 src{}\n", " a".repeat(62));
    assert_eq!(error(&words), "line 3: it has more than 64 words, which HAProxy refuses");
    let jail = format!("[j]\nenabled = 1\nmaxretry = {}\n", "1".repeat(101));
    assert!(
        error(&jail).contains("line 3: maxretry is longer than 100 characters"),
        "{}",
        error(&jail)
    );
}

#[test]
fn the_seeds_are_read() {
    crate::seeds::each("config", 10, |seed| {
        let text = String::from_utf8_lossy(seed);
        read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    });
}

//! Conditions that narrow a limit, and directives that refuse beside it.

use super::{error, lines, read};

/// Tengine has keys of several words, and a white list.
#[test]
fn tengine() {
    let text = "http {
    limit_req_zone $binary_remote_addr zone=one:5m rate=15r/s;
    limit_req_zone $binary_remote_addr $uri zone=two:5m rate=15r/s;
    limit_req_zone $binary_remote_addr$request_uri zone=three:5m rate=15r/s;
    geo $white_ip {
        ranges;
        default 0;
        127.0.0.1-127.0.0.255 1;
    }
    server {
        limit_req zone=one burst=30;
        limit_req zone=two burst=30;
        limit_req zone=three burst=30;
        limit_req_whitelist geo_var_name=white_ip geo_var_value=1;
        location /off { limit_req off; }
        location /other { limit_req zone=one burst=3 forbid_action=@test; }
        location @test { return 429; }
    }
}";
    assert_eq!(
        lines(text),
        [
            "11 | one | nginx 15/1s burst 30 per ip | all except location /off, location /other, requests whose $white_ip is 1",
            "16 | one | nginx 15/1s burst 3 per ip | location /other except requests whose $white_ip is 1",
            "line 3: it counts by $binary_remote_addr $uri: a key of several words, as Tengine has it, is not understood",
            "line 4: it counts by $request_uri, no field",
            "line 16: requests above the limit go to @test; the trial refuses them",
        ]
    );
    let zone = |whitelist: &str| {
        format!("limit_req_zone $host zone=a:1m rate=1r/s;\nlimit_req zone=a;\n{whitelist};")
    };
    assert_eq!(
        lines(&zone("limit_req_whitelist $known")),
        ["2 | a | nginx 1/1s per host | all except those of the limit_req_whitelist $known"]
    );
    assert_eq!(
        lines(&zone("limit_req_geo_skip on"))[1],
        "line 3: limit_req_geo_skip is not understood; it may let some pass, whom the trial counts, too"
    );
}

#[test]
fn what_answers_before_a_limit_of_nginx() {
    let text = "limit_req_zone $host zone=a:1m rate=1r/s;
server {
    if ($bad) { return 403; }
    limit_req zone=a;
    location /fixed { limit_req zone=a burst=2; return 200 ok; }
    location /b { limit_req zone=a burst=3; }
}
server { return 301 https://a.example; limit_req zone=a burst=9; }";
    let read = lines(text);
    assert_eq!(read.len(), 6, "{read:#?}");
    assert_eq!(read[2], "line 4: after line 3, if ($bad) return");
    assert_eq!(read[3], "line 5: never, as line 5 decides about all");
    assert_eq!(read[4], "line 6: after line 3, if ($bad) return");
    assert_eq!(read[5], "line 8: never, as line 8 decides about all");
}

/// An option that only some have, or that is new, does not make a limit unreadable.
#[test]
fn options_that_narrow_a_limit_are_said() {
    let caddy = |option: &str| {
        format!(
            "a.example {{\n\trate_limit {{\n\t\tdistributed\n\t\tzone z {{\n\t\t\tkey {{client_ip}}\n\t\t\tevents 70\n\t\t\twindow 100s\n\t\t\t{option}\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let limit = "4 | z | sliding-log 70/1m40s per ip | a.example";
    assert_eq!(lines(&caddy("ipv6_prefix 48")), [limit]);
    for (option, prefixes) in [
        ("", (32, 128)),
        ("ipv6_prefix 48", (32, 48)),
        ("ipv4_prefix 24", (24, 128)),
        ("ipv4_prefix 24\n\t\t\tipv6_prefix 56", (24, 56)),
    ] {
        let addresses = read(&caddy(option)).addresses;
        assert_eq!((addresses.ipv4_prefix, addresses.ipv6_prefix), prefixes, "{option}");
        assert!(addresses.forwarded, "{option}");
    }
    assert_eq!(
        lines(&caddy("only_failures")),
        [limit, "line 8: only_failures of a zone is not understood; it is left out"]
    );
    assert_eq!(
        error(&caddy("ipv4_prefix 33")),
        "line 4: ipv4_prefix is \"33\", which is no number up to 32"
    );
    let exim = |option: &str| lines(&format!("deny ratelimit = 5 / 1h / strict / {option}"));
    for (option, said) in [
        ("unique=$sender_address", "it counts each value of unique= once"),
        ("count=$recipients_count", "each event counts as many as count= says"),
        ("per_addr", "it counts different recipients"),
        ("per_conn", "connections"),
    ] {
        let read = exim(option);
        assert_eq!(read[0], "1 |  | exim 5/1h strict per ip | -");
        assert!(read[1].starts_with(&format!("line 1: {said}")), "{read:?}");
    }
    let traefik = "http:\n  middlewares:\n    a:\n      rateLimit:\n        average: 3\n        sourceCriterion:\n          ipStrategy:\n            depth: 2\n            excludedIPs: [192.0.2.1, 192.0.2.2]\n";
    let read = lines(traefik);
    assert_eq!(read[0], "5 | a | token-bucket 3/1s burst 1 per ip | -");
    assert!(read[1].starts_with("line 9: excludedIPs choose"), "{read:?}");
    assert!(read[2].starts_with("line 8: a depth of 2 is that address"), "{read:?}");
    let cloudflare = r#"{"ratelimit": {"characteristics": ["ip.src"], "period": 10, "requests_per_period": 5,
        "counting_expression": "http.response.code eq 401"}}"#;
    assert_eq!(
        lines(cloudflare),
        [
            "1 |  | sliding-counter 5/10s per ip | -",
            "line 1: it counts the requests of its counting_expression, and refuses others, too",
        ]
    );
    let envoy = "stat_prefix: a\nfilter_enabled: {default_value: {numerator: 100}}\nfilter_enforced: {default_value: {numerator: 100}}\n\
                 token_bucket: {max_tokens: 5, fill_interval: 1s}\nlocal_cluster_rate_limit: {}\n";
    assert_eq!(
        lines(envoy),
        [
            "4 | a | envoy 1/1s burst 5 per all | -",
            "line 5: the proxies of a cluster share the tokens; the trial has the limit of one alone",
        ]
    );
}

#[test]
fn what_refuses_beside_a_limit_is_said() {
    let haproxy = |rule: &str| {
        format!(
            "frontend f\n stick-table type ipv6 size 1m expire 1m store http_req_rate(10s),http_req_cnt,conn_cur\n \
             http-request track-sc0 src\n acl many sc0_conn_cur gt 9\n {rule}\n \
             http-request deny if {{ sc_http_req_rate(0) gt 20 }}\n"
        )
    };
    let nginx = "limit_req_zone $host zone=a:1m rate=1r/s;\nlimit_req zone=a;\nlimit_conn a 10;";
    let nftables = "chain c { type filter hook input priority 0\n tcp dport 22 ct count over 9 drop\n limit rate over 3/minute drop\n}";
    let traefik = "http:\n  middlewares:\n    a:\n      rateLimit: {average: 3, burst: 2}\n    b:\n      inFlightReq: {amount: 9}\n";
    let envoy = "stat_prefix: a\ntoken_bucket: {max_tokens: 5, fill_interval: 1s}\n---\n\
                 '@type': type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit\n";
    let exim = "smtp_accept_max_per_host = 9\nsmtp_ratelimit_rcpt = 4,0.25s,1.015,4m\ndeny ratelimit = 5 / 1h / strict\n";
    for (text, said) in [
        (nginx.to_owned(), "line 3: limit_conn refuses, too, and is not tried"),
        (
            haproxy("http-request deny if { sc_http_req_cnt(0) gt 100 }"),
            "line 5: http_req_cnt refuses, too, and is not tried",
        ),
        (haproxy("http-request tarpit if many"), "line 5: conn_cur refuses, too, and is not tried"),
        (
            haproxy("http-request deny if { src_conn_cnt gt 9 }"),
            "line 5: conn_cnt refuses, too, and is not tried",
        ),
        (
            haproxy("rate-limit sessions 10"),
            "line 5: rate-limit sessions lets connections wait, and is not tried",
        ),
        (nftables.to_owned(), "line 2: ct count refuses, too, and is not tried"),
        (traefik.to_owned(), "line 6: inFlightReq refuses, too, and is not tried"),
        (envoy.to_owned(), "line 4: the rate limit service refuses, too, and is not tried"),
        (exim.to_owned(), "line 1: smtp_accept_max_per_host refuses, too, and is not tried"),
        (exim.to_owned(), "line 2: smtp_ratelimit_rcpt refuses, too, and is not tried"),
    ] {
        let read = lines(&text);
        assert!(read.iter().any(|line| line == said), "{said}\n{read:#?}");
        assert!(read[0].contains(" | "), "{read:#?}");
    }
}

#[test]
fn a_limit_of_0_in_exim() {
    let acl =
        |statement: &str| format!("acl_check_rcpt:\n  {statement} ratelimit = 0 / 1h / strict\n");
    for verb in ["deny", "defer", "drop", "discard"] {
        assert_eq!(
            error(&acl(verb)),
            format!(
                "line 2: a limit of 0 is always reached, so {verb} refuses all that come to it"
            )
        );
    }
    assert_eq!(error(&acl("warn")), "line 2: a limit of 0 only measures under warn");
    for zero in ["0", "0.0", "0K", " 0 "] {
        let text = acl("deny").replace("= 0 /", &format!("= {zero} /"));
        assert!(error(&text).contains("refuses all"), "{text}");
    }
    // And nothing comes after it.
    let after =
        acl("deny") + "  deny ratelimit = 5 / 1h / strict\n  deny ratelimit = 6 / 1h / strict\n";
    assert_eq!(
        error(&after),
        "line 2: a limit of 0 is always reached, so deny refuses all that come to it; \
         line 3: never, as line 2 decides about all; line 4: never, as line 2 decides about all"
    );
    let some = acl("deny hosts = 192.0.2.0/24\n ") + "  deny ratelimit = 5 / 1h / strict\n";
    assert_eq!(lines(&some)[0], "4 |  | exim 5/1h strict per ip | -");
}

#[test]
fn macros_of_exim_are_expanded() {
    let text = "
LIMIT = 100
RATE = LIMIT / PERIOD / strict
PERIOD == 1h
BOTH = LIMIT / PERIOD
begin acl
acl_check_rcpt:
  deny ratelimit = BOTH / leaky / $authenticated_id
  deny ratelimit = LIMIT / 1m / per_mail
  defer ratelimit = OTHER
";
    assert_eq!(
        lines(text),
        [
            "8 |  | exim 100/1h leaky per user | -",
            "9 |  | exim 100/1m leaky per ip | -",
            "line 10: its period is missing",
        ]
    );
    assert_eq!(
        lines("RATE = 5 / 1h\ndeny ratelimit = RATE\n"),
        ["2 |  | exim 5/1h leaky per ip | -"]
    );
    assert_eq!(
        error("deny ratelimit = MAX / 1h"),
        "line 1: its limit is \"MAX\", which is no number"
    );
    // One that names itself is not expanded for ever, and many that name each other not without bound.
    let twice = (0..100).map(|n| format!("M{} = M{n} M{n} M{n}\n", n + 1)).collect::<String>();
    assert!(error(&(twice + "A = A A\ndeny ratelimit = A / 1h / M99\n")).contains("line 102"));
}

/// Labels as people write them: in a list on one line, as arguments of a command, as tags, as JSON.
#[test]
fn labels_of_traefik_in_every_place() {
    let keys = [("average", "6"), ("period", "1m"), ("burst", "1")];
    let label = |open: &str, sign: &str, close: &str, between: &str| {
        let of = |(key, value)| {
            format!("{open}traefik.http.middlewares.xyz.ratelimit.{key}{sign}{value}{close}")
        };
        keys.map(of).join(between)
    };
    for text in [
        format!("services:\n  web:\n    labels: [{}]\n", label("\"", "=", "\"", ", ")),
        format!("labels: [{}]\n", label("'", "=", "'", ",")),
        format!("labels: [{}]\n", label("", "=", "", ", ")),
        format!("labels: {{{}}}\n", label("\"", "\": \"", "\"", ", ")),
        format!("labels: {{{}}}\n", label("", ": ", "", ", ")),
        format!("docker run -d {} nginx\n", label("--label ", "=", "", " ")),
        format!("docker run -d {} nginx\n", label("-l '", "=", "'", " ")),
        format!("docker run {} \\\n nginx\n", label("--label=\"", "=", "\"", " \\\n ")),
        format!("docker run {} nginx\n", label("--label ", "=\"", "\"", " ")),
        format!("LABEL {}\n", label("", "=\"", "\"", " \\\n      ")),
        format!("tags = [{}]\n", label("\"", "=", "\"", ",\n  ")),
        format!("{{\"Tags\": [{}]}}\n", label("\"", "=", "\"", ",")),
        format!("{{\"dockerLabels\": {{{}}}}}\n", label("\"", "\": \"", "\"", ", ")),
        format!(
            "- {}\n",
            label("", "=", "", "\n- ").to_ascii_lowercase().replace("ratelimit", "rateLimit")
        ),
    ] {
        let read = lines(&text);
        let (_, limit) = read[0].split_once(" | ").unwrap();
        assert_eq!(limit, "xyz | token-bucket 6/1m burst 1 per ip | -", "{text}");
    }
    let routed = "labels: [\"traefik.http.middlewares.x.ratelimit.average=6\", \"traefik.http.routers.r.rule=Host(`a.example`) && PathPrefix(`/api`)\", \
                  \"traefik.http.routers.r.middlewares=other@file,x@docker\"]\n";
    assert_eq!(
        lines(routed),
        ["1 | x | token-bucket 6/1s burst 1 per ip | Host(`a.example`) && PathPrefix(`/api`)"]
    );
}

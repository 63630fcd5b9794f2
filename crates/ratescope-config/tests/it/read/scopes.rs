//! The scope of a limit, and how it counts addresses.

use super::{error, lines, read, short};

/// The limit of a level is for levels below it without one of their own: a `limit_req` replaces those from outside.
#[test]
fn limits_of_nginx_that_replace_others() {
    let text = "
http {
    limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;
    limit_req zone=a;
    server {
        server_name example.com www.example.com;
        limit_req zone=a burst=2;
        location / { proxy_pass http://app; location /img { limit_req zone=a burst=3; } }
        location /quiet { limit_req_dry_run on; }
        location /test { limit_req zone=a burst=4; limit_req_dry_run on; }
    }
    server { server_name other.example; }
}";
    assert_eq!(
        lines(text),
        [
            "4 | a | nginx 1/1s per ip | all except server example.com www.example.com",
            "7 | a | nginx 1/1s burst 2 per ip | server example.com www.example.com except location /img, location /quiet, location /test",
            "8 | a | nginx 1/1s burst 3 per ip | server example.com www.example.com, location /, location /img",
            "10 | a | nginx 1/1s burst 4 per ip | server example.com www.example.com, location /test",
            "line 10: limit_req_dry_run is on (line 10), so nginx refuses nothing by it",
        ]
    );
    let off = "limit_req_zone $host zone=a:1m rate=1r/s;\nlimit_req_dry_run on;\nserver {\n\
               limit_req_dry_run off;\nlimit_req zone=a; }";
    assert_eq!(lines(off), ["5 | a | nginx 1/1s per host | -"]);
}

/// The map with which nginx's own guide leaves clients out.
#[test]
fn a_map_of_nginx_that_leaves_clients_out() {
    let text = |values: &str| {
        format!(
            "geo $limit {{ default 1; 10.0.0.0/8 0; }}\nmap $limit $limit_key {{ {values} }}\n\
             limit_req_zone $limit_key zone=a:1m rate=5r/s;\nlimit_req zone=a;"
        )
    };
    assert_eq!(
        lines(&text("0 \"\"; 1 $binary_remote_addr;")),
        ["4 | a | nginx 5/1s per ip | requests whose $limit_key is not empty"]
    );
    assert_eq!(lines(&text("default $host;")), ["4 | a | nginx 5/1s per host | -"]);
    let several = text("0 $host; default $binary_remote_addr;");
    assert_eq!(error(&several), "line 3: it counts by $limit_key, no field");
}

#[test]
fn a_zone_of_nginx_that_is_defined_twice() {
    let text = "limit_req_zone $host zone=a:1m rate=1r/s;\nlimit_req_zone $host zone=a:1m rate=9r/s;\n\
                limit_req zone=a;";
    assert_eq!(
        error(text),
        "line 1: the zone \"a\" is defined again in line 2, which nginx refuses"
    );
}

#[test]
fn a_frontend_of_haproxy_tracks_for_its_backends() {
    let text = |frontends: &str| {
        format!(
            "backend app\n http-request deny if {{ sc_http_req_rate(0) gt 20 }}\nbackend st\n \
             stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n{frontends}"
        )
    };
    let one = "frontend web\n http-request track-sc0 src table st\n default_backend app\n";
    assert_eq!(lines(&text(one)), ["2 | st | haproxy 20/10s per ip | backend app"]);
    let under = "frontend web\n http-request track-sc0 src table st if { path_beg /api }\n \
                 use_backend app if { path_beg /app }\n";
    assert_eq!(
        lines(&text(under)),
        ["2 | st | haproxy 20/10s per ip | backend app if { path_beg /api }"]
    );
    let none = "frontend web\n http-request track-sc0 src table st\n default_backend other\n";
    assert!(error(&text(none)).contains("no rule before it tracks"));
    let two = one.to_owned() + &one.replace("web", "more");
    assert!(error(&text(&two)).contains("several frontends track for it"));
}

#[test]
fn rules_of_haproxy_that_track_under_conditions() {
    let text = |tracks: &str, rule: &str| {
        format!(
            "frontend web\n stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n {tracks}\n \
             http-request deny if {{ {rule} gt 20 }}\nbackend other\n \
             stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n"
        )
    };
    let one = "http-request track-sc0 src if { path_beg /api }";
    let two = format!("{one}\n http-request track-sc0 req.hdr(x-a) if {{ path_beg /b }}");
    let fallback = format!("{one}\n http-request track-sc0 src");
    let first = format!("http-request track-sc0 src\n {one}");
    let scope = "haproxy 20/10s per ip | if { path_beg /api }";
    assert_eq!(lines(&text(one, "sc_http_req_rate(0)")), [format!("4 | web | {scope}")]);
    assert_eq!(
        lines(&text(&first, "sc_http_req_rate(0)")),
        ["5 | web | haproxy 20/10s per ip | -"]
    );
    for several in [two, fallback] {
        assert_eq!(
            error(&text(&several, "sc_http_req_rate(0)")),
            "line 5: several rules track for it under conditions, which is not understood"
        );
    }
    assert_eq!(
        error(&text(one, "sc_http_req_rate(0,other)")),
        "line 4: it looks into the table \"other\", but tracks in \"web\""
    );
    // A connection is tracked before requests are decided, wherever the rule stands.
    let late = "frontend web\n http-request deny if { sc0_http_req_rate gt 20 }\n \
                tcp-request connection track-sc0 src\n \
                stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n";
    assert_eq!(lines(late), ["2 | web | haproxy 20/10s per ip | -"]);
}

#[test]
fn chains_of_nftables_on_one_line() {
    let text =
        "table inet filter { set a { type ipv4_addr; flags dynamic; elements = { 192.0.2.1 }; }
  limit many { rate over 10/second burst 20 packets; }
  chain input { type filter hook input priority 0; tcp dport 22 limit rate over 3/minute drop
    tcp dport {
      80,
      443
    } update @a { ip saddr limit rate over 9/second } drop
    udp dport 53 limit name many drop
    limit name \"gone\" drop
    limit rate 5/minute log prefix \"in: \"
  }
  chain ssh { limit rate over 1/hour reject; }
}";
    assert_eq!(
        lines(text),
        [
            "3 |  | token-bucket 3/1m burst 5 per all | tcp dport 22",
            "4 | a | token-bucket 9/1s burst 5 per ip | IPv4 addresses, tcp dport { 80, 443 }",
            "8 |  | token-bucket 10/1s burst 20 per all | udp dport 53",
            "12 |  | token-bucket 1/1h burst 5 per all | chain ssh",
            "line 9: no limit here has the name \"gone\"",
            "line 10: the rule has no verdict, so it refuses nothing",
            "packets",
        ]
    );
}

#[test]
fn middlewares_of_traefik_in_two_namespaces() {
    let resource = |namespace: &str, rate: &str| {
        format!(
            "kind: Middleware\nmetadata: {{name: web{namespace}}}\nspec:\n  rateLimit: {{average: {rate}}}\n"
        )
    };
    let two = resource(", namespace: a", "1") + "---\n" + &resource(", namespace: b", "2");
    assert_eq!(
        lines(&two),
        [
            "4 | a/web | token-bucket 1/1s burst 1 per ip | -",
            "9 | b/web | token-bucket 2/1s burst 1 per ip | -",
        ]
    );
    let twice = resource("", "1") + "---\n" + &resource("", "2");
    assert_eq!(error(&twice), "line 4: average is \"1\" and in line 9 \"2\"");
    // As kubectl prints all.
    let list = "kind: List\nitems:\n- kind: Middleware\n  metadata: {name: a}\n  spec: {rateLimit: {average: 1}}\n\
                - kind: Middleware\n  metadata: {name: b}\n  spec: {rateLimit: {average: 2}}\n";
    assert_eq!(
        lines(list),
        [
            "5 | a | token-bucket 1/1s burst 1 per ip | -",
            "8 | b | token-bucket 2/1s burst 1 per ip | -",
        ]
    );
}

#[test]
fn merged_maps_of_yaml() {
    let text = "
usual: &usual {average: 10, burst: 20}
slow: &slow {average: 900, period: 1m}
http:
  middlewares:
    a:
      rateLimit: {<<: *usual, burst: 5}
    b:
      rateLimit:
        <<: [*slow, *usual]
";
    assert_eq!(
        lines(text),
        [
            "7 | a | token-bucket 10/1s burst 5 per ip | -",
            "3 | b | token-bucket 900/1m burst 20 per ip | -",
        ]
    );
    let wrong = "http:\n  middlewares:\n    a:\n      rateLimit: {<<: 5, average: 1}\n";
    assert_eq!(
        error(wrong),
        "line 4: it can't be read as YAML: << is followed by a map or a list of maps, as in <<: *usual"
    );
}

#[test]
fn routes_and_hosts_of_envoy() {
    let bucket = |n: u32| {
        format!(
            "{{stat_prefix: s{n}, token_bucket: {{max_tokens: {n}, tokens_per_fill: {n}, fill_interval: 1s}}, \
             filter_enabled: {{default_value: {{numerator: 100}}}}, \
             filter_enforced: {{default_value: {{numerator: 100}}}}}}"
        )
    };
    let text = format!(
        "
http_filters:
- name: envoy.filters.http.local_ratelimit
  typed_config: {}
route_config:
  virtual_hosts:
  - name: all
    domains: [\"*\"]
    routes:
    - match: {{prefix: /}}
      route: {{cluster: web}}
  - name: api
    domains: [api.example, api2.example]
    routes:
    - match: {{prefix: /v1, headers: [{{name: x-a}}]}}
      route: {{cluster: api}}
      typed_per_filter_config:
        envoy.filters.http.local_ratelimit: {}
",
        bucket(1),
        bucket(2)
    );
    assert_eq!(
        lines(&text),
        [
            "4 | s1 | envoy 1/1s burst 1 per all | requests whose route has no bucket of its own",
            "18 | s2 | envoy 2/1s burst 2 per all | host api.example api2.example, route prefix /v1, headers",
        ]
    );
}

/// The innermost configuration replaces all others, also one that has no bucket.
#[test]
fn a_route_of_envoy_replaces_its_host() {
    let own = |n: u32| {
        format!(
            "typed_per_filter_config: {{envoy.filters.http.local_ratelimit: {{stat_prefix: s{n}, \
             token_bucket: {{max_tokens: {n}, tokens_per_fill: {n}, fill_interval: 1s}}, \
             filter_enabled: {{default_value: {{numerator: 100}}}}, \
             filter_enforced: {{default_value: {{numerator: 100}}}}}}}}"
        )
    };
    let text = |routes: &str| {
        format!(
            "virtual_hosts:\n- domains: [a.example]\n  {}\n  routes:\n{routes}\
             - domains: [b.example]\n  {}\n  routes:\n  - match: {{prefix: /a}}\n    route: {{cluster: c}}\n",
            own(2),
            own(4)
        )
    };
    let route = |path: &str, own: &str| {
        format!("  - match: {{prefix: {path}}}\n    route: {{cluster: c}}\n    {own}\n")
    };
    assert_eq!(
        lines(&text(&route("/r", &own(3)))),
        [
            "3 | s2 | envoy 2/1s burst 2 per all | host a.example, requests whose route has no bucket of its own",
            "7 | s3 | envoy 3/1s burst 3 per all | host a.example, route prefix /r",
            "9 | s4 | envoy 4/1s burst 4 per all | host b.example",
        ]
    );
    let off = "typed_per_filter_config: {envoy.filters.http.local_ratelimit: {disabled: true}}";
    assert_eq!(
        lines(&text(&route("/free", off))),
        [
            "3 | s2 | envoy 2/1s burst 2 per all | host a.example, requests whose route has no bucket of its own",
            "9 | s4 | envoy 4/1s burst 4 per all | host b.example",
            "line 7: host a.example, route prefix /free: its own filter has no bucket, so nothing is refused there; the trial counts it, too",
        ]
    );
}

/// Who is unlimited is said, and who has a rule of its own is not in that for all values.
#[test]
fn values_of_the_rate_limit_service_with_their_own_rules() {
    let text = "domain: web
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: user
    value: monitor
    rate_limit: {unlimited: true}
  - key: user
    value: ann
    rate_limit: {unit: minute, requests_per_unit: 50}
  - key: path
    value: /health
";
    assert_eq!(
        lines(text),
        [
            "3 |  | fixed-window 5/1m per user | all but user=monitor user=ann",
            "8 |  | fixed-window 50/1m per all | user=ann",
            "line 5: user=monitor unlimited",
            "line 11: path=/health unlimited",
        ]
    );
    assert_eq!(
        error(
            "domain: web\ndescriptors:\n  - {key: user, value: a, rate_limit: {unlimited: true}}\n"
        ),
        "line 3: user=a unlimited"
    );
}

/// Who does not come to a limit is said with the lines of the rules before it.
#[test]
fn rules_before_a_limit() {
    let exim = "
acl_check_rcpt:
  accept hosts = :
  warn   !verify = sender
  accept authenticated = *
  require verify = recipient
  deny   ratelimit = 5 / 1m / strict
         hosts = !+relay
  deny   ratelimit = 9 / 1m / strict
         ratelimit = 99 / 1h / strict
  accept
  deny   ratelimit = 3 / 1m
acl_check_data:
.ifdef OPEN
  accept
.endif
  deny   ratelimit = 4 / 1m
";
    let before = "after line 3, accept hosts = :; line 5, accept authenticated = *; line 6, require verify = recipient";
    let several = "the deny of line 9 has several limits and refuses events that are above all of them; the trial \
                   refuses by each";
    assert_eq!(
        lines(exim),
        [
            "7 |  | exim 5/1m strict per ip | -".to_owned(),
            "9 |  | exim 9/1m strict per ip | -".to_owned(),
            "10 |  | exim 99/1h strict per ip | -".to_owned(),
            "17 |  | exim 4/1m leaky per ip | -".to_owned(),
            format!("line 7: {before}"),
            "line 7: after it comes hosts = !+relay, so it counts all events and refuses only those; the trial refuses all"
                .to_owned(),
            format!("line 9: {before}"),
            format!("line 9: {several}"),
            format!("line 10: {before}"),
            format!("line 10: {several}"),
            "line 12: never, as line 11 decides about all".to_owned(),
            "line 17: after line 15, accept within .ifdef"
                .to_owned(),
        ]
    );
    let haproxy = "frontend web
 stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)
 http-request track-sc0 src
 tcp-request connection reject if { src 192.0.2.1 }
 http-request allow if { src 10.0.0.0/8 } or METH_PUT
 http-request deny if { sc_http_req_rate(0) gt 3 }
";
    assert_eq!(
        lines(haproxy),
        [
            "6 | web | haproxy 3/10s per ip | -",
            "line 6: after line 5, allow if { src 10.0.0.0/8 } or METH_PUT",
        ]
    );
    let allowed = haproxy.replace(" if { src 10.0.0.0/8 } or METH_PUT", "");
    assert_eq!(error(&allowed), "line 6: never, as line 5 decides about all");
    let nftables = "chain input { type filter hook input priority 0; policy drop
  ct state established,related accept
  limit rate over 3/minute drop
}
chain other { type filter hook input priority 0
  limit rate over 4/minute drop
  accept
  limit rate over 5/minute drop
}";
    assert_eq!(
        lines(nftables)[2..5],
        [
            "line 3: after line 2, ct state established,related accept",
            "line 8: never, as line 7 decides about all",
            "packets",
        ]
    );
    // As commands, which may go on with a chain of a block; a rule that is inserted comes before the others.
    let commands = "table inet filter {
  chain input { type filter hook input priority 0; ct state established accept; }
}
nft add rule inet filter input limit rate over 3/minute drop
nft add rule ip filter input limit rate over 4/minute drop
add rule inet filter other accept
add rule inet filter other limit rate over 5/minute drop
insert rule inet filter other limit rate over 6/minute drop";
    let config = read(commands);
    let found: Vec<usize> = config.found.iter().map(|found| found.line).collect();
    assert_eq!(found, [4, 5, 8]);
    let remarks: Vec<String> = config.remarks.iter().map(short).collect();
    assert_eq!(
        remarks[..2],
        [
            "line 4: after line 2, ct state established accept",
            "line 7: never, as line 6 decides about all",
        ]
    );
}

#[test]
fn jails_leave_some_alone() {
    let text = "[DEFAULT]\nignoreip = 127.0.0.1/8 ::1\n   192.0.2.0/24, 198.51.100.7\nmaxretry = 3\n\
                findtime = 1H\nbantime = 1mo\n[sshd]\nenabled = true\nport = ssh\n  maxretry = 99\n";
    assert_eq!(
        lines(text),
        ["7 | sshd | fail2ban 3/1h ban 4w2d10h30m per ip | all but 192.0.2.0/24 198.51.100.7"]
    );
    let twice = "[sshd]\nenabled = true\nmaxretry = 3\nmaxretry = 4\n";
    assert_eq!(
        error(twice),
        "line 4: the option maxretry is there already, which fail2ban refuses"
    );
}

#[test]
fn terraform_is_said() {
    let text = "resource \"cloudflare_ruleset\" \"rate\" {\n  rules {\n    ratelimit {\n      \
                characteristics = [\"ip.src\"]\n      period = 60\n      requests_per_period = 100\n}}}\n";
    assert_eq!(
        error(text),
        "it is of Terraform, of which only JSON is understood, as terraform show -json prints it"
    );
    let json = r#"{"rules": [{"ratelimit": [{"characteristics": ["ip.src"], "period": 60, "requests_per_period": 9}]}]}"#;
    assert_eq!(lines(json), ["1 |  | sliding-counter 9/1m per ip | -"]);
}

/// Each limit counts addresses in its own way; that of the whole is that of the first.
#[test]
fn each_limit_has_its_own_addresses() {
    let text = "deny ratelimit = 5 / 1h / strict / ${if isip6{$sender_host_address}\
                {${mask:$sender_host_address/48}}{$sender_host_address}}\ndeny ratelimit = 9 / 1h / strict";
    let config = read(text);
    let bits: Vec<u8> = config.found.iter().map(|found| found.addresses.ipv6_prefix).collect();
    assert_eq!(bits, [48, 128]);
    assert_eq!(config.addresses.ipv6_prefix, 48);
    assert_eq!(read(&lines_of_nginx("$host")).addresses.ipv6_prefix, 128);
}

fn lines_of_nginx(key: &str) -> String {
    format!("limit_req_zone {key} zone=a:1m rate=1r/s;\nlimit_req zone=a;")
}

/// Parts that are not read are named, not passed over.
#[test]
fn what_is_left_out_is_said() {
    let caddy = "a.example {\n\trate_limit {\n\t\tzone z {\n\t\t\tevents 1\n\t\t\twindow 1s\n\t\t}\n\t}\n\trate_limit {remote.ip} 2r/s\n}\n";
    assert_eq!(
        lines(caddy),
        [
            "3 | z | sliding-log 1/1s per all | a.example",
            "line 8: rate_limit without zones is not understood",
        ]
    );
    let cloudflare = r#"{"action": "js_challenge", "ratelimit": {"characteristics": ["ip.src"], "period": 10,
        "requests_per_period": 5, "requests_to_origin": true}}"#;
    assert_eq!(
        lines(cloudflare),
        [
            "1 |  | sliding-counter 5/10s per ip | -",
            "line 1: it counts only requests that no cache answers; the trial counts every event of the log",
            "line 1: whoever passes its challenge is not refused; the trial refuses",
        ]
    );
    let envoy = "\"@type\": type.googleapis.com/envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit\n\
                 stat_prefix: tcp\ntoken_bucket: {max_tokens: 5, tokens_per_fill: 5, fill_interval: 1s}\n";
    assert_eq!(lines(envoy), ["3 | tcp | envoy 5/1s burst 5 per all | -", "line 3: connections",]);
    let nftables =
        "chain out { type filter hook output priority 0; limit rate over 9/second drop; }";
    assert!(lines(nftables)[0].ends_with("| chain out"));
    let toml = "[http.middlewares]\nc = { rateLimit = { average = 5 } }\n";
    assert_eq!(
        error(toml),
        "line 2: a table within a line is not understood; write it as a table of its own"
    );
    let label = "labels:\n - traefik.http.middlewares.a.rateLimit.average=3 # three\n";
    assert_eq!(lines(label), ["2 | a | token-bucket 3/1s burst 1 per ip | -"]);
    let lua = "limit_req_zone $host zone=a:1m rate=1r/s;\naccess_by_lua_block { local x = \"{\" -- it's }\n}\n\
               limit_req zone=a;";
    assert_eq!(lines(lua), ["4 | a | nginx 1/1s per host | -"]);
}

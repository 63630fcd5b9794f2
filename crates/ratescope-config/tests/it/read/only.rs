//! The events that a limit is for, by the fields of a log.

use super::read;
use ratescope_config::Only;

/// The paths, of these, that a limit is for; the condition if no log tells.
fn of(text: &str, n: usize, events: &[&str]) -> Result<Vec<String>, String> {
    let config = read(text);
    let filter = match &config.found[n].only {
        Only::All => return Ok(events.iter().map(|it| (*it).to_owned()).collect()),
        Only::Fields(test) => test.compile()?,
        Only::Unknown(why) => return Err(why.clone()),
    };
    // As in `POST a.example /path 192.0.2.1`; a dash is no value.
    let passes = |event: &&&str| {
        let values = event.split(' ').map(|value| if value == "-" { "" } else { value });
        let names = ["method", "host", "path", "ip"];
        let fields: Vec<(&str, &str)> = names.into_iter().zip(values).collect();
        filter.passes(&fields.as_slice())
    };
    Ok(events.iter().filter(passes).map(|it| (*it).to_owned()).collect())
}

fn paths(text: &str, n: usize, paths: &[&str]) -> Vec<String> {
    let events: Vec<String> = paths.iter().map(|path| format!("GET - {path} 192.0.2.1")).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let of = of(text, n, &events).unwrap();
    of.iter().map(|event| event.split(' ').nth(2).unwrap().to_owned()).collect()
}

/// nginx takes the exact location, then the longest prefix, unless a regular expression matches.
#[test]
fn locations_of_nginx() {
    let zone = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n";
    let all =
        ["/", "/login", "/login/x", "/img/a.png", "/static/a.png", "/api/v1", "/API/v1", "/x.php"];
    let text = zone.to_owned()
        + "server {
  location / { limit_req zone=a burst=1; }
  location = /login { limit_req zone=a burst=2; }
  location ^~ /static/ { limit_req zone=a burst=3; }
  location /img/ { limit_req zone=a burst=4; }
  location ~* ^/api/ { limit_req zone=a burst=5; }
  location ~ \\.(png|php)$ { limit_req zone=a burst=6; }
}";
    assert_eq!(paths(&text, 0, &all), ["/", "/login/x"]);
    assert_eq!(paths(&text, 1, &all), ["/login"]);
    assert_eq!(paths(&text, 2, &all), ["/static/a.png"]);
    assert!(paths(&text, 3, &all).is_empty());
    assert_eq!(paths(&text, 4, &all), ["/api/v1", "/API/v1"]);
    assert_eq!(paths(&text, 5, &all), ["/img/a.png", "/x.php"]);
    // A limit of an outer level counts the requests for which no inner one replaces it.
    let outer = zone.to_owned()
        + "server { limit_req zone=a; location /a/ { location /a/b/ { limit_req zone=a burst=2; } } location /c { limit_req_dry_run on; } }";
    assert_eq!(paths(&outer, 0, &["/", "/a/x", "/a/b/x", "/c", "/d"]), ["/", "/a/x", "/d"]);
    assert_eq!(paths(&outer, 1, &["/", "/a/x", "/a/b/x", "/c"]), ["/a/b/x"]);
    let named = zone.to_owned() + "server { location @named { limit_req zone=a; } }";
    assert_eq!(of(&named, 0, &[]).unwrap_err(), "it is for @named, to which others lead");
    let strange = zone.to_owned() + "server { location ~ (?=/a) { limit_req zone=a; } }";
    assert!(of(&strange, 0, &[]).unwrap_err().contains("can't be read"));
    let many: String =
        (0..200).map(|n| format!("location /{n} {{ limit_req zone=a; }}\n")).collect();
    let many = format!("{zone}server {{ {many} }}");
    assert!(of(&many, 0, &[]).unwrap_err().contains("more than 100 locations"));
}

#[test]
fn servers_of_nginx() {
    let text = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;
server { server_name a.example www.a.example; limit_req zone=a burst=1; }
server { server_name *.b.example; limit_req zone=a burst=2; }
server { listen 80 default_server; server_name _; limit_req zone=a burst=3; }";
    let events = ["GET a.example / -", "GET X.b.example / -", "GET c.example / -", "GET - / -"];
    let one = |n: usize| of(text, n, &events).unwrap();
    // Without hosts the log is taken for that of the server.
    assert_eq!(one(0), [events[0], events[3]]);
    assert_eq!(one(1), [events[1], events[3]]);
    assert_eq!(one(2), [events[2], events[3]]);
    let alone = "limit_req_zone $host zone=a:1m rate=1r/s;\nserver { server_name a.example; limit_req zone=a; }";
    assert_eq!(of(alone, 0, &events).unwrap(), events);
}

#[test]
fn conditions_of_haproxy() {
    let of = |rest: &str| {
        let text = format!(
            "frontend web\n stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n \
             acl api path_beg /api /v2\n acl known src 192.0.2.0/24\n acl known src 198.51.100.7\n \
             acl listed src -f /etc/list\n acl post method POST\n acl site hdr(host) -i A.example\n \
             http-request track-sc0 src\n http-request deny if {{ sc_http_req_rate(0) gt 9 }} {rest}\n"
        );
        of(
            &text,
            0,
            &[
                "GET a.example /api/x 192.0.2.9",
                "POST a.example /v2 203.0.113.1",
                "POST b.example / 198.51.100.7",
            ],
        )
        .map(|events| events.iter().map(|it| it.split(' ').nth(2).unwrap().to_owned()).collect())
    };
    let api = vec!["/api/x".to_owned(), "/v2".to_owned()];
    let ok = |paths: &[&str]| {
        Ok::<Vec<String>, String>(paths.iter().map(|it| (*it).to_owned()).collect())
    };
    assert_eq!(of(""), ok(&["/api/x", "/v2", "/"]));
    assert_eq!(of("api"), Ok(api.clone()));

    assert_eq!(of("!api"), ok(&["/"]));
    assert_eq!(of("!known"), ok(&["/v2"]));
    assert_eq!(of("known post"), ok(&["/"]));
    assert_eq!(of("METH_GET"), ok(&["/api/x"]));
    assert_eq!(of("site"), Ok(api));
    assert_eq!(of("{ path /v2 }"), ok(&["/v2"]));
    assert_eq!(of("{ path -i -m beg /V2 }"), ok(&["/v2"]));
    assert_eq!(of("{ path_reg ^/[a-z]+/x$ }"), ok(&["/api/x"]));
    // A backslash is itself before a character that needs none.
    assert_eq!(of("{ path_reg ^/v\\d$ }"), ok(&["/v2"]));
    assert_eq!(of("{ path_reg \"^/v[\\d]$\" }"), ok(&["/v2"]));
    // A list in a file that was not given is told.
    assert_eq!(of("!listed"), ok(&["/api/x", "/v2", "/"]));
    assert_eq!(of("listed"), Err("no log tells when listed holds".to_owned()));
}

/// `use_backend` comes before `default_backend`, wherever they stand.
#[test]
fn backends_of_haproxy() {
    let text = |routes: &str| {
        format!(
            "frontend web\n http-request track-sc0 src table st\n{routes}backend app\n \
             http-request deny if {{ sc_http_req_rate(0) gt 20 }}\nbackend st\n \
             stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n"
        )
    };
    let all = ["/img/a", "/b"];
    let usual = " default_backend app\n use_backend other if { path_beg /img }\n";
    assert_eq!(paths(&text(usual), 0, &all), ["/b"]);
    let chosen = " default_backend other\n use_backend app if { path_beg /img }\n";
    assert_eq!(paths(&text(chosen), 0, &all), ["/img/a"]);
    let many =
        |n: usize| " use_backend other if { path_beg /img }\n".repeat(n) + " default_backend app\n";
    assert_eq!(paths(&text(&many(59)), 0, &all), ["/b"]);
    let error = of(&text(&many(60)), 0, &[]).unwrap_err();
    assert_eq!(error, "more than 60 rules before it lead to other backends");
}

/// The entries of a list that is too long to be kept are not guessed: no list is cut.
#[test]
fn long_lists() {
    let addresses = |n: usize, between: &str| {
        (0..n).map(|n| format!("192.0.2.{n}")).collect::<Vec<_>>().join(between)
    };
    let texts: [(&str, &dyn Fn(usize) -> String); 6] = [
        ("Exim", &|n| {
            format!("deny hosts = {}\n ratelimit = 5 / 1h / strict\n", addresses(n, " : "))
        }),
        ("HAProxy", &|n| {
            format!(
                "frontend web\n stick-table type ipv6 size 1m expire 1m store http_req_rate(10s)\n \
                 acl some src {}\n http-request track-sc0 src\n \
                 http-request deny if {{ sc_http_req_rate(0) gt 9 }} some\n",
                addresses(n, "\n acl some src ")
            )
        }),
        ("Caddy", &|n| {
            format!(
                "rate_limit {{\nzone z {{\nmatch {{\nremote_ip {}\n}}\nkey x\nevents 1\nwindow 1s\n}}\n}}\n",
                addresses(n, " ")
            )
        }),
        ("Cloudflare", &|n| {
            format!(
                r#"{{"expression": "ip.src in {{{}}}", "ratelimit": {{"characteristics": ["ip.src"], "period": 10, "requests_per_period": 5}}}}"#,
                addresses(n, " ")
            )
        }),
        ("fail2ban", &|n| {
            format!(
                "[j]\nenabled = 1\nmaxretry = 3\nfindtime = 1m\nbantime = 1h\nignoreip = {}\n",
                addresses(n, " ")
            )
        }),
        ("nftables", &|n| {
            format!(
                "chain c {{ type filter hook input priority 0\n ip saddr {{ {} }} limit rate over 3/minute drop\n}}",
                addresses(n, ", ")
            )
        }),
    ];
    let events = ["GET a.example / 192.0.2.59", "GET a.example / 203.0.113.1"];
    for (server, text) in texts {
        let inside = usize::from(server == "fail2ban");
        assert_eq!(of(&text(60), 0, &events), Ok(vec![events[inside].to_owned()]), "{server}");
        assert!(of(&text(61), 0, &events).is_err(), "{server}");
    }
    let hosts = |n: usize| (0..n).map(|n| format!("a{n}.example")).collect::<Vec<_>>();
    let envoy = |n: usize| {
        format!(
            "virtual_hosts:\n- domains: [{}]\n  typed_per_filter_config:\n    \
             envoy.filters.http.local_ratelimit:\n      stat_prefix: s\n      \
             token_bucket: {{max_tokens: 5, fill_interval: 1s}}\n",
            hosts(n).join(", ")
        )
    };
    let caddy = |n: usize| {
        let zone = "zone z {\nkey x\nevents 1\nwindow 1s\n}";
        format!("{} {{\nrate_limit {{\n{zone}\n}}\n}}\n", hosts(n).join(", "))
    };
    let nginx = |n: usize| {
        let server =
            |host: &String| format!("server {{ server_name {host}; limit_req zone=a; }}\n");
        let servers: String = hosts(n).iter().map(server).collect();
        format!("limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n{servers}")
    };
    let events = ["GET a1.example / 192.0.2.1", "GET b.example / 192.0.2.1"];
    for (most, text) in [(60, &envoy as &dyn Fn(usize) -> String), (60, &caddy), (100, &nginx)] {
        // Of nginx it is the second limit.
        let n = usize::from(most == 100);
        assert_eq!(of(&text(most), n, &events), Ok(vec![events[0].to_owned()]), "{}", text(1));
        assert!(of(&text(most + 1), n, &events).is_err(), "{}", text(1));
    }
    assert_eq!(of(&nginx(101), 1, &events).unwrap_err(), "it is for one of more than 100 servers");
    assert_eq!(of(&caddy(61), 0, &events).unwrap_err(), "it is for more than 60 hosts");
}

#[test]
fn other_servers() {
    let events = ["GET a.example /api/x 192.0.2.9", "POST b.example /login 203.0.113.1"];
    let [first, second] = events;
    let caddy = |matcher: &str, inner: &str| {
        format!("a.example {{\n\trate_limit {matcher} {{\n\t\tzone z {{\n\t\t\tmatch {{\n\t\t\t\t{inner}\n\t\t\t}}\n\t\t\tkey x\n\t\t\tevents 1\n\t\t\twindow 1s\n\t\t}}\n\t}}\n}}\n")
            .replace("a.example {", ":80 {")
    };
    let traefik = |rule: &str| {
        format!(
            "http:\n  routers:\n    r: {{rule: '{rule}', middlewares: [m]}}\n  middlewares:\n    m:\n      rateLimit: {{average: 1}}\n"
        )
    };
    let cloudflare = |expression: &str| {
        format!(
            r#"{{"expression": "{}", "ratelimit": {{"characteristics": ["ip.src"], "period": 10, "requests_per_period": 5}}}}"#,
            expression.replace('"', "\\\"")
        )
    };
    let envoy = |test: &str| {
        format!(
            "routes:\n- match: {{{test}}}\n  route: {{cluster: a}}\n  typed_per_filter_config:\n    envoy.filters.http.local_ratelimit:\n      stat_prefix: s\n      token_bucket: {{max_tokens: 5, fill_interval: 1s}}\n"
        )
    };
    for (text, passed) in [
        (caddy("/api/*", "method GET"), vec![first]),
        (caddy("", "path /LOGIN"), vec![second]),
        (caddy("", "not path /api/*"), vec![second]),
        (caddy("", "remote_ip 192.0.2.0/24"), vec![first]),
        (traefik("PathPrefix(`/api`)"), vec![first]),
        (traefik("Host(`b.example`) || (Path(`/api/x`) && !Method(`POST`))"), vec![first, second]),
        (traefik("!(Host(`b.example`) && Method(`POST`))"), vec![first]),
        (cloudflare("http.request.uri.path eq \"/login\""), vec![second]),
        (cloudflare("(starts_with(http.request.uri.path, \"/api\") and http.request.method eq \"GET\")"), vec![first]),
        (cloudflare("http.host in {\"a.example\" \"b.example\"}"), vec![first, second]),
        (envoy("prefix: /api"), vec![first]),
        (envoy("path: /login"), vec![second]),
        (envoy("safe_regex: {regex: '/a.*'}"), vec![first]),
        ("domain: a\ndescriptors:\n- {key: path, value: /login, descriptors: [{key: remote_address, rate_limit: {unit: hour, requests_per_unit: 3}}]}\n".to_owned(), vec![second]),
        ("domain: a\ndescriptors:\n- {key: path, rate_limit: {unit: hour, requests_per_unit: 3}}\n- {key: path, value: /api/*, rate_limit: {unit: hour, requests_per_unit: 9}}\n".to_owned(), vec![second]),
        ("[j]\nenabled = 1\nmaxretry = 3\nfindtime = 1m\nbantime = 1h\nignoreip = 192.0.2.0/24 ::1\n".to_owned(), vec![second]),
        ("deny hosts = ! 192.0.2.0/24 : *\n  ratelimit = 5 / 1h / strict\n".to_owned(), vec![first, second]),
        ("deny hosts = 192.0.2.0/24\n  ratelimit = 5 / 1h / strict\n".to_owned(), vec![first]),
        ("deny !hosts = 192.0.2.0/24 : 203.0.113.9\n  ratelimit = 5 / 1h / strict\n".to_owned(), vec![second]),
        ("chain c { type filter hook input priority 0\n ip saddr 192.0.2.0/24 tcp dport 22 limit rate over 3/minute drop\n}".to_owned(), vec![first]),
        ("chain c { type filter hook input priority 0\n ip saddr != { 192.0.2.0/24, 198.51.100.1 } tcp dport 22 limit rate over 3/minute drop\n}".to_owned(), vec![second]),
    ] {
        assert_eq!(of(&text, 0, &events).unwrap_or_else(|why| panic!("{why}\n{text}")), passed, "{text}");
    }
    for text in [
        caddy("@slow", "method GET"),
        caddy("", "method GET").replace(":80 {", "(limits) {"),
        caddy("", "method GET").replace(":80 {", "{$SITE} {"),
        caddy("", "header X-A b"),
        traefik("HeadersRegexp(`X-A`, `b`)"),
        cloudflare("cf.bot_management.score lt 30"),
        envoy("prefix: /api, headers: [{name: x}]"),
        "deny condition = ${if eq{1}{2}}\n  ratelimit = 5 / 1h / strict\n".to_owned(),
    ] {
        assert!(of(&text, 0, &events).is_err(), "{text}");
    }
}

//! Configuration as people have it.

use super::{error, lines, read};
use ratescope_config::Target;

#[test]
fn nginx() {
    let text = r#"
user www-data;
events { worker_connections 768; }
http {
    include /etc/nginx/mime.types;  # types
    log_format main '$remote_addr - "$request"; {x}';
    limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s;
    limit_req_zone "$server_name" zone=unused:1m rate=1r/s;
    limit_req_zone ${http_x_api_key}$uri
                   zone=api:10m rate=120r/m sync;
    limit_req_status 429;
    server {
        listen 80 default_server;
        limit_req zone=perip burst=20 nodelay;
        location ~ ^/api/(v1|v2)/ { limit_req zone=api burst=10 delay=5; proxy_pass http://api; }
        location = /login {
            limit_req zone=perip;
            content_by_lua_block {
                ngx.say("it's { odd")  -- don't }
            }
        }
        location /a { limit_req zone=perip burst=20 nodelay; }
        # limit_req zone=perip burst=99;
        location /b { limit_req zone=elsewhere; }
    }
    server { limit_req zone=perip burst=20 nodelay; }
}
"#;
    assert_eq!(
        lines(text),
        [
            "14 | perip | nginx 10/1s burst 20 nodelay per ip | the server of line 12 except location ~ ^/api/(v1|v2)/, location = /login, location /a and 1 more",
            "15 | api | nginx 120/1m burst 10 delay 5 per x-api-key+path | the server of line 12, location ~ ^/api/(v1|v2)/",
            "17 | perip | nginx 10/1s per ip | the server of line 12, location = /login",
            "22 | perip | nginx 10/1s burst 20 nodelay per ip | the server of line 12, location /a",
            "26 | perip | nginx 10/1s burst 20 nodelay per ip | the server of line 26",
            "line 24: the zone \"elsewhere\" is not defined here; a file that is included may have it, and nginx -T prints all",
            "line 8: no limit_req here uses the zone \"unused\"; a file that is included may have it, and nginx -T prints all",
        ]
    );
    let dry = "limit_req_zone all zone=a:1m rate=1r/s;\nlimit_req zone=a;\nlimit_req_dry_run on;";
    assert_eq!(
        lines(dry),
        [
            "2 | a | nginx 1/1s per all | -",
            "line 2: limit_req_dry_run is on (line 3), so nginx refuses nothing by it",
        ]
    );
}

#[test]
fn haproxy() {
    let text = r#"
global
    maxconn 4096
defaults
    mode http
frontend www
    bind *:80
    stick-table type ip size 1m expire 10m store http_req_rate(10s),conn_cur
    acl too_fast sc_http_req_rate(0) gt 20   # a burst
    http-request track-sc0 src
    http-request track-sc1 req.hdr(X-Api-Key) table keys if { path_beg /api }
    http-request deny deny_status 429 if too_fast
    http-request deny if { sc1_gpc0_rate(keys) ge 100 } { method POST }
    http-request sc-inc-gpc0(1)
    http-request tarpit if { sc_http_err_rate(0) gt 5 }
    http-request deny if { path_beg /admin }
    default_backend app
backend keys
    stick-table type string len 64 size 100k expire 1m store gpc0,gpc0_rate(1m)
listen ssh
    mode tcp
    stick-table type ip size 1m expire 1h store conn_rate(3s)
    tcp-request connection track-sc0 src
    tcp-request connection reject if { src_conn_rate ge 10 }
backend app
    server one 127.0.0.1:8080
"#;
    assert_eq!(
        lines(text),
        [
            "12 | www | haproxy 20/10s per ip | frontend www",
            "13 | keys | haproxy 100/1m allowed per x-api-key | frontend www if { path_beg /api } { method POST }",
            "24 | ssh | haproxy 9/3s per ip | listen ssh",
            "line 8: no IPv6",
            "line 19: an entry expires after 1m, sooner than two periods; the trial keeps it",
            "line 15: it compares sc_http_err_rate(0), which is not understood",
            "line 24: connections",
            "line 22: no IPv6",
        ]
    );
}

#[test]
fn envoy_in_yaml_and_json() {
    let yaml = r#"
static_resources:
  listeners:
  - filter_chains:
    - filters:
      - typed_config:
          http_filters:
          - name: envoy.filters.http.local_ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
              stat_prefix: http_local_rate_limiter
              token_bucket:
                max_tokens: 10000
                tokens_per_fill: 1000
                fill_interval: 1s
              filter_enabled:
                runtime_key: local_rate_limit_enabled
                default_value: {numerator: 100, denominator: HUNDRED}
              filter_enforced:
                runtime_key: local_rate_limit_enforced
                default_value: {numerator: 100, denominator: HUNDRED}
              descriptors:
              - entries:
                - key: client
                  value: foo
                - key: path
                token_bucket: {max_tokens: 10, tokens_per_fill: 5, fill_interval: 60s}
          route_config:
            virtual_hosts:
            - rate_limits:
              - actions:
                - request_headers: {header_name: x-envoy-downstream-service-cluster, descriptor_key: client}
                - request_headers: {header_name: ":path", descriptor_key: path}
"#;
    assert_eq!(
        lines(yaml),
        [
            "13 | http_local_rate_limiter | envoy 1000/1s burst 10000 per all | -",
            "27 |  | envoy 5/1m burst 10 per path | client foo",
        ]
    );
    let json = "{\n\t\"stat_prefix\": \"x\",\n\t\"token_bucket\": {\n\t\t\"max_tokens\": 3,\n\t\t\"fill_interval\": \"0.5s\"\n\t}\n}";
    assert_eq!(
        lines(json),
        [
            "3 | x | envoy 1/500ms burst 3 per all | -",
            "line 3: without filter_enabled and filter_enforced, Envoy refuses nothing by it",
        ]
    );
}

/// Keys as JSON of protocol buffers has them, and as Envoy Gateway and the control plane's dumps write them.
#[test]
fn envoy_in_camel_case() {
    let text = "
routes:
- match: {pathSeparatedPrefix: /foo}
  route: {cluster: first}
  typedPerFilterConfig:
    envoy.filters.http.local_ratelimit:
      '@type': type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
      alwaysConsumeDefaultTokenBucket: false
      descriptors:
      - entries:
        - {key: client, value: gold}
        - {key: peer}
        tokenBucket: {fillInterval: 3600s, maxTokens: 10, tokensPerFill: 10}
      filterEnabled: {defaultValue: {numerator: 100}}
      filterEnforced: {defaultValue: {numerator: 100}}
      rateLimits:
      - actions:
        - requestHeaders: {descriptorKey: peer, headerName: x-peer}
      statPrefix: http_local_rate_limiter
      tokenBucket: {fillInterval: 3600s, maxTokens: 4294967295, tokensPerFill: 4294967295}
";
    assert_eq!(
        lines(text),
        ["13 |  | envoy 10/1h burst 10 per x-peer | route path_separated_prefix /foo, client gold"]
    );
}

#[test]
fn the_rate_limit_service() {
    let text = "
domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit:
      unit: second
      requests_per_unit: 500
  - key: remote_address
    descriptors:
      - key: path
        shadow_mode: true
        rate_limit: {unit: MINUTE, requests_per_unit: 20}
";
    assert_eq!(
        lines(text),
        [
            "4 |  | fixed-window 500/1s per all | database=users",
            "11 |  | fixed-window 20/1m per ip+path | -",
            "line 11: its rule is in shadow mode and refuses nothing",
        ]
    );
}

#[test]
fn caddy() {
    let text = r#"
{
	order rate_limit before basicauth
}
example.com {
	rate_limit {
		distributed
		zone static_example {
			match {
				method GET
			}
			key    static
			events 100
			window 1m
		}
		zone dynamic_example {
			key    {remote_host}
			events 2
			window 1m30s
		}
		log_key
	}
	handle /api/* {
		rate_limit {
			zone api {
				key "{http.request.header.X-Api-Key} {host}"
				window 5s
				events 9
			}
		}
	}
	respond "It's {http.vars.x}"
}
"#;
    assert_eq!(
        lines(text),
        [
            "8 | static_example | sliding-log 100/1m per all | example.com, match method GET",
            "16 | dynamic_example | sliding-log 2/1m30s per ip | example.com",
            "25 | api | sliding-log 9/5s per x-api-key+host | example.com, handle /api/*",
        ]
    );
}

#[test]
fn traefik_in_yaml_toml_and_labels() {
    let yaml = "
http:
  routers:
    web:
      middlewares: [Web]
  middlewares:
    Web:
      rateLimit:
        average: 100
        burst: 50
    other:
      headers: {frameDeny: true}
---
apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata:
  name: test-ratelimit
spec:
  rateLimit:
    average: 30
    period: 2s
    burst: 20
    sourceCriterion:
      ipStrategy:
        depth: 1
";
    assert_eq!(
        lines(yaml),
        [
            "9 | Web | token-bucket 100/1s burst 50 per ip | -",
            "20 | test-ratelimit | token-bucket 30/2s burst 20 per ip | -",
            "line 20: no router here uses it",
        ]
    );
    let toml = r#"
[http.middlewares]
  [http.middlewares.web.rateLimit]
    average = 6    # a minute
    period = "1m"
    burst = 50
    [http.middlewares.web.rateLimit.sourceCriterion]
      requestHeaderName = "X-User"
"#;
    let read = lines(toml);
    assert_eq!(read[0], "4 | web | token-bucket 6/1m burst 50 per x-user | -");
    assert!(
        read[1].starts_with("line 4: Traefik differs: it forgets a sender that is silent for 11s"),
        "{read:?}"
    );
    let labels = r#"
services:
  app:
    labels:
      - "traefik.enable=true"
      - "traefik.http.middlewares.web.ratelimit.average=10"
      - traefik.http.middlewares.web.ratelimit.burst=5
      - "traefik.http.routers.app.middlewares=web"
  two:
    labels:
      traefik.http.middlewares.two.ratelimit.average: "7"
      traefik.http.middlewares.two.ratelimit.sourcecriterion.requesthost: "true"
"#;
    assert_eq!(
        lines(labels),
        [
            "6 | web | token-bucket 10/1s burst 5 per ip | -",
            "11 | two | token-bucket 7/1s burst 1 per host | -",
            "line 11: no router here uses it",
        ]
    );
}

/// Also if the middleware, the router or the service is called as the kind is. Redis only counts for all replicas.
#[test]
fn traefik_with_the_name_of_the_kind() {
    let yaml = "
http:
  routers:
    ratelimit: {rule: Host(`a.example`), middlewares: [rateLimit], service: ratelimit}
  middlewares:
    rateLimit:
      rateLimit:
        average: 100
        redis:
          endpoints: ['127.0.0.1:6379']
          tls: {insecureSkipVerify: true}
  services:
    ratelimit: {loadBalancer: {servers: []}}
";
    assert_eq!(
        lines(yaml),
        ["8 | rateLimit | token-bucket 100/1s burst 1 per ip | Host(`a.example`)"]
    );
    let toml = "[http.middlewares]\n  [http.middlewares.ratelimit.rateLimit]\n    average = 6\n    burst = 3\n";
    assert_eq!(lines(toml), ["3 | ratelimit | token-bucket 6/1s burst 3 per ip | -"]);
    let label = "- traefik.http.middlewares.ratelimit.ratelimit.average=10";
    assert_eq!(lines(label), ["1 | ratelimit | token-bucket 10/1s burst 1 per ip | -"]);
}

#[test]
fn cloudflare() {
    let text = r#"{"rules": [{
  "description": "login",
  "expression": "http.request.uri.path eq \"/login\"",
  "action": "block",
  "ratelimit": {
    "characteristics": ["cf.colo.id", "ip.src", "http.request.headers[\"x-api-key\"]"],
    "period": 60,
    "requests_per_period": 100,
    "mitigation_timeout": 600
  }}]}"#;
    assert_eq!(
        lines(text),
        [
            "5 | login | sliding-counter 100/1m per ip+x-api-key | http.request.uri.path eq \"/login\"",
            "line 9: after its limit Cloudflare refuses everything for 600 s; the trial refuses only what is above",
        ]
    );
}

#[test]
fn exim() {
    let text = r"
acl_smtp_rcpt = acl_check_rcpt
begin acl
acl_check_rcpt:
  accept hosts = :
  deny   message = Sender rate overlimit - $sender_rate / $sender_rate_period
         hosts = !+relay_hosts
         ratelimit = 100 / 1h / per_rcpt / strict
  warn   ratelimit = 2K / 1m30s / \
                     leaky / ${lc:$authenticated_id}
         log_message = too fast
  deny   ratelimit = 10 / 1d / per_mail / noupdate / login / $sender_address
  defer  ratelimit = MAX / 1h
  deny   ratelimit = 5 / 1h / per_addr
  accept
acl_check_data:
  accept
";
    assert_eq!(
        lines(text),
        [
            "8 |  | exim 100/1h strict per ip | hosts = !+relay_hosts",
            "9 |  | exim 2048/1m30s leaky per user | -",
            "12 | login | exim 10/1d readonly per sender | -",
            "14 |  | exim 5/1h leaky per ip | -",
            "line 8: it counts recipients: --cost recipients counts them in a log",
            "line 8: after line 5, accept hosts = :",
            "line 9: after line 5, accept hosts = :",
            "line 9: warn refuses nothing; the trial refuses",
            "line 12: it only reads a rate that is measured elsewhere, and refuses nothing alone",
            "line 12: after line 5, accept hosts = :",
            "line 13: its limit is \"MAX\", which is no number",
            "line 14: it counts different recipients; the trial counts every event of the log",
            "line 14: after line 5, accept hosts = :",
        ]
    );
}

#[test]
fn fail2ban() {
    let text = "
[DEFAULT]
ignoreip = 127.0.0.1/8
bantime  = 1h
findtime = 10m  ; ten minutes

[sshd]
enabled = true
port = ssh
maxretry = 3

[nginx-limit-req]
enabled = true
bantime = 1d 12h

[postfix]
enabled = false

[recidive]
enabled = true
bantime = -1
";
    assert_eq!(
        lines(text),
        [
            "7 | sshd | fail2ban 3/10m ban 1h per ip | -",
            "12 | nginx-limit-req | fail2ban 5/10m ban 1d12h per ip | -",
            "19 | recidive | fail2ban 5/10m ban 5000w per ip | -",
            "line 12: maxretry is not given, and 5 in the jail.conf of fail2ban",
            "line 12: the jail has no maxretry, findtime; if the jail.conf of fail2ban has it for nginx-limit-req, that is in force",
            "line 16: the jail postfix is not enabled here",
            "line 21: it bans for ever; the trial bans for 5,000 weeks",
            "line 19: maxretry is not given, and 5 in the jail.conf of fail2ban",
            "line 19: the jail has no maxretry, findtime; if the jail.conf of fail2ban has it for recidive, that is in force",
        ]
    );
}

#[test]
fn spellings_that_servers_take() {
    let jails = "\u{feff}[DEFAULT]\r\nMaxRetry = 2\r\n[sshd]\r\nEnabled: true\r\nmaxretry: 4\r\n\
                 findtime: 10m\r\nbantime: 1h\r\n";
    assert_eq!(lines(jails), ["3 | sshd | fail2ban 4/10m ban 1h per ip | -"]);
    let exim = "deny ratelimit = 5 / 1h / STRICT / $sender_host_address";
    assert_eq!(lines(exim), ["1 |  | exim 5/1h strict per ip | -"]);
    let nft = "chain c {\n type filter hook input priority 0\n tcp dport { 80, 443 } update @flood { ip saddr limit rate over 3/minute } drop\n}";
    assert_eq!(
        lines(nft)[0],
        "3 | flood | token-bucket 3/1m burst 5 per ip | IPv4 addresses, tcp dport { 80, 443 }"
    );
}

#[test]
fn what_refuses_otherwise_is_said() {
    let accept = "accept ratelimit = 5 / 1h / strict\ndeny !ratelimit = 5 / 1h / strict";
    assert_eq!(
        error(accept),
        "line 1: accept lets events above its limit pass; line 2: it asks for events below its limit, which is not understood"
    );
    let shadow = "
filter_enabled: {default_value: {numerator: 100}}
filter_enforced: {default_value: {denominator: HUNDRED}}
token_bucket: {max_tokens: 5, tokens_per_fill: 5, fill_interval: 60s}
";
    assert_eq!(
        lines(shadow),
        [
            "4 |  | envoy 5/1m burst 5 per all | -",
            "line 4: filter_enforced is for 0 % of the requests; the trial is for all",
        ]
    );
    let logs = r#"{"action": "log", "ratelimit": {"characteristics": ["ip.src"], "period": 10, "requests_per_period": 5}}"#;
    assert_eq!(error(logs), "line 1: the rule is not enabled, or only logs, and refuses nothing");
    let users = "limit_req_zone $remote_user zone=a:1m rate=1r/m;\nlimit_req zone=a;";
    assert_eq!(
        lines(users),
        [
            "2 | a | nginx 1/1m per user | -",
            "line 2: nginx counts no request without this key; the trial counts them as those of one client",
        ]
    );
}

#[test]
fn of_two_trackings_in_haproxy_the_first_is_in_force() {
    let text = "
backend slow
  stick-table type ip size 1m expire 3h store http_req_rate(1h)
backend fast
  stick-table type ip size 1m expire 1m store http_req_rate(1s)
frontend web
  http-request track-sc0 src table slow
  http-request track-sc0 src table fast
  acl hot sc_http_req_rate(0) gt 9
  http-request deny if { sc_http_req_rate(0) gt 2 }
  http-request return status 429 if hot
  use_backend slow if { src,table_http_req_rate(slow) gt 5 }
";
    assert_eq!(
        lines(text),
        [
            "10 | slow | haproxy 2/1h per ip | -",
            "11 | slow | haproxy 9/1h per ip | -",
            "line 3: no IPv6",
            "line 12: it decides by a rate in a way that is not understood",
        ]
    );
}

#[test]
fn nftables() {
    let text = r#"
#!/usr/sbin/nft -f
flush ruleset
table inet filter {
    set ssh_meter { type ipv4_addr; flags dynamic,timeout; timeout 60s; }
    chain input {
        type filter hook input priority 0; policy drop;
        tcp dport { 80, 443 } accept
        tcp dport 22 ct state new add @ssh_meter { ip saddr timeout 60s limit rate over 3/minute burst 4 packets } counter reject
        tcp dport 25 meter smtp size 1000 { ip6 saddr limit rate 10/second } accept comment "a { b"
        icmp type echo-request limit rate 5/second accept
        limit rate over 10 mbytes/second drop
        tcp dport 22 meter m { ip saddr . tcp dport limit rate over 3/minute } drop
    }
}
"#;
    assert_eq!(
        lines(text),
        [
            "9 | ssh_meter | token-bucket 3/1m burst 4 per ip | IPv4 addresses, tcp dport 22 ct state new",
            "10 | smtp | token-bucket 10/1s burst 5 per ip | IPv6 addresses, tcp dport 25",
            "11 |  | token-bucket 5/1s burst 5 per all | icmp type echo-request",
            "line 9: after line 8, tcp dport { 80, 443 } accept",
            "line 10: accepts",
            "line 10: after line 8, tcp dport { 80, 443 } accept",
            "line 11: accepts",
            "line 11: after line 8, tcp dport { 80, 443 } accept",
            "line 12: its rate is \"10\"; nftables has 10/minute",
            "line 13: it counts by ip saddr . tcp dport, no field",
            "packets",
        ]
    );
}

#[test]
fn one_policy_of_all() {
    let text = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\nlimit_req_zone $host zone=b:1m \
                rate=9r/s;\nlimit_req zone=a;\nlimit_req zone=b burst=3;";
    let config = read(text);
    assert_eq!(config.target, Target::Nginx);
    assert_eq!(
        config.policy().unwrap().to_string(),
        "nginx 1/1s per ip & nginx 9/1s burst 3 per host"
    );
    assert!(error("").starts_with("no limit of a known server; the known ones are Exim, nginx"));
}

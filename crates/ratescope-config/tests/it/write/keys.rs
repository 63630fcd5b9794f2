//! The keys that each server can count by, and the others.

use crate::table::rows;
use ratescope::Policy;
use ratescope_config::{Addresses, Target};

/// A limiter of each server, and the keys that it can count by, of [`keys`].
const SERVERS: &str = "
    nginx | nginx 10/1s burst 20 nodelay | \
        all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent
    haproxy | haproxy 20/10s | all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent
    envoy | envoy 5/1s burst 10 | all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent
    descriptors | 10/1m | all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent
    caddy | sliding-log 10/1m | \
        all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent
    traefik | gcra 10/1s burst 20 | ip forwarded host agent referer api-key
    cloudflare | sliding-counter 9/10s | all ip forwarded host path agent referer api-key ip+path forwarded+host+agent
    exim | exim 10/1m strict | all ip user host sender helo
    rust | 10/1m | \
        all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent \
        status bytes peer request time key sender helo message
    nftables | token-bucket 6/1h burst 5 | all ip
    fail2ban | fail2ban 5/10m | ip
";

/// A limiter of a server, and the keys that it can count by.
pub(crate) fn server(target: Target) -> (&'static str, Vec<&'static str>) {
    let mut servers = rows(SERVERS).filter(|[name, _, _]| *name == target.to_string());
    let [_, limiter, keys] = servers.next().unwrap();
    (limiter, keys.split(' ').collect())
}

/// All keys that are tried.
pub(crate) fn keys() -> Vec<&'static str> {
    server(Target::Rust).1
}

/// The ways to count addresses.
pub(crate) const ADDRESSES: [Addresses; 4] = [
    Addresses { ipv4_prefix: 32, ipv6_prefix: 128, forwarded: false },
    Addresses { ipv4_prefix: 32, ipv6_prefix: 64, forwarded: false },
    Addresses { ipv4_prefix: 32, ipv6_prefix: 128, forwarded: true },
    Addresses { ipv4_prefix: 32, ipv6_prefix: 48, forwarded: true },
];

/// Each key of each server, or the reason why there is none.
#[test]
fn a_server_is_asked_only_for_keys_that_it_has() {
    for target in Target::ALL {
        let (limiter, known) = server(target);
        for key in keys() {
            let policy: Policy = format!("{limiter} per {key}").parse().unwrap();
            for addresses in ADDRESSES {
                let written = target.configure_for(&policy, addresses, None);
                // It reads no headers, and so knows nobody behind a proxy.
                let hidden = [Target::Nftables, Target::Fail2ban].contains(&target)
                    && key == "ip"
                    && addresses.forwarded;
                assert_eq!(
                    written.is_ok(),
                    known.contains(&key) && !hidden,
                    "{target} per {key}: {written:?}"
                );
            }
        }
    }
    let wrong = |key: &str| {
        let policy: Policy = format!("nginx 10/1s per {key}").parse().unwrap();
        Target::Nginx.configure(&policy).unwrap_err().problem().to_owned()
    };
    assert_eq!(
        wrong("ip+status"),
        "it cannot count by status: no answer is known yet when a request is counted; write per ip, \
         user or path"
    );
    assert!(wrong("peer").ends_with("write per ip, which is the client"));
    assert!(wrong("request").ends_with("write per method+path"));
}

/// A header that a log has under a name of its own is the header for a server.
#[test]
fn a_header_is_known_by_the_name_in_a_log() {
    for per in ["x-api-key", "req.headers.x-api-key", "request.headers.X-Api-Key", "http_x_api_key"]
    {
        let (text, _) = written("haproxy", &format!("haproxy 20/10s per {per}"), 128, false);
        assert!(text.contains("req.fhdr(x-api-key)") || text.contains("hdr(x-api-key)"), "{text}");
    }
    let policy: Policy = "haproxy 20/10s per http_method".parse().unwrap();
    assert!(Target::Haproxy.configure(&policy).is_err());
}

/// A client that a proxy names is found by the server's own means.
#[test]
fn a_client_behind_a_proxy_is_found() {
    for [target, limiter, means] in rows(
        "
        nginx | nginx 9/1s | set_real_ip_from 10.0.0.0/8;
        haproxy | haproxy 9/1s | set-src req.hdr_ip(x-forwarded-for,-1) if { src 10.0.0.0/8
        envoy | envoy 9/1s | xff_num_trusted_hops: 1
        descriptors | 9/1s | # xff_num_trusted_hops: 1
        caddy | sliding-log 9/1s | trusted_proxies static private_ranges
        traefik | gcra 9/1s burst 2 | ipStrategy: { depth: 1 }
        ",
    ) {
        let write = |per: &str, forwarded| {
            written(target, &format!("{limiter} per {per}"), 128, forwarded).0
        };
        assert!(write("ip", true).contains(means), "{}", write("ip", true));
        assert_eq!(write("forwarded", false), write("ip", true));
        assert!(!write("ip", false).contains(means) && !write("agent", true).contains(means));
    }
}

/// The configuration of a limiter per `per`, and its warnings.
fn written(target: &str, policy: &str, ipv6_prefix: u8, forwarded: bool) -> (String, String) {
    let (target, policy): (Target, Policy) = (target.parse().unwrap(), policy.parse().unwrap());
    let written = target
        .configure_for(&policy, Addresses { ipv4_prefix: 32, ipv6_prefix, forwarded }, None)
        .unwrap();
    (written.text, written.warnings.join("\n"))
}

/// A client is an IPv6 network, or an address.
#[test]
fn a_client_has_as_many_bits_as_it_is_given() {
    for [target, limiter, network, address] in rows(
        r#"
        nginx | nginx 9/1s | "~^(?s)(?<limit_net>.{6}).{10}\z" "6$limit_net"; | limit_req_zone $binary_remote_addr zone
        haproxy | haproxy 9/1s | track-sc0 src,ipmask(32,48) table | track-sc0 src table
        envoy | envoy 9/1s | - masked_remote_address: { v6_prefix_mask_len: 48 } | - remote_address: {}
        descriptors | 9/1s | - masked_remote_address: { v6_prefix_mask_len: 48 } | - remote_address: {}
        caddy | sliding-log 9/1s | key {http.request.remote.host/32,48} | key {http.request.remote.host}
        traefik | gcra 9/1s burst 2 | ipStrategy: { ipv6Subnet: 48 } | ipStrategy: {}
        exim | exim 9/1s | {${mask:$sender_host_address/48}}{$sender_host_address}} | / $sender_host_address
        nftables | gcra 9/1s burst 2 | { ip6 saddr & ffff:ffff:ffff:: limit rate | { ip6 saddr limit rate
        "#,
    ) {
        let text = |bits| written(target, &format!("{limiter} per ip"), bits, false).0;
        assert!(text(48).contains(network) && !text(48).contains(address), "{}", text(48));
        assert!(text(128).contains(address) && !text(128).contains(network), "{}", text(128));
    }
}

/// A network that a server cannot cut is told.
#[test]
fn networks_that_a_server_does_not_know_are_told() {
    for (target, limiter, bits, forwarded, warning) in [
        ("nginx", "nginx 9/1s", 47, false, "its IPv6 networks have whole bytes"),
        ("caddy", "sliding-log 9/1s", 48, true, "Caddy counts each address"),
        ("traefik", "gcra 9/1s burst 2", 48, false, "Traefik has ipv6Subnet from 3.1 on"),
    ] {
        let told = |bits, forwarded| {
            written(target, &format!("{limiter} per ip"), bits, forwarded).1.contains(warning)
        };
        assert!(told(bits, forwarded) && !told(128, forwarded), "{target}");
    }
    let (text, _) = written("caddy", "sliding-log 9/1s per ip", 48, true);
    assert!(text.contains("key {http.vars.client_ip}\n"), "{text}");
}

/// A server that counts in one limit before the next refuses says so, where there is a next one.
#[test]
fn one_limit_has_no_other_to_warn_of() {
    for [target, limiter, warning] in rows(
        "
        envoy | envoy 9/1s | later one refuses has paid the first
        caddy | sliding-log 9/1s | a later one refuses has counted
        traefik | gcra 9/1s burst 2 | a later one refuses has counted
        cloudflare | sliding-counter 9/1m | may have counted in others
        nftables | gcra 9/1s burst 2 | a later one drops has counted
        ",
    ) {
        let one = format!("{limiter} per ip");
        let two = format!("{one} & {}", one.replace('9', "8"));
        let warned = |policy: &str| written(target, policy, 128, false).1.contains(warning);
        assert_eq!((warned(&one), warned(&two)), (false, true), "{target}");
    }
}

/// A limit for all has a key that is the same for all.
#[test]
fn everybody_is_one_client() {
    let all = |target, limiter| written(target, &format!("{limiter} per all"), 128, false).0;
    let caddy = all("caddy", "sliding-log 9/1s");
    assert!(caddy.contains("\t\tkey all\n"), "{caddy}");
    let rust = all("rust", "9/1s");
    assert!(rust.contains("/// Whether an event passes.\n"), "{rust}");
    assert!(
        rust.contains("passes(limits: &MemoryStore, time: Time) -> bool {\n    limits."),
        "{rust}"
    );
    assert!(rust.contains("fields: &() }"), "{rust}");
}

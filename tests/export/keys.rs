//! The keys that each server can count by, and the others.

use ratescope::Policy;
use ratescope::policy::export::{Addresses, Target};

/// A limiter of each server, and the keys that it can count by, of [`KEYS`].
pub(crate) const SERVERS: [(Target, &str, &str); 11] = [
    (
        Target::Nginx,
        "nginx 10/1s burst 20 nodelay",
        "all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent",
    ),
    (
        Target::Haproxy,
        "haproxy 20/10s",
        "all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent",
    ),
    (
        Target::Envoy,
        "envoy 5/1s burst 10",
        "all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent",
    ),
    (
        Target::Descriptors,
        "10/1m",
        "all ip forwarded host path method agent referer api-key ip+path forwarded+host+agent",
    ),
    (
        Target::Caddy,
        "sliding-log 10/1m",
        "all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent",
    ),
    (Target::Traefik, "gcra 10/1s burst 20", "ip forwarded host agent referer api-key"),
    (
        Target::Cloudflare,
        "sliding-counter 9/10s",
        "all ip forwarded host path agent referer api-key ip+path forwarded+host+agent",
    ),
    (Target::Exim, "exim 10/1m strict", "all ip user host sender helo"),
    (
        Target::Rust,
        "10/1m",
        "all ip forwarded host path method user agent referer api-key ip+path forwarded+host+agent status bytes peer request time key sender helo message",
    ),
    (Target::Nftables, "token-bucket 6/1h burst 5", "all ip"),
    (Target::Fail2ban, "fail2ban 5/10m", "ip"),
];

/// All keys that are tried.
pub(crate) const KEYS: &str = SERVERS[8].2;

/// The ways to count addresses.
pub(crate) const ADDRESSES: [Addresses; 4] = [
    Addresses { ipv6_prefix: 128, forwarded: false },
    Addresses { ipv6_prefix: 64, forwarded: false },
    Addresses { ipv6_prefix: 128, forwarded: true },
    Addresses { ipv6_prefix: 48, forwarded: true },
];

/// Each key of each server, or the reason why there is none.
#[test]
fn a_server_is_asked_only_for_keys_that_it_has() {
    for (target, limiter, known) in SERVERS {
        let known: Vec<&str> = known.split(' ').collect();
        for key in KEYS.split(' ') {
            let policy: Policy = format!("{limiter} per {key}").parse().unwrap();
            for addresses in ADDRESSES {
                let written = target.configure_for(&policy, addresses);
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

/// A client that a proxy names is found by the server's own means.
#[test]
fn a_client_behind_a_proxy_is_found() {
    for (target, limiter, means) in [
        (Target::Nginx, "nginx 9/1s", "set_real_ip_from 10.0.0.0/8;"),
        (
            Target::Haproxy,
            "haproxy 9/1s",
            "set-src req.hdr_ip(x-forwarded-for,-1) if { src 10.0.0.0/8 ",
        ),
        (Target::Envoy, "envoy 9/1s", "xff_num_trusted_hops: 1"),
        (Target::Descriptors, "9/1s", "# xff_num_trusted_hops: 1"),
        (Target::Caddy, "sliding-log 9/1s", "trusted_proxies static private_ranges"),
        (Target::Traefik, "gcra 9/1s burst 2", "ipStrategy: { depth: 1 }"),
    ] {
        let write = |per: &str, forwarded| {
            let policy: Policy = format!("{limiter} per {per}").parse().unwrap();
            let addresses = Addresses { forwarded, ..Addresses::default() };
            target.configure_for(&policy, addresses).unwrap().text
        };
        assert!(write("ip", true).contains(means), "{}", write("ip", true));
        assert_eq!(write("forwarded", false), write("ip", true));
        assert!(!write("ip", false).contains(means) && !write("agent", true).contains(means));
    }
}

/// What a server writes for a limiter per `per`, and its warnings.
fn written(target: Target, policy: &str, ipv6_prefix: u8, forwarded: bool) -> (String, String) {
    let policy: Policy = policy.parse().unwrap();
    let written = target.configure_for(&policy, Addresses { ipv6_prefix, forwarded }).unwrap();
    (written.text, written.warnings.join("\n"))
}

/// A client is an IPv6 network, or an address.
#[test]
fn a_client_has_as_many_bits_as_it_is_given() {
    for (target, limiter, network, address) in [
        (
            Target::Nginx,
            "nginx 9/1s",
            "\"~^(?s)(?<limit_net>.{6}).{10}\\z\" \"6$limit_net\";",
            "limit_req_zone $binary_remote_addr zone",
        ),
        (
            Target::Haproxy,
            "haproxy 9/1s",
            "track-sc0 src,ipmask(32,48) table",
            "track-sc0 src table",
        ),
        (
            Target::Envoy,
            "envoy 9/1s",
            "- masked_remote_address: { v6_prefix_mask_len: 48 }\n",
            "- remote_address: {}\n",
        ),
        (
            Target::Descriptors,
            "9/1s",
            "- masked_remote_address: { v6_prefix_mask_len: 48 }\n",
            "- remote_address: {}\n",
        ),
        (
            Target::Caddy,
            "sliding-log 9/1s",
            "key {http.request.remote.host/32,48}\n",
            "key {http.request.remote.host}\n",
        ),
        (
            Target::Traefik,
            "gcra 9/1s burst 2",
            "ipStrategy: { ipv6Subnet: 48 }\n",
            "ipStrategy: {}\n",
        ),
        (
            Target::Exim,
            "exim 9/1s",
            "{${mask:$sender_host_address/48}}{$sender_host_address}}",
            " / $sender_host_address",
        ),
        (
            Target::Nftables,
            "gcra 9/1s burst 2",
            "{ ip6 saddr & ffff:ffff:ffff:: limit rate",
            "{ ip6 saddr limit rate",
        ),
    ] {
        let text = |bits| written(target, &format!("{limiter} per ip"), bits, false).0;
        assert!(text(48).contains(network) && !text(48).contains(address), "{}", text(48));
        assert!(text(128).contains(address) && !text(128).contains(network), "{}", text(128));
    }
}

/// A network that a server cannot cut is told.
#[test]
fn networks_that_a_server_does_not_know_are_told() {
    for (target, limiter, bits, forwarded, warning) in [
        (Target::Nginx, "nginx 9/1s", 47, false, "its IPv6 networks have whole bytes"),
        (Target::Caddy, "sliding-log 9/1s", 48, true, "Caddy counts each IPv6 address"),
        (Target::Traefik, "gcra 9/1s burst 2", 48, false, "Traefik has ipv6Subnet from 3.1 on"),
    ] {
        let told = |bits, forwarded| {
            written(target, &format!("{limiter} per ip"), bits, forwarded).1.contains(warning)
        };
        assert!(told(bits, forwarded) && !told(128, forwarded), "{target}");
    }
    let (text, _) = written(Target::Caddy, "sliding-log 9/1s per ip", 48, true);
    assert!(text.contains("key {http.vars.client_ip}\n"), "{text}");
}

/// Whoever counts in one limit before the next refuses says so, where there is a next.
#[test]
fn one_limit_has_no_other_to_warn_of() {
    for (target, limiter, warning) in [
        (Target::Envoy, "envoy 9/1s", "later one refuses has paid the first"),
        (Target::Caddy, "sliding-log 9/1s", "a later one refuses has counted"),
        (Target::Traefik, "gcra 9/1s burst 2", "a later one refuses has counted"),
        (Target::Cloudflare, "sliding-counter 9/1m", "may have counted in others"),
        (Target::Nftables, "gcra 9/1s burst 2", "a later one drops has counted"),
    ] {
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
    let caddy = all(Target::Caddy, "sliding-log 9/1s");
    assert!(caddy.contains("\t\tkey all\n"), "{caddy}");
    let rust = all(Target::Rust, "9/1s");
    assert!(rust.contains("/// Whether an event passes.\n"), "{rust}");
    assert!(rust.contains("passes(limits: &Store, time: Time) -> bool {\n    limits."), "{rust}");
    assert!(rust.contains("fields: &() }"), "{rust}");
}

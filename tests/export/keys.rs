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

//! A policy in the words of each server: the text as it was committed, and accepted by the server's
//! own checker where that is installed.

mod accepted;
pub(crate) mod keys;
/// The exported Rust compiles. If the file is missing, write it by hand first.
#[allow(unreachable_pub)]
mod exported {
    include!("rust.txt");
}

use crate::committed::committed;
use crate::table::rows;
use ratescope::Policy;
use ratescope::policy::Defaults;
use ratescope::{MemoryStore, Time};
use ratescope_config::{Configuration, Target};

/// Policies that have a text: the file's name, the target and the policy.
const WRITTEN: &str = "
    exim.acl | exim | exim 10/1m strict per ip
    exim-two.acl | exim | exim 100/1h leaky per user & exim 0.5/90s strict per sender+ip
    nginx.conf | nginx | nginx 10/1s burst 20 nodelay per ip
    nginx-cut.conf | nginx | nginx 1/1m per all
    nginx-three.conf | nginx | \
        nginx 30/1m burst 12 delay 8 per user & nginx 5/1s burst 5 per api-key & nginx 9/1s burst 1 per ip+path
    nginx-bucket.conf | nginx | token-bucket 100/10s burst 20 per ip+host+agent
    nginx-queue.conf | nginx | leaky-bucket 30/1m queue 5 per path
    haproxy.cfg | haproxy | haproxy 20/10s per ip
    haproxy-allowed.cfg | haproxy | haproxy 1/10s allowed per api-key
    haproxy-three.cfg | haproxy | \
        haproxy 20/10s per ip & haproxy 100/1h allowed per path+agent & haproxy 9/500ms allowed per all
    envoy.yaml | envoy | envoy 5/1s burst 10 per ip
    envoy-all.yaml | envoy | envoy 1/50ms per all
    envoy-three.yaml | envoy | envoy 100/1m per ip+path & gcra 5/500ms burst 10 per api-key & envoy 1/2s per all
    descriptors.yaml | descriptors | 10/1m per ip
    descriptors-three.yaml | descriptors | 10/1s per ip+path & 1000/1d per api-key & 9/60m per all
    caddy.caddyfile | caddy | sliding-log 10/1m per ip & sliding-log 99/1500ms per host+path
    traefik.yaml | traefik | token-bucket 10/1s burst 20 per ip
    traefik-header.yaml | traefik | gcra 6/1m burst 1 per x-user
    cloudflare.json | cloudflare | sliding-counter 500/1m per ip & sliding-counter 9/10s per x-user
    nftables.conf | nftables | token-bucket 6/1h burst 5 per ip & gcra 100/10s burst 200 per all
    jail.local | fail2ban | fail2ban 5/10m ban 1h per ip
    rust.txt | rust | gcra 5/1s burst 10 per user+ip & 100/1m per ip & exim 9/1h per all
";

fn configure(target: Target, policy: &str) -> Configuration {
    let policy = Policy::read(policy, &Defaults::default()).unwrap_or_else(|e| panic!("{e}"));
    target.configure(&policy).unwrap_or_else(|e| panic!("{e}"))
}

/// How a comment begins in a file, and the warnings as such.
fn warnings(name: &str, written: &Configuration) -> String {
    let mark = if name.ends_with(".txt") || name.ends_with(".json") { "//" } else { "#" };
    written.warnings.iter().map(|warning| format!("{mark} Warning: {warning}\n")).collect()
}

/// Every text with its warnings, against the committed one.
#[test]
fn the_texts_are_the_committed_ones() {
    for [name, target, policy] in rows(WRITTEN) {
        let written = configure(target.parse().unwrap(), policy);
        let text = warnings(name, &written) + &written.text;
        assert_eq!(text, committed(&format!("tests/it/write/{name}"), &text), "{name}");
    }
}

#[test]
fn what_is_written_as_rust_decides() {
    let limits: MemoryStore = exported::limits().unwrap();
    let passed = (0..12).filter(|_| exported::passes(&limits, Time::ZERO, ["ann", "192.0.2.7"]));
    assert_eq!(passed.count(), 9);
}

/// The policies that a server can't express, and the reasons.
#[test]
fn what_cannot_be_said_is_an_error() {
    for [target, policy, problem] in rows(
        "
        nginx | sliding-log 10/1m per ip | it has a bucket only
        nginx | haproxy 10/1m per ip | it has a bucket only
        nginx | gcra 100/1h burst 5 | this is 1.666667 a minute
        nginx | gcra 10/1s burst 2.5 | its burst is a whole number
        nginx | gcra 0/1s | it admits nothing
        traefik | token-bucket 0/1s per ip | it admits nothing
        nginx | nginx 10/1s per x_key | x_key is no field of a request
        haproxy | token-bucket 10/1s | it counts in windows of its own
        haproxy | haproxy 10/1s per user | it knows no users
        haproxy | haproxy 10/20d | it keeps an entry for 24.8 days at most
        haproxy | haproxy 10/1073741324ms | it keeps an entry for 24.8 days at most
        envoy | leaky-bucket 10/1s | it has a bucket only
        envoy | token-bucket 0.5/1s burst 5 | must be a whole number from 1
        envoy | token-bucket 5/10ms burst 5 | and at least 50ms
        envoy | envoy 5/1s per user | it knows no users
        descriptors | gcra 10/1m per ip | it has fixed windows only
        descriptors | 10/10m per ip | its windows are 1s, 1m, 1h or 1d
        descriptors | 0.5/1m per ip | its limits are whole numbers
        exim | adaptive x3 decay 1m floor 5 per ip | it measures a rate of its own
        exim | exim 10/500ms per ip | its periods are whole seconds
        exim | exim 0/1m per ip | a limit of 0 only measures; write one above 0
        exim | exim 10/1m per path | it knows no path
        nftables | 10/1m per ip | it has a token bucket only
        nftables | gcra 1/11s burst 5 per ip | its rates are whole numbers a second, minute
        nftables | gcra 1/1s burst 1.5 per ip | its burst is a whole number
        nftables | gcra 1/1s burst 9 per path | it knows addresses only
        nftables | gcra 1/1s burst 9 per forwarded | it sees the address that connects
        fail2ban | 10/1m per ip | it bans by failures; write a limit such as fail2ban
        fail2ban | fail2ban 5/10m per all | it bans addresses only
        caddy | 10/1m per ip | its plugin keeps a log only
        caddy | sliding-log 0.5/1m per ip | must be whole, and at least 1
        # The whole burst would come back after 7 s, where it takes a minute.
        traefik | token-bucket 10/1m burst 10 per ip | the burst is 1 at most
        traefik | gcra 2.5/1s burst 2 per ip | average and burst are whole numbers
        traefik | gcra 2/1s burst 1.5 per ip | average and burst are whole numbers
        traefik | gcra 2/1s burst 2 per user | it knows no users
        traefik | token-bucket 10/1s burst 20 per ip+host | one of them only
        traefik | token-bucket 10/1s burst 20 per all | one of them only
        cloudflare | sliding-counter 10/5s per ip | its periods are 10s, 1m
        cloudflare | sliding-counter 10/1m per method | by their method
        cloudflare | sliding-log 10/1m per ip | it has a counter only
        ",
    ) {
        let target: Target = target.parse().unwrap();
        let policy = Policy::read(policy, &Defaults::default()).unwrap_or_else(|e| panic!("{e}"));
        let error = target.configure(&policy).unwrap_err();
        assert!(error.problem().contains(problem), "{error}");
        assert!(error.to_string().contains(&format!("cannot say \"{policy}\": ")), "{error}");
        assert_eq!(error.target(), target);
    }
    // Two periods of this and a second are 2^31 - 2 ms.
    let longest = configure(Target::Haproxy, "haproxy 10/1073741323ms").text;
    assert!(longest.contains(" expire 2147483646ms "), "{longest}");
    let four = ["haproxy 9/1s per ip"; 4].join(" & ");
    let error = Target::Haproxy.configure(&four.parse().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("HAProxy cannot say these limits together: it follows"));
    let two = "fail2ban 5/10m per ip & fail2ban 20/1d per ip".parse().unwrap();
    let error = Target::Fail2ban.configure(&two).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(" these limits together: a jail has one limit; write one jail for each")
    );
}

/// The buckets that a server has: some rates, and bursts up to a number.
#[test]
fn servers_have_some_buckets() {
    for (target, rate, burst, has) in [
        (Target::Nginx, "10/1s", 20.0, true),
        (Target::Nginx, "10/3s", 20.0, false),
        // Traefik forgets a sender that is silent for three seconds, in which one token comes.
        (Target::Traefik, "2/5s", 1.0, true),
        (Target::Traefik, "2/5s", 2.0, false),
        (Target::Nftables, "6/1h", 65_535.0, true),
        (Target::Nftables, "6/1h", 65_536.0, false),
        (Target::Nftables, "6/1h", 2.5, false),
        (Target::Nftables, "3/1w", 5.0, true),
        (Target::Nftables, "1/11s", 5.0, false),
        (Target::Haproxy, "1/11s", 2.5, true),
    ] {
        assert_eq!(
            target.has_bucket(rate.parse().unwrap(), burst),
            has,
            "{target} {rate}, {burst}"
        );
    }
}

#[test]
fn targets_have_words() {
    for target in Target::ALL {
        assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
    }
    assert_eq!((Target::Nginx.title(), Target::Caddy.file()), ("nginx", "Caddyfile"));
    let error = "apache".parse::<Target>().unwrap_err();
    assert!(error.problem().starts_with("not a target; write one of exim, nginx, haproxy, envoy"));
}

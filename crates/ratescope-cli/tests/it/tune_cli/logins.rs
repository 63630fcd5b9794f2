//! `ratescope tune` on failed logins: every line is a failure, and most clients are attackers.

use super::{file, run, text, tune};
use serde_json::Value;

/// 24 attackers of a server with sshd, over a day: the first eleven try 40 passwords or more, one every three seconds;
/// nine try one every 100 s; four try four in a row and go. Three people mistype up to three times and then log in.
fn attacks() -> String {
    let mut lines: Vec<(u32, String)> = Vec::new();
    let mut attempt = |at: u32, did: &str, address: &str| {
        lines.push((at, format!("{did} password for root from {address} port 5{at:05} ssh2")));
    };
    let mut failed = |n: u32, from: u32, apart: u32, address: String| {
        (0..n).for_each(|i| attempt(from + i * apart, "Failed", &address));
        if address.starts_with("192.0.2.20") {
            attempt(from + 20, "Accepted", &address);
        }
    };
    (0..11).for_each(|n| failed(40 + n * 20, n * 6000, 3, format!("203.0.113.{n}")));
    (0..9).for_each(|n| failed(60, n * 7000, 100, format!("198.51.100.{n}")));
    (0..4).for_each(|n| failed(4, n * 9000, 2, format!("192.0.2.{n}")));
    (1..=3).for_each(|n| failed(n, n * 20_000, 5, format!("192.0.2.20{n}")));
    lines.sort();
    let line = |(i, (at, said)): (usize, &(u32, String))| {
        let [h, m, s] = [at / 3600, at / 60 % 60, at % 60];
        format!("2026-03-02T{h:02}:{m:02}:{s:02}+00:00 web1 sshd[{}]: {said}\n", 1000 + i)
    };
    lines.iter().enumerate().map(line).collect()
}

fn recommended(answer: &Value) -> (&str, u64) {
    let own = &answer["for"][0]["recommended"];
    (own["limit"].as_str().unwrap(), own["clients_touched"].as_u64().unwrap())
}

/// The limit lets people mistype, and stops the attackers, whatever their share.
#[test]
fn the_smallest_limit_for_people_who_mistype() {
    let log = attacks();
    let answer = tune(&[], log.as_bytes());
    assert_eq!(answer["clients"], 27);
    assert_eq!(recommended(&answer), ("fail2ban 4/10m ban 10m", 24));
    let report = run(&["tune"], log.as_bytes());
    let report = text(&report.stdout);
    for said in [
        "\nThe smallest limit of each period that lets three failed logins in a row pass:\n",
        "\nEach line is a failed login, so the limit is not the one that leaves most clients alone, but the smallest \
         that people who mistype stay below: three in a row pass.\n",
        "maxretry = 4\nfindtime = 600\n",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
    assert!(!report.contains("\nBut"), "{report}");
    for (server, limit) in [
        ("exim", "exim 3/10m strict"),
        ("nginx", "nginx 1/1m burst 2 nodelay"),
        ("caddy", "sliding-log 3/10m"),
    ] {
        assert_eq!(recommended(&tune(&["--for", server], log.as_bytes())).0, limit);
    }
    // Who asks for a share of the clients gets it: only those far above all others are stopped.
    let share = tune(&["--untouched", "99.9"], log.as_bytes());
    assert_eq!(recommended(&share).1, 3);
}

/// A limit that is looser than the one in force comes with a warning. Both count in the same period.
#[test]
fn a_looser_limit_comes_with_a_warning() {
    let log = attacks();
    let answer = |maxretry: u32| {
        let jail = format!(
            "[sshd]\nenabled = true\nmaxretry = {maxretry}\nfindtime = 20m\nbantime = 10m\n"
        );
        let jail = file(&format!("jail-{maxretry}.local"), &jail);
        tune(&["--config", &jail], log.as_bytes())
    };
    for (maxretry, looser) in [(5, false), (4, false), (2, true)] {
        let answer = answer(maxretry);
        assert_eq!(recommended(&answer).0, "fail2ban 4/20m ban 10m");
        let number = |value: &Value| value["requests_refused"].as_u64().unwrap();
        let [today, new] =
            [&answer["today"]["limits"][0], &answer["for"][0]["recommended"]].map(number);
        let says = answer["today"]["says"][1].as_str().unwrap();
        let warning = format!(
            "The new limit is looser: {} more failed logins would pass.",
            today.saturating_sub(new)
        );
        assert_eq!((says.contains("looser"), today > new), (looser, looser), "{says}");
        assert_eq!(says.ends_with(&warning), looser, "{says}");
    }
}

/// The jail is that of the program whose failed logins the log tells of, or of those that are looked at.
#[test]
fn the_jail_is_that_of_the_program() {
    let line = |i: usize, from: &str, says: &str| {
        let [h, m] = [i / 60, i % 60];
        format!("2026-03-02T{h:02}:{m:02}:00+00:00 web1 {from}[{}]: {says}\n", 100 + i)
    };
    let sshd = |i: usize| {
        line(i, "sshd", &format!("Failed password for root from 192.0.2.{} port 9 ssh2", i % 9))
    };
    let dovecot = |i: usize| {
        let who = format!("user=<ann>, method=PLAIN, rip=198.51.100.{}, lip=192.0.2.1", i % 9);
        let says = format!("imap-login: Disconnected (auth failed, 1 attempts in 2 secs): {who}");
        line(i, "dovecot", &says)
    };
    let postfix = |i: usize| {
        let says = "SASL LOGIN authentication failed: UGFzc3dvcmQ6";
        line(i, "postfix/smtpd", &format!("warning: unknown[203.0.113.{}]: {says}", i % 9))
    };
    let log = |programs: &[&dyn Fn(usize) -> String]| -> String {
        (0..60).map(|i| programs[i % programs.len()](i)).collect()
    };
    let both = log(&[&sshd, &dovecot, &dovecot]);
    for (input, args, jail, also) in [
        (log(&[&sshd]), &[][..], "sshd", None),
        (log(&[&dovecot]), &[], "dovecot", None),
        (log(&[&postfix]), &[], "postfix-sasl", None),
        (both.clone(), &[], "dovecot", Some("the log also has failed logins for sshd: ")),
        (both.clone(), &["--where", "program=sshd"], "sshd", None),
        // Of a log of requests nobody knows the jail.
        (super::log(), &["--for", "fail2ban"], "sshd", None),
    ] {
        let own = &tune(args, input.as_bytes())["for"][0];
        let configuration = own["configuration"].as_str().unwrap();
        assert!(configuration.contains(&format!("\n[{jail}]\nenabled = true\n")), "{own}");
        let is_example = configuration.contains("in place of that of ssh");
        assert_eq!(is_example, args == ["--for", "fail2ban"], "{own}");
        let notes = own["notes"].to_string();
        assert_eq!(notes.contains("also has failed logins"), also.is_some(), "{notes}");
        assert!(also.is_none_or(|also| notes.contains(also)), "{notes}");
    }
}

/// Each server's answer names who is far above all others, and the limit that would let it pass.
#[test]
fn each_server_names_who_is_far_above_all_others() {
    let line = |client: usize, at: usize| {
        let [m, s] = [at / 60, at % 60];
        format!(
            "192.0.2.{client} - - [10/Oct/2000:13:{m:02}:{s:02} +0000] \"GET / HTTP/1.1\" 200 1\n"
        )
    };
    let others =
        (0..40).flat_map(|client| (0..=client % 8).map(move |i| (client, client * 60 + i)));
    let mut requests: Vec<(usize, usize)> = others.collect();
    requests.extend((0..1600).map(|i| (250, 1200 + i / 2)));
    requests.sort_by_key(|(_, at)| *at);
    let log: String = requests.into_iter().map(|(client, at)| line(client, at)).collect();
    let servers = "exim,nginx,haproxy,envoy,descriptors,caddy,traefik,cloudflare,rust,nftables,fail2ban,rules";
    let answer = tune(&["--for", servers], log.as_bytes());
    let own = answer["for"].as_array().unwrap();
    assert_eq!(own.len(), 12);
    for own in own {
        let says = own["far_above"]["says"].as_str().unwrap_or_else(|| panic!("{own}"));
        assert!(says.starts_with("192.0.2.250 came far faster than the 40 others, "), "{own}");
    }
    let report = run(&["tune", "--for", servers], log.as_bytes());
    let hint = "If it is one of yours, put the key into the file of --marks.";
    assert_eq!(text(&report.stdout).matches(hint).count(), 12);
}

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

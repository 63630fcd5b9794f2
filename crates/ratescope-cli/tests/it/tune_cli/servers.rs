//! `ratescope tune --for`: the recommendation for a server.

use super::{assert_wrong, file, log, run, text, tune};
use serde_json::{Value, json};

/// How the server counts otherwise than the log was read is noted with its configuration.
#[test]
fn notes_come_with_the_configuration() {
    let line = |i: u32| format!("{i},2001:db8::{:x},/,GET\n", i % 99);
    let input = format!("time,ip,path,method\n{}", (0..500).map(line).collect::<String>());
    let ask = |args: &[&str]| {
        let args = [&["--untouched", "100", "--key", "ip", "--method", "GET", "--for"], args];
        let answer = tune(&args.concat(), input.as_bytes());
        let part = |name: &str| answer["for"][0][name].to_string();
        (part("notes"), part("configuration"))
    };
    let filter = "method GET only";
    assert!(ask(&["nginx"]).0.contains(filter) && !ask(&["rust"]).0.contains(filter));
    // The server counts by the networks by which the log was read.
    assert!(ask(&["nginx"]).1.contains("(?<limit_net>.{8}).{8}"));
    assert!(ask(&["nginx", "--ipv6-prefix", "48"]).1.contains("(?<limit_net>.{6}).{10}"));
    let path = super::file("networks.tune", "");
    let args = ["--key", "ip", "--ipv6-prefix", "48", "--summary", &path];
    assert_eq!(tune(&args, input.as_bytes())["requests"], 500);
    let sum = tune(&["--merge", &path, "--untouched", "100", "--for", "nginx"], b"");
    assert!(sum["for"][0]["configuration"].to_string().contains("(?<limit_net>.{6}).{10}"));
    // A prefix that nginx can't have is noted.
    assert_ne!(ask(&["nginx", "--ipv6-prefix", "60"]).0, ask(&["nginx", "--ipv6-prefix", "48"]).0);
    assert!(ask(&["nginx", "--ipv6-prefix", "128"]).1.contains("zone $binary_remote_addr zone="));
    assert!(ask(&["haproxy"]).1.contains("track-sc0 src,ipmask(32,64) table"));
    assert_wrong(
        &["--path", "/nowhere", "--status", "5xx,404"],
        log().as_bytes(),
        "the filter leaves none of 3,000 events: path /nowhere and status 5xx or 404",
    );
    let nobody = ["--key", "user", "--only-keyed"];
    let says = "none of 3,000 events has a field of the key; choose another key";
    assert_wrong(&nobody, log().as_bytes(), says);
    let log = "{\"ts\":1,\"method\":\"GET\"}\n{\"ts\":2,\"method\":\"PUT\"}\n";
    let says = "the filter leaves 1 of 2 events, none with a field of the key: method GET";
    assert_wrong(&[&nobody[..], &["--method", "GET"]].concat(), log.as_bytes(), says);
    // A log of JSON needs no layout, but a time.
    let json = "It is not read as json: ";
    assert_wrong(&[], b"{\"a\":1}\n", &format!("{json}an object without a time"));
    assert_wrong(&[], b"{\"time\":\"yesterday\"}\n", &format!("{json}not a time: yesterday"));
}

/// Exim counts mails, their bytes or their recipients, as the log was read. A limit for users is only for mails that
/// have one.
#[test]
fn exim_counts_what_the_log_was_read_by() {
    let line = |i: u32, user: &str| {
        let time = format!("2024-05-01 12:{:02}:{:02}", i / 60, i % 60);
        format!("{time} 1s2abc-0003xY-Az <= a@b H=h [192.0.2.7] P=esmtpa{user} S=700 for x@y z@y\n")
    };
    let log: String = (0..300).map(|i| line(i, if i % 3 == 0 { "" } else { " A=p:ann" })).collect();
    let report = |args: &[&str]| {
        let output = run(&[&["tune", "--untouched", "0"], args].concat(), log.as_bytes());
        text(&output.stdout).to_owned()
    };
    for (args, said, acl) in [
        (&["--key", "ip"][..], " mails ", "per_mail / strict / $sender_host_address\n"),
        (&["--key", "user"], " mails ", "deny\n  authenticated = *\n"),
        (&["--cost", "bytes"], " bytes ", "In the ACL of acl_smtp_data:\n"),
        (&["--cost", "bytes"], " bytes ", " / per_byte / strict /"),
        (&["--cost", "recipients"], " recipients ", " / per_rcpt / strict /"),
    ] {
        let report = report(args);
        let (_, exim) = report.split_once("\nFor Exim: less than ").unwrap();
        assert!(exim.split_once(',').unwrap().0.contains(said) && exim.contains(acl), "{exim}");
    }
    let keyless = "--only-keyed leaves out those without user.";
    assert!(report(&["--key", "user"]).contains(keyless));
    assert!(!report(&["--key", "user", "--only-keyed"]).contains(keyless));
    let host = report(&["--key", "helo"]);
    assert!(host.contains("None of 300 has helo, so all count as one client: choose another key."));
    assert!(!host.contains("--only-keyed"));
    assert_wrong(
        &["--limit", "ratelimit = 9 / 1h"],
        log.as_bytes(),
        "as exim 100/1h strict per ip",
    );
}

/// Summaries of Exim's logs are answered for Exim, in the words of its log and by the costs that were read.
#[test]
fn summaries_know_what_was_read() {
    let line = |i: u32| {
        let time = format!("2024-05-01 12:{:02}:{:02}", i / 60, i % 60);
        format!("{time} 1s2abc-0003xY-Az <= a@b H=h [192.0.2.7] P=esmtp S=700 for x@y z@y\n")
    };
    let mails: String = (0..300).map(line).collect();
    let read = |name: &str, log: &str, args: &[&str]| {
        let path = super::file(name, "");
        let args = [&["tune", "--untouched", "0", "--summary", &path], args].concat();
        (text(&run(&args, log.as_bytes()).stdout).to_owned(), path)
    };
    let merged = |paths: &[&str]| {
        let output = run(&[&["tune", "--untouched", "0", "--merge"], paths].concat(), b"");
        text(&output.stdout).to_owned()
    };
    let (by_mails, a) = read("by-mails", &mails, &[]);
    let (by_bytes, b) = read("by-bytes", &mails, &["--cost", "bytes"]);
    assert!(by_mails.contains(" / per_mail / ") && by_bytes.contains(" / per_byte / "));
    assert_eq!([merged(&[&a]), merged(&[&b])], [by_mails, by_bytes]);
    let (_, c) = read("requests", &log(), &[]);
    let both = merged(&[&a, &c]);
    assert!(both.starts_with("3,300 events from 208 clients (per ip)"), "{both}");
    assert!(both.contains("\nExim's main log; Common Log Format.\n"), "{both}");
    assert!(!both.contains("For Exim"), "{both}");
    let says = format!("{b}: one summary counts each event as 1, another bytes; they don't add up");
    assert_wrong(&["--merge", &a, &b], b"", &says);
}

/// A server that counts by itself lets more pass than the logs of several machines say.
#[test]
fn the_logs_of_several_machines_are_noted() {
    let path = super::file("machine", "");
    run(&["tune", "--summary", &path], log().as_bytes());
    let says = "counts on each machine by itself";
    for (server, files, count) in
        [("nginx", 2, 1), ("nginx", 1, 0), ("descriptors", 2, 0), ("nginx,haproxy", 2, 2)]
    {
        let files = vec![path.as_str(); files];
        let args =
            [&["tune", "--for", server, "--untouched", "50", "--merge"], &files[..]].concat();
        let report = run(&args, b"");
        assert_eq!(text(&report.stdout).matches(says).count(), count, "{args:?}");
    }
}

/// The limit for a server is that of its own arithmetic, and so are its numbers.
#[test]
fn for_a_server() {
    let log = log();
    for (server, limiter, configuration) in [
        ("nginx", "nginx ", "limit_req_zone $binary_remote_addr zone=limit1:10m rate="),
        ("haproxy", "haproxy ", "http-request track-sc0 src table limit1"),
        ("envoy", "envoy ", "max_tokens: "),
        ("exim", "exim ", "ratelimit = "),
        ("fail2ban", "fail2ban ", "maxretry = "),
    ] {
        let answer = tune(&["--for", server, "--period", "1m"], log.as_bytes());
        let [own] = answer["for"].as_array().unwrap().as_slice() else { panic!("{answer}") };
        assert_eq!(own["server"], server);
        let limit = own["recommended"]["limit"].as_str().unwrap();
        assert!(limit.starts_with(limiter), "{limit}");
        assert!(own["configuration"].as_str().unwrap().contains(configuration), "{own}");
        assert_eq!(
            answer["recommended"][0], own["recommended"],
            "the curve and the table are of the same limit"
        );
        // As when it is asked about by itself.
        let asked = tune(&["--limit", limit], log.as_bytes());
        for name in ["clients_touched", "requests_refused"] {
            assert_eq!(asked["limits"][0][name], own["recommended"][name], "{limit}");
        }
    }
    let output = run(&["tune", "--for", "nginx"], log.as_bytes());
    let report = text(&output.stdout);
    let (_, own) = report.split_once("\nFor nginx: ").unwrap();
    assert!(
        own.contains(" would have refused ") && own.contains("\nlimit_req zone=limit1"),
        "{own}"
    );
    assert_wrong(&["--for", "apache"], log.as_bytes(), "nginx");
}

/// A log of Exim is answered for Exim and failed logins for fail2ban, until another server is chosen.
#[test]
fn usual_servers() {
    let mail = "2000-10-10 13:55:36 1pDvIa-0001Xy-2Z <= ann@example.org H=a [192.0.2.1] S=1\n";
    let login = "2026-03-02T12:10:00+00:00 host sshd[7]: Failed password for root from 192.0.2.1 port 9 ssh2\n";
    for (input, usual) in
        [(mail.repeat(3), Some("exim")), (login.repeat(3), Some("fail2ban")), (log(), None)]
    {
        let servers = |args: &[&str]| -> Vec<String> {
            let answer = tune(&[args, &["--only", "--period", "1m"]].concat(), input.as_bytes());
            let servers = answer["for"].as_array().unwrap().iter();
            servers.map(|own| own["server"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(servers(&[]), Vec::from_iter(usual));
        assert_eq!(servers(&["--for", "haproxy"]), ["haproxy"]);
    }
}

/// If nobody need be left alone, the smallest limit is still one that lets something through.
#[test]
fn no_limit_is_none() {
    let args = ["--untouched", "0", "--only", "--period", "1m", "--by"];
    for (by, limit) in [
        // At its limit Exim refuses, and a policy takes no limit of 1.
        ("exim", "exim 2/1m strict"),
        ("sliding-log", "sliding-log 1/1m"),
        ("haproxy", "haproxy 1/1m"),
        ("bucket", "gcra 6/1h burst 1"),
    ] {
        let answer = tune(&[&args[..], &[by]].concat(), log().as_bytes());
        assert_eq!(answer["periods"][0]["limit"], limit);
        limit.parse::<ratescope::Policy>().unwrap();
    }
    for (server, limit) in [
        ("nginx", "nginx 1/1m nodelay"),
        ("haproxy", "haproxy 1/1m"),
        ("exim", "exim 2/1m strict"),
        ("envoy", "envoy 6/1h burst 1"),
        ("caddy", "sliding-log 1/1m"),
        ("fail2ban", "fail2ban 2/1m ban 10m"),
    ] {
        let args = ["--untouched", "0", "--period", "1m", "--for", server];
        let answer = tune(&args, log().as_bytes());
        assert_eq!(answer["for"][0]["recommended"]["limit"], limit);
        assert!(answer["for"][0]["configuration"].is_string(), "{answer}");
    }
    // Where requests cost less than 1, so may their limit.
    let input = "time,key,cost\n0,a,0.25\n1,a,0.25\n0,b,0.125\n";
    let args = ["--untouched", "50", "--by", "sliding-log"];
    let answer = tune(&args, input.as_bytes());
    assert_eq!(answer["periods"][0]["limit"], "sliding-log 0.15/1m");
}

/// A configuration can be pasted from the terminal, where a tab of a log would be made visible.
#[test]
fn what_is_printed_can_be_pasted() {
    let answer = run(&["tune", "--for", "nftables", "--for", "caddy"], log().as_bytes());
    let said = text(&answer.stdout);
    assert!(said.contains("\n    chain input {\n        type filter hook input"), "{said}");
    assert!(
        said.contains("rate_limit {\n    zone limit1 {\n        key {") && !said.contains('·'),
        "{said}"
    );
}

/// The rule file that is written refuses in `simulate` as many as `tune` says: its names are Envoy's.
#[test]
fn a_written_rule_file_is_simulated_with_the_same_effect() {
    for key in ["ip", "ip+path", "all"] {
        let args = ["--for", "descriptors", "--key", key, "--untouched", "50"];
        let answer = tune(&args, log().as_bytes());
        let own = &answer["for"][0];
        let refused = own["recommended"]["requests_refused"].as_u64().unwrap();
        let rules = file("own-rules.yaml", own["configuration"].as_str().unwrap());
        let output = run(&["simulate", "--rules", &rules], log().as_bytes());
        let said = text(&output.stderr);
        let summary = format!("{} of 3000 allowed", 3000 - refused);
        assert!(said.contains(&summary), "{key}: {summary}\n{said}");
        assert!(!said.contains("no columns here"), "{said}");
    }
}

/// A rule file of our own refuses as many as the report says, when it is tried on the same log.
#[test]
fn rules_refuse_what_is_said() {
    for key in ["ip", "ip+path"] {
        let args = ["--for", "rules", "--untouched", "90", "--period", "1m", "--key", key];
        let answer = tune(&args, log().as_bytes());
        let own = &answer["for"][0];
        assert_eq!(own["server"], "rules");
        let refused = own["recommended"]["requests_refused"].as_u64().unwrap();
        assert!(refused > 0, "{own}");
        let rules = file(&format!("rules-{key}.yaml"), own["configuration"].as_str().unwrap());
        let args = ["simulate", "--format", "jsonl", "--rules", &rules];
        let simulated = run(&args, log().as_bytes());
        let lines = text(&simulated.stdout).lines().map(|line| serde_json::from_str(line).unwrap());
        let count = lines.filter(|line: &Value| line["allowed"] == json!(false)).count();
        assert_eq!(count as u64, refused, "{key}: {}", text(&simulated.stderr));
    }
    let report = run(&["tune", "--for", "rules"], log().as_bytes());
    let (_, own) = text(&report.stdout).split_once("\nFor ratescope run: ").unwrap();
    assert!(own.contains("\ndescriptors:\n  - key: ip\n    limit: gcra "), "{own}");
    assert_wrong(&["--for", "rulez"], b"", "nftables, fail2ban, or rules");
}

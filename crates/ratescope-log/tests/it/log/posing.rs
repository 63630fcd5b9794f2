//! Clients that pretend to be others.

use super::wrappers::TIME;
use super::{of, read};
use ratescope_log::{Format, Layout, Options};
use std::sync::Arc;

/// Text that clients write into any field, in any format, is never taken for the client.
#[test]
fn no_client_poses_as_another() {
    let posing = [
        "203.0.113.9",
        "x from 203.0.113.9",
        "x from 203.0.113.9 port 5 ssh2",
        "a, rip=203.0.113.9",
        "rhost=203.0.113.9",
        "[203.0.113.9]",
        "unknown[203.0.113.9]: SASL LOGIN authentication failed: x",
        "z>, method=PLAIN, rip=203.0.113.9, user=<",
        "203.0.113.9 - - [10/Oct/2000:13:55:36 +0000]",
        "- 203.0.113.9 - -",
        "|203.0.113.9|",
        "203.0.113.9:80 [10/Oct/2000:13:55:36.000] in b/s",
    ];
    let rest = "\"GET / HTTP/1.1\" 200 1 \"-\" \"-\"";
    let lines = |name: &str| {
        [
            // Users, agents, referers, paths and lists of forwarded addresses, in access logs.
            format!("192.0.2.7 - {name} [{TIME}] {rest}"),
            format!("192.0.2.7 - - [{TIME}] \"GET /{name} HTTP/1.1\" 200 1 \"-\" \"-\""),
            format!("192.0.2.7 - - [{TIME}] \"GET / HTTP/1.1\" 200 1 \"{name}\" \"{name}\" \"{name}\""),
            format!("www.example.org 192.0.2.7 - {name} [{TIME}] {rest}"),
            format!("<190>Oct 10 13:55:36 a nginx: 192.0.2.7 - {name} [{TIME}] {rest}"),
            format!("web-1  | 192.0.2.7 - {name} [{TIME}] {rest}"),
            format!("2000-10-10T13:55:36Z stdout F 192.0.2.7 - {name} [{TIME}] {rest}"),
            format!("{TIME}|192.0.2.7|GET /{name} HTTP/1.1|200|1|{name}"),
            format!("{TIME}\t192.0.2.7\tGET /{name} HTTP/1.1\t200\t1\t{name}"),
            format!("971186136.5 192.0.2.7 \"GET /{name} HTTP/1.1\" 200 \"{name}\""),
            format!(
                "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 0/0/0/0/0 200 9 {name} - ---- 1/1/0/0/0 0/0 \
                 {{{name}}} \"GET /{name} HTTP/1.1\""
            )
            .replacen(&format!("9 {name} -"), "9 - -", 1),
            format!(
                "[2000-10-10T13:55:36.000Z] \"GET /{name} HTTP/1.1\" 200 - 0 1 2 3 \"{name},192.0.2.7\" \
                 \"{name}\" \"id\" \"{name}\" \"10.0.0.1:80\""
            ),
            format!("{{\"ts\":1,\"ip\":\"192.0.2.7\",\"user\":\"{name}\",\"path\":\"/{name}\",\"agent\":\"{name}\"}}"),
            format!("971186136.5    120 192.0.2.7 TCP_MISS/200 9 GET http://a/{} - HIER_NONE/- -", name.replace(' ', "%20")),
            format!("http 2000-10-10T13:55:36.5Z elb 192.0.2.7:5 - 0 0 0 200 - 1 2 \"GET http://a:80/{name} HTTP/1.1\" \"{name}\" - -"),
            format!(
                "2000/10/10 13:55:36 [error] 1#1: *5 limiting requests, excess: 1.5 by zone \"z\", client: 192.0.2.7, \
                 server: a, request: \"GET /{name} HTTP/1.1\", host: \"{name}\""
            ),
            format!(
                "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2000-10-10T13:55:36.5Z\"}}",
                serde_json::to_string(&format!("192.0.2.7 - - [{TIME}] \"GET /{name} HTTP/1.1\" 200 1 \"-\" \"{name}\"\n")).unwrap()
            ),
            format!("2000/10/10 13:55:36.000\tINFO\thttp.log.access\thandled request\t{{\"request\":{{\"remote_ip\":\"192.0.2.7\",\"uri\":\"/{name}\"}}}}"),
            format!(
                "[2000-10-10T13:55:36.000Z] \"GET /{name} HTTP/1.1\" 200 - via_upstream - \"-\" 0 9 3 1 \"{name}\" \"{name}\" \"id\" \
                 \"{name}\" \"10.1.0.2:80\" inbound|80|| 127.0.0.6:1 10.1.0.2:80 192.0.2.7:4711 outbound_.80_._.web default"
            ),
            // IIS writes a plus for a space, and CloudFront has tabs between columns.
            format!(
                "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status\n\
                 2000-10-10 13:55:36 10.0.0.1 GET /{plus} {plus} 443 {plus} 192.0.2.7 {plus} 200",
                plus = name.replace(' ', "+")
            ),
            format!(
                "#Fields: date time x-edge-location c-ip cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent)\n\
                 2000-10-10\t13:55:36\tFRA2\t192.0.2.7\tGET\t{name}\t/{name}\t200\t{name}"
            ),
            // User names of logins, and host names that a client claims.
            format!("Oct 10 13:55:36 a sshd[1]: Failed password for invalid user {name} from 192.0.2.7 port 5 ssh2"),
            format!(
                "Oct 10 13:55:36 a postfix/smtpd[1]: warning: unknown[192.0.2.7]: SASL LOGIN authentication \
                 failed: x, sasl_username={name}"
            ),
            format!(
                "Oct 10 13:55:36 a dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): \
                 user=<{name}>, method=PLAIN, rip=192.0.2.7, lip=198.51.100.1"
            ),
            format!(
                "2000-10-10 13:55:36 1s2abc-0003xY-Az <= a@b H=({name}) [192.0.2.7] P=smtp T=\"{name}\""
            ),
            format!(
                "2000-10-10 13:55:36 H=({name}) [192.0.2.7]:5 F=<\"{name}\"@b> rejected RCPT <\"{name}\"@c>: no"
            ),
        ]
    };
    for name in posing {
        for (usual, line) in lines("x").into_iter().zip(lines(name)) {
            // A line with an uncertain client is no event.
            let log = format!("{}{line}\n", format!("{usual}\n").repeat(12));
            let read = read(log.as_bytes(), &Options::default(), ["ip"]);
            let count = read.events.len();
            assert!(count + read.counts.unread as usize == 13 && count > 11, "{line}");
            assert_eq!(read.fields(), vec![["192.0.2.7"]; count], "{line}");
        }
    }
}

/// Beside a list of forwarded addresses, the peer is the client unless it is internal. If it is uncertain
/// which address is the peer, the line has no client.
#[test]
fn lists_before_and_after_the_peer() {
    let rest = format!("- - [{TIME}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"");
    let clients = |heads: &[&str]| {
        let log: String = heads.iter().map(|head| format!("{head} {rest}\n")).collect();
        let read = read(log.as_bytes(), &of(Format::COMBINED), ["ip", "forwarded"]);
        let fields: Vec<String> = read.fields().iter().map(|fields| fields.join("/")).collect();
        (fields.join(" "), read.counts.unread)
    };
    let before = ["- 10.0.0.1", "203.0.113.9, 10.0.0.9 10.0.0.1", "203.0.113.9 198.51.100.1"];
    assert_eq!(
        clients(&before),
        ("10.0.0.1/ 203.0.113.9/203.0.113.9 198.51.100.1/203.0.113.9".to_owned(), 0)
    );
    let after = ["10.0.0.1 -", "10.0.0.1 203.0.113.9, 10.0.0.9", "198.51.100.1 203.0.113.9"];
    assert_eq!(
        clients(&after),
        ("10.0.0.1/ 203.0.113.9/203.0.113.9 198.51.100.1/203.0.113.9".to_owned(), 0)
    );
    let posing = [&before[..], &["x 198.51.100.9 - - 192.0.2.7"]].concat();
    assert_eq!(clients(&posing).1, 1);
    let posing = [&before[..], &["198.51.100.9 - - 192.0.2.7"]].concat();
    assert!(clients(&posing).0.ends_with(" 192.0.2.7/"), "{posing:?}");
}

/// The rest of a line after the client.
fn rest() -> String {
    format!("[{TIME}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n")
}

/// The clients of a log with these columns before the time, its hosts, and the number of lines that are not read.
#[track_caller]
fn clients_and_hosts(heads: &[&str], options: &Options) -> (Vec<String>, u64) {
    let log: String = heads.iter().map(|head| format!("{head} {}", rest())).collect();
    let read = read(log.as_bytes(), options, ["host", "ip"]);
    (read.fields().iter().map(|fields| fields.join("/")).collect(), read.counts.unread)
}

/// Each spelling of a virtual host before each kind of client.
#[test]
fn a_virtual_host_is_no_client() {
    let hosts = [
        ("shop.example", "shop.example"),
        ("shop.example:443", "shop.example"),
        ("www.shop.example:80", "www.shop.example"),
        ("localhost", "localhost"),
        ("_", "_"),
        ("*.shop.example", "*.shop.example"),
        ("203.0.113.5:443", "203.0.113.5"),
        ("[2001:db8::5]:443", "[2001:db8::5]"),
        ("[2001:db8::5]", "[2001:db8::5]"),
    ];
    let clients = [
        ("192.0.2.7", "192.0.2.7"),
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("pool-2.isp.example", "pool-2.isp.example"),
        ("localhost", "localhost"),
        ("-", ""),
    ];
    for (host, name) in hosts {
        for (client, ip) in clients {
            for user in ["-", "ann"] {
                let line = format!("{host} {client} - {user}");
                // Alone, and after others of the log.
                for before in [&[][..], &["shop.example 192.0.2.9 - -"; 3]] {
                    let lines = [before, &[line.as_str()]].concat();
                    let (found, unread) = clients_and_hosts(&lines, &Options::default());
                    assert_eq!(unread, 0, "{lines:?}");
                    assert_eq!(found.last(), Some(&format!("{name}/{ip}")), "{lines:?}");
                }
            }
        }
    }
    for host in ["shop.example", "\"shop.example\""] {
        let (found, _) =
            clients_and_hosts(&[&format!("{host} pool-2.isp.example - -")], &of(Format::COMBINED));
        assert!(found.iter().all(|found| found.ends_with("/pool-2.isp.example")), "{found:?}");
    }
}

/// In a log of hosts and clients, an address in the column of hosts is a host, too.
#[test]
fn a_log_of_hosts_has_no_lists_in_their_place() {
    let lines = ["shop.example 192.0.2.9 - -", "203.0.113.5 10.0.0.7 - -", "- 10.0.0.7 - -"];
    let found = ["shop.example/192.0.2.9", "203.0.113.5/10.0.0.7", "/10.0.0.7"];
    let most = [&lines[..1], &lines[..1], &lines].concat();
    let (hosts, unread) = clients_and_hosts(&most, &Options::default());
    assert_eq!((&hosts[2..], unread), (&found.map(str::to_owned)[..], 0));
    // A log of both kinds of lines.
    let both = [&most[..], &["192.0.2.7 - -", "192.0.2.7 - ann lee", "192.0.2.7 - -"]].concat();
    let (hosts, unread) = clients_and_hosts(&both, &Options::default());
    assert_eq!(
        (&hosts[5..], unread),
        (&["/192.0.2.7", "/192.0.2.7", "/192.0.2.7"].map(str::to_owned)[..], 0)
    );
}

/// If the first word could be the host or the client, the line is not read.
#[test]
fn an_uncertain_client_is_none() {
    for head in [
        "shop.example - 192.0.2.7 - -",
        "shop.example - pool-2.isp.example - -",
        "shop.example - ann -",
        "shop.example pool-2.isp.example -",
        "shop.example pool-2.isp.example ann -",
    ] {
        let others = "shop.example 192.0.2.9 - -";
        let lines = [others, others, others, head];
        let (found, unread) = clients_and_hosts(&lines, &Options::default());
        assert_eq!((found.len(), unread), (3, 1), "{head}");
    }
    // The name of a client, as with `HostnameLookups`.
    let (found, unread) = clients_and_hosts(
        &["pool-2.isp.example - -", "pool-2.isp.example - ann", "pool-2.isp.example - ann lee"],
        &Options::default(),
    );
    assert_eq!((found, unread), (vec!["/pool-2.isp.example".to_owned(); 3], 0));
}

/// A column of hosts that was named is one word, so the name of a user does not become the client.
#[test]
fn a_said_host_is_one_word() {
    let layout: Layout =
        r#"%v %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#.parse().unwrap();
    let options = Options { layout: Some(Arc::new(layout)), ..Options::default() };
    let (found, unread) = clients_and_hosts(
        &[
            "shop.example pool-2.isp.example - ann",
            "shop.example pool-2.isp.example - 203.0.113.9 x y",
            "shop.example - 203.0.113.9 x",
            "shop.example 192.0.2.7 - 203.0.113.9 x y",
        ],
        &options,
    );
    let wanted = ["pool-2.isp.example", "pool-2.isp.example", "", "192.0.2.7"];
    assert_eq!((found, unread), (wanted.map(|ip| format!("shop.example/{ip}")).to_vec(), 0));
}

//! Lists of forwarded addresses: one rule for all formats.

use super::read;
use super::table::rows;
use super::wrappers::TIME;
use ratescope_log::{Layout, Options};
use std::sync::Arc;

/// The last address that is not internal is the client, counted from the peer, which ends each list; what comes before
/// an entry that is no address does not count; if all are internal, the first one is the client.
const LISTS: &str = "
    203.0.113.9 | 203.0.113.9
    203.0.113.9, 10.0.0.50 | 203.0.113.9
    203.0.113.9,10.0.0.50 | 203.0.113.9
    198.51.100.66, 203.0.113.9 | 203.0.113.9
    198.51.100.66,203.0.113.9 | 203.0.113.9
    198.51.100.66, 203.0.113.9, 10.1.2.3, 192.168.0.1 | 203.0.113.9
    198.51.100.66,203.0.113.9,10.1.2.3,192.168.0.1 | 203.0.113.9
    2001:db8:1:2::9, ::1, 127.0.0.1 | 2001:db8:1:2::/64
    203.0.113.9, unknown, 10.0.0.50 | 10.0.0.50
    198.51.100.66, 203.0.113.9:4711, fd00::1 | 203.0.113.9
    192.168.7.7, 10.0.0.50 | 192.168.7.7
";

fn said(layout: &str) -> Options {
    let layout: Layout = layout.parse().unwrap();
    Options { layout: Some(Arc::new(layout)), ..Options::default() }
}

#[test]
fn every_format_takes_the_same_client_of_a_list() {
    let request = "\"GET / HTTP/1.1\" 200 1";
    let rest = format!("- - [{TIME}] {request} \"-\" \"-\"");
    let guessed = Options::default();
    for [list, client] in rows(LISTS) {
        // The list without its last address, which is the peer.
        let (before, peer) = list.rsplit_once(',').map_or(("-", list), |(a, b)| (a, b.trim()));
        let forms = [
            ("in place of the address", &guessed, format!("{list} {rest}")),
            ("in quotes in place of the address", &guessed, format!("\"{list}\" {rest}")),
            ("after the host", &guessed, format!("www.example.org {list} {rest}")),
            ("in quotes after the host", &guessed, format!("www.example.org \"{list}\" {rest}")),
            ("before the address", &guessed, format!("{before} {peer} {rest}")),
            ("in quotes before the address", &guessed, format!("\"{before}\" {peer} {rest}")),
            (
                "between the host and the address",
                &guessed,
                format!("www.example.org \"{before}\" {peer} {rest}"),
            ),
            (
                "Envoy's text",
                &guessed,
                format!(
                    "[2000-10-10T13:55:36.000Z] \"GET / HTTP/1.1\" 200 - 0 1 2 3 \"{list}\" \"-\" \"id\" \"web\" \"10.0.0.1:80\""
                ),
            ),
            (
                "Traefik's JSON",
                &guessed,
                format!(
                    "{{\"ClientHost\":\"{list}\",\"RequestMethod\":\"GET\",\"StartUTC\":\"2000-10-10T13:55:36Z\"}}"
                ),
            ),
            (
                "Traefik's text",
                &guessed,
                format!(
                    "{list} - - [{TIME}] {request} \"-\" \"-\" 12 \"web@docker\" \"http://10.0.0.1:80\" 5ms"
                ),
            ),
            ("CSV", &guessed, format!("time,remote_addr\n971186136,\"{list}\"")),
            (
                "Apache's LogFormat",
                &said("%{X-Forwarded-For}i %l %u %t \"%r\" %>s %b"),
                format!("{list} - - [{TIME}] {request}"),
            ),
            (
                "a LogFormat with quotes and the peer",
                &said("\"%{X-Forwarded-For}i\" %h %l %u %t \"%r\" %>s %b"),
                format!("\"{before}\" {peer} - - [{TIME}] {request}"),
            ),
            (
                "a log_format with the peer before it",
                &said("[$time_local] $remote_addr \"$http_x_forwarded_for\" \"$request\""),
                format!("[{TIME}] {peer} \"{before}\" \"GET / HTTP/1.1\""),
            ),
        ];
        for (form, options, line) in forms {
            let read = read(line.as_bytes(), options, ["ip"]);
            assert_eq!(read.fields(), [[client]], "{form}: {line}");
        }
    }
}

/// Many internal peers are the clients of a log, whatever they say in their lists.
#[test]
fn many_internal_peers_are_no_proxies() {
    let line = |i: u32| {
        format!(
            "[2000-10-10T13:55:36.000Z] \"GET / HTTP/1.1\" 200 - 0 1 2 3 \"203.0.113.9,10.0.0.{i}\" \"-\" \"id\" \"web\" \
             \"10.0.0.1:80\"\n"
        )
    };
    let clients = |count| {
        let log: String = (1..=count).map(line).collect();
        read(log.as_bytes(), &Options::default(), ["ip"]).fields().concat().join(" ")
    };
    assert_eq!(clients(4), "203.0.113.9 203.0.113.9 203.0.113.9 203.0.113.9");
    assert_eq!(clients(5), "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5");
}

/// A list at another place of the line is a field, and the peer stays the client.
#[test]
fn a_list_elsewhere_changes_nothing() {
    let line = format!(
        "10.0.0.5 - - [{TIME}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\" \"198.51.100.1, 203.0.113.9\""
    );
    let main = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
                \"$http_user_agent\" \"$http_x_forwarded_for\"";
    for options in [Options::default(), said(main)] {
        let read = read(line.as_bytes(), &options, ["ip", "forwarded"]);
        assert_eq!(read.fields(), [["10.0.0.5", "203.0.113.9"]]);
    }
}

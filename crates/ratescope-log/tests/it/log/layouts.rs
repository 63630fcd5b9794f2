//! Columns that are given, known or guessed.

use super::table::rows;
use super::{read, shape};
use ratescope_log::{Format, Layout, Options, Proposal};
use std::sync::Arc;

const MICROS: i64 = 971_186_136_000_000;
const NAMES: [&str; 6] = ["ip", "method", "path", "status", "bytes", "agent"];

fn said(text: &str) -> Options {
    let layout: Layout = text.parse().unwrap();
    assert_eq!(layout.to_string().parse(), Ok(layout.clone()), "{text}");
    Options { layout: Some(Arc::new(layout)), ..Options::default() }
}

/// The fields of a line that is read with a layout, or the reason why it is not read.
fn line(layout: &str, line: &str) -> Result<String, String> {
    let options = said(layout);
    match ratescope_log::recognize(line.as_bytes(), true, &options) {
        Ok(_) => {}
        Err(unknown) => return Err(unknown.to_string().lines().last().unwrap().to_owned()),
    }
    let read = read(line.as_bytes(), &options, NAMES);
    assert_eq!(read.events[0].0, MICROS);
    Ok(read.fields()[0].join(" "))
}

#[test]
fn the_notations_of_nginx_and_apache_say_the_columns() {
    let want = Ok("192.0.2.7 GET /a 200 9 curl".to_owned());
    let combined = "192.0.2.7 - ann lee [10/Oct/2000:13:55:36 +0000] \"GET /a?b HTTP/1.1\" 200 9 \"-\" \"curl\"";
    for layout in [
        "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"",
        "${remote_addr} - ${remote_user} [${time_local}] \"${request}\" ${status} ${bytes_sent} \"$x\" \"$http_user_agent\"",
        "log_format main '$remote_addr - $remote_user [$time_local] \"$request\" '\n    '$status $body_bytes_sent \"$http_referer\" '\n    '\"$http_user_agent\"';",
        "log_format  a escape=default  \"$remote_addr - $remote_user [$time_local] \\\"$request\\\" $status $body_bytes_sent \\\"$x\\\" \\\"$http_user_agent\\\"\";",
        "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"",
        "LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\"\" combined",
        "%a %l %u [%{%d/%b/%Y:%H:%M:%S %z}t] \"%r\" %s %B \"%{Referer}i\" \"%{User-agent}i\"",
    ] {
        assert_eq!(line(layout, combined), want, "{layout}");
    }
    assert_eq!(
        line(
            "%{sec}t.%{usec_frac}t|%h|%m|%U|%>s|%b|%{User-Agent}i",
            "971186136.000000|192.0.2.7|GET|/a|200|9|curl"
        ),
        want
    );
    assert_eq!(
        line(
            "$time_local $remote_addr $request_method $uri $status $bytes_sent $http_user_agent",
            "10/Oct/2000:13:55:36 +0000 192.0.2.7 GET /a 200 9 curl"
        ),
        want
    );
    // After a column that clients write, the address is found if there is only one place for it.
    let list = "$http_x_forwarded_for $remote_addr - $status [$time_iso8601]";
    let after = "- 200 [2000-10-10T13:55:36+00:00]";
    let ip = |lists: &str| line(list, &format!("{lists} 192.0.2.7 {after}"));
    assert_eq!(ip("203.0.113.9, 10.0.0.1"), Ok("192.0.2.7   200  ".to_owned()));
    assert_eq!(ip("-"), Ok("192.0.2.7   200  ".to_owned()));
    // Spaces before it are one place, where the layout has any number of them.
    let padded = "$http_x_forwarded_for  $remote_addr - $status [$time_iso8601]";
    let padded = line(padded, &format!("203.0.113.9    192.0.2.7 {after}"));
    assert_eq!(padded, Ok("192.0.2.7   200  ".to_owned()));
    assert_eq!(
        ip("1.2.3.4 203.0.113.9 - x"),
        Err("It is not read as columns: two addresses could be the client's".to_owned())
    );
}

#[test]
fn layouts_that_say_nothing_are_refused() {
    for (text, says) in [
        ("", "no column; write nginx's log_format, as in"),
        ("combined", "no column; write nginx's log_format, as in"),
        (&"$a ".repeat(257), "257 columns; write at most 256"),
        ("$a$b", "nothing separates b from the column before it"),
        ("%h%u", "nothing separates user from the column before it"),
        ("$ip ${time", "a } is missing"),
        ("$ip $", "a name is missing after $"),
        ("%h %", "a letter is missing after %"),
    ] {
        let error = text.parse::<Layout>().unwrap_err();
        assert!(error.problem().starts_with(says), "{text}: {error}");
    }
}

/// The problem of a line tells where it differs from the layout.
#[test]
fn a_line_that_does_not_fit_is_told() {
    let layout = "$remote_addr [$time_local] \"$request\" $status";
    for [text, says] in rows(
        r#"
        192.0.2.7 - - | no  [ after column 1, but 192.0.2.7 - -
        192.0.2.7 [soon] "GET /" 200 | column 12: no time, but soon] "GET /" 200
        192.0.2.7 [10/Oct/2000:13:55:36 +0000] x | column 12: no time, but 10/Oct/2000:13:55:36…
        "#,
    ) {
        assert_eq!(line(layout, text), Err(format!("It is not read as columns: {says}")));
    }
}

/// The columns of a `#Fields` header, with tabs and with spaces.
#[test]
fn a_header_names_the_columns() {
    let iis = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
               #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-bytes\n\
               2000-10-10 13:55:36 10.0.0.1 GET /a - 443 - 192.0.2.7 curl+7 200 9\n";
    let cloudfront = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent)\n\
                      2000-10-10\t13:55:36\tFRA2\t9\t192.0.2.7\tGET\tx.net\t/a\t200\t-\tcurl 7\n";
    for (log, agent) in [(iis, "curl+7"), (cloudfront, "curl 7")] {
        let read = read(log.as_bytes(), &Options::default(), NAMES);
        assert_eq!(read.fields(), [["192.0.2.7", "GET", "/a", "200", "9", agent]]);
        assert_eq!(read.events[0].0, MICROS);
        assert_eq!(read.counts.unread, 0);
    }
}

/// IIS writes its header again when it starts, also after its columns were changed. A line has the columns of
/// the header above it, whoever reads it.
#[test]
fn lines_are_read_by_the_header_above_them() {
    let header = |columns: &str| format!("#Version: 1.0\n#Fields: date time {columns}\n");
    let line = |rest: &str| format!("2000-10-10 13:55:36 {rest}\n");
    let log = [
        header("c-ip cs-method"),
        line("192.0.2.7 #Fields:"),
        header("c-ip  cs-method"),
        line("192.0.2.8 GET"),
        header("cs-method s-ip c-ip"),
        line("GET 10.0.0.1 192.0.2.9"),
        line("GET 10.0.0.1 192.0.2.10").repeat(3),
        "#Fields: c-ip\n192.0.2.11\n".to_owned(),
        header("cs-method"),
        line("GET"),
    ];
    let log = log.concat();
    let options = Options::default();
    let read = read(log.as_bytes(), &options, ["ip", "method"]);
    let want = [["192.0.2.7", "#Fields:"], ["192.0.2.8", "GET"], ["192.0.2.9", "GET"]];
    assert_eq!((&read.fields()[..3], read.events.len()), (&want[..], 7));
    assert_eq!(read.fields()[6], ["", "GET"]);
    assert_eq!(
        (read.problems(), read.counts.others),
        (vec!["line 14: no column has a time".to_owned()], 9)
    );
    assert!(shape(log.as_bytes(), &options).is_divisible());
    super::invariants::hold(&[&[9], log.as_bytes()].concat());
    // Inside the lines of another program, a header is found by the one who reads all lines.
    let wrap = |line: &str| {
        format!(
            "{}\n",
            serde_json::json!({"log": format!("{line}\n"), "time": "2000-10-10T13:55:36Z"})
        )
    };
    let wrapped: String = log.lines().take(9).map(wrap).collect();
    assert!(!shape(wrapped.as_bytes(), &options).is_divisible());
    assert_eq!(super::read(wrapped.as_bytes(), &options, ["ip", "method"]).fields()[..3], want);
    super::invariants::hold(&[&[9], wrapped.as_bytes()].concat());
}

#[test]
fn servers_are_known_by_their_columns() {
    for [about, line, want] in rows("
        Istio's access log | \
            [2000-10-10T13:55:36.000Z] \"GET /a HTTP/1.1\" 200 - via_upstream - \"-\" 0 9 3 1 \"-\" \"curl\" \"id\" \"web\" \
            \"10.1.0.2:80\" inbound|80|| 127.0.0.6:1 10.1.0.2:80 192.0.2.7:4711 outbound_.80_._.web default | \
            192.0.2.7 GET /a 200 9 curl
        the access log of AWS ALB | \
            https 2000-10-10T13:55:36.000000Z app/a/b 192.0.2.7:4711 10.0.0.1:80 0.1 0.2 0.3 200 200 34 9 \
            \"GET https://www.example.org:443/a?b HTTP/1.1\" \"curl\" ECDHE TLSv1.2 arn \"Root=1\" \"-\" \"-\" | \
            192.0.2.7 GET /a 200 9 curl
        nginx's error log: requests over a limit | \
            2000/10/10 13:55:36 [error] 7#7: *3 limiting requests, excess: 5.320 by zone \"one\", client: 192.0.2.7, \
            server: _, request: \"GET /a HTTP/1.1\", host: \"client: 203.0.113.9, server: x\" | 192.0.2.7 GET /a
        HAProxy's tcplog | 2001:db8::7:4711 [10/Oct/2000:13:55:36.000] in b/s 1/0/0 9 -- 1/1/0/0/0 0/0 | \
            2001:db8::/64    9
        HAProxy's httplog | \
            192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in~ b/<NOSRV> -1/-1/-1/-1/0 503 9 - - SC-- 1/1/0/0/0 0/0 {a} {b} \
            \"GET /aaaa | 192.0.2.7 GET /aaaa 503 9
        the access log of AWS NLB | \
            tls 2.0 2000-10-10T13:55:36 net/a/b c 192.0.2.7:51341 10.0.0.1:443 5 2 98 246 - arn - ECDHE tlsv12 - a.example - - - | \
            192.0.2.7    246
        the access log of AWS Classic Load Balancers | \
            2000-10-10T13:55:36.000000Z web 192.0.2.7:2817 10.0.0.1:80 0.1 0.2 0.3 200 200 0 9 \
            \"GET http://www.example.com:80/a HTTP/1.1\" \"curl\" - - | 192.0.2.7 GET /a 200 9 curl
        the access log of AWS Classic Load Balancers | \
            2000-10-10T13:55:36.000000Z web 192.0.2.7:2817 10.0.0.1:80 0.1 0.2 0.3 200 200 0 9 \
            \"GET http://www.example.com:80/a HTTP/1.1\" | 192.0.2.7 GET /a 200 9
        nginx-proxy-manager's access log | \
            [10/Oct/2000:13:55:36 +0000] HIT 200 200 - GET https a.example \"/a\" [Client 192.0.2.7] [Length 9] [Gzip -] \
            [Sent-to 10.0.0.15:8080] \"curl\" \"-\" | 192.0.2.7 GET /a 200 9 curl
        nginx-proxy-manager's access log | \
            [10/Oct/2000:13:55:36 +0000] 200 - GET https a.example \"/a\" [Client 192.0.2.7] [Length 9] [Gzip 3.1] \"curl\" \"-\" | \
            192.0.2.7 GET /a 200 9 curl
        NPMplus's access log | \
            [10/Oct/2000:13:55:36 +0000] a.example 192.0.2.7 0.002 \"GET /a HTTP/1.1\" 200 9 935 - curl | \
            192.0.2.7 GET /a 200 9 curl
        columns, guessed: $time $ip \"$request\" $status $c5 | \
            971186136.000 192.0.2.7 \"GET /a HTTP/1.1\" 200 0.001 | 192.0.2.7 GET /a 200
        columns, guessed: [$time] $ip $c3 \"$request\" $status $bytes | \
            [10/Oct/2000:13:55:36 +0000] 192.0.2.7 - \"GET /a HTTP/1.1\" 200 9 | 192.0.2.7 GET /a 200 9
        columns, guessed: $time\t$ip\t$method\t$path\t$c5 | \
            2000-10-10 13:55:36\t192.0.2.7\tGET\t/a\tx | 192.0.2.7 GET /a
        ") {
        assert_eq!(shape(line.as_bytes(), &Options::default()).to_string(), about, "{line}");
        let read = read(line.as_bytes(), &Options::default(), NAMES);
        assert_eq!(read.fields()[0].join(" ").trim_end(), want, "{line}");
        assert_eq!(read.events[0].0, MICROS, "{line}");
    }
}

/// Squid writes the status 000 for a request that the client gave up.
#[test]
fn zero_is_a_status() {
    let line =
        "971186136.000    120 192.0.2.7 TCP_MISS_ABORTED/000 0 GET http://a/ - HIER_NONE/- -";
    let mut options = Options::default();
    options.filter.statuses = vec!["0".parse().unwrap()];
    assert_eq!(read(line.as_bytes(), &options, ["path"]).fields(), [["/"]]);
    assert_eq!(shape(line.as_bytes(), &options).format(), Format::COLUMNS);
}

#[test]
fn a_log_that_is_not_recognized_is_proposed_in_columns() {
    let line = "10/Oct/2000:13:55:36 +0000;ann;192.0.2.7;ok;\"two words\"\nmore";
    let proposal = Proposal::new(line.as_bytes()).unwrap();
    assert_eq!(proposal.notation, "$time;$c2;$ip;$c4;\"$c5\"");
    let columns: Vec<_> = proposal.columns.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let want =
        ["time=10/Oct/2000:13:55:36 +0000", "c2=ann", "ip=192.0.2.7", "c4=ok", "c5=two words"];
    assert_eq!(columns, want);
    // The proposal, as it is or with other names, is a layout that reads the line.
    let first = line.lines().next().unwrap();
    let options = said(&proposal.notation.replace("$c2", "$user"));
    assert_eq!(read(first.as_bytes(), &options, ["ip", "user"]).fields(), [["192.0.2.7", "ann"]]);
    // Text without columns gives no proposal.
    for head in ["", "\n\n", "once", "a\0b c d", "\u{1f}\u{8b} x y z"] {
        assert_eq!(Proposal::new(head.as_bytes()), None, "{head:?}");
    }
    assert_eq!(Proposal::new(b"\xff\xfe a b c d"), None);
    // However long the line is, only its beginning is read.
    let long = "x ".repeat(1 << 20);
    assert!(Proposal::new(long.as_bytes()).unwrap().columns.len() <= 64);
}

/// Otherwise the same client would be two.
#[test]
fn a_space_before_the_client_is_no_part_of_it() {
    for log in [
        " 192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 1/0/0 9 -- 1/1/0/0/0 0/0\n",
        "{\"time\":1,\"ip\":\" 192.0.2.7\"}\n",
    ] {
        assert_eq!(
            super::read(log.as_bytes(), &Options::default(), ["ip"]).fields(),
            [["192.0.2.7"]]
        );
    }
}

//! Lines inside the logs of other programs: each format in each wrapper.

use super::{invariants, read, shape};
use ratescope_log::{Format, Layout, Options, Year};

pub(crate) const TIME: &str = "10/Oct/2000:13:55:36 +0000";
/// The time [`TIME`] in microseconds.
const MICROS: i64 = 971_186_136_000_000;

/// Lines of each format with the client 192.0.2.7.
fn lines() -> [(Format, String); 8] {
    [
        (
            Format::COMBINED,
            format!("192.0.2.7 - x\\\"y [{TIME}] \"GET /a HTTP/1.1\" 200 1 \"-\" \"-\""),
        ),
        (Format::JSON, r#"{"ts":971186136,"ip":"192.0.2.7","path":"/a \"b\" \u00e9"}"#.to_owned()),
        (
            Format::EXIM,
            "2000-10-10 13:55:36 1s2abc-0003xY-Az <= a@b H=mx (h) [192.0.2.7] P=smtp S=9".to_owned(),
        ),
        (
            Format::COLUMNS,
            "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 0/0/0/0/0 200 9 - - ---- 1/1/0/0/0 0/0 \
             {a|b} \"GET /a HTTP/1.1\""
                .to_owned(),
        ),
        (
            Format::COLUMNS,
            "[2000-10-10T13:55:36.000Z] \"GET /a HTTP/1.1\" 200 - 0 1 2 3 \"198.51.100.1,192.0.2.7\" \
             \"curl\" \"id\" \"host\" \"10.0.0.1:80\""
                .to_owned(),
        ),
        (
            Format::COLUMNS,
            "971186136.000    120 192.0.2.7 TCP_MISS/000 9 GET http://a/ - HIER_NONE/- -".to_owned(),
        ),
        (
            Format::COLUMNS,
            format!("{TIME}|192.0.2.7|GET /a HTTP/1.1|200|1|curl from 203.0.113.9"),
        ),
        (
            Format::SYSLOG,
            "Failed password for invalid user x from 203.0.113.9 from 192.0.2.7 port 5 ssh2".to_owned(),
        ),
    ]
}

/// A line in each wrapper: the name of the wrapper, the wrapped line, and whether the wrapper tells the
/// program.
fn wrapped(line: &str, program: &str) -> Vec<(&'static str, String, bool)> {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let syslog = format!("web1 {program}[7]: {line}");
    vec![
        ("none", line.to_owned(), false),
        ("RFC 3164", format!("Oct 10 13:55:36 {syslog}"), true),
        ("a datagram", format!("<190>Oct 10 13:55:36 {program}: {line}"), true),
        ("rsyslog's time", format!("2000-10-10T13:55:36.000000+00:00 {syslog}"), true),
        ("RFC 5424", format!("<38>1 2000-10-10T13:55:36Z web1 {program} 7 - -  {line}"), true),
        (
            "RFC 5424 with data",
            format!(
                "<38>1 2000-10-10T13:55:36Z web1 {program} 7 ID [a b=\"\\]\" c=\"[d]\\\"]\"][e] \u{feff}{line}"
            ),
            true,
        ),
        ("short-precise", format!("Oct 10 13:55:36.000000 {syslog}"), true),
        ("short-iso", format!("2000-10-10T13:55:36+0000 {syslog}"), true),
        ("short-full", format!("Tue 2000-10-10 13:55:36 UTC {syslog}"), true),
        ("short-unix", format!("971186136.000000 {syslog}"), true),
        (
            "the journal's JSON",
            format!(
                "{{\"__REALTIME_TIMESTAMP\":\"971186136000000\",\"SYSLOG_IDENTIFIER\":\"{program}\",\
                 \"MESSAGE\":{}}}",
                json(line)
            ),
            true,
        ),
        (
            "rsyslog's JSON",
            format!(
                "{{\"@timestamp\":\"2000-10-10T13:55:36Z\",\"program\":\"{program}\",\"message\":{}}}",
                json(&format!(" {line}"))
            ),
            true,
        ),
        (
            "docker's JSON",
            format!(
                "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2000-10-10T13:55:36.000000001Z\"}}",
                json(&format!("{line}\n"))
            ),
            false,
        ),
        ("Kubernetes", format!("2000-10-10T13:55:36.000000001Z stdout F {line}"), false),
        ("docker's time", format!("2000-10-10T13:55:36.000000001Z {line}"), false),
        ("docker compose", format!("web-1  | {line}"), false),
        ("docker compose's time", format!("web-1  | 2000-10-10T13:55:36.000000001Z {line}"), false),
        (
            "Kubernetes of syslog",
            format!("2000-10-10T13:55:36Z stdout F Oct 10 13:55:36 {syslog}"),
            true,
        ),
        (
            "the journal's export",
            format!(
                "__CURSOR=s=1\n__REALTIME_TIMESTAMP=971186136000000\n_HOSTNAME=web1\n\
                 SYSLOG_IDENTIFIER={program}\nMESSAGE={line}\n"
            ),
            true,
        ),
        (
            "the journal's export with lengths",
            format!(
                "__CURSOR=s=1\nMESSAGE\n{}\0\0\0\0\0\0{line}\n_COMM={program}\nUNIT=x=y\n\
                 __REALTIME_TIMESTAMP=971186136000000\n",
                length(line.len())
            ),
            true,
        ),
    ]
}

/// The lowest two bytes of a length, as characters.
fn length(length: usize) -> String {
    assert!(length % 256 < 128);
    [length % 256, length / 256].map(|byte| char::from(byte as u8)).iter().collect()
}

/// The words for a wrapper in the description of a log.
fn named(wrapper: &str) -> &'static str {
    match wrapper {
        "none" => "",
        "Kubernetes" | "Kubernetes of syslog" => ", in a container's log",
        "docker's time" => ", after a time",
        "docker compose" | "docker compose's time" => ", after the name of a container",
        json if json.ends_with("JSON") => ", in JSON",
        _ => ", in syslog",
    }
}

#[test]
fn every_format_is_read_in_every_wrapper() {
    let options = Options { year: Year::First(2000), ..Options::default() };
    for (format, line) in lines() {
        let program = if format == Format::SYSLOG { "sshd" } else { "app" };
        for (wrapper, line, tells_program) in wrapped(&line, program) {
            if format == Format::SYSLOG && !tells_program {
                continue;
            }
            for count in [1, 12] {
                let log = format!("{line}\n").repeat(count);
                let shape = shape(log.as_bytes(), &options);
                assert_eq!(shape.format(), format, "{wrapper}: {line}: {shape}");
                let (said, about) = (shape.to_string(), named(wrapper));
                let is_own = format == Format::SYSLOG && about == ", in syslog";
                assert!(is_own || said.contains(about), "{wrapper}: {line}: {shape}");
                let read = read(log.as_bytes(), &options, ["ip"]);
                assert_eq!(read.fields(), vec![["192.0.2.7"]; count], "{wrapper}: {line}: {shape}");
                assert_eq!(read.events[0].0, MICROS, "{wrapper}: {line}: {shape}");
                assert_eq!(read.counts.unread, 0);
            }
        }
    }
}

/// A line without a time of its own has the time of its wrapper.
#[test]
fn the_time_of_a_wrapper_counts_if_there_is_no_other() {
    for line in [
        r#"2000-10-10T13:55:36Z stdout F {"ip":"192.0.2.7"}"#,
        "Oct 10 13:55:36 mx exim[7]: 1s2abc-0003xY-Az <= a@b H=mx (h) [192.0.2.7] P=smtp",
        "2000/10/10 13:55:36.000\tINFO\thttp.log.access\thandled request\t{\"request\":{\"remote_ip\":\"192.0.2.7\"}}",
    ] {
        let options = Options { year: Year::First(2000), ..Options::default() };
        let read = read(line.as_bytes(), &options, ["ip"]);
        assert_eq!(read.fields(), [["192.0.2.7"]], "{line}");
        assert_eq!(read.events[0].0, MICROS, "{line}");
    }
}

/// Several programs may share a log: lines of others are no events, and lines of the program itself that
/// can't be read are problems.
#[test]
fn other_programs_may_write_to_the_same_log() {
    let right =
        format!("Oct 10 13:55:36 web1 nginx: 192.0.2.7 - - [{TIME}] \"GET / HTTP/1.1\" 200 1");
    let log = [
        right.as_str(),
        "Oct 10 13:55:36 web1 CRON[1]: (root) CMD (true)",
        "Oct 10 13:55:36 web1 nginx: half a line",
        "no header",
        &right,
    ]
    .join("\n");
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    let counts = &read.counts;
    assert_eq!((counts.events, counts.others, counts.unread), (2, 1, 2));
    let problems = read.problems();
    assert!(problems[0].starts_with("line 3: no address"), "{problems:?}");
    assert_eq!(problems[1..], ["line 4: no time, host and program at the beginning"]);
    let shape = shape(log.as_bytes(), &Options::default());
    assert_eq!(shape.to_string(), "Common Log Format, in syslog");
    assert!(shape.is_divisible());
}

/// Columns without a time have that of syslog, whose year follows from the lines before: one reader reads
/// them all.
#[test]
fn columns_with_the_time_of_syslog_are_read_in_order() {
    let line = |day: &str, time: &str| {
        format!("{day} 12:00:00 web1 nginx: {time}192.0.2.7 \"GET / HTTP/1.1\" 200\n")
    };
    let is_divisible = |layout: &str, time: &str| {
        // The first ten lines show the format. Each line after them is a piece of its own.
        let log = line("Dec 31", time).repeat(10) + &line("Jan  1", time).repeat(5);
        invariants::hold(format!("\u{8}{layout}\n{log}").as_bytes());
        let layout: Layout = layout.parse().unwrap();
        let options = Options { layout: Some(layout.into()), ..Options::default() };
        shape(log.as_bytes(), &options).is_divisible()
    };
    assert!(!is_divisible("$remote_addr \"$request\" $status", ""));
    let time = format!("[{TIME}] ");
    assert!(is_divisible("[$time_local] $remote_addr \"$request\" $status", &time));
}

/// A repeated message counts as that many events, in any format.
#[test]
fn repeated_lines_are_counted() {
    let line = format!("192.0.2.7 - - [{TIME}] \"GET / HTTP/1.1\" 200 1");
    let log = format!(
        "Oct 10 13:55:36 web1 nginx: {line}\nOct 10 13:55:37 web1 nginx: message repeated 3 times: [ {line}]\n"
    );
    assert_eq!(read(log.as_bytes(), &Options::default(), ["ip"]).counts.events, 4);
}

/// Dovecot writes one line for several attempts, which counts as that many events.
#[test]
fn attempts_are_counted() {
    let line = "Oct 10 13:55:36 mx dovecot: imap-login: Disconnected (auth failed, 3 attempts in 9 secs): \
                user=<a>, rip=203.0.113.9, user=<x>, method=PLAIN, rip=192.0.2.7, lip=198.51.100.1\n";
    let read = read(line.as_bytes(), &Options::default(), ["ip", "user"]);
    assert_eq!(read.fields(), vec![["192.0.2.7", "a>, rip=203.0.113.9, user=<x"]; 3]);
}

/// Zeros may precede a line, as after a file was truncated while a server went on writing to it.
#[test]
fn zeros_before_a_line_are_no_client() {
    let line = format!("192.0.2.7 - - [{TIME}] \"GET / HTTP/1.1\" 200 1\n");
    let log = format!("{}{line}{line}", "\0".repeat(3000));
    assert_eq!(read(log.as_bytes(), &Options::default(), ["ip"]).fields(), [["192.0.2.7"]; 2]);
}

/// Caddy writes two lines about a request that failed, and begins with lines that are not about requests.
#[test]
fn only_requests_of_caddy_are_events() {
    let line =
        |logger: &str, rest: &str| format!("{{\"level\":\"info\",\"ts\":1,{logger}{rest}}}\n");
    let request = "\"request\":{\"remote_ip\":\"192.0.2.7\",\"uri\":\"/\"}";
    let log = [
        line("", "\"msg\":\"using provided configuration\""),
        line("\"logger\":\"http.log.error\",", request),
        line("\"logger\":\"http.log.access.log0\",", request),
    ]
    .concat();
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    assert_eq!(read.fields(), [["192.0.2.7"]]);
    assert_eq!(read.counts.others, 2);
}

/// Events without any field of the key are counted, and left out on request.
#[test]
fn events_without_a_key_are_counted() {
    let log =
        "{\"ts\":1,\"ip\":\"192.0.2.7\"}\n{\"ts\":2,\"ip\":\"-\"}\n{\"ts\":3,\"user\":\"ann\"}\n";
    let counts = |key: &str, only_keyed: bool| {
        let options = Options { key: Some(key.parse().unwrap()), only_keyed, ..Options::default() };
        let counts = read(log.as_bytes(), &options, []).counts;
        (counts.events, counts.keyless)
    };
    assert_eq!(counts("ip", false), (3, 2));
    assert_eq!(counts("ip", true), (1, 2));
    assert_eq!(counts("ip+user", false), (3, 1));
    assert_eq!(counts("all", true), (3, 0));
}

//! Logs that look like those of another program, and columns that are guessed.

use super::{read, shape};
use ratescope_log::{Format, Options, Proposal, recognize};

fn is_refused(log: &str) -> bool {
    recognize(log.as_bytes(), true, &Options::default()).is_err()
}

/// The text in the place of the client is none, or the layout fits few of the lines.
#[test]
fn other_logs_are_refused() {
    let logs = [
        // Pretty JSON with lines of nginx inside.
        "{\n    \"events\": [\n        {\n            \"timestamp\": 1714023156000,\n            \"message\": \"192.0.2.7 - - \
         [25/Apr/2024:05:32:36 +0000] \\\"GET /a HTTP/1.1\\\" 200 12 \\\"-\\\" \\\"curl/8\\\"\",\n            \"id\": 1\n        }\n    ]\n}\n",
        // A thread in parentheses, a time in brackets, or the number of a process.
        "2024-05-01 12:00:00.123 WARNING (MainThread) [homeassistant.components.http.ban] Login attempt from 192.0.2.7\n",
        "2024-05-01 12:00:00 [2024-05-01 12:00:00.096748] [router:web] [client: 192.0.2.7] [useragent: Fox/5 (x; y)] GET / 444\n",
        "2024-05-01 12:00:00.095 CEST [885178] ERROR:  invalid input syntax for type json/jsonb 5 7 5\n",
        "app:80 [885178] in back/srv 1/0/0 9 -- 1/1/0/0/0 0/0\n",
        "worker-1 main:4711 [885178] in back/srv 1/0/0 9 -- 1/1/0/0/0 0/0\n",
        // Columns of another kind than their layout has.
        "192.0.2.7:http [10/Oct/2000:13:55:36.000] in b/s fast 9 -- 1/1/0/0/0 0/0\n",
        // A date in place of the client.
        "2000-10-10 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n",
        "\"message\": - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n",
    ];
    for log in logs {
        assert!(is_refused(log), "{log}");
    }
    let tcplog = "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 1/0/0 9 -- 1/1/0/0/0 0/0\n";
    assert!(!is_refused(&["no\n", "yes\n", "no\n", tcplog].concat()));
    assert!(is_refused(&["no\n", "yes\n", "no\n", "yes\n", tcplog].concat()));
}

/// A line of the log of another program that looks like one of an access log, with a level in place of the client.
#[test]
fn few_lines_are_no_access_log() {
    let other = "2000-10-10T13:55:36.123Z info envoy[7] [Originator@6876 sub=Default] ready\n";
    let access = "2000-10-10T13:55:36.123Z info envoy[7] [Originator@6876 sub=Default] [2000-10-10T13:55:36Z] \
                  \"GET /stats HTTP/1.1\" 200 - 0 7 1 \"-\" \"x\" \"-\" \"localhost\" \"-\"\n";
    assert!(is_refused(&[&other.repeat(20), access].concat()));
    let line = "192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n";
    assert!(is_refused(&["starting\n".repeat(20).as_str(), line].concat()));
    assert!(!is_refused(&["starting\n".repeat(19).as_str(), line].concat()));
    let said = Options { format: Some(Format::COMBINED), ..Options::default() };
    let log = ["starting\n".repeat(20).as_str(), line].concat();
    assert_eq!(read(log.as_bytes(), &said, ["ip"]).fields(), [["192.0.2.7"]]);
}

/// A line in the middle of a log whose client is none is not read.
#[test]
fn a_client_is_an_address_or_a_name() {
    let line = |client: &str| {
        format!("{client} - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    let squid = |client: &str| {
        format!("971186136.5    120 {client} TCP_MISS/200 9 GET http://a/ - HIER_NONE/- -\n")
    };
    for form in [&line as &dyn Fn(&str) -> String, &squid] {
        let clients = [
            "192.0.2.7",
            "host.example.org",
            "(MainThread)",
            "13:17:19.096748]",
            "12345",
            "Oct",
            "-",
        ];
        let log: String = clients.map(form).concat();
        let read = read(log.as_bytes(), &Options::default(), ["ip"]);
        assert_eq!(read.fields(), [["192.0.2.7"], ["host.example.org"], [""]], "{log}");
        assert_eq!(read.problems()[0], "line 3: not a client: (MainThread)");
    }
}

/// The guess of many lines: which column varies, which is internal, and which has statuses.
#[test]
fn columns_are_guessed_by_all_first_lines() {
    let about = |log: &str| shape(log.as_bytes(), &Options::default()).to_string();
    // Behind one balancer, or several; with a port that could be a status.
    let log = |balancers: u32| -> String {
        let line = |i: u32| {
            format!(
                "2000-10-10 13:55:{i:02}|10.0.0.{}|GET|/a|443|203.0.113.{i}|{}|12\n",
                i % balancers,
                if i.is_multiple_of(3) { 404 } else { 200 }
            )
        };
        (10..40).map(line).collect()
    };
    let want = "columns, guessed: $time|$c2|$method|$path|$c5|$ip|$status|$bytes";
    assert_eq!([about(&log(1)), about(&log(3))], [want, want]);
    let read = read(log(3).as_bytes(), &Options::default(), ["ip", "status"]);
    assert_eq!((read.fields()[0], read.events.len()), (["203.0.113.10", "200"], 30));
    // A guess can be given back as a layout.
    let notation = want.strip_prefix("columns, guessed: ").unwrap();
    assert_eq!(notation.parse::<ratescope_log::Layout>().unwrap().to_string(), notation);
    // Where lines differ, the rest is one column.
    let agent = |i: u32| {
        format!(
            "[10/Oct/2000:13:55:{i} +0000] 192.0.2.{i} GET /a 200 {}\n",
            "x ".repeat(i as usize)
        )
    };
    let log: String = (10..30).map(agent).collect();
    assert!(
        about(&log).starts_with("columns, guessed: [$time] $ip $method $path $status $c6 "),
        "{}",
        about(&log)
    );
}

/// Two columns could be the client's, or too many lines are left over.
#[test]
fn an_uncertain_guess_is_refused() {
    let line =
        |server: &str, client: &str| format!("2000-10-10 13:55:36|{server}|GET|/a|{client}|200\n");
    assert!(is_refused(&line("198.51.100.1", "203.0.113.9")));
    let both: String = (1..20).map(|i| line("198.51.100.1", &format!("203.0.113.{i}"))).collect();
    assert!(is_refused(&both));
    assert!(!is_refused(&both.replace("198.51.100.1", "10.0.0.1")));
    let proposal = Proposal::new(both.as_bytes()).unwrap();
    assert_eq!(proposal.notation, "$time|$c2|$method|$path|$c5|$status");
    let unknown = recognize(both.as_bytes(), true, &Options::default()).unwrap_err().to_string();
    let perhaps = "\nPerhaps its columns are '$time|$c2|$method|$path|$c5|$status': name the client's column ip";
    assert!(unknown.ends_with(perhaps), "{unknown}");
    let half = "2000-10-10 13:55:36|192.0.2.7|GET|/a|200\nanother line\n".repeat(20);
    assert!(is_refused(&half));
}

/// Logs of IIS without their header have known columns; with a header that does not fit, nothing is guessed.
#[test]
fn iis_without_its_header() {
    let rest = "POST /ui - 443 - 192.0.2.63 Mozilla/5.0+(Windows+NT+10.0)";
    for end in ["https://example.com/ui 404 0 0 26", "404 0 0 26"] {
        for server in ["192.168.16.11", "198.51.100.1"] {
            let line = format!("2020-10-07 23:00:17 {server} {rest} {end}\n");
            let log = shape(line.as_bytes(), &Options::default());
            assert_eq!(log.to_string(), "the access log of IIS, without its header");
            let read = read(line.as_bytes(), &Options::default(), ["ip", "status", "path"]);
            assert_eq!(read.fields(), [["192.0.2.63", "404", "/ui"]]);
        }
    }
    // A header is believed, also where as many columns follow it as IIS has without one.
    let header = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) \
                  sc-status sc-substatus sc-win32-status time-taken X-Forwarded-For\n";
    let line = "2020-10-07 23:00:17 10.0.0.5 GET / - 443 - 10.0.0.1 x 404 0 0 26 198.51.100.66,+203.0.113.9\n";
    let log = header.to_owned() + line;
    assert_eq!(shape(log.as_bytes(), &Options::default()).to_string(), "columns named by #Fields");
    let read = read(log.as_bytes(), &Options::default(), ["ip", "forwarded", "status"]);
    assert_eq!(read.fields(), [["10.0.0.1", "203.0.113.9", "404"]]);
    assert!(is_refused(
        "#Fields: date time s-ip cs-method\n2015-01-13 00:32:17 192.168.0.81 GET / - 80 - 192.0.2.39 x - 404 0\n"
    ));
}

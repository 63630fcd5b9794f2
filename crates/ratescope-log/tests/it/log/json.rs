//! JSON lines, compared with serde_json.

use super::table::rows;
use super::{of, read, shape};
use proptest::prelude::*;
use ratescope_log::{Format, Options};
use serde_json::{Map, Value};

const NAMES: [&str; 6] = ["ip", "user", "method", "path", "status", "bytes"];

#[track_caller]
fn assert_line(line: &str, about: &str, micros: i64, fields: [&str; 6]) {
    assert_eq!(shape(line.as_bytes(), &Options::default()).to_string(), about);
    let read = read(line.as_bytes(), &Options::default(), NAMES);
    assert_eq!(read.fields(), [fields], "{line}");
    assert_eq!(read.events[0].0, micros, "{line}");
}

/// Lines as nginx, Caddy, Traefik and Envoy write them.
#[test]
fn servers_are_known() {
    assert_line(
        r#"{"time_iso8601":"2000-10-10T13:55:36-07:00","remote_addr":"192.0.2.7","remote_user":"","request":"GET /a?b HTTP/1.1","status": "200","body_bytes_sent":"2326"}"#,
        "JSON lines: time from time_iso8601, ip from remote_addr",
        971_211_336_000_000,
        ["192.0.2.7", "", "GET", "/a", "200", "2326"],
    );
    assert_line(
        r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]},"tls":{"resumed":false}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
        "JSON lines: time from ts, ip from request.client_ip, method from request.method, path from request.uri",
        1_646_861_401_524_102,
        ["192.0.2.7", "", "GET", "/a", "200", "10900"],
    );
    assert_line(
        r#"{"ClientAddr":"192.0.2.7:4567","ClientHost":"192.0.2.7","ClientUsername":"-","DownstreamContentSize":0,"DownstreamStatus":404,"RequestMethod":"GET","RequestPath":"/a","StartUTC":"2000-10-10T20:55:36.5Z","time":"2000-10-10T13:55:37-07:00"}"#,
        "JSON lines: ip from ClientHost, method from RequestMethod, path from RequestPath, status from DownstreamStatus",
        971_211_337_000_000,
        ["192.0.2.7", "", "GET", "/a", "404", "0"],
    );
    assert_line(
        r#"{"start_time":"2000-10-10T20:55:36.250Z","downstream_remote_address":"192.0.2.7:4567","method":"GET","path":"/a?b","response_code":200,"bytes_sent":7,"x_forwarded_for":null}"#,
        "JSON lines: time from start_time, ip from downstream_remote_address, status from response_code",
        971_211_336_250_000,
        ["192.0.2.7", "", "GET", "/a", "200", "7"],
    );
    // Node's pino-http, and the layer TraceLayer of tower-http, which knows no address.
    assert_line(
        r#"{"level":30,"time":971211336000,"pid":1,"hostname":"h","req":{"id":1,"method":"GET","url":"/a?b","headers":{"host":"h","x-api-key":"k"},"remoteAddress":"::ffff:192.0.2.7","remotePort":4567},"res":{"statusCode":200},"responseTime":3,"msg":"request completed"}"#,
        "JSON lines: ip from req.remoteAddress, method from req.method, path from req.url, status from res.statusCode",
        971_211_336_000_000,
        ["192.0.2.7", "", "GET", "/a", "200", ""],
    );
    assert_line(
        r#"{"timestamp":"2000-10-10T20:55:36.250Z","level":"DEBUG","fields":{"message":"finished processing request","latency":"0 ms","status":200},"target":"tower_http::trace::on_response","span":{"method":"GET","uri":"/a?b","version":"HTTP/1.1","name":"request"}}"#,
        "JSON lines: time from timestamp, method from span.method, path from span.uri, status from fields.status",
        971_211_336_250_000,
        ["", "", "GET", "/a", "200", ""],
    );
    // An object about something else is no event, before the first event and after it.
    let log = "{\"msg\":\"begins\"}\n{\"ts\":1,\"ip\":\"::1\"}\n{\"msg\":\"goes on\"}\n";
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    assert_eq!((read.fields(), read.counts.others), (vec![["::/64"]], 2));
}

/// The best name counts, wherever it stands in the line; null or a dash counts as missing.
#[test]
fn the_best_name_counts() {
    let ip =
        |line: &str| read(line.as_bytes(), &Options::default(), ["ip"]).fields().concat().join("");
    assert_eq!(ip(r#"{"remote_addr":"10.0.0.1","client_ip":"192.0.2.7","ts":1}"#), "192.0.2.7");
    assert_eq!(ip(r#"{"client_ip":"192.0.2.7","remote_addr":"10.0.0.1","ts":1}"#), "192.0.2.7");
    assert_eq!(ip(r#"{"client_ip":null,"remote_addr":"192.0.2.7","ts":1}"#), "192.0.2.7");
    assert_eq!(ip(r#"{"client_ip":"-","remote_addr":"192.0.2.7","ts":1}"#), "192.0.2.7");
    assert_eq!(ip(r#"{"ts":1,"client_ip":"-"}"#), "");
    assert_eq!(
        ip(r#"{"ts":1,"client:port":"192.0.2.7:2817","target:port":"10.0.0.1:80"}"#),
        "192.0.2.7"
    );
    let list = r#"{"ts":1,"forwarded-for":"198.51.100.1,192.0.2.7"}"#;
    let listed = read(list.as_bytes(), &Options::default(), ["forwarded"]);
    assert_eq!(listed.fields(), [["192.0.2.7"]]);
    // Lines may have different names.
    let log = "{\"ts\":1,\"ip\":\"192.0.2.1\"}\n{\"remote_ip\":\"192.0.2.2\",\"x\":{},\"ts\":2}\n\
               {\"ts\":3,\"ip\":\"192.0.2.3\",\"client_ip\":\"192.0.2.4\"}\n";
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    assert_eq!(read.fields(), [["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"]]);
}

/// The names of clouds and of services, in objects around the fields and in any case.
#[test]
fn names_are_found_in_other_cases_and_deeper() {
    for line in [
        // Google's load balancers, Azure's gateways, AWS' firewall and gateways.
        r#"{"jsonPayload":{"statusDetails":"x"},"httpRequest":{"requestMethod":"GET","requestUrl":"http://x/a","status":200,"remoteIp":"192.0.2.7:99","serverIp":"10.0.0.1"},"timestamp":"2000-10-10T13:55:36Z","receiveTimestamp":"2020-01-01T00:00:00Z"}"#,
        r#"{"timeStamp":"2000-10-10T13:55:36+00:00","properties":{"clientIP":"192.0.2.7","clientPort":4,"httpMethod":"GET","requestUri":"/a","httpStatus":200,"serverRouted":"10.0.0.1:80"}}"#,
        r#"{"time":"2000-10-10T13:55:36Z","properties":{"clientIp":"192.0.2.7","socketIp":"203.0.113.9","httpMethod":"GET","requestUri":"https://x:443/a","httpStatusCode":"200"}}"#,
        r#"{"timestamp":971186136000,"action":"BLOCK","responseCodeSent":200,"httpRequest":{"clientIp":"192.0.2.7","uri":"/a","httpMethod":"GET","headers":[{"name":"Host","value":"x"}]},"response_code":200}"#,
        r#"{"requestTimeEpoch":"971186136000","ip":"192.0.2.7","httpMethod":"GET","path":"/a","status":"200"}"#,
        r#"{"requestTime":"10/Oct/2000:13:55:36 +0000","ip":"192.0.2.7","httpMethod":"GET","resourcePath":"/a","status":"200"}"#,
        r#"{"requestContext":{"identity":{"sourceIp":"192.0.2.7"},"requestTimeEpoch":971186136000,"httpMethod":"GET","path":"/a","status":200}}"#,
        // Vercel, Cloudflare's Logpush, Kong, Nextcloud's names, and an audit of Kubernetes.
        r#"{"timestamp":971186136000,"host":"x","proxy":{"timestamp":971186136001,"clientIp":"192.0.2.7","method":"GET","path":"/a","statusCode":200}}"#,
        r#"{"ClientIP":"192.0.2.7","ClientRequestMethod":"GET","ClientRequestURI":"/a","EdgeResponseStatus":200,"EdgeStartTimestamp":971186136000000000,"OriginIP":"10.0.0.1","OriginResponseStatus":500}"#,
        r#"{"latencies":{"request":515},"request":{"size":9,"uri":"/a","method":"GET"},"client_ip":"192.0.2.7","response":{"status":200},"started_at":971186136000}"#,
        r#"{"time":"2000-10-10T13:55:36+00:00","remoteAddr":"192.0.2.7","method":"GET","url":"/a","status":200}"#,
        r#"{"requestReceivedTimestamp":"2000-10-10T13:55:36.000000Z","sourceIPs":["192.0.2.7","10.0.0.1"],"verb":"GET","requestURI":"/a","responseStatus":{"code":200}}"#,
        // The common schemas of Azure's logs and of OCSF, and Teleport's audit.
        r#"{"time":"2000-10-10T13:55:36Z","callerIpAddress":"192.0.2.7","properties":{"httpMethod":"GET","requestUri":"https://x/a","httpStatusCode":200}}"#,
        r#"{"time":971186136000,"src_endpoint":{"ip":"192.0.2.7"},"device":{"ip":"10.0.0.3"},"proxy":{"ip":"10.0.0.1"},"http_request":{"http_method":"GET","url":{"path":"/a"}},"status_code":"200"}"#,
        r#"{"time":"2000-10-10T13:55:36Z","code":"T1000W","addr.remote":"192.0.2.7","method":"GET","path":"/a","http_status":200}"#,
        // Other spellings.
        r#"{"TIME":"2000-10-10T13:55:36Z","Remote-Addr":"192.0.2.7","Request-Method":"GET","REQUEST_URI":"/a","StatusCode":200}"#,
        r#"{"@timestamp":"2000-10-10T13:55:36Z","upstream":{"client_ip":"10.0.0.1","status":500},"event":{"ClientIp":"192.0.2.7","httpMethod":"GET","uri":"/a","Status":200}}"#,
        // A text that is no client does not count under a name that others use for one.
        r#"{"ts":971186136,"client":"Fox/5 (x)","remote_addr":"192.0.2.7","method":"GET","uri":"/a","status":200}"#,
    ] {
        let read =
            super::read(line.as_bytes(), &Options::default(), ["ip", "method", "path", "status"]);
        assert_eq!(read.fields(), [["192.0.2.7", "GET", "/a", "200"]], "{line}");
        assert_eq!(read.events[0].0, 971_186_136_000_000, "{line}");
    }
    // A duration is no time.
    let duration = r#"{"request_time":0.25,"remote_addr":"192.0.2.7"}"#;
    assert!(ratescope_log::recognize(duration.as_bytes(), true, &Options::default()).is_err());
    // A log inside the text of an entry.
    let entry = r#"{"textPayload":"192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 9","timestamp":"2000-10-10T13:55:37Z","resource":{"type":"k8s_container"}}"#;
    let read = super::read(entry.as_bytes(), &Options::default(), ["ip", "path"]);
    assert_eq!((read.fields(), read.events[0].0), (vec![["192.0.2.7", "/a"]], 971_186_136_000_000));
}

#[test]
fn fields_may_be_named() {
    let line = r#"{"when":{"s":5},"who":"192.0.2.7","ip":"192.0.2.9","a.b":"x","a":{"b":"y"}}"#;
    let aliases = ["time=when.s", "ip=who"].map(|text| text.parse().unwrap()).to_vec();
    let options = Options { aliases, ..Options::default() };
    let read = read(line.as_bytes(), &options, ["ip", "who", "a.b"]);
    assert_eq!(
        (read.events[0].0, read.fields()),
        (5_000_000, vec![["192.0.2.7", "192.0.2.7", "x"]])
    );
    for (wrong, says) in [
        ("time", "write the name and the field that has it, as in time=when"),
        ("time=", "a field is missing after the ="),
        ("tim=when", "an unknown name; the known ones are time, ip, user,"),
    ] {
        let error = wrong.parse::<ratescope_log::Alias>().unwrap_err();
        assert!(error.problem().starts_with(says), "{error}");
    }
}

#[test]
fn what_is_no_json_is_told() {
    let problem = |line: &str| {
        let log = format!("{{\"ts\":1}}\n{line}\n");
        read(log.as_bytes(), &Options::default(), []).problems().concat()
    };
    for [line, says] in rows(
        r#"
        {"ts":1 | the line ends too early: a comma or a brace is missing
        {"ts":1,"a":"b | the line ends too early: a quote is not closed
        {"ts":1,"a":"b\" | the line ends too early: a quote is not closed
        {"ts":1} x | column 10: something after the object
        {"ts":x} | column 7: a value is missing
        {"ts" 1} | column 7: a colon is missing
        {ts:1} | column 2: a name in quotes is missing
        [1] | column 1: an object in braces is missing
        {"ts":"soon"} | not a time: soon
        "#,
    ) {
        assert_eq!(problem(line), format!("line 2: {says}"));
    }
    let deep = format!("{{\"ts\":1,\"a\":{}", "[".repeat(100_000));
    assert!(problem(&deep).ends_with("more than 32 objects and lists in each other"));
}

/// A long name that is repeated in objects within objects takes no memory for each member.
#[test]
fn names_within_names_are_bounded() {
    let inner = vec!["\"x\":1"; 10_000].join(",");
    let used = [1, 200].map(|length| {
        let name = "n".repeat(length);
        let line = format!("{{\"ts\":1,\"{name}\":{{\"{name}\":{{{inner}}}}},\"last\":2}}");
        let used = allocation_counter::measure(|| {
            let read = read(line.as_bytes(), &Options::default(), ["last", "x"]);
            assert_eq!(read.events.len(), 1);
        });
        used.bytes_max
    });
    assert!(used[1] < used[0] + 100_000, "{used:?}");
}

/// The members of an object under the names by which they are found: `a.b` for inner objects, and the first
/// value of a list.
fn members(object: &Map<String, Value>, outer: &str, found: &mut Vec<(String, String)>) {
    for (name, value) in object {
        let name = format!("{outer}{name}");
        match value {
            Value::Object(object) => members(object, &format!("{name}."), found),
            Value::Array(list) => match list.first() {
                Some(value) if !value.is_object() && !value.is_array() => {
                    found.push((name, text(value)));
                }
                _ => {}
            },
            value => found.push((name, text(value))),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[\"\\\\/\u{8}\n\t\u{1f600}é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z\"é]{1,4}x", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every member of an object is found under its name with the value that serde_json has, however the line
    /// is written.
    #[test]
    fn members_are_those_of_serde_json(
        object in prop::collection::hash_map("[a-z\"\\\\é]{1,4}x", any_value(), 0..6),
        pretty in any::<bool>(),
        ascii in any::<bool>(),
    ) {
        let mut object: Map<String, Value> = object.into_iter().collect();
        object.insert("ts".to_owned(), Value::from(5));
        let mut line = if pretty {
            serde_json::to_string_pretty(&object).unwrap().replace('\n', " ")
        } else {
            serde_json::to_string(&object).unwrap()
        };
        if ascii {
            let escape = |c: char| {
                if c.is_ascii() {
                    return c.to_string();
                }
                c.encode_utf16(&mut [0; 2]).iter().map(|n| format!("\\u{n:04X}")).collect()
            };
            line = line.chars().map(escape).collect();
        }
        let mut found = Vec::new();
        members(&object, "", &mut found);
        for (name, value) in &found {
            // Of two members with the same name only one can be found.
            if found.iter().filter(|(other, _)| other == name).count() == 1 {
                let read = read(line.as_bytes(), &of(Format::JSON), [name.as_str()]);
                prop_assert_eq!(read.fields(), [[value.as_str()]], "{} of {}", name, line);
            }
        }
    }

    /// A line that serde_json reads as an object is read here, too.
    #[test]
    fn what_is_json_is_read(
        text in prop::collection::vec(
            prop::sample::select(&["{", "}", "[", "]", ":", ",", " ", "\"a\"", "\"b", "\\", "1", "-", "null", "true", "\\u00e9"]),
            0..12,
        ),
    ) {
        let inner = text.concat();
        let line = format!("{{\"ts\":1,{inner}}}");
        let is_json = serde_json::from_str::<Map<String, Value>>(&line).is_ok();
        let log = format!("{{\"ts\":0}}\n{line}\n");
        let read = read(log.as_bytes(), &of(Format::JSON), ["a"]);
        prop_assert!(!is_json || read.counts.unread == 0, "{}: {:?}", line, read.problems());
    }
}

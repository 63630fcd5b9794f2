//! Fields, in all formats: addresses, paths, filters and costs.

use super::{of, read, read_in_pieces, shape};
use crate::log::doubling::{assert_linear, sizes};
use proptest::prelude::*;
use ratescope_lab::tune::Choices;
use ratescope_log::{
    Cost, Filter, Format, Log, Names, Options, Reader, Row, Statuses, Test, WrittenTime,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The field `ip` of a line that has `text` there.
fn ip(text: &str, prefix: u8) -> String {
    let log = format!("{{\"ts\":0,\"ip\":\"{text}\"}}\n");
    let options = Options { ipv6_prefix: prefix, ..of(Format::JSON) };
    read(log.as_bytes(), &options, ["ip"]).fields().concat().join("")
}

#[test]
fn an_address_has_one_form() {
    for (text, want) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:4567", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:c000:207", "192.0.2.7"),
        ("[::ffff:c000:207]:443", "192.0.2.7"),
        ("[::ffff:192.0.2.7]", "192.0.2.7"),
        ("2001:DB8:0:1:aaaa::1", "2001:db8:0:1::/64"),
        ("[2001:db8:0:1::2]:443", "2001:db8:0:1::/64"),
        ("2001:0db8:0000:0001:0000:0000:0000:0001", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("0:0:1::", "0:0:1::/64"),
        // Text that is not an address stays as it is.
        ("mail.example.org", "mail.example.org"),
        ("mail.example.org:25", "mail.example.org:25"),
        ("cafe", "cafe"),
        ("1.2.3", "1.2.3"),
        ("192.0.2.7:", "192.0.2.7"),
        ("192.0.2.7:x", "192.0.2.7:x"),
        ("[::1", "[::1"),
        ("1:2", "1:2"),
        ("::1 ", "::1 "),
    ] {
        assert_eq!(ip(text, 64), want, "{text}");
    }
    let address = "2001:db8:1234:5678:9abc:def0:1234:5678";
    for (prefix, want) in [
        (0, "::/0"),
        (3, "2000::/3"),
        (56, "2001:db8:1234:5600::/56"),
        (64, "2001:db8:1234:5678::/64"),
        (80, "2001:db8:1234:5678:9abc::/80"),
        (127, "2001:db8:1234:5678:9abc:def0:1234:5678/127"),
        (128, address),
        (255, address),
    ] {
        assert_eq!(ip(address, prefix), want, "{prefix}");
    }
}

#[test]
fn paths_may_be_cut() {
    let path = |target: &str, depth: u8| {
        let log =
            format!("192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET {target} HTTP/1.1\" 200 1\n");
        let options = Options { path_depth: depth.try_into().ok(), ..Options::default() };
        read(log.as_bytes(), &options, ["path"]).fields().concat().join("")
    };
    for (target, depth, want) in [
        ("/a/b/c?d/e", 0, "/a/b/c"),
        ("/a/b/c?d/e", 1, "/a"),
        ("/a/b/c?d/e", 2, "/a/b"),
        ("/a/b/c?d/e", 3, "/a/b/c"),
        ("/a/b/c?d/e", 9, "/a/b/c"),
        ("/a/", 1, "/a"),
        ("/", 1, "/"),
        ("//a", 1, "/"),
        ("http://x/a/b", 1, "/a"),
        ("*", 1, "*"),
    ] {
        assert_eq!(path(target, depth), want, "{target} {depth}");
    }
}

const LOG: &str = "\
192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /login HTTP/1.1\" 200 10
192.0.2.2 - - [10/Oct/2000:13:55:36 -0700] \"POST /login?a HTTP/1.1\" 401 20
192.0.2.3 - - [10/Oct/2000:13:55:36 -0700] \"POST /api/login HTTP/1.1\" 403 -
192.0.2.4 - - [10/Oct/2000:13:55:36 -0700] \"-\" 408 0
";

#[test]
fn filters_choose() {
    let chosen = |filter: Filter| {
        let read = read(LOG.as_bytes(), &Options { filter, ..Options::default() }, ["ip"]);
        assert_eq!(read.counts.events + read.counts.filtered, 4);
        let last = |ip: &str| ip.rsplit('.').next().unwrap().to_owned();
        read.fields().concat().into_iter().map(last).collect::<String>()
    };
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let paths = |texts: &[&str]| Filter { paths: strings(texts), ..Filter::default() };
    let methods = |texts: &[&str]| Filter { methods: strings(texts), ..Filter::default() };
    let statuses = |texts: &[&str]| Filter {
        statuses: texts.iter().map(|text| text.parse().unwrap()).collect(),
        ..Filter::default()
    };
    assert_eq!(chosen(Filter::default()), "1234");
    assert_eq!(chosen(paths(&["/login"])), "12");
    assert_eq!(chosen(paths(&["/api/", "/logi"])), "123");
    assert_eq!(chosen(paths(&["/"])), "123");
    assert_eq!(chosen(methods(&["post"])), "23");
    assert_eq!(chosen(methods(&["GET", "POST"])), "123");
    assert_eq!(chosen(statuses(&["4xx"])), "234");
    assert_eq!(chosen(statuses(&["200", "401-403"])), "123");
    let both = Filter { paths: strings(&["/login"]), ..statuses(&["4xx"]) };
    assert_eq!(chosen(both), "2");
}

/// Events are chosen by time, and left out by tests.
#[test]
fn events_are_left_out() {
    let line = |second: u32, ip: &str, path: &str, agent: &str| {
        format!(
            "{ip} - - [10/Oct/2000:13:55:0{second} +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n"
        )
    };
    let log = [
        line(1, "192.0.2.7", "/a", "bot/1"),
        line(2, "192.0.2.200", "/health?x", "fox"),
        line(3, "198.51.100.1", "/b", "fox"),
        line(4, "2001:db8::7", "/c/health", "fox"),
    ]
    .concat();
    let paths = |not: &[&str], since: &str, until: &str| {
        let (also, not): (Vec<&str>, Vec<&str>) =
            not.iter().partition(|test| test.starts_with('+'));
        let filter = Filter {
            also: also.iter().map(|test| test[1..].parse().unwrap()).collect(),
            not: not.iter().map(|not| not.parse().unwrap()).collect(),
            since: Some(since.parse().unwrap()),
            until: Some(until.parse().unwrap()),
            ..Filter::default()
        };
        let options = Options { filter, ..Options::default() };
        read(log.as_bytes(), &options, ["path"]).fields().concat().join(" ")
    };
    let (begin, end) = ("2000-10-10", "2000-10-11");
    assert_eq!(paths(&[], begin, end), "/a /health /b /c/health");
    assert_eq!(paths(&[], "2000-10-10T13:55:02", "2000-10-10T15:55:04+02:00"), "/health /b");
    assert_eq!(paths(&[], "2000-10-10T13:56", end), "");
    assert_eq!(paths(&["ip=192.0.2.0/24"], begin, end), "/b /c/health");
    assert_eq!(paths(&["ip=192.0.2.7", "agent=fox"], begin, end), "");
    assert_eq!(paths(&["ip=2001:db8::/32"], begin, end), "/a /health /b");
    assert_eq!(paths(&["ip=::/0", "path=/health"], begin, end), "/a /b");
    expressions(&|tests| paths(tests, begin, end));
    assert_eq!(paths(&["+path=/c", "+ip=::/0"], begin, end), "/c/health");
    for (wrong, says) in [
        ("ip", "write a field and a text"),
        ("agent=", "write a field and a text"),
        ("ip=ann", "not an address or a network"),
        ("ip=192.0.2.0/33", "the prefix of a network is at most 32 bits"),
    ] {
        let error = wrong.parse::<Test>().unwrap_err();
        assert!(error.problem().starts_with(says), "{wrong}: {error}");
    }
    assert!("noon".parse::<WrittenTime>().is_err());
    // In a link, a comma may be a part of a test.
    let mut choices = Choices::default();
    choices.set("not", "agent=a{1,2}, x-y=b,c,ip=::1").unwrap();
    assert_eq!(choices.get("not"), "agent=a{1,2},x-y=b,c,ip=::1");
    assert_eq!(choices.reading.options.filter.not.len(), 3);
}

/// Regular expressions search a field in linear time: the third takes exponential time by backtracking.
fn expressions(paths: &dyn Fn(&[&str]) -> String) {
    assert_eq!(paths(&["agent~^b.t/[0-9]{1,2}$"]), "/health /b /c/health");
    assert_eq!(paths(&["+path~h$", "ip~:", "+agent=fox"]), "/health");
    assert_eq!(paths(&["agent~^(([a-z])+.)+[A-Z]([a-z])+$"]), "/a /health /b /c/health");
    for (wrong, says) in [
        ("agent~(", "found open group without closing"),
        ("agent~(a{999}){999}", "compiled regex exceeded"),
        (&format!("agent~{}", "a".repeat(1001)), "a regular expression of more than 1,000"),
    ] {
        let error = wrong.parse::<Test>().unwrap_err();
        assert!(error.problem().starts_with(says), "{wrong}: {error}");
    }
}

#[test]
fn statuses_have_a_text_form() {
    for text in ["404", "4xx", "400-403", "100-599"] {
        assert_eq!(text.parse::<Statuses>().unwrap().to_string(), text);
    }
    for text in ["", "4x", "xx", "99", "1000", "403-400", "0xx", "4xx-5xx", "-", "abc"] {
        let error = text.parse::<Statuses>().unwrap_err();
        assert_eq!(error.problem(), "not a status; write 404, 4xx or 400-403", "{text}");
    }
}

/// A filter or a cost by a field that no line can have is an error, instead of a log without events.
#[test]
fn unknown_fields_are_refused() {
    let refused = |log: &str, options: &Options| {
        let error = Reader::new(&shape(log.as_bytes(), options), options).unwrap_err();
        error.to_string()
    };
    let filter = Filter { paths: vec!["/".to_owned()], ..Filter::default() };
    let options = Options { filter, ..Options::default() };
    assert_eq!(
        refused("2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b", &options),
        "\"path\": not a field of this log; it has ip, host, helo, sender, auth, user, bytes, protocol, id"
    );
    assert_eq!(refused("time,user\n", &options), "\"path\": not a field of this log; it has user");
    let cost = |name: &str| Options { cost: Some(name.parse().unwrap()), ..Options::default() };
    assert!(refused(LOG, &cost("size")).starts_with("\"size\": not a field"));
    assert!(refused(LOG, &cost("agent")).starts_with("\"agent\": not a field"), "a Common Log");
    assert!(refused(LOG, &cost("time")).starts_with("\"time\": not a field"));
}

#[test]
fn costs_are_fields() {
    let costs = |log: &str, cost: Option<&str>| {
        let cost = cost.map(|cost| cost.parse().unwrap());
        let read = read(log.as_bytes(), &Options { cost, ..Options::default() }, []);
        let costs: Vec<f64> = read.events.iter().map(|(_, cost, _)| *cost).collect();
        (costs, read.problems())
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(costs(LOG, None), (vec![1.0; 4], none.clone()));
    assert_eq!(costs(LOG, Some("1")), (vec![1.0; 4], none.clone()));
    assert_eq!(costs(LOG, Some("bytes")), (vec![10.0, 20.0, 0.0, 0.0], none.clone()));
    let csv = "time,cost,n\n0,2,3\n1,,\n2,5,x\n";
    assert_eq!(costs(csv, None), (vec![2.0, 1.0, 5.0], none.clone()));
    assert_eq!(costs(csv, Some("1")), (vec![1.0; 3], none));
    let (found, problems) = costs(csv, Some("n"));
    assert_eq!(found, [3.0, 0.0]);
    assert!(problems.len() == 1 && problems[0].starts_with("line 4: cost \"x\": "), "{problems:?}");
    assert_eq!(
        (Cost::One.to_string(), "bytes".parse::<Cost>().unwrap().to_string()),
        ("1".to_owned(), "bytes".to_owned())
    );
}

/// Bytes that are not UTF-8 are shown as servers write them, and their line is read.
#[test]
fn bytes_that_are_no_text_are_shown() {
    let log = b"192.0.2.1 - \xe9va [10/Oct/2000:13:55:36 -0700] \"GET /\xff HTTP/1.1\" 200 10\n\
                192.0.2.1 - \xc3\xa9va [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 10\n";
    let want = [["\\xE9va", "/\\xFF"], ["éva", "/a"]];
    for length in 1..9 {
        let read = read_in_pieces(log, length, &Options::default(), ["user", "path"]);
        assert_eq!(read.fields(), want);
    }
}

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
        // Addresses with runs of zeros, and mapped ones.
        (any::<u128>(), any::<u8>()).prop_map(|(bits, keep)| {
            let mask =
                (0..8).filter(|i| keep >> i & 1 == 1).fold(0u128, |m, i| m | 0xffff << (16 * i));
            IpAddr::V6(Ipv6Addr::from_bits(bits & mask))
        }),
        any::<u32>().prop_map(|bits| IpAddr::V6(Ipv4Addr::from_bits(bits).to_ipv6_mapped())),
    ]
}

proptest! {
    /// All spellings of an address give the same text; two addresses give the same text exactly if their
    /// prefixes are equal; and the text is that of the standard library.
    #[test]
    fn addresses_are_grouped_by_their_prefix(address in any_ip(), other in any_ip(), near in any::<u128>(), keep in 0u8..129, prefix in 0u8..=128) {
        let bits = |ip: IpAddr| match ip { IpAddr::V6(v6) => v6.to_bits(), IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits() };
        let cut = |bits: u128, prefix: u8| if prefix == 0 { 0 } else { bits >> (128 - prefix) << (128 - prefix) };
        let text = ip(&address.to_string(), prefix);
        prop_assert_eq!(&text, &ip(&format!("{address:#?}").to_uppercase(), prefix));
        if let IpAddr::V6(v6) = address {
            let whole = v6.segments().map(|group| format!("{group:04X}")).join(":");
            prop_assert_eq!(&text, &ip(&whole, prefix));
            prop_assert_eq!(&text, &ip(&format!("[{v6}]:443"), prefix));
        }
        match address.to_canonical() {
            IpAddr::V4(v4) => prop_assert_eq!(&text, &v4.to_string()),
            IpAddr::V6(v6) if prefix == 128 => prop_assert_eq!(&text, &v6.to_string()),
            IpAddr::V6(v6) => {
                let network = Ipv6Addr::from_bits(cut(v6.to_bits(), prefix));
                prop_assert_eq!(&text, &format!("{network}/{prefix}"));
            }
        }
        // An address that shares its first bits with `address`.
        let near = cut(bits(address), keep) | (near & !cut(u128::MAX, keep));
        let near = IpAddr::V6(Ipv6Addr::from_bits(near));
        for other in [other, near] {
            let same = match (address.to_canonical(), other.to_canonical()) {
                (IpAddr::V6(a), IpAddr::V6(b)) => cut(a.to_bits(), prefix) == cut(b.to_bits(), prefix),
                (a, b) => a == b,
            };
            prop_assert_eq!(text == ip(&other.to_string(), prefix), same, "{} {}", address, other);
        }
    }
}

fn row(log: &str, names: &Names) -> Row {
    let mut log = Log::open(log.as_bytes(), &Options::default()).unwrap();
    let mut row = None;
    log.read(&mut |record| row = Some(Row::new(record, names))).unwrap();
    row.unwrap()
}

/// A row has the fields by their names, in whatever order these are.
#[test]
fn a_row_has_its_fields() {
    let of = |names: &[&str]| row("time,key,ip\n1,a,192.0.2.7\n", &names.iter().copied().collect());
    for names in [["ip", "key", "none"], ["none", "key", "ip"], ["key", "none", "ip"]] {
        let row = of(&names);
        let fields = ["key", "ip", "none", "other"].map(|name| row.event().fields.value(name));
        assert_eq!(fields, [Some("a"), Some("192.0.2.7"), None, None], "{names:?}");
    }
    // The first value of a name counts, and a standard field that is not there has none.
    let twice = "{\"ts\":1,\"ip\":\"b\",\"user\":\"-\",\"a\":\"b\",\"a\":\"c\"}\n";
    let twice = row(twice, &["a", "user"].into_iter().collect());
    assert_eq!(["a", "user"].map(|name| twice.event().fields.value(name)), [Some("b"), None]);
    // As a simulation has them, which looks for the fields of all rules.
    let names: Vec<String> = (0..4000).map(|i| format!("k{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = sizes(2000).map(|n| (&names[..n], of(&names[..n])));
    assert_linear(&rows, |(names, row)| {
        let event = row.event();
        assert!(names.iter().all(|name| event.fields.value(name).is_none()));
    });
    let [_, (_, many)] = rows;
    assert!(many.bytes() < 200, "{}", many.bytes());
}

/// A row keeps thousands of fields, and the line has as many, the standard ones, too.
#[test]
fn a_row_of_many_fields_is_made_in_one_pass() {
    let given = sizes(2000).map(|n| {
        let fields = || (0..n).map(|i| format!("k{i:04}"));
        let header = fields().collect::<Vec<_>>().join(",");
        let log = format!("time,ip,user,{header}\n0,::ffff:192.0.2.7,-{}\n", ",v".repeat(n));
        (n, log, fields().chain(["ip", "user", "uri"].map(String::from)).collect::<Names>())
    });
    assert_linear(&given, |(n, log, names)| {
        let row = row(log, names);
        let last = format!("k{:04}", n - 1);
        let found = ["k0000", &last, "ip", "user", "uri", "time"];
        let found = found.map(|name| row.event().fields.value(name));
        assert_eq!(found, [Some("v"), Some("v"), Some("192.0.2.7"), None, None, None]);
    });
}

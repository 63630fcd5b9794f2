//! Who sent a request, and who only says so.

use crate::middleware::invariants::hold;
use crate::middleware::listed;
use crate::seeds;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use ratescope_tower::{Networks, Proxies};
use std::net::IpAddr;

const TRUSTED: &str = "10.0.0.0/8, 192.0.2.1, fd00::/8";

fn networks() -> Networks {
    TRUSTED.parse().unwrap()
}

/// The client, where a peer sends header lines of one name.
fn client(proxies: &Proxies, peer: &str, name: &'static str, lines: &[&[u8]]) -> String {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line).unwrap());
    }
    proxies.client(peer.parse().unwrap(), &headers).to_string()
}

/// Both headers, whose proxies write addresses in their own ways.
const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";

#[track_caller]
fn assert_client(name: &'static str, peer: &str, list: &str, expected: &str) {
    let proxies = Proxies::header(HeaderName::from_static(name), networks()).unwrap();
    let client = client(&proxies, peer, name, &[list.as_bytes()]);
    assert_eq!(client, expected, "{peer} says {list:?}");
}

#[test]
fn the_peer_is_judged_first() {
    // A stranger may say what it wants.
    for list in ["198.51.100.9", "10.0.0.1", "198.51.100.9, 10.0.0.1", "127.0.0.1", ""] {
        assert_client(FORWARDED_FOR, "203.0.113.5", list, "203.0.113.5");
    }
    assert_client(FORWARDED_FOR, "10.0.0.1", "198.51.100.9", "198.51.100.9");
    assert_client(FORWARDED_FOR, "::ffff:10.0.0.1", "198.51.100.9", "198.51.100.9");
    assert_client(FORWARDED_FOR, "fd00::1", "198.51.100.9", "198.51.100.9");
    assert_client(FORWARDED_FOR, "192.0.2.1", "198.51.100.9", "198.51.100.9");
    assert_client(FORWARDED_FOR, "192.0.2.2", "198.51.100.9", "192.0.2.2");
    assert_client(FORWARDED_FOR, "::ffff:203.0.113.5", "198.51.100.9", "203.0.113.5");
}

#[test]
fn the_last_that_is_not_trusted_counts() {
    assert_client(FORWARDED_FOR, "10.0.0.1", "1.1.1.1, 198.51.100.9", "198.51.100.9");
    assert_client(FORWARDED_FOR, "10.0.0.1", "10.9.9.9, 198.51.100.9", "198.51.100.9");
    assert_client(
        FORWARDED_FOR,
        "10.0.0.1",
        "1.1.1.1, 198.51.100.9, 10.0.0.2, fd00::7",
        "198.51.100.9",
    );
    assert_client(FORWARDED_FOR, "10.0.0.1", "1.1.1.1,198.51.100.9,192.0.2.1", "198.51.100.9");
    // If all are trusted, the client is the address that is furthest away.
    assert_client(FORWARDED_FOR, "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3");
    assert_client(FORWARDED_FOR, "10.0.0.1", "", "10.0.0.1");
}

#[test]
fn entries_may_have_ports_brackets_and_gaps() {
    for (entry, expected) in [
        ("198.51.100.9:4711", "198.51.100.9"),
        ("[2001:db8::9]:4711", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("2001:DB8::9", "2001:db8::9"),
        ("::ffff:198.51.100.9", "198.51.100.9"),
        ("[::ffff:198.51.100.9]:80", "198.51.100.9"),
        (" \t198.51.100.9 ", "198.51.100.9"),
        ("198.51.100.9,, ,", "198.51.100.9"),
        ("1.1.1.1, 198.51.100.9:1, [fd00::1]:2, 10.0.0.2:3", "198.51.100.9"),
        ("1.1.1.1, \"198.51.100.9\", \"10.0.0.2:3\"", "198.51.100.9"),
        ("\"[2001:db8::9]:4711\"", "2001:db8::9"),
        ("64:ff9b::198.51.100.9", "198.51.100.9"),
        // Not the proxy, whatever a client behind a translator makes up.
        ("198.51.100.9, 64:ff9b::10.0.0.2", "64:ff9b::a00:2"),
    ] {
        assert_client(FORWARDED_FOR, "10.0.0.1", entry, expected);
    }
}

/// If an item is no address, the client is the trusted proxy that wrote it.
#[test]
fn what_cannot_be_read_ends_the_list() {
    for list in ["unknown", "198.51.100.9, unknown", "198.51.100.9, _hidden", "1.1.1.1, 300.1.1.1"]
    {
        assert_client(FORWARDED_FOR, "10.0.0.1", list, "10.0.0.1");
    }
    assert_client(FORWARDED_FOR, "10.0.0.1", "198.51.100.9, <script>, 10.0.0.2", "10.0.0.2");
    assert_client(FORWARDED_FOR, "10.0.0.1", "198.51.100.9 10.0.0.2", "10.0.0.1");
}

#[test]
fn several_lines_are_one_list() {
    let proxies = Proxies::x_forwarded_for(networks()).unwrap();
    let of = |lines: &[&[u8]]| client(&proxies, "10.0.0.1", "x-forwarded-for", lines);
    assert_eq!(of(&[b"1.1.1.1", b"198.51.100.9"]), "198.51.100.9");
    assert_eq!(of(&[b"1.1.1.1", b"198.51.100.9", b"10.0.0.2"]), "198.51.100.9");
    assert_eq!(of(&[b"198.51.100.9", b"", b"10.0.0.2"]), "198.51.100.9");
    // Bytes that are no text spoil nothing but their own entry.
    assert_eq!(of(&[b"\xff\xfe, 198.51.100.9"]), "198.51.100.9");
    assert_eq!(of(&[b"1.1.1.1, \xff"]), "10.0.0.1");
}

#[test]
fn the_other_header_is_not_heard() {
    let mut headers = HeaderMap::new();
    headers.insert("forwarded", HeaderValue::from_static("for=1.1.1.1"));
    headers.insert("x-real-ip", HeaderValue::from_static("2.2.2.2"));
    headers.insert("x-forwarded-for", HeaderValue::from_static("198.51.100.9"));
    let peer: IpAddr = "10.0.0.1".parse().unwrap();
    let by = |proxies: Proxies| proxies.client(peer, &headers).to_string();
    assert_eq!(by(Proxies::x_forwarded_for(networks()).unwrap()), "198.51.100.9");
    assert_eq!(by(Proxies::forwarded(networks()).unwrap()), "1.1.1.1");
    assert_eq!(
        by(Proxies::header(HeaderName::from_static("x-real-ip"), networks()).unwrap()),
        "2.2.2.2"
    );
}

#[test]
fn forwarded_is_read_with_its_quotes() {
    for (list, expected) in [
        ("for=198.51.100.9", "198.51.100.9"),
        ("For=198.51.100.9;proto=https;by=10.0.0.1", "198.51.100.9"),
        ("proto=https;by=10.0.0.1; FOR=\"198.51.100.9:47\"", "198.51.100.9"),
        ("for=\"[2001:db8::9]:4711\"", "2001:db8::9"),
        ("for=\"198.51.100.9:_p\"", "198.51.100.9"),
        ("for=\"[2001:db8::9]:_a.b-C_9\"", "2001:db8::9"),
        ("for=1.1.1.1, for=\"198.51.100.9:_p q\"", "10.0.0.1"),
        ("for=1.1.1.1, for=\"[2001:db8::9]:nonsense\"", "10.0.0.1"),
        ("for=1.1.1.1, for=198.51.100.9, for=10.0.0.2", "198.51.100.9"),
        ("for=1.1.1.1,for=\"[fd00::3]\"", "1.1.1.1"),
        ("for=1.1.1.1, for=unknown", "10.0.0.1"),
        ("for=1.1.1.1, for=\"_gazonk\"", "10.0.0.1"),
        ("for=1.1.1.1, proto=https", "10.0.0.1"),
        ("", "10.0.0.1"),
    ] {
        assert_client(FORWARDED, "10.0.0.1", list, expected);
        assert_client(FORWARDED, "203.0.113.5", list, "203.0.113.5");
    }
}

/// A client ends its part with an open quote or a backslash, so that the address added by the proxy seems to be
/// part of it; or has the proxy repeat a host with commas and quotes in it.
#[test]
fn an_open_quote_swallows_nothing() {
    for list in [
        "for=\"1.1.1.1, for=198.51.100.9",
        "for=1.1.1.1;host=\"a, for=198.51.100.9",
        "for=\"1.1.1.1\\, for=198.51.100.9",
        "for=1.1.1.1, for=198.51.100.9;host=\"x, for=1.1.1.1\"",
        "for=1.1.1.1, for=198.51.100.9;host=\"a\\\", for=6.6.6.6;x=\\\"b\"",
        "for=1.1.1.1, for=198.51.100.9;host=\"a\\\\\"",
        "for=1.1.1.1, host=\"x;for=6.6.6.6\";for=198.51.100.9",
    ] {
        assert_client(FORWARDED, "10.0.0.1", list, "198.51.100.9");
    }
    // If the proxy's own part has a quote too many, nobody can tell where it ends.
    assert_client(FORWARDED, "10.0.0.1", "for=\"[2001:db8::9]:47\";host=\"", "10.0.0.1");
}

#[test]
fn networks_are_read_and_written() {
    for (text, written) in [
        ("10.0.0.0/8,fd00::/8 ,  192.0.2.7", "10.0.0.0/8, fd00::/8, 192.0.2.7"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("0.0.0.0/0, ::/0", "0.0.0.0/0, ::/0"),
        // More than NAT64.
        ("64:ff9b::/47, 64:ff9b::1:0:0/96", "64:ff9b::/47, 64:ff9b::1:0:0/96"),
        ("64:ff9b::192.0.2.7", "192.0.2.7"),
        // An internal address of NAT64 stays as it is.
        ("64:ff9b::10.0.0.0/104", "64:ff9b::a00:0/104"),
        ("2001:DB8::1", "2001:db8::1"),
    ] {
        let networks: Networks = text.parse().unwrap();
        assert_eq!(networks.to_string(), written);
        assert_eq!(written.parse::<Networks>().unwrap(), networks);
    }
    let all_of_nat64 =
        "addresses of NAT64 count as their IPv4 addresses: write the networks of those";
    for (text, problem) in [
        ("", "a network is missing"),
        ("10.0.0.0/8,", "a network is missing"),
        ("10.0.0.0/33", "not a network"),
        ("10.0.0.1/8", "10.0.0.1 is an address within the network 10.0.0.0/8"),
        ("localhost", "not an address"),
        (
            "64:ff9b::c000:200/120",
            "addresses of NAT64 count as their IPv4 addresses: write 192.0.2.0/24",
        ),
        ("64:ff9b::/96", all_of_nat64),
        ("64:ff9b::/95", all_of_nat64),
        ("64:ff9b::/48", all_of_nat64),
        ("64:ff9b::/97", "addresses of NAT64 count as their IPv4 addresses: write 0.0.0.0/1"),
    ] {
        let error = text.parse::<Networks>().unwrap_err();
        assert!(error.problem().starts_with(problem), "{text}: {error}");
    }
    assert_eq!("10.0.0.0/8, fd00::/x".parse::<Networks>().unwrap_err().at(), 12..20);
}

#[test]
fn networks_are_made_of_addresses() {
    let of = |address: &str, length| Networks::new([(address.parse().unwrap(), length)]);
    for (address, length, written) in [
        ("10.0.0.0", 8, "10.0.0.0/8"),
        ("::ffff:10.0.0.0", 104, "10.0.0.0/8"),
        ("192.0.2.7", 32, "192.0.2.7"),
        ("::", 0, "::/0"),
    ] {
        assert_eq!(of(address, length).unwrap(), written.parse().unwrap());
    }
    let outside = of("10.0.0.1", 8).unwrap_err();
    assert_eq!(outside.problem(), "10.0.0.1 is an address within the network 10.0.0.0/8");
    assert!(of("10.0.0.0", 33).unwrap_err().to_string().contains("10.0.0.0/33"));
    assert!(Networks::new([]).unwrap().is_empty());
}

/// With all of the internet trusted, the first address would count, which the client makes up.
#[test]
fn the_internet_is_no_proxy() {
    let of = |text: &str| Proxies::x_forwarded_for(text.parse().unwrap());
    for (text, problem) in [
        (
            "0.0.0.0/0",
            "\"0.0.0.0/0\": the network has public addresses, too, and internal is 0.0.0.0/8, 10.0.0.0/8",
        ),
        ("::/0", "\"::/0\": the network has public addresses, too, and internal is fc00::/7"),
        ("::ffff:0:0/96", "\"0.0.0.0/0\": the network has"),
        ("10.0.0.0/8, ::ffff:0:0/97", "\"0.0.0.0/1\": the network has"),
        ("0.0.0.0/1, 128.0.0.0/1", "\"0.0.0.0/1\": the network has"),
        (
            "172.0.0.0/8",
            "\"172.0.0.0/8\": the network has public addresses, too, and internal is 172.16.0.0/12;",
        ),
        (
            "fd00::/8, 192.0.0.0/8",
            "\"192.0.0.0/8\": the network has public addresses, too, and internal is 192.168.0.0/16;",
        ),
        ("32.0.0.0/3", "these are 536,870,912 public addresses"),
        (
            "23.0.0.0/8, 24.0.0.0/32",
            "these are 16,777,217 public addresses, and proxies have at most 16,777,216;",
        ),
        (
            "2000::/3",
            "these are 2,305,843,009,213,693,952 public networks of /64, and proxies have at most",
        ),
        ("2600::/12", "these are"),
    ] {
        let error = of(text).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
        assert!(error.contains("the second address from the right"), "{text}: {error}");
    }
    // Each half of the internet in pieces.
    let pieces: Vec<String> = (1..=223).map(|first| format!("{first}.0.0.0/9")).collect();
    assert!(of(&pieces.join(", ")).is_err());

    let remark = |text| of(text).unwrap().remark().map(str::to_owned);
    for text in [
        "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, 169.254.0.0/16, 100.64.0.0/10",
        "fc00::/7, fe80::/10, ::1",
        "10.0.0.0/9, 10.128.0.0/9",
        "192.0.2.7, 130.211.0.0/22, 2001:db8::/64",
        "",
    ] {
        let networks = if text.is_empty() { Networks::default() } else { text.parse().unwrap() };
        let proxies = Proxies::x_forwarded_for(networks).unwrap();
        assert_eq!(proxies.remark(), None, "{text}");
    }
    assert_eq!(
        remark("104.16.0.0/13, 172.64.0.0/13, 2606:4700::/32").unwrap(),
        "the proxies have 1,048,576 public addresses and 4,294,967,296 public networks of /64: \
         a client at one of them chooses the address that it is counted by"
    );
    // A network within another counts once.
    assert_eq!(
        remark("35.191.0.0/16, 35.191.2.0/24").unwrap(),
        "the proxies have 65,536 public addresses: \
         a client at one of them chooses the address that it is counted by"
    );
}

#[test]
fn proxies_are_counted() {
    for (name, list, n, expected) in [
        (FORWARDED_FOR, "6.6.6.6, 198.51.100.9, 10.0.0.2", 2, "198.51.100.9"),
        (FORWARDED_FOR, "6.6.6.6, 198.51.100.9", 1, "198.51.100.9"),
        (FORWARDED_FOR, "6.6.6.6, 198.51.100.9", 0, "203.0.113.5"),
        // The request went past a proxy.
        (FORWARDED_FOR, "198.51.100.9", 2, "198.51.100.9"),
        (FORWARDED_FOR, "", 2, "203.0.113.5"),
        (FORWARDED_FOR, "198.51.100.9, unknown, 10.0.0.2", 3, "10.0.0.2"),
        (FORWARDED_FOR, "198.51.100.9, unknown", 2, "203.0.113.5"),
        (FORWARDED_FOR, "6.6.6.6,,198.51.100.9:47, , 10.0.0.2", 2, "198.51.100.9"),
        (FORWARDED, "for=6.6.6.6, for=\"[2001:db8::9]:47\", for=10.0.0.2", 2, "2001:db8::9"),
        (FORWARDED_FOR, "198.51.100.9", usize::MAX, "198.51.100.9"),
    ] {
        let header = HeaderName::from_static(name);
        let proxies = Proxies::hops(header, n);
        assert_eq!(client(&proxies, "203.0.113.5", name, &[list.as_bytes()]), expected, "{list}");
        // A stranger is believed nothing.
        let proxies = proxies.only_from(networks()).unwrap();
        let stranger = client(&proxies, "203.0.113.5", name, &[list.as_bytes()]);
        assert_eq!(stranger, "203.0.113.5", "{list}");
    }
    // Two lines are one list.
    let proxies = Proxies::hops(HeaderName::from_static(FORWARDED_FOR), 2);
    let lines: [&[u8]; 2] = [b"6.6.6.6, 198.51.100.9", b"10.0.0.2"];
    assert_eq!(client(&proxies, "10.0.0.1", FORWARDED_FOR, &lines), "198.51.100.9");
}

/// A header that the proxy in front sets. If it has more than an address, the client added to it.
#[test]
fn one_address_is_the_client() {
    let name = "cf-connecting-ip";
    let proxies = Proxies::one_address(HeaderName::from_static(name));
    let of = |lines: &[&[u8]]| client(&proxies, "10.0.0.1", name, lines);
    assert_eq!(of(&[b"198.51.100.9"]), "198.51.100.9");
    assert_eq!(of(&[b" 2001:db8::9 "]), "2001:db8::9");
    for lines in [
        &[&b"6.6.6.6, 198.51.100.9"[..]][..],
        &[b"6.6.6.6", b"198.51.100.9"],
        &[b"me"],
        &[b""],
        &[],
    ] {
        assert_eq!(of(lines), "10.0.0.1");
    }
    assert!(proxies.only_from("0.0.0.0/0".parse().unwrap()).is_ok());
    let walked = Proxies::x_forwarded_for(networks()).unwrap();
    assert!(walked.only_from("0.0.0.0/0".parse().unwrap()).is_err());
}

/// The seeds of the fuzzer, as they are and cut short anywhere.
#[test]
fn the_seeds_of_the_fuzzer() {
    seeds::each("proxies", 12, |seed| {
        for end in 0..=seed.len() {
            hold(&seed[..end]);
            hold(&seed[end..]);
        }
    });
    seeds::each("forwarded", 3, listed::hold);
}

/// The parts that such headers are made of.
const PARTS: [&str; 16] = [
    "198.51.100.9",
    "10.0.0.2",
    "[fd00::1]",
    "::ffff:1.1.1.1",
    ":80",
    "for=",
    "For=\"",
    "\"",
    "\\",
    ",",
    ", ",
    ";",
    "host=",
    "unknown",
    "\n",
    " ",
];

proptest! {
    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..80)) {
        hold(&data);
    }

    #[test]
    fn any_parts_of_headers(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..14)) {
        hold(parts.concat().as_bytes());
    }

    /// The address that the trusted proxies saw counts, whatever else a client sends.
    #[test]
    fn what_a_client_makes_up_changes_nothing(
        made_up in proptest::collection::vec(any::<u8>(), 0..60),
        lines in any::<bool>(),
        forwarded in any::<bool>(),
    ) {
        let made_up: Vec<u8> = made_up.into_iter().filter(|b| *b >= 32 && *b != 127).collect();
        let (proxies, name, seen) = if forwarded {
            let seen = "for=198.51.100.9;proto=http, for=\"10.0.0.2:80\"";
            (Proxies::forwarded(networks()).unwrap(), "forwarded", seen)
        } else {
            let seen = "198.51.100.9, 10.0.0.2:80";
            (Proxies::x_forwarded_for(networks()).unwrap(), "x-forwarded-for", seen)
        };
        let joined = [&made_up[..], seen.as_bytes()].join(&b", "[..]);
        let sent: Vec<&[u8]> =
            if lines { vec![&made_up[..], seen.as_bytes()] } else { vec![&joined[..]] };
        prop_assert_eq!(client(&proxies, "10.0.0.1", name, &sent), "198.51.100.9");
        // And nothing at all, where it does not come by a proxy.
        prop_assert_eq!(client(&proxies, "203.0.113.5", name, &sent), "203.0.113.5");
    }
}

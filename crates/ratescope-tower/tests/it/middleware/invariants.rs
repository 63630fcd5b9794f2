//! Promises for any headers of proxies, however broken: for the tests and for the fuzzer.

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use ratescope_tower::{Networks, Proxies};
use std::net::IpAddr;

const TRUSTED: &str = "10.0.0.0/8, 192.0.2.1, fd00::/8";

const PROXY: [u8; 4] = [10, 0, 0, 1];
const STRANGER: [u8; 4] = [203, 0, 113, 5];

/// Items that a client may put before the one that its proxy adds.
const MADE_UP: [&str; 6] = [
    "198.51.100.66",
    "for=198.51.100.66",
    "for=198.51.100.66;x=\"",
    "for=\"198.51.100.66\\",
    "\"",
    "",
];

/// Panics unless it holds that a stranger is taken for itself; that the client of a proxy has one
/// spelling; that it is the same whatever the list has before it, in the same line or another; and
/// that lines of addresses are one list. The lines of `data` are those of a header.
pub(crate) fn hold(data: &[u8]) {
    let trusted: Networks = TRUSTED.parse().unwrap();
    let lines = data.split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines.filter(|line| HeaderValue::from_bytes(line).is_ok()).collect();
    for name in ["x-forwarded-for", "forwarded"] {
        let name = HeaderName::from_static(name);
        let proxies = Proxies::header(name.clone(), trusted.clone()).unwrap();
        let find = |peer: [u8; 4], lines: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(&name, HeaderValue::from_bytes(line).unwrap());
            }
            proxies.client(IpAddr::from(peer), &headers)
        };
        assert_eq!(find(STRANGER, &lines), IpAddr::from(STRANGER));
        let client = find(PROXY, &lines);
        assert_eq!(client, client.to_canonical());
        if name != "forwarded" {
            assert_eq!(find(PROXY, &[&lines.join(&b","[..])]), client, "as one list");
        }
        // If all are trusted, the one who asked the first of them may be the client.
        if trusted.contains(client) {
            continue;
        }
        for made_up in MADE_UP.map(str::as_bytes) {
            let (first, rest) = lines.split_first().unwrap();
            let joined = [made_up, first].join(&b","[..]);
            let shown = String::from_utf8_lossy(&joined);
            let before = [&[made_up], &lines[..]].concat();
            assert_eq!(find(PROXY, &before), client, "in lines of their own: {shown}");
            let within = [&[&joined[..]], rest].concat();
            assert_eq!(find(PROXY, &within), client, "in its line: {shown}");
        }
    }
}

//! Lists of addresses whose meaning is known, as `Forwarded` (RFC 7239) and as `X-Forwarded-For`: for the tests and for the
//! fuzzer.

use http::{HeaderMap, HeaderValue};
use ratescope_tower::{Networks, Proxies};
use std::net::IpAddr;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// Addresses as they are written, and their meanings; `None` for texts that hide one.
const NODES: [(&str, Option<&str>); 15] = [
    ("10.0.0.2", Some("10.0.0.2")),
    ("\"10.0.0.3:8080\"", Some("10.0.0.3")),
    ("\"[fd00::1]\"", Some("fd00::1")),
    ("203.0.113.5", Some("203.0.113.5")),
    ("\"203.0.113.6:443\"", Some("203.0.113.6")),
    ("\"[2001:db8::1]\"", Some("2001:db8::1")),
    ("\"[2001:db8::2]:443\"", Some("2001:db8::2")),
    ("\"[::ffff:203.0.113.7]\"", Some("203.0.113.7")),
    ("unknown", None),
    ("_hidden", None),
    ("203.0.113.999", None),
    // Ports that are hidden; the addresses are not.
    ("\"10.0.0.4:_p\"", Some("10.0.0.4")),
    ("\"203.0.113.8:_p.q-1_\"", Some("203.0.113.8")),
    ("\"[2001:db8::3]:_p\"", Some("2001:db8::3")),
    ("\"unknown:_p\"", None),
];

/// Texts that may stand around the address in its element.
const AROUND: [[&str; 2]; 8] = [
    ["for=", ""],
    ["For=", ";proto=https"],
    [" FOR=", " "],
    ["by=10.0.0.9;for=", ";host=a"],
    ["host=\"a,b;c=\\\"d\\\"\";for=", ""],
    ["for=", ";host=\"for=192.0.2.1, for=192.0.2.2\""],
    ["proto=\"\\\\\";for=", ";by=\"\\\",\""],
    ["secret=_x;;for=", ";"],
];

/// The texts that may stand between two addresses in `X-Forwarded-For`.
const BETWEEN: [&str; 4] = [",", ", ", " ,", ",,"];

/// Two bytes are an element of the list, or where the last bit but one of the second says so, the first one of
/// another line. Panics unless the client is the last address that is not trusted.
pub(crate) fn hold(data: &[u8]) {
    let trusted: Networks = "10.0.0.0/8, fd00::/8".parse().expect("they are networks");
    let (mut lines, mut plain, mut nodes) = (vec![String::new()], String::new(), Vec::new());
    for pair in data.chunks_exact(2).take(50) {
        let (written, address) = NODES[usize::from(pair[0]) % NODES.len()];
        let [before, after] = AROUND[usize::from(pair[1]) % AROUND.len()];
        if pair[1] & 0x40 != 0 || lines.is_empty() {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { "," });
            line.push_str(&[before, written, after].concat());
        }
        let between = BETWEEN[usize::from(pair[1] >> 4) % BETWEEN.len()];
        plain.push_str(if plain.is_empty() { "" } else { between });
        // Without quotes, and in brackets only before a port.
        let written = written.trim_matches('"');
        plain.push_str(written.strip_suffix(']').map_or(written, |inner| &inner[1..]));
        nodes.push(address.map(|address| address.parse().expect("it is an address")));
    }
    let found = |proxies: Proxies, name: &'static str, lines: &[String]| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_str(line).expect("it is visible"));
        }
        proxies.client(PEER, &headers)
    };
    let client = client(&nodes, &trusted);
    let forwarded = Proxies::forwarded(trusted.clone()).expect("they are internal");
    assert_eq!(found(forwarded, "forwarded", &lines), client, "{lines:?}");
    let plain = [plain];
    let x_forwarded_for = Proxies::x_forwarded_for(trusted).expect("they are internal");
    assert_eq!(found(x_forwarded_for, "x-forwarded-for", &plain), client, "{plain:?}");
}

/// The client, if these were the addresses in a list, `None` where one is hidden.
fn client(nodes: &[Option<IpAddr>], trusted: &Networks) -> IpAddr {
    let mut client = PEER;
    for node in nodes.iter().rev() {
        let Some(address) = node else { break };
        client = *address;
        if !trusted.contains(client) {
            break;
        }
    }
    client
}

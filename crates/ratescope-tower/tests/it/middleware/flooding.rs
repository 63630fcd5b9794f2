//! A flood of made-up keys: memory stays what it is, and who is held back stays so.

use crate::middleware::parts::{Hand, Inner, get, limit, ruled, send};
use http::HeaderName;
use ratescope::rules::{MemoryStore, Rules};
use std::net::{IpAddr, Ipv4Addr};
use tower_layer::Layer;

const RULES: &str = "\
domain: web
descriptors:
  - {key: ip, limit: gcra 1/1h}
  - {key: key, limit: sliding-log 3/1h}
";

/// The bytes that the layer holds after so many requests, each under a name of its own.
fn held_after(requests: u32) -> i64 {
    let ruled = MemoryStore::new(Rules::read("rules.yaml", RULES).unwrap(), 1000);
    let mut service = None;
    let held = allocation_counter::measure(|| {
        let limit = limit(ruled.clone(), &Hand::default());
        let limit = limit.header("key", HeaderName::from_static("x-api-key")).log_per_second(0);
        let service = service.insert(limit.layer(Inner::default()));
        for i in 0..requests {
            let mut request = get("/", "192.0.2.7");
            request.extensions_mut().insert(IpAddr::V4(Ipv4Addr::from_bits(i)));
            let key = format!("{i}-{}", "x".repeat(200));
            request.headers_mut().insert("x-api-key", key.parse().unwrap());
            send(service, request);
            service.get_ref().seen.paths.lock().unwrap().clear();
        }
    });
    assert!(ruled.len() <= 2 * 1200, "{} keys", ruled.len());
    held.bytes_current
}

#[test]
fn many_keys_take_bounded_memory() {
    let (few, many) = (held_after(3_000), held_after(9_000));
    assert!(many <= few + few / 20, "{few} bytes, and then {many}");
    assert!(many < 1_000_000, "{many} bytes");
}

/// A refused client can't make the store forget it by sending under other names.
#[test]
fn who_is_held_back_is_not_forgotten() {
    let clock = Hand::default();
    let mut service = limit(ruled(RULES), &clock).log_per_second(0).layer(Inner::default());
    send(&mut service, get("/", "192.0.2.7"));
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).status().as_u16(), 429);
    for i in 0..5_000 {
        let mut request = get("/", "192.0.2.7");
        request.extensions_mut().insert(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + i)));
        send(&mut service, request);
    }
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).status().as_u16(), 429);
}

//! A Redis that speaks TLS, with a certificate that nobody's system trusts. `tls/ca.pem` has signed it for
//! 127.0.0.1, and both are valid from 2020 to 2120.

use super::faults::{RULES, ask, assert_goes_on, counted, options};
use super::server::{PATIENCE, Port, Server};
use super::{open, rules};
use ratescope::rules::Fault;
use ratescope_redis::Redis;
use ratescope_redis::redis::{Client, RedisConnectionInfo, TlsCertificates};
use std::error::Error;

const CA: &[u8] = include_bytes!("tls/ca.pem");

/// The settings by which a server has a port for TLS beside its own.
fn settings(port: u16) -> [[String; 2]; 5] {
    let file = |name| format!("{}/tests/it/redis/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    [
        ("tls-port", port.to_string()),
        ("tls-auth-clients", "no".to_owned()),
        ("tls-ca-cert-file", file("ca.pem")),
        ("tls-cert-file", file("server.pem")),
        ("tls-key-file", file("server.key")),
    ]
    .map(|(name, value)| [format!("--{name}"), value])
}

/// A server, its address by TLS, and the port of that.
fn start() -> Option<(Server, String, Port)> {
    let port = Port::hold();
    let settings = settings(port.number);
    let arguments: Vec<&str> = settings.as_flattened().iter().map(String::as_str).collect();
    Some((Server::start(&arguments)?, format!("rediss://{port}"), port))
}

fn trusting(url: &str) -> Client {
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(CA.to_vec()) };
    Client::build_with_tls(url, certificates).unwrap()
}

#[tokio::test]
async fn a_certificate_that_nobody_knows_is_refused_and_told() {
    let Some((server, url, _port)) = start() else { return };
    let store = open(&url, rules(RULES), options().deadline(PATIENCE));
    assert_goes_on(&store, 0, |fault| {
        let source = fault.source().map(ToString::to_string).unwrap_or_default();
        matches!(fault, Fault::Unreachable(_)) && source.contains("certificate")
    })
    .await;
    assert_eq!(server.keys(), 0);
}

#[tokio::test]
async fn a_client_with_its_own_roots_is_handed_over() {
    let Some((server, url, _port)) = start() else { return };
    let options = options().deadline(PATIENCE);
    let store =
        Redis::from_client(&trusting(&url), options.clone()).unwrap().store(rules(RULES)).unwrap();
    assert_eq!(ask(&store, "local").await.fault, None);
    // It is the same server that is asked without TLS.
    assert_eq!(counted(&open(&server.url(), rules(RULES), options)).await, 1.0);
}

/// The master is asked as its sentinel is, with the same roots.
#[tokio::test]
async fn a_master_behind_sentinels_is_asked_as_they_are() {
    let Some((server, url, _port)) = start() else { return };
    let port = Port::hold();
    let lines = settings(port.number).map(|[name, value]| format!("{} {value}\n", &name[2..]));
    let master = url.rsplit(':').next().unwrap();
    let monitor = format!("sentinel monitor main-1 127.0.0.1 {master} 1\n");
    let _sentinel = Server::sentinel(&(lines.concat() + &monitor));
    let options = options().deadline(PATIENCE);
    let sentinel = trusting(&format!("rediss://{port}"));
    let (login, rules) = (RedisConnectionInfo::default(), rules(RULES));
    let store = Redis::from_sentinels(&[sentinel], "main-1", login, options);
    assert_eq!(ask(&store.unwrap().store(rules).unwrap(), "local").await.fault, None);
    assert_eq!(server.keys(), 1);
}

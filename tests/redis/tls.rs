//! A Redis that speaks TLS, with a certificate that nobody's system trusts. `tls/ca.pem` has signed it for
//! 127.0.0.1, and both are valid from 2020 to 2120.

use super::faults::{RULES, ask, assert_goes_on, counted, options};
use super::server::{PATIENCE, Server, free_port};
use super::{open, rules, run};
use ratescope::redis_store::redis::{Client, TlsCertificates};
use ratescope::redis_store::{Options, RedisStore};
use ratescope::rules::Fault;
use std::error::Error;

const CA: &[u8] = include_bytes!("tls/ca.pem");

/// A server with a port for TLS beside its own.
fn start() -> Option<(Server, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/redis/tls/");
    let [ca, server, key] =
        ["ca.pem", "server.pem", "server.key"].map(|name| format!("{folder}{name}"));
    let port = free_port();
    let arguments = [
        ["--tls-port", &port.to_string()],
        ["--tls-auth-clients", "no"],
        ["--tls-ca-cert-file", &ca],
        ["--tls-cert-file", &server],
        ["--tls-key-file", &key],
    ];
    Some((Server::start(arguments.as_flattened())?, format!("rediss://127.0.0.1:{port}")))
}

fn trusting(url: &str) -> Client {
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(CA.to_vec()) };
    Client::build_with_tls(url, certificates).unwrap()
}

#[test]
fn a_certificate_that_nobody_knows_is_refused_and_told() {
    let Some((server, url)) = start() else { return };
    run(async {
        let store = open(&url, rules(RULES), Options { deadline: PATIENCE, ..options() });
        assert_goes_on(&store, |fault| {
            let source = fault.source().map(ToString::to_string).unwrap_or_default();
            matches!(fault, Fault::Unreachable(_)) && source.contains("certificate")
        })
        .await;
        assert_eq!(server.keys(), 0);
    });
}

#[test]
fn a_client_with_its_own_roots_is_handed_over() {
    let Some((server, url)) = start() else { return };
    run(async {
        let options = Options { deadline: PATIENCE, ..options() };
        let store = RedisStore::of(&trusting(&url), rules(RULES), options.clone()).unwrap();
        assert_eq!(ask(&store, "local").await.fault, None);
        // It is the same server that is asked without TLS.
        assert_eq!(counted(&open(&server.url(), rules(RULES), options)).await, 1.0);
    });
}

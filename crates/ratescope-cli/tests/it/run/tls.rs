//! TLS on the ports of gRPC and HTTP: with and without certificates of clients, and with new files.

use super::program::{Channel, Program, get};
use super::requests::{RULES, descriptor, request};
use super::server::Server;
use super::shell::{Folder, Port, command};
use ratescope_service::Code;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/run/tls").join(name)
}

/// A program that serves by TLS with copies of the files of the fixtures.
struct Secured {
    program: Program,
    folder: Folder,
}

impl Secured {
    fn start(more: &[&str]) -> Self {
        let folder = Folder::new("tls");
        let rules = folder.write("rules.yaml", RULES);
        let [certificate, key] = ["server.pem", "server.key"].map(|name| {
            fs::copy(fixture(name), folder.path(name)).unwrap();
            folder.path(name).to_str().unwrap().to_owned()
        });
        let tls = ["--watch", "10ms", "--tls-cert", &certificate, "--tls-key", &key];
        Secured { program: Program::start(&rules, &[&tls[..], more].concat()), folder }
    }
}

/// Connects, with the protocol of ALPN, and with the certificate of a client if there is one.
async fn connect(
    at: SocketAddr,
    protocol: &str,
    client: bool,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(fixture("ca.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = if client {
        let chain = vec![CertificateDer::from_pem_file(fixture("client.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(fixture("client.key")).unwrap();
        config.with_client_auth_cert(chain, key).unwrap()
    } else {
        config.with_no_client_auth()
    };
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(at).await?;
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
}

/// The status of a request by HTTP, or why there is none.
async fn check(at: SocketAddr, client: bool) -> std::io::Result<String> {
    let mut stream = connect(at, "http/1.1", client).await?;
    let request = "GET /check?free=x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Ok(answer.split(' ').nth(1).unwrap_or("none").to_owned())
}

#[tokio::test]
async fn both_ports_are_served() {
    let Secured { program, folder: _folder } = Secured::start(&[]);
    assert_eq!(check(program.http, false).await.unwrap(), "200");
    let stream = connect(program.grpc, "h2", false).await.unwrap();
    let mut channel = Channel::over(stream, program.grpc).await;
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(channel.should_rate_limit(&ann).await.unwrap().overall_code(), code);
    }
    // A client without TLS gets no answer, one that says nothing keeps nobody out, and the admin port has none.
    let _silent = std::net::TcpStream::connect(program.http).unwrap();
    let mut plain = std::net::TcpStream::connect(program.http).unwrap();
    std::io::Write::write_all(&mut plain, b"GET /check HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    assert_eq!(get(program.admin, "/readyz", "").0, 200);
    assert_eq!(check(program.http, false).await.unwrap(), "200");
}

#[tokio::test]
async fn clients_may_have_to_have_a_certificate() {
    let ca = fixture("ca.pem");
    let Secured { program, folder: _folder } =
        Secured::start(&["--tls-client-ca", ca.to_str().unwrap()]);
    assert_eq!(check(program.http, true).await.unwrap(), "200");
    assert!(check(program.http, false).await.is_err());
    let stream = connect(program.grpc, "h2", true).await.unwrap();
    let mut channel = Channel::over(stream, program.grpc).await;
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    assert_eq!(channel.should_rate_limit(&ann).await.unwrap().overall_code(), Code::Ok);
}

/// The certificate that a server shows.
async fn shown(at: SocketAddr) -> CertificateDer<'static> {
    let stream = connect(at, "http/1.1", false).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}

/// A new certificate is in force once its key is there, too; connections before it go on.
#[cfg(unix)]
#[tokio::test]
async fn a_new_certificate_is_taken_when_it_is_whole() {
    let Secured { program, folder } = Secured::start(&[]);
    let [first, other] = ["server.pem", "other.pem"]
        .map(|name| CertificateDer::from_pem_file(fixture(name)).unwrap());
    assert_eq!(shown(program.http).await, first);
    let stream = connect(program.grpc, "h2", false).await.unwrap();
    let mut before = Channel::over(stream, program.grpc).await;
    // The certificate without its key.
    fs::copy(fixture("other.pem"), folder.path("server.pem")).unwrap();
    let said = "yellow: the files of TLS are wrong, and the old certificate stays in force\n";
    while !get(program.admin, "/readyz", "").1.contains(said) {}
    assert_eq!(shown(program.http).await, first);
    fs::copy(fixture("other.key"), folder.path("server.key")).unwrap();
    while !get(program.admin, "/readyz", "").1.contains("\ngreen") {}
    assert_eq!(shown(program.http).await, other);
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    assert_eq!(before.should_rate_limit(&ann).await.unwrap().overall_code(), Code::Ok);
    let log = program.ended();
    assert!(log.contains("the old certificate stays in force: "), "{log}");
    assert!(log.contains("the new certificate is in force"), "{log}");
}

#[test]
fn files_that_are_wrong_are_told() {
    let folder = Folder::new("tls-wrong");
    let rules = folder.write("rules.yaml", RULES);
    let path = |name: &str| fixture(name).to_str().unwrap().to_owned();
    let empty = folder.write("empty.pem", "").to_str().unwrap().to_owned();
    for (certificate, key, said) in [
        (path("server.pem"), path("other.key"), "server.pem: "),
        (empty.clone(), path("server.key"), "empty.pem: it has no certificate as PEM"),
        (path("server.pem"), empty.clone(), "empty.pem: it has no private key as PEM"),
        (path("missing.pem"), path("server.key"), "missing.pem: "),
    ] {
        let args = ["run", "--check", "--tls-cert", &certificate, "--tls-key", &key];
        let output = command(&args).arg(&rules).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(said), "{said} in {error}");
    }
    let alone = command(&["run", "--tls-cert", &empty]).arg(&rules).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}

/// The admin port has TLS where it is asked for: the token says who asks, not a certificate of the client.
#[test]
fn the_admin_port_is_served() {
    let client_ca = fixture("ca.pem");
    let ca = client_ca.to_str().unwrap();
    let secured = Secured::start(&["--tls-client-ca", ca, "--admin-tls"]);
    let at = format!("https://localhost:{}", secured.program.admin.port());
    let said = |args: &[&str]| {
        let output = command(args).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert!(said(&["health", "--admin", &at, "--admin-ca", ca]).starts_with("green"));
    let keys = said(&["keys", "busiest", "--admin", &at, "--admin-ca", ca]);
    assert!(keys.trim_start().starts_with("events"), "{keys}");
    assert!(said(&["health", "--admin", &at]).contains("https:// needs --admin-ca"));
    let plain = format!("localhost:{}", secured.program.admin.port());
    // It gets an alert of TLS, or the connection is reset.
    let without = said(&["health", "--admin", &plain]);
    assert!(without.starts_with(&format!("error: {plain}: ")), "{without}");
    let server = fixture("other.pem");
    let foreign = said(&["health", "--admin", &at, "--admin-ca", server.to_str().unwrap()]);
    assert!(foreign.contains("invalid peer certificate"), "{foreign}");
}

/// The store is asked by TLS with a certificate of the client, both from files.
#[test]
fn a_store_that_wants_a_certificate() {
    let port = Port::hold();
    let file = |name: &str| fixture(name).to_str().unwrap().to_owned();
    let [ca, certificate, key] = ["ca.pem", "server.pem", "server.key"].map(file);
    let at = port.number.to_string();
    let arguments = [
        "--tls-port",
        &at,
        "--tls-auth-clients",
        "yes",
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
    ];
    let Some(_redis) = Server::start(&arguments) else { return };
    let url = format!("rediss://127.0.0.1:{at}");
    let [client, client_key] = ["client.pem", "client.key"].map(file);
    let known =
        ["--store", &url, "--store-ca", &ca, "--store-cert", &client, "--store-key", &client_key];
    let program = Program::of(RULES, &known);
    assert!(get(program.http, "/check?user=ann", "").1.contains("\"allowed\":true"));
    let health = || get(program.admin, "/healthz?verbose", "").1;
    while !health().contains("Redis: asked") {}
    assert!(health().contains(": ok"), "{}", health());
    let unknown = Program::of(RULES, &["--store", &url, "--store-ca", &ca, "--deadline", "1s"]);
    while !get(unknown.admin, "/healthz", "").1.contains("yellow: the store") {}
    let plain = ["run", "--check", "--store", "redis://127.0.0.1", "--store-ca", &ca, &ca];
    let refused = command(&plain).output().unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("are for a store by TLS"),
        "{refused:?}"
    );
}

//! Asks the admin port of a running service.

use crate::bounded;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long to wait for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer in bytes.
const LONGEST: u64 = 16 << 20;

/// The longest file of authorities in bytes.
const LONGEST_CA: usize = 1 << 20;

// The admin port. (Its doc comment would become that of the command.)
#[derive(clap::Args)]
pub(crate) struct AdminArgs {
    /// The admin port of the service, with https:// if it is served by TLS
    #[arg(long, global = true, value_name = "ADDRESS", default_value = "127.0.0.1:6070")]
    admin: String,

    /// A file with the authorities that signed the certificate of the admin port, as PEM, for https://
    #[arg(long, global = true, value_name = "FILE")]
    admin_ca: Option<PathBuf>,

    /// A file with the token of the admin port
    #[arg(long, global = true, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
}

trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

impl AdminArgs {
    pub(crate) fn at(&self) -> &str {
        &self.admin
    }

    /// The status and the body of the answer; the error names the address.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Result<(u16, String), Box<dyn Error>> {
        let at = &self.admin;
        let token = self.admin_token_file.as_deref().map(bounded::first_line).transpose()?;
        let answer = self
            .answer(method, path, token.as_deref())
            .map_err(|error| format!("{at}: {error}; ratescope run listens there with --admin"))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| format!("{at}: its answer is not HTTP"))?;
        Ok((status, body.to_owned()))
    }

    fn answer(&self, method: &str, path: &str, token: Option<&str>) -> io::Result<String> {
        let secure = self.admin.strip_prefix("https://");
        let at = secure.or(self.admin.strip_prefix("http://")).unwrap_or(&self.admin);
        let at = at.trim_end_matches('/');
        let address = at.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("it has no address"))?;
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut stream: Box<dyn Stream> = match (secure, &self.admin_ca) {
            (None, _) => Box::new(stream),
            (Some(_), Some(ca)) => Box::new(by_tls(stream, at, ca)?),
            (Some(_), None) => {
                return Err(io::Error::other(
                    "https:// needs --admin-ca, which signed its certificate",
                ));
            }
        };
        let token =
            token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n{token}\r\n"
        )?;
        stream.flush()?;
        let mut answer = String::new();
        stream.take(LONGEST).read_to_string(&mut answer)?;
        Ok(answer)
    }
}

fn by_tls(
    stream: TcpStream,
    at: &str,
    ca: &Path,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    let text = bounded::text(ca, LONGEST_CA)
        .map_err(|error| io::Error::other(format!("{}: {error}", ca.display())))?;
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = at.rsplit_once(':').map_or(at, |(host, _)| host).trim_matches(['[', ']']);
    let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), host).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}

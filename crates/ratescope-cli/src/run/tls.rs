//! TLS on the ports, with certificates that are read again when their files change.

use crate::bounded;
use arc_swap::ArcSwap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// The longest file with certificates or a key, in bytes.
const LONGEST: usize = 1 << 20;

/// The names of the protocols by ALPN.
const GRPC: &[u8] = b"h2";
const HTTP: &[u8] = b"http/1.1";

#[derive(Clone, Debug)]
pub(super) struct TlsFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// The authorities that sign the certificates of clients; `None` if clients need none.
    pub(super) clients: Option<PathBuf>,
}

/// The texts of the files.
#[derive(Clone, PartialEq)]
struct Texts {
    certificate: String,
    key: String,
    clients: Option<String>,
}

/// The settings of TLS in force, and the files that they are from.
pub(crate) struct Tls {
    files: TlsFiles,
    config: ArcSwap<Configs>,
    seen: Mutex<Seen>,
}

/// The settings of the ports.
struct Configs {
    /// Of gRPC and HTTP, whose clients may need a certificate.
    clients: ServerConfig,
    /// Of the admin port, where the token says who asks.
    admin: ServerConfig,
}

struct Seen {
    /// The texts that the last look at the files found.
    last: Result<Texts, String>,
    /// The texts in force, or those that were refused last.
    known: Result<Texts, String>,
    /// Why the files are not in force.
    problem: Option<String>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// If one can't be read, or if they do not fit together.
    pub(super) fn open(files: TlsFiles) -> Result<Self, String> {
        let texts = files.read()?;
        let config = files.config(&texts)?;
        let (last, known) = (Ok(texts.clone()), Ok(texts));
        let seen = Mutex::new(Seen { last, known, problem: None });
        Ok(Tls { files, config: ArcSwap::from_pointee(config), seen })
    }

    /// Reads the files again, and puts them in force if they have changed, are as they were at the last look, and fit
    /// together. Returns `None` if nothing is new, otherwise `Ok` if they are in force, or why not.
    pub(super) fn look(&self) -> Option<Result<(), String>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = self.files.read();
        let is_settled = texts == seen.last;
        seen.last = texts.clone();
        if !is_settled || texts == seen.known {
            return None;
        }
        seen.known = texts.clone();
        let result = texts.and_then(|texts| self.files.config(&texts));
        let result = result.map(|config| self.config.store(Arc::new(config)));
        seen.problem = result.as_ref().err().cloned();
        Some(result)
    }

    /// Why the files are not in force.
    pub(super) fn problem(&self) -> Option<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }

    /// Accepts connections of gRPC.
    pub(super) fn grpc(&self) -> TlsAcceptor {
        acceptor(&self.config.load().clients, GRPC)
    }

    /// Accepts connections of HTTP/1.
    pub(super) fn http(&self) -> TlsAcceptor {
        acceptor(&self.config.load().clients, HTTP)
    }

    /// Accepts connections of the admin port.
    pub(super) fn admin(&self) -> TlsAcceptor {
        acceptor(&self.config.load().admin, HTTP)
    }
}

fn acceptor(config: &ServerConfig, protocol: &[u8]) -> TlsAcceptor {
    let mut config = config.clone();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config).into()
}

impl TlsFiles {
    fn read(&self) -> Result<Texts, String> {
        let text = |path: &Path| {
            bounded::text(path, LONGEST).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Texts {
            certificate: text(&self.certificate)?,
            key: text(&self.key)?,
            clients: self.clients.as_deref().map(text).transpose()?,
        })
    }

    fn config(&self, texts: &Texts) -> Result<Configs, String> {
        let wrong =
            |path: &Path, why: &dyn core::fmt::Display| format!("{}: {why}", path.display());
        let provider = Arc::new(ring::default_provider());
        let begun = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let admin = begun.clone().with_no_client_auth();
        let builder = match self.clients.as_deref().zip(texts.clients.as_ref()) {
            None => begun.with_no_client_auth(),
            Some((path, text)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(text).map_err(|why| wrong(path, &why))? {
                    roots.add(certificate).map_err(|error| wrong(path, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                let verifier = verifier.build().map_err(|error| wrong(path, &error))?;
                begun.with_client_cert_verifier(verifier)
            }
        };
        let chain =
            certificates(&texts.certificate).map_err(|why| wrong(&self.certificate, &why))?;
        let key = PrivateKeyDer::from_pem_slice(texts.key.as_bytes())
            .map_err(|error| wrong(&self.key, &format!("it has no private key as PEM: {error}")))?;
        let not_fit = |error| wrong(&self.certificate, &error);
        let admin = admin.with_single_cert(chain.clone(), key.clone_key()).map_err(not_fit)?;
        let clients = builder.with_single_cert(chain, key).map_err(not_fit)?;
        Ok(Configs { clients, admin })
    }
}

/// The certificates of a text, at least one.
fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let each: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match each {
        Ok(each) if !each.is_empty() => Ok(each),
        Ok(_) => Err("it has no certificate as PEM".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

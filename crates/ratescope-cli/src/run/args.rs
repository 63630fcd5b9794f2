//! The arguments of `ratescope run`, and the settings that are made of them.

use super::load;
use super::log;
use super::ports::Port;
use super::spans;
use super::tls::{Tls, TlsFiles};
use crate::rules::FormArgs;
use crate::terminal::{above_zero, at_least_one, pair};
use crate::{bounded, store};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hyper::header::{HeaderName, HeaderValue};
use ratescope::policy::{KeySecret, is_credential};
use ratescope::share::Share;
use ratescope::{ParseError, Span};
use ratescope_live::{Probe, Routes};
use ratescope_redis::redis::{ClientTlsConfig, TlsCertificates};
use ratescope_redis::{Options, Redis};
use ratescope_service::{Forms, HttpSettings, MetricNames};
use ratescope_tower::{Networks, Proxies};
use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// Run a rate limit service: Envoy's protocol by gRPC, and HTTP for nginx, Caddy, Traefik and others
///
/// It decides by rule files, each for a domain, which are read again when they change. Files of
/// envoyproxy/ratelimit are read as they are.
///
///     ratescope run rules.yaml
///     grpcurl -plaintext -d '{"domain": "web", "descriptors": [{"entries": [{"key": "user",
///       "value": "ann"}]}]}' 127.0.0.1:8081 envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
///     curl -i 'http://127.0.0.1:8080/check?domain=web&user=ann'
///     curl -i -H 'X-Forwarded-For: 192.0.2.7' http://127.0.0.1:8080/auth/web
///     curl 'http://127.0.0.1:6070/healthz?verbose' http://127.0.0.1:6070/metrics
///     ratescope keys refused
///
/// Of those files, these are refused, since they would mean something else or nothing here:
///
///     unit_multiplier: 5 with unit: minute     write limit: fixed-window 10/5m instead of the rate_limit
///     two descriptors for the same value       write limit: [fixed-window 10/1m, fixed-window 100/1h] in one
///     requests_per_unit: 0.5                   write limit: gcra 1/2s
///     two files for one domain                 write one file, with the descriptors of both
///
/// Open http://127.0.0.1:6070 to see what each rule allows and refuses, and the busiest keys.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Rule files, or folders of them. Without any, as envoyproxy/ratelimit finds them: in the folder
    /// RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/config, by these variables of the environment
    #[arg(value_name = "RULES")]
    pub(super) rules: Vec<PathBuf>,

    /// Where to listen for gRPC, or off; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    pub(super) grpc: Port,

    /// Where to listen for HTTP, or off
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(super) http: Port,

    /// Where to listen for operators, or off: Live, /metrics, /rules, /keys (see ratescope keys), /healthz (the program lives; with
    /// ?verbose, how its files and its store do) and /readyz (it takes requests, also while the store does not answer).
    /// Both say whether the health is green, yellow or red, and why. gRPC health knows the services ratelimit, which
    /// serves as /readyz says, and green, which serves while the health is green
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6070")]
    pub(super) admin: Port,

    /// A file with the token that /metrics, /rules, /keys, /healthz?verbose and Live ask for, as in
    /// `Authorization: Bearer TOKEN`; needed to listen beyond loopback, and for clients that name another
    /// host than localhost or a loopback address. Several files have a token each; when a key is reset, the log has the
    /// name of the file
    #[arg(long, value_name = "FILE")]
    pub(super) admin_token_file: Vec<PathBuf>,

    /// A file with a secret in its first line, which hashes the values of secret fields in logs, in Live and on Redis:
    /// fields that rules mark as in hash(email), and headers with credentials. All processes on one Redis need the same
    /// secret. Without the file, each start makes a new secret; with --store, the secret is then empty
    #[arg(long, value_name = "FILE")]
    pub(super) key_secret_file: Option<PathBuf>,

    /// Show no keys in Live and /keys, only their hashes
    #[arg(long)]
    pub(super) hide_keys: bool,

    /// Serve gRPC and HTTP by TLS: a file with the certificate and those of its authorities, as PEM. It is read again
    /// when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,

    /// The file with the private key of --tls-cert, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,

    /// Serve only clients with a certificate of an authority in this file, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_client_ca: Option<PathBuf>,

    /// Serve the admin port by TLS, too, with the certificate of --tls-cert. Clients need none of their own there, but the
    /// token; ratescope keys and ratescope health then take --admin https://... and --admin-ca
    #[arg(long, requires = "tls_cert")]
    pub(super) admin_tls: bool,

    /// Where the load comes from, on which rules depend with `throttle: elastic up to 2x while load < 70%`. pressure:
    /// how long tasks waited for a processor in the last 10 s (Linux's /proc/pressure/cpu). average: the load average of
    /// a minute by processors. admin: PUT /load?percent=42 on the admin port. field:NAME: each request that has this
    /// field, as in 42%; of /auth, if --field takes it from a header. A load is believed for 30 s; an unknown load
    /// makes elastic rules hard
    #[arg(long, value_name = "SOURCE")]
    pub(super) load: Option<load::Source>,

    /// Keep the states on Redis, shared with other processes, as in redis://127.0.0.1:6379,
    /// redis-cluster://127.0.0.1:7000,127.0.0.1:7001 or redis-sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster;
    /// otherwise they are in memory. With rediss:// and so on by TLS, trusting the system's certificates or those of
    /// the file that SSL_CERT_FILE names. While Redis does not answer, this process decides from the last answers of
    /// Redis, or as a rule's on_store_failure says
    #[arg(long, value_name = "URL")]
    pub(super) store: Option<String>,

    /// A file with the password of the store, which is its first line; or put it into the environment variable
    /// RATESCOPE_STORE_PASSWORD. On the command line, everybody on this machine sees it
    #[arg(long, value_name = "FILE", requires = "store")]
    pub(super) store_password_file: Option<PathBuf>,

    /// A file with the password of the sentinels, which is its first line
    #[arg(long, value_name = "FILE", requires = "store")]
    pub(super) sentinel_password_file: Option<PathBuf>,

    /// A file with the authorities that signed the certificate of the store, as PEM, in place of those of the system
    #[arg(long, value_name = "FILE", requires = "store")]
    pub(super) store_ca: Option<PathBuf>,

    /// A file with the certificate that this process shows the store, as PEM
    #[arg(long, value_name = "FILE", requires = "store_key")]
    pub(super) store_cert: Option<PathBuf>,

    /// The file with the private key of --store-cert, as PEM
    #[arg(long, value_name = "FILE", requires = "store_cert")]
    pub(super) store_key: Option<PathBuf>,

    /// How long a decision may wait for the store; if a round trip takes longer, the store is never used, and
    /// synced limits may not be shared. Requests that meet only synced limits don't wait
    #[arg(long, value_name = "SPAN", default_value = "50ms", requires = "store", value_parser = deadline)]
    pub(super) deadline: Span,

    /// The beginning of all keys on the store; services with the same rules and different prefixes count apart
    #[arg(long, value_name = "TEXT", default_value = "rs:", requires = "store", value_parser = prefix)]
    pub(super) prefix: String,

    /// How many processes share the store. While the store does not answer, each process lets its share of each limit
    /// pass, instead of all that is left
    #[arg(long, value_name = "N", default_value = "1", requires = "store", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) processes: u32,

    /// How processes share limits of rules that don't say it: exact, where each event asks the store; leased 100ms, where
    /// a process takes several events of a busy key in advance, for so long; or synced 1s, where it decides by itself and
    /// tells the store of its events within that time. A rule that can't be shared in this way stays exact; see
    /// ratescope guide redis
    #[arg(long, value_name = "SHARE", default_value = "exact", requires = "store")]
    pub(super) share: Share,

    /// On a cluster, keep all keys on one node, so that limits for several fields are decided together
    #[arg(long, requires = "store")]
    pub(super) one_node: bool,

    /// Keep the states in memory over a restart, in this file, which is written each minute and at the end. Keys of
    /// secret fields start over unless --key-secret-file is given
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    pub(super) state: Option<PathBuf>,

    /// The most keys of each limit that are kept in memory
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = at_least_one)]
    pub(super) keys: usize,

    /// Networks of proxies whose headers name the client, for /auth. The client is the first address from the right
    /// that is not in these networks
    #[arg(long, value_name = "NETWORKS", default_value = "127.0.0.0/8, ::1")]
    trusted_proxies: Networks,

    /// The header in which these proxies write the client's address
    #[arg(long, value_name = "HEADER", default_value = "x-forwarded-for")]
    client_header: HeaderName,

    /// The client is the Nth address of its header from the right, as each of N proxies adds one, wherever they are;
    /// only the client that asks /auth must be in the trusted networks
    #[arg(long, value_name = "N")]
    client_hops: Option<usize>,

    /// The header has one address, which the proxy in front sets, as in CF-Connecting-IP
    #[arg(long, conflicts_with = "client_hops")]
    client_alone: bool,

    /// Take a field for /auth from a header, as in user=x-user; your proxy must overwrite this header, or clients
    /// choose their own field. Without one there are ip (also remote_address), method, path and host, and a request
    /// that a rule counts by another field is refused with 500
    #[arg(long, value_name = "NAME=HEADER", value_parser = field)]
    pub(super) field: Vec<(String, HeaderName)>,

    #[command(flatten)]
    forms: FormArgs,

    /// Pass paths that servers read in different ways, such as /a%2flogin; otherwise they are refused if rules are
    /// about the path
    #[arg(long)]
    pub(super) pass_doubtful_paths: bool,

    /// Let pages of this origin ask /check and /json from a browser, as in https://example.org; others are refused
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(super) allow_origin: Vec<HeaderValue>,

    /// Start with a folder without rule files, and let the last file that leaves one take its rules with it; otherwise
    /// its rules stay in force. Without rules every request passes
    #[arg(long)]
    pub(super) allow_no_rules: bool,

    /// How often to look whether rule files have changed; SIGHUP lets it look at once
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = interval)]
    pub(super) watch: Span,

    /// How long a client may read nothing of an answer before its connection ends
    #[arg(long, value_name = "SPAN", default_value = "30s")]
    pub(super) unread: Span,

    /// How long to go on serving after SIGTERM or Ctrl-C, so that load balancers notice
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    pub(super) notice: Span,

    /// How long open requests may go on after the time of --notice
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    pub(super) drain: Span,

    /// The names of the counters of /metrics: our own, or, for its dashboards and alerts, those of envoyproxy/ratelimit
    #[arg(long, default_value = "own", value_parser = metric_names())]
    pub(super) metrics: MetricNames,

    /// The form of the log on standard error. As json, each line is an object, also the error with which the program
    /// ends; wrong arguments are told as text
    #[arg(long, value_enum, default_value = "text")]
    pub(super) log: log::Form,

    /// The least level that is logged. Refusals, of which the log has up to ten a second for each domain, are info
    #[arg(long, default_value = "info", value_parser = log::level())]
    pub(super) log_level: LevelFilter,

    /// A collector of OpenTelemetry, by OTLP over gRPC, as in http://127.0.0.1:4317: it is sent a span for each decision
    /// and for each call to Redis, in the trace that the header traceparent names. Without it, the one that
    /// OTEL_EXPORTER_OTLP_ENDPOINT names; without both, nothing is traced. OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME and
    /// OTEL_EXPORTER_OTLP_HEADERS mean the same as elsewhere
    #[arg(long, value_name = "URL", value_parser = spans::collector)]
    pub(super) otlp: Option<String>,

    /// Check the arguments and the rules, and exit
    #[arg(long)]
    pub(super) check: bool,
}

fn metric_names() -> impl TypedValueParser<Value = MetricNames> {
    PossibleValuesParser::new(["own", "envoy"]).map(|name| match name.as_str() {
        "envoy" => MetricNames::Envoy,
        _ => MetricNames::Own,
    })
}

impl Args {
    /// The rule files of the arguments, or the folder in which envoyproxy/ratelimit would find them.
    pub(super) fn rule_files(&self) -> Result<Vec<PathBuf>, String> {
        if !self.rules.is_empty() {
            return Ok(self.rules.clone());
        }
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(root) = variable("RUNTIME_ROOT") else {
            return Err("there are no rules; name a rule file or a folder of them, as in ratescope run rules.yaml, or \
                    set RUNTIME_ROOT as for envoyproxy/ratelimit"
            .to_owned());
        };
        let within = variable("RUNTIME_SUBDIRECTORY").unwrap_or_default();
        let folder = PathBuf::from(root).join(within);
        let folder =
            folder.join(variable("RUNTIME_APPDIRECTORY").unwrap_or_else(|| "config".into()));
        Ok(vec![folder])
    }

    /// The settings of a store on Redis.
    pub(super) fn options(&self) -> Options {
        Options::default()
            .prefix(self.prefix.clone())
            .one_node(self.one_node)
            .deadline(Duration::try_from(self.deadline).unwrap_or(Duration::MAX))
            .capacity(self.keys)
            .processes(self.processes)
            .share(self.share)
    }

    /// The connection to the store at a URL.
    pub(super) fn redis(&self, url: &str) -> Result<Redis, Box<dyn Error>> {
        let password = self.store_password_file.as_deref();
        let url = store::address(url, password, self.sentinel_password_file.as_deref())?;
        if self.store_ca.is_none() && self.store_cert.is_none() {
            return Ok(Redis::open(&url, self.options())?);
        }
        if !url.starts_with("rediss") {
            let why =
                "--store-ca and --store-cert are for a store by TLS, as in rediss://127.0.0.1:6380";
            return Err(why.into());
        }
        let read = |path: &PathBuf| {
            let text = bounded::text(path, LONGEST_PEM);
            text.map(String::into_bytes).map_err(|error| format!("{}: {error}", path.display()))
        };
        let pair = self.store_cert.as_ref().zip(self.store_key.as_ref());
        let client_tls = pair.map(|(certificate, key)| {
            Ok::<_, String>(ClientTlsConfig {
                client_cert: read(certificate)?,
                client_key: read(key)?,
            })
        });
        let certificates = TlsCertificates {
            client_tls: client_tls.transpose()?,
            root_cert: self.store_ca.as_ref().map(read).transpose()?,
        };
        Ok(Redis::open_with_tls(&url, &certificates, self.options())?)
    }

    /// The secret of the hashes of secret fields.
    pub(super) fn key_secret(&self) -> Result<KeySecret, Box<dyn Error>> {
        Ok(match &self.key_secret_file {
            Some(path) => KeySecret::new(bounded::first_line(path)?.as_bytes()),
            // Another process on the same Redis has to make the same hashes.
            None if self.store.is_some() => KeySecret::EMPTY,
            None => KeySecret::random(),
        })
    }

    /// The TLS of gRPC and HTTP.
    pub(super) fn tls(&self) -> Result<Option<Tls>, String> {
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        let files = files.map(|(certificate, key)| TlsFiles {
            certificate,
            key,
            clients: self.tls_client_ca.clone(),
        });
        files.map(Tls::open).transpose()
    }

    /// How the fields of requests are read.
    pub(super) fn forms(&self) -> Forms {
        let from_credentials =
            self.field.iter().filter(|(_, header)| is_credential(header.as_str()));
        // So that a key is the same by /auth, by /check and by gRPC.
        let secret = from_credentials.map(|(name, _)| name.clone()).collect();
        Forms { pass_doubtful: self.pass_doubtful_paths, secret, ..self.forms.forms() }
    }

    /// How `/auth` finds fields, and who may ask from a browser.
    pub(super) fn http_settings(&self) -> Result<HttpSettings, String> {
        Ok(HttpSettings {
            proxies: self.proxies()?,
            fields: self.field.clone(),
            origins: self.allow_origin.clone(),
        })
    }

    /// The proxies that name the client, for `/auth`.
    fn proxies(&self) -> Result<Proxies, String> {
        let (header, trusted) = (self.client_header.clone(), self.trusted_proxies.clone());
        let proxies = match self.client_hops {
            Some(n) => Proxies::hops(header, n).only_from(trusted),
            None if self.client_alone => Proxies::one_address(header).only_from(trusted),
            None => Proxies::header(header, trusted),
        };
        proxies.map_err(|error| format!("--trusted-proxies: {error} (--client-hops 2)"))
    }

    /// The probe, and those who may see its counts.
    pub(super) fn live(&self) -> Result<(Arc<Probe>, Routes), String> {
        let mut probe = Probe::default();
        if self.hide_keys {
            probe = probe.hiding_keys();
        }
        let probe = Arc::new(probe);
        let mut live = Routes::new(Arc::clone(&probe));
        for path in &self.admin_token_file {
            let token = bounded::first_line(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let named = live.named_token(&name, &token);
            live = named.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok((probe, live))
    }

    /// Refuses arguments that do not fit together.
    pub(super) fn verify(&self) -> Result<(), String> {
        if [self.grpc, self.http, self.admin].iter().all(|port| port.0.is_none()) {
            return Err(
                "all ports are off, so nobody could ask; leave --grpc or --http on".to_owned()
            );
        }
        let mut names = BTreeSet::new();
        if let Some((name, _)) = self.field.iter().find(|(name, _)| !names.insert(name)) {
            return Err(format!("--field takes the field {name} from two headers; leave one"));
        }
        if let Some(address) = self.admin.0.filter(|at| !at.ip().is_loopback())
            && self.admin_token_file.is_empty()
        {
            return Err(format!(
                "the admin port at {address} would show rules, counters and keys to everybody who reaches it; give a token \
             with --admin-token-file, or listen on 127.0.0.1"
            ));
        }
        Ok(())
    }
}

fn field(text: &str) -> Result<(String, HeaderName), String> {
    let help = "write a field and its header as NAME=HEADER";
    let (name, header) = pair(text, help)?;
    Ok((name, header.parse().map_err(|_| help.to_owned())?))
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_origin = host.is_some_and(|host| {
        let is_wrong = |c: char| c.is_uppercase() || ['/', '?', '#', '@', ' '].contains(&c);
        !host.is_empty() && !host.contains(is_wrong)
    });
    let origin = text.parse().ok().filter(|_| is_origin);
    origin.ok_or("write an origin as browsers do, as in https://example.org:8443".to_owned())
}

/// Reads an interval longer than zero: without a pause, the program would do nothing else.
fn interval(text: &str) -> Result<Span, ParseError> {
    above_zero(text, "the pause must be longer than zero; write it as in 1s")
}

fn deadline(text: &str) -> Result<Span, ParseError> {
    above_zero(text, "the deadline must be longer than zero; write it as in 50ms")
}

/// The longest file of certificates in bytes.
const LONGEST_PEM: usize = 1 << 20;

/// The longest prefix of keys, in bytes. Each key begins with it.
const LONGEST_PREFIX: usize = 100;

fn prefix(text: &str) -> Result<String, String> {
    match text.len() {
        // The text between the first braces of a key chooses the node of a cluster.
        _ if text.contains(['{', '}']) => Err("a prefix has no braces; write it as in rs:".into()),
        1..=LONGEST_PREFIX => Ok(text.to_owned()),
        _ => Err(format!("a prefix has 1 to {LONGEST_PREFIX} bytes; write it as in rs:")),
    }
}

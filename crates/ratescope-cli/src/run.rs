//! `ratescope run`: the rate limit service.

mod admin;
mod budgeted_answer;
mod budgeted_body;
mod health;
mod keys;
pub(crate) mod log;
mod ports;
mod state;
mod tls;

use crate::bounded;
use crate::server::{self, Settings};
use crate::store;
use crate::terminal::{Visible, above_zero, at_least_one, until_closed};
use admin::Admin;
use health::Health;
use hyper::header::{HeaderName, HeaderValue};
use hyper_util::server::graceful::GracefulShutdown;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ports::{Calls, Port, Ports};
use ratescope::clock::{Clock, SystemClock};
use ratescope::internal::plural;
use ratescope::policy::{KeySecret, is_credential};
use ratescope::{ParseError, Span};
use ratescope_live::{Probe, Routes};
use ratescope_redis::Options;
use ratescope_service::{Form, Forms, Http, HttpSettings, MetricNames, NAME, Service, States};
use ratescope_tower::Networks;
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tls::{Tls, TlsFiles};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

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
    rules: Vec<PathBuf>,

    /// Where to listen for gRPC, or off; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    grpc: Port,

    /// Where to listen for HTTP, or off
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    http: Port,

    /// Where to listen for operators, or off: Live, /metrics, /rules, /keys (see ratescope keys), /healthz (the program lives; with
    /// ?verbose, how its files and its store do) and /readyz (it takes requests, also while the store does not answer).
    /// Both say whether the health is green, yellow or red, and why. gRPC health knows the services ratelimit, which
    /// serves as /readyz says, and green, which serves while the health is green
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6070")]
    admin: Port,

    /// A file with the token that /metrics, /rules, /keys, /healthz?verbose and Live ask for, as in
    /// `Authorization: Bearer TOKEN`; needed to listen beyond loopback, and for clients that name another
    /// host than localhost or a loopback address. Several files have a token each; when a key is reset, the log has the
    /// name of the file
    #[arg(long, value_name = "FILE")]
    admin_token_file: Vec<PathBuf>,

    /// A file with a secret in its first line, which hashes the values of secret fields in logs, in Live and on Redis:
    /// fields that rules mark as in hash(email), and headers with credentials. All processes on one Redis need the same
    /// secret. Without the file, each start makes a new secret; with --store, the secret is then empty
    #[arg(long, value_name = "FILE")]
    key_secret_file: Option<PathBuf>,

    /// Show no keys in Live and /keys, only their hashes
    #[arg(long)]
    hide_keys: bool,

    /// Serve gRPC and HTTP by TLS: a file with the certificate and those of its authorities, as PEM. It is read again
    /// when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The file with the private key of --tls-cert, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Serve only clients with a certificate of an authority in this file, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// Keep the states on Redis, shared with other processes, as in redis://127.0.0.1:6379,
    /// redis-cluster://127.0.0.1:7000,127.0.0.1:7001 or redis-sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster;
    /// otherwise they are in memory. With rediss:// and so on by TLS, trusting the system's certificates or those of
    /// the file that SSL_CERT_FILE names. While Redis does not answer, this process decides from the last answers of
    /// Redis, or as a rule's on_store_failure says
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// A file with the password of the store, which is its first line; or put it into the environment variable
    /// RATESCOPE_STORE_PASSWORD. On the command line, everybody on this machine sees it
    #[arg(long, value_name = "FILE", requires = "store")]
    store_password_file: Option<PathBuf>,

    /// How long a decision may wait for the store; if a round trip takes longer, the store is never used
    #[arg(long, value_name = "SPAN", default_value = "50ms", requires = "store", value_parser = deadline)]
    deadline: Span,

    /// The beginning of all keys on the store; services with the same rules and different prefixes count apart
    #[arg(long, value_name = "TEXT", default_value = "rs:", requires = "store", value_parser = prefix)]
    prefix: String,

    /// How many processes share the store. While the store does not answer, each process lets its share of each limit
    /// pass, instead of all that is left
    #[arg(long, value_name = "N", default_value = "1", requires = "store", value_parser = clap::value_parser!(u32).range(1..))]
    processes: u32,

    /// On a cluster, keep all keys on one node, so that limits for several fields are decided together
    #[arg(long, requires = "store")]
    one_node: bool,

    /// Keep the states in memory over a restart, in this file, which is written each minute and at the end. Keys of
    /// secret fields begin anew unless --key-secret-file is given
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    state: Option<PathBuf>,

    /// The most keys of each limit that are kept in memory
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = at_least_one)]
    keys: usize,

    /// Networks of proxies whose headers name the client, for /auth
    #[arg(long, value_name = "NETWORKS", default_value = "127.0.0.0/8, ::1")]
    trusted_proxies: Networks,

    /// The header in which these proxies write the client's address
    #[arg(long, value_name = "HEADER", default_value = "x-forwarded-for")]
    client_header: HeaderName,

    /// Take a field for /auth from a header, as in user=x-user; your proxy must overwrite this header, or clients
    /// choose their own field
    #[arg(long, value_name = "NAME=HEADER", value_parser = field)]
    field: Vec<(String, HeaderName)>,

    /// What a field is: path, host, method, ip or text, as in url=path. All but text are read in a normal form, in
    /// which /login, //login and /%6cogin?a are the same. path, host, method and ip have the form of their name, and
    /// remote_address is an ip
    #[arg(long, value_name = "NAME=FORM", value_parser = form)]
    form: Vec<(String, Form)>,

    /// Keep runs of slashes in paths; otherwise a run counts as one slash
    #[arg(long)]
    keep_slashes: bool,

    /// Pass paths that servers read in different ways, such as /a%2flogin; otherwise they are refused if rules are
    /// about the path
    #[arg(long)]
    pass_doubtful_paths: bool,

    /// Let pages of this origin ask /check and /json from a browser, as in https://example.org; others are refused
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    allow_origin: Vec<HeaderValue>,

    /// Start with a folder without rule files, and let the last file that leaves one take its rules with it; otherwise
    /// its rules stay in force. Without rules every request passes
    #[arg(long)]
    allow_no_rules: bool,

    /// How often to look whether rule files have changed; SIGHUP lets it look at once
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = interval)]
    watch: Span,

    /// How long a client may read nothing of an answer before its connection ends
    #[arg(long, value_name = "SPAN", default_value = "30s")]
    unread: Span,

    /// How long to go on serving after SIGTERM or Ctrl-C, so that load balancers notice
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    notice: Span,

    /// How long open requests may go on after the time of --notice
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    drain: Span,

    /// The names of the counters of /metrics: our own, or, for its dashboards and alerts, those of envoyproxy/ratelimit
    #[arg(long, value_enum, default_value = "own")]
    metrics: Metrics,

    /// The form of the log on standard error. As json, each line is an object, also the error with which the program
    /// ends; wrong arguments are told as text
    #[arg(long, value_enum, default_value = "text")]
    log: log::Form,

    /// The least level that is logged. Refusals, of which the log has up to ten a second for each domain, are info
    #[arg(long, value_enum, default_value = "info")]
    log_level: log::Level,

    /// Check the arguments and the rules, and exit
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Metrics {
    Own,
    Envoy,
}

impl From<Metrics> for MetricNames {
    fn from(names: Metrics) -> Self {
        match names {
            Metrics::Own => MetricNames::Own,
            Metrics::Envoy => MetricNames::Envoy,
        }
    }
}

/// How often gauges are set, histograms emptied, and old data of Live dropped.
const UPKEEP: Duration = Duration::from_secs(1);

/// The services that gRPC health knows: they serve until the program is asked to end. The last name is that of
/// envoyproxy/ratelimit.
const SERVING: [&str; 3] = ["", NAME, "ratelimit"];

/// The service that serves, by gRPC health, while the health is green.
const GREEN: &str = "green";

/// How soon after SIGHUP the files are looked at for the second time.
const AGAIN: Duration = Duration::from_millis(100);

/// How long idle connections of HTTP/1 stay open after --notice, at most half of --drain.
const LINGER: Duration = Duration::from_secs(1);

fn field(text: &str) -> Result<(String, HeaderName), String> {
    let (name, header) = text.split_once('=').unwrap_or_default();
    match header.parse() {
        Ok(header) if !name.is_empty() => Ok((name.to_owned(), header)),
        _ => Err("write a field and its header as NAME=HEADER".to_owned()),
    }
}

fn form(text: &str) -> Result<(String, Form), String> {
    match text.split_once('=') {
        Some((name, form)) if !name.is_empty() => {
            let form = form.parse().map_err(|error: ParseError| error.to_string())?;
            Ok((name.to_owned(), form))
        }
        _ => Err("write a field and what it is as NAME=FORM".to_owned()),
    }
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

/// Runs until it is asked to end.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    log::begin(args.log, args.log_level)?;
    begin(args).map_err(|error| log::ended(args.log, error))
}

fn begin(args: &Args) -> Result<(), Box<dyn Error>> {
    if [args.grpc, args.http, args.admin].iter().all(|port| port.0.is_none()) {
        return Err("all ports are off, so nobody could ask; leave --grpc or --http on".into());
    }
    let rules = rule_files(args)?;
    let mut names = BTreeSet::new();
    if let Some((name, _)) = args.field.iter().find(|(name, _)| !names.insert(name)) {
        return Err(format!("--field takes the field {name} from two headers; leave one").into());
    }
    let mut probe = Probe::default();
    if args.hide_keys {
        probe = probe.hiding_keys();
    }
    let probe = Arc::new(probe);
    let mut live = Routes::new(Arc::clone(&probe));
    for path in &args.admin_token_file {
        let token = bounded::first_line(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let named = live.named_token(&name, &token);
        live = named.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if let Some(address) = args.admin.0.filter(|at| !at.ip().is_loopback())
        && args.admin_token_file.is_empty()
    {
        return Err(format!(
            "the admin port at {address} would show rules, counters and keys to everybody who reaches it; \
             give a token with --admin-token-file, or listen on 127.0.0.1"
        )
        .into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        match &args.store {
            None => {
                let states = match &args.state {
                    Some(path) if !args.check => state::restored(path, args.keys)?,
                    _ => States::in_memory(args.keys),
                };
                serve(args, &rules, probe, live, states).await
            }
            Some(url) => {
                let url = store::address(url, args.store_password_file.as_deref())?;
                serve(args, &rules, probe, live, States::on_redis(&url, options(args))?).await
            }
        }
    });
    // Does not wait for a rule file on a network that hangs.
    runtime.shutdown_background();
    ended
}

/// The rule files of the arguments, or the folder in which envoyproxy/ratelimit would find them.
fn rule_files(args: &Args) -> Result<Vec<PathBuf>, String> {
    if !args.rules.is_empty() {
        return Ok(args.rules.clone());
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let Some(root) = variable("RUNTIME_ROOT") else {
        return Err("there are no rules; name a rule file or a folder of them, as in ratescope run rules.yaml, or \
                    set RUNTIME_ROOT as for envoyproxy/ratelimit"
            .to_owned());
    };
    let within = variable("RUNTIME_SUBDIRECTORY").unwrap_or_default();
    let folder = PathBuf::from(root).join(within);
    let folder = folder.join(variable("RUNTIME_APPDIRECTORY").unwrap_or_else(|| "config".into()));
    Ok(vec![folder])
}

/// The settings of a store on Redis.
fn options(args: &Args) -> Options {
    Options::default()
        .prefix(args.prefix.clone())
        .one_node(args.one_node)
        .deadline(Duration::try_from(args.deadline).unwrap_or(Duration::MAX))
        .capacity(args.keys)
        .processes(args.processes)
}

/// The secret of the hashes of secret fields.
fn key_secret(args: &Args) -> Result<KeySecret, Box<dyn Error>> {
    Ok(match &args.key_secret_file {
        Some(path) => KeySecret::new(bounded::first_line(path)?.as_bytes()),
        // Another process on the same Redis has to make the same hashes.
        None if args.store.is_some() => KeySecret::EMPTY,
        None => KeySecret::random(),
    })
}

fn tls_files(args: &Args) -> Option<TlsFiles> {
    let (certificate, key) = args.tls_cert.clone().zip(args.tls_key.clone())?;
    Some(TlsFiles { certificate, key, clients: args.tls_client_ca.clone() })
}

/// How the fields of requests are read.
fn forms(args: &Args) -> Forms {
    let mut forms = Forms {
        keep_slashes: args.keep_slashes,
        pass_doubtful: args.pass_doubtful_paths,
        ..Forms::default()
    };
    forms.each.extend(args.form.iter().cloned());
    forms
}

/// Warns of secret fields that are hashed without a secret.
fn note_secrets(service: &Service, fields: &[(String, HeaderName)]) {
    let of_headers = fields.iter().any(|(_, header)| is_credential(header.as_str()));
    if of_headers || service.rules().iter().any(|rules| rules.has_secrets()) {
        tracing::warn!(
            target: "ratescope",
            "the hashes of secret fields are made without a secret, so whoever sees one on Redis or in the log can try \
             values; give the same --key-secret-file to all processes on this Redis",
        );
    }
}

async fn serve(
    args: &Args,
    rules: &[PathBuf],
    probe: Arc<Probe>,
    live: Routes,
    states: States,
) -> Result<(), Box<dyn Error>> {
    let metrics = record()?;
    let secret = key_secret(args)?;
    let has_secret = secret != KeySecret::EMPTY;
    let hides = if has_secret { secret.clone() } else { KeySecret::random() };
    let service = Service::with_probe(states, SystemClock, probe);
    let service = service.with_key_secret(secret).reading(forms(args));
    let service = Arc::new(service.with_metric_names(args.metrics.into()));
    if args.allow_no_rules {
        service.allow_no_rules();
    }
    service.follow(rules)?;
    if args.check {
        tls_files(args).map(Tls::open).transpose()?;
        return until_closed(check(&service));
    }
    if !has_secret {
        note_secrets(&service, &args.field);
    }
    let mut signal = server::catch_signals()?;
    let hangup = server::catch_hangups()?;
    let tls = tls_files(args).map(Tls::open).transpose()?.map(Arc::new);
    let [strangers, operators] = server::rooms();
    let ports = Ports {
        grpc: listen(args.grpc, "--grpc").await?,
        http: listen(args.http, "--http").await?,
        admin: listen(args.admin, "--admin").await?,
        settings: Settings {
            unread: Duration::try_from(args.unread).unwrap_or(Duration::MAX),
            ..Settings::new(strangers, warn)
        },
        operators,
        tls,
    };
    let reporter = HealthReporter::new();
    let (end, ends) = watch::channel(false);
    let calls = Calls::new(Arc::clone(&service), reporter.clone(), ends)?;
    let settings = HttpSettings {
        trusted: args.trusted_proxies.clone(),
        client: args.client_header.clone(),
        fields: args.field.clone(),
        origins: args.allow_origin.clone(),
    };
    let http = Http::new(Arc::clone(&service), settings);
    let admin = Arc::new(Admin {
        service: Arc::clone(&service),
        metrics,
        live,
        is_ready: AtomicBool::new(true),
        health: Health::new(Arc::clone(&service), args.store.is_some(), ports.tls.clone()),
        hides: args.hide_keys.then_some(hides),
    });
    for name in SERVING {
        reporter.set_service_status(name, ServingStatus::Serving).await;
    }
    let addresses = ports.addresses()?;
    tracing::info!(target: "ratescope", "Ratescope {} begins: {addresses}", env!("CARGO_PKG_VERSION"));
    server::announce(&format!("Ratescope limits: {addresses}"), warn);

    let open_http = GracefulShutdown::new();
    let open_grpc = GracefulShutdown::new();
    let interval = Duration::try_from(args.watch).unwrap_or(Duration::MAX);
    let notice = async {
        signal().await;
        admin.is_ready.store(false, Ordering::Relaxed);
        ports.settings.is_ending.store(true, Ordering::Relaxed);
        for name in SERVING {
            reporter.set_service_status(name, ServingStatus::NotServing).await;
        }
        tracing::info!(target: "ratescope", notice = %args.notice, "asked to end");
        tokio::select! {
            () = sleep(Duration::try_from(args.notice).unwrap_or(Duration::MAX)) => false,
            () = signal() => true,
        }
    };
    // Ends without waiting for requests after a second signal, or if serving stopped by itself.
    let is_hurried = tokio::select! {
        () = ports.serve(&open_http, &open_grpc, &calls, http, &admin) => true,
        () = follow(&service, ports.tls.as_ref(), interval, hangup) => true,
        () = keep_up(&admin, &reporter) => true,
        () = state::keep(&service, args.state.as_ref()) => true,
        is_hurried = notice => is_hurried,
    };
    if !is_hurried {
        drop(ports);
        end.send_replace(true);
        admin.live.end();
        let drain = Duration::try_from(args.drain).unwrap_or(Duration::MAX);
        server::end(open_http, LINGER, open_grpc.shutdown(), drain, signal).await;
    }
    if let Some(path) = &args.state {
        state::save(&service, path);
    }
    Ok(())
}

fn warn(text: &str) {
    tracing::warn!(target: "ratescope", "{text}");
}

/// Prints the domain, the number of rules and the name of each rule file.
fn check(service: &Service) -> io::Result<()> {
    let mut out = Visible(io::stdout());
    for rules in service.rules() {
        let n = rules.rules().len();
        writeln!(out, "{}: {n} rule{} in {}", rules.domain(), plural(n as u64), rules.file())?;
    }
    Ok(())
}

async fn listen(port: Port, option: &str) -> Result<Option<TcpListener>, String> {
    match port.0 {
        None => Ok(None),
        Some(address) => server::listen(address, option).await.map(Some),
    }
}

/// The bounds of the buckets of histograms, in seconds: a decision takes microseconds in memory, and a round trip on
/// Redis, which may take a deadline of tens of milliseconds.
const BUCKETS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
    5.0,
];

/// Starts to record the counters for Prometheus, and returns the handle that renders them.
fn record() -> Result<PrometheusHandle, Box<dyn Error>> {
    let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    metrics::describe_gauge!("ratescope_green", "1 while the health is green, and else 0");
    metrics::describe_gauge!("ratescope_build_info", "1, labelled with the version");
    metrics::gauge!("ratescope_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    metrics_process::Collector::default().describe();
    Ok(handle)
}

/// Every `interval`, for ever, reads changed rule files and certificates, and logs the result of each change.
async fn follow(
    service: &Arc<Service>,
    tls: Option<&Arc<Tls>>,
    interval: Duration,
    mut hangup: impl AsyncFnMut(),
) {
    // After a signal it looks twice, since what has changed is put in force by the second look that finds it.
    let mut is_again = false;
    loop {
        let pause = if is_again { interval.min(AGAIN) } else { interval };
        is_again = tokio::select! {
            () = sleep(pause) => false,
            () = hangup() => true,
        };
        let looks = Arc::clone(service);
        let tls = tls.cloned();
        let look = move || (looks.look(), tls.and_then(|tls| tls.look()));
        let (changes, tls) = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        match tls {
            None => {}
            Some(Ok(())) => tracing::info!(target: "ratescope", "the new certificate is in force"),
            Some(Err(why)) => {
                tracing::error!(target: "ratescope", "the old certificate stays in force: {why}");
            }
        }
        for change in changes {
            if change.is_good() {
                tracing::info!(target: "ratescope", "{change}");
            } else {
                tracing::error!(target: "ratescope", "{change}");
            }
        }
    }
}

/// Every [`UPKEEP`], for ever, asks whether the store answers, updates the gauges and has the probe drop old data.
async fn keep_up(admin: &Admin, reporter: &HealthReporter) {
    let Admin { service, metrics, health, .. } = admin;
    let process = metrics_process::Collector::default();
    let mut was_green = None;
    loop {
        process.collect();
        health.ping().await;
        let is_green = health.is_green();
        // Who watches is told of changes only.
        if was_green.replace(is_green) != Some(is_green) {
            let status = if is_green { ServingStatus::Serving } else { ServingStatus::NotServing };
            reporter.set_service_status(GREEN, status).await;
        }
        metrics::gauge!("ratescope_green").set(f64::from(u8::from(is_green)));
        sleep(UPKEEP).await;
        service.probe().forget(service.clock().now());
        // With the names that the layers of `/auth` use for the same gauges.
        for (domain, memory) in service.memory() {
            let layer = [("layer", domain)];
            metrics::gauge!("ratescope_keys", &layer).set(memory.keys as f64);
            metrics::counter!("ratescope_keys_evicted_total", &layer).absolute(memory.evicted);
        }
        metrics.run_upkeep();
        log::report_left_out();
    }
}

//! `ratescope run`: the rate limit service.

mod admin;
mod args;
mod budgeted_answer;
mod budgeted_body;
mod health;
mod keys;
mod load;
pub(crate) mod log;
mod ports;
mod spans;
mod state;
mod tls;
mod upkeep;

use crate::server::{self, Settings};
use crate::terminal::{Visible, until_closed};
use admin::{Admin, WrongTokens};
pub(crate) use args::Args;
use health::Health;
use hyper::header::HeaderName;
use hyper_util::server::graceful::GracefulShutdown;
use ports::{Calls, Port, Ports};
use ratescope::clock::SystemClock;
use ratescope::internal::plural;
use ratescope::policy::{KeySecret, is_credential};
use ratescope::rules::{PlannedLimit, Rule, Rules};
use ratescope_live::{Probe, Routes};
use ratescope_service::{Http, NAME, QUOTA_NAME, Service, States};
use spans::Spans;
use state::StateFile;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tls::Tls;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::sleep;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use upkeep::{keep_up, record};

/// The services that gRPC health knows: they serve until the program is asked to end. The last name is that of
/// envoyproxy/ratelimit.
const SERVING: [&str; 4] = ["", NAME, QUOTA_NAME, "ratelimit"];

/// How soon after SIGHUP the files are looked at for the second time.
const AGAIN: Duration = Duration::from_millis(100);

/// How long idle connections of HTTP/1 stay open after --notice, at most half of --drain.
const LINGER: Duration = Duration::from_secs(1);

/// Runs until it is asked to end.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let spans = {
        let _within = runtime.enter();
        if args.check { Ok(None) } else { Spans::begin(args.otlp.as_deref()) }
    };
    let (spans, wrong) = spans.map_or_else(|wrong| (None, Some(wrong)), |spans| (spans, None));
    // Lines that wait are written when this is dropped, within a second or so.
    let _log = log::begin(args.log, args.log_level, spans.as_ref().map(Spans::tracer))?;
    let ended = wrong.map_or_else(|| begin(args, &runtime), |wrong| Err(wrong.into()));
    if let Some(spans) = spans {
        spans.end();
    }
    // Does not wait for a rule file on a network that hangs.
    runtime.shutdown_background();
    ended.map_err(|error| log::ended(args.log, error))
}

fn begin(args: &Args, runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    args.verify()?;
    let rules = args.rule_files()?;
    let (probe, live) = args.live()?;
    runtime.block_on(async {
        match &args.store {
            None => {
                let states = match &args.state {
                    Some(path) if !args.check => state::restored(path, args.keys)?,
                    _ => States::in_memory(args.keys),
                };
                serve(args, &rules, probe, live, states).await
            }
            Some(url) => serve(args, &rules, probe, live, States::on(args.redis(url)?)).await,
        }
    })
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
    let secret = args.key_secret()?;
    let has_secret = secret != KeySecret::EMPTY;
    let hides = if has_secret { secret.clone() } else { KeySecret::random() };
    let http_settings = args.http_settings()?;
    let service = Service::with_probe(states, SystemClock, probe);
    let service = service.with_key_secret(secret).reading(args.forms());
    let mut service = service.with_metric_names(args.metrics);
    if let Some(source) = &args.load {
        if let Some(Err(why)) = source.measure() {
            return Err(format!("--load: {why}").into());
        }
        let field = if let load::Source::Field(name) = source { Some(name.as_str()) } else { None };
        service = service.with_load(field);
    }
    let service = Arc::new(service);
    if args.allow_no_rules {
        service.allow_no_rules();
    }
    service.follow(rules)?;
    if args.check {
        args.tls()?;
        return until_closed(check(&service, args));
    }
    if let Some(remark) = http_settings.proxies.remark() {
        warn(remark);
    }
    if !has_secret {
        note_secrets(&service, &args.field);
    }
    let mut signal = server::catch_signals()?;
    let hangup = server::catch_hangups()?;
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
        tls: args.tls()?.map(Arc::new),
        is_admin_tls: args.admin_tls,
    };
    let reporter = HealthReporter::new();
    let (end, ends) = watch::channel(false);
    let state = args.state.clone().map(|path| Arc::new(StateFile::new(path)));
    let calls = Calls::new(Arc::clone(&service), reporter.clone(), ends)?;
    let http = Http::new(Arc::clone(&service), http_settings);
    let admin = Arc::new(Admin {
        service: Arc::clone(&service),
        metrics,
        live,
        is_ready: AtomicBool::new(true),
        health: Health::new(
            Arc::clone(&service),
            args.store.as_ref().map(|_| args.deadline),
            ports.tls.clone(),
            state.clone(),
        ),
        hides: args.hide_keys.then_some(hides),
        takes_load: args.load == Some(load::Source::Admin),
        wrong_tokens: WrongTokens::default(),
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
        () = keep_up(&admin, &reporter, args.load.as_ref()) => true,
        () = state::keep(&service, state.as_ref()) => true,
        is_hurried = notice => is_hurried,
    };
    if !is_hurried {
        drop(ports);
        end.send_replace(true);
        service.end_streams();
        admin.live.end();
        let drain = Duration::try_from(args.drain).unwrap_or(Duration::MAX);
        server::end(open_http, LINGER, open_grpc.shutdown(), drain, signal).await;
    }
    if let Some(state) = &state {
        state.save(&service);
    }
    service.close().await;
    Ok(())
}

fn warn(text: &str) {
    tracing::warn!(target: "ratescope", "{text}");
}

/// A remark for each limit that would let events wait, which a proxy that asks can't.
pub(crate) fn waiting(rules: &Rules) -> Vec<String> {
    let planned = rules.plan().iter().filter(|planned| !planned.is_relaxed);
    let waits = planned.filter(|planned| planned.limit.limiter.delays());
    let file = rules.file();
    let remark = |planned: &PlannedLimit| {
        let line = rules.rules().get(planned.rule).map_or(1, Rule::line);
        let limiter = &planned.limit.limiter;
        format!(
            "{file}:{line}: {limiter}: nobody waits in ratescope run, which refuses what would have to wait; the \
             layer of ratescope-tower lets it wait"
        )
    };
    waits.map(remark).collect()
}

/// Prints the domain, the number of rules and the name of each rule file.
fn check(service: &Service, args: &Args) -> io::Result<()> {
    let mut out = Visible(io::stdout());
    for rules in service.rules() {
        let n = rules.rules().len();
        writeln!(out, "{}: {n} rule{} in {}", rules.domain(), plural(n as u64), rules.file())?;
        for waits in waiting(&rules) {
            writeln!(out, "note: {waits}")?;
        }
    }
    if let Some(source) = &args.load {
        let now = source.measure().and_then(Result::ok);
        let now = now.map_or_else(String::new, |load| format!("; it is {load} now"));
        writeln!(out, "{}{now}", source.told())?;
    }
    Ok(())
}

async fn listen(port: Port, option: &str) -> Result<Option<TcpListener>, String> {
    match port.0 {
        None => Ok(None),
        Some(address) => server::listen(address, option).await.map(Some),
    }
}

/// Every `interval`, for ever, reads changed rule files and certificates, and logs the result of each change.
async fn follow(
    service: &Arc<Service>,
    tls: Option<&Arc<Tls>>,
    interval: Duration,
    mut hangup: impl AsyncFnMut(),
) {
    // After a signal it looks twice, since a change is put in force by the second look that finds it.
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

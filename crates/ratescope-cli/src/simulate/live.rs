//! A simulation in Live: its events pass at a pace, and a probe observes the decisions.

use super::lane::Lane;
use crate::server::{self, Settings};
use crate::terminal::say;
use hyper_util::server::graceful::GracefulShutdown;
use ratescope::clock::Clock;
use ratescope::policy::Defaults;
use ratescope::rules::Rules;
use ratescope::{Span, Time};
use ratescope_live::{Probe, Routes};
use std::error::Error;
use std::future::{pending, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// How long requests may go on after Ctrl-C; streams of Live end at once.
const DRAIN: Duration = Duration::from_secs(2);

/// How far the clock goes beyond the last counted event, so that its second is over and shown.
const AHEAD: Span = Span::from_secs(1);

/// The windows that the page can show, by name and in seconds.
const WINDOWS: [(&str, f64); 6] = [
    ("1m", 60.0),
    ("5m", 300.0),
    ("15m", 900.0),
    ("1h", 3600.0),
    ("6h", 21_600.0),
    ("1d", 86_400.0),
];

#[derive(clap::Args)]
#[command(next_help_heading = "Showing it in Live")]
pub(crate) struct Options {
    /// Show the events in Live, at http://127.0.0.1:8080/live.html, until Ctrl-C
    #[arg(long, conflicts_with_all = ["format", "store"])]
    live: bool,

    /// How many times faster than in the log the events pass
    #[arg(long, value_name = "TIMES", default_value = "1", requires = "live", value_parser = speed)]
    speed: f64,

    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8080, requires = "live")]
    port: u16,
}

impl Options {
    pub(super) fn is_on(&self) -> bool {
        self.live
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| *speed > 0.0 && speed.is_finite());
    speed.ok_or_else(|| "write how many times as fast, as in 60 or 0.5".to_owned())
}

/// The probe, and the clock of the events. The clock stands at the first event until there is a viewer. It then runs
/// `speed` times as fast as the system's clock, but at most to the next event, or [`AHEAD`] beyond the last counted
/// event. So it stands still, and misses nothing, while it waits for more of the log.
#[derive(Clone)]
pub(super) struct Screen(Arc<Inner>);

struct Inner {
    probe: Arc<Probe>,
    speed: f64,
    /// The time of the first event, and when the first viewer came.
    first: OnceLock<Time>,
    begun: OnceLock<Instant>,
    /// The latest time that the clock may show, in microseconds.
    reach: AtomicI64,
    has_events: Notify,
}

impl Screen {
    fn new(speed: f64) -> Result<Self, Box<dyn Error>> {
        Ok(Screen(Arc::new(Inner {
            probe: Arc::new(Probe::default().replaying(speed)?),
            speed,
            first: OnceLock::new(),
            begun: OnceLock::new(),
            reach: AtomicI64::new(i64::MIN),
            has_events: Notify::new(),
        })))
    }

    /// The lanes of these limits, each observed by the probe.
    ///
    /// # Errors
    /// If a policy can't be read, or if a file has the domain of an earlier file or limiter, so that their rules would
    /// have the same names.
    pub(super) fn lanes(
        &self,
        policies: Vec<String>,
        files: Vec<Rules>,
        defaults: &Defaults,
        keys: usize,
    ) -> Result<Vec<Lane>, Box<dyn Error>> {
        let mut lanes = Vec::new();
        let mut domains: Vec<String> = Vec::new();
        for (text, n) in policies.into_iter().zip(1..) {
            let policy = crate::rules::policy(&text, defaults)?;
            let rules = Rules::of_policy(&format!("limiter-{n}"), policy);
            domains.push(rules.domain().to_owned());
            lanes.push(Lane::seen(rules, Some(text), keys, &self.0.probe));
        }
        for rules in files {
            if domains.iter().any(|domain| domain == rules.domain()) {
                let file = rules.file();
                let domain = rules.domain();
                return Err(
                    format!("{file}: Live has rules for the domain {domain} already").into()
                );
            }
            domains.push(rules.domain().to_owned());
            lanes.push(Lane::seen(rules, None, keys, &self.0.probe));
        }
        Ok(lanes)
    }

    /// Starts the clock once there is a viewer. The probe counts keys only from then on, so no event may pass earlier.
    fn begin(&self) {
        let Inner { probe, begun, .. } = &*self.0;
        if probe.has_viewers() {
            begun.get_or_init(Instant::now);
        }
    }

    /// Waits until it is time for an event.
    pub(super) fn wait_for(&self, time: Time) {
        let Inner { speed, first, begun, reach, has_events, .. } = &*self.0;
        let first = *first.get_or_init(|| time);
        // In a log that is not sorted, an event may be earlier than the one before it.
        reach.fetch_max(time.as_micros(), Ordering::Relaxed);
        has_events.notify_one();
        let due = Duration::try_from_secs_f64(time.since(first).max(0.0) / speed);
        let passed = begun.wait().elapsed();
        thread::sleep(due.unwrap_or(Duration::MAX).saturating_sub(passed));
    }

    /// Lets the clock run to [`AHEAD`] beyond a counted event.
    pub(super) fn counted(&self, time: Time) {
        self.0.reach.fetch_max(time.after(AHEAD).as_micros(), Ordering::Release);
    }

    /// Ends the replay: the last event was counted.
    fn end(&self) {
        // In a log that is not sorted, the last event may be earlier than another, and be counted after the end of its
        // second. So the clock runs by [`AHEAD`] once more.
        let Inner { probe, reach, .. } = &*self.0;
        let last = Time::from_micros(reach.load(Ordering::Relaxed)).after(AHEAD);
        reach.store(last.as_micros(), Ordering::Relaxed);
        probe.end_replay();
    }
}

impl Clock for Screen {
    fn now(&self) -> Time {
        let Inner { speed, first, begun, reach, .. } = &*self.0;
        let passed = begun.get().map_or(0.0, |begun| begun.elapsed().as_secs_f64() * speed);
        // With `Acquire`, a reader that then reads the sums sees all events that were counted before this time.
        let most = Time::from_micros(reach.load(Ordering::Acquire));
        let first = first.get().copied().unwrap_or(most);
        Span::try_from_secs_f64(passed).map_or(most, |passed| first.after(passed).min(most))
    }

    async fn sleep(&self, span: Span) {
        let wait = Duration::try_from_secs_f64(span.as_secs_f64() / self.0.speed);
        tokio::time::sleep(wait.unwrap_or(Duration::MAX)).await;
    }
}

/// Shows the events until Ctrl-C.
pub(super) fn run(args: super::Args) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(args))
}

async fn serve(args: super::Args) -> Result<(), Box<dyn Error>> {
    let Options { port, speed, .. } = args.live;
    let listener = server::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), "--port").await?;
    let mut signal = server::catch_signals()?;
    let screen = Screen::new(speed)?;
    let routes = Routes::new(Arc::clone(&screen.0.probe)).clock(screen.clone());
    let address = listener.local_addr()?;
    let window = window(speed);
    let page = format!("http://{address}/live.html{window}");
    server::announce(&format!("The events begin when {page} is opened (Ctrl-C stops it)"), say);
    let ended = start(args, screen.clone());
    let open = GracefulShutdown::new();
    let live = routes.clone();
    let clock = screen.clone();
    let answer = move |mut request: hyper::Request<_>, peer: SocketAddr| {
        request.extensions_mut().insert(peer);
        let answer = live.answer(&request);
        clock.begin();
        ready(answer)
    };
    let served = async {
        // Before the first event there is no time to show.
        screen.0.has_events.notified().await;
        let [room, _] = server::rooms();
        let settings = Settings::new(room, say);
        server::accept_http(&listener, &open, server::http(server::HEAD), settings, answer).await;
    };
    let result = tokio::select! {
        () = served => Ok(()),
        result = watch(ended, &screen) => result,
        () = signal() => Ok(()),
    };
    routes.end();
    drop(listener);
    server::end(open, Duration::ZERO, async {}, DRAIN, signal).await;
    Ok(result?)
}

/// Runs the simulation in a thread of its own, since it may wait for input for ever. The result comes through
/// the receiver.
fn start(args: super::Args, screen: Screen) -> oneshot::Receiver<Result<(), String>> {
    let (tell, ended) = oneshot::channel();
    thread::spawn(move || {
        let result = super::decide(args, Some(&screen)).map_err(|error| error.to_string());
        // Sending fails if the program is about to end, and nobody receives any more.
        _ = tell.send(result);
    });
    ended
}

/// Waits for the last event, reports it, and then waits for ever. Returns only if the simulation fails, or ends without
/// an event to show.
async fn watch(
    ended: oneshot::Receiver<Result<(), String>>,
    screen: &Screen,
) -> Result<(), String> {
    ended.await.unwrap_or_else(|_| Err("the simulation has failed".to_owned()))?;
    if screen.0.first.get().is_none() {
        return Ok(());
    }
    screen.end();
    say("That was the last event; Ctrl-C stops Live.");
    pending().await
}

/// The fragment of the page's address, as in `#window=1h`: the longest window that passes within a minute of the
/// viewer's time; empty without one.
fn window(speed: f64) -> String {
    let longest = WINDOWS.iter().rev().find(|(_, secs)| *secs <= 60.0 * speed);
    longest.map_or(String::new(), |(window, _)| format!("#window={window}"))
}

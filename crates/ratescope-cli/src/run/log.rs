//! The log of the service on standard error, from its first line to its last: as JSON also the errors with which it ends,
//! and panics.
//!
//! A thread of its own writes the lines. While nobody reads them, some thousands wait; more are lost, and their number
//! is told. So a log that stands still holds up no decision.
//!
//! Our own crates bound the lines that clients can cause. Dependencies do not: `h2` has a line for each connection that
//! a client resets. So each other target gets a few lines a minute, and a line with the number of further ones.

use crate::terminal::without_numbers;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use opentelemetry_sdk::trace::SdkTracer;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, panic};
use tracing::{Event, Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The target of our own lines.
const OWN: &str = "ratescope";

/// The most lines of another target in each [`PERIOD`].
const MOST: u64 = 10;

const PERIOD: Duration = Duration::from_secs(60);

/// The lines of each other target in the current period.
static LINES: Mutex<BTreeMap<&'static str, Lines>> = Mutex::new(BTreeMap::new());

struct Lines {
    since: Instant,
    n: u64,
}

/// Passes on events, and not too many of other targets than our own.
///
/// It is no filter of a layer: with several such filters, tracing-subscriber 0.3.23 keeps a mark of an event that one drops
/// by `event_enabled`, and panics at the next event.
struct Bounded<L>(L);

impl<S: Subscriber, L: Layer<S>> Layer<S> for Bounded<L> {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if is_wanted(event) {
            self.0.on_event(event, context);
        }
    }
}

fn is_wanted(event: &Event<'_>) -> bool {
    let target = event.metadata().target();
    if target.split("::").next() == Some(OWN) {
        return true;
    }
    let mut all = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = all.entry(target).or_insert_with(|| Lines { since: Instant::now(), n: 0 });
    lines.n += 1;
    lines.n <= MOST
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    Text,
    Json,
}

/// Reads the least level that is logged.
pub(super) fn level() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["off", "error", "warn", "info", "debug", "trace"])
        .try_map(|name| name.parse::<LevelFilter>())
}

/// An error that is in the log already.
#[derive(Debug)]
pub(crate) struct Logged;

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log says why")
    }
}

impl Error for Logged {}

/// The most lines that wait for the thread that writes them.
const WAITING: usize = 4096;

/// Counts the lines that were lost.
static LOST: OnceLock<ErrorCounter> = OnceLock::new();

/// Begins to write, until the guard is dropped, and passes spans on to a tracer, if there is one. A line that can't be
/// written, as on a full disk, is lost: reporting this to the same output would panic.
pub(super) fn begin(
    form: Form,
    level: LevelFilter,
    tracer: Option<SdkTracer>,
) -> Result<WorkerGuard, Box<dyn Error>> {
    let lines = NonBlockingBuilder::default().buffered_lines_limit(WAITING).lossy(true);
    let (lines, guard) = lines.finish(io::stderr());
    _ = LOST.set(lines.error_counter());
    let log = tracing_subscriber::fmt::layer().with_writer(lines).log_internal_errors(false);
    // Spans are not for the log.
    let logged = filter_fn(move |of| of.is_event() && *of.level() <= level);
    let logged = logged.with_max_level_hint(level);
    let spans = tracer.map(|tracer| {
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        // Only the fields of the span itself.
        let layer = layer.with_location(false).with_threads(false).with_target(false);
        let is_own = |of: &Metadata<'_>| of.is_span() && of.target() == OWN;
        let own = filter_fn(is_own).with_max_level_hint(LevelFilter::DEBUG);
        layer.with_tracked_inactivity(false).with_level(false).with_filter(own)
    });
    let all = tracing_subscriber::registry().with(spans);
    match form {
        Form::Text => all.with(Bounded(log.with_ansi(false)).with_filter(logged)).try_init()?,
        Form::Json => {
            all.with(Bounded(log.json()).with_filter(logged)).try_init()?;
            panic::set_hook(Box::new(|panic| tracing::error!(target: "ratescope", "{panic}")));
        }
    }
    Ok(guard)
}

/// Logs the error with which the program ends, if the log is JSON. As text, it is printed like that of any command.
pub(super) fn ended(form: Form, error: Box<dyn Error>) -> Box<dyn Error> {
    match form {
        Form::Text => error,
        Form::Json => {
            let error = without_numbers(&error.to_string());
            tracing::error!(target: "ratescope", "{error}");
            Box::new(Logged)
        }
    }
}

/// For each target whose period is over, logs how many lines were left out, and begins the next period. Also logs how
/// many lines were lost since this was logged last.
pub(super) fn report_left_out() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let lost = LOST.get().map_or(0, ErrorCounter::dropped_lines);
    let lines = lost.saturating_sub(TOLD.swap(lost, Ordering::Relaxed));
    if lines > 0 {
        tracing::warn!(target: "ratescope", lines, "lines of the log were lost, as nobody read them in time");
    }
    let mut left_out = Vec::new();
    LINES.lock().unwrap_or_else(PoisonError::into_inner).retain(|target, lines| {
        let is_over = lines.since.elapsed() >= PERIOD;
        if is_over && lines.n > MOST {
            left_out.push((*target, lines.n - MOST));
        }
        !is_over
    });
    for (from, lines) in left_out {
        tracing::warn!(target: "ratescope", lines, from, "lines of the log were left out");
    }
}

//! The log of the service on standard error.
//!
//! Our own crates bound the lines that clients can cause. Dependencies do not: `h2` has a line for each connection that
//! a client resets. So each other target gets a few lines a minute, and a line with the number of further ones.

use super::Log;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::{Event, Subscriber};
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

struct Bounded;

impl<S: Subscriber> Layer<S> for Bounded {
    fn event_enabled(&self, event: &Event<'_>, _context: Context<'_, S>) -> bool {
        let target = event.metadata().target();
        if target.split("::").next() == Some(OWN) {
            return true;
        }
        let mut all = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = all.entry(target).or_insert_with(|| Lines { since: Instant::now(), n: 0 });
        lines.n += 1;
        lines.n <= MOST
    }
}

/// Begins to write. A line that can't be written, as on a full disk, is lost: reporting this to the same output would
/// panic.
pub(super) fn begin(form: Log) -> Result<(), Box<dyn Error>> {
    let log = tracing_subscriber::fmt().with_writer(io::stderr).log_internal_errors(false);
    let begun = match form {
        Log::Text => log.with_ansi(false).finish().with(Bounded).try_init(),
        Log::Json => log.json().finish().with(Bounded).try_init(),
    };
    Ok(begun?)
}

/// For each target whose period is over, logs how many lines were left out, and begins the next period.
pub(super) fn report_left_out() {
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

//! Rules that follow their file: read anew when it changes, while events come in.
//!
//! ```no_run
//! use ratescope::Time;
//! use ratescope::middleware::watch;
//! use std::time::{Duration, Instant};
//!
//! let (ruled, watch) = watch::open("rules.yaml", 100_000)?;
//! // The clock that events are told by; and what was seen goes to the log.
//! let start = Instant::now();
//! let clock = move || Time::from(start.elapsed());
//! // Until it is dropped.
//! let _watching = watch.every(Duration::from_secs(2), clock, |seen| eprintln!("{seen}"))?;
//! # let _ = ruled;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How, and why so
//! The file is read again and again, and compared with what was read before. It is at most 1 MiB, and
//! mostly a few kB that the system keeps in memory. Notifications by the system would tell sooner, but
//! they follow the file and not its name: after a rename, or when a symlink somewhere on the way leads
//! elsewhere (as Kubernetes exchanges its ConfigMaps), they are silent, and on network and overlay
//! file systems they are silent often. Times and sizes of files are coarse, and may stay the same
//! over a change. A name that is opened anew and compared byte by byte has none of these faults, and
//! needs nothing but the standard library.
//!
//! A change counts when it was seen twice alike, so that a file that is being written is not read by
//! halves. It is in force after one to two intervals. The surest way is still to write another file
//! and rename it.

use crate::rules::{LONGEST, Reloaded, Ruled, Rules, RulesError, decode};
use crate::time::Time;
use core::fmt;
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

/// A file of rules, and what is done with what stands in it.
pub struct Watch {
    path: PathBuf,
    reload: Reload,
    /// What was acted on.
    known: Content,
    /// What was seen last.
    last: Content,
}

/// Given the name of the file, its text, and what time it is.
type Reload = Box<dyn FnMut(&str, &str, Time) -> Reloaded + Send>;

/// What stands in a file; or why that can't be known.
type Content = Result<String, String>;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What was seen of a file that had changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// It was read, and this came of it.
    Read(Reloaded),
    /// It can't be read, for this reason; the rules stay as they are.
    Unreadable(String),
}

impl Seen {
    /// A word for a counter: `unchanged`, `applied`, `rejected` or `unreadable`.
    pub fn name(&self) -> &'static str {
        match self {
            Seen::Read(reloaded) => reloaded.name(),
            Seen::Unreadable(_) => "unreadable",
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Read(reloaded) => write!(f, "rules {reloaded}"),
            Seen::Unreadable(reason) => {
                write!(f, "rules unreadable, and the old ones stay: {reason}")
            }
        }
    }
}

/// Why there are no rules to begin with. A `main` that returns it prints it as it is displayed.
#[derive(Clone, PartialEq)]
pub enum OpenError {
    /// The file can't be read, for this reason.
    Unreadable(String),
    /// The rules in it are wrong.
    Wrong(RulesError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unreadable(reason) => f.write_str(reason),
            OpenError::Wrong(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for OpenError {}

/// Reads the rules in a file, for at most `capacity` keys of each limit, so that they can follow it.
///
/// # Errors
/// When the file can't be read or its rules are wrong: there are no old ones to stay with.
pub fn open(path: impl Into<PathBuf>, capacity: usize) -> Result<(Arc<Ruled>, Watch), OpenError> {
    let path = path.into();
    let text = read(&path).map_err(OpenError::Unreadable)?;
    let rules = Rules::read(&path.display().to_string(), &text).map_err(OpenError::Wrong)?;
    let ruled = Arc::new(Ruled::new(rules, capacity));
    let follows = Arc::clone(&ruled);
    let watch = Watch::new(path, text, move |file, text, now| follows.reload(file, text, now));
    Ok((ruled, watch))
}

impl Watch {
    /// Follows a file in which `text` stands by now. `reload` is called with the name of the file,
    /// what stands in it then, and what time it is.
    pub fn new(
        path: impl Into<PathBuf>,
        text: String,
        reload: impl FnMut(&str, &str, Time) -> Reloaded + Send + 'static,
    ) -> Self {
        let known = Ok(text);
        let (path, reload) = (path.into(), Box::new(reload));
        Watch { path, reload, last: known.clone(), known }
    }

    /// Looks at the file, and puts its rules in force when they have changed and were the same when
    /// it was looked at last. `None` when there is nothing new. It is `now` by the clock that events
    /// are told by: see [`Ruled::reload`].
    pub fn look(&mut self, now: Time) -> Option<Seen> {
        let content = read(&self.path);
        let is_settled = content == self.last;
        self.last = content;
        if !is_settled || self.last == self.known {
            return None;
        }
        self.known = self.last.clone();
        Some(match &self.known {
            Ok(text) => Seen::Read((self.reload)(&self.path.display().to_string(), text, now)),
            Err(reason) => Seen::Unreadable(reason.clone()),
        })
    }

    /// Looks at the file in a thread of its own, `interval` after `interval`, and tells `report` what
    /// was seen, until what is returned is dropped. `clock` says what time it is for events.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn every(
        mut self,
        interval: Duration,
        clock: impl Fn() -> Time + Send + 'static,
        mut report: impl FnMut(Seen) + Send + 'static,
    ) -> io::Result<Watching> {
        let (stop, stopped) = mpsc::channel::<()>();
        thread::Builder::new().name("ratescope-watch".to_owned()).spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                if let Some(seen) = self.look(clock()) {
                    report(seen);
                }
            }
        })?;
        Ok(Watching { _stop: stop })
    }
}

/// A file that is looked at, until this is dropped.
#[derive(Debug)]
#[must_use = "it is looked at only until this is dropped"]
pub struct Watching {
    _stop: Sender<()>,
}

/// Reads a file by its name, and so whatever that leads to now. Of one that is too long for rules, as
/// much is read as says so.
fn read(path: &Path) -> Content {
    let reason = |error: io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(reason)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(reason)?;
    decode(&path.display().to_string(), bytes).map_err(|error| error.to_string())
}

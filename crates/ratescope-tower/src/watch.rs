//! Reloads rules when their file changes, while events come in.
//!
//! ```no_run
//! use ratescope::Time;
//! use ratescope_tower::{log_reload, watch};
//! use std::time::{Duration, Instant};
//!
//! let (store, watch) = watch::open("rules.yaml", 100_000)?;
//! // The clock must be the one that gives events their times.
//! let start = Instant::now();
//! let clock = move || Time::from(start.elapsed());
//! // The file is watched until `_watching` is dropped, and changes go to the log.
//! let _watching = watch.every(Duration::from_secs(2), clock, log_reload)?;
//! # let _ = store;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why the file is read again and again
//! The watch reads the file at each interval and compares it with the last reading. A rule file has at most 1 MiB, and
//! mostly a few kB that the system keeps in memory. Notifications by the system would be faster, but they follow the
//! inode and not the name: after a rename, or when a symlink on the way changes (as Kubernetes replaces its
//! ConfigMaps), they are silent, and often on network and overlay file systems. Modification times and sizes are
//! coarse, and may stay the same over a change. Opening the name again and comparing bytes has none of these faults.
//!
//! A change counts when two readings in a row are equal, so that a half-written file is not taken. It is in force after
//! one to two intervals. The surest way is still to write another file and rename it. Only regular files are read.

use core::fmt;
use core::time::Duration;
use ratescope::rules::{LONGEST, MemoryStore, OpenError, Reloaded, Rules, decode};
use ratescope::time::Time;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

/// A rule file, with the means to reload it.
#[must_use = "the file is read again only by `every` or `look`"]
pub struct Watch {
    path: PathBuf,
    reload: Reload,
    /// The content that was acted on last.
    known: Content,
    /// The content at the last reading.
    last: Content,
}

/// Puts rules in force, given the name of the file, its text, and the time.
type Reload = Box<dyn FnMut(&str, &str, Time) -> Reloaded + Send>;

/// The text of a file, or the reason why it can't be read.
pub type Content = Result<String, OpenError>;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The news of a file that has changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FileNews {
    /// The file was read.
    Read {
        /// The name of the file.
        file: String,
        /// The result.
        reloaded: Reloaded,
    },
    /// The file can't be read, for this reason; the rules stay as they are.
    Unreadable(String),
}

impl FileNews {
    /// A word for a counter: `unchanged`, `applied`, `rejected` or `unreadable`.
    pub fn name(&self) -> &'static str {
        match self {
            FileNews::Read { reloaded, .. } => reloaded.name(),
            FileNews::Unreadable(_) => "unreadable",
        }
    }
}

impl fmt::Display for FileNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileNews::Read { file, reloaded } => write!(f, "rules of {file} {reloaded}"),
            FileNews::Unreadable(reason) => {
                write!(f, "rules unreadable, and the old ones stay: {reason}")
            }
        }
    }
}

/// Reads the rules in a file, for at most `capacity` keys of each limit. Also returns the [`Watch`] that reloads them.
///
/// # Errors
/// If the file can't be read or its rules are wrong.
pub fn open(path: impl Into<PathBuf>, capacity: usize) -> Result<(MemoryStore, Watch), OpenError> {
    let path = path.into();
    let text = read(&path)?;
    let rules = Rules::read(&path.display().to_string(), &text)?;
    let store = MemoryStore::new(rules, capacity);
    let follows = store.clone();
    let watch = Watch::new(path, text, move |file, text, now| follows.reload(file, text, now));
    Ok((store, watch))
}

impl Watch {
    /// Watches a file whose current `text` is in force already. `reload` gets the name of the file, its new text, and
    /// the time.
    pub fn new(
        path: impl Into<PathBuf>,
        text: String,
        reload: impl FnMut(&str, &str, Time) -> Reloaded + Send + 'static,
    ) -> Self {
        let known = Ok(text);
        Watch { path: path.into(), reload: Box::new(reload), last: known.clone(), known }
    }

    /// Reads the file. Puts its rules in force if they are new and equal to the last reading. Returns `None` if there
    /// is nothing new. The clock of `now` must be that of the events: see [`MemoryStore::reload`].
    pub fn look(&mut self, now: Time) -> Option<FileNews> {
        let content = read(&self.path);
        let is_settled = content == self.last;
        self.last = content;
        if !is_settled || self.last == self.known {
            return None;
        }
        self.known = self.last.clone();
        Some(match &self.known {
            Ok(text) => {
                let file = self.path.display().to_string();
                let reloaded = (self.reload)(&file, text, now);
                FileNews::Read { file, reloaded }
            }
            Err(reason) => FileNews::Unreadable(reason.to_string()),
        })
    }

    /// Reads the file at each `interval`, of a millisecond at least, in a thread of its own, and calls `report` with
    /// any news. The thread ends when the returned value is dropped. `clock` gives the time, as events have it.
    ///
    /// # Errors
    /// If the system can't start a thread.
    pub fn every(
        mut self,
        interval: Duration,
        clock: impl Fn() -> Time + Send + 'static,
        mut report: impl FnMut(FileNews) + Send + 'static,
    ) -> io::Result<Watching> {
        let interval = interval.max(Duration::from_millis(1));
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

/// A file is watched until this is dropped.
#[derive(Debug)]
#[must_use = "the file is watched only until this is dropped"]
pub struct Watching {
    _stop: Sender<()>,
}

/// Reads the file that has this name now, up to the longest length of rules. A pipe or a device is not opened: it could
/// block the reader for ever.
pub fn read(path: &Path) -> Content {
    let unreadable = |error: io::Error| OpenError::unreadable(path, error);
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(decode(&path.display().to_string(), bytes)?)
}

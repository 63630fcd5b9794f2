//! A store outside of this process, in a simulation: keys of its own, which are gone afterwards.

use ratescope::redis_store::{self, Clock, Options, RedisStore};
use ratescope::rules::{AsyncStore, Details, Load, Rules, Ruling};
use ratescope::{Event, Retry, Span};
use std::cell::Cell;
use std::error::Error;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};

/// What the keys of every simulation begin with.
const PREFIX: &str = "ratescope-simulate";

/// How long keys stay, should the run end without its end.
const KEEP: Span = Span::hours(24);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where stores are opened; without an address, nowhere.
pub(crate) struct At {
    url: Option<String>,
    run: String,
    opened: Cell<usize>,
    runtime: Rc<Runtime>,
    turn: Turn,
}

/// Whoever holds it may use the store: an event, or the end of the run, after which there is none.
type Turn = Arc<Mutex<()>>;

/// Rules on Redis.
pub(crate) struct Shared {
    store: RedisStore,
    runtime: Rc<Runtime>,
    turn: Turn,
    cleared: Cell<bool>,
}

impl At {
    /// At this address, if there is one. Keys are gone also when the run is interrupted.
    pub(crate) fn new(url: Option<String>) -> io::Result<Self> {
        let runtime = Rc::new(Builder::new_current_thread().enable_all().build()?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("{PREFIX}:{}-{}", std::process::id(), now.as_nanos());
        let at = At { url, run, opened: Cell::new(0), runtime, turn: Turn::default() };
        if let Some(url) = at.url.clone() {
            let (prefix, turn) = (format!("{}:", at.run), Arc::clone(&at.turn));
            std::thread::spawn(move || when_interrupted(&url, &prefix, &turn));
        }
        Ok(at)
    }

    /// Rules at this address, with keys of their own; `None`, where there is none.
    pub(crate) fn open(&self, rules: Rules) -> Result<Option<Shared>, Box<dyn Error>> {
        let Some(url) = &self.url else { return Ok(None) };
        let number = self.opened.replace(self.opened.get() + 1);
        let _within = self.runtime.enter();
        let mut options = options(format!("{}:{number}:", self.run));
        // On a cluster, subjects are spread over the nodes unless an event has several.
        options.one_node = rules.subjects().len() > 1;
        let store = RedisStore::open(url, rules, options)?;
        let (runtime, turn) = (Rc::clone(&self.runtime), Arc::clone(&self.turn));
        Ok(Some(Shared { store, runtime, turn, cleared: Cell::new(false) }))
    }
}

fn options(prefix: String) -> Options {
    Options {
        prefix,
        deadline: PATIENCE,
        clock: Clock::Event { keep: KEEP },
        capacity: 1,
        ..Options::default()
    }
}

impl Shared {
    pub(crate) fn rules(&self) -> Arc<Rules> {
        AsyncStore::rules(&self.store)
    }

    /// What is decided about an event, and when it would pass if it does not.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub(crate) fn check(
        &self,
        event: &Event<'_>,
        load: Option<Load>,
    ) -> io::Result<(Ruling, Option<Retry>)> {
        self.store.set_load(load);
        let details = Details { retry: true, ..Details::default() };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.runtime.block_on(self.store.check(event, details));
        match answer.fault {
            Some(fault) => {
                let cause = fault.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                Err(io::Error::other(format!("at {}: {fault}{cause}", event.time)))
            }
            None => Ok((answer.ruling, answer.retry)),
        }
    }

    /// Removes its keys: how many there were.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub(crate) fn clear(&self) -> io::Result<usize> {
        self.cleared.set(true);
        let cleared = self.runtime.block_on(self.store.clear()).map_err(io::Error::other)?;
        Ok(usize::try_from(cleared).unwrap_or(usize::MAX))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.cleared.get() {
            // A run that failed says why; here is nothing to add.
            let _ = self.clear();
        }
    }
}

/// Waits for a signal that ends the run, and removes its keys first.
fn when_interrupted(url: &str, prefix: &str, turn: &Turn) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    if runtime.block_on(interrupted()).is_ok() {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = runtime.block_on(redis_store::clear(url, prefix));
        std::process::exit(130);
    }
}

#[cfg(unix)]
async fn interrupted() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut end = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed,
        _ = end.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn interrupted() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}

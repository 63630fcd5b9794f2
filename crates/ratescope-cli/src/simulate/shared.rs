//! A store outside of this process, for a simulation, with keys of its own, which are removed at the end.

use crate::server;
use ratescope::rules::{Decision, Details, Fault, Load, Rules, Store};
use ratescope::{Event, Span};
use ratescope_redis::{self, Options, RedisStore, TimeSource};
use std::cell::Cell;
use std::error::Error;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};

/// The beginning of the keys of every simulation.
const PREFIX: &str = "ratescope-simulate";

/// The lifetime of keys, in case the run is killed and cannot remove them.
const KEEP: Span = Span::from_hours(24);

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The address at which stores are opened, if there is one.
pub(crate) struct At {
    url: Option<String>,
    run: String,
    opened: Cell<usize>,
    runtime: Rc<Runtime>,
    turn: Turn,
}

/// A lock that a decision holds while the store is asked. A signal to end takes it for good, so that no decision writes
/// keys after they were removed.
type Turn = Arc<Mutex<()>>;

/// Rules on Redis.
pub(crate) struct Shared {
    store: RedisStore,
    runtime: Rc<Runtime>,
    turn: Turn,
    cleared: Cell<bool>,
}

impl At {
    /// Prepares to open stores at `url`. Their keys are removed even if the run is interrupted.
    pub(crate) fn new(url: Option<String>) -> io::Result<Self> {
        let runtime = Rc::new(Builder::new_current_thread().enable_all().build()?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("{PREFIX}:{}-{}", std::process::id(), now.as_nanos());
        let at = At { url, run, opened: Cell::new(0), runtime, turn: Turn::default() };
        if let Some(url) = at.url.clone() {
            let prefix = format!("{}:", at.run);
            clear_when_interrupted(url, prefix, Arc::clone(&at.turn))?;
        }
        Ok(at)
    }

    /// True if stores are elsewhere.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.url.is_some()
    }

    /// Rules at this address, with keys of their own; `None` without an address.
    pub(crate) fn open(&self, rules: &Rules) -> Result<Option<Shared>, Box<dyn Error>> {
        let Some(url) = &self.url else { return Ok(None) };
        let number = self.opened.replace(self.opened.get() + 1);
        let _within = self.runtime.enter();
        // On a cluster, the keys of an event with several subjects have to be on one node. Other keys are spread over
        // all nodes.
        let options =
            options(format!("{}:{number}:", self.run)).one_node(rules.subjects().len() > 1);
        let store = RedisStore::open(url, rules.clone(), options)?;
        let runtime = Rc::clone(&self.runtime);
        let turn = Arc::clone(&self.turn);
        Ok(Some(Shared { store, runtime, turn, cleared: Cell::new(false) }))
    }
}

fn options(prefix: String) -> Options {
    Options::default()
        .prefix(prefix)
        .deadline(PATIENCE)
        .clock(TimeSource::Event { keep: KEEP })
        .capacity(1)
}

impl Shared {
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.store.rules()
    }

    /// The answer about an event.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(crate) fn check(
        &self,
        event: &Event<'_>,
        load: Option<Load>,
        details: Details,
    ) -> io::Result<Decision> {
        self.store.set_load(load);
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.runtime.block_on(self.store.check_async(event, details));
        match answer.fault {
            Some(fault) => {
                let cause = fault.cause().map(|cause| format!(": {cause}")).unwrap_or_default();
                let is_away = matches!(fault, Fault::Unreachable(_) | Fault::Late | Fault::Lost);
                let hint = if is_away { "; look at --store" } else { "" };
                Err(io::Error::other(format!("at {} s: {fault}{cause}{hint}", event.time)))
            }
            None => Ok(answer),
        }
    }

    /// Removes its keys and returns their number.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(crate) fn clear(&self) -> io::Result<usize> {
        self.cleared.set(true);
        let cleared =
            self.runtime.block_on(self.store.redis().clear()).map_err(io::Error::other)?;
        Ok(usize::try_from(cleared).unwrap_or(usize::MAX))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.cleared.get() {
            // A run that failed has said why.
            let _ = self.clear();
        }
    }
}

/// Catches signals to end, from now on. After one, removes the keys of the run and ends the process with status 130.
fn clear_when_interrupted(url: String, prefix: String, turn: Turn) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signal = {
        let _within = runtime.enter();
        server::catch_signals()?
    };
    std::thread::spawn(move || {
        runtime.block_on(signal());
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = runtime.block_on(ratescope_redis::clear(&url, &prefix));
        std::process::exit(130);
    });
    Ok(())
}

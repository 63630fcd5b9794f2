//! Sends a call to Redis, which is answered within the deadline or not at all, and never runs twice.
//!
//! A call is retried, as long as there is time, if the server's error proves that nothing ran: the script is unknown
//! (NOSCRIPT; the retry has its text), or the node is loading, busy, read-only, or without the key (MOVED, ASK,
//! TRYAGAIN). A broken connection or a missing answer proves nothing, so the call is not retried.

use super::address::Address;
use super::breaker::Permit;
use super::call::Call;
use super::masters::Masters;
use super::options::Options;
use super::plan;
use super::refusal::Refusal;
use super::server::{Connection, Failure, Server, background_timeout};
use super::slots::{SLOTS, slot};
use core::time::Duration;
use ratescope::rules::{Fault, OpenError};
use ratescope::time::Span;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument, debug_span};

/// The pause before the first retry; each later pause is twice as long.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of redirections that a call follows without a pause.
const REDIRECTIONS: u32 = 3;

pub(super) struct Link {
    masters: Masters,
    deadline: Duration,
    /// The last fault since the last ping with which a server refused a call for good. Others may pass.
    refused: Mutex<Option<Fault>>,
}

impl core::fmt::Debug for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// A link to this address. Nothing is sent yet.
    pub(super) fn new(address: Address, options: &Options) -> RedisResult<Self> {
        let masters = Masters::new(address, options)?;
        Ok(Link { masters, deadline: options.deadline, refused: Mutex::default() })
    }

    /// The deadline of a decision that begins now.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.deadline
    }

    /// The deadline of a call for which no event waits.
    pub(super) fn until_in_background(&self) -> Instant {
        Instant::now() + background_timeout(self.deadline)
    }

    /// When half of the time of a decision is left.
    pub(super) fn half_of(&self, until: Instant) -> Instant {
        until.checked_sub(self.deadline / 2).unwrap_or(until)
    }

    /// True if this process has been connected for so long to the server that has a key.
    pub(super) fn has_known(&self, key: &[u8], span: Span) -> bool {
        self.masters
            .known(key)
            .and_then(|server| server.connected())
            .is_some_and(|since| since.elapsed().as_secs_f64() > span.as_secs_f64())
    }

    /// True if keys of different slots may be on different nodes.
    pub(super) fn is_cluster(&self) -> bool {
        self.masters.is_cluster()
    }

    /// Runs a script and returns its answer, which `read` parses.
    pub(super) async fn run<T>(
        &self,
        call: &Call,
        until: Instant,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, Fault> {
        // It costs nothing unless a subscriber takes it.
        let span = debug_span!(
            target: "ratescope",
            "redis",
            otel.kind = "client",
            otel.status_code = Empty,
            otel.status_description = Empty,
            db.system.name = "redis",
        );
        let run = async {
            within_a_runtime()?;
            let key = call.keys.first().map_or(&[][..], Vec::as_slice);
            let attempt = Attempt::begin(self, key, until, true).await?;
            attempt.run(|is_known| call.command(is_known), read).await
        };
        let answer = run.instrument(span.clone()).await;
        if let Err(fault) = &answer
            && !span.is_disabled()
        {
            span.record("otel.status_code", "ERROR");
            span.record("otel.status_description", fault.to_string());
        }
        answer
    }

    /// Writes on all servers that have keys, and tells of a call that one has refused since the last ping. The
    /// circuit breakers are left out, since the deadline is longer than that of an event.
    pub(super) async fn ping(&self, options: &Options) -> Result<(), Fault> {
        within_a_runtime()?;
        let until = Instant::now() + background_timeout(self.deadline);
        let begin = plan::begin(options);
        // The text between the first braces chooses the node.
        let is_on_one_node = begin.contains('{');
        let open = if is_on_one_node { "" } else { "{" };
        let key = |n: u32| format!("{begin}{open}ping{n}}}").into_bytes();
        let ranges = if self.is_cluster() && !is_on_one_node {
            let masters = self.masters.each(until).await?;
            masters.iter().map(|master| master.first..=master.last).collect()
        } else {
            vec![0..=SLOTS - 1]
        };
        for range in ranges {
            // A key is in the smallest range with a probability of 1/16384.
            let Some(key) = (0..1 << 20).map(key).find(|key| range.contains(&slot(key))) else {
                continue;
            };
            let mut write = redis::cmd("EVAL");
            write.arg("redis.call('SET', KEYS[1], '', 'PX', 1)\nreturn ''").arg(1).arg(&key);
            let attempt = Attempt::begin(self, &key, until, false).await?;
            attempt.run(|_| write.clone(), |answer| answer.is_empty().then_some(())).await?;
        }
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
        refused.map_or(Ok(()), Err)
    }

    /// A permit for one call to a server. If the circuit is open, another server may have become the master, so the
    /// master is looked up again.
    fn permit(&self, server: &Server, is_guarded: bool) -> Result<Permit, Fault> {
        if !is_guarded {
            return Ok(Permit::unguarded());
        }
        server.permit().inspect_err(|_| _ = self.masters.refresh())
    }

    /// All servers that have keys: the masters of a cluster, or the one server.
    pub(super) async fn servers(&self, until: Instant) -> Result<Vec<Arc<Server>>, Fault> {
        within_a_runtime()?;
        let masters = self.masters.each(until).await?;
        Ok(masters.into_iter().map(|range| range.master).collect())
    }
}

/// The attempts of one call: the server that is asked, and the steps taken so far.
struct Attempt<'a> {
    link: &'a Link,
    key: &'a [u8],
    until: Instant,
    server: Arc<Server>,
    permit: Permit,
    /// True if the circuit breakers of the servers decide about this call, and its outcome counts.
    is_guarded: bool,
    /// Sends ASKING before the next command, since the slot is moving to the server.
    asking: bool,
    /// True after this call has replaced a connection, which it does once.
    renewed: bool,
    redirections: u32,
    pause: Duration,
    /// True while it waits for its next retry.
    is_waiting: bool,
}

impl<'a> Attempt<'a> {
    async fn begin(
        link: &'a Link,
        key: &'a [u8],
        until: Instant,
        is_guarded: bool,
    ) -> Result<Self, Fault> {
        let server = link.masters.master(key, until).await?;
        let permit = link.permit(&server, is_guarded)?;
        Ok(Attempt {
            link,
            key,
            until,
            server,
            permit,
            is_guarded,
            asking: false,
            renewed: false,
            redirections: 0,
            pause: PAUSE,
            is_waiting: false,
        })
    }

    /// Sends a command, again and again as long as nothing ran. The argument of `command` is false if the server does not
    /// know the script.
    async fn run<T>(
        mut self,
        command: impl Fn(bool) -> Cmd,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, Fault> {
        let mut is_known = true;
        loop {
            let (error, connection) = match self.send(command(is_known)).await {
                Ok(answer) => return self.answered(answer, read),
                Err(Failure::Refused(error, connection)) => (error, connection),
                Err(Failure::NoAnswer(fault)) => return Err(self.broke(fault)),
                Err(Failure::Overloaded(fault)) => return Err(fault),
            };
            match Refusal::new(&error) {
                Refusal::UnknownScript if is_known => is_known = false,
                Refusal::UnknownScript | Refusal::Busy => self.pause(error, false).await?,
                Refusal::WrongServer => {
                    self.renew(&connection);
                    self.pause(error, true).await?;
                }
                Refusal::Redirected { address, asking } => {
                    self.redirected(error, &address, asking).await?;
                }
                Refusal::Final => return Err(self.ended(error)),
            }
        }
    }

    async fn send(&mut self, command: Cmd) -> Result<Value, Failure> {
        if !core::mem::take(&mut self.asking) {
            return self.server.send(command, self.until).await;
        }
        let mut both = Pipeline::new();
        both.cmd("ASKING").add_command(command);
        let answers = self.server.send_all(both, 1, self.until).await;
        answers.map(|mut answers| answers.pop().unwrap_or(Value::Nil))
    }

    fn answered<T>(&self, answer: Value, read: impl Fn(&[u8]) -> Option<T>) -> Result<T, Fault> {
        let answer = if let Value::BulkString(bytes) = answer { read(&bytes) } else { None };
        if let Some(answer) = answer {
            self.permit.succeeded();
            return Ok(answer);
        }
        // The answers on this connection may be out of step with the calls.
        self.server.disconnect();
        Err(self.ended("an answer that no script of this store gives"))
    }

    /// Goes on with another server, if its breaker permits.
    fn turn_to(&mut self, server: Arc<Server>) -> Result<(), Fault> {
        if !Arc::ptr_eq(&server, &self.server) {
            let permit =
                core::mem::replace(&mut self.permit, self.link.permit(&server, self.is_guarded)?);
            // A refusal also proves that a server is up.
            permit.succeeded();
            self.server = server;
        }
        Ok(())
    }

    /// Waits before the next retry, and then looks up again which server has the key. If time runs out, the error of
    /// the last attempt is the fault.
    async fn pause(&mut self, error: RedisError, moved: bool) -> Result<(), Fault> {
        self.is_waiting = true;
        if moved {
            self.link.masters.refresh();
        }
        let paused = timeout_at(self.until, sleep(self.pause)).await;
        paused.map_err(|_| Fault::failed(error))?;
        self.pause *= 2;
        let server = self.link.masters.master(self.key, self.until).await?;
        self.is_waiting = false;
        self.turn_to(server)
    }

    async fn redirected(
        &mut self,
        error: RedisError,
        address: &str,
        asking: bool,
    ) -> Result<(), Fault> {
        let masters = &self.link.masters;
        if !masters.is_cluster() {
            let help = "this is a node of a cluster; write redis-cluster:// for its address";
            return Err(self.ended(format_args!("{error}; {help}")));
        }
        if !asking {
            masters.refresh();
        }
        self.redirections += 1;
        if self.redirections > REDIRECTIONS {
            self.pause(error, false).await?;
        }
        if let Some(server) = masters.redirected(address, &self.server) {
            self.turn_to(server)?;
            self.asking = asking;
        }
        Ok(())
    }

    /// Replaces the connection, at most once in a call: a new one may lead to another server.
    fn renew(&mut self, connection: &Arc<Connection>) {
        if self.link.masters.is_one() && !core::mem::replace(&mut self.renewed, true) {
            self.server.renew(connection);
        }
    }

    /// Reports that the server is up, and returns the fault with which it refused.
    fn ended(&self, words: impl core::fmt::Display) -> Fault {
        self.permit.succeeded();
        let fault = Fault::failed(words);
        if self.is_guarded {
            let mut refused = self.link.refused.lock().unwrap_or_else(PoisonError::into_inner);
            *refused = Some(fault.clone());
        }
        fault
    }

    /// Reports that the server can't be asked, and returns this `fault`.
    fn broke(&self, fault: Fault) -> Fault {
        self.permit.failed(std::time::Instant::now());
        self.link.masters.refresh();
        fault
    }
}

/// A call that ends while the server is busy has failed: at its deadline, or earlier if its task ends.
impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.permit.failed(std::time::Instant::now());
        }
    }
}

/// Checks for a Tokio runtime, because connections and deadlines panic without one.
pub(super) fn within_a_runtime() -> Result<(), Fault> {
    let runtime = tokio::runtime::Handle::try_current();
    runtime.map(drop).map_err(|_| Fault::failed(OpenError::Runtime))
}

impl Call {
    /// The command: by the hash of the script if the server knows it, or else with its text.
    pub(super) fn command(&self, is_known: bool) -> Cmd {
        let mut command = redis::cmd(if is_known { "EVALSHA" } else { "EVAL" });
        command.arg(if is_known { &self.script.sha } else { &self.script.text });
        command.arg(self.keys.len());
        self.keys.iter().for_each(|key| _ = command.arg(key));
        self.args.iter().for_each(|arg| _ = command.arg(arg));
        command
    }
}

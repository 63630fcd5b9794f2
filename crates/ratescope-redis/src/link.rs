//! Sends a call to Redis, which is answered within the deadline or not at all, and never runs twice.
//!
//! A call is retried, as long as there is time, if the server's error proves that nothing ran: the script is unknown
//! (NOSCRIPT; the retry has its text), or the node is loading, busy, read-only, or without the key (MOVED, ASK,
//! TRYAGAIN). A broken connection or a missing answer proves nothing, so the call is not retried.

use super::address::Address;
use super::breaker::Permit;
use super::masters::Masters;
use super::meaning::Meaning;
use super::options::Options;
use super::plan::Call;
use super::server::{Connection, Failure, Server, patience};
use core::time::Duration;
use ratescope::rules::{Fault, OpenError};
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, Value};
use std::sync::Arc;
use tokio::time::{Instant, sleep, timeout_at};

/// The pause before the first retry; each later pause is twice as long.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of redirections that a call follows without a pause.
const REDIRECTIONS: u32 = 3;

pub(super) struct Link {
    target: Target,
    deadline: Duration,
}

enum Target {
    One(Arc<Server>),
    Cluster(Masters),
    /// The master that sentinels name.
    Watched(Masters),
}

impl core::fmt::Debug for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// A link to this address. Nothing is sent yet.
    pub(super) fn new(address: Address, options: &Options) -> RedisResult<Self> {
        let target = match address {
            Address::One(info) => Target::One(Arc::new(Server::new(*info, options)?)),
            Address::Cluster(nodes) => {
                let none = || (ErrorKind::InvalidClientConfig, "no node is named");
                let info = nodes.first().cloned().ok_or_else(none)?;
                Target::Cluster(Masters::new(nodes, None, info, options)?)
            }
            Address::Watched { sentinels, name, master } => {
                Target::Watched(Masters::new(sentinels, Some(name), *master, options)?)
            }
        };
        Ok(Link { target, deadline: options.deadline })
    }

    /// The deadline of a decision that begins now.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.deadline
    }

    /// True if keys of different slots may be on different nodes.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.target, Target::Cluster(_))
    }

    /// Runs a script and returns its answer, which `read` parses.
    pub(super) async fn run<T>(
        &self,
        call: &Call,
        until: Instant,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, Fault> {
        within_a_runtime()?;
        let key = call.keys.first().map_or(&[][..], Vec::as_slice);
        let mut attempt = Attempt::begin(&self.target, key, until).await?;
        let mut is_known = true;
        loop {
            let (error, connection) = match attempt.send(call.command(is_known)).await {
                Ok(answer) => return attempt.answered(answer, read),
                Err(Failure::Refused(error, connection)) => (error, connection),
                Err(Failure::Over(fault)) => return Err(attempt.broke(fault)),
                Err(Failure::Crowded(fault)) => return Err(fault),
            };
            match Meaning::new(&error) {
                Meaning::Unknown if is_known => is_known = false,
                Meaning::Unknown | Meaning::NotNow => attempt.pause(error, false).await?,
                Meaning::Elsewhere => {
                    attempt.renew(&connection);
                    attempt.pause(error, true).await?;
                }
                Meaning::Redirected { address, asking } => {
                    attempt.redirected(error, &address, asking).await?;
                }
                Meaning::Never => return Err(attempt.ended(error.to_string())),
            }
        }
    }

    /// Asks all servers that have keys whether they answer. Their breakers ignore this, since its deadline is longer
    /// than that of an event.
    pub(super) async fn ping(&self) -> Result<(), Fault> {
        let until = Instant::now() + patience(self.deadline);
        // A user who may run scripts need not have the right to PING.
        let mut nothing = redis::cmd("EVAL");
        nothing.arg("return 0").arg(0);
        for server in self.servers(until).await? {
            server.send(nothing.clone(), until).await.inspect_err(|_| self.target.refresh())?;
        }
        Ok(())
    }

    /// All servers that have keys: the masters of a cluster, or the one server.
    pub(super) async fn servers(&self, until: Instant) -> Result<Vec<Arc<Server>>, Fault> {
        within_a_runtime()?;
        match &self.target {
            Target::One(server) => Ok(vec![Arc::clone(server)]),
            Target::Cluster(masters) | Target::Watched(masters) => masters.all(until).await,
        }
    }
}

/// The attempts of one call: the server that is asked, and what was tried so far.
struct Attempt<'a> {
    target: &'a Target,
    key: &'a [u8],
    until: Instant,
    server: Arc<Server>,
    permit: Arc<Permit>,
    /// Sends ASKING before the next command, since the slot is moving to the server.
    asking: bool,
    /// True after this call has replaced a connection, which it does once.
    renewed: bool,
    redirections: u32,
    pause: Duration,
    /// True if the server was busy, and was not asked again yet.
    is_put_off: bool,
}

impl<'a> Attempt<'a> {
    async fn begin(target: &'a Target, key: &'a [u8], until: Instant) -> Result<Self, Fault> {
        let server = target.server(key, until).await?;
        let permit = target.permit(&server)?;
        Ok(Attempt {
            target,
            key,
            until,
            server,
            permit,
            asking: false,
            renewed: false,
            redirections: 0,
            pause: PAUSE,
            is_put_off: false,
        })
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
        self.permit.succeeded();
        answer.ok_or_else(|| {
            // The answers on this connection may be out of step with the calls.
            self.server.disconnect();
            Fault::failed("an answer that no script of this store gives")
        })
    }

    /// Goes on with another server, if its breaker permits.
    fn turn_to(&mut self, server: Arc<Server>) -> Result<(), Fault> {
        if !Arc::ptr_eq(&server, &self.server) {
            let permit = core::mem::replace(&mut self.permit, self.target.permit(&server)?);
            // A refusal also proves that a server is up.
            permit.succeeded();
            self.server = server;
        }
        Ok(())
    }

    /// Waits before the next retry, and then looks up again which server has the key. If time runs out, the error of
    /// the last attempt is the fault.
    async fn pause(&mut self, error: RedisError, moved: bool) -> Result<(), Fault> {
        self.is_put_off = true;
        if moved {
            self.target.refresh();
        }
        let paused = timeout_at(self.until, sleep(self.pause)).await;
        paused.map_err(|_| Fault::failed(error))?;
        self.pause *= 2;
        let server = self.target.server(self.key, self.until).await?;
        self.is_put_off = false;
        self.turn_to(server)
    }

    async fn redirected(
        &mut self,
        error: RedisError,
        address: &str,
        asking: bool,
    ) -> Result<(), Fault> {
        let Target::Cluster(cluster) = self.target else {
            let help = "this is a node of a cluster; write redis-cluster:// for its address";
            return Err(self.ended(format!("{error}; {help}")));
        };
        if !asking {
            cluster.refresh();
        }
        self.redirections += 1;
        if self.redirections > REDIRECTIONS {
            self.pause(error, false).await?;
        }
        if let Some(server) = cluster.redirected(address, &self.server) {
            self.turn_to(server)?;
            self.asking = asking;
        }
        Ok(())
    }

    /// Replaces the connection, at most once in a call: a new one may lead to another server.
    fn renew(&mut self, connection: &Arc<Connection>) {
        if matches!(self.target, Target::One(_)) && !core::mem::replace(&mut self.renewed, true) {
            self.server.renew(connection);
        }
    }

    /// Reports that the server is up, and returns the fault with which it refused.
    fn ended(&self, words: String) -> Fault {
        self.permit.succeeded();
        Fault::failed(words)
    }

    /// Reports that the server can't be asked, and returns this `fault`.
    fn broke(&self, fault: Fault) -> Fault {
        self.permit.failed(std::time::Instant::now());
        self.target.refresh();
        fault
    }
}

/// A call that ends while the server is busy has failed: at its deadline, or earlier if its task ends.
impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_put_off {
            self.permit.failed(std::time::Instant::now());
        }
    }
}

impl Target {
    async fn server(&self, key: &[u8], until: Instant) -> Result<Arc<Server>, Fault> {
        match self {
            Target::One(server) => Ok(Arc::clone(server)),
            Target::Cluster(masters) | Target::Watched(masters) => masters.master(key, until).await,
        }
    }

    /// A permit for one call to a server. If the circuit is open, another server may have become the master, so the
    /// master is looked up again.
    fn permit(&self, server: &Server) -> Result<Arc<Permit>, Fault> {
        server.permit().inspect_err(|_| self.refresh())
    }

    fn refresh(&self) {
        if let Target::Cluster(masters) | Target::Watched(masters) = self {
            masters.refresh();
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

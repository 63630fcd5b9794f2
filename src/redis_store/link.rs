//! The way to Redis: one call, answered within the deadline or not at all, and never run twice.
//!
//! What proves that nothing ran is repeated as long as there is time: a script that is not known
//! (NOSCRIPT, then with its text, to the very node that said so), a node that is loading, busy,
//! read-only, or no longer that of the key (MOVED, ASK, TRYAGAIN). A broken connection or a missing
//! answer proves nothing, and is not repeated.

use super::breaker::Breaker;
use super::options::Options;
use super::plan::Call;
use crate::rules::Fault;
use arc_swap::ArcSwap;
use core::time::Duration;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::SingleNodeRoutingInfo;
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::{sleep, timeout_at};

/// How long a connection may take; the deadline of a call is for the call.
const CONNECTING: Duration = Duration::from_secs(1);

/// How long until the first repetition; each later one waits twice as long.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) struct Link {
    way: Way,
    breaker: Arc<Breaker>,
    deadline: Duration,
}

/// Connections to one server, or to the nodes of a cluster.
enum Way {
    One { client: Client, connection: ArcSwap<ConnectionManager> },
    Cluster(ClusterConnection),
}

impl core::fmt::Debug for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Link").field("breaker", &self.breaker).finish_non_exhaustive()
    }
}

/// What an error says of a call.
enum Meaning {
    /// The script is not known; nothing ran.
    Unknown,
    /// Nothing ran, and it may be otherwise in a moment.
    NotNow,
    /// The same, and this connection leads to the wrong server.
    Elsewhere,
    /// Nothing ran, and the node with this address is to be asked, this once.
    Ask(String, u16),
    /// That was it.
    Over(Fault),
}

impl Link {
    /// A way to the server at `url`. Nothing is sent yet.
    pub(super) fn new(url: &str, options: &Options) -> RedisResult<Self> {
        let client = Client::open(url)?;
        let connection = ArcSwap::from_pointee(connect(&client)?);
        Ok(Link::by(Way::One { client, connection }, options))
    }

    /// A way to the cluster of which these are nodes. It follows redirections, and asks for the slots
    /// when they have changed; what it sends it sends once.
    pub(super) fn to_cluster(urls: &[&str], options: &Options) -> RedisResult<Self> {
        let client = ClusterClient::builder(urls.iter().copied())
            .retries(0)
            .connection_timeout(CONNECTING)
            .response_timeout(CONNECTING.max(2 * options.deadline))
            .build()?;
        let connection = client.get_pending_async_connection_with_config(ClusterConfig::new());
        Ok(Link::by(Way::Cluster(connection), options))
    }

    fn by(way: Way, options: &Options) -> Self {
        let breaker = Breaker::new(options.failures, options.rest);
        Link { way, breaker, deadline: options.deadline }
    }

    /// Runs a script and returns the bytes that it answered.
    pub(super) async fn run(&self, call: &Call) -> Result<Vec<u8>, Fault> {
        let permit = self.breaker.permit(Instant::now()).ok_or(Fault::Resting)?;
        let until = tokio::time::Instant::now() + self.deadline;
        let mut last = Fault::Late;
        let answered = timeout_at(until, self.repeat(call, &mut last)).await;
        let answer = answered.unwrap_or(Err(last));
        match &answer {
            // What says no is there.
            Ok(_) | Err(Fault::Failed(_)) => permit.succeeded(),
            Err(_) => permit.failed(Instant::now()),
        }
        answer
    }

    /// Asks until there is an answer, or an error after which nothing may be repeated. In `last` is
    /// what is to be said when there is no more time.
    async fn repeat(&self, call: &Call, last: &mut Fault) -> Result<Vec<u8>, Fault> {
        let (mut known, mut pause, mut ask) = (true, PAUSE, None);
        loop {
            *last = Fault::Late;
            let asked = ask.take();
            let (answer, by) = self.send(&call.command(known), asked).await;
            let error = match answer {
                Ok(Value::BulkString(bytes)) => return Ok(bytes),
                Ok(other) => return Err(Fault::Failed(format!("not an answer: {other:?}"))),
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::Unknown if known => {
                    known = false;
                    continue;
                }
                Meaning::Ask(host, port) => {
                    ask = Some((host, port));
                    continue;
                }
                Meaning::Elsewhere => self.renew(by),
                Meaning::Unknown | Meaning::NotNow => {}
                Meaning::Over(fault) => return Err(fault),
            }
            *last = Fault::Failed(error.to_string());
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Sends a command once, and says by which connection, where there is one. A node that is to be
    /// asked by its address is told that it is meant, though it does not have the slot yet.
    async fn send(
        &self,
        command: &Cmd,
        ask: Option<(String, u16)>,
    ) -> (RedisResult<Value>, Option<Arc<ConnectionManager>>) {
        let (answer, by) = match (&self.way, ask) {
            (Way::One { connection, .. }, _) => {
                let connection = connection.load_full();
                let answer =
                    ConnectionManager::clone(&connection).send_packed_command(command).await;
                (answer, Some(connection))
            }
            (Way::Cluster(connection), None) => {
                (connection.clone().req_packed_command(command).await, None)
            }
            (Way::Cluster(connection), Some((host, port))) => {
                let mut both = Pipeline::new();
                both.cmd("ASKING").ignore().add_command(command.clone());
                let node = SingleNodeRoutingInfo::ByAddress { host, port };
                let answers = connection.clone().route_pipeline(both, 1, 1, node).await;
                (answers.map(|mut answers| answers.pop().unwrap_or(Value::Nil)), None)
            }
        };
        (answer.and_then(Value::extract_error), by)
    }

    /// A new connection in place of one that led to the wrong server.
    fn renew(&self, by: Option<Arc<ConnectionManager>>) {
        if let (Way::One { client, connection }, Some(by)) = (&self.way, by)
            && let Ok(new) = connect(client)
        {
            connection.compare_and_swap(&by, Arc::new(new));
        }
    }

    /// Runs any command, for whoever looks after the keys themselves.
    pub(super) async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        self.send(command, None).await.0
    }
}

/// A connection that is made when it is needed, and once more after each time that it broke.
fn connect(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECTING))
        .set_response_timeout(None);
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

impl Call {
    /// The command, for a server to which the script is `known` or not.
    pub(super) fn command(&self, known: bool) -> Cmd {
        let mut command = redis::cmd(if known { "EVALSHA" } else { "EVAL" });
        command.arg(if known { &self.script.sha } else { &self.script.text });
        command.arg(self.keys.len());
        self.keys.iter().for_each(|key| _ = command.arg(key));
        self.args.iter().for_each(|arg| _ = command.arg(arg));
        command
    }
}

fn meaning(error: &RedisError) -> Meaning {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoScript) => Meaning::Unknown,
        ErrorKind::Server(ServerErrorKind::ReadOnly) => Meaning::Elsewhere,
        ErrorKind::Server(ServerErrorKind::Ask) => match node(error) {
            Some((host, port)) => Meaning::Ask(host, port),
            None => Meaning::NotNow,
        },
        // The connections to a cluster ask for its slots then.
        ErrorKind::Server(
            ServerErrorKind::Moved
            | ServerErrorKind::TryAgain
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown,
        ) => Meaning::NotNow,
        ErrorKind::ClusterConnectionNotFound => Meaning::Over(Fault::Unreachable),
        _ if error.code() == Some("BUSY") => Meaning::NotNow,
        _ if error.is_connection_refusal() => Meaning::Over(Fault::Unreachable),
        _ if error.is_timeout() => Meaning::Over(Fault::Late),
        _ if error.is_io_error() || error.is_connection_dropped() => Meaning::Over(Fault::Lost),
        _ => Meaning::Over(Fault::Failed(error.to_string())),
    }
}

/// The node that an error names.
fn node(error: &RedisError) -> Option<(String, u16)> {
    let (address, _) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

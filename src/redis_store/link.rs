//! The way to Redis: one call, answered within the deadline or not at all, and never run twice.
//!
//! What proves that nothing ran is repeated as long as there is time: a script that is not known
//! (NOSCRIPT, then with its text, to the very node that said so), a node that is loading, busy,
//! read-only, or no longer that of the key (MOVED, ASK, TRYAGAIN). A broken connection or a missing
//! answer proves nothing, and is not repeated.

use super::address::Address;
use super::breaker::Breaker;
use super::options::Options;
use super::plan::Call;
use crate::rules::Fault;
use arc_swap::ArcSwap;
use core::time::Duration;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::{sleep, timeout_at};

/// How long a connection may take, where the deadline of a call is not longer.
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
    /// A way to the server or the cluster at this address. Nothing is sent yet.
    pub(super) fn new(address: &Address, options: &Options) -> RedisResult<Self> {
        match address {
            Address::One(url) => Link::to_one(url, options),
            Address::Cluster(urls) => Link::to_cluster(urls, options),
        }
    }

    fn to_one(url: &str, options: &Options) -> RedisResult<Self> {
        let client = Client::open(url)?;
        let connection = ArcSwap::from_pointee(connect(&client, options.deadline)?);
        Ok(Link::by(Way::One { client, connection }, options))
    }

    /// It follows redirections, and asks for the slots when they have changed; what it sends it sends
    /// once.
    fn to_cluster(urls: &[String], options: &Options) -> RedisResult<Self> {
        let client = ClusterClient::builder(urls.iter().map(String::as_str))
            .retries(0)
            .connection_timeout(CONNECTING.max(options.deadline))
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
            && let Ok(new) = connect(client, self.deadline)
        {
            connection.compare_and_swap(&by, Arc::new(new));
        }
    }

    /// Runs any command, for whoever looks after the keys themselves.
    pub(super) async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        self.send(command, None).await.0
    }

    /// All that have keys of their own: the masters of a cluster, or the one server.
    pub(super) async fn nodes(&self) -> RedisResult<Vec<Node>> {
        let Way::Cluster(connection) = &self.way else { return Ok(vec![Node(None)]) };
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answers = connection.clone().route_command(redis::cmd("PING"), all).await?;
        let answers: Vec<(String, Value)> = redis::from_redis_value(answers)?;
        let nodes = answers.iter().filter_map(|(address, _)| host_and_port(address));
        Ok(nodes.map(|node| Node(Some(node))).collect())
    }

    /// Runs a command at one of them.
    pub(super) async fn command_at(&self, node: &Node, command: &Cmd) -> RedisResult<Value> {
        let (Way::Cluster(connection), Some((host, port))) = (&self.way, node.0.clone()) else {
            return self.command(command).await;
        };
        let node = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host, port });
        connection.clone().route_command(command.clone(), node).await?.extract_error()
    }
}

/// A connection that is made when it is needed, and once more after each time that it broke.
fn connect(client: &Client, deadline: Duration) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECTING.max(deadline)))
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

/// A server that has keys; where there is only one, it needs no name.
pub(super) struct Node(Option<(String, u16)>);

/// The node that an error names.
fn node(error: &RedisError) -> Option<(String, u16)> {
    host_and_port(error.redirect_node()?.0)
}

fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

//! The way to Redis: one call, answered within the deadline or not at all, and never run twice.
//!
//! What proves that nothing ran is repeated as long as there is time: a script that is not known
//! (NOSCRIPT, then with its text), a node that is loading, busy or read-only. A broken connection or
//! a missing answer proves nothing, and is not repeated.

use super::breaker::Breaker;
use super::options::Options;
use super::plan::Call;
use crate::rules::Fault;
use arc_swap::ArcSwap;
use core::time::Duration;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::{sleep, timeout_at};

/// How long a connection may take; the deadline of a call is for the call.
const CONNECTING: Duration = Duration::from_secs(1);

/// How long until the first repetition; each later one waits twice as long.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) struct Link {
    client: Client,
    connection: ArcSwap<ConnectionManager>,
    breaker: Arc<Breaker>,
    deadline: Duration,
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
    /// That was it.
    Over(Fault),
}

impl Link {
    /// A way to the server at `url`. Nothing is sent yet.
    pub(super) fn new(url: &str, options: &Options) -> RedisResult<Self> {
        let client = Client::open(url)?;
        let connection = ArcSwap::from_pointee(connect(&client)?);
        let breaker = Breaker::new(options.failures, options.rest);
        Ok(Link { client, connection, breaker, deadline: options.deadline })
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
        let (mut known, mut pause) = (true, PAUSE);
        loop {
            let connection = self.connection.load_full();
            *last = Fault::Late;
            let error = match ConnectionManager::clone(&connection)
                .send_packed_command(&call.command(known))
                .await
                .and_then(Value::extract_error)
            {
                Ok(Value::BulkString(bytes)) => return Ok(bytes),
                Ok(other) => return Err(Fault::Failed(format!("not an answer: {other:?}"))),
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::Unknown if known => known = false,
                Meaning::Unknown | Meaning::NotNow => {
                    *last = Fault::Failed(error.to_string());
                    sleep(pause).await;
                    pause *= 2;
                }
                Meaning::Elsewhere => {
                    *last = Fault::Failed(error.to_string());
                    if let Ok(new) = connect(&self.client) {
                        self.connection.compare_and_swap(&connection, Arc::new(new));
                    }
                    sleep(pause).await;
                    pause *= 2;
                }
                Meaning::Over(fault) => return Err(fault),
            }
        }
    }

    /// Runs any command, for whoever looks after the keys themselves.
    pub(super) async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        let connection = self.connection.load_full();
        let answer = ConnectionManager::clone(&connection).send_packed_command(command).await;
        answer.and_then(Value::extract_error)
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
        ErrorKind::Server(
            ServerErrorKind::TryAgain
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown,
        ) => Meaning::NotNow,
        _ if error.code() == Some("BUSY") => Meaning::NotNow,
        _ if error.is_connection_refusal() => Meaning::Over(Fault::Unreachable),
        _ if error.is_timeout() => Meaning::Over(Fault::Late),
        _ if error.is_io_error() || error.is_connection_dropped() => Meaning::Over(Fault::Lost),
        _ => Meaning::Over(Fault::Failed(error.to_string())),
    }
}

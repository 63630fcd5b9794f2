//! One Redis server: a connection that all calls share, made when it is first needed.
//!
//! A call that finds the connection broken, or times out on it, takes it out of use, and the next call makes another.
//! Calls in flight keep the old one until they end.
//!
//! The connection manager of the `redis` crate (1.8) is not used: it keeps a silent connection for ever
//! (`a_silent_connection_is_replaced`), and its errors do not tell whether a command was sent
//! (`a_server_that_is_down_and_comes`).

use super::breaker::{Breaker, Permit};
use super::options::Options;
use super::refusal::Refusal;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use ratescope::rules::Fault;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, Pipeline};
use redis::{RedisError, RedisResult, Value};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, timeout_at};

/// The time that connecting may take, unless the deadline of a call is longer.
const CONNECTING: Duration = Duration::from_secs(1);

/// The idle time after which the system probes whether the peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The time that sent bytes may stay without an acknowledgement before the system ends a connection.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Server {
    client: Client,
    config: AsyncConnectionConfig,
    breaker: Arc<Breaker>,
    deadline: Duration,
    /// A permit for each call in flight.
    in_flight: Semaphore,
    current: Mutex<Option<Arc<Connection>>>,
}

/// A connection, or the attempt to make it.
pub(super) struct Connection {
    begun: Instant,
    made: watch::Receiver<Option<RedisResult<MultiplexedConnection>>>,
    /// The number of answers that it has brought.
    answers: AtomicU64,
}

/// Why there is no answer to a command.
pub(super) enum Failure {
    /// The server refused the command on this connection, and ran nothing.
    Refused(RedisError, Arc<Connection>),
    /// The connection broke, or the call timed out.
    NoAnswer(Fault),
    /// Too many calls waited, which is no failure of the server.
    Overloaded(Fault),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error, _) => Fault::failed(error),
            Failure::NoAnswer(fault) | Failure::Overloaded(fault) => fault,
        }
    }
}

impl Server {
    pub(super) fn new(info: ConnectionInfo, options: &Options) -> RedisResult<Self> {
        #[cfg(feature = "tls")]
        provide(info.addr());
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(background_timeout(options.deadline)))
            .set_response_timeout(None);
        Ok(Server {
            client: Client::open(info.set_tcp_settings(settings()))?,
            config,
            breaker: Breaker::new(options.failures, options.rest),
            deadline: options.deadline,
            in_flight: Semaphore::new(options.in_flight),
            current: Mutex::default(),
        })
    }

    /// The host, if it has a name or an address.
    pub(super) fn host(&self) -> Option<&str> {
        match self.client.get_connection_info().addr() {
            redis::ConnectionAddr::Tcp(host, _) | redis::ConnectionAddr::TcpTls { host, .. } => {
                Some(host)
            }
            _ => None,
        }
    }

    /// A permit for one call to this server.
    pub(super) fn permit(&self) -> Result<Permit, Fault> {
        self.breaker.permit(std::time::Instant::now()).ok_or(Fault::Resting)
    }

    /// Sends a command once and waits for its answer.
    pub(super) async fn send(&self, command: Cmd, until: Instant) -> Result<Value, Failure> {
        self.exchange(until, |mut connection| async move {
            connection.send_packed_command(&command).await?.extract_error()
        })
        .await
    }

    /// Sends commands together, each once, and returns their answers without those of the first
    /// `skipped`. If any is refused, its error is returned.
    pub(super) async fn send_all(
        &self,
        commands: Pipeline,
        skipped: usize,
        until: Instant,
    ) -> Result<Vec<Value>, Failure> {
        let count = commands.len() - skipped;
        self.exchange(until, |mut connection| async move {
            let answers = connection.send_packed_commands(&commands, skipped, count).await?;
            answers.into_iter().map(Value::extract_error).collect()
        })
        .await
    }

    async fn exchange<T, F: Future<Output = RedisResult<T>>>(
        &self,
        until: Instant,
        send: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, Failure> {
        let _permit =
            self.in_flight_permit(until).await.ok_or(Failure::Overloaded(Fault::Overloaded))?;
        let connection = self.connection();
        let made = match timeout_at(until, connection.made()).await {
            Ok(Ok(made)) => made,
            Ok(Err(error)) => {
                self.replace(&connection);
                return Err(Failure::NoAnswer(Fault::unreachable(error)));
            }
            // Connecting goes on for the calls that follow.
            Err(elapsed) => return Err(Failure::NoAnswer(Fault::unreachable(elapsed))),
        };
        let sent = Instant::now();
        let before = connection.answers.load(Ordering::Relaxed);
        let Ok(answer) = timeout_at(until, send(made)).await else {
            let is_silent = connection.answers.load(Ordering::Relaxed) == before;
            return Err(self.late(&connection, sent, is_silent));
        };
        self.answered(&connection, answer)
    }

    /// A permit to be in flight. If all are taken, the call waits for its turn, but leaves the server half of the
    /// timeout: an answer that is late then is not late because of earlier calls.
    async fn in_flight_permit(&self, until: Instant) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.in_flight.try_acquire() {
            return Some(permit);
        }
        let latest = until.checked_sub(self.deadline / 2)?;
        timeout_at(latest, self.in_flight.acquire()).await.ok()?.ok()
    }

    /// Why there is no answer in time. A connection that brought no answer at all meanwhile is taken out of use.
    fn late(&self, connection: &Arc<Connection>, sent: Instant, is_silent: bool) -> Failure {
        if !is_silent {
            return Failure::Overloaded(Fault::Late);
        }
        // A timeout after a very short wait says little about the connection.
        if sent.elapsed() >= self.deadline / 2 {
            self.replace(connection);
        }
        Failure::NoAnswer(Fault::Late)
    }

    /// The answer to a command on a connection, which is taken out of use if it is broken.
    fn answered<T>(
        &self,
        connection: &Arc<Connection>,
        answer: RedisResult<T>,
    ) -> Result<T, Failure> {
        let error = match answer {
            Ok(answer) => {
                connection.answers.fetch_add(1, Ordering::Relaxed);
                return Ok(answer);
            }
            Err(error) => error,
        };
        if matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) {
            connection.answers.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::Refused(error, Arc::clone(connection)));
        }
        self.replace(connection);
        let is_read = error.is_io_error() || error.is_connection_dropped();
        let fault = if is_read { Fault::Lost } else { Fault::failed(error) };
        Err(Failure::NoAnswer(fault))
    }

    /// Takes a connection out of use because it led to the wrong server, unless it is so young that a new one would
    /// lead to the same server.
    pub(super) fn renew(&self, connection: &Arc<Connection>) {
        if connection.begun.elapsed() >= self.deadline {
            self.replace(connection);
        }
    }

    /// Takes a connection out of use, if it is still in use.
    fn replace(&self, connection: &Arc<Connection>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|current| Arc::ptr_eq(current, connection));
    }

    /// When the current connection was begun.
    pub(super) fn connected(&self) -> Option<Instant> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().map(|connection| connection.begun)
    }

    /// Takes the current connection out of use.
    pub(super) fn disconnect(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn connection(&self) -> Arc<Connection> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(current.get_or_insert_with(|| Arc::new(self.connect())))
    }

    /// Connects in a task of its own, which a call that is given up does not end.
    fn connect(&self) -> Connection {
        let client = self.client.clone();
        let config = self.config.clone();
        let (sender, made) = watch::channel(None);
        tokio::spawn(async move {
            let made = client.get_multiplexed_async_connection_with_config(&config).await;
            sender.send_replace(Some(made));
        });
        Connection { begun: Instant::now(), made, answers: AtomicU64::new(0) }
    }
}

impl Connection {
    /// Waits for the task that connects, and returns the connection.
    async fn made(&self) -> RedisResult<MultiplexedConnection> {
        let mut made = self.made.clone();
        let made = made.wait_for(Option::is_some).await.ok().and_then(|made| made.clone());
        made.unwrap_or_else(|| Err((ErrorKind::Io, "the runtime that was connecting ended").into()))
    }
}

/// Reports the result of a command without retries to the breaker. A refusal counts as a success, since the server is
/// up, unless it is busy. Nothing is reported if too many calls waited.
pub(super) fn report<T>(permit: &Permit, answer: &Result<T, Failure>) {
    let has_failed = match answer {
        Ok(_) => false,
        Err(Failure::Refused(error, _)) => Refusal::new(error).is_temporary(),
        Err(Failure::NoAnswer(_)) => true,
        Err(Failure::Overloaded(_)) => return,
    };
    if has_failed {
        permit.failed(std::time::Instant::now());
    } else {
        permit.succeeded();
    }
}

/// The timeout of a command for which no event waits.
pub(super) fn background_timeout(deadline: Duration) -> Duration {
    CONNECTING.max(deadline)
}

/// Installs ring as the provider of rustls, unless the service has installed one. rustls panics without one.
#[cfg(feature = "tls")]
fn provide(address: &redis::ConnectionAddr) {
    use rustls::crypto::{CryptoProvider, ring};
    let is_tls = matches!(address, redis::ConnectionAddr::TcpTls { .. });
    if is_tls && CryptoProvider::get_default().is_none() {
        // Fails if another thread has just installed one.
        let _ = ring::default_provider().install_default();
    }
}

fn settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    #[cfg(target_os = "linux")]
    let (settings, keepalive) =
        (settings.set_user_timeout(USER_TIMEOUT), keepalive.with_interval(KEEPALIVE / 2));
    settings.set_keepalive(keepalive)
}

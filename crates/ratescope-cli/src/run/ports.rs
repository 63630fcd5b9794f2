//! The ports of the service: gRPC, HTTP, and the one for those who run it.

use super::admin::{Admin, plain};
use super::held::{CALLS, Held};
use crate::server::{self, Manner, Unfinished, Unread};
use futures_util::stream::{FuturesUnordered, StreamExt};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use ratescope_service::{Grpc, Http, NAME, Service};
use std::convert::Infallible;
use std::future::{poll_fn, ready};
use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::body::Body;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_reflection::server::Builder;

/// The most calls at once on one connection.
const STREAMS: u32 = 256;

/// The longest head of a call in bytes.
const LONGEST_HEAD: u32 = 16 << 10;

/// The bytes of bodies that a client may send before they are read.
const WINDOW: u32 = 64 << 10;

/// The longest time that the head of a request, or the beginning of a connection, may take to arrive.
const HEAD: Duration = Duration::from_secs(30);

/// The longest time from the head of a call to the head of its answer; a caller may ask for less.
const CALL: Duration = Duration::from_secs(30);

/// The first bytes of every connection of HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The answer to a client that speaks HTTP/1 to the port of gRPC.
const NOT_HERE: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\nconnection: close\r\n\
    content-type: text/plain\r\n\r\nThis port is for gRPC, which needs HTTP/2.\n";

/// The address to listen at, or `off`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port(pub(super) Option<SocketAddr>);

impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Port(None)),
            _ => text.parse().map(|address| Port(Some(address))).map_err(|_| {
                "write an address and a port, as in 127.0.0.1:8080 or [::]:8080, or off".to_owned()
            }),
        }
    }
}

/// The listeners of the service; `None` where a port is off.
pub(super) struct Ports {
    pub(super) grpc: Option<TcpListener>,
    pub(super) http: Option<TcpListener>,
    pub(super) admin: Option<TcpListener>,
    pub(super) manner: Manner,
}

impl Ports {
    /// The addresses at which it listens, as in `gRPC at 127.0.0.1:8081, HTTP at http://127.0.0.1:8080`.
    pub(super) fn say(&self) -> io::Result<String> {
        let mut said = Vec::new();
        for (name, listener) in [
            ("gRPC at ", &self.grpc),
            ("HTTP at http://", &self.http),
            ("admin at http://", &self.admin),
        ] {
            if let Some(listener) = listener {
                said.push(format!("{name}{}", listener.local_addr()?));
            }
        }
        if let Some(listener) = &self.admin {
            said.push(format!("Live at http://{}/live.html", listener.local_addr()?));
        }
        Ok(said.join(", "))
    }

    /// Serves all ports for ever. `open` watches the connections of HTTP, and the other one those of gRPC, so that they
    /// can be ended.
    pub(super) async fn serve(
        &self,
        [open, open_calls]: [&GracefulShutdown; 2],
        calls: &Calls,
        http: Http,
        admin: &Arc<Admin>,
    ) {
        let (http, admins) = (Arc::new(http), Arc::clone(admin));
        let answer = move |request: Request<Incoming>, peer: SocketAddr| {
            let (http, admin) = (Arc::clone(&http), Arc::clone(&admins));
            async move {
                match request.uri().path() {
                    "/healthcheck" => {
                        let (status, text) = admin.readiness();
                        plain(status, text)
                    }
                    _ => http.answer(request, Some(peer.ip())).await,
                }
            }
        };
        let (admin, manner) = (Arc::clone(admin), &self.manner);
        let answer_admin = move |mut request: Request<Incoming>, peer: SocketAddr| {
            request.extensions_mut().insert(peer);
            ready(admin.answer(&request))
        };
        let grpc = async {
            if let Some(listener) = &self.grpc {
                let unread = manner.unread;
                server::accept(listener, manner.warn, |stream, _, place| {
                    let (watcher, calls) = (open_calls.watcher(), calls.clone());
                    tokio::spawn(async move {
                        calls.serve(stream, unread, watcher).await;
                        drop(place);
                    });
                })
                .await;
            }
        };
        let http = async {
            if let Some(listener) = &self.http {
                let mut spoken = server::http(HEAD);
                // These answers are short, and are sent faster if head and body are copied into one buffer.
                spoken.writev(false);
                // A client that closes its half of the connection after its requests still gets the answers.
                spoken.half_close(true);
                server::accept_http(listener, open, spoken, manner.clone(), answer).await;
            }
        };
        let admin = async {
            if let Some(listener) = &self.admin {
                let spoken = server::http(HEAD);
                server::accept_http(listener, open, spoken, manner.clone(), answer_admin).await;
            }
        };
        tokio::join!(grpc, http, admin);
    }
}

/// The services of gRPC.
#[derive(Clone)]
pub(super) struct Calls {
    limits: Call,
    health: Call,
    reflection: Call,
    old_reflection: Call,
    /// Whether the program is about to end.
    ends: watch::Receiver<bool>,
}

type Call = Arc<dyn Fn(Request<Held>) -> Responding + Send + Sync>;

type Responding = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

impl Calls {
    pub(super) fn new(
        service: Arc<Service>,
        health: HealthReporter,
        ends: watch::Receiver<bool>,
    ) -> Result<Self, tonic_reflection::server::Error> {
        let described = || {
            Builder::configure()
                .register_encoded_file_descriptor_set(ratescope_service::DESCRIPTORS)
        };
        Ok(Calls {
            limits: call(Grpc::new(service)),
            health: call(HealthServer::new(HealthService::from_health_reporter(health))),
            reflection: call(described().build_v1()?),
            old_reflection: call(described().build_v1alpha()?),
            ends,
        })
    }

    /// Answers a call. `is_made` is set when the answer is made, unless it is a stream.
    async fn answer(&self, request: Request<Held>, is_made: &AtomicBool) -> Response<Body> {
        let name = request.uri().path().split('/').nth(1).unwrap_or_default();
        let is_whole = name == NAME;
        let call = match name {
            NAME => &self.limits,
            "grpc.health.v1.Health" => &self.health,
            "grpc.reflection.v1.ServerReflection" => &self.reflection,
            "grpc.reflection.v1alpha.ServerReflection" => &self.old_reflection,
            _ => return Status::unimplemented("no service of this name").into_http(),
        };
        let given = request.headers().get("grpc-timeout").and_then(|given| given.to_str().ok());
        let longest = given.and_then(time_given).map_or(CALL, |given| given.min(CALL));
        let answer = timeout(longest, call(request)).await;
        let late = |_| Status::deadline_exceeded("there was no answer in time").into_http();
        is_made.store(is_whole, Ordering::Relaxed);
        answer.unwrap_or_else(late)
    }

    /// Serves a connection until it ends. A client that does not begin with HTTP/2 is told so in HTTP/1.
    async fn serve(mut self, stream: TcpStream, unread: Duration, watcher: Watcher) {
        let (mut reader, writer) = stream.into_split();
        let mut writer = Unread::new(writer, unread);
        let mut begin = [0; PREFACE.len()];
        tokio::select! {
            begun = timeout(HEAD, reader.read_exact(&mut begin)) => {
                if !matches!(begun, Ok(Ok(_))) {
                    return;
                }
            }
            _ = self.ends.wait_for(|ends| *ends) => return,
        }
        if begin != *PREFACE {
            _ = writer.write_all(NOT_HERE).await;
            return;
        }
        let stream = tokio::io::join(Cursor::new(begin).chain(reader), writer);
        let beside = Beside { calls: Arc::default(), is_made: Arc::default(), unread };
        let calls = Arc::new((self, Arc::clone(&beside.is_made)));
        let held = Unfinished::new(&CALLS);
        let connection = http2::Builder::new(beside.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(HEAD))
            .keep_alive_timeout(HEAD)
            .max_concurrent_streams(STREAMS)
            // A proxy resets many calls at once when they take too long, which is no attack.
            .max_pending_accept_reset_streams(STREAMS as usize)
            .max_header_list_size(LONGEST_HEAD)
            // What has arrived and is not read yet.
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .serve_connection(
                TokioIo::new(stream),
                service_fn(move |request| {
                    let (calls, request) = (Arc::clone(&calls), Held::of(request, &held));
                    async move { Ok::<_, Infallible>(calls.0.answer(request, &calls.1).await) }
                }),
            );
        // An error is the client's: it has gone, or sent something else than HTTP/2.
        _ = beside.run(watcher.watch(connection)).await;
    }
}

/// Runs the calls of a connection on the task of the connection, instead of a task for each. So the answers
/// to calls that came together are written together. To write each by itself costs as much as all else.
#[derive(Clone)]
struct Beside {
    calls: Arc<Mutex<Vec<Running>>>,
    /// Whether the call that is polled has just made its answer, which remains to be sent.
    is_made: Arc<AtomicBool>,
    /// How long a client may leave no room for an answer, before the call ends. The answers to its pings go on.
    unread: Duration,
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Beside {
    fn execute(&self, call: F) {
        let (is_made, unread) = (Arc::clone(&self.is_made), self.unread);
        let call = async move {
            let (mut call, mut end) = (pin!(call), None);
            poll_fn(|context| {
                let polled = call.as_mut().poll(context);
                if is_made.swap(false, Ordering::Relaxed) && polled.is_pending() {
                    end = Some(Box::pin(sleep(unread)));
                }
                match &mut end {
                    Some(end) if polled.is_pending() => end.as_mut().poll(context),
                    _ => polled,
                }
            })
            .await;
        };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(call));
    }
}

impl Beside {
    /// Polls the connection and its calls until the connection ends.
    async fn run<T>(self, connection: impl Future<Output = T>) -> T {
        let mut connection = pin!(connection);
        let mut calls = FuturesUnordered::new();
        poll_fn(|context| {
            loop {
                if let Poll::Ready(end) = connection.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                calls.extend(self.calls.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
                let before = calls.len();
                while let Poll::Ready(Some(())) = calls.poll_next_unpin(context) {}
                // If no call has ended, there is no answer that the connection could write.
                if calls.len() == before {
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}

/// The timeout that a caller gives, as in `250m`: up to eight digits, and a unit. `None` if it is malformed.
///
/// Source: "gRPC over HTTP2", Timeout.
fn time_given(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let n = digits.parse().ok().filter(|_| is_number)?;
    match unit {
        "H" => Some(Duration::from_secs(n * 3600)),
        "M" => Some(Duration::from_secs(n * 60)),
        "S" => Some(Duration::from_secs(n)),
        "m" => Some(Duration::from_millis(n)),
        "u" => Some(Duration::from_micros(n)),
        "n" => Some(Duration::from_nanos(n)),
        _ => None,
    }
}

/// A service as a closure. It is not asked whether it is ready, since these services always are.
fn call<S>(service: S) -> Call
where
    S: tower_service::Service<Request<Held>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    Arc::new(move |request| {
        let answer = service.clone().call(request);
        Box::pin(async {
            let Ok(answer) = answer.await;
            answer
        })
    })
}

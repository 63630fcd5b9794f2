//! The ports of the service: gRPC, HTTP, and the one for those who run it.

use super::admin::{Admin, plain};
use super::budgeted_answer::{self, ANSWER, ANSWERS, BudgetedAnswer, QUOTAS};
use super::budgeted_body::{BudgetedBody, GRPC};
use super::spans;
use super::tls::Tls;
use crate::server::{self, AcceptTls, Reservation, Settings, Stream};
use futures_util::stream::{FuturesUnordered, StreamExt};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use ratescope_service::{Grpc, Http, NAME, QUOTA_NAME, Service};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink, split};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_reflection::server::Builder;
use tower_service::Service as _;

/// The most calls at once on one connection.
const STREAMS: u32 = 256;

/// The longest head of a call in bytes.
const LONGEST_HEAD: u32 = 16 << 10;

/// The bytes of bodies that a client may send before they are read.
const WINDOW: u32 = 64 << 10;

/// The timeout of the head of a request, or of the beginning of a connection.
const HEAD: Duration = Duration::from_secs(30);

/// The timeout from the head of a call to the head of its answer; a caller may ask for less.
const CALL: Duration = Duration::from_secs(30);

/// How long to wait for a client that speaks HTTP/1 to the port of gRPC to close its connection.
const GOODBYE: Duration = Duration::from_secs(1);

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

/// The listeners of the service; `None` for a port that is off.
pub(super) struct Ports {
    pub(super) grpc: Option<TcpListener>,
    pub(super) http: Option<TcpListener>,
    pub(super) admin: Option<TcpListener>,
    pub(super) settings: Settings,
    /// The room for connections of the admin port.
    pub(super) operators: Arc<Semaphore>,
    /// The TLS of gRPC and HTTP.
    pub(super) tls: Option<Arc<Tls>>,
    /// The admin port has it, too.
    pub(super) is_admin_tls: bool,
}

impl Ports {
    /// The addresses at which it listens, as in `gRPC at 127.0.0.1:8081, HTTP at http://127.0.0.1:8080`.
    pub(super) fn addresses(&self) -> io::Result<String> {
        let mut addresses = Vec::new();
        let scheme = if self.is_admin_tls { "https" } else { "http" };
        for (name, listener) in [
            ("gRPC at ", &self.grpc),
            (if self.tls.is_some() { "HTTP at https://" } else { "HTTP at http://" }, &self.http),
            (&*format!("admin at {scheme}://"), &self.admin),
        ] {
            if let Some(listener) = listener {
                addresses.push(format!("{name}{}", listener.local_addr()?));
            }
        }
        if let Some(listener) = &self.admin {
            addresses.push(format!("Live at {scheme}://{}/live.html", listener.local_addr()?));
        }
        Ok(addresses.join(", "))
    }

    /// Serves all ports for ever. `open_http` and `open_grpc` watch their connections, so that they can be ended.
    pub(super) async fn serve(
        &self,
        open_http: &GracefulShutdown,
        open_grpc: &GracefulShutdown,
        calls: &Calls,
        http: Http,
        admin: &Arc<Admin>,
    ) {
        tokio::join!(
            self.serve_grpc(open_grpc, calls),
            self.serve_http(open_http, http, admin),
            self.serve_admin(open_http, admin)
        );
    }

    async fn serve_grpc(&self, open: &GracefulShutdown, calls: &Calls) {
        let Some(listener) = &self.grpc else { return };
        let unread = self.settings.unread;
        server::accept(listener, &self.settings, |stream, _, permit| {
            let watcher = open.watcher();
            let calls = calls.clone();
            let acceptor = self.tls.as_ref().map(|tls| tls.grpc());
            tokio::spawn(async move {
                if let Some(stream) = server::open(stream, acceptor).await {
                    calls.serve(stream, unread, watcher).await;
                }
                drop(permit);
            });
        })
        .await;
    }

    async fn serve_http(&self, open: &GracefulShutdown, http: Http, admin: &Arc<Admin>) {
        let Some(listener) = &self.http else { return };
        let mut protocol = server::http(HEAD);
        // These answers are short, and copying head and body into one buffer is faster.
        protocol.writev(false);
        // A client that closes its half of the connection after its requests still gets its answers.
        protocol.half_close(true);
        let http = Arc::new(http);
        let admin = Arc::clone(admin);
        let answer = move |request: Request<Incoming>, peer: SocketAddr| {
            let http = Arc::clone(&http);
            let admin = Arc::clone(&admin);
            async move {
                if request.uri().path() == "/healthcheck" {
                    let (status, text) = admin.healthcheck();
                    return plain(status, text);
                }
                let parent = spans::parent(request.headers());
                spans::within(parent, http.answer(request, Some(peer.ip()))).await
            }
        };
        let tls = self.tls.clone().map(|tls| -> AcceptTls { Arc::new(move || tls.http()) });
        let settings = Settings { tls, ..self.settings.clone() };
        server::accept_http(listener, open, protocol, settings, answer).await;
    }

    async fn serve_admin(&self, open: &GracefulShutdown, admin: &Arc<Admin>) {
        let Some(listener) = &self.admin else { return };
        let admin = Arc::clone(admin);
        let answer = move |mut request: Request<Incoming>, peer: SocketAddr| {
            request.extensions_mut().insert(peer);
            let admin = Arc::clone(&admin);
            // Nothing here has a body.
            let request = request.map(drop);
            async move { admin.answer(&request).await }
        };
        let tls = self.tls.clone().filter(|_| self.is_admin_tls);
        let tls = tls.map(|tls| -> AcceptTls { Arc::new(move || tls.admin()) });
        let room = Arc::clone(&self.operators);
        let settings = Settings { room, tls, ..self.settings.clone() };
        server::accept_http(listener, open, server::http(HEAD), settings, answer).await;
    }
}

/// The services of gRPC.
#[derive(Clone)]
pub(super) struct Calls {
    limits: Grpc,
    /// Health and reflection.
    others: Routes,
    /// Turns `true` when the program is about to end.
    ends: watch::Receiver<bool>,
}

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
        let others = Routes::new(HealthServer::new(HealthService::from_health_reporter(health)))
            .add_service(described().build_v1()?)
            .add_service(described().build_v1alpha()?);
        Ok(Calls { limits: Grpc::new(service), others, ends })
    }

    /// Answers a call. Sets `is_answered` when the answer is made, unless it may be a stream.
    async fn answer(
        &self,
        request: Request<BudgetedBody>,
        is_answered: &AtomicBool,
    ) -> Response<Body> {
        let timeout_header = request.headers().get("grpc-timeout").and_then(|h| h.to_str().ok());
        let longest = timeout_header.and_then(parse_timeout).map_or(CALL, |asked| asked.min(CALL));
        let is_limits = is_of(NAME, &request);
        let answer = if is_limits || is_of(QUOTA_NAME, &request) {
            let parent = spans::parent(request.headers());
            let call = self.limits.clone().call(request);
            timeout(longest, spans::within(parent, call)).await
        } else {
            timeout(longest, self.others.clone().call(request.map(Body::new))).await
        };
        is_answered.store(is_limits, Ordering::Relaxed);
        match answer {
            Ok(Ok(answer)) => answer,
            Err(_) => Status::deadline_exceeded("there was no answer in time").into_http(),
        }
    }

    /// Serves a connection until it ends. A client that does not begin with HTTP/2 gets an error in HTTP/1.
    ///
    /// `hyper_util::server::conn::auto` also tells the two apart, but buffers the head of a request of HTTP/1, and
    /// waits for the first bytes for ever.
    async fn serve(mut self, stream: Stream, unread: Duration, watcher: Watcher) {
        let (mut reader, half) = split(stream);
        let mut writer = server::writer(half, unread);
        let mut start = [0; PREFACE.len()];
        tokio::select! {
            read = timeout(HEAD, reader.read_exact(&mut start)) => {
                if !matches!(read, Ok(Ok(_))) {
                    return;
                }
            }
            _ = self.ends.wait_for(|ends| *ends) => return,
        }
        if start != *PREFACE {
            _ = writer.write_all(NOT_HERE).await;
            _ = writer.shutdown().await;
            // A connection that is closed while something is unread is reset, and the answer may be lost.
            let mut rest = reader.take(WINDOW.into());
            _ = timeout(GOODBYE, copy(&mut rest, &mut sink())).await;
            return;
        }
        let stream = tokio::io::join(Cursor::new(start).chain(reader), Gathering(writer));
        let executor = ConnectionExecutor::new(unread);
        let is_answered = Arc::clone(&executor.is_answered);
        let of_calls = Reservation::new(&GRPC);
        let of_answers = Reservation::new(&ANSWERS);
        let of_streams = Reservation::new(&budgeted_answer::STREAMS);
        let calls = Arc::new(self);
        let service = service_fn(move |request| {
            let is_quotas = is_of(QUOTA_NAME, &request);
            let request = BudgetedBody::wrap(request, &of_calls, is_quotas);
            let calls = Arc::clone(&calls);
            let reservation = if is_of(NAME, &request) { &of_answers } else { &of_streams };
            let reservation = Arc::clone(reservation);
            let bytes = if is_quotas { QUOTAS } else { ANSWER };
            let is_answered = Arc::clone(&is_answered);
            async move {
                let answer = calls.answer(request, &is_answered).await;
                Ok::<_, Infallible>(BudgetedAnswer::wrap(answer, &reservation, bytes))
            }
        });
        let connection = http2::Builder::new(executor.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(HEAD))
            .keep_alive_timeout(HEAD)
            .max_concurrent_streams(STREAMS)
            // When calls take too long, a proxy resets many at once, which is no attack.
            .max_pending_accept_reset_streams(STREAMS as usize)
            .max_header_list_size(LONGEST_HEAD)
            // Bounds the bytes that have arrived and are unread.
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .serve_connection(TokioIo::new(stream), service);
        // An error is the client's: it hung up, or did not send HTTP/2.
        _ = executor.run(watcher.watch(connection)).await;
    }
}

/// Runs the calls of a connection on the connection's task, instead of a task for each. So the answers to calls that
/// came together are written together: writing each alone would double the cost. It also ends a call whose client
/// leaves no flow control window for the answer; the executor of a server such as tonic's would hold it for ever.
#[derive(Clone)]
struct ConnectionExecutor {
    /// The calls that the connection has begun since it was last polled.
    new: Arc<Mutex<Vec<BoxedCall>>>,
    /// The call that is polled has made its answer, which is not sent yet.
    is_answered: Arc<AtomicBool>,
    /// How long a client may leave no flow control window for an answer. Its pings are still answered.
    unread: Duration,
}

type BoxedCall = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for ConnectionExecutor {
    fn execute(&self, call: F) {
        let is_answered = Arc::clone(&self.is_answered);
        let unread = self.unread;
        let bounded = async move {
            let mut call = pin!(call);
            let mut end = None;
            poll_fn(|context| {
                if call.as_mut().poll(context).is_ready() {
                    is_answered.store(false, Ordering::Relaxed);
                    return Poll::Ready(());
                }
                if is_answered.swap(false, Ordering::Relaxed) {
                    end = Some(Box::pin(sleep(unread)));
                }
                match &mut end {
                    Some(end) => end.as_mut().poll(context),
                    None => Poll::Pending,
                }
            })
            .await;
        };
        self.new.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(bounded));
    }
}

impl ConnectionExecutor {
    fn new(unread: Duration) -> Self {
        ConnectionExecutor { new: Arc::default(), is_answered: Arc::default(), unread }
    }

    /// Polls the connection and its calls until the connection ends.
    async fn run<T>(self, connection: impl Future<Output = T>) -> T {
        let mut connection = pin!(connection);
        let mut calls = FuturesUnordered::new();
        poll_fn(|context| {
            loop {
                if let Poll::Ready(end) = connection.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                calls.extend(self.new.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
                let before = calls.len();
                while let Poll::Ready(Some(())) = calls.poll_next_unpin(context) {}
                // If no call has ended, the connection has no answer to write.
                if calls.len() == before {
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}

/// A writer that takes one buffer at a time. So h2 copies the frames of many answers into one. Beside a writer of several
/// buffers it copies only frames below 256 bytes, and writes each longer answer by itself.
struct Gathering<W>(W);

impl<W: AsyncWrite + Unpin> AsyncWrite for Gathering<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// True if a call is to the service of this name.
fn is_of<B>(name: &str, request: &Request<B>) -> bool {
    request.uri().path().split('/').nth(1) == Some(name)
}

/// The timeout that a caller gives, as in `250m`: up to eight digits, and a unit. `None` if it is malformed.
///
/// Source: "gRPC over HTTP2", Timeout.
fn parse_timeout(text: &str) -> Option<Duration> {
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

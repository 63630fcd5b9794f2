//! Connections, and their end: a client that never finishes its request, or never reads the answer,
//! must neither keep the program alive nor keep others from being served.

mod budget;

use crate::terminal::Visible;
pub(crate) use budget::{Budget, Reservation};
use budget::{BudgetedReader, HTTP};
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{WriteHalf, join, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// The most connections of a listener at once. More wait until others end.
const MOST: usize = 16_384;

/// The timeout of the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The timeout of the head of a request to the page.
pub(crate) const HEAD: Duration = Duration::from_secs(5);

/// The usual time for which a client may read nothing of an answer.
pub(crate) const UNREAD: Duration = Duration::from_secs(30);

/// The longest head of a request in bytes: a proxy passes on the headers of its clients.
const LONGEST_HEAD: usize = 64 << 10;

/// The pause after a connection could not be accepted, usually for lack of file handles.
const PAUSE: Duration = Duration::from_millis(100);

/// The time between two warnings about this.
const WARNED: Duration = Duration::from_secs(60);

/// How often to check whether all connections have ended by themselves.
const LOOK: Duration = Duration::from_millis(20);

/// The file handles that connections leave to the rest of the program: to rule files, Redis and listeners.
const KEPT: usize = 32;

/// The settings of a server for all of its connections.
#[derive(Clone)]
pub(crate) struct Settings {
    /// How long a client may read nothing of an answer.
    pub(crate) unread: Duration,
    /// The server is about to end, so that an answer is the last of its connection.
    pub(crate) is_ending: Arc<AtomicBool>,
    /// How many connections there may be, of all servers that share this.
    pub(crate) room: Arc<Semaphore>,
    /// Makes the TLS of a connection; `None` without TLS.
    pub(crate) tls: Option<AcceptTls>,
    /// Writes to the log.
    pub(crate) warn: fn(&str),
}

/// The TLS for the next connection.
pub(crate) type AcceptTls = Arc<dyn Fn() -> TlsAcceptor + Send + Sync>;

impl Settings {
    /// With this `room`, and the usual time for a client that reads nothing.
    pub(crate) fn new(room: Arc<Semaphore>, warn: fn(&str)) -> Self {
        Settings { unread: UNREAD, is_ending: Arc::default(), room, tls: None, warn }
    }
}

/// The room for connections of anybody, and that of operators. Together they leave [`KEPT`] file handles, or half of
/// them if there are few, so strangers who hold all connections keep neither rules from being read again nor operators
/// from looking. The soft limit of file handles is first raised to the hard one.
pub(crate) fn rooms() -> [Arc<Semaphore>; 2] {
    let handles = handles();
    let free = handles.saturating_sub(KEPT).max(handles / 2);
    let operators = (free / 8).clamp(1, MOST);
    [free.saturating_sub(operators).clamp(1, 2 * MOST), operators]
        .map(|room| Arc::new(Semaphore::new(room)))
}

/// How many file handles the program may have.
fn handles() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // Fails if the hard limit is more than the kernel allows, and the soft limit then stays.
        _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let current = getrlimit(Resource::Nofile).current;
        current.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    usize::MAX
}

/// The place of an open connection.
pub(crate) struct Permit {
    _of_listener: OwnedSemaphorePermit,
    _in_room: OwnedSemaphorePermit,
}

/// Listens at an address; `option` is the argument that chooses it.
pub(crate) async fn listen(address: SocketAddr, option: &str) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AddrInUse => "it is in use".to_owned(),
            _ => error.to_string(),
        };
        format!("cannot listen on {address}: {reason}; choose another with {option}")
    })
}

/// Prints where a server listens. If it can't be printed, as on a full disk or a closed pipe, `warn` logs it, and the
/// server goes on.
pub(crate) fn announce(lines: &str, warn: fn(&str)) {
    if let Err(error) = writeln!(Visible(io::stdout()), "{lines}") {
        warn(&format!("standard output can't be written: {error}; {lines}"));
    }
}

/// Accepts connections for ever, and passes each to `serve` with a permit. The connection counts as open until `serve`
/// drops the permit. If no connection can be accepted, this is logged once a minute.
pub(crate) async fn accept(
    listener: &TcpListener,
    settings: &Settings,
    mut serve: impl FnMut(TcpStream, SocketAddr, Permit),
) {
    let permits = Arc::new(Semaphore::new(MOST));
    let mut warned: Option<Instant> = None;
    let mut warn = |why: &dyn Display| {
        if warned.is_none_or(|warned| warned.elapsed() >= WARNED) {
            warned = Some(Instant::now());
            (settings.warn)(&format!(
                "no connection can be accepted: {why}; more file handles are allowed by ulimit -n, or LimitNOFILE in \
                 a unit"
            ));
        }
    };
    loop {
        // The semaphores are never closed.
        let Ok(of_listener) = Arc::clone(&permits).acquire_owned().await else { return };
        if settings.room.available_permits() == 0 {
            warn(&"there are as many as the limit of file handles allows");
        }
        let Ok(in_room) = Arc::clone(&settings.room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without this the kernel may delay an answer until the client acknowledges the one before.
                _ = stream.set_nodelay(true);
                let permit = Permit { _of_listener: of_listener, _in_room: in_room };
                serve(stream, peer, permit);
            }
            // The client hung up.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => {
                warn(&error);
                sleep(PAUSE).await;
            }
        }
    }
}

/// A connection of a client, without or with TLS.
pub(crate) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The connection, after the handshake if there is an `acceptor`. `None` if the client does not complete it.
pub(crate) async fn open(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> Option<Stream> {
    let Some(acceptor) = acceptor else { return Some(Either::Left(stream)) };
    let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await.ok()?.ok()?;
    Some(Either::Right(Box::new(stream)))
}

/// The writing half of a connection, which fails when the client has read nothing for `unread`: otherwise a client that
/// does not read would hold its connection for ever.
pub(crate) fn writer(
    half: WriteHalf<Stream>,
    unread: Duration,
) -> Pin<Box<TimeoutWriter<WriteHalf<Stream>>>> {
    let mut writer = TimeoutWriter::new(half);
    // The crate adds it to the present time; a timeout that overflows counts as none.
    writer.set_timeout(Some(unread).filter(|unread| Instant::now().checked_add(*unread).is_some()));
    Box::pin(writer)
}

/// The settings of HTTP/1. The head of each request on a connection has to arrive within `head`.
pub(crate) fn http(head: Duration) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(LONGEST_HEAD);
    http
}

/// Accepts connections of HTTP/1 for ever, and answers their requests by `answer`, which gets the client's address.
/// `open` watches the connections, so that [`end`] can end them.
pub(crate) async fn accept_http<A, F, B>(
    listener: &TcpListener,
    open: &GracefulShutdown,
    http: http1::Builder,
    settings: Settings,
    answer: A,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    accept(listener, &settings, |stream, peer, permit| {
        let reservation = Reservation::new(&HTTP);
        let of_reader = Arc::clone(&reservation);
        let answer = answer.clone();
        let is_ending = Arc::clone(&settings.is_ending);
        let service = service_fn(move |request| {
            let response = answer(request, peer);
            let reservation = Arc::clone(&reservation);
            let is_ending = Arc::clone(&is_ending);
            async move {
                let mut response = response.await;
                reservation.release_all();
                if is_ending.load(Ordering::Relaxed) {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let watcher = open.watcher();
        let http = http.clone();
        let unread = settings.unread;
        let acceptor = settings.tls.as_ref().map(|tls| tls());
        tokio::spawn(async move {
            if let Some(stream) = self::open(stream, acceptor).await {
                let (reader, half) = split(stream);
                let reader = BudgetedReader { reader, reservation: of_reader };
                let stream = TokioIo::new(join(reader, writer(half, unread)));
                // An error is the client's: it hung up, or did not send HTTP.
                _ = watcher.watch(http.serve_connection(stream, service)).await;
            }
            drop(permit);
        });
    })
    .await;
}

/// Ends the connections in `open`: idle ones after `linger`, the others when their request is answered. Returns when
/// all of these and `others` have ended, after `drain`, or at the next `signal`, whichever comes first.
///
/// A connection between two requests is idle, even while its next request is on the way, which would be lost. So
/// answers say `Connection: close` before, and a busy client ends its connections itself within `linger`.
pub(crate) async fn end(
    open: GracefulShutdown,
    linger: Duration,
    others: impl Future<Output = ()>,
    drain: Duration,
    mut signal: impl AsyncFnMut(),
) {
    let ended = async {
        let all_have_ended = async {
            while open.count() > 0 {
                sleep(LOOK).await;
            }
        };
        _ = timeout(linger.min(drain / 2), all_have_ended).await;
        open.shutdown().await;
    };
    tokio::select! {
        _ = timeout(drain, async { tokio::join!(ended, others) }) => {}
        () = signal() => {}
    }
}

/// Catches Ctrl-C and requests to end the program (SIGTERM), from now on. Returns a function: each call waits for the
/// next signal, which may have come before the call.
///
/// A terminal that closes (SIGHUP) ends the program, too. If the input is not a terminal, it does not: under `nohup` the
/// program should go on, and elsewhere the signal asks to read files again.
pub(crate) fn catch_signals() -> io::Result<impl AsyncFnMut()> {
    #[cfg(unix)]
    use signal::unix::{SignalKind, signal};
    #[cfg(unix)]
    let mut interrupt = signal(SignalKind::interrupt())?;
    #[cfg(unix)]
    let mut terminate = signal(SignalKind::terminate())?;
    #[cfg(unix)]
    let mut hangup = signal(SignalKind::hangup())?;
    #[cfg(windows)]
    let mut interrupt = signal::windows::ctrl_c()?;
    #[cfg(windows)]
    let mut terminate = signal::windows::ctrl_break()?;
    #[cfg(windows)]
    let mut hangup = signal::windows::ctrl_close()?;
    let hangup_ends = cfg!(windows) || io::stdin().is_terminal();
    Ok(async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv(), if hangup_ends => {}
        }
    })
}

/// Catches SIGHUP from now on. Returns a function: each call waits for the next one.
pub(crate) fn catch_hangups() -> io::Result<impl AsyncFnMut()> {
    #[cfg(unix)]
    let mut hangup = signal::unix::signal(signal::unix::SignalKind::hangup())?;
    Ok(async move || {
        #[cfg(unix)]
        let is_over = hangup.recv().await.is_none();
        #[cfg(not(unix))]
        let is_over = true;
        if is_over {
            std::future::pending::<()>().await;
        }
    })
}

//! Connections, and their end: a client that never finishes its request, or never reads the answer,
//! must neither keep the program alive nor keep others from being served.

mod unfinished;
mod unread;

use crate::terminal::Visible;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::join;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use unfinished::{HTTP, Holding};
pub(crate) use unfinished::{Sum, Unfinished};
pub(crate) use unread::Unread;

/// The most connections of a listener at once. More wait until others end.
const MOST: usize = 16_384;

/// The longest time that the head of a request to the page may take to arrive.
pub(crate) const HEAD: Duration = Duration::from_secs(5);

/// The usual time for which a client may read nothing of an answer.
pub(crate) const UNREAD: Duration = Duration::from_secs(30);

/// The longest head of a request in bytes: a proxy passes on those of its clients.
const LONGEST_HEAD: usize = 64 << 10;

/// The pause after a connection could not be accepted, usually for lack of file handles.
const PAUSE: Duration = Duration::from_millis(100);

/// The time from one warning about that to the next.
const WARNED: Duration = Duration::from_secs(60);

/// How often to look whether all connections have ended by themselves.
const LOOK: Duration = Duration::from_millis(20);

/// How a server treats its connections.
#[derive(Clone)]
pub(crate) struct Manner {
    /// How long a client may read nothing of an answer.
    pub(crate) unread: Duration,
    /// Whether the server is about to end, so that an answer is the last one of its connection.
    pub(crate) is_ending: Arc<AtomicBool>,
    /// Tells of what an operator should know.
    pub(crate) warn: fn(&str),
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

/// Prints where a server listens. If that can't be printed, as on a full disk or where nobody reads any more,
/// `instead` says it: that ends no server.
pub(crate) fn announce(lines: &str, instead: impl FnOnce(&str)) {
    if let Err(error) = writeln!(Visible(io::stdout()), "{lines}") {
        instead(&format!("standard output can't be written: {error}; {lines}"));
    }
}

/// Accepts connections for ever, and hands each to `serve` with a permit. The connection counts as open until
/// `serve` drops the permit. If none can be accepted, `warn` tells of it once a minute.
pub(crate) async fn accept(
    listener: &TcpListener,
    warn: fn(&str),
    mut serve: impl FnMut(TcpStream, SocketAddr, OwnedSemaphorePermit),
) {
    let places = Arc::new(Semaphore::new(MOST));
    let mut warned: Option<Instant> = None;
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without this the kernel may hold an answer back until the client confirms the one before.
                _ = stream.set_nodelay(true);
                serve(stream, peer, place);
            }
            // The client has gone again.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if warned.is_none_or(|warned| warned.elapsed() >= WARNED) {
                    warned = Some(Instant::now());
                    warn(&format!(
                        "no connection can be accepted: {error}; too few file handles are raised by ulimit -n, or \
                         LimitNOFILE in a unit"
                    ));
                }
                sleep(PAUSE).await;
            }
        }
    }
}

/// The settings of HTTP/1. The head of a request has to arrive within `head`, also the head of a later request on the
/// same connection.
pub(crate) fn http(head: Duration) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(LONGEST_HEAD);
    http
}

/// Accepts connections of HTTP/1 for ever, and answers their requests by `answer`, which is given the address
/// of the client. `open` watches the connections, so that [`end`] can end them.
pub(crate) async fn accept_http<A, F, B>(
    listener: &TcpListener,
    open: &GracefulShutdown,
    http: http1::Builder,
    manner: Manner,
    answer: A,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    accept(listener, manner.warn, |stream, peer, place| {
        let (answer, by) = (answer.clone(), Unfinished::new(&HTTP));
        let (held, is_ending) = (Arc::clone(&by), Arc::clone(&manner.is_ending));
        let answer = move |request| {
            let response = answer(request, peer);
            let (held, is_ending) = (Arc::clone(&held), Arc::clone(&is_ending));
            async move {
                let mut response = response.await;
                held.clear();
                if is_ending.load(Ordering::Relaxed) {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        };
        let (stream, writer) = stream.into_split();
        let stream = join(Holding { stream, by }, Unread::new(writer, manner.unread));
        let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
        // An error is the client's: it has gone, or sent something else than HTTP.
        let connection = open.watch(connection);
        tokio::spawn(async move {
            _ = connection.await;
            drop(place);
        });
    })
    .await;
}

/// Ends the connections in `open`: idle ones after `linger`, the others when their request is answered. Returns when
/// all and `others` have ended, after `drain` or at the next `signal`, whichever comes first.
///
/// A connection between two requests is idle, also while the next one is under way, which would be lost. So answers say
/// `Connection: close` from before, and whoever sends requests all the time ends its connections itself within `linger`.
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

/// Catches Ctrl-C and requests to end the program (SIGTERM), from now on. Returns a function: each call waits
/// for the next signal. A signal that comes while nobody waits is kept for the next call.
///
/// A terminal that closes (SIGHUP) ends the program, too. A program whose input is no terminal goes on: under
/// `nohup` it is meant to, and elsewhere the signal asks to read files again, as the program does by itself.
pub(crate) fn catch_signals() -> io::Result<impl AsyncFnMut()> {
    #[cfg(unix)]
    let (mut pressed, mut asked, mut closed) = {
        use signal::unix::{SignalKind, signal};
        let [pressed, asked, closed] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        (pressed?, asked?, closed?)
    };
    #[cfg(windows)]
    let (mut pressed, mut asked, mut closed) = {
        use signal::windows::{ctrl_break, ctrl_c, ctrl_close};
        (ctrl_c()?, ctrl_break()?, ctrl_close()?)
    };
    let ends = cfg!(windows) || io::stdin().is_terminal();
    Ok(async move || {
        tokio::select! {
            _ = pressed.recv() => {}
            _ = asked.recv() => {}
            _ = closed.recv(), if ends => {}
        }
    })
}

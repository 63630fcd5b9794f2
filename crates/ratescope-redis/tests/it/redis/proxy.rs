//! A hostile peer: it stands between a store and a real Redis and forwards, falls silent, holds
//! answers back, cuts them, or replaces them.

#![allow(dead_code)] // Each test file uses its part.

use super::server::Server;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A proxy on a thread of its own, so that it goes on while a test blocks. It ends with the test.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
    _stop: oneshot::Sender<()>,
}

#[derive(Default)]
struct State {
    /// The port of the real server.
    target: AtomicU16,
    /// The number of connections so far; each takes the next number.
    connections: AtomicU32,
    /// Connections with lower numbers forward nothing.
    silent: AtomicU32,
    /// How long each answer takes besides, in microseconds.
    delay: AtomicU64,
    tricks: Mutex<VecDeque<Trick>>,
}

/// The proxy's way with one answer of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trick {
    /// It passes.
    Forward,
    /// It comes later.
    Delay(Duration),
    /// Only its first bytes come, and then the connection ends.
    Cut(usize),
    /// Something else comes in its place.
    Replace(&'static str),
    /// Nothing comes any more on this connection.
    Silence,
}

impl Proxy {
    /// A proxy that forwards to nobody until [`to`](Self::to) says to whom.
    pub(crate) fn start() -> Proxy {
        let (state, (stop, stopped)) = (Arc::<State>::default(), oneshot::channel());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(&listener, &shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Proxy { port, state, _stop: stop }
    }

    pub(crate) fn before(server: &Server) -> Proxy {
        let proxy = Proxy::start();
        proxy.to(server);
        proxy
    }

    pub(crate) fn to(&self, server: &Server) {
        self.state.target.store(server.port, Ordering::SeqCst);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on, the connections there are forward nothing. New ones are served.
    pub(crate) fn silence(&self) {
        self.state.silent.store(self.connections(), Ordering::SeqCst);
    }

    /// From now on, no connection forwards anything, until [`heal`](Self::heal).
    pub(crate) fn part(&self) {
        self.state.silent.store(u32::MAX, Ordering::SeqCst);
    }

    /// New connections are served again. Those that were parted stay silent.
    pub(crate) fn heal(&self) {
        self.silence();
    }

    /// From now on, each answer takes so much longer.
    pub(crate) fn delay(&self, by: Duration) {
        self.state.delay.store(u64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> u32 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Does these things to the next answers, one each.
    pub(crate) fn play(&self, tricks: impl IntoIterator<Item = Trick>) {
        self.state.tricks.lock().unwrap().extend(tricks);
    }
}

async fn accept(listener: &TcpListener, state: &Arc<State>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        let number = state.connections.fetch_add(1, Ordering::SeqCst);
        let state = Arc::clone(state);
        tokio::spawn(async move {
            let target = state.target.load(Ordering::SeqCst);
            let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            let is_silent = || number < state.silent.load(Ordering::SeqCst);
            tokio::select! {
                _ = forward(from_client, to_server, is_silent, || Trick::Forward) => {}
                _ = forward(from_server, to_client, is_silent, || {
                    let delay = Duration::from_micros(state.delay.load(Ordering::SeqCst));
                    let usual = if delay.is_zero() { Trick::Forward } else { Trick::Delay(delay) };
                    state.tricks.lock().unwrap().pop_front().unwrap_or(usual)
                }) => {}
            }
        });
    }
}

/// Forwards the bytes that come, each time with its trick, until either end closes.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    is_silent: impl Fn() -> bool,
    trick: impl Fn() -> Trick,
) -> std::io::Result<()> {
    let (mut some, mut silent) = (vec![0; 65_536], false);
    loop {
        let read = from.read(&mut some).await?;
        if read == 0 {
            return Ok(());
        }
        if silent || is_silent() {
            continue;
        }
        match trick() {
            Trick::Forward => to.write_all(&some[..read]).await?,
            Trick::Delay(time) => {
                tokio::time::sleep(time).await;
                to.write_all(&some[..read]).await?;
            }
            Trick::Cut(bytes) => return to.write_all(&some[..read.min(bytes)]).await,
            Trick::Replace(text) => to.write_all(text.as_bytes()).await?,
            Trick::Silence => silent = true,
        }
    }
}

//! Connections, and their end: a client that never finishes its request, or never reads the answer,
//! must not keep the program alive.

use super::site::Site;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::io;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal;
use tokio::time::{sleep, timeout};

/// The longest time in which the head of a request has to arrive.
const HEAD: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted, for want of file handles.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves the site until `ctrl_c`, and then what was asked before, for the time of `drain` or until the
/// next Ctrl-C.
pub(super) async fn serve(
    listener: TcpListener,
    site: Site,
    drain: Duration,
    mut ctrl_c: impl AsyncFnMut(),
) {
    let open = GracefulShutdown::new();
    tokio::select! {
        () = accept(&listener, &site, &open) => {}
        () = ctrl_c() => {}
    }
    drop(listener);
    tokio::select! {
        _ = timeout(drain, open.shutdown()) => {}
        () = ctrl_c() => {}
    }
}

async fn accept(listener: &TcpListener, site: &Site, open: &GracefulShutdown) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let site = site.clone();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), service_fn(move |r| site.clone().answer(r)));
        // An error is the client's: it has gone, or sent something else than HTTP.
        let connection = open.watch(connection);
        tokio::spawn(async move { _ = connection.await });
    }
}

/// Catches Ctrl-C from now on, also while nobody waits for it: each call of the result waits for one.
pub(super) fn catch_ctrl_c() -> io::Result<impl AsyncFnMut()> {
    #[cfg(unix)]
    let mut pressed = signal::unix::signal(signal::unix::SignalKind::interrupt())?;
    #[cfg(windows)]
    let mut pressed = signal::windows::ctrl_c()?;
    Ok(async move || _ = pressed.recv().await)
}

//! The options that connections set in the system.

use super::faults::{RULES, ask, options};
use super::server::Server;
use super::{open, rules};
use ratescope_redis::redis::io::tcp::socket2::SockRef;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The socket of this process that is connected to a port; `None` in a container that forbids to copy it.
fn socket(port: u16) -> Option<OwnedFd> {
    let process = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = files.filter_map(|file| file.unwrap().file_name().to_str()?.parse().ok());
    let copy = |number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok();
    let leads_there = |file: &OwnedFd| {
        let peer = SockRef::from(file).peer_addr();
        peer.is_ok_and(|peer| peer.as_socket().is_some_and(|peer| peer.port() == port))
    };
    numbers.filter_map(copy).find(leads_there)
}

/// It asks an idle peer whether it is still there, and gives up a connection on which nothing arrives.
#[tokio::test]
async fn a_peer_that_is_gone_is_noticed_without_any_calls() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    let Some(file) = socket(server.port) else {
        assert!(std::env::var_os("CI").is_none(), "in CI sockets can be copied");
        return eprintln!("no copy of a socket: passed over");
    };
    let socket = SockRef::from(&file);
    assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(10));
    assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(5));
    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(20)));
}

//! Ports that a test holds: nobody else on this machine is given one meanwhile.
#![allow(dead_code)] // Each test file uses its part.

use std::fmt::{self, Display};
use std::net::Ipv4Addr;
use tokio::net::TcpSocket;

/// A port at which nobody listens unless the test starts a server there, with `SO_REUSEADDR` as servers do. A port that
/// was free and is let go may be the next that another test is given.
pub(crate) struct Port {
    pub(crate) number: u16,
    _held: [TcpSocket; 2],
}

impl Port {
    /// A node of a cluster needs the one that is 10,000 above, too: before Redis 7 it can't be told another.
    pub(crate) fn hold() -> Self {
        let pair = || {
            let low = bound(0)?;
            let number = low.local_addr().ok()?.port();
            let high = bound(number.checked_add(10_000)?)?;
            Some(Port { number, _held: [low, high] })
        };
        (0..1000).find_map(|_| pair()).expect("two free ports")
    }
}

impl Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "127.0.0.1:{}", self.number)
    }
}

/// A socket with this port, or with any that is free for 0; `None` if another socket has it. It does not listen, so a
/// connection to it is refused.
fn bound(port: u16) -> Option<TcpSocket> {
    let socket = TcpSocket::new_v4().unwrap();
    // Set before, this would share the port with who else holds it.
    socket.set_reuseaddr(false).unwrap();
    socket.bind((Ipv4Addr::UNSPECIFIED, port).into()).ok()?;
    // From now on a server that sets it, too, can have the port.
    socket.set_reuseaddr(true).unwrap();
    Some(socket)
}

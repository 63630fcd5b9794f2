//! A master and its replica that sentinels watch, as a value that ends with the test.

#![allow(dead_code)] // Each test file uses its part.

use super::server::{Server, wait_until};
use std::time::Duration;

/// The name by which the sentinels know the master.
const NAME: &str = "main-1";

pub(crate) struct Watched {
    /// The first is the master at the beginning.
    pub(crate) servers: [Server; 2],
    pub(crate) sentinels: Vec<Server>,
}

impl Watched {
    /// Watched by this many sentinels, which let the replica take over when most of them have not heard of
    /// the master for this long.
    pub(crate) fn start(sentinels: usize, silence: Duration) -> Option<Watched> {
        let master = Server::start(&["--repl-diskless-sync-delay", "0"])?;
        let port = master.port.to_string();
        let replica = Server::start(&["--replicaof", "127.0.0.1", &port])?;
        wait_until("the replica follows", || {
            replica.info("replication").contains("link_status:up")
        });
        let (quorum, silence) = (sentinels / 2 + 1, silence.as_millis());
        let configuration = format!(
            "sentinel monitor {NAME} 127.0.0.1 {port} {quorum}\n\
             sentinel down-after-milliseconds {NAME} {silence}\n\
             sentinel failover-timeout {NAME} 3000\n"
        );
        let sentinels: Vec<_> = (0..sentinels).map(|_| Server::sentinel(&configuration)).collect();
        let watched = Watched { servers: [master, replica], sentinels };
        let others = format!("sentinels={}", watched.sentinels.len());
        wait_until("the sentinels know of all", || {
            watched.sentinels.iter().all(|sentinel| {
                let known = sentinel.info("sentinel");
                known.contains("slaves=1") && known.contains(&others)
            })
        });
        Some(watched)
    }

    /// Its address, with all sentinels.
    pub(crate) fn url(&self) -> String {
        let hosts = self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port));
        format!("redis-sentinel://{}/{NAME}", hosts.collect::<Vec<_>>().join(","))
    }

    /// Waits until the replica has all that its master has.
    pub(crate) fn until_replicated(&self) {
        let offset = |server: &Server| {
            let info = server.info("replication");
            info.lines().find(|line| line.starts_with("master_repl_offset:")).map(str::to_owned)
        };
        wait_until("the replica has all", || offset(&self.servers[0]) == offset(&self.servers[1]));
    }

    /// Has the replica take over, and waits until it has.
    pub(crate) fn fail_over(&self) {
        // A replica is not chosen before it has answered the sentinel for a while.
        let ordered = || self.sentinels[0].command(&["SENTINEL", "FAILOVER", NAME]);
        wait_until("it is ordered", || ordered().starts_with("+OK"));
        wait_until("it takes over", || self.servers[1].info("replication").contains("role:master"));
        wait_until("it is told", || self.named(&self.sentinels[0]) == Some(self.servers[1].port));
    }

    /// Has a sentinel name another server from now on, while nothing changes at the servers.
    pub(crate) fn rename(&self, sentinel: usize, server: &Server) {
        let port = server.port.to_string();
        let sentinel = &self.sentinels[sentinel];
        sentinel.command(&["SENTINEL", "REMOVE", NAME]);
        sentinel.command(&["SENTINEL", "MONITOR", NAME, "127.0.0.1", &port, "1"]);
    }

    /// The port of the master, as a sentinel knows it.
    fn named(&self, sentinel: &Server) -> Option<u16> {
        let said = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
        said.lines().nth(4)?.parse().ok()
    }
}

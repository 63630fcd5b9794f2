//! Three masters and three replicas, as a value that ends with the test.

#![allow(dead_code)] // Each test file uses its part.

use super::server::{PATIENCE, Server, command_line};
use std::process::Stdio;
use std::time::{Duration, Instant};

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) fn start() -> Option<Cluster> {
        let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
        let node = || Server::start(&arguments);
        let nodes = (0..6).map(|_| node()).collect::<Option<Vec<Server>>>()?;
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let created = command_line()
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .stdout(Stdio::null())
            .status();
        assert!(created.unwrap().success());
        let cluster = Cluster { nodes };
        cluster.until("all know of all", |node| {
            let info = node.try_command(&["CLUSTER", "INFO"]).unwrap_or_default();
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:6")
        });
        cluster.until("replicas follow", |node| {
            let info = node.try_command(&["INFO", "replication"]).unwrap_or_default();
            info.contains("role:master") || info.contains("master_link_status:up")
        });
        Some(cluster)
    }

    /// Waits until it is so for all nodes.
    fn until(&self, what: &str, is_so: impl Fn(&Server) -> bool) {
        let begun = Instant::now();
        while !self.nodes.iter().all(&is_so) {
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Where its nodes are.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Server::url).collect()
    }

    pub(crate) fn slot(&self, key: &str) -> String {
        let slot = self.nodes[0].command(&["CLUSTER", "KEYSLOT", key]);
        slot.trim_start_matches(':').trim().to_owned()
    }

    /// The place of the master that has the slot.
    pub(crate) fn master(&self, slot: &str) -> usize {
        let slot: u32 = slot.parse().unwrap();
        let has = |line: &str| {
            line.contains("master")
                && !line.contains("fail")
                && line.split(' ').skip(8).any(|range| match range.split_once('-') {
                    Some((from, to)) => {
                        (from.parse().unwrap_or(u32::MAX)..=to.parse().unwrap_or(0)).contains(&slot)
                    }
                    None => range.parse() == Ok(slot),
                })
        };
        for (i, node) in self.nodes.iter().enumerate() {
            let Ok(nodes) = node.try_command(&["CLUSTER", "NODES"]) else { continue };
            let own = nodes.lines().find(|line| line.contains("myself"));
            if own.is_some_and(has) {
                return i;
            }
        }
        panic!("nobody has the slot {slot}");
    }

    pub(crate) fn id(&self, node: usize) -> String {
        let id = self.nodes[node].command(&["CLUSTER", "MYID"]);
        id.lines().nth(1).unwrap().to_owned()
    }

    /// The place of the replica of a master.
    pub(crate) fn replica(&self, master: usize) -> usize {
        let id = self.id(master);
        let follows = |node: &Server| {
            let nodes = node.try_command(&["CLUSTER", "NODES"]).unwrap_or_default();
            let own = nodes.lines().find(|line| line.contains("myself")).map(str::to_owned);
            own.is_some_and(|own| own.contains("slave") && own.contains(&id))
        };
        self.nodes.iter().position(follows).unwrap()
    }
}

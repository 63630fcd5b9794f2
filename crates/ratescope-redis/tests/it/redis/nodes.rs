//! The nodes of a cluster, as a value that ends with the test.

#![allow(dead_code)] // Each test file uses its part.

use super::proxy::Proxy;
use super::server::{PATIENCE, Server, command_line, wait_until};
use std::process::Stdio;
use std::time::{Duration, Instant};

const ENABLED: [&str; 4] = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    /// The proxy in front of each node, or none.
    pub(crate) proxies: Vec<Proxy>,
}

impl Cluster {
    /// Three masters and three replicas, which soon take over from a master that dies.
    pub(crate) fn start() -> Option<Cluster> {
        Cluster::with_replicas(&ENABLED)
    }

    /// The same, where no replica takes over unless it is told to, however busy the machine is.
    pub(crate) fn steady() -> Option<Cluster> {
        Cluster::with_replicas(&[&ENABLED[..], &["--cluster-replica-no-failover", "yes"]].concat())
    }

    fn with_replicas(arguments: &[&str]) -> Option<Cluster> {
        let nodes = (0..6).map(|_| Server::start(arguments)).collect::<Option<_>>()?;
        Some(Cluster::of(nodes, Vec::new(), "1"))
    }

    /// Three masters that are known by the ports of proxies.
    pub(crate) fn behind_proxies() -> Option<Cluster> {
        let proxies: Vec<Proxy> = (0..3).map(|_| Proxy::start()).collect();
        let node = |proxy: &Proxy| {
            let port = proxy.port.to_string();
            let announced = ["--cluster-announce-port", &port];
            let node = Server::start(&[&ENABLED[..], &announced].concat());
            node.inspect(|node| proxy.to(node))
        };
        let nodes = proxies.iter().map(node).collect::<Option<_>>()?;
        Some(Cluster::of(nodes, proxies, "0"))
    }

    fn of(nodes: Vec<Server>, proxies: Vec<Proxy>, replicas: &str) -> Cluster {
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let created = command_line()
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", replicas, "--cluster-yes"])
            .stdout(Stdio::null())
            .status();
        assert!(created.unwrap().success());
        let cluster = Cluster { nodes, proxies };
        cluster.until_whole();
        cluster.until_replicas_follow();
        cluster
    }

    /// Starts `count` masters without replicas, each with its share of the slots.
    pub(crate) fn of_masters(count: usize) -> Option<Cluster> {
        let start = |_| Server::start(&ENABLED[..2]);
        let nodes: Vec<Server> = (0..count).map(start).collect::<Option<_>>()?;
        for (i, node) in nodes.iter().enumerate() {
            let [from, to] = [i, i + 1].map(|i| 16_384 * i / count);
            let (from, to) = (from.to_string(), (to - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]);
            node.command(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port.to_string()]);
        }
        let cluster = Cluster { nodes, proxies: Vec::new() };
        cluster.until_whole();
        Some(cluster)
    }

    fn until_whole(&self) {
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        self.until("all know of all", |node| {
            let info = node.try_command(&["CLUSTER", "INFO"]).unwrap_or_default();
            info.contains("cluster_state:ok") && info.contains(&known)
        });
    }

    /// Waits until it is so for all nodes.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Server) -> bool) {
        wait_until(what, || self.nodes.iter().all(&is_so));
    }

    /// Its address, with all nodes.
    pub(crate) fn url(&self) -> String {
        let nodes: Vec<String> = match self.proxies.as_slice() {
            [] => self.nodes.iter().map(Server::url).collect(),
            proxies => proxies.iter().map(Proxy::url).collect(),
        };
        let nodes: Vec<&str> = nodes.iter().map(|url| url.trim_start_matches("redis://")).collect();
        format!("redis-cluster://{}", nodes.join(","))
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

    /// Moves a slot with its keys to another master, as resharding does.
    pub(crate) fn move_slot(&self, slot: &str) {
        let from = self.master(slot);
        let is_other = |node: &usize| *node != from && self.is_master(&self.nodes[*node]);
        let to = (0..self.nodes.len()).find(is_other).unwrap();
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (source_id, target_id) = (self.id(from), self.id(to));
        target.command(&["CLUSTER", "SETSLOT", slot, "IMPORTING", &source_id]);
        source.command(&["CLUSTER", "SETSLOT", slot, "MIGRATING", &target_id]);
        loop {
            let keys = source.command(&["CLUSTER", "GETKEYSINSLOT", slot, "100"]);
            let Some(key) = keys.lines().nth(2) else { break };
            let port = target.port.to_string();
            let moved = source.command(&["MIGRATE", "127.0.0.1", &port, key, "0", "20000"]);
            assert!(moved.starts_with("+OK"), "{moved}");
        }
        for node in [target, source] {
            node.command(&["CLUSTER", "SETSLOT", slot, "NODE", &target_id]);
        }
        self.until_agreed();
    }

    /// Has the replica of the master that has a slot take over, and waits until it has.
    pub(crate) fn fail_over(&self, slot: &str) {
        let master = self.master(slot);
        let replica = self.replica(master);
        let begun = Instant::now();
        let has_taken_over =
            || self.is_master(&self.nodes[replica]) && !self.is_master(&self.nodes[master]);
        // An attempt ends after 5 s at the latest: masters vote for a replica of the same master only now
        // and then.
        while !has_taken_over() {
            assert!(begun.elapsed() < 3 * PATIENCE, "it takes over");
            self.nodes[replica].command(&["CLUSTER", "FAILOVER"]);
            let attempt = Instant::now();
            while !has_taken_over() && attempt.elapsed() < Duration::from_secs(6) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        self.until_replicas_follow();
        self.until_agreed();
    }

    /// Waits until all nodes agree which master has which slots: a replica takes over those
    /// that it knows of.
    fn until_agreed(&self) {
        let view = |node: &Server| {
            let nodes = node.try_command(&["CLUSTER", "NODES"]).unwrap_or_default();
            let masters = nodes.lines().filter(|line| line.contains("master"));
            let mut view: Vec<String> = masters
                .map(|line| {
                    let slots = line.split(' ').skip(8).filter(|slots| !slots.starts_with('['));
                    let id = line.split(' ').next().unwrap_or_default();
                    format!("{id} {}", slots.collect::<Vec<_>>().join(" "))
                })
                .collect();
            view.sort();
            view
        };
        self.until("all agree", |node| view(node) == view(&self.nodes[0]));
    }

    fn is_master(&self, node: &Server) -> bool {
        let info = node.try_command(&["INFO", "replication"]).unwrap_or_default();
        info.contains("role:master")
    }

    fn until_replicas_follow(&self) {
        self.until("replicas follow", |node| {
            let info = node.try_command(&["INFO", "replication"]).unwrap_or_default();
            info.contains("role:master") || info.contains("master_link_status:up")
        });
    }
}

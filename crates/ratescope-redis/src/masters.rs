//! The masters: those of a Redis Cluster, each with its slots; the one that sentinels watch; or the one server that the
//! address names. The nodes or the sentinels are asked for the addresses.
//!
//! Each server has a connection and a [breaker](super::breaker) of its own, so a node that is gone or silent delays no
//! call to another.
//!
//! The clients of the `redis` crate (1.8.1) break promises even without their retries, which would count an event twice.
//! In its cluster connection, all calls wait for a timeout when the slots are refreshed or a client begins while one
//! node stands still (`a_node_that_stands_still_delays_no_other`), and a silent connection is kept for ever
//! (`a_silent_node_is_reached_anew_and_the_others_go_on`). Its client for sentinels believes the first that names a
//! master, even one that was cut off (`most_sentinels_are_believed_and_nothing_has_to_fail_before`).

use super::address::{Address, Kind};
use super::options::Options;
use super::server::{Server, background_timeout, report};
use super::slots::{self, Node, Range, SLOTS, slot};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use ratescope::rules::Fault;
use redis::{ConnectionAddr, ConnectionInfo, RedisResult};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// The least time between two refreshes of the slots, once they are known.
const LEAST_AGE: Duration = Duration::from_millis(100);

/// How long an answer of sentinels is valid. A node of a cluster redirects calls for a slot that has moved, but a
/// master that was replaced while cut off from its sentinels goes on answering.
const LONGEST_AGE: Duration = Duration::from_secs(1);

const LAST_SLOT: u16 = SLOTS - 1;

/// The most nodes whose connections are kept; a cluster has at most 1,000.
const NODES: usize = 2_000;

pub(super) struct Masters(Arc<Shared>);

struct Shared {
    /// The user, the password and so on, which are the same at all masters.
    info: ConnectionInfo,
    options: Options,
    /// The servers that the address names.
    named: Vec<Arc<Server>>,
    kind: Kind,
    nodes: Mutex<HashMap<Node, Arc<Server>>>,
    topology: watch::Sender<Topology>,
    is_refreshing: AtomicBool,
}

/// The masters of all known slots, in their order, and the result of the last refresh.
#[derive(Default)]
struct Topology {
    ranges: Vec<Range<Arc<Server>>>,
    refreshed: Option<(Instant, Result<(), Fault>)>,
}

impl Topology {
    fn master(&self, key: &[u8]) -> Option<Arc<Server>> {
        if let [Range { first: 0, last: LAST_SLOT, master }] = self.ranges.as_slice() {
            return Some(Arc::clone(master));
        }
        let slot = slot(key);
        let at = self.ranges.partition_point(|range| range.last < slot);
        let range = self.ranges.get(at).filter(|range| range.first <= slot)?;
        Some(Arc::clone(&range.master))
    }

    fn is_older_than(&self, age: Duration) -> bool {
        self.refreshed.as_ref().is_none_or(|(at, _)| at.elapsed() >= age)
    }
}

impl Masters {
    pub(super) fn new(address: Address, options: &Options) -> RedisResult<Self> {
        let Address { servers, kind, master: info } = address;
        let server = |info| Server::new(info, options).map(Arc::new);
        let named: Vec<_> = servers.into_iter().map(server).collect::<RedisResult<_>>()?;
        let known = named.iter().filter(|_| matches!(kind, Kind::Master));
        let ranges = known.map(|master| all_slots(Arc::clone(master))).collect();
        let shared = Shared {
            info,
            options: options.clone(),
            named,
            kind,
            nodes: Mutex::default(),
            topology: watch::Sender::new(Topology { ranges, refreshed: None }),
            is_refreshing: AtomicBool::new(false),
        };
        Ok(Masters(Arc::new(shared)))
    }

    /// True if it is the one master that the address names.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.0.kind, Kind::Master)
    }

    /// True if keys of different slots may be on different nodes.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.0.kind, Kind::Nodes)
    }

    /// The master of a key, if it is known.
    pub(super) fn known(&self, key: &[u8]) -> Option<Arc<Server>> {
        self.0.topology.borrow().master(key)
    }

    /// Returns the master of a key. If it is unknown, refreshes the slots first.
    pub(super) async fn master(&self, key: &[u8], until: Instant) -> Result<Arc<Server>, Fault> {
        let is_watched = matches!(self.0.kind, Kind::Sentinels(_));
        // Most calls end here, without the lock that a subscription takes.
        if !is_watched && let Some(master) = self.known(key) {
            return Ok(master);
        }
        let mut topology = self.0.topology.subscribe();
        let (master, is_old) = {
            let known = topology.borrow_and_update();
            (known.master(key), is_watched && known.is_older_than(LONGEST_AGE))
        };
        if let Some(master) = master {
            if is_old {
                self.refresh();
            }
            return Ok(master);
        }
        if self.refresh() {
            let refreshed = timeout_at(until, topology.changed()).await;
            refreshed.map(drop).map_err(Fault::unreachable)?;
        }
        let known = topology.borrow();
        match (known.master(key), &known.refreshed) {
            (Some(master), _) => Ok(master),
            (None, Some((_, Err(fault)))) => Err(fault.clone()),
            (None, _) => {
                let slot = slot(key);
                Err(Fault::Failed(format!("no node of the cluster has the slot {slot}")))
            }
        }
    }

    /// The masters that have slots, each with a range of these.
    pub(super) async fn each(&self, until: Instant) -> Result<Vec<Range<Arc<Server>>>, Fault> {
        self.master(b"", until).await?;
        let mut masters = self.0.topology.borrow().ranges.clone();
        let mut seen = HashSet::new();
        masters.retain(|range| seen.insert(Arc::as_ptr(&range.master)));
        Ok(masters)
    }

    /// The server at the address in a redirection by another server.
    pub(super) fn redirected(&self, address: &str, by: &Server) -> Option<Arc<Server>> {
        self.0.node(slots::redirected(address, by.host()?)?)
    }

    /// Starts a task that refreshes the slots, unless one is running or has just ended. Returns whether one is running.
    pub(super) fn refresh(&self) -> bool {
        if self.is_one() {
            return false;
        }
        let is_early = {
            let known = self.0.topology.borrow();
            !known.ranges.is_empty() && !known.is_older_than(LEAST_AGE)
        };
        // The call that sets the flag starts the task; calls that find the flag set wait for the task.
        if is_early {
            return self.0.is_refreshing.load(Ordering::Acquire);
        }
        if self.0.is_refreshing.swap(true, Ordering::AcqRel) {
            return true;
        }
        let refreshing = Refreshing(Arc::clone(&self.0));
        tokio::spawn(async move {
            let shared = Arc::clone(&refreshing.0);
            let answer = shared.ask().await;
            // The flag is cleared before the answer is stored, so a call that finds it set does not miss the answer.
            drop(refreshing);
            shared.topology.send_modify(|topology| {
                let result = answer.map(|ranges| topology.ranges = ranges);
                topology.refreshed = Some((Instant::now(), result));
            });
        });
        true
    }
}

/// The flag of the running task, cleared on drop, however the task ends.
struct Refreshing(Arc<Shared>);

impl Drop for Refreshing {
    fn drop(&mut self) {
        self.0.is_refreshing.store(false, Ordering::Release);
    }
}

impl Shared {
    /// Asks all `named` and known servers at the same time, and returns the first answer that is good enough, or else
    /// the best. Of a cluster, the best answer covers the most slots, since a removed node knows few, and one that
    /// covers all slots is good enough. Of sentinels, the best answer is the most frequent, since a sentinel may not
    /// have heard of a failover yet.
    async fn ask(&self) -> Result<Vec<Range<Arc<Server>>>, Fault> {
        let until = Instant::now() + background_timeout(self.options.deadline);
        let mut asked = JoinSet::new();
        for server in self.to_ask() {
            let name = self.master_name().map(str::to_owned);
            asked.spawn(async move { ask(&server, name.as_deref(), until).await });
        }
        let enough = match self.kind {
            Kind::Sentinels(_) => self.named.len() / 2 + 1,
            _ => usize::from(SLOTS),
        };
        let mut answers = Vec::new();
        let mut best = 0;
        let mut most = 0;
        let mut fault = Fault::Resting;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(ranges)) => {
                    answers.push(ranges);
                    let weight = self.weight(&answers);
                    if weight > most {
                        (best, most) = (answers.len() - 1, weight);
                    }
                    if most >= enough {
                        break;
                    }
                }
                Ok(Err(Fault::Resting)) | Err(_) => {}
                Ok(Err(other)) => fault = other,
            }
        }
        let best = if most == 0 { Vec::new() } else { answers.swap_remove(best) };
        let with_server = |range: Range<Node>| {
            let Range { first, last, master } = range;
            Some(Range { first, last, master: self.node(master)? })
        };
        let ranges: Vec<_> = best.into_iter().filter_map(with_server).collect();
        if ranges.is_empty() {
            return Err(fault);
        }
        // The other nodes have left the cluster.
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, node| ranges.iter().any(|range| Arc::ptr_eq(&range.master, node)));
        drop(nodes);
        Ok(ranges)
    }

    /// The weight of the last answer: the number of slots that it covers, or of sentinels that agree with it.
    fn weight(&self, answers: &[Vec<Range<Node>>]) -> usize {
        let Some(last) = answers.last() else { return 0 };
        match self.kind {
            Kind::Sentinels(_) => answers.iter().filter(|other| *other == last).count(),
            _ => last.iter().map(|range| usize::from(range.last - range.first) + 1).sum(),
        }
    }

    /// The name by which sentinels know the master.
    fn master_name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Sentinels(name) => Some(name),
            _ => None,
        }
    }

    fn to_ask(&self) -> Vec<Arc<Server>> {
        let mut servers = self.named.clone();
        if matches!(self.kind, Kind::Nodes) {
            let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            servers.extend(nodes.values().map(Arc::clone));
        }
        servers
    }

    /// The server at an address: the known one, or a new one.
    fn node(&self, node: Node) -> Option<Arc<Server>> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = nodes.get(&node) {
            return Some(Arc::clone(server));
        }
        let (host, port) = node.clone();
        let addr = match self.info.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure, tls_params }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        let server = Server::new(self.info.clone().set_addr(addr), &self.options).ok()?;
        let server = Arc::new(server);
        if nodes.len() >= NODES {
            nodes.clear();
        }
        nodes.insert(node, Arc::clone(&server));
        Some(server)
    }
}

/// A server that has all slots.
fn all_slots<M>(master: M) -> Range<M> {
    Range { first: 0, last: LAST_SLOT, master }
}

/// Asks a node of a cluster for the slots, or a sentinel for the address of the master.
async fn ask(
    server: &Arc<Server>,
    master_name: Option<&str>,
    until: Instant,
) -> Result<Vec<Range<Node>>, Fault> {
    let permit = server.permit()?;
    let mut command = redis::cmd(if master_name.is_some() { "SENTINEL" } else { "CLUSTER" });
    match master_name {
        Some(name) => command.arg("GET-MASTER-ADDR-BY-NAME").arg(name),
        None => command.arg("SLOTS"),
    };
    let answer = server.send(command, until).await;
    report(&permit, &answer);
    let answer = answer?;
    let host = server.host().unwrap_or_default();
    let Some(name) = master_name else { return Ok(slots::ranges(&answer, host)) };
    let master = slots::named_master(&answer, host);
    let master = master.ok_or_else(|| {
        Fault::failed(format!("the sentinel at {host} watches no master called {name}"))
    })?;
    Ok(vec![all_slots(master)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// While it is too early to refresh again, `refresh` makes no call wait, however many call it at once.
    #[test]
    fn nobody_waits_for_a_question_that_is_not_asked() {
        let address = Address::read("redis-cluster://127.0.0.1:1").unwrap();
        let masters = Masters::new(address, &Options::default()).unwrap();
        let master = Arc::clone(&masters.0.named[0]);
        masters.0.topology.send_modify(|topology| {
            topology.ranges = vec![Range { first: 0, last: 0, master }];
            topology.refreshed = Some((Instant::now() + Duration::from_secs(3600), Ok(())));
        });
        let looks = || assert!((0..100_000).all(|_| !masters.refresh()));
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(looks))));
    }
}

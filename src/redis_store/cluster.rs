//! The nodes of a Redis Cluster, and which master has a key. The nodes themselves tell.
//!
//! Each node has a connection and a [breaker](super::breaker) of its own, so a node that is gone or
//! silent delays no call to another. The cluster connection of the `redis` crate is not used: while it
//! learns where the slots are, it waits for silent nodes, and all calls wait with it; and a call that is
//! given up at its deadline never makes it replace a silent connection.

use super::options::Options;
use super::server::{Failure, Server, patience};
use super::slots::{self, Node, SLOTS, slot};
use crate::rules::Fault;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use redis::{ConnectionAddr, ConnectionInfo, RedisResult};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// The least time between two questions for the slots, once they are known.
const BETWEEN: Duration = Duration::from_millis(100);

/// The most nodes whose connections are kept; a cluster has at most 1,000.
const NODES: usize = 2_000;

#[derive(Clone)]
pub(super) struct Cluster(Arc<Shared>);

struct Shared {
    /// The user, the password and so on, which are the same at all nodes.
    info: ConnectionInfo,
    options: Options,
    /// The nodes that the address names.
    seeds: Vec<Arc<Server>>,
    nodes: Mutex<HashMap<Node, Arc<Server>>>,
    known: watch::Sender<Known>,
    is_asking: AtomicBool,
}

/// The slots as they were last learned, and how the last attempt to learn them ended.
#[derive(Clone, Default)]
struct Known {
    slots: Arc<Vec<Held>>,
    ended: Option<(Instant, Result<(), Fault>)>,
}

/// Slots from the first to the last and their master, in the order of slots.
struct Held {
    first: u16,
    last: u16,
    master: Arc<Server>,
}

impl Known {
    fn master(&self, slot: u16) -> Option<Arc<Server>> {
        let at = self.slots.partition_point(|held| held.last < slot);
        let held = self.slots.get(at).filter(|held| held.first <= slot)?;
        Some(Arc::clone(&held.master))
    }
}

impl Cluster {
    pub(super) fn new(infos: Vec<ConnectionInfo>, options: &Options) -> RedisResult<Self> {
        let none = || (redis::ErrorKind::InvalidClientConfig, "no node is named");
        let info = infos.first().cloned().ok_or_else(none)?;
        let seed = |info| Server::new(info, options).map(Arc::new);
        let shared = Shared {
            info,
            options: options.clone(),
            seeds: infos.into_iter().map(seed).collect::<RedisResult<_>>()?,
            nodes: Mutex::default(),
            known: watch::Sender::default(),
            is_asking: AtomicBool::new(false),
        };
        Ok(Cluster(Arc::new(shared)))
    }

    /// The master that has a key, asked for where it is not known.
    pub(super) async fn master(&self, key: &[u8], until: Instant) -> Result<Arc<Server>, Fault> {
        let slot = slot(key);
        let mut known = self.0.known.subscribe();
        if let Some(master) = known.borrow_and_update().master(slot) {
            return Ok(master);
        }
        if self.refresh() {
            let learned = timeout_at(until, known.changed()).await;
            learned.map(drop).map_err(Fault::unreachable)?;
        }
        let known = known.borrow();
        match (known.master(slot), &known.ended) {
            (Some(master), _) => Ok(master),
            (None, Some((_, Err(fault)))) => Err(fault.clone()),
            (None, _) => Err(Fault::Failed(format!("no node of the cluster has the slot {slot}"))),
        }
    }

    /// The masters that have slots.
    pub(super) async fn masters(&self, until: Instant) -> Result<Vec<Arc<Server>>, Fault> {
        self.master(b"", until).await?;
        let mut masters: Vec<Arc<Server>> = Vec::new();
        for Held { master, .. } in self.0.known.borrow().slots.iter() {
            if !masters.iter().any(|known| Arc::ptr_eq(known, master)) {
                masters.push(Arc::clone(master));
            }
        }
        Ok(masters)
    }

    /// The server at the address that a redirection of another names.
    pub(super) fn redirected(&self, address: &str, by: &Server) -> Option<Arc<Server>> {
        self.0.node(slots::redirected(address, by.host()?)?)
    }

    /// Starts a task that asks where the slots are, unless one is running or has just ended. Returns
    /// whether one is running.
    pub(super) fn refresh(&self) -> bool {
        if self.0.is_asking.swap(true, Ordering::AcqRel) {
            return true;
        }
        let asking = Asking(Arc::clone(&self.0));
        let known = self.0.known.borrow();
        let is_recent = |(at, _): &(Instant, _)| at.elapsed() < BETWEEN;
        if !known.slots.is_empty() && known.ended.as_ref().is_some_and(is_recent) {
            return false;
        }
        drop(known);
        tokio::spawn(async move {
            let shared = Arc::clone(&asking.0);
            let learned = shared.ask().await;
            // The flag is reset first: a call that finds it set waits for the change that follows.
            drop(asking);
            shared.known.send_modify(|known| {
                let ended = learned.map(|slots| known.slots = Arc::new(slots));
                known.ended = Some((Instant::now(), ended));
            });
        });
        true
    }
}

/// Marks that a task is asking. The mark goes with the task, however that ends.
struct Asking(Arc<Shared>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Release);
    }
}

impl Shared {
    /// Asks all known nodes at once and takes the first answer that covers all slots, or else the one
    /// that covers most: a node that was taken out of the cluster knows few.
    async fn ask(&self) -> Result<Vec<Held>, Fault> {
        let until = Instant::now() + patience(&self.options);
        let mut asked = JoinSet::new();
        for server in self.everyone() {
            asked.spawn(async move { ask(&server, until).await });
        }
        let (mut best, mut most, mut fault) = (Vec::new(), 0, Fault::Resting);
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(ranges)) => {
                    let covered = |range: &slots::Range| usize::from(range.last - range.first) + 1;
                    let covered: usize = ranges.iter().map(covered).sum();
                    if covered > most {
                        (best, most) = (ranges, covered);
                    }
                    if most >= usize::from(SLOTS) {
                        break;
                    }
                }
                Ok(Err(Fault::Resting)) | Err(_) => {}
                Ok(Err(other)) => fault = other,
            }
        }
        let held = |slots::Range { first, last, node }| {
            Some(Held { first, last, master: self.node(node)? })
        };
        let held: Vec<Held> = best.into_iter().filter_map(held).collect();
        if held.is_empty() {
            return Err(fault);
        }
        // The other nodes have left the cluster.
        let is_master =
            |node: &Arc<Server>| held.iter().any(|held| Arc::ptr_eq(&held.master, node));
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, node| is_master(node));
        drop(nodes);
        Ok(held)
    }

    fn everyone(&self) -> Vec<Arc<Server>> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        self.seeds.iter().chain(nodes.values()).map(Arc::clone).collect()
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

/// Asks a server where the slots are.
async fn ask(server: &Server, until: Instant) -> Result<Vec<slots::Range>, Fault> {
    let permit = server.permit()?;
    let answer = server.send(redis::cmd("CLUSTER").arg("SLOTS"), until).await;
    match &answer {
        Ok(_) | Err(Failure::Refused(..)) => permit.succeeded(),
        Err(Failure::Over(_)) => permit.failed(std::time::Instant::now()),
    }
    Ok(slots::ranges(&answer?, server.host().unwrap_or_default()))
}

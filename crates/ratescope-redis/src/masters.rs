//! The masters of a Redis Cluster, each with its slots, or the one master that sentinels watch, with all slots. The
//! nodes or the sentinels are asked for their addresses.
//!
//! Each server has a connection and a [breaker](super::breaker) of its own, so a node that is gone or silent delays no
//! call to another. The cluster connection of the `redis` crate is not used: all calls wait while it learns the slots,
//! also from silent nodes, and it does not replace a silent connection when calls time out. The crate's client for
//! sentinels asks one after the other, and waits for each silent one.

use super::options::Options;
use super::server::{Server, patience, report};
use super::slots::{self, Node, Range, SLOTS, slot};
use core::ops::RangeInclusive;
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
const BETWEEN: Duration = Duration::from_millis(100);

/// How long an answer of sentinels is valid. A node of a cluster redirects calls for a slot that has moved, but a
/// master that was replaced while cut off from its sentinels goes on answering.
const AGAIN: Duration = Duration::from_secs(1);

/// The most nodes whose connections are kept; a cluster has at most 1,000.
const NODES: usize = 2_000;

pub(super) struct Masters(Arc<Shared>);

struct Shared {
    /// The user, the password and so on, which are the same at all masters.
    info: ConnectionInfo,
    options: Options,
    /// The servers that the address names.
    named: Vec<Arc<Server>>,
    /// The name of the master, if `named` are sentinels.
    watched: Option<String>,
    nodes: Mutex<HashMap<Node, Arc<Server>>>,
    known: watch::Sender<Learned>,
    is_asking: AtomicBool,
}

/// The known slots, and the result of the last refresh.
#[derive(Default)]
struct Learned {
    slots: Vec<Owned>,
    ended: Option<(Instant, Result<(), Fault>)>,
}

/// A range of slots, both ends included, and its master.
struct Owned {
    first: u16,
    last: u16,
    master: Arc<Server>,
}

impl Learned {
    fn master(&self, slot: u16) -> Option<Arc<Server>> {
        let at = self.slots.partition_point(|held| held.last < slot);
        let held = self.slots.get(at).filter(|held| held.first <= slot)?;
        Some(Arc::clone(&held.master))
    }

    fn is_older_than(&self, age: Duration) -> bool {
        self.ended.as_ref().is_none_or(|(at, _)| at.elapsed() >= age)
    }
}

impl Masters {
    /// The masters of a cluster, found through the nodes `named`; or the master called `watched`, found through the
    /// sentinels `named`. `info` has the user and so on of the masters.
    pub(super) fn new(
        named: Vec<ConnectionInfo>,
        watched: Option<String>,
        info: ConnectionInfo,
        options: &Options,
    ) -> RedisResult<Self> {
        let server = |info| Server::new(info, options).map(Arc::new);
        let shared = Shared {
            info,
            options: options.clone(),
            named: named.into_iter().map(server).collect::<RedisResult<_>>()?,
            watched,
            nodes: Mutex::default(),
            known: watch::Sender::default(),
            is_asking: AtomicBool::new(false),
        };
        Ok(Masters(Arc::new(shared)))
    }

    /// Returns the master of a key. If it is unknown, refreshes the slots first.
    pub(super) async fn master(&self, key: &[u8], until: Instant) -> Result<Arc<Server>, Fault> {
        let slot = slot(key);
        let mut known = self.0.known.subscribe();
        let (master, is_old) = {
            let known = known.borrow_and_update();
            (known.master(slot), self.0.watched.is_some() && known.is_older_than(AGAIN))
        };
        if let Some(master) = master {
            if is_old {
                self.refresh();
            }
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
    pub(super) async fn all(&self, until: Instant) -> Result<Vec<Arc<Server>>, Fault> {
        self.master(b"", until).await?;
        let mut masters: Vec<Arc<Server>> = Vec::new();
        for Owned { master, .. } in &self.0.known.borrow().slots {
            if !masters.iter().any(|known| Arc::ptr_eq(known, master)) {
                masters.push(Arc::clone(master));
            }
        }
        Ok(masters)
    }

    /// A range of slots of each master.
    pub(super) async fn ranges(&self, until: Instant) -> Result<Vec<RangeInclusive<u16>>, Fault> {
        self.master(b"", until).await?;
        let known = self.0.known.borrow();
        let mut seen = HashSet::new();
        let each = known.slots.iter().filter(|held| seen.insert(Arc::as_ptr(&held.master)));
        Ok(each.map(|held| held.first..=held.last).collect())
    }

    /// The server at the address in a redirection by another server.
    pub(super) fn redirected(&self, address: &str, by: &Server) -> Option<Arc<Server>> {
        self.0.node(slots::redirected(address, by.host()?)?)
    }

    /// Starts a task that refreshes the slots, unless one is running or has just ended. Returns whether one is running.
    pub(super) fn refresh(&self) -> bool {
        let is_early = {
            let known = self.0.known.borrow();
            !known.slots.is_empty() && !known.is_older_than(BETWEEN)
        };
        // Whoever sets the flag starts the task; calls that find the flag set wait for the task.
        if is_early {
            return self.0.is_asking.load(Ordering::Acquire);
        }
        if self.0.is_asking.swap(true, Ordering::AcqRel) {
            return true;
        }
        let asking = Asking(Arc::clone(&self.0));
        tokio::spawn(async move {
            let shared = Arc::clone(&asking.0);
            let learned = shared.ask().await;
            // The flag is cleared before the answer is stored, so a call that finds it set does not miss the answer.
            drop(asking);
            shared.known.send_modify(|known| {
                let ended = learned.map(|slots| known.slots = slots);
                known.ended = Some((Instant::now(), ended));
            });
        });
        true
    }
}

/// The flag of the running task, cleared on drop, however the task ends.
struct Asking(Arc<Shared>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Release);
    }
}

impl Shared {
    /// Asks all `named` and known servers at the same time, and returns the first answer that is good enough, or else
    /// the best. Of a cluster, the best answer covers the most slots, since a removed node knows few, and one that
    /// covers all slots is good enough. Of sentinels, the best answer is the most frequent, since a sentinel may not
    /// have heard of a failover yet.
    async fn ask(&self) -> Result<Vec<Owned>, Fault> {
        let until = Instant::now() + patience(self.options.deadline);
        let mut asked = JoinSet::new();
        for server in self.everyone() {
            let watched = self.watched.clone();
            asked.spawn(async move { ask(&server, watched.as_deref(), until).await });
        }
        let enough = match &self.watched {
            Some(_) => self.named.len() / 2 + 1,
            None => usize::from(SLOTS),
        };
        let mut told = Vec::new();
        let mut best = 0;
        let mut most = 0;
        let mut fault = Fault::Resting;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(ranges)) => {
                    told.push(ranges);
                    let worth = self.worth(&told);
                    if worth > most {
                        (best, most) = (told.len() - 1, worth);
                    }
                    if most >= enough {
                        break;
                    }
                }
                Ok(Err(Fault::Resting)) | Err(_) => {}
                Ok(Err(other)) => fault = other,
            }
        }
        let best = if most == 0 { Vec::new() } else { told.swap_remove(best) };
        let mut held = Vec::new();
        for Range { first, last, node } in best {
            if let Some(master) = self.node(node) {
                held.push(Owned { first, last, master });
            }
        }
        if held.is_empty() {
            return Err(fault);
        }
        // The other nodes have left the cluster.
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, node| held.iter().any(|held| Arc::ptr_eq(&held.master, node)));
        drop(nodes);
        Ok(held)
    }

    /// The weight of the last answer: the number of slots that it covers, or of sentinels that agree with it.
    fn worth(&self, told: &[Vec<Range>]) -> usize {
        let Some(last) = told.last() else { return 0 };
        match &self.watched {
            Some(_) => told.iter().filter(|other| *other == last).count(),
            None => last.iter().map(|range| usize::from(range.last - range.first) + 1).sum(),
        }
    }

    fn everyone(&self) -> Vec<Arc<Server>> {
        let mut everyone = self.named.clone();
        if self.watched.is_none() {
            let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            everyone.extend(nodes.values().map(Arc::clone));
        }
        everyone
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

/// Asks a node of a cluster for the slots, or a sentinel for the address of the master.
async fn ask(
    server: &Arc<Server>,
    watched: Option<&str>,
    until: Instant,
) -> Result<Vec<Range>, Fault> {
    let permit = server.permit()?;
    let mut question = redis::cmd(if watched.is_some() { "SENTINEL" } else { "CLUSTER" });
    match watched {
        Some(name) => question.arg("GET-MASTER-ADDR-BY-NAME").arg(name),
        None => question.arg("SLOTS"),
    };
    let answer = server.send(question, until).await;
    report(&permit, &answer);
    let answer = answer?;
    let host = server.host().unwrap_or_default();
    let Some(name) = watched else { return Ok(slots::ranges(&answer, host)) };
    let node = slots::watched(&answer, host);
    let node = node.ok_or_else(|| {
        Fault::failed(format!("the sentinel at {host} watches no master called {name}"))
    })?;
    Ok(vec![Range { first: 0, last: SLOTS - 1, node }])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use redis::IntoConnectionInfo;

    /// While it is too early to refresh again, `refresh` makes no call wait, however many call it at once.
    #[test]
    fn nobody_waits_for_a_question_that_is_not_asked() {
        let info = || "redis://127.0.0.1:1".into_connection_info().unwrap();
        let masters = Masters::new(vec![info()], None, info(), &Options::default()).unwrap();
        let master = Arc::clone(&masters.0.named[0]);
        masters.0.known.send_modify(|known| {
            known.slots = vec![Owned { first: 0, last: 0, master }];
            known.ended = Some((Instant::now() + Duration::from_secs(3600), Ok(())));
        });
        let looks = || assert!((0..100_000).all(|_| !masters.refresh()));
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(looks))));
    }
}

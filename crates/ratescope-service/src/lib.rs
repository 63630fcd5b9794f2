//! A rate limit service: Envoy's protocol by gRPC and JSON, and plain HTTP. The command `ratescope run` serves it.
//!
//! * [`Service`] has the rules of each domain, and decides about requests.
//! * [`States`] says where the states are: in memory, or on Redis.
//! * [`QuotaStream`] has the assignments of one Envoy, by Envoy's rate limit quota protocol.
//! * [`Grpc`] and [`Http`] serve it as services of tower; the layer of `ratescope-tower` is behind `/auth`.
//!
//! ```
//! use ratescope::clock::SystemClock;
//! use ratescope_service::{Code, RateLimitRequest, Service, States};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Service::new(States::in_memory(100_000), SystemClock);
//! let rules = "domain: web\ndescriptors:\n- {key: user, limit: gcra 2/1h}\n";
//! service.add("rules.yaml", rules)?;
//! let json = r#"{"domain": "web", "descriptors": [{"entries": [{"key": "user", "value": "ann"}]}]}"#;
//! let request: RateLimitRequest = serde_json::from_str(json)?;
//! for code in [Code::Ok, Code::Ok, Code::OverLimit] {
//!     assert_eq!(service.should_rate_limit(&request).await?.overall_code(), code);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **How it works.** `grpc.rs` and `http.rs` read a request. `decide.rs` makes an event of each descriptor and asks the
//! store of the domain about all of them together. The observers of the store (`domain.rs`) count by rule
//! (`meters.rs`), by key (`keys.rs`) and for the probe. `load.rs` has the load of elastic rules. `response.rs` writes the answer. `rlqs.rs` assigns events to Envoys that decide themselves. `files.rs` reads the rule files
//! again, and `states.rs` saves the states of memory.
//!
//! **What it promises.** A request is one decision: all of its descriptors are counted, or none is. A request that
//! can't be read is refused. A file with a mistake leaves the old rules in force. Each input is bounded.
#![doc = include_str!("files.md")]
#![doc = include_str!("requests.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decide;
mod domain;
mod files;
mod forms;
mod grpc;
mod http;
mod json;
mod keys;
mod limitador;
mod load;
mod message;
pub mod meters;
mod overrides;
mod pass;
mod response;
mod rlqs;
mod spans;
mod states;
mod together;
mod unread;

pub use decide::NoAnswer;
pub use files::{Changed, FileHealth, rule_files};
pub use forms::{Form, Forms};
pub use grpc::{Grpc, NAME, QUOTA_NAME};
pub use http::{Http, HttpSettings};
pub use keys::{FieldList, KeyOf, KeyOrder, KeyState, NoKey, OfDomain, ResetKey};
pub use limitador::other_format;
pub use message::{
    Code, DescriptorStatus, Entry, HeaderValue, RateLimit, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse, Unit,
};
pub use meters::MetricNames;
pub use rlqs::QuotaStream;
pub use rlqs::message::{
    AbandonAction, BlanketRule, BucketAction, BucketId, BucketQuotaUsage, QuotaAssignmentAction,
    RateLimitQuotaResponse, RateLimitQuotaUsageReports, RateLimitStrategy, TokenBucket,
};
pub use states::States;

use arc_swap::ArcSwap;
use domain::Domain;
use files::Files;
use load::LoadState;
use meters::Meters;
use overrides::Overrides;
use ratescope::clock::{Clock, SystemClock};
use ratescope::policy::KeySecret;
use ratescope::rules::{Fault, Memory, Reloaded, Rules, RulesError, Store};
use ratescope::time::Time;
use ratescope_live::Probe;
use ratescope_tower::internal::Outages;
use rlqs::Holders;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use unread::Unread;

/// The descriptions of all messages, for clients that ask for them by reflection. In `src/proto`,
/// `protoc -I. --include_imports --descriptor_set_out=descriptors.bin envoy/service/ratelimit/v3/rls.proto
/// envoy/service/rate_limit_quota/v3/rlqs.proto` makes them.
pub const DESCRIPTORS: &[u8] = include_bytes!("proto/descriptors.bin");

/// Rules by their domains, with their states.
pub struct Service<C = SystemClock> {
    states: States,
    clock: C,
    domains: ArcSwap<BTreeMap<String, Arc<Domain>>>,
    /// Held while a domain is added.
    adding: Mutex<()>,
    overrides: Overrides,
    probe: Arc<Probe>,
    key_secret: KeySecret,
    /// The outages of its Redis.
    outages: Arc<Outages>,
    forms: Arc<Forms>,
    load: Arc<LoadState>,
    metric_names: MetricNames,
    /// Registered when the first rules are added, so that the recorder can be installed before.
    meters: OnceLock<Meters>,
    unread: Unread,
    /// The streams that have each bucket.
    holders: Holders,
    /// True once streams are to end.
    is_ending: AtomicBool,
    /// The watched files; one look at a time.
    files: Mutex<Files>,
    /// The watched files with their problems.
    health: ArcSwap<Vec<FileHealth>>,
}

impl<C: Clock> Service<C> {
    /// A service without rules, by this clock.
    pub fn new(states: States, clock: C) -> Self {
        Self::with_probe(states, clock, Arc::default())
    }

    /// As [`new`](Self::new), observed by this probe.
    pub fn with_probe(states: States, clock: C, probe: Arc<Probe>) -> Self {
        Service {
            overrides: Overrides::default(),
            key_secret: KeySecret::EMPTY,
            probe,
            outages: Arc::default(),
            forms: Arc::default(),
            load: Arc::default(),
            metric_names: MetricNames::default(),
            meters: OnceLock::new(),
            unread: Unread::default(),
            holders: Holders::default(),
            is_ending: AtomicBool::new(false),
            states,
            clock,
            domains: ArcSwap::default(),
            adding: Mutex::default(),
            files: Mutex::default(),
            health: ArcSwap::default(),
        }
    }

    /// Sets the secret that hashes [secret fields](ratescope::policy::Per) of keys; the default is
    /// [`KeySecret::EMPTY`]. Call it before rules are added.
    #[must_use]
    pub fn with_key_secret(self, key_secret: KeySecret) -> Self {
        Service { key_secret, ..self }
    }

    /// Sets the forms of fields. Call it before rules are added, since rules are checked when they are added.
    pub fn reading(self, forms: Forms) -> Self {
        Service { forms: Arc::new(forms), ..self }
    }

    /// Sets the names of the [counters](meters). Call it before rules are added.
    #[must_use]
    pub fn with_metric_names(self, metric_names: MetricNames) -> Self {
        Service { metric_names, ..self }
    }

    fn meters(&self) -> &Meters {
        self.meters.get_or_init(|| Meters::new(self.metric_names))
    }

    /// The answer to a request that can't be read.
    fn refuse_unread(&self, why: &str, descriptors: usize) -> RateLimitResponse {
        self.unread.refuse(why, descriptors, self.clock.now(), self.meters())
    }

    /// Adds the rules of a text; `file` is its name, for errors.
    ///
    /// # Errors
    /// If the rules are wrong, if the store can't compute them, or if their domain exists already.
    pub fn add(&self, file: &str, text: &str) -> Result<(), RulesError> {
        self.insert(Rules::read(file, text)?).map(drop)
    }

    fn insert(&self, rules: Rules) -> Result<Arc<Domain>, RulesError> {
        // One at a time, so that the probe gets the rules of a domain once.
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let name = rules.domain().to_owned();
        if let Some(other) = self.domain(&name) {
            let there = other.store.rules();
            return Err(rules.wrong(format!(
                "the domain {name} is in {} already; one domain goes into one file",
                there.file()
            )));
        }
        self.forms.check(&rules)?;
        self.load.check(&rules)?;
        let domain = self.open(rules.with_key_secret(self.key_secret.clone()))?;
        self.domains.rcu(|domains| {
            let mut domains = BTreeMap::clone(domains);
            domains.insert(name.clone(), Arc::clone(&domain));
            domains
        });
        Ok(domain)
    }

    fn open(&self, rules: Rules) -> Result<Arc<Domain>, RulesError> {
        self.meters();
        let store = self.states.open(rules)?;
        let domain = Domain::new(store, &self.probe, &self.outages, self.metric_names);
        domain.store.set_load(self.load.get());
        Ok(Arc::new(domain))
    }

    fn remove(&self, domain: &str) {
        self.domains.rcu(|domains| {
            let mut domains = BTreeMap::clone(domains);
            domains.remove(domain);
            domains
        });
    }

    /// The rules in force, in the order of their domains.
    pub fn rules(&self) -> Vec<Arc<Rules>> {
        self.domains.load().values().map(|domain| domain.store.rules()).collect()
    }

    /// The size of the memory of each domain with states in this process, without overrides.
    pub fn memory(&self) -> Vec<(String, Memory)> {
        let all = self.domains.load();
        let each =
            all.iter().filter_map(|(name, domain)| Some((name.clone(), domain.store.memory()?)));
        each.collect()
    }

    /// The counts of [leases](ratescope::share), if the states are on Redis.
    pub fn leased(&self) -> Option<ratescope_redis::Leased> {
        self.states.leased()
    }

    /// Writes the states and exceptions of all domains that are in the memory of this process, for [`States::saved`]. Requests are
    /// answered meanwhile, and one may be missing in some limits. Limits that requests bring along are left out.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn save(&self, to: &mut impl io::Write) -> io::Result<()> {
        let domains = self.domains.load();
        let now = self.clock.now();
        let stores = domains.iter().filter_map(|(name, one)| {
            Some((name, one.memory.as_ref()?, one.store.store().list(now)))
        });
        states::write(stores, now, to)
    }

    /// Ends the [streams](QuotaStream) by gRPC within a second, before the process ends.
    pub fn end_streams(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Tells its Redis the pending sums, as [`Redis::close`](ratescope_redis::Redis::close) does, before the process
    /// ends.
    pub async fn close(&self) {
        self.states.close().await;
    }

    /// Asks whether its Redis counts, as [`Redis::ping`](ratescope_redis::Redis::ping) does, and logs a change.
    ///
    /// # Errors
    /// As for `Redis::ping`; never for states in memory.
    pub async fn ping(&self) -> Result<(), Fault> {
        let answer = self.states.ping().await;
        let now = self.clock.now();
        match &answer {
            Ok(()) => self.outages.answered(None, now),
            Err(fault) => self.outages.failed(fault, None, now),
        }
        answer
    }

    /// Why the store can't be asked at present, by the last decision or [`ping`](Self::ping) that failed. The outage is
    /// over when the store answers and has not failed for a second.
    pub fn fault(&self) -> Option<Fault> {
        self.outages.fault()
    }

    /// The probe that observes it.
    pub fn probe(&self) -> &Arc<Probe> {
        &self.probe
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    fn checks(&self) -> Checks {
        Checks { forms: Arc::clone(&self.forms), load: Arc::clone(&self.load) }
    }

    fn domain(&self, name: &str) -> Option<Arc<Domain>> {
        self.domains.load().get(name).map(Arc::clone)
    }

    /// The only domain; the outer `None` if there are several, the inner `None` if there are none.
    fn only(&self) -> Option<Option<Arc<Domain>>> {
        let domains = self.domains.load();
        let mut each = domains.values();
        let first = each.next();
        each.next().is_none().then(|| first.map(Arc::clone))
    }
}

/// The settings by which rules are checked when they are read.
#[derive(Clone)]
struct Checks {
    forms: Arc<Forms>,
    load: Arc<LoadState>,
}

/// Puts the text of a file in force; its domain stays.
fn reload(domain: &Domain, checks: &Checks, file: &str, text: &str, now: Time) -> Reloaded {
    let before = domain.store.rules();
    let check = |rules: Rules| {
        checks.forms.check(&rules)?;
        checks.load.check(&rules)?;
        if domain.memory.is_some() {
            rules.refuse_shares()?;
        }
        Ok(rules)
    };
    let read = Rules::read(file, text).and_then(check);
    match read {
        Err(error) => Reloaded::Rejected(error),
        Ok(rules) if rules.domain() != before.domain() => Reloaded::Rejected(rules.wrong(format!(
            "the domain of a file can't change while it is in force; it is {}",
            before.domain()
        ))),
        Ok(rules) => {
            tell_remarks(&rules);
            domain.store.replace(rules.with_key_secret(before.key_secret()), now)
        }
    }
}

/// Logs the parts of a file that were not read as they are written.
fn tell_remarks(rules: &Rules) {
    for remark in rules.remarks() {
        tracing::warn!(target: "ratescope", "{}:{remark}", rules.file());
    }
}

/// Runs the examples of the README, which use crates that this crate depends on.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;

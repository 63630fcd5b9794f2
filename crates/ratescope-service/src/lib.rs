//! A rate limit service: Envoy's protocol by gRPC and JSON, and plain HTTP, over [rules](ratescope::rules)
//! whose states are in memory or on Redis. The command `ratescope run` serves it.
//!
//! ```
//! use ratescope::clock::SystemClock;
//! use ratescope_service::{Code, RateLimitRequest, Service, States};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Service::new(States::in_memory(100_000), SystemClock);
//! service.add("rules.yaml", "
//! domain: web
//! descriptors:
//! - {key: user, limit: gcra 2/1h}
//! ")?;
//! let json = r#"{"domain": "web", "descriptors": [{"entries": [{"key": "user", "value": "ann"}]}]}"#;
//! let request: RateLimitRequest = serde_json::from_str(json)?;
//! for code in [Code::Ok, Code::Ok, Code::OverLimit] {
//!     assert_eq!(service.should_rate_limit(&request).await?.overall_code(), code);
//! }
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("files.md")]
//!
//! # What a request means
//! * A request is **one decision**: all of its descriptors are counted, or none is, in whatever order they come and
//!   however many requests come at once. On Redis it is one call, which goes on to its end if the caller hangs up. Where
//!   the keys are on several nodes of a cluster, the store on Redis says what is promised.
//! * **Fields** that are paths, hosts, methods or addresses are read in their [normal form](ratescope::event::normal), as
//!   [`Forms`] says which are. So a rule file means the same for Envoy's `:path`, which has a query, as for `/auth`. A
//!   value that is not UTF-8 is read as the layer reads such a header.
//! * A request that **can't be read** is refused: its message is malformed or longer than 256 KiB, or rules are about a
//!   path that servers [read in different ways](ratescope::event::normal::doubt). An error would let it pass where
//!   `failure_mode_deny` is false. `unread` in `dynamic_metadata` says why, and so does the log, once a minute.
//! * Each **descriptor** is looked up as envoyproxy/ratelimit does it: the rule with exactly its keys, in
//!   their order. If one is refused, limiters that count refused events count what they refuse, and the others
//!   are not told. A limit at the top of a file counts each request once: as much as the descriptor that
//!   takes the most. The status of each descriptor is of the stricter of the two.
//! * The same descriptor **twice** counts twice, as with envoyproxy/ratelimit: both have to fit together, and otherwise
//!   both are refused and neither is counted. The same holds for descriptors that differ, but count at the same key.
//! * **`hits_addend`** of a descriptor replaces that of the request. In a request, 0 means 1. A descriptor's own 0 is a
//!   look: the answer says whether one more would pass, and nothing is counted. Hits that do not fit into a limit are
//!   refused as a whole, and not counted. So hits that are reported after the fact (`apply_on_stream_done`) need a
//!   limiter that counts refused ones, such as `exim strict`.
//! * A descriptor's own **`limit`** counts in place of the rules, in a fixed window, and apart from its other
//!   limits. In memory, states of the 64 limits that were used last are kept.
//! * **`is_negative_hits`** gives hits back, if the descriptors that take some all pass. It is not known when
//!   they were taken, and [`give_back`](ratescope::Limiter::give_back) says what a limiter makes of that. A key never
//!   has more left than a new one. Buckets and windows can give back, in memory and on Redis: `gcra`, `token-bucket`,
//!   `leaky-bucket`, `fixed-window` (the limiter of all files of envoyproxy/ratelimit) and the `sliding-` ones. The
//!   others measure a rate or imitate a server, and can't: the call then fails with `UNIMPLEMENTED`, and nothing is
//!   counted. Hits that are given back are in no counter.
//! * Requests for a **domain** without rules pass, and are counted as such.
//! * If the **store** can't be asked and the rule that decides says `on_store_failure: refuse`, the call
//!   fails with `UNAVAILABLE`. Envoy's `failure_mode_deny` says what becomes of the request then. No rule decides about a
//!   limit that a descriptor brings along, so this process goes on with it.
//! * A limiter that would **delay** an event (`leaky-bucket`) refuses it here, and says how long it would
//!   have waited, since a proxy can't wait.
//!
//! # What the answer says
//! Beside the codes: `current_limit` with the quota of the limit that decided (its unit is the longest
//! that divides its time, with `unit_multiplier`), `limit_remaining`, `duration_until_reset` (for a
//! refusal, when the same would pass), the [headers of the layer](ratescope_tower::headers) as
//! `response_headers_to_add`, and as `dynamic_metadata` the names of the rules that refuse.
//!
//! # Configurations
//! The folder `examples/run` has rules and configurations of Envoy, nginx, Caddy, systemd, a container and Kubernetes.
//! Those of the servers are tested with them. nginx's `auth_request` knows only 2xx, 401 and 403: there, ask for
//! `/auth?refused=403` and make it 429 (`Retry-After` can be taken along). Caddy's `forward_auth` and Traefik's
//! `forwardAuth` pass the 429 on as it is, with its headers and its body. Envoy answers 429 itself, with the headers of
//! the service; `failure_mode_deny` says what becomes of a request without the service.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decide;
mod domain;
mod files;
mod forms;
mod grpc;
mod http;
mod json;
mod message;
pub mod meters;
mod overrides;
mod pass;
mod response;
mod states;
mod unread;

pub use decide::NoAnswer;
pub use files::{Changed, FileHealth};
pub use forms::{Form, Forms};
pub use grpc::{Grpc, NAME};
pub use http::{Http, HttpSettings};
pub use message::{
    Code, DescriptorStatus, Entry, HeaderValue, RateLimit, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse, Unit,
};
pub use states::States;

use arc_swap::ArcSwap;
use domain::DomainStore;
use files::Files;
use overrides::Overrides;
use ratescope::clock::{Clock, SystemClock};
use ratescope::policy::KeySecret;
use ratescope::rules::{AsyncStore, Fault, Memory, Reloaded, Rules, RulesError};
use ratescope::time::Time;
use ratescope_live::Probe;
use ratescope_tower::internal::Outages;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use unread::Unread;

/// The descriptions of all messages, for clients that ask for them by reflection. In `src/proto`,
/// `protoc -I. --include_imports --descriptor_set_out=descriptors.bin envoy/service/ratelimit/v3/rls.proto`
/// makes them.
pub const DESCRIPTORS: &[u8] = include_bytes!("proto/descriptors.bin");

/// Rules by their domains, with their states.
pub struct Service<C = SystemClock> {
    states: States,
    clock: C,
    domains: ArcSwap<BTreeMap<String, Arc<DomainStore>>>,
    /// Held while a domain is added.
    adding: Mutex<()>,
    overrides: Overrides,
    probe: Arc<Probe>,
    key_secret: KeySecret,
    /// Those of the Redis of its states.
    outages: Arc<Outages>,
    forms: Arc<Forms>,
    unread: Unread,
    /// The files that are followed; one look at a time.
    files: Mutex<Files>,
    /// Each file that is followed, with its problem.
    health: ArcSwap<Vec<FileHealth>>,
}

impl<C: Clock> Service<C> {
    /// A service without rules, by this clock.
    pub fn new(states: States, clock: C) -> Self {
        Self::with_probe(states, clock, Arc::default())
    }

    /// The same, seen by this probe.
    pub fn with_probe(states: States, clock: C, probe: Arc<Probe>) -> Self {
        meters::describe();
        Service {
            overrides: Overrides::default(),
            key_secret: KeySecret::EMPTY,
            probe,
            outages: Arc::default(),
            forms: Arc::default(),
            unread: Unread::default(),
            states,
            clock,
            domains: ArcSwap::default(),
            adding: Mutex::default(),
            files: Mutex::default(),
            health: ArcSwap::default(),
        }
    }

    /// The same with this secret for the [secret fields](ratescope::policy::Per) of keys; the default is
    /// [`KeySecret::EMPTY`]. It is meant for a service that has no rules yet.
    #[must_use]
    pub fn with_key_secret(self, key_secret: KeySecret) -> Self {
        Service { key_secret, ..self }
    }

    /// The same, with fields in these forms. Rules that were added before are not checked again.
    pub fn reading(self, forms: Forms) -> Self {
        Service { forms: Arc::new(forms), ..self }
    }

    /// The answer to a request that can't be read.
    fn refuse_unread(&self, why: &str, descriptors: usize) -> RateLimitResponse {
        self.unread.refuse(why, descriptors, self.clock.now())
    }

    /// Adds the rules of a text; `file` is its name, for errors.
    ///
    /// # Errors
    /// If the rules are wrong, can't be computed where the states are, or are for a domain that there is
    /// already.
    pub fn add(&self, file: &str, text: &str) -> Result<(), RulesError> {
        self.put(Rules::read(file, text)?).map(drop)
    }

    fn put(&self, rules: Rules) -> Result<Arc<DomainStore>, RulesError> {
        // One at a time: the probe, too, is told of the rules of a domain once.
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let name = rules.domain().to_owned();
        if let Some(other) = self.domain(&name) {
            let there = other.rules();
            return Err(rules.wrong(format!(
                "the domain {name} is in {} already; one domain goes into one file",
                there.file()
            )));
        }
        self.forms.check(&rules)?;
        let domain = self.open(rules.with_key_secret(self.key_secret.clone()))?;
        self.domains.rcu(|domains| {
            let mut domains = BTreeMap::clone(domains);
            domains.insert(name.clone(), Arc::clone(&domain));
            domains
        });
        Ok(domain)
    }

    fn open(&self, rules: Rules) -> Result<Arc<DomainStore>, RulesError> {
        Ok(domain::of(self.states.open(rules)?, &self.probe, &self.outages))
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
        self.domains.load().values().map(|domain| domain.rules()).collect()
    }

    /// The size of the memory of each domain whose states are in this process. Overrides are left out.
    pub fn memory(&self) -> Vec<(String, Memory)> {
        let all = self.domains.load();
        let each = all.iter().filter_map(|(name, domain)| Some((name.clone(), domain.memory()?)));
        each.collect()
    }

    /// Asks whether the Redis of its states answers, as [`RedisStore::ping`](ratescope_redis::RedisStore::ping) does,
    /// and logs it if that has changed.
    ///
    /// # Errors
    /// As there; never for states in memory.
    pub async fn ping(&self) -> Result<(), Fault> {
        let answer = self.states.ping().await;
        let now = self.clock.now();
        match &answer {
            Ok(()) => self.outages.answered(None, now),
            Err(fault) => self.outages.failed(fault, None, now),
        }
        answer
    }

    /// The probe through which it is seen.
    pub fn probe(&self) -> &Arc<Probe> {
        &self.probe
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    fn domain(&self, name: &str) -> Option<Arc<DomainStore>> {
        self.domains.load().get(name).map(Arc::clone)
    }

    /// The only domain; the outer `None` if there are several, the inner one if there is none.
    fn only(&self) -> Option<Option<Arc<DomainStore>>> {
        let domains = self.domains.load();
        let mut each = domains.values();
        let first = each.next();
        each.next().is_none().then(|| first.map(Arc::clone))
    }
}

/// Puts the text of a file in force; its domain stays.
fn reload(domain: &DomainStore, forms: &Forms, file: &str, text: &str, now: Time) -> Reloaded {
    let before = domain.rules();
    let read = Rules::read(file, text).and_then(|rules| forms.check(&rules).map(|()| rules));
    match read {
        Err(error) => Reloaded::Rejected(error),
        Ok(rules) if rules.domain() != before.domain() => Reloaded::Rejected(rules.wrong(format!(
            "the domain of a file can't change while it is in force; it is {}",
            before.domain()
        ))),
        Ok(rules) => domain.replace(rules.with_key_secret(before.key_secret()), now),
    }
}

/// Runs the examples of the README, which use crates that this one depends on.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

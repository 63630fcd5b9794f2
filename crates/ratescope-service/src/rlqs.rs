//! Envoy's rate limit quota service (RLQS): an Envoy decides by itself about events that it was assigned.
//!
//! Envoy groups requests into *buckets*, and reports what it has allowed and refused in each. It is assigned a number of
//! events, which are counted in the limits before: a lease, as in [`ratescope::share`]. An assignment replaces the one
//! before it. Once that is certain, the unused part of it is given back.
//!
//! The bucket id has the fields of an event, as those of `/check` by HTTP, since it has no order. An Envoy is assigned
//! as many events as it uses in a second at the pace of its last report, and a tenth of those that the limits admit from
//! rest for more than that, unless the bucket is [resting](RESTING); at most those that are left, divided by the streams
//! with the same bucket. It gets a new assignment at each report, and each second while the last one may be used up
//! within a second.
//!
//! **What passes.** Let B(w) be the most that the limits admit in any window of length w. Events that pass in a window
//! were assigned and not used when it began, or were counted in it and not given back. Counted events obey the limits.
//! So at most B(w) events pass, and those that were assigned and not used when the window began.
//!
//! A log or a window counts an event until a fixed time after it was counted. So there, events that pass in a window of
//! length w were counted in the window of w + a that ends with it, where a is the longest time for which an Envoy uses an
//! assignment, and at most B(w + a) pass. A report does not say which assignment was used, so the one before may stand
//! for it: for a busy bucket, a is two seconds and the delay of the answer; for others at most the time between three
//! reports; and if the stream breaks, [`TTL`].
//!
//! Three kinds of events pass besides these: those that an Envoy admits without an assignment, which are counted when
//! they are reported, at most twice as many as the least limit admits from rest; the rest of an assignment that is given
//! back while the next one is delayed by more than a second; and those that are decided while the store can't be asked.
//!
//! **What Envoy does**, as tried with 1.40. It reports all buckets every 5 s, whatever `reporting_interval` says, and a new
//! bucket at once. It knows blanket rules and token buckets, and ignores `requests_per_time_unit`. A token bucket that
//! replaces another one takes over the part that is left there; after `DENY_ALL` it begins full, so each assignment is
//! preceded by that. The time to live counts in whole seconds, and an assignment without one has ended.

pub(super) mod message;

use super::decide::{DETAILS, NoAnswer};
use super::domain::Domain;
use super::forms::Named;
use super::message::Entry;
use super::{Forms, Service};
use message::{BlanketRule, BucketAction, BucketId, RateLimitStrategy, TokenBucket};
use message::{RateLimitQuotaResponse, RateLimitQuotaUsageReports};
use prost::Message;
use prost_types::Duration;
use ratescope::clock::{Clock, SystemClock};
use ratescope::event::{Event, Fields};
use ratescope::internal::Ask;
use ratescope::limit::MAX_COST;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Rule, Rules, Store};
use ratescope::share::from_rest;
use ratescope::time::{Span, Time};
use ratescope_tower::internal::retry;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// How often a bucket in use gets an assignment.
pub(super) const RENEWAL: Span = Span::from_secs(1);

/// How long an assignment can be used, in seconds: twice the interval of reports.
const TTL: i64 = 10;

/// The time without a report after which a bucket gets no more assignments.
const SILENT: Span = Span::from_secs(15);

/// The time without an event after which a bucket is abandoned.
const IDLE: Span = Span::from_mins(1);

/// The time without an event after which a bucket gets a single one: the events that it has when it is abandoned stay
/// counted.
const RESTING: Span = Span::from_secs(50);

/// The interval in which Envoy's token bucket gets a token: about 12 days. So it has no more tokens than are assigned.
/// As it is a power of two, no token is lost to rounding.
const FILL: i64 = 1 << 20;

/// The most assignments of a bucket that may be unused: one for each second until it is [`SILENT`]. The events of
/// further ones stay counted.
const LEASES: usize = 16;

/// The bytes of the bucket ids of one stream, each with [`OVERHEAD`]. Further buckets are counted and abandoned.
const ROOM: usize = 64 << 10;

/// The longest message in bytes. An Envoy reports all of its buckets at once, with some 40 bytes each, and after an
/// outage it has one for each user that came meanwhile. If that were too long, it would report the same again for ever.
pub(super) const LONGEST: usize = 1 << 20;

/// The bytes of a bucket besides its id.
const OVERHEAD: usize = 64;

/// The streams that have a bucket, by its domain and id.
#[derive(Default)]
pub(super) struct Holders(Mutex<BTreeMap<BucketOf, Arc<()>>>);

/// A bucket with its domain.
type BucketOf = (Arc<str>, BucketId);

impl Holders {
    fn join(&self, domain: &Arc<str>, id: &BucketId) -> Arc<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry((Arc::clone(domain), id.clone())).or_default())
    }

    fn leave(&self, domain: &Arc<str>, id: &BucketId, bucket: Bucket) {
        let key = (Arc::clone(domain), id.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(bucket);
        if all.get(&key).is_some_and(|holders| Arc::strong_count(holders) == 1) {
            all.remove(&key);
        }
    }
}

/// A bucket of one Envoy.
struct Bucket {
    /// The assignments that may be unused, the oldest first.
    leases: VecDeque<Lease>,
    /// How many of these events were not reported as used.
    held: u64,
    /// The events in a second, by the last report.
    pace: f64,
    reported: Time,
    /// The last report of any event.
    used: Time,
    /// One for each stream that has it, and one more.
    holders: Arc<()>,
}

impl Bucket {
    /// True if its last assignment may be used up within a second, at the pace of the last report.
    fn is_due(&self, now: Time) -> bool {
        let lasts =
            |lease: &Lease| self.pace * (now.since(lease.sent) + 1.0) <= lease.events as f64;
        now < self.reported.after(SILENT) && !self.leases.back().is_some_and(lasts)
    }

    /// Notes an assignment.
    fn take(&mut self, assignment: &Assignment, sent: Time, counted: Time) {
        let events = if let Assignment::Events(n) = assignment { (*n).into() } else { 0 };
        self.held += events;
        if self.leases.len() == LEASES {
            let oldest = self.leases.pop_front().map_or(0, |lease| lease.events);
            self.held = self.held.saturating_sub(oldest);
        }
        self.leases.push_back(Lease { events, sent, counted });
    }
}

/// Events that were counted in advance; none, if the Envoy was told to allow or to refuse everything.
struct Lease {
    events: u64,
    sent: Time,
    /// When they were counted, by the clock of the store.
    counted: Time,
}

enum Assignment {
    AllowAll,
    DenyAll,
    Events(u32),
}

/// The stream of one Envoy.
pub struct QuotaStream<C: Clock = SystemClock> {
    service: Arc<Service<C>>,
    /// As long as its Envoy likes, so each bucket has the same one.
    domain: Arc<str>,
    buckets: BTreeMap<BucketId, Bucket>,
    room: usize,
}

impl<C: Clock> QuotaStream<C> {
    /// A stream on which nothing was reported yet.
    pub fn new(service: Arc<Service<C>>) -> Self {
        QuotaStream { service, domain: "".into(), buckets: BTreeMap::new(), room: ROOM }
    }

    /// Counts the events that an Envoy reports, and assigns events to the buckets that it names.
    ///
    /// # Errors
    /// If the reports are malformed.
    pub async fn report(
        &mut self,
        reports: RateLimitQuotaUsageReports,
    ) -> Result<RateLimitQuotaResponse, NoAnswer> {
        let invalid = |why: &str| Err(NoAnswer::Invalid(why.to_owned()));
        if self.domain.is_empty() {
            self.domain = reports.domain.into();
        } else if !reports.domain.is_empty() && *reports.domain != *self.domain {
            return invalid("a stream is for one domain");
        }
        if self.domain.is_empty() {
            return invalid("the domain is missing");
        }
        if self.service.domain(&self.domain).is_none() {
            self.service.meters().count_unknown_domain();
        }
        let mut sums = BTreeMap::<BucketId, [u64; 2]>::new();
        for usage in reports.bucket_quota_usages {
            let id = usage.bucket_id.unwrap_or_default().sorted();
            if id.bucket.is_empty() {
                return invalid("a bucket id has no entries");
            }
            let [allowed, denied] = sums.entry(id).or_default();
            *allowed = allowed.saturating_add(usage.num_requests_allowed);
            *denied = denied.saturating_add(usage.num_requests_denied);
        }
        let mut actions = Vec::new();
        let begun = self.service.clock.now();
        for (id, [allowed, denied]) in sums {
            let now = self.service.clock.now();
            let limits = BucketLimits::new(&self.service, &self.domain, &id);
            let size = id.encoded_len() + OVERHEAD;
            if !self.buckets.contains_key(&id) && size > self.room {
                limits.count_late(allowed, now).await;
                actions.push(BucketAction::new(&id, None));
                continue;
            }
            let bucket = self.buckets.entry(id.clone()).or_insert_with(|| {
                self.room -= size;
                let holders = self.service.holders.join(&self.domain, &id);
                let leases = VecDeque::new();
                Bucket { leases, held: 0, pace: 0.0, reported: begun, used: begun, holders }
            });
            limits.settle(bucket, allowed, denied, begun).await;
            if bucket.used.after(IDLE) <= begun {
                actions.push(BucketAction::new(&id, None));
                self.room += size;
                // Envoy may have used the rest without reporting it, so it stays counted.
                if let Some(bucket) = self.buckets.remove(&id) {
                    self.service.holders.leave(&self.domain, &id, bucket);
                }
                continue;
            }
            let (assignment, counted) = limits.decide(bucket, denied, now).await;
            bucket.take(&assignment, now, counted);
            actions.extend(assignment.actions(&id));
        }
        self.sent(begun);
        Ok(RateLimitQuotaResponse { bucket_action: actions })
    }

    /// Assigns events to the buckets whose last assignment may be used up soon. Call it every second.
    pub async fn renew(&mut self) -> RateLimitQuotaResponse {
        let mut actions = Vec::new();
        let begun = self.service.clock.now();
        for (id, bucket) in &mut self.buckets {
            let now = self.service.clock.now();
            if bucket.is_due(now) {
                let limits = BucketLimits::new(&self.service, &self.domain, id);
                let (assignment, counted) = limits.decide(bucket, 0, now).await;
                // Otherwise it keeps its last assignment, which may not be used up yet.
                if matches!(assignment, Assignment::Events(_)) {
                    bucket.take(&assignment, now, counted);
                    actions.extend(assignment.actions(id));
                }
            }
        }
        self.sent(begun);
        RateLimitQuotaResponse { bucket_action: actions }
    }

    /// Notes that what was assigned since `begun` is sent only now: a slow store was asked about one bucket after the
    /// other.
    fn sent(&mut self, begun: Time) {
        let now = self.service.clock.now();
        let last = self.buckets.values_mut().filter_map(|bucket| bucket.leases.back_mut());
        last.filter(|lease| lease.sent >= begun).for_each(|lease| lease.sent = now);
    }
}

impl<C: Clock> Drop for QuotaStream<C> {
    /// The Envoy may still use its assignments, so they stay counted.
    fn drop(&mut self) {
        for (id, bucket) in core::mem::take(&mut self.buckets) {
            self.service.holders.leave(&self.domain, &id, bucket);
        }
    }
}

/// The limits that are asked about a bucket.
struct BucketLimits<'a> {
    domain: Option<Arc<Domain>>,
    /// In their normal forms.
    fields: SmallVec<[(Cow<'a, str>, Cow<'a, str>); 4]>,
    forms: &'a Forms,
    /// True if rules are about a path that servers read in different ways.
    is_doubtful: bool,
    /// `None` without a limit.
    most: Option<Most>,
}

impl<'a> BucketLimits<'a> {
    fn new<C: Clock>(service: &'a Service<C>, domain: &str, id: &'a BucketId) -> Self {
        let (domain, forms) = (service.domain(domain), &*service.forms);
        let each = || id.bucket.iter().map(|Entry { key, value }| (key.as_str(), value.as_str()));
        let fields: SmallVec<_> =
            each().map(|(key, value)| (key.into(), forms.read(key, value))).collect();
        let rules = domain.as_ref().map(|domain| domain.store.rules());
        let is_doubtful = rules.as_ref().is_some_and(|rules| {
            each().any(|(key, value)| forms.doubt(key, value, rules).is_some())
        });
        let named = Named { fields: &fields, forms };
        let most = rules.and_then(|rules| most(&rules, &named));
        BucketLimits { domain, fields, forms, is_doubtful, most }
    }

    fn fields(&self) -> Named<'_> {
        Named { fields: &self.fields, forms: self.forms }
    }

    /// Takes a report of a bucket.
    async fn settle(&self, bucket: &mut Bucket, allowed: u64, denied: u64, now: Time) {
        let events = allowed.saturating_add(denied);
        bucket.pace = events as f64 / now.since(bucket.reported).max(1.0);
        bucket.reported = now;
        if events > 0 {
            bucket.used = now;
        }
        let mut ended = Vec::new();
        // The clock may have been set back.
        bucket.leases.iter_mut().for_each(|lease| lease.sent = lease.sent.min(now));
        // The Envoy has had the next one for a while.
        while bucket.leases.get(1).is_some_and(|next| next.sent.after(RENEWAL) <= now) {
            ended.extend(bucket.leases.pop_front());
        }
        let in_hand = bucket.leases.iter().map(|lease| lease.events).sum();
        let mut spare = bucket.held.saturating_sub(allowed).saturating_sub(in_hand);
        let uncounted = allowed.saturating_sub(bucket.held);
        bucket.held = bucket.held.saturating_sub(allowed).min(in_hand);
        let is_drained = self.most.as_ref().is_some_and(|most| most.is_drained);
        // The oldest first: they count for the shortest time from now on.
        for lease in ended {
            let back = lease.events.min(spare);
            spare -= back;
            // A bucket takes it back as if it had counted it now. Otherwise each assignment would lose the part that has
            // drained since, and as two are out at a time, an Envoy with a few requests would fill the bucket.
            let since = if is_drained { lease.sent.until(now) } else { Span::ZERO };
            let at = lease.counted.after(since);
            self.count(-(back as f64), at, now).await;
        }
        self.count_late(uncounted, now).await;
    }

    /// Counts events that have passed without an assignment, at most twice as many as the limits admit from rest.
    async fn count_late(&self, events: u64, now: Time) {
        let cost = self.most.as_ref().map_or(0.0, |most| (events as f64).min(2.0 * most.events));
        self.count(cost, now, now).await;
    }

    async fn count(&self, cost: f64, at: Time, now: Time) {
        if let Some(domain) = self.domain.as_ref().filter(|_| cost != 0.0) {
            let event = Event { time: at, cost, fields: &self.fields() };
            // If it can't be given back, it stays counted.
            let _ = domain.store.settle_async(&event, now, None).await;
        }
    }

    /// Decides on an assignment, counts it, and returns the time at which it was counted.
    async fn decide(&self, bucket: &Bucket, denied: u64, now: Time) -> (Assignment, Time) {
        let Some(domain) = &self.domain else { return (Assignment::AllowAll, now) };
        if self.is_doubtful {
            return (Assignment::DenyAll, now);
        }
        let Some(most) = &self.most else { return (Assignment::AllowAll, now) };
        let fields = self.fields();
        let event = |cost| Event { time: now, cost, fields: &fields };
        let look = domain.store.peek_async(&event(1.0), DETAILS).await;
        let wanted = match (retry(&look), look.quota()) {
            (Some(_), _) if denied == 0 => return (Assignment::DenyAll, now),
            // They are counted as refused.
            (Some(_), _) => denied as f64,
            (None, None) => return (Assignment::AllowAll, now),
            (None, Some(quota)) => {
                let holders = Arc::strong_count(&bucket.holders).saturating_sub(1).max(1) as f64;
                let is_resting = bucket.used.after(RESTING) <= now;
                let more = if is_resting { 0.0 } else { (most.events / 10.0 / holders).floor() };
                let wanted = bucket.pace.ceil() + more;
                let wanted = wanted.min((quota.remaining / holders).floor()).max(1.0);
                let is_refused = most.may_refuse_sums
                    && retry(&domain.store.peek_async(&event(wanted), DETAILS).await).is_some();
                if is_refused { 1.0 } else { wanted }
            }
        };
        let events =
            if most.is_one { 1.0 } else { wanted.clamp(1.0, MAX_COST.min(u32::MAX.into())) };
        let event = event(events);
        let decision = domain.store.check_async(&event, DETAILS).await;
        domain.front.record(&event, &decision, now);
        match retry(&decision) {
            None => (Assignment::Events(events as u32), decision.time),
            Some(_) => (Assignment::DenyAll, now),
        }
    }
}

/// The most that may be assigned.
struct Most {
    /// The events that the limits admit from rest.
    events: f64,
    /// True if a rule has a cost of its own, which counts once for any number of events.
    is_one: bool,
    /// True if all limits are buckets.
    is_drained: bool,
    /// True if a limit may refuse at once what it admits one after the other, as a queue and a measured rate.
    may_refuse_sums: bool,
}

/// The most that may be assigned by the limits that apply to an event with these fields; `None` if there are none.
fn most(rules: &Rules, fields: &dyn Fields) -> Option<Most> {
    let asks = rules.ask(&Event { time: Time::ZERO, cost: 1.0, fields: &fields }, None);
    let has_cost = |rule: &Rule| rule.cost().is_some();
    let is_one = asks.iter().any(|ask| rules.rules().get(ask.rule).is_some_and(has_cost));
    let limiter = |ask: &Ask| Some(&rules.plan().get(ask.at)?.limit.limiter);
    let firm = asks.iter().filter(|ask| ask.is_firm()).filter_map(limiter);
    let events = firm.map(from_rest).reduce(f64::min)?;
    let limiters = || asks.iter().filter_map(limiter);
    let is_bucket =
        |one: &AnyLimiter| matches!(one, AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_));
    let is_drained = limiters().all(is_bucket);
    let may_refuse_sums = limiters().any(|one| one.delays() || !one.can_undo());
    Some(Most { events, is_one, is_drained, may_refuse_sums })
}

impl Assignment {
    fn actions(&self, id: &BucketId) -> impl Iterator<Item = BucketAction> {
        let action = |strategy| BucketAction::new(id, Some(strategy));
        let blanket = |rule: BlanketRule| RateLimitStrategy {
            blanket_rule: Some(rule.into()),
            token_bucket: None,
        };
        let first = match self {
            Assignment::AllowAll => BlanketRule::AllowAll,
            _ => BlanketRule::DenyAll,
        };
        let second = match self {
            Assignment::Events(events) => Some(RateLimitStrategy {
                blanket_rule: None,
                token_bucket: Some(TokenBucket {
                    max_tokens: *events,
                    tokens_per_fill: Some(1),
                    fill_interval: Some(Duration { seconds: FILL, nanos: 0 }),
                }),
            }),
            _ => None,
        };
        [Some(action(blanket(first))), second.map(action)].into_iter().flatten()
    }
}

//! The messages of Envoy's rate limit quota service. Names and numbers are those of
//! `envoy/service/rate_limit_quota/v3/rlqs.proto` and of `envoy/type/v3/ratelimit_strategy.proto` (Envoy 1.40, Apache
//! License 2.0), reduced to the parts that are read or written here.

use super::super::message::Entry;
use super::TTL;
use prost::{Enumeration, Message};
use prost_types::Duration;
use std::collections::BTreeMap;

/// The requests that an Envoy has allowed and refused since its last report.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitQuotaUsageReports {
    /// The name of the rules; it may be missing after the first report.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The requests of each bucket.
    #[prost(message, repeated, tag = "2")]
    pub bucket_quota_usages: Vec<BucketQuotaUsage>,
}

/// The requests of a bucket. The time since the last report is taken from the clock of the service.
#[derive(Clone, PartialEq, Message)]
pub struct BucketQuotaUsage {
    /// The bucket.
    #[prost(message, optional, tag = "1")]
    pub bucket_id: Option<BucketId>,
    /// The requests that have passed.
    #[prost(uint64, tag = "3")]
    pub num_requests_allowed: u64,
    /// The requests that were refused.
    #[prost(uint64, tag = "4")]
    pub num_requests_denied: u64,
}

/// The keys and values of a bucket: a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct BucketId {
    /// The entries of the map.
    #[prost(message, repeated, tag = "1")]
    pub bucket: Vec<Entry>,
}

impl BucketId {
    /// Sorted by keys, without those that occur again later.
    pub(super) fn sorted(self) -> Self {
        let map: BTreeMap<String, String> =
            self.bucket.into_iter().map(|entry| (entry.key, entry.value)).collect();
        BucketId { bucket: map.into_iter().map(|(key, value)| Entry { key, value }).collect() }
    }
}

/// Tells an Envoy how to treat its buckets.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitQuotaResponse {
    /// The actions, in the order in which they are followed.
    #[prost(message, repeated, tag = "1")]
    pub bucket_action: Vec<BucketAction>,
}

/// Assigns events to a bucket, or abandons it.
#[derive(Clone, PartialEq, Message)]
pub struct BucketAction {
    /// The bucket.
    #[prost(message, optional, tag = "1")]
    pub bucket_id: Option<BucketId>,
    /// Decides by this from now on.
    #[prost(message, optional, tag = "2")]
    pub quota_assignment_action: Option<QuotaAssignmentAction>,
    /// Forgets the bucket until its next request.
    #[prost(message, optional, tag = "3")]
    pub abandon_action: Option<AbandonAction>,
}

impl BucketAction {
    /// Assigns a strategy, or abandons the bucket.
    pub(super) fn new(id: &BucketId, strategy: Option<RateLimitStrategy>) -> Self {
        BucketAction {
            bucket_id: Some(id.clone()),
            abandon_action: strategy.is_none().then_some(AbandonAction {}),
            quota_assignment_action: strategy.map(|strategy| QuotaAssignmentAction {
                assignment_time_to_live: Some(Duration { seconds: TTL, nanos: 0 }),
                rate_limit_strategy: Some(strategy),
            }),
        }
    }
}

/// An assignment.
#[derive(Clone, PartialEq, Message)]
pub struct QuotaAssignmentAction {
    /// How long it is valid.
    #[prost(message, optional, tag = "2")]
    pub assignment_time_to_live: Option<Duration>,
    /// How to decide.
    #[prost(message, optional, tag = "3")]
    pub rate_limit_strategy: Option<RateLimitStrategy>,
}

/// Forgets a bucket.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct AbandonAction {}

/// How an Envoy decides: one of both.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitStrategy {
    /// All alike.
    #[prost(enumeration = "BlanketRule", optional, tag = "1")]
    pub blanket_rule: Option<i32>,
    /// By a token bucket.
    #[prost(message, optional, tag = "3")]
    pub token_bucket: Option<TokenBucket>,
}

/// Allows or refuses everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum BlanketRule {
    /// Allows everything.
    AllowAll = 0,
    /// Refuses everything.
    DenyAll = 1,
}

/// A bucket that begins full.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct TokenBucket {
    /// Its tokens.
    #[prost(uint32, tag = "1")]
    pub max_tokens: u32,
    /// The tokens that it gets in each interval.
    #[prost(message, optional, tag = "2")]
    pub tokens_per_fill: Option<u32>,
    /// The interval.
    #[prost(message, optional, tag = "3")]
    pub fill_interval: Option<Duration>,
}

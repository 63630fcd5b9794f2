//! The messages of Envoy's rate limit service, for gRPC and as JSON.
//!
//! Names and numbers are those of `envoy/service/ratelimit/v3/rls.proto` and of
//! `envoy/extensions/common/ratelimit/v3/ratelimit.proto` (Envoy 1.40, Apache License 2.0), without the fields that
//! nobody sends: quotas and bodies. As JSON they are written as in the mapping of Protocol Buffers; names are read in
//! both of its forms, such as `hitsAddend` and `hits_addend`.

use super::json;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Enumeration, Message};
use ratescope_tower::internal::text;
use serde::{Deserialize, Serialize};

/// Asks whether a request may pass.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitRequest {
    /// The name of the rules.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The lists of keys and values; every one of them has to pass.
    #[prost(message, repeated, tag = "2")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// The hits of each descriptor without its own; 0 means 1.
    #[prost(uint32, tag = "3")]
    #[serde(alias = "hits_addend", deserialize_with = "json::number")]
    pub hits_addend: u32,
}

/// A list of keys and values.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitDescriptor {
    /// Keys and values, in the order in which rules are nested.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    /// A limit in place of the rules.
    #[prost(message, optional, tag = "2")]
    pub limit: Option<RateLimitOverride>,
    /// How many hits; 0 peeks.
    #[prost(message, optional, tag = "3")]
    #[serde(alias = "hits_addend", deserialize_with = "json::maybe_number")]
    pub hits_addend: Option<u64>,
    /// Gives the hits back.
    #[prost(bool, tag = "4")]
    #[serde(alias = "is_negative_hits")]
    pub is_negative_hits: bool,
}

/// A key and its value.
///
/// Envoy puts the bytes of headers into these strings, even bytes that are not UTF-8: these are read as [the
/// layer](ratescope_tower) reads headers, so that different bytes are different values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    /// The key: `tag = "1"`.
    pub key: String,
    /// The value: `tag = "2"`.
    pub value: String,
}

impl Message for Entry {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for (tag, text) in [(1, &self.key), (2, &self.value)] {
            if !text.is_empty() {
                encoding::string::encode(tag, text, buf);
            }
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        let field = match tag {
            1 => &mut self.key,
            2 => &mut self.value,
            _ => return encoding::skip_field(wire_type, tag, buf, context),
        };
        let mut bytes = Vec::new();
        encoding::bytes::merge(wire_type, &mut bytes, buf, context)?;
        *field = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => text(error.as_bytes()).into_owned(),
        };
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        let each = [(1, &self.key), (2, &self.value)].into_iter();
        let each = each.filter(|(_, text)| !text.is_empty());
        each.map(|(tag, text)| encoding::string::encoded_len(tag, text)).sum()
    }

    fn clear(&mut self) {
        *self = Entry::default();
    }
}

/// A limit that a request brings along: a count in each window of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitOverride {
    /// The most in each window.
    #[prost(uint32, tag = "1")]
    #[serde(alias = "requests_per_unit", deserialize_with = "json::number")]
    pub requests_per_unit: u32,
    /// The unit of the window.
    #[prost(enumeration = "Unit", tag = "2")]
    #[serde(deserialize_with = "json::name::<_, Unit>")]
    pub unit: i32,
    /// The window in units; 0 and `None` mean 1.
    #[prost(message, optional, tag = "3")]
    #[serde(alias = "unit_multiplier", deserialize_with = "json::maybe_number")]
    pub unit_multiplier: Option<u32>,
}

/// The answer.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitResponse {
    /// The verdict about the request.
    #[prost(enumeration = "Code", tag = "1")]
    #[serde(serialize_with = "json::as_name::<_, Code>")]
    pub overall_code: i32,
    /// One for each descriptor, in their order.
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<DescriptorStatus>,
    /// Headers for the client.
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers_to_add: Vec<HeaderValue>,
    /// Which rules refused, or when hits were counted, for the proxy.
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::as_metadata")]
    pub dynamic_metadata: Option<prost_types::Struct>,
}

/// The answer about one descriptor.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescriptorStatus {
    /// The verdict about the descriptor.
    #[prost(enumeration = "Code", tag = "1")]
    #[serde(serialize_with = "json::as_name::<_, Code>")]
    pub code: i32,
    /// The limit that decided; `None` if there is none.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_limit: Option<RateLimit>,
    /// How much the limit still admits.
    #[prost(uint32, tag = "3")]
    #[serde(skip_serializing_if = "json::is_zero")]
    pub limit_remaining: u32,
    /// The time until the whole limit is available again, or until the refused request would pass.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::as_seconds")]
    pub duration_until_reset: Option<prost_types::Duration>,
}

/// A limit in words of the protocol; for other limits than windows, their quota.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// The name of the rule.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The count.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// The unit of time; `Unknown` if the quota's span is not a multiple of any unit.
    #[prost(enumeration = "Unit", tag = "2")]
    #[serde(serialize_with = "json::as_name::<_, Unit>")]
    pub unit: i32,
    /// The span in units; `None` means 1.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_multiplier: Option<u32>,
}

/// A header.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct HeaderValue {
    /// The name of the header.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value of the header.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(i32)]
pub enum Code {
    /// Not known; it is never sent.
    Unknown = 0,
    /// The request may pass.
    Ok = 1,
    /// The request may not pass.
    OverLimit = 2,
}

/// A unit of time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration, Serialize, Deserialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(i32)]
pub enum Unit {
    /// Not known.
    Unknown = 0,
    /// A second.
    Second = 1,
    /// A minute.
    Minute = 2,
    /// An hour.
    Hour = 3,
    /// A day.
    Day = 4,
    /// 30 days.
    Month = 5,
    /// 365 days.
    Year = 6,
    /// Seven days.
    Week = 7,
}

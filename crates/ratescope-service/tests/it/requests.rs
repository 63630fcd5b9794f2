//! Requests, and a service that answers them by a clock that stands still.
#![allow(dead_code)] // Each test file uses its part.

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use prost_types::value::Kind;
use ratescope::Time;
use ratescope::clock::{Clock, FakeClock};
use ratescope_service::{
    Entry, Http, NoAnswer, RateLimitDescriptor, RateLimitRequest, RateLimitResponse, Service,
    States,
};
use std::net::{IpAddr, Ipv4Addr};

pub(crate) const RULES: &str = "
domain: web
descriptors:
- key: user
  limit: gcra 2/1m
- key: path
  value: /login
  descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 3}
- key: seen
  shadow: true
  rate_limit: {unit: hour, requests_per_unit: 1}
- key: free
";

pub(crate) fn service(rules: &str) -> (Service<FakeClock>, FakeClock) {
    let clock = FakeClock::default();
    clock.set(Time::from_micros(1_000_000_000_000_000));
    let service = Service::new(States::in_memory(1000), clock.clone());
    service.add("rules.yaml", rules).unwrap();
    (service, clock)
}

/// A message of gRPC as it is sent: after a flag and its length.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    [&[0], &(message.len() as u32).to_be_bytes()[..], message].concat().into()
}

pub(crate) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry = |&(key, value): &(&str, &str)| Entry { key: key.into(), value: value.into() };
    let entries = entries.iter().map(entry).collect();
    RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }
}

/// The descriptor that gives back hits which were counted at a time in microseconds.
pub(crate) fn back(entries: &[(&str, &str)], hits: u64, counted_at: &str) -> RateLimitDescriptor {
    let hits_addend = Some(hits);
    let entries = [entries, &[("counted_at", counted_at)]].concat();
    RateLimitDescriptor { hits_addend, is_negative_hits: true, ..descriptor(&entries) }
}

/// When the hits of an allowed request were counted, as its answer says.
pub(crate) fn counted_at(answer: &RateLimitResponse) -> String {
    let value = answer.dynamic_metadata.as_ref().and_then(|fields| fields.fields.get("counted_at"));
    match value.and_then(|value| value.kind.clone()) {
        Some(Kind::StringValue(text)) => text,
        other => panic!("{other:?} in {answer:?}"),
    }
}

pub(crate) fn request(descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: "web".into(), descriptors, hits_addend: 0 }
}

/// Asks a service in memory, which answers at once.
pub(crate) fn ask(
    service: &Service<impl Clock>,
    request: &RateLimitRequest,
) -> Result<RateLimitResponse, NoAnswer> {
    service.should_rate_limit(request).now_or_never().expect("memory needs no waiting")
}

/// Sends a GET from this machine to a service in memory; returns the status and the body.
pub(crate) fn get(http: &Http<FakeClock>, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = http::Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(String::new()).unwrap();
    let answer = http.answer(request, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let answer = answer.now_or_never().expect("memory needs no waiting");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

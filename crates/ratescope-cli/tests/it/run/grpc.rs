//! gRPC over a socket: decisions, health, and the descriptions of the protocol that clients ask for.

use super::program::{Channel, Program, SHOULD_RATE_LIMIT, get};
use super::requests::{RULES, descriptor, request};
#[cfg(target_os = "linux")]
use super::servers::program;
use prost::Message;
use prost_types::DescriptorProto;
use ratescope_service::{
    AbandonAction, BucketAction, BucketId, BucketQuotaUsage, QuotaAssignmentAction,
    RateLimitQuotaResponse, RateLimitQuotaUsageReports, RateLimitStrategy, TokenBucket,
};
use ratescope_service::{
    Code, DescriptorStatus, Entry, HeaderValue, RateLimit, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse,
};
use std::collections::{BTreeMap, BTreeSet};
#[cfg(target_os = "linux")]
use std::{path::Path, process::Command};

/// Asks for the health of a service: returns the code of gRPC, and a message whose value is 1 if it serves
/// and 2 if not.
async fn health(channel: &mut Channel, name: &str) -> (u32, Vec<u8>) {
    let mut message = Vec::new();
    prost::encoding::string::encode(1, &name.to_owned(), &mut message);
    channel.call("/grpc.health.v1.Health/Check", &message).await
}

#[tokio::test]
async fn calls_are_decided_and_counted() {
    // By the clock of the machine, so that no window ends meanwhile.
    let program = Program::of(&RULES.replace("unit: hour", "unit: year"), &[]);
    let mut channel = Channel::open(program.grpc).await;
    let ann = request(vec![descriptor(&[("user", "ann")]), descriptor(&[("seen", "x")])]);
    for code in [Code::Ok, Code::Ok, Code::OverLimit, Code::OverLimit] {
        let answer = channel.should_rate_limit(&ann).await.unwrap();
        assert_eq!(answer.overall_code(), code);
    }
    // INVALID_ARGUMENT, UNIMPLEMENTED.
    assert_eq!(channel.should_rate_limit(&request(vec![])).await.unwrap_err(), 3);
    assert_eq!(channel.call("/no.Service/Call", &[]).await.0, 12);

    // The counters are labelled by rules alone: no name of a user is in them.
    let elsewhere = ratescope_service::RateLimitRequest { domain: "nowhere".into(), ..ann };
    channel.should_rate_limit(&elsewhere).await.unwrap();
    let (status, metrics) = get(program.admin, "/metrics", "");
    assert_eq!(status, 200);
    let hits = |key: &str, outcome: &str, n: u32| {
        let labels =
            format!("domain=\"web\",rule=\"web:{key}\",key1=\"{key}\",outcome=\"{outcome}\"");
        format!("\nratescope_hits_total{{{labels}}} {n}\n")
    };
    for line in [
        hits("user", "allowed", 2),
        hits("user", "refused", 2),
        hits("seen", "allowed", 1),
        hits("seen", "shadow_refused", 1),
        "\nratescope_unknown_domains_total 1\n".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    for typed in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let help = format!("# HELP {} ", typed.split(' ').next().unwrap());
        assert!(metrics.contains(&help), "{help} in {metrics}");
    }
    assert!(!metrics.contains("ann") && !metrics.contains("nowhere"), "{metrics}");
}

/// The segments with data that the connection from this port has received.
#[cfg(target_os = "linux")]
fn received(ss: &Path, port: u16) -> u32 {
    let of = format!("sport = :{port}");
    let printed = Command::new(ss).args(["-tinH", &of]).output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    let rest = printed.split("data_segs_in:").nth(1).unwrap_or_else(|| panic!("{printed}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// Answers to calls that come together are written together, though each is longer than 256 bytes: a segment has several.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn answers_to_calls_that_come_together_are_written_together() {
    let Some(ss) = program("SS", "ss") else { return };
    let limits = Program::of(RULES, &[]);
    let stream = tokio::net::TcpStream::connect(limits.grpc).await.unwrap();
    let port = stream.local_addr().unwrap().port();
    let mut channel = Channel::over(stream, limits.grpc).await;
    let users = ["ann", "bob", "eve"].map(|user| descriptor(&[("user", user)]));
    let message = request(users.into()).encode_to_vec();
    assert_eq!(channel.call(SHOULD_RATE_LIMIT, &message).await.0, 0);
    let before = received(&ss, port);
    let frame = [&[0, 0, 0, 0, message.len() as u8], message.as_slice()].concat();
    let mut calls = Vec::new();
    for _ in 0..250 {
        let (answer, mut body) = channel.begin(SHOULD_RATE_LIMIT).await;
        body.send_data(frame.clone().into(), true).unwrap();
        calls.push(answer);
    }
    for answer in calls {
        let mut body = answer.await.unwrap().into_body();
        let mut length = 0;
        while let Some(part) = body.data().await {
            length += part.unwrap().len();
        }
        assert!(length > 256, "{length}");
    }
    let segments = received(&ss, port) - before;
    // It was 11 to 13, and 37 to 172 where each answer was written by itself.
    assert!(segments < 25, "{segments} for 250 answers");
}

#[tokio::test]
async fn health_and_reflection() {
    let program = Program::of(RULES, &[]);
    let mut channel = Channel::open(program.grpc).await;
    for name in ["", ratescope_service::NAME, ratescope_service::QUOTA_NAME, "ratelimit"] {
        assert_eq!(health(&mut channel, name).await, (0, vec![8, 1]), "{name}");
    }
    // Known once the store was asked for the first time.
    while health(&mut channel, "green").await != (0, vec![8, 1]) {}
    assert_eq!(health(&mut channel, "unknown").await.0, 5);
    // The request list_services of the reflection has field 7.
    let mut list = Vec::new();
    prost::encoding::string::encode(7, &"*".to_owned(), &mut list);
    // The request file_containing_symbol has field 4.
    let mut file = Vec::new();
    let name = "envoy.service.ratelimit.v3.RateLimitRequest".to_owned();
    prost::encoding::string::encode(4, &name, &mut file);
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let (code, names) = channel.call(&path, &list).await;
        let names = String::from_utf8_lossy(&names).into_owned();
        assert!(code == 0 && names.contains(ratescope_service::NAME), "{names}");
        let (code, files) = channel.call(&path, &file).await;
        assert!(code == 0 && String::from_utf8_lossy(&files).contains("hits_addend"));
    }
}

/// Each field has the name and the number that the description has, which is made from the files beside it: every text
/// below is the name of its field, and every number is as long as the name is.
#[test]
fn messages_are_as_they_are_described() {
    let entry = Entry { key: "key".into(), value: "value".into() };
    let limit = RateLimitOverride { requests_per_unit: 17, unit: 4, unit_multiplier: Some(15) };
    let described = RateLimitDescriptor {
        entries: vec![entry],
        limit: Some(limit),
        hits_addend: Some(11),
        is_negative_hits: true,
    };
    let request =
        RateLimitRequest { domain: "domain".into(), descriptors: vec![described], hits_addend: 11 };
    let limit = RateLimit {
        name: "name".into(),
        requests_per_unit: 17,
        unit: 4,
        unit_multiplier: Some(15),
    };
    let status = DescriptorStatus {
        code: 4,
        current_limit: Some(limit),
        limit_remaining: 15,
        duration_until_reset: Some(prost_types::Duration::default()),
    };
    let response = RateLimitResponse {
        overall_code: 12,
        statuses: vec![status],
        response_headers_to_add: vec![HeaderValue { key: "key".into(), value: "value".into() }],
        dynamic_metadata: Some(prost_types::Struct::default()),
    };
    let service = "envoy.service.ratelimit.v3";
    let fields = assert_described(&format!(".{service}.RateLimitRequest"), request.encode_to_vec())
        + assert_described(&format!(".{service}.RateLimitResponse"), response.encode_to_vec());
    assert_eq!(fields, 26);
}

#[test]
fn messages_of_quotas_are_as_they_are_described() {
    let entry = || Entry { key: "key".into(), value: "value".into() };
    let id = || Some(BucketId { bucket: vec![entry()] });
    let usage =
        BucketQuotaUsage { bucket_id: id(), num_requests_allowed: 20, num_requests_denied: 19 };
    let reports =
        RateLimitQuotaUsageReports { domain: "domain".into(), bucket_quota_usages: vec![usage] };
    let duration = Some(prost_types::Duration::default());
    let bucket = TokenBucket { max_tokens: 10, tokens_per_fill: Some(1), fill_interval: duration };
    let strategy = RateLimitStrategy { blanket_rule: Some(12), token_bucket: Some(bucket) };
    let assignment = QuotaAssignmentAction {
        assignment_time_to_live: duration,
        rate_limit_strategy: Some(strategy),
    };
    let action = BucketAction {
        bucket_id: id(),
        quota_assignment_action: Some(assignment),
        abandon_action: Some(AbandonAction {}),
    };
    let response = RateLimitQuotaResponse { bucket_action: vec![action] };
    let service = "envoy.service.rate_limit_quota.v3";
    let reports = assert_described(
        &format!(".{service}.RateLimitQuotaUsageReports"),
        reports.encode_to_vec(),
    );
    let response =
        assert_described(&format!(".{service}.RateLimitQuotaResponse"), response.encode_to_vec());
    assert_eq!((reports, response), (8, 14));
}

/// The messages with their names, and those within them.
fn within<'a>(outer: &str, messages: &'a [DescriptorProto]) -> Vec<(String, &'a DescriptorProto)> {
    let each = messages.iter().flat_map(|message| {
        let name = format!("{outer}.{}", message.name());
        let inner = within(&name, &message.nested_type);
        inner.into_iter().chain([(name, message)])
    });
    each.collect()
}

/// Asserts that the fields of an encoded message are those of its description, and returns their number.
fn assert_described(name: &str, bytes: Vec<u8>) -> usize {
    let set = prost_types::FileDescriptorSet::decode(ratescope_service::DESCRIPTORS).unwrap();
    let all = set
        .file
        .iter()
        .flat_map(|file| within(&format!(".{}", file.package()), &file.message_type));
    let all: BTreeMap<String, &DescriptorProto> = all.collect();
    let message = all[name];
    let mut missing: BTreeSet<i32> = message.field.iter().map(|field| field.number()).collect();
    let mut fields = message.field.len();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut left = rest.as_slice();
        let tag = prost::encoding::decode_varint(&mut left).unwrap();
        let value = prost::encoding::decode_varint(&mut left).unwrap();
        let number = (tag >> 3) as i32;
        let field = message.field.iter().find(|field| field.number() == number);
        let field = field.unwrap_or_else(|| panic!("{name} has no field {number}"));
        assert!(missing.remove(&number), "{name}.{} comes twice", field.name());
        // A varint, or a length and as many bytes.
        if tag & 7 == 0 {
            let expected = if field.name() == "is_negative_hits" { 1 } else { field.name().len() };
            assert_eq!(value, expected as u64, "{name}.{}", field.name());
            rest = left.to_vec();
            continue;
        }
        let (part, after) = left.split_at(value as usize);
        match field.type_name() {
            "" => assert_eq!(part, field.name().as_bytes(), "{name}.{}", field.name()),
            inner if inner.starts_with(".envoy.") => {
                fields += assert_described(inner, part.to_vec());
            }
            _ => {}
        }
        rest = after.to_vec();
    }
    assert!(missing.is_empty(), "{name} has no {missing:?}");
    fields
}

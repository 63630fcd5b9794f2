//! gRPC over a socket: decisions, health, and the descriptions of the protocol that clients ask for.

use super::core::{RULES, descriptor, request};
use super::program::{Channel, Program, get};
use prost::Message;
use ratescope_service::Code;

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
    let user = "{domain=\"web\",rule=\"web:user\",key1=\"user\"}";
    let seen = "{domain=\"web\",rule=\"web:seen\",key1=\"seen\"}";
    for (name, labels, value) in [
        ("ratelimit_service_rate_limit_total_hits", user, 4),
        ("ratelimit_service_rate_limit_within_limit", user, 2),
        ("ratelimit_service_rate_limit_over_limit", user, 2),
        ("ratelimit_service_rate_limit_total_hits", seen, 2),
        ("ratelimit_service_rate_limit_shadow_mode", seen, 1),
        ("ratelimit_service_call_should_rate_limit_unknown_domain", "", 1),
    ] {
        let line = format!("\n{name}{labels} {value}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    for typed in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let help = format!("# HELP {} ", typed.split(' ').next().unwrap());
        assert!(metrics.contains(&help), "{help} in {metrics}");
    }
    assert!(!metrics.contains("ann") && !metrics.contains("nowhere"), "{metrics}");
}

#[tokio::test]
async fn health_and_reflection() {
    let program = Program::of(RULES, &[]);
    let mut channel = Channel::open(program.grpc).await;
    for name in ["", "envoy.service.ratelimit.v3.RateLimitService"] {
        assert_eq!(health(&mut channel, name).await, (0, vec![8, 1]), "{name}");
    }
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
        assert!(
            code == 0 && names.contains("envoy.service.ratelimit.v3.RateLimitService"),
            "{names}"
        );
        let (code, files) = channel.call(&path, &file).await;
        assert!(code == 0 && String::from_utf8_lossy(&files).contains("hits_addend"));
    }
}

/// The messages have the same fields as their description, which is made from the files beside it.
#[test]
fn messages_are_as_they_are_described() {
    let set = ratescope_service::DESCRIPTORS;
    let set = prost_types::FileDescriptorSet::decode(set).unwrap();
    let code = include_str!("../../../../ratescope-service/src/message.rs");
    let ours = set.file.iter().filter(|file| file.package().starts_with("envoy.service"));
    let ours = ours.chain(set.file.iter().filter(|file| file.package().contains("common")));
    let mut fields = 0;
    for file in ours {
        let mut messages: Vec<_> = file.message_type.iter().collect();
        while let Some(message) = messages.pop() {
            messages.extend(&message.nested_type);
            let own = code.split(&format!("pub struct {} {{", message.name())).nth(1);
            let own = own.unwrap_or_else(|| panic!("no struct {}", message.name()));
            let own = own.split("\n}\n").next().unwrap();
            for field in &message.field {
                let field_of = format!("pub {}:", field.name());
                let before = own.split(&field_of).next().unwrap();
                assert!(before.len() < own.len(), "{}.{}", message.name(), field.name());
                let tag = before.rsplit("tag = \"").next().unwrap().split('"').next().unwrap();
                assert_eq!(tag, field.number().to_string(), "{}.{}", message.name(), field.name());
                fields += 1;
            }
        }
    }
    assert_eq!(fields, 24);
}

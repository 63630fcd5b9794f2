//! Secrets of clients leave the process as hashes only.

use super::program::{Channel, Program, get};
use super::requests::{descriptor, request};
use super::server::Server;
use super::shell::Folder;
use ratescope_service::{Code, RateLimitDescriptor, RateLimitOverride, Unit};

const RULES: &str = "
domain: web
descriptors:
- {key: x-api-key, limit: gcra 4/1h}
- {key: client, limit: gcra 3/1h}
- {key: hash(mail), limit: gcra 9/1h}
";

/// Two processes with one secret share their counts, and neither their logs nor Redis have the value: of a field
/// named as a header with credentials, of another that is taken from one, of one that is marked, and of a limit that a
/// request brings.
#[tokio::test]
async fn neither_logs_nor_redis_have_them() {
    let Some(server) = Server::start(&[]) else { return };
    let folder = Folder::new("secrets");
    let (rules, secret) = (folder.write("rules.yaml", RULES), folder.write("secret", "s\n"));
    let (url, secret) = (server.url(), secret.to_str().unwrap().to_owned());
    let fields = ["client=x-api-key", "x-api-key=x-api-key", "mail=x-mail"];
    let fields = fields.map(|field| ["--field", field]).concat();
    let args = [&["--store", &url, "--key-secret-file", &secret][..], &fields[..]].concat();
    let programs = [Program::start(&rules, &args), Program::start(&rules, &args)];
    let statuses =
        [0, 1, 0, 1].map(|at: usize| get(programs[at].http, "/auth", "x-api-key: 5ecret\r\n").0);
    assert_eq!(statuses, [200, 200, 200, 429]);
    let mut channel = Channel::open(programs[0].grpc).await;
    let limit =
        RateLimitOverride { requests_per_unit: 1, unit: Unit::Day.into(), unit_multiplier: None };
    let own = [("x-api-key", "5ecret"), ("mail", "5ecret")];
    let brought = RateLimitDescriptor { limit: Some(limit), ..descriptor(&own) };
    let plain = [descriptor(&own[..1]), descriptor(&own[1..])];
    for descriptors in [plain.to_vec(), vec![brought.clone()], vec![brought]] {
        let answer = channel.try_should_rate_limit(&request(descriptors)).await.unwrap().unwrap();
        assert_ne!(answer.overall_code(), Code::Unknown);
    }
    // `printf %s 5ecret | openssl dgst -sha1 -hmac s`.
    let hash = "7181c6bc3f43901d838dbb972bda9128";
    let keys = server.command(&["KEYS", "*"]);
    assert_eq!(keys.matches(hash).count(), 5, "{keys}");
    let logs = programs.map(Program::ended);
    assert!(logs[1].contains(&format!("client=#{hash}")), "{logs:?}");
    for text in [&keys, &logs[0], &logs[1]] {
        assert!(!text.contains("5ecret"), "{text}");
        assert!(!text.contains("--key-secret-file"), "{text}");
    }
}

/// Without a secret, processes on one Redis agree all the same, and say what that means. One that shares nothing makes
/// one of its own.
#[test]
fn a_secret_that_is_missing_is_told() {
    let folder = Folder::new("no-secret");
    let rules = folder.write("rules.yaml", RULES);
    let plain =
        folder.write("plain.yaml", "domain: web\ndescriptors: [{key: user, limit: 1/1s}]\n");
    // Nobody answers there, which is no reason not to start.
    let away = ["--store", "redis://127.0.0.1:1"];
    let field = ["--field", "user=authorization"];
    for (rules, args, is_told) in [
        (&rules, away.to_vec(), true),
        (&plain, [away, field].concat(), true),
        (&plain, away.to_vec(), false),
        (&rules, Vec::new(), false),
    ] {
        let text = Program::start(rules, &args).ended();
        assert_eq!(text.contains("give the same --key-secret-file"), is_told, "{args:?}: {text}");
    }
}

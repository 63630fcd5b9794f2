//! The log: who was refused, why, and for how long, whichever way a request came.

use super::program::{Channel, Program, get, http};
use super::requests::{descriptor, request};
use super::shell::{Folder, command};
use ratescope_service::Code;
use serde_json::Value;

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 1/1h}
- {key: path, shadow: true, limit: gcra 1/1h}
- {key: x-api-key, limit: gcra 1/1h}
";

/// The lines of a log, each of which is an object.
fn lines(log: &str) -> Vec<Value> {
    let parsed = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    log.lines().map(parsed).collect()
}

/// The fields of the lines about refusals: the rule, the key, the level, and whether there is a time to retry after.
fn refusals(log: &str) -> Vec<(String, String, f64, bool)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines(log)
        .iter()
        .map(|line| &line["fields"])
        .filter(|fields| fields["rule"].is_string())
        .inspect(|fields| assert_eq!(fields["layer"], "web", "{fields}"))
        .map(|fields| {
            let retry = fields["retry_after"].as_f64();
            assert!(retry.is_none_or(|retry| (3000.0..=3600.0).contains(&retry)), "{fields}");
            // It drains by the clock of the machine.
            let level = fields["level"].as_f64().unwrap().ceil();
            (text(&fields["rule"]), text(&fields["key"]), level, retry.is_some())
        })
        .collect()
}

/// At the first request that lacks it, and once.
#[cfg(unix)]
#[tokio::test]
async fn a_field_that_requests_lack_is_told() {
    let rules =
        "domain: web\nlimit: gcra 9/1h per ip\ndescriptors:\n- {key: user, limit: gcra 9/1h}\n";
    let program = Program::of(rules, &["--log", "json"]);
    let mut channel = Channel::open(program.grpc).await;
    for entries in [[("user", "ann"), ("ip", "192.0.2.7")], [("user", "bob"), ("tier", "gold")]] {
        for _ in 0..2 {
            let asked = request(entries.map(|entry| descriptor(&[entry])).to_vec());
            assert_eq!(channel.should_rate_limit(&asked).await.unwrap().overall_code(), Code::Ok);
        }
    }
    let log = program.ended();
    let is_it =
        |line: &&Value| line["fields"]["message"].as_str().unwrap().contains("share one count");
    let told = lines(&log);
    let told: Vec<_> = told.iter().filter(is_it).map(|line| &line["fields"]).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert_eq!((&told[0]["rule"], &told[0]["field"]), (&"web".into(), &"ip".into()));
}

/// Asks in each way twice, so that the second request is refused, or would be by a shadow.
async fn ask_in_all_ways(program: &Program) {
    let mut channel = Channel::open(program.grpc).await;
    for code in [Code::Ok, Code::OverLimit] {
        let asked = request(vec![descriptor(&[("user", "grpc")])]);
        assert_eq!(channel.should_rate_limit(&asked).await.unwrap().overall_code(), code);
    }
    let entry = r#"{"domain":"web","descriptors":[{"entries":[{"key":"user","value":"json"}]}]}"#;
    let post = format!(
        "POST /json HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{entry}",
        entry.len()
    );
    for status in ["200", "429"] {
        assert!(http(program.http, &post).starts_with(&format!("HTTP/1.1 {status} ")));
        assert!(
            get(program.http, "/check?user=check", "")
                .1
                .starts_with(&format!("HTTP/1.1 {status} "))
        );
        assert!(
            get(program.http, "/auth", "x-user: auth\r\n")
                .1
                .starts_with(&format!("HTTP/1.1 {status} "))
        );
        assert!(
            get(program.http, "/check?x-api-key=5ecret", "")
                .1
                .starts_with(&format!("HTTP/1.1 {status} "))
        );
        assert_eq!(get(program.http, "/check?path=/x", "").0, 200);
    }
    // A look is no refusal.
    assert_eq!(get(program.http, "/check?user=check&hits=0", "").0, 429);
}

#[cfg(unix)]
#[tokio::test]
async fn who_was_refused_is_told_whichever_way_it_came() {
    let program = Program::of(
        RULES,
        &["--log", "json", "--field", "user=x-user", "--field", "x-api-key=x-api-key"],
    );
    ask_in_all_ways(&program).await;
    let log = program.ended();
    assert!(!log.contains("5ecret"), "{log}");
    let all = lines(&log);
    let first = all[0]["fields"]["message"].as_str().unwrap();
    assert!(first.starts_with("Ratescope ") && first.contains(" begins: gRPC at 127.0.0.1:"));
    let mut told = refusals(&log);
    let secret = told.iter().position(|(rule, ..)| rule == "web:x-api-key").unwrap();
    let (_, key, level, has_retry) = told.remove(secret);
    assert!(key.starts_with("x-api-key=#") && level == 2.0 && has_retry, "{key}");
    told.sort_by(|a, b| a.1.cmp(&b.1));
    let of_user = |name: &str| ("web:user".to_owned(), format!("user={name}"), 2.0, true);
    // /auth knows the path, too, of which each request but the first would be refused by the shadow.
    let shadow: Vec<_> = told.iter().filter(|(rule, ..)| rule == "web:path").collect();
    assert!(shadow.iter().any(|(_, key, _, has_retry)| key == "path=/x" && !has_retry), "{told:?}");
    told.retain(|(rule, ..)| rule == "web:user");
    assert_eq!(told, ["auth", "check", "grpc", "json"].map(of_user));
}

/// The log of a program whose level is higher has no refusals.
#[cfg(unix)]
#[tokio::test]
async fn the_level_of_the_log() {
    let args = [
        "--log",
        "json",
        "--field",
        "user=x-user",
        "--field",
        "x-api-key=x-api-key",
        "--log-level",
        "error",
    ];
    let program = Program::of(RULES, &args);
    ask_in_all_ways(&program).await;
    assert_eq!(program.ended(), "");
}

/// An error with which the program ends is a line like others.
#[test]
fn an_error_is_a_line_of_json() {
    let folder = Folder::new("json-error");
    let rules = folder.write("rules.yaml", "domain: web\nnonsense: 1\n");
    for args in [&["--check"][..], &[]] {
        let output = command(&["run", "--log", "json"]).args(args).arg(&rules).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let log = String::from_utf8(output.stderr).unwrap();
        let all = lines(&log);
        assert_eq!((all.len(), &all[0]["level"]), (1, &"ERROR".into()), "{log}");
        assert!(all[0]["fields"]["message"].as_str().unwrap().contains("rules.yaml:2:1"), "{log}");
    }
}

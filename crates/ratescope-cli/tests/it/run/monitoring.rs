//! The counters, and the examples in examples/monitoring: of metrics that there are, and with the real promtool.

use super::program::{Channel, Program, get, http};
use super::requests::{RULES, descriptor, request};
use super::server::Server;
use super::servers::program;
use super::shell::Folder;
use ratescope_service::Code;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/monitoring").join(name)
}

/// The metrics, once they were all set.
fn metrics(program: &Program) -> String {
    loop {
        let metrics = get(program.admin, "/metrics", "").1;
        if metrics.contains("\nratescope_green ") {
            return metrics;
        }
    }
}

/// Asks once in each way.
async fn ask_in_all_ways(program: &Program) {
    let mut channel = Channel::open(program.grpc).await;
    let asked = request(vec![descriptor(&[("user", "ann")])]);
    assert_eq!(channel.should_rate_limit(&asked).await.unwrap().overall_code(), Code::Ok);
    let json = r#"{"domain":"web","descriptors":[{"entries":[{"key":"user","value":"bob"}]}]}"#;
    let post = format!(
        "POST /json HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{json}",
        json.len()
    );
    assert!(http(program.http, &post).starts_with("HTTP/1.1 200 "));
    assert_eq!(get(program.http, "/check?user=eve", "").0, 200);
    assert_eq!(get(program.http, "/auth", "").0, 200);
}

#[tokio::test]
async fn counters_are_there_from_the_start() {
    let program = Program::of(RULES, &["--field", "user=x-user"]);
    let start = metrics(&program);
    let rule = "domain=\"web\",rule=\"web:user\",key1=\"user\"";
    for line in [
        format!("ratescope_hits_total{{{rule},outcome=\"allowed\"}} 0"),
        format!("ratescope_hits_total{{{rule},outcome=\"refused\"}} 0"),
        format!("ratescope_near_limit_hits_total{{{rule}}} 0"),
        "ratescope_requests_total{outcome=\"refused\",layer=\"web\"} 0".to_owned(),
        "ratescope_request_errors_total{error=\"unread\"} 0".to_owned(),
        "ratescope_unknown_domains_total 0".to_owned(),
        "ratescope_reloads_total{outcome=\"rejected\"} 0".to_owned(),
        "ratescope_store_errors_total{fault=\"late\",layer=\"web\"} 0".to_owned(),
        "ratescope_rules_broken 0".to_owned(),
        "ratescope_green 1".to_owned(),
        format!("ratescope_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(start.contains(&format!("\n{line}\n")), "{line} in {start}");
    }
    assert!(start.contains("\nprocess_start_time_seconds ") || cfg!(not(target_os = "linux")));
    ask_in_all_ways(&program).await;
    let after = metrics(&program);
    for protocol in ["grpc", "json", "check", "auth"] {
        let line = format!("\nratescope_request_seconds_count{{protocol=\"{protocol}\"}} 1\n");
        assert!(after.contains(&line), "{line} in {after}");
        let bucket = format!("_seconds_bucket{{protocol=\"{protocol}\",le=\"+Inf\"}} 1\n");
        assert!(after.contains(&bucket), "{bucket} in {after}");
    }
    let line = "\nratescope_requests_total{outcome=\"allowed\",layer=\"web\"} 4\n";
    assert!(after.contains(line), "{after}");
    for typed in after.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = typed.split_once(' ').unwrap();
        assert!(after.contains(&format!("# HELP {name} ")), "{name} in {after}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{typed}");
        assert_ne!(kind, "summary", "{name}");
    }
}

/// Dashboards and alerts of envoyproxy/ratelimit find their metrics.
#[tokio::test]
async fn the_names_of_envoyproxy_ratelimit() {
    // By the clock of the machine, so that no window ends meanwhile.
    let rules = RULES.replace("unit: hour", "unit: year").replace("unit: minute", "unit: year");
    let program = Program::of(&rules, &["--metrics", "envoy"]);
    let mut channel = Channel::open(program.grpc).await;
    let login = descriptor(&[("path", "/login"), ("ip", "192.0.2.1")]);
    let asked = request(vec![descriptor(&[("user", "ann")]), descriptor(&[("seen", "x")]), login]);
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(channel.should_rate_limit(&asked).await.unwrap().overall_code(), code);
    }
    assert_eq!(channel.should_rate_limit(&request(vec![])).await.unwrap_err(), 3);
    let metrics = metrics(&program);
    let of_rule = "ratelimit_service_rate_limit_";
    let (user, seen) = ("{domain=\"web\",key1=\"user\"}", "{domain=\"web\",key1=\"seen\"}");
    let login = "{domain=\"web\",key1=\"path_/login\",key2=\"ip\"}";
    for (name, labels, value) in [
        ("total_hits", user, 3),
        ("within_limit", user, 2),
        ("over_limit", user, 1),
        ("total_hits", seen, 2),
        ("over_limit", seen, 1),
        ("shadow_mode", seen, 1),
        ("shadow_mode", login, 0),
        ("near_limit", login, 0),
        ("within_limit", login, 2),
    ] {
        let line = format!("\n{of_rule}{name}{labels} {value}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    for line in [
        "ratelimit_service_total_requests{grpc_method=\"ShouldRateLimit\"} 4",
        "ratelimit_service_response_time_seconds_count{grpc_method=\"ShouldRateLimit\"} 4",
        "ratelimit_service_should_rate_limit_error{err_type=\"service_error\"} 1",
        "ratelimit_service_should_rate_limit_error{err_type=\"redis_error\"} 0",
        "ratelimit_service_config_load_success 0",
        "ratelimit_service_config_load_error 0",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} in {metrics}");
    }
    assert!(!metrics.contains("ratescope_hits_total"), "{metrics}");
}

/// The names of our metrics and of those of the process in a text, without the endings of a histogram.
fn named(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_name(c));
    let names = words.filter(|word| word.starts_with("ratescope_") || word.starts_with("process_"));
    names.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect()
}

/// The matchers of labels in a text, as `outcome="refused"`.
fn matchers(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\"", "\"");
    let labels = ["outcome", "protocol", "fault", "error"];
    let of = |label: &&str| {
        let begin = format!("{label}=\"");
        let each = text.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap());
        each.map(|value| format!("{begin}{value}\"")).collect::<Vec<_>>()
    };
    labels.iter().flat_map(of).collect()
}

#[tokio::test]
async fn alerts_and_dashboard_are_of_metrics_that_there_are() {
    // The histogram of the store is there with a store only.
    let Some(redis) = Server::start(&[]) else { return };
    let program = Program::of(RULES, &["--store", &redis.url(), "--field", "user=x-user"]);
    ask_in_all_ways(&program).await;
    let metrics = metrics(&program);
    let known: BTreeSet<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for file in ["rules.yml", "test.yml", "dashboard.json"] {
        let text = fs::read_to_string(example(file)).unwrap();
        let named = named(&text);
        assert!(named.len() > 8, "{named:?}");
        assert!(named.is_subset(&known), "{file}: {:?}", named.difference(&known));
        for matcher in matchers(&text) {
            assert!(metrics.contains(&matcher), "{file}: {matcher}");
        }
    }
    let dashboard = fs::read_to_string(example("dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 10);
}

/// The real promtool takes the alerts and fires each of them; it also takes the queries of the dashboard, as rules.
#[test]
fn promtool_takes_them() {
    let Some(promtool) = program("PROMTOOL", "promtool") else { return };
    let run = |args: [&str; 2], file: &Path| {
        let output = Command::new(&promtool).args(args).arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let rules = fs::read_to_string(example("rules.yml")).unwrap();
    let alerts = rules.matches("- alert: ").count();
    let said = run(["check", "rules"], &example("rules.yml"));
    assert!(said.contains(&format!("{alerts} rules found")), "{said}");
    run(["test", "rules"], &example("test.yml"));
    run(["check", "config"], &example("prometheus.yml"));
    let test = fs::read_to_string(example("test.yml")).unwrap();
    for alert in rules.split("- alert: ").skip(1).map(|rest| rest.lines().next().unwrap()) {
        assert!(
            test.contains(&format!("    alertname: {alert}\n    exp_alerts:\n    - ")),
            "{alert}"
        );
    }
    let dashboard = fs::read_to_string(example("dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut text = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    for (query, n) in queries.zip(1..) {
        let query = query["expr"].as_str().unwrap();
        let query = query.replace("$__rate_interval", "1m").replace("$job", "ratescope");
        text += &format!("  - record: query:{n}\n    expr: '{query}'\n");
    }
    let folder = Folder::new("dashboard");
    run(["check", "rules"], &folder.write("queries.yml", text));
}

//! States on Redis, shared by processes.

use super::core::{descriptor, request};
use super::files::Folder;
use super::program::{Channel, Program, get};
use super::servers::program;
use ratescope::service::Code;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A Redis that is killed when it is dropped.
struct Redis(Child, String);

impl Redis {
    fn start(server: &Path, folder: &Folder) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = port.to_string();
        let mut command = Command::new(server);
        command.args(["--port", &text, "--save", "", "--appendonly", "no"]).current_dir(&folder.0);
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {}
        Redis(child, format!("redis://127.0.0.1:{port}"))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

const RULES: &str = "
domain: web
descriptors:
- key: user
  rate_limit: {unit: year, requests_per_unit: 50}
- key: strict
  on_store_failure: refuse
  rate_limit: {unit: year, requests_per_unit: 50}
";

#[tokio::test]
async fn two_processes_have_one_limit() {
    let Some(server) = program("REDIS_SERVER", "redis-server") else { return };
    let folder = Folder::new("redis");
    let redis = Redis::start(&server, &folder);
    let rules = folder.write("rules.yaml", RULES);
    let start = || Program::start(&rules, &["--store", &redis.1]);
    let mut programs = [start(), start()];
    let mut allowed = 0;
    let user = request(vec![descriptor(&[("user", "ann")])]);
    let strict = request(vec![descriptor(&[("strict", "x")])]);
    let mut channels = Vec::new();
    for program in &programs {
        channels.push(Channel::open(program.grpc).await);
    }
    for _ in 0..40 {
        for channel in &mut channels {
            let code = channel.should_rate_limit(&user).await.unwrap().overall_code();
            allowed += u32::from(code == Code::Ok);
        }
    }
    assert_eq!(allowed, 50);
    // One that is killed takes nothing with it.
    programs[0].child.kill().unwrap();
    let answer = channels[1].should_rate_limit(&user).await.unwrap();
    assert_eq!(answer.overall_code(), Code::OverLimit);
    assert_eq!(channels[1].should_rate_limit(&strict).await.unwrap().overall_code(), Code::Ok);
    // Without Redis, a rule that refuses then makes the call fail: UNAVAILABLE.
    drop(redis);
    assert_eq!(channels[1].should_rate_limit(&strict).await.unwrap_err(), 14);
    let metrics = get(programs[1].admin, "/metrics", "").1;
    assert!(metrics.contains("\nratescope_store_errors_total{fault=\""), "{metrics}");
    let error = "\nratelimit_service_call_should_rate_limit_error{error=\"unavailable\"} 1\n";
    assert!(metrics.contains(error), "{metrics}");
    let alone = channels[1].should_rate_limit(&user).await.unwrap();
    assert_eq!(alone.overall_code(), Code::Ok, "the process decides by what it has seen itself");
}

//! The examples in examples/run, with the real servers that they are for.

use super::program::{Program, get};
use super::server::{PATIENCE, Server};
use super::servers::program;
use super::shell::{self, Folder, Port, Running};
use ratescope::internal::yaml;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/run").join(name)
}

fn service(args: &[&str]) -> Program {
    Program::start(&example("rules.yaml"), &[&["--field", "user=x-user"], args].concat())
}

/// Starts a server that answers every request with 200 and the target of the request, for as long as the tests run.
/// Returns its address.
pub(crate) fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head);
            let target = head.split(' ').nth(1).unwrap_or_default();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\nx-target: {target}\r\ncontent-length: 0\r\n\r\n"
            );
            _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// Starts a server with the example `name`, in which the texts of `changes` are replaced.
pub(crate) fn start(
    server: &Path,
    args: &[&str],
    name: &str,
    changes: &[(&str, String)],
    folder: &Folder,
) -> (Running, SocketAddr) {
    let mut text = fs::read_to_string(example(name)).unwrap();
    let write = |port: u16| {
        let [number, address] = [port.to_string(), format!(":{port}")];
        let own = [("10000", number), (":8000", address.clone()), (":8001", address)];
        for (from, to) in own.iter().chain(changes) {
            text = text.replace(from, to);
        }
        text
    };
    let mut command = Command::new(server);
    shell::start(command.args(args).env("HOME", &folder.0), &folder.path(name), write)
}

fn asked<const N: usize>(at: SocketAddr, path: &str, headers: &str) -> [u16; N] {
    [(); N].map(|()| get(at, path, headers).0)
}

/// Starts Envoy in front of the services at these ports; it waits for an answer of theirs for `timeout`.
pub(crate) fn start_envoy(
    envoy: &Path,
    (services, timeout): (&[u16], &str),
    more: &[(&str, String)],
    folder: &Folder,
) -> (Running, SocketAddr) {
    let timeout = [("timeout: 0.25s", format!("timeout: {timeout}"))];
    start_envoy_of("envoy.yaml", envoy, services, &[&timeout, more].concat(), folder)
}

/// Starts Envoy with the example `name` in front of the services at these ports.
fn start_envoy_of(
    name: &str,
    envoy: &Path,
    services: &[u16],
    more: &[(&str, String)],
    folder: &Folder,
) -> (Running, SocketAddr) {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let id = std::process::id() % 30_000 * 8 + STARTED.fetch_add(1, Ordering::Relaxed);
    let args = ["--concurrency", "1", "--base-id", &id.to_string(), "-l", "off", "-c"];
    let endpoint = |port: &u16| {
        format!(
            "- endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }} }}"
        )
    };
    let endpoints: Vec<String> = services.iter().map(endpoint).collect();
    let own =
        "- endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 8081 } } }";
    let changes = [
        ("port_value: 3000", format!("port_value: {}", upstream().port())),
        (own, endpoints.join("\n        ")),
    ];
    start(envoy, &args, name, &[&changes, more].concat(), folder)
}

#[test]
fn envoy() {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let grpc = Port::hold();
    let here = grpc.to_string();
    let (folder, limits) = (Folder::new("envoy"), service(&["--grpc", &here]));
    // The long timeout allows for a slow machine.
    let (_server, at) = start_envoy(&server, (&[grpc.number], "60s"), &[], &folder);
    assert_eq!(asked(at, "/", "x-user: ann\r\n"), [200, 200, 200, 200, 200, 429, 429]);
    let refused = get(at, "/", "x-user: ann\r\n").1;
    for header in [
        "\r\nretry-after: 3",
        "\r\nx-ratelimit-remaining: 0\r\n",
        "\r\nratelimit: \"web:user\";r=0;",
    ] {
        assert!(refused.contains(header), "{header} in {refused}");
    }
    // An export counts as two hits of six; if it is refused, it does not count for the user either.
    assert_eq!(asked(at, "/export", "x-user: bob\r\n"), [200, 200, 200, 429, 429]);
    assert_eq!(asked(at, "/", "x-user: bob\r\n"), [200, 200, 429]);
    // A request without a descriptor is not asked about.
    assert_eq!(asked(at, "/", ""), [200; 8]);
    // Without the service Envoy refuses requests; once the service is back, they pass again.
    drop(limits);
    assert_eq!(asked(at, "/", "x-user: eve\r\n"), [500]);
    let _again = service(&["--grpc", &here]);
    while get(at, "/", "x-user: eve\r\n").0 == 500 {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(asked(at, "/", "x-user: eve\r\n"), [200, 200, 200, 200, 429]);
}

/// A service that is stopped is like one that is gone: Envoy waits for its timeout, and then refuses the
/// request or lets it pass, as `failure_mode_deny` says.
#[cfg(unix)]
#[test]
fn envoy_before_a_service_that_stands_still() {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let limits = service(&[]);
    let begin = |name: &str, denies: &str| {
        let folder = Folder::new(name);
        let deny = [("failure_mode_deny: true", format!("failure_mode_deny: {denies}"))];
        let (server, at) = start_envoy(&server, (&[limits.grpc.port()], "0.25s"), &deny, &folder);
        (server, at, folder)
    };
    let (_first, denies, _folder) = begin("envoy-stopped", "true");
    let (_second, passes, _other) = begin("envoy-passes", "false");
    limits.running.signal("STOP");
    for _ in 0..3 {
        assert_eq!(get(denies, "/", "x-user: ann\r\n").0, 500);
        assert_eq!(get(passes, "/", "x-user: ann\r\n").0, 200);
    }
    limits.running.signal("CONT");
    // The questions asked meanwhile were counted when the service went on, or had been cancelled. No more
    // than five requests pass. On a slow machine an answer may be late again.
    let of = |at| std::iter::repeat_with(move || get(at, "/", "x-user: bob\r\n").0);
    let allowed = of(denies).take_while(|status| *status != 429).filter(|status| *status == 200);
    assert!(allowed.count() <= 5);
}

/// One of two services ends while requests come all the time: Envoy learns of it in time, and no request
/// fails.
#[cfg(unix)]
#[test]
fn envoy_before_a_service_that_ends() {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let folder = Folder::new("envoy-ends");
    // Envoy checks the health of both every tenth of a second.
    let (mut ends, stays) = (service(&["--notice", "3s", "--drain", "1h"]), service(&[]));
    let often = [("interval: 1s", "interval: 0.1s".to_owned())];
    let ports = [ends.grpc.port(), stays.grpc.port()];
    let (_server, at) = start_envoy(&server, (&ports, "60s"), &often, &folder);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let is_over = &is_over;
                scope.spawn(move || {
                    for n in 0.. {
                        let user = format!("x-user: {client}-{n}\r\n");
                        let (status, answer) = get(at, "/", &user);
                        assert_eq!(status, 200, "request {n}: {answer}");
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                })
            })
            .collect();
        let total = |program: &Program| {
            let metrics = get(program.admin, "/metrics", "").1;
            let of_user = "ratescope_hits_total{domain=\"web\",rule=\"web:user\",";
            let lines = metrics.lines().filter(|line| line.starts_with(of_user));
            lines
                .map(|line| line.split(' ').next_back().unwrap().parse::<u32>().unwrap())
                .sum::<u32>()
        };
        let all_go_on = || clients.iter().all(|client| !client.is_finished());
        // Wait until both services are asked.
        while all_go_on() && (total(&ends) < 20 || total(&stays) < 20) {}
        ends.running.signal("TERM");
        assert!(ends.running.0.wait().unwrap().success());
        let then = total(&stays);
        while all_go_on() && total(&stays) < then + 100 {}
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Two Envoys decide themselves by what they are assigned: together they admit as much as the limit, whatever comes in
/// between. All of it passes, since they report their needs every 5 s.
#[cfg(unix)]
#[test]
fn two_envoys_with_quotas() {
    two_envoys("envoy-quotas", &[]);
}

/// The unused part of an assignment goes back to Redis.
#[cfg(unix)]
#[test]
fn two_envoys_with_quotas_on_redis() {
    let Some(redis) = Server::start(&[]) else { return };
    two_envoys("envoy-quotas-redis", &["--store", &redis.url(), "--deadline", "5s"]);
}

fn two_envoys(name: &str, store: &[&str]) {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let folder = Folder::new(name);
    let write = |most: u32| {
        let rules = format!(
            "domain: web\ndescriptors:\n- {{key: user, limit: fixed-window {most}/365d}}\n"
        );
        folder.write("rules.yaml", rules)
    };
    let grpc = Port::hold();
    let here = grpc.to_string();
    let begin = |most: u32| {
        let args = ["--grpc", &here, "--watch", "100ms"];
        Program::start(&write(most), &[&args, store].concat())
    };
    let limits = begin(40);
    let start = || start_envoy_of("envoy-quotas.yaml", &server, &[grpc.number], &[], &folder);
    let ((_one, first), (_other, second)) = (start(), start());
    // Envoy closes a connection late after an answer of its own, so it is closed here.
    let is_refused = |at: SocketAddr, user: &str| {
        let mut stream = TcpStream::connect(at).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nhost: localhost\r\nx-user: {user}\r\n\r\n").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        &status == b"HTTP/1.1 429"
    };
    // Both ask until so many have passed. Returns how many passed at each.
    let passed = |user: &str, most: u32| {
        let (all, begun) = (AtomicU32::new(0), Instant::now());
        thread::scope(|scope| {
            let asks = |at| {
                let all = &all;
                scope.spawn(move || {
                    let mut own = 0;
                    while all.load(Ordering::Relaxed) < most {
                        assert!(begun.elapsed() < PATIENCE, "{own} of {most} have passed here");
                        let passes = !is_refused(at, user);
                        all.fetch_add(passes.into(), Ordering::Relaxed);
                        own += u32::from(passes);
                    }
                    own
                })
            };
            [asks(first), asks(second)].map(|one| one.join().unwrap())
        })
    };
    let is_over = |user: &str| (0..50).all(|_| is_refused(first, user) && is_refused(second, user));
    let [one, other] = passed("ann", 40);
    assert!(one > 0 && other > 0 && one + other == 40, "{one} and {other}");
    assert!(is_over("ann"));
    // Others see the assigned events.
    let left =
        |user: &str| get(limits.http, &format!("/check?domain=web&user={user}&hits=0"), "").0;
    assert_eq!([left("ann"), left("bob")], [429, 200]);
    // A reload takes effect with the next assignments.
    write(60);
    let [one, other] = passed("ann", 20);
    assert!(one + other == 20 && is_over("ann"), "{one} and {other}");
    // The service ends, which breaks both streams, and one begins that knows nothing. It counts what was
    // used of the old assignments and not reported before, so another user is asked for.
    let log = limits.ended();
    assert!(!log.contains("ERROR"), "{log}");
    let _again = begin(30);
    let [one, other] = passed("bob", 30);
    assert!(one + other == 30 && is_over("bob"), "{one} and {other}");
}

/// Starts nginx in front of the service at an address.
pub(crate) fn start_nginx(
    server: &Path,
    limits: SocketAddr,
    folder: &Folder,
) -> (Running, SocketAddr) {
    let at = folder.0.display();
    let http = format!(
        "http {{\naccess_log off;\nclient_body_temp_path {at};\nproxy_temp_path {at};\n\
         fastcgi_temp_path {at};\nuwsgi_temp_path {at};\nscgi_temp_path {at};\n"
    );
    let changes = [
        ("127.0.0.1:3000", upstream().to_string()),
        ("127.0.0.1:8080", limits.to_string()),
        ("http {\n", http),
    ];
    let main = format!("daemon off; master_process off; pid {at}/pid;");
    let args = ["-e", "stderr", "-g", &main, "-c"];
    start(server, &args, "nginx.conf", &changes, folder)
}

#[test]
fn nginx() {
    let Some(server) = program("NGINX", "nginx") else { return };
    let (folder, limits) = (Folder::new("nginx"), service(&[]));
    let (_server, at) = start_nginx(&server, limits.http, &folder);
    // The proxy replaces the headers that a client writes in its place.
    let posing = "x-forwarded-for: 192.0.2.1\r\nx-forwarded-uri: /elsewhere\r\nx-user: ann\r\n";
    assert_eq!(asked(at, "/", posing), [200, 200, 200, 200, 200, 429]);
    assert_eq!(get(limits.http, "/check?domain=web&user=ann", "").0, 200);
    let (status, refused) = get(at, "/", "");
    assert!(status == 429 && refused.to_lowercase().contains("\r\nretry-after: 3"), "{refused}");
}

#[test]
fn haproxy() {
    let Some(server) = program("HAPROXY", "haproxy") else { return };
    let (folder, limits) = (Folder::new("haproxy"), service(&[]));
    let script = fs::read_to_string(example("ratescope.lua")).unwrap();
    // The long timeout allows for a slow machine.
    let script = script.replace("127.0.0.1:8080", &limits.http.to_string());
    let script = script.replace("timeout = 250", "timeout = 60000");
    let script = folder.write("ratescope.lua", script);
    let changes = [
        ("127.0.0.1:3000", upstream().to_string()),
        ("lua-load ratescope.lua", format!("lua-load {}", script.display())),
    ];
    let (_server, at) = start(&server, &["-f"], "haproxy.cfg", &changes, &folder);
    // The proxy replaces the headers that a client writes in its place.
    let posing = "x-forwarded-for: 192.0.2.1\r\nx-forwarded-uri: /elsewhere\r\nx-user: ann\r\n";
    assert_eq!(asked(at, "/", posing), [200, 200, 200, 200, 200, 429]);
    assert_eq!(get(limits.http, "/check?domain=web&user=ann", "").0, 200);
    let (status, refused) = get(at, "/", "");
    assert!(status == 429 && refused.contains("\r\nretry-after: 3"), "{refused}");
    drop(limits);
    assert_eq!(asked(at, "/", ""), [503]);
}

/// The base for kustomize has the names that the deployment asks for.
#[test]
fn the_base_of_kustomize_fits_the_deployment() {
    let base = fs::read_to_string(example("kustomization.yaml")).unwrap();
    let deployment = fs::read_to_string(example("kubernetes.yaml")).unwrap();
    let base = yaml::read(&base).unwrap();
    let word = |node: &yaml::Node, key: &str| node.get(key).unwrap().word().to_owned();
    for resource in base.get("resources").unwrap().items() {
        assert!(example(resource.word()).exists());
    }
    let map = &base.get("configMapGenerator").unwrap().items()[0];
    assert!(example(map.get("files").unwrap().items()[0].word()).exists());
    assert!(deployment.contains(&format!("configMap: {{ name: {} }}", word(map, "name"))));
    let secret = &base.get("secretGenerator").unwrap().items()[0];
    assert!(deployment.contains(&format!("secretName: {} }}", word(secret, "name"))));
    assert_eq!(secret.get("files").unwrap().items()[0].word(), "token=admin-token");
    assert!(deployment.contains("/etc/admin/token"));
    assert!(
        deployment
            .contains(&format!("image: {}", word(&base.get("images").unwrap().items()[0], "name")))
    );
}

#[test]
fn caddy() {
    let Some(server) = program("CADDY", "caddy") else { return };
    let (folder, limits, upstream) = (Folder::new("caddy"), service(&[]), upstream());
    let changes =
        [("127.0.0.1:3000", upstream.to_string()), ("127.0.0.1:8080", limits.http.to_string())];
    let args = ["run", "--adapter", "caddyfile", "--config"];
    let (_server, at) = start(&server, &args, "Caddyfile", &changes, &folder);
    assert_eq!(asked(at, "/", "x-user: ann\r\n"), [200, 200, 200, 200, 200, 429]);
    assert_eq!(get(limits.http, "/check?domain=web&user=ann", "").0, 200);
    let refused = get(at, "/", "x-user: ann\r\n").1.to_lowercase();
    assert!(refused.contains("retry-after: 3") && refused.contains("quota-exceeded"), "{refused}");
}

/// systemd finds that the unit may do little more than it needs: an exposure of less than 2 of 10.
#[test]
fn the_unit_is_hardened() {
    let Some(systemd) = program("SYSTEMD_ANALYZE", "systemd-analyze") else { return };
    let args = ["security", "--offline=true", "--threshold=20"];
    let output = Command::new(systemd).args(args).arg(example("ratescope.service")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The program accepts the arguments in the unit, the container and the deployment, and the rules beside them.
#[test]
fn arguments_of_the_examples() {
    let unit = fs::read_to_string(example("ratescope.service")).unwrap();
    let container = fs::read_to_string(example("Containerfile")).unwrap();
    let deployment = fs::read_to_string(example("kubernetes.yaml")).unwrap();
    let folder = Folder::new("examples");
    let token = folder.write("token", "0123456789abcdef").display().to_string();
    let exec =
        |line: &str| line.split_once("ratescope run ").map(|(_, args)| args.replace(' ', "\n"));
    let json = |line: &str| {
        let list = line.strip_prefix("CMD ").or(line.trim_start().strip_prefix("args: "))?;
        let list: Vec<String> = serde_json::from_str(list).unwrap();
        Some(list.join("\n"))
    };
    let units = unit.lines().filter(|line| line.starts_with("Exec")).filter_map(exec);
    assert!(container.contains("HEALTHCHECK CMD [\"/ratescope\", \"health\"]\n"));
    let lists = container.lines().chain(deployment.lines()).filter_map(json);
    let all: Vec<String> = units.chain(lists).collect();
    assert_eq!(all.len(), 4);
    for args in all {
        let rules = example("rules.yaml").display().to_string();
        let state = folder.path("states").display().to_string();
        let args = args.replace("/etc/ratescope", &rules).replace("/etc/admin/token", &token);
        let args = args.replace("/var/lib/ratescope/states", &state);
        let args = args.lines().filter(|arg| *arg != "--check");
        let printed = shell::printed(shell::command(&["run", "--check"]).args(args), "");
        assert!(printed.starts_with("web: 3 rules in "), "{printed}");
    }
}

//! States on Redis that several processes share.

use super::nodes::Cluster;
use super::program::{Channel, Program, get};
use super::requests::{back, counted_at, descriptor, request};
use super::server::Server;
use super::shell::Folder;
use super::watched::Watched;
use ratescope_service::{Code, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, Unit};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;

/// The limit of each user, in all processes together.
const LIMIT: u32 = 200;

fn rules(folder: &Folder) -> std::path::PathBuf {
    let rule = "{key: user, on_store_failure: refuse, rate_limit: {unit: year, requests_per_unit: ";
    folder.write("rules.yaml", format!("domain: web\ndescriptors:\n- {rule}{LIMIT}}}}}\n"))
}

fn of(user: &str) -> RateLimitRequest {
    request(vec![descriptor(&[("user", user)])])
}

/// Sends requests of a user until one is refused or the process is gone. For each it sends whether it was
/// allowed; `false` means that this is unknown, as when the process was killed.
async fn send(at: SocketAddr, user: String, told: mpsc::Sender<(String, bool)>) {
    let (mut channel, request) = (Channel::open(at).await, of(&user));
    loop {
        let answer = channel.try_should_rate_limit(&request).await;
        let is_allowed = match &answer {
            Ok(Ok(answer)) if answer.overall_code() == Code::OverLimit => return,
            Ok(answer) => answer.is_ok(),
            Err(_) => false,
        };
        told.send((user.clone(), is_allowed)).await.unwrap();
        if answer.is_err() {
            return;
        }
    }
}

/// Two processes share one limit for each user, even if one of them is killed in between: no request beyond
/// the limit is allowed, and no hit is lost, apart from requests that the process was deciding when it was
/// killed.
async fn share(store: &str, users: &[&str]) {
    let folder = Folder::new(&format!("shared-{}", users.len()));
    let rules = rules(&folder);
    let mut killed = Program::start(&rules, &["--store", store]);
    let lives = Program::start(&rules, &["--store", store]);
    // The channel holds one result, so no client runs ahead of the loop below, and the process is killed
    // halfway.
    let (tell, mut told) = mpsc::channel(1);
    for at in [killed.grpc, lives.grpc, killed.grpc, lives.grpc] {
        for user in users {
            tokio::spawn(send(at, (*user).to_owned(), tell.clone()));
        }
    }
    drop(tell);
    let (mut allowed, mut unknown) = (vec![0; users.len()], vec![0; users.len()]);
    let mut n = 0;
    while let Some((user, is_allowed)) = told.recv().await {
        let place = users.iter().position(|known| *known == user).unwrap();
        *(if is_allowed { &mut allowed } else { &mut unknown }).get_mut(place).unwrap() += 1;
        n += 1;
        if n == users.len() * LIMIT as usize / 2 {
            // With SIGKILL.
            killed.running.0.kill().unwrap();
        }
    }
    let mut channel = Channel::open(lives.grpc).await;
    for (place, user) in users.iter().enumerate() {
        let (allowed, unknown) = (allowed[place], unknown[place]);
        // Unknown are the last requests on the two connections to the killed process.
        assert!(allowed <= LIMIT && LIMIT <= allowed + unknown, "{user}: {allowed}, {unknown}");
        let last = channel.should_rate_limit(&of(user)).await.unwrap();
        assert_eq!((last.overall_code(), last.statuses[0].limit_remaining), (Code::OverLimit, 0));
        // Hits that one process gives back are free for all processes.
        let other = format!("{user} too");
        let counted = counted_at(&channel.should_rate_limit(&of(&other)).await.unwrap());
        let back = request(vec![back(&[("user", user)], 3, &counted)]);
        let given = channel.should_rate_limit(&back).await.unwrap();
        assert_eq!((given.overall_code(), given.statuses[0].limit_remaining), (Code::Ok, 3));
        let next = channel.should_rate_limit(&of(user)).await.unwrap();
        assert_eq!((next.overall_code(), next.statuses[0].limit_remaining), (Code::Ok, 2));
    }
}

#[tokio::test]
async fn two_processes_have_one_limit_on_a_redis() {
    let Some(redis) = Server::start(&[]) else { return };
    share(&redis.url(), &["ann"]).await;
}

#[tokio::test]
async fn two_processes_have_one_limit_on_a_cluster() {
    let Some(cluster) = Cluster::steady() else { return };
    // The users are spread over all masters.
    share(&cluster.url(), &["a", "b", "c", "d", "e", "f"]).await;
}

#[tokio::test]
async fn two_processes_have_one_limit_behind_sentinels() {
    let Some(watched) = Watched::start(1, Duration::from_secs(600)) else { return };
    share(&watched.url(), &["ann", "bob"]).await;
}

#[tokio::test]
async fn without_its_redis_each_rule_says_what_happens() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("redis-gone");
    let rules = rules(&folder);
    let other = "- {key: other, rate_limit: {unit: year, requests_per_unit: 9}}\n";
    std::fs::write(&rules, std::fs::read_to_string(&rules).unwrap() + other).unwrap();
    let program = Program::start(&rules, &["--store", &redis.url()]);
    let mut channel = Channel::open(program.grpc).await;
    let other = request(vec![descriptor(&[("other", "x")])]);
    for request in [of("ann"), other.clone()] {
        assert_eq!(channel.should_rate_limit(&request).await.unwrap().overall_code(), Code::Ok);
    }
    // A rule with `on_store_failure: refuse` then makes the call fail: UNAVAILABLE.
    let health = || get(program.admin, "/healthz?verbose", "").1;
    while !health().contains("\ngreen") {}
    drop(redis);
    // Nobody has asked since.
    while !health().contains("\nyellow: the store ") {}
    assert_eq!(get(program.admin, "/readyz", "").0, 200);
    assert_eq!(channel.should_rate_limit(&of("ann")).await.unwrap_err(), 14);
    let back = request(vec![back(&[("user", "ann")], 1, "0")]);
    assert_eq!(channel.should_rate_limit(&back).await.unwrap_err(), 14);
    let metrics = get(program.admin, "/metrics", "").1;
    assert!(metrics.contains("\nratescope_store_errors_total{fault=\""), "{metrics}");
    let errors = "\nratescope_request_errors_total{error=\"unavailable\"}";
    assert!(metrics.contains(&format!("{errors} 2\n")), "{metrics}");
    let alone = channel.should_rate_limit(&other).await.unwrap();
    assert_eq!(alone.overall_code(), Code::Ok, "the process decides by what it has seen itself");
}

/// A Redis that has no memory left refuses to count: the health says so, with the cause.
#[tokio::test]
async fn a_redis_that_counts_nothing_is_told() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("redis-full");
    let program = Program::start(&rules(&folder), &["--store", &redis.url()]);
    let mut channel = Channel::open(program.grpc).await;
    let mut green = Vec::new();
    prost::encoding::string::encode(1, &"green".to_owned(), &mut green);
    while channel.call("/grpc.health.v1.Health/Check", &green).await != (0, vec![8, 1]) {}
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for path in ["/healthz", "/readyz", "/healthz?verbose"] {
        while !get(program.admin, path, "").1.contains("yellow: the store says: \"OOM\"") {
            // A rule with `on_store_failure: refuse` refuses.
            assert_eq!(channel.should_rate_limit(&of("ann")).await.unwrap_err(), 14);
        }
    }
    while channel.call("/grpc.health.v1.Health/Check", &green).await != (0, vec![8, 2]) {
        assert_eq!(channel.should_rate_limit(&of("ann")).await.unwrap_err(), 14);
    }
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]);
    while !get(program.admin, "/readyz", "").1.contains("\ngreen") {}
}

/// Each client sends its requests to a queue of its own, and can't wait in it.
const QUEUES: &str = "
domain: web
descriptors:
- {key: user, limit: leaky-bucket 1/1h queue 20}
- {key: ip, limit: gcra 9/1h}
";

/// A client that asks again and again while it would have to wait is told the same wait each time: what is
/// refused is not counted.
#[tokio::test]
async fn who_can_not_wait_is_refused_and_not_counted() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("queues");
    let rules = folder.write("rules.yaml", QUEUES);
    for (store, args) in [("memory", &[][..]), ("redis", &["--store", &redis.url()])] {
        let program = Program::start(&rules, args);
        assert_eq!(get(program.http, "/check?user=ann", "").0, 200, "{store}");
        for _ in 0..5 {
            let (status, refused) = get(program.http, "/check?user=ann", "");
            let wait = refused.split("\nretry-after: ").nth(1).unwrap().lines().next().unwrap();
            let wait: u32 = wait.parse().unwrap();
            assert!(status == 429 && wait <= 3600, "{store}: {refused}");
        }
        let mut channel = Channel::open(program.grpc).await;
        let (user, ip) = (|name| descriptor(&[("user", name)]), descriptor(&[("ip", "a")]));
        // Alone, as the last of two, and as the first of them.
        for (i, asked) in
            [vec![user("bob")], vec![ip.clone(), user("eve")], vec![user("joe"), ip.clone()]]
                .into_iter()
                .enumerate()
        {
            let asked = request(asked);
            for n in 0..6 {
                let answer = channel.should_rate_limit(&asked).await.unwrap();
                let code = if n == 0 { Code::Ok } else { Code::OverLimit };
                assert_eq!(answer.overall_code(), code, "{store}, {i}");
                let queued = answer.statuses.iter().find(|status| status.code() == code).unwrap();
                let reset = queued.duration_until_reset.unwrap().seconds;
                assert!(n == 0 || reset <= 3600, "{store}, {i}: {reset} s");
            }
        }
        let answer = channel.should_rate_limit(&request(vec![ip])).await.unwrap();
        let remaining = answer.statuses[0].limit_remaining;
        assert_eq!(remaining, 6, "{store}: it counts what passed");
    }
}

/// How many of ten requests pass by a limit that they bring along.
async fn passed(channel: &mut Channel, count: u32, unit: Unit, multiplier: Option<u32>) -> usize {
    let limit = RateLimitOverride {
        requests_per_unit: count,
        unit: unit.into(),
        unit_multiplier: multiplier,
    };
    let own = RateLimitDescriptor { limit: Some(limit), ..descriptor(&[("user", "ann")]) };
    let (asked, mut passed) = (request(vec![own]), 0);
    for _ in 0..10 {
        let answer = channel.should_rate_limit(&asked).await.unwrap();
        passed += usize::from(answer.overall_code() == Code::Ok);
    }
    passed
}

/// Another count is another limit with counts of its own; the same time in other words is not.
#[tokio::test]
async fn each_limit_that_requests_bring_along_counts_alone() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("own");
    let rules = rules(&folder);
    for (store, args) in [("memory", &[][..]), ("redis", &["--store", &redis.url()])] {
        let program = Program::start(&rules, args);
        let mut channel = Channel::open(program.grpc).await;
        let mut counts = Vec::new();
        for (count, unit, multiplier) in [
            (3, Unit::Year, None),
            (5, Unit::Year, None),
            (5, Unit::Day, Some(3650)),
            (3, Unit::Year, Some(1)),
            (3, Unit::Year, Some(10)),
            (3, Unit::Day, Some(365)),
        ] {
            counts.push(passed(&mut channel, count, unit, multiplier).await);
        }
        assert_eq!(counts, [3, 5, 5, 0, 3, 0], "{store}");
    }
}

/// A process that is asked to end tells Redis of its events, long before it would have otherwise.
#[cfg(unix)]
#[tokio::test]
async fn a_process_that_ends_in_order_tells_what_it_counted() {
    let Some(server) = Server::start(&[]) else { return };
    let folder = Folder::new("ends");
    let start = |share: &str| {
        let rule = format!("{{key: user, limit: sliding-log 100/1h, share: {share}}}");
        let text = format!("domain: web\ndescriptors:\n- {rule}\n");
        let rules = folder.write(&format!("{}.yaml", &share[..5]), text);
        Program::start(&rules, &["--store", &server.url(), "--deadline", "10s"])
    };
    let ends = start("synced 1m");
    let mut channel = Channel::open(ends.grpc).await;
    for _ in 0..40 {
        let answer = channel.try_should_rate_limit(&of("ann")).await.unwrap().unwrap();
        assert_eq!(answer.overall_code(), Code::Ok);
    }
    drop(channel);
    let log = tokio::task::spawn_blocking(|| ends.ended()).await.unwrap();
    assert!(!log.contains("were not sent"), "{log}");
    let next = start("exact");
    let mut channel = Channel::open(next.grpc).await;
    let mut passed = 0;
    while channel.try_should_rate_limit(&of("ann")).await.unwrap().unwrap().overall_code()
        == Code::Ok
    {
        passed += 1;
    }
    assert_eq!(passed, 60);
}

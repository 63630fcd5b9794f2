//! The manual for operators: its examples are right.

use super::program::{Program, get};
use super::server::Server;
use super::servers::program;
use super::shell::{Folder, command, printed, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const TOPICS: [&str; 10] = [
    "start",
    "rules",
    "endpoints",
    "metrics",
    "redis",
    "kubernetes",
    "sizing",
    "outages",
    "upgrade",
    "migrating",
];

fn page(topic: &str) -> String {
    printed(&mut command(&["guide", topic]), "")
}

#[test]
fn each_topic_is_a_page() {
    assert_eq!(printed(&mut command(&["guide"]), ""), page("start"));
    for topic in TOPICS {
        let lines = page(topic).lines().count();
        assert!((10..75).contains(&lines), "{topic}: {lines}");
    }
}

#[test]
fn rules_of_the_manual_are_right() {
    let folder = Folder::new("guide");
    let mut blocks = 0;
    for topic in TOPICS {
        for block in page(topic).split("```yaml\n").skip(1) {
            let rules = folder.write("rules.yaml", block.split("```").next().unwrap());
            let checked = command(&["check", rules.to_str().unwrap()]).output().unwrap();
            assert!(checked.status.success(), "{topic}: {}", text(&checked.stderr));
            blocks += 1;
        }
    }
    assert_eq!(blocks, 2);
}

/// Each option that it names is an option of a command.
#[test]
fn options_of_the_manual_are_there() {
    let helps: String =
        [&["run"][..], &["check"], &["test"], &["tune"], &["health"], &["keys", "except"]]
            .iter()
            .map(|name| printed(&mut command(&[name, &["--help"][..]].concat()), ""))
            .collect();
    let known: BTreeSet<&str> = options(&helps).collect();
    for topic in TOPICS {
        let page = page(topic);
        // Those of other programs.
        let own = page.lines().filter(|line| !line.contains("cargo bench"));
        for option in own.flat_map(options) {
            assert!(known.contains(option), "{topic}: {option}");
        }
    }
}

fn options(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(move |c| !is_part(c));
    words.filter(|word| word.starts_with("--") && word.len() > 3 && !word.ends_with('-'))
}

/// Each metric that it names is there from the start.
#[test]
fn metrics_of_the_manual_are_there() {
    let rules = "domain: web\nlimit: gcra 1/1s\n";
    let program = Program::of(rules, &["--load", "admin"]);
    // The layer of /auth has counters of its own.
    assert_eq!(get(program.http, "/auth", "").0, 200);
    assert_eq!(get(program.http, "/check", "").0, 429);
    let metrics = get(program.admin, "/metrics", "").1;
    let of_shared = Server::start(&[]).map(|redis| {
        let program = Program::of(rules, &["--store", &redis.url()]);
        loop {
            let metrics = get(program.admin, "/metrics", "").1;
            if metrics.contains("ratescope_leased_here_total") {
                return metrics;
            }
        }
    });
    let page = page("metrics");
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let named: BTreeSet<&str> = page
        .split(|c| !is_part(c))
        .filter(|word| word.starts_with("ratescope_") || word.starts_with("process_"))
        .collect();
    assert!(named.len() > 14, "{named:?}");
    for name in named {
        // Told only where a store is asked, fails, or has memory for a second.
        let is_later = [
            "ratescope_store_seconds",
            "ratescope_store_errors_total",
            "ratescope_keys",
            "ratescope_keys_evicted_total",
        ];
        let is_shared =
            ["ratescope_leased_", "ratescope_synced_"].iter().any(|begin| name.starts_with(begin));
        let metrics = if is_shared { of_shared.as_ref() } else { Some(&metrics) };
        let is_there = metrics.is_none_or(|metrics| metrics.contains(name));
        assert!(is_later.contains(&name) || is_there, "{name} in {metrics:?}");
    }
}

/// The lines of a page for a shell: all that is indented by four spaces or more, and in no block.
fn lines(page: &str) -> Vec<&str> {
    let mut is_block = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if !is_block && line.starts_with("    ") {
            lines.push(line.trim());
        }
    }
    lines
}

const CASES: &str = "
tests:
  - name: five a minute
    events:
      - {fields: {user: ann}, times: 5, expect: allowed}
      - {fields: {user: ann}, expect: refused}
";

/// The place where the lines of the manual run: the files that it names, a program with its first rules, and a Redis.
struct Shell<'a> {
    folder: &'a Folder,
    program: &'a Program,
    redis: Option<&'a Server>,
}

impl Shell<'_> {
    /// Runs a line, and returns its output.
    fn run(&self, line: &str) -> String {
        let (name, rest) = line.split_once(' ').unwrap();
        let words: Vec<&str> = rest.split(' ').collect();
        match (name, words.as_slice()) {
            // Its configuration is checked. The other tests start it.
            ("ratescope", ["run", args @ ..]) => {
                let args = args.iter().filter(|arg| **arg != "--check").copied();
                self.ratescope(&["run", "--check"].into_iter().chain(args).collect::<Vec<_>>())
            }
            ("ratescope", ["keys" | "health", ..]) => {
                let at = self.program.admin.to_string();
                self.ratescope(&[&words[..], &["--admin", &at]].concat())
            }
            ("ratescope", args) => self.ratescope(args),
            ("curl", ["-i", url]) => {
                let path = url.trim_matches('\'').strip_prefix("http://127.0.0.1:8080").unwrap();
                get(self.program.http, path, "").1
            }
            ("redis-cli" | "ACL", _) => self.redis(line),
            ("cargo", ["bench", "-p", package, bench @ ..]) => {
                let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
                let of = fs::read_to_string(crates.join(package).join("Cargo.toml")).unwrap();
                let name =
                    bench.get(1).map_or(String::new(), |name| format!("name = \"{name}\"\n"));
                assert!(of.contains(&format!("[[bench]]\n{name}")), "{line}");
                String::new()
            }
            ("openssl", _) => self.shell("OPENSSL", line),
            // Without a cluster, it says what it would apply.
            ("kubectl", ["apply", "-k", base]) => {
                self.shell("KUBECTL", &format!("kubectl kustomize {base}"))
            }
            ("systemctl", ["restart", unit]) => {
                let unit = format!("examples/run/{unit}.service");
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(unit).exists());
                String::new()
            }
            _ => panic!("nobody knows how to run {line}"),
        }
    }

    fn ratescope(&self, args: &[&str]) -> String {
        let password = self.folder.path("password").display().to_string();
        let args = args.iter().map(|arg| arg.replace("/etc/ratescope/password", &password));
        let mut command = command(&[]);
        printed(command.args(args).current_dir(self.folder.path(".")), "")
    }

    fn shell(&self, variable: &str, line: &str) -> String {
        let name = line.split(' ').next().unwrap();
        if program(variable, name).is_none() {
            return String::new();
        }
        let mut shell = Command::new("sh");
        printed(shell.args(["-c", line]).current_dir(self.folder.path(".")), "")
    }

    /// Sends a line to Redis; a text in quotes is one word.
    fn redis(&self, line: &str) -> String {
        let Some(redis) = self.redis else { return String::new() };
        let line = line.trim_start_matches("redis-cli ").replace(">PASSWORD", ">secret");
        let mut words: Vec<&str> = Vec::new();
        for (place, part) in line.split('"').enumerate() {
            if place % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split(' ').filter(|word| !word.is_empty()));
            }
        }
        let answer = redis.command(&words);
        assert!(!answer.starts_with('-'), "{line}: {answer}");
        answer
    }
}

/// Each line for a shell runs, and does what the page says.
#[cfg(unix)]
#[test]
fn lines_of_the_manual_run() {
    let folder = Folder::new("manual");
    fs::create_dir_all(folder.path("examples/run")).unwrap();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/run")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path("examples/run").join(file.file_name())).unwrap();
    }
    let start = page("start");
    let rules = start.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let rules = folder.write("rules.yaml", rules);
    folder.write("cases.yaml", CASES);
    folder.write("password", "secret\n");
    let (program, redis) = (Program::start(&rules, &[]), Server::start(&[]));
    let shell = Shell { folder: &folder, program: &program, redis: redis.as_ref() };

    // The first ten minutes.
    let refused = |said: &str| said.starts_with("HTTP/1.1 429");
    for line in lines(&start) {
        let mut said = shell.run(line);
        if line.starts_with("curl") {
            // Until it is 429.
            for _ in 0..5 {
                assert!(!refused(&said), "{said}");
                said = shell.run(line);
            }
            assert!(refused(&said), "{said}");
        }
        let asked = || get(program.http, "/check?user=ann", "").0;
        match line {
            "ratescope keys refused" | "ratescope keys look user=ann" => {
                assert!(said.contains("user=ann"), "{line}: {said}");
            }
            "ratescope keys reset user=ann" => {
                assert_eq!([0; 6].map(|_| asked()), [200, 200, 200, 200, 200, 429]);
            }
            "ratescope keys except 500/1m --for 1d user=ann" => {
                assert_eq!([0; 6].map(|_| asked()), [200; 6]);
            }
            _ => {}
        }
    }
    for topic in TOPICS.into_iter().filter(|topic| *topic != "start") {
        for line in lines(&page(topic)) {
            let said = shell.run(line);
            if line == "kubectl apply -k examples/run" && !said.is_empty() {
                for kind in ["Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget"] {
                    assert!(said.contains(&format!("kind: {kind}\n")), "{kind} in {said}");
                }
            }
        }
    }
    assert!(fs::read_to_string(folder.path("report.xml")).unwrap().contains("five a minute"));

    // The user that the page makes has the rights for all that the service does.
    let Some(redis) = &redis else { return };
    let password = folder.path("password").display().to_string();
    let url = redis.url().replace("redis://", "redis://limits@");
    let store = ["--store", &url, "--store-password-file", &password];
    let limited = Program::start(&rules, &store);
    let shell = Shell { program: &limited, ..shell };
    let asked = || get(limited.http, "/check?user=eve", "").0;
    assert_eq!([0; 6].map(|_| asked()), [200, 200, 200, 200, 200, 429]);
    for line in lines(&page("endpoints")) {
        let said = shell.run(&line.replace("ann", "eve"));
        if line == "ratescope keys reset user=ann" {
            assert_eq!(asked(), 200, "{said}");
        }
    }
    while !get(limited.admin, "/healthz", "").1.contains("\ngreen") {}
    let log = limited.ended();
    assert!(!log.contains("NOPERM"), "{log}");
}

/// A key on Redis takes as much as the page says.
#[test]
fn the_size_of_a_key_on_redis() {
    let Some(redis) = Server::start(&[]) else { return };
    let folder = Folder::new("size");
    let program = Program::of("domain: web\nlimit: gcra 1/1s\n", &[]);
    let shell = Shell { folder: &folder, program: &program, redis: Some(&redis) };
    let used = |said: &str| -> f64 {
        let line = said.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.unwrap().trim().parse().unwrap()
    };
    let page = page("sizing");
    let said: Vec<String> = lines(&page)
        .into_iter()
        .filter(|line| line.starts_with("redis-cli"))
        .map(|line| shell.run(line))
        .collect();
    let each = (used(&said[2]) - used(&said[0])) / 100_000.0;
    let (_, rest) = page.split_once(" took ").unwrap();
    let stated: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!((each - stated).abs() < 0.1 * stated, "{each} bytes a key, and the page says {stated}");
}

#[test]
fn the_memory_of_many_keys() {
    let folder = Folder::new("memory");
    let rules = folder.write(
        "rules.yaml",
        "domain: web\ndescriptors:\n- {key: user, limit: [gcra 10/1s, sliding-log 500/1m, adaptive x3 decay 1m increase 7d floor 10 by hour]}\n",
    );
    let said = printed(&mut command(&["check", "--users", "1M", rules.to_str().unwrap()]), "");
    let memory = said.split("memory of 1,000,000 keys").nth(1).unwrap_or_else(|| panic!("{said}"));
    for part in [
        "web:user: gcra 10/1s burst 10\n    in memory up to 84 bytes a key, 84.0 MB in all, on Redis about ",
        "web:user#2: sliding-log 500/1m\n    in memory up to 8,",
        "web:user#3: adaptive x3 decay 1m increase 1w floor 10 by hour leaky\n    in memory up to ",
    ] {
        assert!(memory.contains(part), "{part} in {memory}");
    }
    let wrong = command(&["check", "--users", "1G", rules.to_str().unwrap()]).output().unwrap();
    assert!(text(&wrong.stderr).contains("as in 250k or 1M"), "{wrong:?}");
}

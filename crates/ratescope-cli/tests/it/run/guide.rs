//! The manual for operators: what it shows is right.

use super::program::{Program, get};
use super::shell::{Folder, command, printed, text};
use std::collections::BTreeSet;

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
        assert!(is_later.contains(&name) || metrics.contains(name), "{name} in {metrics}");
    }
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

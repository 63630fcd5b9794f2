//! The seeds of the fuzz target, the files of the other tests, and random changes of them.

use crate::rules::invariants::hold;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn seeds() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The first belongs to the fuzzer, which is not in the published crate.
    let folders = ["../../fuzz/corpus/rules", "tests/it/rules/good", "tests/it/rules/bad"];
    let paths = folders.into_iter().filter_map(|folder| fs::read_dir(root.join(folder)).ok());
    let read = |path: &Path| {
        (path.display().to_string(), String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
    };
    let mut seeds: Vec<_> = paths.flatten().map(|e| read(&e.unwrap().path())).collect();
    seeds.sort();
    seeds
}

#[test]
fn the_seeds() {
    let seeds = seeds();
    assert!(seeds.len() > 100, "{} seeds", seeds.len());
    for (name, text) in &seeds {
        println!("{name}");
        hold(text);
    }
}

/// Seeds cut short, each at other places.
#[test]
fn the_beginnings_of_seeds() {
    for (i, (_, text)) in seeds().iter().enumerate() {
        for end in (i % 32..text.len().min(700)).step_by(32) {
            if let Some(beginning) = text.get(..end) {
                hold(beginning);
            }
        }
    }
}

/// Pieces of rule files, from which random files are put together.
const PARTS: &[&str] = &[
    "domain: web\n",
    "descriptors:\n",
    "  - key: user\n",
    "    value: ",
    "    network: 10.0.0.0/8, 192.0.2.0/24\n",
    "    limit: ",
    "ann\n",
    "a*b\n",
    "gcra 5/1s burst 10",
    "exim 10/1m strict per user+ip\n",
    " & ",
    "3/1m\n",
    "    rate_limit:\n",
    "      unit: day\n",
    "      requests_per_unit: 5\n",
    "      unlimited: true\n",
    "    descriptors:\n",
    "      - {key: ip, limit: 1/1s}\n",
    "    throttle: soft 10%\n",
    "    shadow: yes\n",
    "    cost: 2\n",
    "    name: n\n",
    "    replaces: [n]\n",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "? ",
    "&a ",
    "*a ",
    "!t ",
    "|\n",
    ">-\n",
    "'",
    "\"",
    "\\",
    "#",
    "\t",
    "\r\n",
    "\n",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "é",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "<<",
    "~",
    "tests:\n",
    "  - name: t\n",
    "    events:\n",
    "      - {expect: allowed, times: 3}\n",
];

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,200}") {
        hold(&text);
    }

    #[test]
    fn any_parts_of_rule_files(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        hold(&parts.concat());
    }

    /// A seed with a part in some place, in place of some characters.
    #[test]
    fn any_change_of_a_seed(
        seed in prop::sample::select(seeds()),
        at in any::<prop::sample::Index>(),
        skipped in 0..20usize,
        part in prop::sample::select(PARTS),
    ) {
        let chars: Vec<char> = seed.1.chars().collect();
        let at = at.index(chars.len() + 1);
        let before: String = chars[..at].iter().collect();
        let after: String = chars[(at + skipped).min(chars.len())..].iter().collect();
        hold(&format!("{before}{part}{after}"));
    }
}

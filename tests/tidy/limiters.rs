//! Limiters are listed in one place.

use crate::code::{Code, read};
use crate::{SOURCES, Source, assert_none, root};
use std::fs;

/// The most limiters that a file names which is not about one of them.
const A_FEW: usize = 4;

/// Where Tune names limiters whose levels do not depend on the limit: a new one need not be among them.
const MEASURED: [&str; 4] = [
    // Their levels. (Levels that come from the limiters' own files were tried: 59 lines fewer, as fast, and 9 kB more
    // in the page's module.)
    "src/lab/tune/measure/level.rs",
    // Those that can be chosen as `by`.
    "src/lab/tune/measure/metric.rs",
    // Those by which a server limits.
    "src/lab/tune/answer/choices.rs",
    // What people call their limits; any other limiter has its text form.
    "src/lab/tune/answer/in_words.rs",
];

/// A new limiter is its file, its Lua and its place in the list of `src/limit.rs`. So nothing else may
/// list them: a file that knows a few, such as those which a server has, names [`A_FEW`] at most.
#[test]
fn limiters_are_listed_once() {
    let limit = fs::read_to_string(root().join("src/limit.rs")).unwrap();
    let limiters = listed(&limit);
    assert!(limiters.len() > A_FEW && limiters.contains(&("gcra", "Gcra")), "{limiters:?}");
    let others = |file: &Source| {
        let own = |module: &str| file.name.starts_with(&format!("src/limit/{module}"));
        let limiters = limiters.iter().filter(|(module, _)| !own(module));
        limiters.filter(|limiter| is_named(limiter, &file.code)).map(|l| l.1).collect::<Vec<_>>()
    };
    let sources = SOURCES.iter().filter(|file| file.name != "src/limit.rs");
    let lists = sources.map(|file| (others(file), file));
    let (excused, wrong): (Vec<_>, Vec<_>) = lists
        .filter(|(others, _)| others.len() > A_FEW)
        .partition(|(_, file)| MEASURED.contains(&file.name.as_str()));
    let wrong = wrong.iter().map(|(others, file)| format!("{}: {}", file.name, others.join(", ")));
    assert_none("more lists of limiters", wrong.collect());
    assert_eq!(excused.len(), MEASURED.len(), "a file is excused for nothing");

    // One that is made up: in the list, and found wherever else it is named.
    let more = limit.replacen("fixed_window::", "made_up::MadeUp,\n            fixed_window::", 1);
    assert_eq!(listed(&more).first(), Some(&("made_up", "MadeUp")));
    assert_eq!(listed(&more).len(), limiters.len() + 1);
    for code in [
        "made_up::MadeUp",
        "AnyLimiter::MadeUp(_)",
        "use AnyLimiter::*; match l { MadeUp(_) => 1 }",
        "Measure::MadeUp(_)",
        "Metric::MadeUp",
    ] {
        assert!(is_named(&("made_up", "MadeUp"), &read(code)), "{code}");
    }
    assert!(!is_named(&("made_up", "MadeUp"), &read("use AnyLimiter::Gcra; MadeUp")));
}

/// Whether code names a limiter: by its module, as a variant, or as one that an import has made bare.
fn is_named((module, limiter): &(&str, &str), code: &Code) -> bool {
    let has = |form: &str| !code.find(form).is_empty();
    ["AnyLimiter", "Measure", "Metric"].iter().any(|all| {
        let are_bare = has(&format!("{all}::*")) || has(&format!("{all}::{{"));
        has(&format!("{all}::{limiter}")) || (are_bare && has(limiter))
    }) || has(&format!("{module}::{limiter}"))
}

/// The rows of the list of limiters: module and type.
fn listed(limit: &str) -> Vec<(&str, &str)> {
    let list = limit.split("macro_rules! limiters").nth(1).unwrap().split("\n}\n").next().unwrap();
    let rows = list.lines().filter_map(|line| line.trim().strip_suffix(','));
    rows.filter_map(|row| row.trim_end_matches(" boxed").split_once("::")).collect()
}

//! Every file in `good` and `bad`.

use ratescope::rules::Rules;
use ratescope::rules::cases::Cases;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Each good file has cases beside it, and does what they expect.
#[test]
fn good_files_do_what_is_expected() {
    let mut tests = 0;
    for path in folder("good") {
        let Some(stem) = name(&path).strip_suffix(".cases.yaml") else {
            let cases = path.with_extension("cases.yaml");
            assert!(cases.exists(), "{} has no cases", path.display());
            continue;
        };
        let rules = path.with_file_name(format!("{stem}.yaml"));
        let rules = Rules::read(name(&rules), &fs::read_to_string(&rules).unwrap());
        let rules = rules.unwrap_or_else(|error| panic!("{error}"));
        let cases = Cases::read(name(&path), &fs::read_to_string(&path).unwrap());
        let cases = cases.unwrap_or_else(|error| panic!("{error}"));
        let failures: Vec<String> =
            cases.run(&rules).into_iter().flatten().map(|failure| failure.to_string()).collect();
        assert!(failures.is_empty(), "{}:\n{}", name(&path), failures.join("\n"));
        tests += cases.names().count();
    }
    assert!(tests >= 30, "{tests} tests");
}

/// A test begins with empty states, also where the one before failed, and where a rule was stretched.
#[test]
fn tests_know_nothing_of_each_other() {
    let rules = "domain: d\ndescriptors:\n  - {key: user, limit: 1/1h, throttle: elastic up to 2x while load < 70%}\n";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let test = |name: &str, load, times, expected| {
        format!(
            "  - {{name: {name}, load: {load}%, events: [{{at: 2h, fields: {{user: a}}, times: {times}, \
             expect: {expected}}}]}}\n"
        )
    };
    let each = [
        test("a", 10, 3, "allowed"),
        test("b", 10, 1, "allowed"),
        test("c", 90, 2, "allowed"),
        test("d", 90, 1, "allowed"),
    ];
    let cases = Cases::read("cases.yaml", &format!("tests:\n{}", each.concat())).unwrap();
    let failed: Vec<_> = cases.run(&rules).iter().map(Vec::len).collect();
    assert_eq!(failed, [1, 0, 1, 0]);
}

/// All shadows that refuse are expected, and each by its full name or by its name in the file.
#[test]
fn each_shadow_is_expected_by_name() {
    let rules = "domain: d\ndescriptors:\n  - {key: a, limit: 1/1h, shadow: true, name: first}\n  - {key: b, limit: 1/1h, shadow: true}\n";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let cases = |shadow: &str| {
        let event = format!(
            "{{fields: {{a: x, b: x}}, times: 2}}, {{fields: {{a: x, b: x}}, shadow: [{shadow}]}}"
        );
        Cases::read("cases.yaml", &format!("tests: [{{name: t, events: [{event}]}}]\n"))
    };
    for (shadow, failures) in [
        ("first, 'd:b'", 0),
        ("'d:b', 'd:a'", 0),
        ("first, 'd:a'", 1),
        ("'d:b'", 1),
        ("first, 'd:b', 'd:c'", 1),
    ] {
        assert_eq!(cases(shadow).unwrap().run(&rules)[0].len(), failures, "{shadow}");
    }
    let error = cases("first, 'd:b', first").unwrap_err().to_string();
    assert!(error.contains("\"first\": it is listed already"), "{error}");
}

/// Each bad file ends with comments that begin with `#!`: the mistakes that are told of it, each with
/// its place. A file of cases is known by its name.
#[test]
fn bad_files_are_told_what_is_wrong() {
    let paths = folder("bad");
    assert!(paths.len() >= 50, "{} files", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let want: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#! ")).collect();
        let wrong = match name(&path).starts_with("cases_") {
            true => Cases::read("f", &text).map(drop),
            false => Rules::read("f", &text).map(drop),
        };
        let error = wrong.expect_err(name(&path)).to_string();
        let want = want.iter().map(|line| format!("f:{line}")).collect::<Vec<_>>().join("\n");
        assert_eq!(error, want, "{}", name(&path));
    }
}

/// The description that `check` prints of a file.
#[test]
fn rules_in_words() {
    let words = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
        let rules = fs::read_to_string(folder.join(format!("good/{name}.yaml"))).unwrap();
        let want = fs::read_to_string(folder.join(format!("words/{name}.txt"))).unwrap();
        let got = Rules::read(name, &rules).unwrap().to_string();
        assert_eq!(got, want, "{name}:\n{got}");
    };
    words("settings");
    words("throttle");
    words("wildcards");
    words("networks");
    words("replaces");
    words("shadow");
    words("blocked");
    words("by_hour");
}

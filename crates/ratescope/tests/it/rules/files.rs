//! Every file in `good` and `bad`.

use ratescope::rules::cases::Cases;
use ratescope::rules::{LONGEST, Rules, decode};
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Each good file has cases beside it, and passes them.
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

/// As articles print the rules of envoyproxy/ratelimit, which refuses the key. Beside a value, it is a mistake here, too.
#[test]
fn a_value_with_a_capital_is_read_with_a_remark() {
    let read = |lines: &str| {
        let limit = "    rate_limit: {unit: day, requests_per_unit: 5}\n";
        let text =
            format!("domain: messaging\ndescriptors:\n  - key: message_type\n{lines}{limit}");
        Rules::read("rules.yaml", &text)
    };
    let rules = read("    Value: marketing\n").unwrap();
    assert_eq!(rules.rules()[0].name(), "messaging:message_type=marketing");
    let remarks: Vec<String> = rules.remarks().iter().map(ToString::to_string).collect();
    let remark = "4:5: \"Value\": read as value; envoyproxy/ratelimit refuses it, though articles print it so";
    assert_eq!(remarks, [remark]);
    assert!(read("    value: marketing\n").unwrap().remarks().is_empty());
    let error = read("    value: marketing\n    Value: other\n").unwrap_err();
    let mistake = "rules.yaml:5:5: \"Value\": not a key of a descriptor; did you mean value?";
    assert_eq!(error.to_string(), mistake);
}

/// As a list of YAML, and as a text of JSON; a precision longer than its duration is cut.
#[test]
fn a_limit_is_a_list_of_numbers() {
    let of = |list: &str| {
        let text = format!("domain: web\ndescriptors:\n- {{key: ip, limit: {list}}}\n");
        Rules::read("rules.yaml", &text).map(|rules| {
            let limits = rules.rules()[0].limits().iter().map(ToString::to_string);
            let remarks: Vec<String> = rules.remarks().iter().map(ToString::to_string).collect();
            (limits.collect::<Vec<_>>().join(" & "), remarks)
        })
    };
    let three = "fixed-window 10/1s per ip & fixed-window 120/1m per ip & \
                 sliding-window 240/1h per ip";
    for list in ["[[1, 10], [60,120], [3600, 240, 60]]", "'[[1,10],[60,120],[3600,240,60]]'"] {
        assert_eq!(of(list).unwrap(), (three.to_owned(), vec![]), "{list}");
    }
    let cut =
        "the precision is longer than the duration and was cut to it, which makes a fixed window";
    let minute = "fixed-window 120/1m per ip".to_owned();
    assert_eq!(
        of("'[[60,120,90]]'").unwrap(),
        (minute.clone(), vec![format!("3:30: \"90\": {cut}")])
    );
    assert_eq!(of("[[60, 120, 90]]").unwrap(), (minute, vec![format!("3:21: \"90\": {cut}")]));
    let error = of("[[60, x]]").unwrap_err().to_string();
    assert!(
        error.starts_with("rules.yaml:3:21: \"x\" in \"[[60, x]]\": not a number; write ["),
        "{error}"
    );
}

/// A test begins with empty states, also where the one before failed, and where a rule was relaxed.
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

/// Descriptors of Envoy are looked up as lists: with the same names as fields, other rules apply.
#[test]
fn cases_have_descriptors() {
    let rules = "domain: d
descriptors:
- {key: ip, rate_limit: {unit: hour, requests_per_unit: 2}}
- key: path
  descriptors: [{key: ip, rate_limit: {unit: hour, requests_per_unit: 1}}]
- {key: queue, limit: leaky-bucket 1/1s queue 9}
";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let cases = "tests:
- name: fields
  events: [{fields: {ip: a, path: /x}, expect: allowed}, {fields: {ip: a, path: /x}, expect: refused, by: 'd:path,ip'}]
- name: one
  events:
  - {descriptors: [{ip: a}], times: 2, expect: allowed, by: 'd:ip'}
  - {descriptors: [{ip: a}], expect: refused, by: 'd:ip', retry_after: 1h}
  - {descriptors: [{ip: b}], expect: allowed}
- name: the names in their order, and no others
  events:
  - {descriptors: [{path: /x, ip: a}], expect: allowed, by: 'd:path,ip'}
  - {descriptors: [{path: /x, ip: a}], expect: refused}
  - {descriptors: [{ip: a, path: /x}], times: 5, expect: allowed, by: none}
  - {descriptors: [{path: /x}], times: 5, expect: allowed, by: none}
- name: together
  events:
  - {descriptors: [{ip: a}, {path: /x, ip: a}], expect: allowed}
  - {descriptors: [{ip: a}, {path: /x, ip: a}], times: 3, expect: refused, by: 'd:path,ip'}
  - {descriptors: [{ip: a}], expect: allowed}
  - {descriptors: [{ip: a}], expect: refused}
- name: a proxy does not wait
  events:
  - {fields: {queue: a}, times: 2, expect: allowed}
  - {descriptors: [{queue: b}], expect: allowed, wait: 0s}
  - {descriptors: [{queue: b}], expect: refused}
";
    let cases = Cases::read("cases.yaml", cases).unwrap();
    assert_eq!(cases.fields(), ["ip", "path", "queue"]);
    let failed: Vec<String> =
        cases.run(&rules).into_iter().flatten().map(|failure| failure.to_string()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let wrong = |event: &str| {
        let text = format!("tests: [{{name: t, events: [{{{event}, expect: allowed}}]}}]\n");
        Cases::read("f", &text).unwrap_err().to_string()
    };
    let both = wrong("fields: {a: b}, descriptors: [{a: b}]");
    assert!(both.contains("an event has fields or descriptors"), "{both}");
    for (none, why) in [
        ("descriptors: []", "descriptors is an empty list"),
        ("descriptors: [{}]", "write from 1 to 64 descriptors"),
    ] {
        assert!(wrong(none).contains(why), "{}", wrong(none));
    }
    assert!(wrong("descriptors: {a: b}").contains("descriptors"));
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
        let wrong = if name(&path).starts_with("cases_") {
            Cases::read("f", &text).map(drop)
        } else {
            Rules::read("f", &text).map(drop)
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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules");
        let rules = fs::read_to_string(folder.join(format!("good/{name}.yaml"))).unwrap();
        let want = fs::read_to_string(folder.join(format!("words/{name}.txt"))).unwrap();
        let got = Rules::read(name, &rules).unwrap().to_string();
        assert_eq!(got, want, "{name}:\n{got}");
    };
    words("settings");
    words("shared");
    words("throttle");
    words("wildcards");
    words("networks");
    words("replaces");
    words("shadow");
    words("blocked");
    words("by_hour");
}

/// A failure tells its place, its time, the expectation and the outcome.
#[test]
fn a_failure_is_told() {
    let rules = "
domain: d
descriptors:
  - {key: user, limit: 2/1h}
  - {key: ip, limit: 1/1h, shadow: true, name: watch}
  - {key: mail, limit: leaky-bucket 1/1s queue 2}
";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    for (events, told) in [
        (
            "{fields: {user: a}, times: 3, every: 10s, expect: allowed}",
            "2:74: t: event 3 at 20 s: expected allowed, got refused by d:user: level 3, limit 2",
        ),
        // Without a time of its own, it comes with the last of those before.
        (
            "{fields: {user: a}, times: 2, every: 10s}, {fields: {user: a}, expect: allowed}",
            "2:95: t: event 3 at 10 s: expected allowed, got refused by d:user: level 3, limit 2",
        ),
        (
            "{fields: {user: a}, expect: refused}",
            "2:52: t: event 1 at 0 s: expected refused, got allowed by d:user: level 1, limit 2",
        ),
        (
            "{fields: {user: a}, by: none}",
            "2:48: t: event 1 at 0 s: expected no limit that applies, got allowed by d:user: level 1, limit 2",
        ),
        (
            "{fields: {host: a}, by: 'd:user'}",
            "2:48: t: event 1 at 0 s: expected a decision by d:user, got allowed: no limit applies",
        ),
        (
            "{fields: {mail: a}, times: 2, wait: 0s}",
            "2:60: t: event 2 at 0 s: expected a wait of 0s, got allowed in 1s by d:mail: level 2, limit 2",
        ),
        (
            "{fields: {user: a}, retry_after: never}",
            "2:57: t: event 1 at 0 s: expected no retry, got a retry at once",
        ),
        (
            "{fields: {user: a}, retry_after: 5s}",
            "2:57: t: event 1 at 0 s: expected a retry in 5s, got a retry at once",
        ),
        (
            "{fields: {ip: a}, shadow: [watch]}",
            "2:50: t: event 1 at 0 s: expected a refusal of the shadow watch, got no shadow that refuses",
        ),
        (
            "{fields: {ip: a}, times: 2, shadow: none}",
            "2:60: t: event 2 at 0 s: expected no shadow that refuses, got a refusal of the shadow d:ip",
        ),
    ] {
        let cases = format!("tests:\n  - {{name: t, events: [{events}]}}\n");
        let cases = Cases::read("cases.yaml", &cases).unwrap();
        assert_eq!(cases.file(), "cases.yaml");
        let failures = cases.run(&rules).concat();
        let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        assert_eq!(failures, [told], "{events}");
    }
}

/// A limit that a store with only f64 cannot compute, with its place.
#[test]
fn what_f64_cannot_decide_is_told() {
    let text = "
domain: d
limit: [5/1s, gcra 10/1s burst 3000000000]
descriptors:
  - {key: user, limit: adaptive x3 decay 1m floor 5 by hour}
  - {key: ip, limit: 5/1s}
";
    let rules = Rules::read("rules.yaml", text).unwrap();
    assert_eq!(rules.file(), "rules.yaml");
    assert_eq!(
        rules.exact_in_f64().unwrap_err().to_string(),
        "rules.yaml:3:8: \"gcra 10/1s burst 3000000000 per all\": not exact where only f64 exists, as on Redis: \
         the burst cannot be 3000000000: it must be below 2.25e9 to be exact in f64"
    );
    let without = "domain: d\ndescriptors: [{key: ip, limit: 5/1s}]\n";
    assert_eq!(Rules::read("rules.yaml", without).unwrap().exact_in_f64(), Ok(()));
}

/// A mistake has a place in lines and characters, and the word there.
#[test]
fn a_mistake_has_a_place() {
    let text = "domain: d\ndescriptors: [{key: ä, limit: 5/1s}, {key: b, limit: 5/1y}]\n";
    let error = Rules::read("rules.yaml", text).unwrap_err();
    let [mistake] = error.mistakes() else { panic!("{error}") };
    assert_eq!((mistake.line(), mistake.column(), mistake.word()), (2, 57, "y"));
}

/// Bytes that are not UTF-8, with their place in characters.
#[test]
fn bytes_that_are_no_text_have_a_place() {
    let (utf8, utf16) = ("this byte is not UTF-8", "the text is UTF-16; write it as UTF-8");
    for (bytes, place, problem) in [
        (b"ab\xff".as_slice(), "1:3", utf8),
        ("ä\nbü".as_bytes(), "2:3", utf8),
        (b"a\n\nb", "3:2", utf8),
        (b"\xff\xfed\0o\0", "1:1", utf16),
        (b"\xfe\xff\0d\0o", "1:1", utf16),
    ] {
        let error = decode("r.yaml", [bytes, b"\xff"].concat()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("r.yaml:{place}: {problem}")), "{error}");
    }
    // A file that is too long is refused for that.
    for (more, is_read) in [(0, false), (1, true), (2, true)] {
        let bytes = [b"x".repeat(LONGEST - 1 + more).as_slice(), b"\xff"].concat();
        assert_eq!(decode("r.yaml", bytes).is_ok(), is_read, "{more}");
    }
}

/// The units of envoyproxy/ratelimit; a month has 30 days there, and a year 365.
#[test]
fn units_have_their_lengths() {
    for (unit, limit) in [
        ("second", "5/1s"),
        ("minute", "5/1m"),
        ("hour", "5/1h"),
        ("day", "5/24h"),
        ("week", "5/7d"),
        ("month", "5/30d"),
        ("year", "5/365d"),
    ] {
        let limited = format!("rate_limit: {{unit: {unit}, requests_per_unit: 5}}");
        let text = format!("domain: d\ndescriptors: [{{key: user, {limited}}}]\n");
        let rules = Rules::read("rules.yaml", &text).unwrap();
        let limiter = &rules.rules()[0].limits()[0].limiter;
        assert_eq!(*limiter, limit.parse().unwrap(), "{unit}");
    }
}

/// Merge keys of YAML: a map's own keys count first, and of several maps the first.
#[test]
fn merge_keys() {
    let text = "
domain: web
descriptors:
- &usual {key: user, limit: gcra 2/1h, on_store_failure: refuse}
- {<<: *usual, key: ip}
- &shadow {key: path, limit: gcra 1/1h, shadow: true}
- {key: host, <<: [*shadow, *usual]}
";
    let rules = super::read(text);
    let told = |rule: &ratescope::rules::Rule| {
        format!("{} {} {}", rule.limits()[0], rule.is_shadow(), rule.on_store_failure())
    };
    assert_eq!(
        rules.rules().iter().map(told).collect::<Vec<_>>(),
        [
            "gcra 2/1h burst 2 per user false refuse",
            "gcra 2/1h burst 2 per ip false refuse",
            "gcra 1/1h burst 1 per path true local",
            "gcra 1/1h burst 1 per host true refuse",
        ]
    );
    for (wrong, expected) in [
        ("- {<<: usual, key: ip}", "<< is followed by a map or a list of maps"),
        ("- {<<: [1], key: ip}", "<< is followed by a map or a list of maps"),
        ("- {'<<': {limit: 1/1s}, key: ip}", "not a key of a descriptor"),
    ] {
        let error =
            ratescope::rules::Rules::read("x", &format!("domain: web\ndescriptors:\n{wrong}\n"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

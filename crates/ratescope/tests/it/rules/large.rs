//! Files with many rules: twice as many take twice as long.

use super::{read, ruled};
use crate::rules::doubling::{assert_linear, assert_linear_once, sizes};
use ratescope::event::{Descriptor, Fields};
use ratescope::rules::cases::Cases;
use ratescope::rules::{Reloaded, Rules};
use ratescope::{Event, Time};
use std::collections::HashMap;
use std::fmt::Write;

/// A file with `n` rules, the text of each by its number.
fn file(n: usize, rule: impl Fn(usize) -> String) -> String {
    let head = "domain: d\ndescriptors:\n".to_owned();
    (0..n).fold(head, |file, i| file + "  - {" + &rule(i) + "}\n")
}

/// Values of one key, and a rule for all others beside them.
fn values(n: usize) -> String {
    file(n, |i| match i {
        0 => "key: path, limit: 5/1s".to_owned(),
        _ => format!("key: path, value: p{i}, descriptors: [{{key: ip, limit: gcra {i}/1m}}]"),
    })
}

/// Each rule replaces the one before.
fn chain(n: usize) -> String {
    file(n, |i| match i {
        0 => "key: k0, limit: 5/1s, name: n0".to_owned(),
        _ => format!("key: k, value: v{i}, limit: 5/1s, name: n{i}, replaces: [n{}]", i - 1),
    })
}

/// Each wildcard has its own beginning, or its own end.
fn wildcards(n: usize) -> String {
    file(n, |i| match i % 2 {
        0 => format!("key: path, value: /p{i}/*/edit, limit: 5/1s"),
        _ => format!("key: host, value: '*.h{i}.example', limit: 5/1s"),
    })
}

/// Each wildcard has other lengths of its two ends.
fn lengths(n: usize) -> String {
    let ends = |i| [("a", i % 63), ("b", i % 64)].map(|(letter, times)| letter.repeat(times));
    file(n, |i| {
        let [a, b] = ends(i);
        format!("key: path, value: '{a}x*y{b}', limit: 5/1s")
    })
}

/// Networks of one key, and values in some of them.
fn networks(n: usize) -> String {
    file(n, |i| match i % 2 {
        0 => format!("key: ip, network: 10.{}.{}.0/24, limit: 5/1s", i >> 8, i & 255),
        _ => format!("key: ip, value: 10.{}.{}.1, limit: 5/1s", i >> 8, i & 254),
    })
}

/// Each rule has a key of its own.
fn keys(n: usize) -> String {
    file(n, |i| format!("key: k{i}, value: v, limit: 5/1s"))
}

/// All rules replace the same one.
fn replacing(n: usize) -> String {
    file(n, |i| match i {
        0 => "key: a, limit: 5/1s, name: n".to_owned(),
        _ => format!("key: k, value: v{i}, limit: 5/1s, replaces: [n]"),
    })
}

#[test]
fn many_wildcards_are_read_and_looked_up_in_one_pass() {
    assert_linear(&sizes(600).map(|n| (n, wildcards(n))), |(n, text)| {
        let rules = read(text);
        for i in (0..*n).step_by(2) {
            let (path, host) = (format!("/p{i}/7/edit"), format!("a.h{}.example", i + 1));
            let found = rules.matching(&[("path", path.as_str()), ("host", host.as_str())]);
            assert_eq!(found.iter().map(|rule| rule.line()).collect::<Vec<_>>(), [i + 3, i + 4]);
        }
    });
}

#[test]
fn many_networks_are_read_and_looked_up_in_one_pass() {
    assert_linear_once(&sizes(1500).map(|n| (n, networks(n))), |(n, text)| {
        let rules = read(text);
        for i in (0..*n).step_by(2) {
            let ip = format!("10.{}.{}.7", i >> 8, i & 255);
            let found = rules.matching(&[("ip", ip.as_str())]);
            assert_eq!(found.iter().map(|rule| rule.line()).collect::<Vec<_>>(), [i + 3]);
        }
    });
}

/// The list of keys and values that a client of the service sends.
struct Sent<'a>([(&'a str, &'a str); 1]);

impl Fields for Sent<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.0.value(name)
    }

    fn descriptor(&self) -> Option<Descriptor<'_>> {
        Some(Descriptor { entries: &self.0, is_first: true })
    }
}

#[test]
fn many_keys_are_read_and_looked_up_in_one_pass() {
    assert_linear_once(&sizes(5000).map(|n| (n, keys(n))), |(n, text)| {
        let rules = read(text);
        for i in 0..*n {
            let key = format!("k{i}");
            let found = rules.matching(&Sent([(&key, "v")]));
            assert_eq!(found.iter().map(|rule| rule.line()).collect::<Vec<_>>(), [i + 3]);
        }
    });
}

#[test]
fn many_rules_are_read_and_told_in_one_pass() {
    for text in [values, chain, wildcards, lengths, networks, keys, replacing] {
        assert_linear_once(&sizes(2000).map(|n| (n, text(n))), |(n, text)| {
            let rules = read(text);
            let mut told = String::new();
            write!(told, "{rules}").unwrap();
            assert!(told.len() > 20 * n);
            let fields = [("path", "p7"), ("ip", "10.0.1.7"), ("k", "v3")];
            assert_eq!(rules.explain(&fields).len(), rules.rules().len());
        });
    }
}

/// An event has the fields of all rules, of which each replaces the one before.
#[test]
fn many_rules_of_one_event_are_replaced_in_one_pass() {
    let text = |n: usize| {
        file(n, |i| match i {
            0 => "key: k0, limit: 5/1s, name: n0".to_owned(),
            _ => format!("key: k{i}, limit: 5/1s, name: n{i}, replaces: [n{}]", i - 1),
        })
    };
    let given = sizes(2000).map(|n| {
        let fields = (0..n).map(|i| (format!("k{i}"), "v"));
        (n, read(&text(n)), fields.collect::<HashMap<_, _>>())
    });
    assert_linear_once(&given, |(n, rules, fields)| {
        let found = rules.matching(fields);
        assert_eq!(found.iter().map(|rule| rule.line()).collect::<Vec<_>>(), [n + 2]);
    });
}

/// An event has the fields of all rules, which are shadows, and is charged after most of them would have refused it.
#[test]
fn many_rules_of_one_event_decide_in_one_pass() {
    let given = sizes(1000).map(|n| {
        let rules = file(n, |i| format!("key: k{i}, limit: [5/1s, 9/1m], shadow: true"));
        (n, ruled(&rules), (0..n).map(|i| (format!("k{i}"), "v")).collect::<HashMap<_, _>>())
    });
    assert_linear(&given, |(n, ruled, fields)| {
        let event = Event { time: Time::ZERO, cost: 6.0, fields };
        let decision = ruled.check(&event);
        assert_eq!(decision.shadow_refusals().count(), *n);
        ruled.settle(&event, event.time, Some(&decision)).unwrap();
    });
}

/// All rules have names, and fifty would replace one that there is not.
#[test]
fn names_that_are_not_there_are_told_briefly() {
    let name = |letter: &str, i: usize| format!("{}{i:05}", letter.repeat(59));
    let text = file(300, |i| match i {
        0..50 => format!("key: k{i}, limit: 5/1s, replaces: [{}]", name("z", i)),
        _ => format!("key: k{i}, limit: 5/1s, name: {}", name("a", i)),
    });
    let error = Rules::read("rules.yaml", &text).unwrap_err();
    let first = error.mistakes()[0].problem();
    assert!(first.contains(&format!("write one of {}, ", name("a", 50))), "{first}");
    assert!(first.ends_with(" and 230 more"), "{first}");
    assert_eq!(error.mistakes().len(), 50);
    assert!(error.to_string().len() < 100_000);
}

/// A reload changes all limits, and says so in a line that can be read.
#[test]
fn a_reload_of_many_rules_is_told_briefly() {
    let [old, new] = ["5/1s", "6/1s"]
        .map(|limit| file(1_000, |i| format!("key: k, value: v{i}, limit: gcra {limit}")));
    let said = ruled(&old).reload("rules.yaml", &new, Time::ZERO).to_string();
    assert!(said.contains(": 0 go on, 1000 go on with other numbers (d:k=v0: gcra 6/1s"), "{said}");
    assert!(said.ends_with("; d:k=v4: gcra 6/1s burst 6 per k and 995 more)"), "{said}");
}

/// A file has n rules and n tests, one for each rule.
#[test]
fn many_rules_are_tested_in_one_pass() {
    let rules = |n| read(&file(n, |i| format!("key: path, value: p{i}, limit: 1/1s")));
    let test = |i| {
        format!(
            "  - {{name: t{i}, events: [{{at: 0, fields: {{path: p{i}}}, expect: allowed}}]}}\n"
        )
    };
    let cases = |n| "tests:\n".to_owned() + &(0..n).map(test).collect::<String>();
    let given = sizes(500).map(|n| (n, rules(n), cases(n)));
    assert_linear_once(&given, |(n, rules, cases)| {
        let cases = Cases::read("cases.yaml", cases).unwrap();
        assert_eq!(cases.fields(), ["path"]);
        assert_eq!(cases.run(rules), vec![vec![]; *n]);
    });
}

#[test]
fn many_rules_are_replaced_in_one_pass() {
    for text in [values, chain] {
        let given =
            sizes(300).map(|n| (ruled(&text(n)), [text(n), text(n).replace("5/1s", "6/1s")]));
        assert_linear(&given, |(ruled, [old, new])| {
            for text in [new, old] {
                let reloaded = ruled.reload("rules.yaml", text, Time::ZERO);
                assert!(matches!(reloaded, Reloaded::Applied(_)), "{reloaded}");
            }
        });
    }
}

/// As much as is allowed is read, and one more is refused for that reason.
#[test]
fn each_bound_is_exact() {
    let nested = |n: usize| {
        let open = |i: usize| format!("descriptors: [{{key: k{i}, ");
        let open: String = (0..n).map(open).collect();
        format!("domain: d\n{open}limit: 5/1s{}\n", "}]".repeat(n))
    };
    let limits = |n: usize| {
        let each: Vec<_> = (1..=n).map(|i| format!("{i}/1s")).collect();
        format!("domain: d\nlimit: [{}]\n", each.join(", "))
    };
    let long = |n: usize| {
        let text = "domain: d\nlimit: 5/1s\n#";
        text.to_owned() + &"x".repeat(n - text.len())
    };
    let domain = |n: usize| format!("domain: {}\nlimit: 5/1s\n", "d".repeat(n));
    let many = |n: usize| file(n, |i| format!("key: k, value: v{i}, limit: 5/1s"));
    let alike = |n: usize| file(n, |i| format!("key: k, value: 'a*-{i}-*b', limit: 5/1s"));
    type Text<'a> = &'a dyn Fn(usize) -> String;
    let path = |n: usize| file(1, |_| format!("key: k, value: {}, limit: 5/1s", "v".repeat(n - 1)));
    // Maps and texts: 5 of the file, 7 of a rule, 2 of each setting, and 1 of a list.
    let nodes = |n: usize| {
        file(9091, |i| {
            let limit = if n > 100_000 && i == 0 { "[5/1s]" } else { "5/1s" };
            let rule = format!("key: k, value: v{i}, limit: {limit}");
            match i {
                0 => rule,
                1 => rule + ", shadow: false",
                _ => rule + &format!(", shadow: false, name: n{i}"),
            }
        })
    };
    let bounds: [(&str, usize, Text<'_>); 8] = [
        ("more than 1000 values that begin with \"a\" and end with \"b\"", 1000, &alike),
        ("more than 256 bytes", 256, &domain),
        ("more than 10000 rules", 10_000, &many),
        ("more than 16 descriptors", 16, &nested),
        ("more than 8 limits", 8, &limits),
        ("more than 1 MiB", 1 << 20, &long),
        ("more than 4096 bytes long", 4096, &path),
        ("more than 100000 texts, lists and maps", 100_000, &nodes),
    ];
    for (problem, most, text) in bounds {
        read(&text(most));
        let error = Rules::read("rules.yaml", &text(most + 1)).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
}

#[test]
fn tests_have_ten_million_events_at_most() {
    let cases = |n: usize| {
        let event = format!("{{fields: {{}}, times: {n}, expect: allowed}}");
        Cases::read("cases.yaml", &format!("tests: [{{name: t, events: [{event}]}}]\n"))
    };
    assert!(cases(10_000_000).is_ok());
    let error = cases(10_000_001).unwrap_err().to_string();
    assert!(error.contains("more than 10000000 events in this file"), "{error}");
}

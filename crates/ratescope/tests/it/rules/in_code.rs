//! Rules that are made in code. That they decide as those of files do is among the invariants.

use super::passed;
use ratescope::limit::fixed_window::FixedWindow;
use ratescope::limit::gcra::Gcra;
use ratescope::policy::Limit;
use ratescope::rules::{MemoryStore, NewRule, Rules, Throttle};
use ratescope::{Rate, Span};

fn window(count: f64) -> FixedWindow {
    FixedWindow::new(Rate::new(count, Span::minutes(1)).unwrap()).unwrap()
}

fn wrong(domain: &str, rules: impl IntoIterator<Item = NewRule>) -> String {
    Rules::new(domain, rules).unwrap_err().to_string()
}

#[test]
fn the_deepest_rule_counts_and_another_may_be_replaced() {
    let soft = Throttle::Soft { percent: 50.0 };
    let all = Limit::from(window(9.0));
    let rules = [
        NewRule::new().each("user").limit(window(2.0)).throttle(soft).name("users"),
        NewRule::new().value("path", "/a/*").each("ip").limit(window(1.0)).limit_by(&all),
        NewRule::new().value("path", "/a/*").limit(window(4.0)).cost(2.0),
        NewRule::new().value("user", "root").replaces("users"),
        NewRule::new().limit(window(5.0)),
    ];
    let rules = Rules::new("web", rules).unwrap();
    let names: Vec<&str> = rules.rules().iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["web", "web:user", "web:path=/a/*", "web:path=/a/*,ip", "web:user=root"]);
    // The places in the list.
    let lines: Vec<usize> = rules.rules().iter().map(|rule| rule.line()).collect();
    assert_eq!(lines, [1, 1, 2, 2, 4]);
    let ruled = MemoryStore::new(rules, 100);
    let passed = |seconds: f64, fields: &[(&str, &str)]| passed(&ruled, 9, seconds, fields);
    assert_eq!(passed(0.0, &[("user", "ann")]), 3);
    assert_eq!(passed(60.0, &[("user", "root")]), 5);
    assert_eq!(passed(120.0, &[("path", "/a/b")]), 2);
    assert_eq!(passed(180.0, &[("path", "/a/b"), ("ip", "192.0.2.7")]), 1);
}

#[test]
fn what_is_wrong_is_told_with_the_place_in_the_list() {
    let each = |field: &str| NewRule::new().each(field).limit(window(1.0));
    assert_eq!(
        wrong("web", []),
        "web:1:1: neither descriptors nor a limit, so nothing would be limited; write one of them"
    );
    assert!(wrong("", [each("user")]).starts_with(":1:1: the domain is empty"));
    assert_eq!(
        wrong("web", [each("user"), each("user ip")]),
        "web:2:1: \"user ip\": not the name of a field; write letters, digits and - _ . / : @ ~ $ * !"
    );
    assert_eq!(
        wrong("web", [each("ip"), each("user"), each("ip")]),
        "web:3:1: \"limit\": a key that is there already, in line 1"
    );
    assert_eq!(
        wrong("web", [each("user").name("users"), each("ip").replaces("user")]),
        "web:2:1: \"user\": no rule of this file has this name; did you mean users?"
    );
    assert_eq!(
        wrong("web", [each("user").cost(f64::NAN)]),
        "web:1:1: \"NaN\": not a cost; write a number above 0 and up to 1e12, without exponent, as in cost: 5"
    );
    assert_eq!(
        wrong("web", [each("user"), NewRule::new().each("ip").shadow()]),
        "web:2:1: \"shadow\": it is about a limit, and this is unlimited"
    );
    assert_eq!(
        wrong("web", [NewRule::new().limit(Gcra::new("0.5/1m".parse().unwrap(), 0.5).unwrap())]),
        "web:1:1: \"gcra 0.5/1m burst 0.5\": no event of cost 1 can pass; write a burst of at least 1"
    );
    let empty = NewRule::new().value("user", "").limit(window(1.0));
    assert_eq!(wrong("web", [empty]), "web:1:1: the value, which can be left out, is empty");
    // Values that mean something else in YAML are what they are.
    for value in ["null", "~", "true", "*a", "[", "a: b"] {
        let rules = Rules::new("web", [NewRule::new().value("user", value).limit(window(1.0))]);
        assert!(rules.unwrap().rules()[0].path()[0].value.matches(value), "{value}");
    }
}

/// However many there are, it ends with an error, and soon.
#[test]
fn too_many_are_refused() {
    let many = |n: usize| (0..n).map(|i| NewRule::new().value("user", &format!("u{i}")));
    assert_eq!(Rules::new("web", many(10_000)).unwrap().rules().len(), 10_000);
    assert!(wrong("web", many(20_000)).contains("more than 10000 rules"));
    let deep = (0..100_000).fold(NewRule::new(), |rule, i| rule.each(&format!("f{i}")));
    assert_eq!(wrong("web", [deep]), "web:1:1: a rule about more than 31 fields");
    let long = NewRule::new().value("user", &"x".repeat(5000));
    assert!(wrong("web", [long]).contains("more than 4096 bytes long"));
}

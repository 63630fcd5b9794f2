//! Rules that are made in code. That they decide as those of files do is among the invariants.

use super::passed;
use ratescope::limit::fixed_window::FixedWindow;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::policy::Limit;
use ratescope::rules::{Load, MemoryStore, Mistake, NewRule, OnStoreFailure, Rules, Throttle};
use ratescope::{Rate, Span};

fn window(count: f64) -> FixedWindow {
    FixedWindow::new(Rate::new(count, Span::from_mins(1)).unwrap()).unwrap()
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
    assert_eq!(names, ["web:user", "web:path=/a/*,ip", "web:path=/a/*", "web:user=root", "web"]);
    let lines: Vec<usize> = rules.rules().iter().map(|rule| rule.line()).collect();
    assert_eq!(lines, [1, 2, 3, 4, 5]);
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
        "web:3:1: \"ip\": the descriptor in line 1 is for the same values; one of the two could never apply"
    );
    let all = || NewRule::new().limit(window(1.0));
    assert_eq!(
        wrong("web", [all(), each("ip"), all()]),
        "web:3:1: rule 1 is for all events, too; write one of the two"
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
    // Values that mean something else in YAML stay as they are.
    for value in ["null", "~", "true", "*a", "[", "a: b"] {
        let rules = Rules::new("web", [NewRule::new().value("user", value).limit(window(1.0))]);
        assert!(rules.unwrap().rules()[0].path()[0].value.matches(value), "{value}");
    }
}

/// The same mistake in code and in a file is the same word and the same problem.
#[test]
fn mistakes_are_those_of_files() {
    let ip = || NewRule::new().each("ip");
    let limited = || ip().limit(window(1.0));
    let small = || Gcra::new("0.5/1m".parse().unwrap(), 0.5).unwrap();
    let elastic =
        |factor, percent| Throttle::Elastic { factor, below: Load::from_percent(percent).unwrap() };
    let rows: [(Vec<NewRule>, &str); 21] = [
        (vec![ip().limit(small())], "{key: ip, limit: gcra 0.5/1m burst 0.5}"),
        (vec![limited().limit(window(1.0))], "{key: ip, limit: [1/1m, fixed-window 1/1m]}"),
        (vec![limited().cost(2.0)], "{key: ip, limit: 1/1m, cost: 2}"),
        (vec![limited().cost(-0.0)], "{key: ip, limit: 1/1m, cost: -0}"),
        (vec![limited().cost(1e13)], "{key: ip, limit: 1/1m, cost: 10000000000000}"),
        (vec![limited().cost(f64::INFINITY)], "{key: ip, limit: 1/1m, cost: inf}"),
        (vec![ip().cost(2.0)], "{key: ip, limit: unlimited, cost: 2}"),
        (vec![ip().shadow()], "{key: ip, limit: unlimited, shadow: true}"),
        (
            vec![ip().on_store_failure(OnStoreFailure::Allow)],
            "{key: ip, limit: unlimited, on_store_failure: allow}",
        ),
        (
            vec![ip().throttle(Throttle::Soft { percent: 10.0 })],
            "{key: ip, limit: unlimited, throttle: soft 10%}",
        ),
        (
            vec![
                ip().limit(Nginx::new(Rate::per_second(10), 5, Delay::Beyond(0)).unwrap())
                    .throttle(elastic(2.0, 70.0)),
            ],
            "{key: ip, limit: nginx 10/1s burst 5, throttle: elastic up to 2x while load < 70%}",
        ),
        (vec![limited().name("")], "{key: ip, limit: 1/1m, name: '', replaces: ['']}"),
        (vec![limited().replaces("users")], "{key: ip, limit: 1/1m, replaces: [users]}"),
        (vec![limited().name("a").replaces("a")], "{key: ip, limit: 1/1m, name: a, replaces: [a]}"),
        (vec![limited(), limited()], "{key: ip, limit: 1/1m}, {key: ip, limit: 1/1m}"),
        (
            vec![
                NewRule::new().within("ip", "10.0.0.0/8".parse().unwrap()).limit(window(1.0)),
                NewRule::new().within("ip", "10.1.0.0/16".parse().unwrap()).limit(window(1.0)),
            ],
            "{key: ip, network: 10.0.0.0/8, limit: 1/1m}, {key: ip, network: 10.1.0.0/16, limit: 1/1m}",
        ),
        (vec![NewRule::new().each("")], "{key: '', limit: unlimited}"),
        (vec![NewRule::new().each("all")], "{key: all, limit: unlimited}"),
        (vec![NewRule::new().each("ip+user")], "{key: ip+user, limit: unlimited}"),
        (vec![NewRule::new().each("user#2")], "{key: 'user#2', limit: unlimited}"),
        (vec![NewRule::new().each("hash(")], "{key: hash(, limit: unlimited}"),
    ];
    for (rules, descriptors) in rows {
        let text = format!("{{domain: web, descriptors: [{descriptors}]}}");
        let [file, code] = [Rules::read("web", &text), Rules::new("web", rules)].map(|rules| {
            let error = rules.unwrap_err();
            let of = |mistake: &Mistake| mistake.problem().to_owned();
            error.mistakes().iter().map(of).collect::<Vec<_>>()
        });
        assert_eq!(code, file, "{text}");
    }
    // A text points at the number; in code the whole throttle is shown.
    for throttle in [
        Throttle::Soft { percent: 0.0 },
        Throttle::Soft { percent: f64::NAN },
        elastic(1.0, 70.0),
        elastic(f64::INFINITY, 70.0),
        elastic(2.0, 0.0),
    ] {
        let text = format!("domain: web\nlimit: 1/1m\nthrottle: {throttle}\n");
        let file = Rules::read("web", &text).unwrap_err();
        let code = Rules::new("web", [NewRule::new().limit(window(1.0)).throttle(throttle)]);
        let code = code.unwrap_err();
        assert_eq!(code.mistakes()[0].problem(), file.mistakes()[0].problem());
        assert_eq!(code.mistakes()[0].word(), throttle.to_string());
    }
}

/// A rule that nobody could write in a file means what its parts mean: fields are secret in all rules that name them.
#[test]
fn a_field_that_one_rule_marks_is_secret_in_all() {
    let rules = [
        NewRule::new().each("hash(email)").limit(window(1.0)),
        NewRule::new().each("email").each("ip").limit(window(2.0)),
    ];
    let rules = Rules::new("web", rules).unwrap();
    let limits = rules.rules().iter().map(|rule| rule.limits()[0].to_string());
    assert_eq!(
        limits.collect::<Vec<_>>(),
        ["fixed-window 1/1m per hash(email)", "fixed-window 2/1m per hash(email)+ip"]
    );
}

/// However many there are, it ends with an error, and soon.
#[test]
fn too_many_are_refused() {
    let many = |n: usize| (0..n).map(|i| NewRule::new().value("user", &format!("u{i}")));
    assert_eq!(Rules::new("web", many(10_000)).unwrap().rules().len(), 10_000);
    assert!(wrong("web", many(20_000)).contains("more than 10000 rules"));
    let endless = core::iter::repeat_with(|| NewRule::new().each(""));
    assert_eq!(wrong("web", endless).lines().count(), 50);
    let deep = |n| (0..n).fold(NewRule::new(), |rule, i| rule.each(&format!("f{i}")));
    assert!(Rules::new("web", [deep(16)]).is_ok());
    let deeper = "web:1:1: within more than 16 descriptors that count separately";
    assert_eq!(wrong("web", [deep(17)]), deeper);
    assert!(wrong("web", [deep(100_000)]).contains("more than 4096 bytes long"));
    let limits = (1..100_000).fold(NewRule::new(), |rule, i| rule.limit(window(f64::from(i))));
    let many = "web:1:1: more than 8 limits; spread them over descriptors";
    assert_eq!(wrong("web", [limits]), many);
    let long = NewRule::new().value("user", &"x".repeat(5000));
    assert!(wrong("web", [long]).contains("more than 4096 bytes long"));
}

//! Secret fields: neither their values in events nor those in a file are shown.

use super::read;
use ratescope::policy::KeySecret;
use ratescope::rules::{MemoryStore, Rules};
use ratescope::{Event, Time};

const RULES: &str = "
domain: web
limit: 1000/1s per email
descriptors:
- key: hash(email)
  descriptors:
  - {key: path, value: /login, limit: gcra 3/1m}
- {key: x-api-key, limit: gcra 2/1m}
- {key: x-api-key, value: 5ecret, limit: gcra 9/1m}
";

fn keys(rules: &Rules) -> Vec<String> {
    let fields = &[("email", "ann@example.org"), ("x-api-key", "5ecret"), ("path", "/login")];
    let event = Event { time: Time::ZERO, cost: 1.0, fields };
    let limits = rules.rules().iter().flat_map(|rule| rule.limits());
    limits.map(|limit| limit.per.key(&event)).collect()
}

/// A field that one rule marks is secret in all rules of the file, and their names don't tell its values either.
#[test]
fn a_mark_is_for_the_whole_file() {
    let rules = read(RULES);
    let expected = [
        "email=#e24317bd70c845aa40565256a470c162",
        "email=#e24317bd70c845aa40565256a470c162,path=/login",
        "x-api-key=#4d3b643505e6cbfc6506241becf6e513",
        "x-api-key=#4d3b643505e6cbfc6506241becf6e513",
    ];
    assert_eq!(keys(&rules), expected);
    let names: Vec<&str> = rules.rules().iter().map(|rule| rule.name()).collect();
    let of_value = "web:x-api-key=#4d3b643505e6cbfc6506241becf6e513";
    assert_eq!(names, ["web", "web:email,path=/login", "web:x-api-key", of_value]);
    assert!(!rules.to_string().contains("5ecret"), "{rules}");
    for (_, why) in rules.explain(&[("x-api-key", "5ecret"), ("path", "/")]) {
        assert!(!why.to_string().contains("5ecret"), "{why}");
    }
    assert!(rules.is_secret("email") && rules.is_secret("x-api-key") && !rules.is_secret("path"));
}

/// With a secret of their own, processes have keys of their own; the names of rules stay. A reload keeps the secret.
#[test]
fn a_secret_of_ones_own() {
    let secret = KeySecret::new(b"s");
    let rules = read(RULES).with_key_secret(secret.clone());
    let own = keys(&rules);
    assert_eq!(own[2], "x-api-key=#7181c6bc3f43901d838dbb972bda9128");
    assert_eq!(rules.rules()[3].name(), read(RULES).rules()[3].name());
    let ruled = MemoryStore::new(rules, 100);
    assert_eq!(ruled.reload("rules.yaml", RULES, Time::ZERO).name(), "unchanged");
    let _ = ruled.reload("rules.yaml", &RULES.replace("3/1m", "4/1m"), Time::ZERO);
    assert_eq!(keys(&ruled.rules()), own);
    // A long one is hashed first, as HMAC demands.
    let long = read(RULES).with_key_secret(KeySecret::new(&[b'k'; 65]));
    assert_eq!(keys(&long)[2], "x-api-key=#0d5d209bcf2d318970c153d20fae846f");
    assert_eq!(format!("{secret:?}"), "KeySecret { .. }");
}

/// The first colon of a name ends the domain, so that no other domain has it.
#[test]
fn no_two_domains_have_a_rule_of_one_name() {
    let names = |text: &str| {
        let rules = read(text);
        rules.rules().iter().map(|rule| rule.name().to_owned()).collect::<Vec<_>>()
    };
    let web = names(
        "domain: web\nlimit: 9/1s\ndescriptors:\n- {key: user, value: 'a:b', limit: 1/1s per all}\n",
    );
    assert_eq!(web, ["web", "web:user=a:b"]);
    assert_eq!(names("domain: 'web:user=a:b'\nlimit: 1/1s\n"), ["web%3Auser%3Da%3Ab"]);
    assert_eq!(Rules::of_policy("a:b", "1/1s".parse().unwrap()).rules()[0].name(), "a%3Ab");
}

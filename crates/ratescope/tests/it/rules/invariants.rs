//! Properties of the reader that hold for any text of a rule file. The fuzz target checks them, too.

use ratescope::rules::cases::Cases;
use ratescope::rules::{MemoryStore, NewRule, Reloaded, Rule, Rules, RulesError, Value, Why};
use ratescope::{Event, Time};

/// Events with the fields that the seeds are about, and with odd ones.
const FIELDS: [&[(&str, &str)]; 5] = [
    &[],
    &[("user", "ann"), ("ip", "192.0.2.7"), ("path", "/api/7/edit")],
    &[("message_type", "marketing"), ("to_number", "2061234567"), ("user", "")],
    &[("a", "x"), ("b", "x"), ("k", "*"), ("key", "a"), ("value", "b")],
    &[("user", "a*b"), ("path", "é,=%&"), ("ip", "\0")],
];

/// Reads `text` as rules and as tests; it neither panics nor contradicts itself.
pub(crate) fn hold(text: &str) {
    let rules = match Rules::read("f", text) {
        Ok(rules) => rules,
        Err(error) => return told(text, &error),
    };
    let words = rules.to_string();
    assert!(rules.rules().iter().all(|rule| words.contains(rule.name())));
    let ruled = MemoryStore::new(rules.clone(), 10);
    for fields in FIELDS {
        let found: Vec<&str> = rules.matching(&fields.to_vec()).iter().map(|r| r.name()).collect();
        let explained = rules.explain(&fields.to_vec());
        let apply = explained.iter().filter(|(_, why)| matches!(why, Why::Applies));
        assert_eq!(found, apply.map(|(rule, _)| rule.name()).collect::<Vec<_>>());
        let fields = fields.to_vec();
        for cost in [1.0, 0.0, 3.5, f64::NAN] {
            let event = Event { time: Time::ZERO, cost, fields: &fields };
            let peeked = ruled.peek(&event).wait();
            assert_eq!(peeked, ruled.check(&event).wait());
            let _ = ruled.retry_after(&event);
        }
    }
    assert_eq!(ruled.reload("f", text, Time::ZERO), Reloaded::Unchanged);
    let in_code = Rules::new(rules.domain(), rules.rules().iter().map(in_code));
    let in_code = in_code.unwrap_or_else(|error| panic!("{error}\n{text}"));
    for fields in FIELDS {
        let names = |rules: &Rules| -> Vec<String> {
            rules.matching(&fields.to_vec()).iter().map(|rule| rule.name().to_owned()).collect()
        };
        assert_eq!(names(&in_code), names(&rules), "{text}");
    }
    assert_eq!(ruled.replace(in_code, Time::ZERO), Reloaded::Unchanged, "{text}");
}

/// The same rule, made in code.
fn in_code(rule: &Rule) -> NewRule {
    let new = NewRule::new().throttle(rule.throttle()).on_store_failure(rule.on_store_failure());
    // A rule without limits has no settings of limits.
    let new = if rule.limits().is_empty() { NewRule::new() } else { new };
    let new = rule.path().iter().fold(new, |new, step| match &step.value {
        Value::Is(value) => new.value(&step.key, value),
        Value::Like(wildcard) => new.value(&step.key, wildcard.as_str()),
        Value::Within(networks) => new.within(&step.key, networks.clone()),
        _ => new.each(&step.key),
    });
    let new = rule.limits().iter().fold(new, |new, limit| new.limit_by(limit));
    let new = rule.replaces().iter().fold(new, |new, name| new.replaces(name));
    let new = rule.label().into_iter().fold(new, NewRule::name);
    let new = rule.cost().into_iter().fold(new, NewRule::cost);
    let new = rule.share().into_iter().fold(new, NewRule::share);
    if rule.is_shadow() { new.shadow() } else { new }
}

/// Every mistake has a place that is in the text, or right behind it, and says something.
fn told(text: &str, error: &RulesError) {
    // As YAML has them.
    let lines = text.replace("\r\n", "\n").split(['\n', '\r']).count();
    assert!(!error.mistakes().is_empty() && error.mistakes().len() <= 50);
    for mistake in error.mistakes() {
        assert!(mistake.line() >= 1 && mistake.line() <= lines + 1, "{error}");
        assert!(mistake.column() >= 1 && !mistake.problem().is_empty(), "{error}");
    }
    if let Ok(cases) = Cases::read("f", text) {
        let rules = Rules::read("r", "domain: d\nlimit: 5/1s").expect("a rule");
        assert_eq!(cases.run(&rules).len(), cases.names().count());
    }
}

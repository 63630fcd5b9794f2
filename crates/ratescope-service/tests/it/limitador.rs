//! Files of Limitador, which say how to write them as rules.

use ratescope::rules::Rules;
use ratescope::{Event, MemoryStore, Time};
use ratescope_service::other_format;

const LIMITS: &str = r#"
- namespace: web
  name: posts of a user
  max_value: 2
  seconds: 60
  conditions: ["descriptors[0]['req.method'] == 'POST'"]
  variables: ["descriptors[0].user_id"]
- namespace: web
  max_value: 3
  seconds: 3600
  conditions:
  - req_path != "/health"
- {namespace: "my shop", max_value: 9, seconds: 1}
- {namespace: web, max_value: 1, seconds: 1, conditions: ["descriptors[0].size > 10"]}
"#;

/// The rule file of a domain in the answer.
fn rules(said: &str, domain: &str) -> Rules {
    let begin = said.find(&format!("domain: {domain}\n")).unwrap_or_else(|| panic!("{said}"));
    let text = &said[begin..];
    Rules::read("rules.yaml", text.split("\n\n").next().unwrap()).unwrap()
}

fn passed(store: &MemoryStore, fields: &[(&str, &str)]) -> usize {
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
    (0..9).filter(|_| store.check(&event).is_allowed()).count()
}

#[test]
fn limits_are_written_as_rules() {
    let said = other_format(LIMITS).unwrap();
    assert!(said.contains("line 14: descriptors[0].size > 10"), "{said}");
    let said = said.split("\nNot written").next().unwrap().to_owned() + "\n\n";
    let web = MemoryStore::new(rules(&said, "web"), 100);
    assert_eq!(passed(&web, &[("req.method", "POST"), ("user_id", "ann")]), 2);
    assert_eq!(passed(&web, &[("req.method", "POST"), ("user_id", "bob")]), 2);
    assert_eq!(passed(&web, &[("req.method", "GET"), ("user_id", "ann")]), 9);
    assert_eq!(passed(&web, &[("req_path", "/health")]), 9);
    assert_eq!(passed(&web, &[("req_path", "/other")]), 3);
    let shop = MemoryStore::new(rules(&said, "\"my shop\""), 100);
    assert_eq!(
        shop.rules().rules()[0].limits()[0].to_string(),
        "fixed-window 9/1s from first per all"
    );
}

#[test]
fn config_maps_and_values_of_charts_are_found() {
    let config_map = format!(
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  limitador-config.yaml: |\n{}",
        LIMITS.replace('\n', "\n    ")
    );
    let values = format!("limitador:\n  limits:\n{}", LIMITS.replace('\n', "\n  "));
    for text in [config_map, values] {
        let said = other_format(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(
            said.contains("domain: web\ndescriptors:\n- key: req.method\n  value: POST"),
            "{said}"
        );
    }
    for other in [
        "",
        "domain: web\nlimit: 1/1s\n",
        "max_value: 1\nseconds: 2\nnamespace: [",
        "# max_value: seconds: namespace:",
    ] {
        assert_eq!(other_format(other), None, "{other}");
    }
}

//! Which rules are for an event: the tables against a look at every rule.

use super::read;
use proptest::prelude::*;
use ratescope::rules::{Rules, Value, Why};

const KEYS: [&str; 3] = ["user", "ip", "path"];
const VALUES: [&str; 10] =
    ["", "a", "b", "ab", "a*", "*b", "a*b", "*", "10.0.0.0/8", "10.1.0.0/16"];

/// A descriptor as it is drawn.
#[derive(Clone, Debug)]
struct Drawn {
    key: usize,
    value: usize,
    limit: bool,
    name: Option<u8>,
    replaces: Option<u8>,
    below: Vec<Drawn>,
}

fn descriptor() -> impl Strategy<Value = Drawn> {
    let one = |below| {
        let name = proptest::option::weighted(0.2, 0..2u8);
        let replaces = proptest::option::weighted(0.2, 0..2u8);
        (0..KEYS.len(), 0..VALUES.len(), any::<bool>(), name, replaces, below).prop_map(
            |(key, value, limit, name, replaces, below)| Drawn {
                key,
                value,
                limit,
                name,
                replaces,
                below,
            },
        )
    };
    one(Just(Vec::new()).boxed())
        .prop_recursive(3, 20, 4, move |inner| one(proptest::collection::vec(inner, 0..4).boxed()))
}

/// As a file. Random parts that can't be read are left out: a key that is there already, the same
/// values twice.
fn write(drawn: &[Drawn], indent: usize, used: &[usize], text: &mut String) {
    let pad = " ".repeat(indent);
    let mut seen = Vec::new();
    for one in drawn {
        let value = VALUES[one.value];
        let at = (one.key, value);
        // A star alone and none mean the same, and a wider one hides those after it.
        let hides = |&(key, before): &(usize, &str)| {
            let all = |v: &str| v.is_empty() || v == "*";
            key == one.key && (before == value || (all(before) && all(value)))
                || key == one.key && before == "*" && value.contains('*')
                || key == one.key && matches!((before, value), ("a*" | "*b", "a*b"))
                || key == one.key && matches!((before, value), ("10.0.0.0/8", "10.1.0.0/16"))
        };
        if used.contains(&one.key) || seen.iter().any(hides) {
            continue;
        }
        seen.push(at);
        *text += &format!("{pad}- key: {}\n", KEYS[one.key]);
        if !value.is_empty() {
            let name = if value.contains('/') { "network" } else { "value" };
            *text += &format!("{pad}  {name}: '{value}'\n");
        }
        if one.limit {
            *text += &format!("{pad}  limit: 1/1s\n");
            one.name.inspect(|name| *text += &format!("{pad}  name: n{name}\n"));
            // n0 may replace n1, and others both; nothing replaces itself.
            let replaces = one.replaces.filter(|&r| one.name.is_none_or(|name| name < r));
            replaces.inspect(|r| *text += &format!("{pad}  replaces: [n{r}]\n"));
        }
        let used = [used, &[one.key]].concat();
        let mut below = String::new();
        write(&one.below, indent + 4, &used, &mut below);
        if !below.is_empty() {
            *text += &format!("{pad}  descriptors:\n{below}");
        }
    }
}

fn file(drawn: &[Drawn]) -> String {
    let mut text = String::from("domain: d\nlimit: 5/1s\ndescriptors:\n");
    text += "  - {key: spare, limit: 1/1s, name: n0}\n  - {key: spare, value: x, limit: 1/1s, name: n1}\n";
    write(drawn, 2, &[], &mut text);
    text
}

fn applying<'a>(rules: &'a Rules, fields: &[(&str, &str)]) -> Vec<&'a str> {
    let all = rules.explain(&fields.to_vec());
    let apply = all.into_iter().filter(|(_, why)| matches!(why, Why::Applies));
    apply.map(|(rule, _)| rule.name()).collect()
}

proptest! {
    /// Two ways to the same answer; and each rule has a name of its own.
    #[test]
    fn the_tables_find_what_a_look_at_every_rule_finds(
        drawn in proptest::collection::vec(descriptor(), 1..6),
        fields in proptest::collection::vec((0..KEYS.len(), "[ab]{0,3}|10\\.[01]\\.2\\.3"), 0..4),
    ) {
        let rules = read(&file(&drawn));
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(key, value)| (KEYS[*key], value.as_str())).collect();
        let found: Vec<&str> = rules.matching(&fields).iter().map(|rule| rule.name()).collect();
        prop_assert_eq!(&found, &applying(&rules, &fields), "{}", file(&drawn));
        let mut names: Vec<&str> = rules.rules().iter().map(|rule| rule.name()).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), rules.rules().len());
    }

    /// Lists of networks against a look at each: which is refused, which has an address, and which are chosen
    /// before another.
    #[test]
    fn lists_of_networks_are_found(
        drawn in proptest::collection::vec(proptest::collection::vec((0u8..16, 0u8..5), 1..4), 1..12),
    ) {
        let (mut lists, mut hidden): (Vec<Vec<Net>>, Vec<_>) = Default::default();
        for list in drawn {
            match lists.iter().position(|before| covers(before, &list)) {
                None => lists.push(list),
                Some(before) => hidden.push((list, before)),
            }
        }
        let line = |list: &[Net]| {
            let nets: Vec<_> = list.iter().map(|&(bits, len)| written(bits, len)).collect();
            format!("  - {{key: ip, network: '{}', limit: 1/1s}}\n", nets.join(", "))
        };
        let each: String = lists.iter().map(|list| line(list)).collect();
        let text = format!("domain: d\ndescriptors:\n{each}");
        for (list, before) in hidden {
            let wrong = Rules::read("r", &(text.clone() + &line(&list))).unwrap_err().to_string();
            let says = format!("the descriptor in line {} is for the same values", before + 3);
            prop_assert!(wrong.contains(&says), "{}{}", wrong, text);
        }
        let rules = read(&text);
        for bits in 0..16 {
            let ip = format!("10.{}.0.1", bits << 4);
            let found = rules.matching(&[("ip", ip.as_str())]);
            let first = lists.iter().position(|list| covers(list, &[(bits, 4)]));
            prop_assert!(found.iter().map(|rule| rule.line()).eq(first.map(|i| i + 3)), "{}", text);
        }
        for (i, told) in rules.to_string().split("\n\n").enumerate() {
            let before = (0..i).filter(|before| covers(&lists[i], &lists[*before]));
            let before: Vec<_> =
                before.map(|before| rules.rules()[before].path()[0].to_string()).collect();
            let but = match before.as_slice() {
                [] => String::new(),
                [first @ .., _] if first.len() == 5 => format!(" (but {} and 1 more)", first.join(", ")),
                all if all.len() < 6 => format!(" (but {})", all.join(", ")),
                _ => continue,
            };
            prop_assert!(told.lines().nth(1).unwrap().ends_with(&but), "{}{}", told, but);
            prop_assert_eq!(told.contains("but"), !but.is_empty());
        }
    }

    /// A wildcard against the plain meaning of its stars.
    #[test]
    fn stars_stand_for_any_characters(pattern in "[ab*]{1,6}", value in "[ab]{1,7}") {
        let rules = read(&format!("domain: d\ndescriptors:\n  - {{key: k, value: '{pattern}', limit: 1/1s}}"));
        let step = &rules.rules()[0].path()[0];
        prop_assert_eq!(matches!(step.value, Value::Like(_)), pattern.contains('*'));
        prop_assert_eq!(step.value.matches(&value), like(pattern.as_bytes(), value.as_bytes()));
    }
}

/// The first of four bits of an address, and how many of them a network has.
type Net = (u8, u8);

fn written(bits: u8, len: u8) -> String {
    format!("10.{}.0.0/{}", u16::from(bits >> (4 - len)) << (8 - len), 8 + len)
}

/// Whether each network of `inner` lies in one of `outer`.
fn covers(outer: &[Net], inner: &[Net]) -> bool {
    let lies_in = |(bits, len): Net, (b, l): Net| l <= len && bits >> (4 - l) == b >> (4 - l);
    inner.iter().all(|net| outer.iter().any(|around| lies_in(*net, *around)))
}

fn like(pattern: &[u8], value: &[u8]) -> bool {
    match (pattern, value) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            like(rest, value) || matches!(value, [_, v @ ..] if like(pattern, v))
        }
        ([a, pattern @ ..], [b, value @ ..]) => a == b && like(pattern, value),
        _ => false,
    }
}

#[test]
fn why_a_rule_applies_or_not() {
    let rules = read(
        "
domain: web
limit: 9/1s
descriptors:
  - key: user
    limit: 1/1s
    name: users
  - key: user
    value: ann
    limit: 2/1s
  - key: path
    value: /a/*
    limit: 3/1s
    descriptors:
      - key: ip
        limit: 4/1s
        replaces: [users]
  - key: path
    value: /b
    limit: 5/1s
  - key: tenant
    limit: 6/1s
",
    );
    let why = |fields: &[(&str, &str)]| -> Vec<String> {
        let all = rules.explain(&fields.to_vec());
        all.iter().map(|(rule, why)| format!("{}: {why}", rule.name())).collect()
    };
    assert_eq!(
        why(&[("user", "ann"), ("path", "/a/b"), ("ip", "192.0.2.7"), ("tenant", "")]),
        [
            "web: applies",
            "web:user: user=ann is more specific",
            "web:user=ann: applies",
            "web:path=/a/*: web:path=/a/*,ip lies within it",
            "web:path=/a/*,ip: applies",
            "web:path=/b: the event has another path",
            "web:tenant: the event has no tenant",
        ]
    );
    assert_eq!(
        why(&[("user", "bob"), ("path", "/a/b"), ("ip", "192.0.2.7")])[1],
        "web:user: web:path=/a/*,ip replaces it"
    );
    let fields = [("user", "bob"), ("path", "/a/b"), ("ip", "192.0.2.7")];
    let found: Vec<&str> = rules.matching(&fields).iter().map(|rule| rule.name()).collect();
    assert_eq!(found, ["web", "web:path=/a/*,ip"]);
    assert_eq!(rules.fields(), ["user", "path", "ip", "tenant"]);
    let subjects: Vec<String> = rules.subjects().iter().map(ToString::to_string).collect();
    assert_eq!(subjects, ["all", "user", "path", "path+ip", "tenant"]);
}

/// A list of descriptors without a limit of its own stands in the way of lists that say less.
#[test]
fn a_way_that_leads_nowhere_is_chosen_all_the_same() {
    let rules = read(
        "
domain: web
descriptors:
  - {key: path, limit: 1/1s}
  - key: path
    value: /login
    descriptors:
      - {key: ip, limit: 2/1s}
",
    );
    assert!(rules.matching(&[("path", "/login")]).is_empty());
    assert_eq!(rules.matching(&[("path", "/")]).len(), 1);
}

/// Values keep their characters in a rule's name, so that no two names are the same.
#[test]
fn names_are_escaped() {
    let rules = read(
        "
domain: a b:c
descriptors:
  - {key: k, value: 'x,y=1', limit: 1/1s}
  - {key: k, value: 'x%*=é', limit: 1/1s}
",
    );
    let names: Vec<&str> = rules.rules().iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["a%20b%3Ac:k=x%2Cy%3D1", "a%20b%3Ac:k=x%25*%3D%C3%A9"]);
}

/// Of several wildcards the first in the file applies, whatever they begin and end with.
#[test]
fn the_first_wildcard_applies() {
    let values = ["x*1", "ab*", "a*c", "*bc", "*cd*cd*"];
    let each = values.map(|value| format!("  - {{key: path, value: '{value}', limit: 5/1s}}\n"));
    let rules = read(&format!("domain: d\ndescriptors:\n{}", each.concat()));
    for (path, value) in [
        ("x11", Some("x*1")),
        ("abc", Some("ab*")),
        ("acc", Some("a*c")),
        ("bbc", Some("*bc")),
        ("xcdcd", Some("*cd*cd*")),
        // One part is not found twice at one place.
        ("cd", None),
        ("xcdd", None),
    ] {
        let found = rules.matching(&[("path", path)]);
        let found: Vec<String> = found.iter().map(|rule| rule.name().to_owned()).collect();
        let want = value.map(|value| format!("d:path={value}"));
        assert_eq!(found, Vec::from_iter(want), "{path}");
    }
}

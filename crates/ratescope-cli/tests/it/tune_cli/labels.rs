//! The paths and agents of refused requests.

use super::*;
use std::collections::BTreeMap;

/// An event a second: of a script that asks for two paths, and of visitors with others. The second file
/// goes on where the first ends.
fn parts() -> [String; 2] {
    let line = |i: u64| {
        let (client, path, agent) = match i % 3 {
            0 => (i % 40 + 10, i % 7, "browser".to_owned()),
            n => (1, n, format!("script/{n}")),
        };
        let (m, s) = (i / 60, i % 60);
        format!(
            "192.0.2.{client} - - [10/Oct/2000:13:{m:02}:{s:02} +0000] \"GET /{path}?{i} HTTP/1.1\" 200 1 \
             \"-\" \"{agent}\"\n"
        )
    };
    [0..900, 900..1800].map(|range| range.map(line).collect())
}

/// A count by path and agent of the requests that `simulate` refuses, the most first.
#[test]
fn paths_and_agents_of_refusals_are_counted() {
    let [first, second] = parts();
    let (a, b) = (&file("told-a.log", first), &file("told-b.log", second));
    // The later file first: events are put in order across files.
    let answer = tune(&["--no-spread", "--untouched", "50", b, a], b"");
    let limit = answer["recommended"][0]["limit"].as_str().unwrap();
    let whole = parts().concat();
    let simulated = run(&["simulate", "--format", "jsonl", "--no-spread", limit], whole.as_bytes());
    let (mut refused, mut all) = (BTreeMap::new(), BTreeMap::new());
    for (line, log) in text(&simulated.stdout).lines().zip(whole.lines()) {
        let allowed = serde_json::from_str::<Value>(line).unwrap()["allowed"] == true;
        let path = log.split(['"', ' ', '?']).find(|word| word.starts_with('/')).unwrap();
        let agent = log.split('"').nth(5).unwrap();
        for key in [("paths", path), ("agents", agent)] {
            *all.entry(key).or_insert(0) += 1;
            *refused.entry(key).or_insert(0) += u64::from(!allowed);
        }
    }
    for field in ["paths", "agents"] {
        let mut wanted: Vec<_> = refused.iter().filter(|(k, n)| k.0 == field && **n > 0).collect();
        wanted.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        assert!(wanted.len() > 1);
        let row = |((_, text), refused): &(&(&str, &str), &u64)| json!({ "text": text, "refused": refused, "requests": all[&(field, *text)] });
        let sorted = |rows: &[Value]| {
            let mut rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
            rows.sort();
            rows
        };
        let wanted: Vec<Value> = wanted.iter().map(row).collect();
        let told = answer[field].as_array().unwrap();
        assert_eq!(sorted(told), sorted(&wanted));
        let counts: Vec<u64> = told.iter().map(|row| row["refused"].as_u64().unwrap()).collect();
        assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    }
    // A person reads the same, and a summary keeps none of it.
    let said = run(&["tune", "--no-spread", "--untouched", "50", a, b], b"");
    assert!(
        text(&said.stdout).contains("\nThe limit refuses requests of 2 agents:\nagent "),
        "{}",
        text(&said.stdout)
    );
    let summary = file("told.tune", "");
    tune(&["--summary", &summary, a, b], b"");
    let bytes = std::fs::read(&summary).unwrap();
    assert!(!bytes.windows(6).any(|part| part == b"script"));
    let merged = tune(&["--merge", &summary], b"");
    assert_eq!((&merged["paths"], &merged["agents"]), (&json!([]), &json!([])));
}
